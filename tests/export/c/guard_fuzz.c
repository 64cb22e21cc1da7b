/* Directories that do as they like, and removals at any time: after each step the account is what the entries say. */

#include "guarded.h"

#define KEYS 40

static uint64_t random_state;

static uint64_t drawn(uint64_t below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % below;
}

static int is_right(const struct guard *guard, const struct guard_entry *entries)
{
    uint64_t held[2] = {0, 0}, lacks[2] = {0, 0}, used = 0, stored = 0, strays = 0;
    const struct guard_entry *entry, *before = NULL;
    for (int i = 0; i < KEYS; i++) {
        entry = &entries[i];
        for (int which = 0; which < 2; which++) {
            held[which] += entry->held[which];
            lacks[which] += entry->held[which] && !entry->stored;
        }
        used += entry->stored ? entry->size : 0;
        stored += entry->stored;
        strays += entry->is_stray;
        if (entry->is_stray != (entry->stored && !entry->held[guard->followed]))
            return 0;
    }
    for (entry = guard->oldest[GUARD_STORED]; entry != NULL; before = entry, entry = entry->newer[GUARD_STORED], stored--)
        if (!entry->stored || entry->older[GUARD_STORED] != before ||
            (before != NULL && before->last_access >= entry->last_access))
            return 0;
    if (guard->newest[GUARD_STORED] != before)
        return 0;
    before = NULL;
    for (entry = guard->oldest[GUARD_STRAYS]; entry != NULL; before = entry, entry = entry->newer[GUARD_STRAYS], strays--)
        if (!entry->is_stray || entry->older[GUARD_STRAYS] != before ||
            (before != NULL && before->stray_since > entry->stray_since))
            return 0;
    return guard->newest[GUARD_STRAYS] == before && stored == 0 && strays == 0 && used == guard->used &&
           used <= guard->capacity && held[0] == guard->held[0] && held[1] == guard->held[1] &&
           lacks[0] == guard->lacks[0] && lacks[1] == guard->lacks[1] && guard->hits + guard->misses == guard->now;
}

/* The first step after which the account is wrong, 0 if there is none, or -1 if no other policy was ever followed. */
int fuzz(uint64_t seed, int steps)
{
    static struct guard_entry entries[KEYS];
    struct guard guard;
    random_state = seed;
    memset(entries, 0, sizeof entries);
    guard_init(&guard, 20 + drawn(60), 0.01, 1.0);
    for (int step = 1; step <= steps; step++) {
        struct guard_entry *entry = &entries[drawn(KEYS)];
        const int hit = guard_lookup(&guard, entry);
        int missed[2];
        for (int which = 0; which < 2; which++) {
            missed[which] = !entry->held[which];
            for (uint64_t leaving = drawn(4); leaving > 0; leaving--)
                guard_leave(&guard, which, &entries[drawn(KEYS)]);
            if (drawn(5))
                guard_enter(&guard, which, entry);
        }
        guard_decide(&guard, missed[GUARD_POLICY], missed[GUARD_SAFE] && drawn(3));
        if (!hit) {
            struct guard_entry *victim;
            while ((victim = guard_evict(&guard, entry, drawn(12))) != NULL)
                if (victim->stored || !is_right(&guard, entries))
                    return step;
        }
        if (!drawn(8))
            guard_remove(&guard, &entries[drawn(KEYS)]);
        if (!is_right(&guard, entries))
            return step;
    }
    return guard.switches > 0 ? 0 : -1;
}
