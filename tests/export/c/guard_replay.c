/* A guarded cache of which both directories are histories of the simulator (`vulcan_cache.kernels.common`). */

#include "guarded.h"

enum { HIT = 0, ADMITTED = 1, OUTCOME = 3, OUTCOME_BITS = 2 };

/* `outcome` receives what the simulator's does; `counts` misses, bypassed requests, switches and the most held. Returns
   whether all entries are unused once everything has left. */
int replay(int64_t requests, const uint32_t *objects, const int64_t *sizes, const uint32_t *histories[2],
           const int64_t *left[2], const int64_t lengths[2], struct guard_entry *entries, uint64_t capacity,
           double tolerance, double allowance, uint32_t *outcome, uint64_t counts[4], double *behind)
{
    struct guard guard;
    int64_t next[2] = {0, 0};
    struct guard_entry *victim;
    int which, is_clean = 1;
    if (guard_init(&guard, capacity, tolerance, allowance) != 0)
        return -1;
    for (int64_t now = 0; now < requests; now++) {
        struct guard_entry *entry = &entries[objects[now]];
        int missed[2];
        const int hit = guard_lookup(&guard, entry);
        for (which = GUARD_POLICY; which <= GUARD_SAFE; which++) {
            const uint32_t *history = histories[which];
            const int is_new = (history[now] & OUTCOME) == ADMITTED;
            int left_at_once = 0;
            missed[which] = (history[now] & OUTCOME) != HIT;
            if (is_new && now % 2) /* whichever comes first, the arrival or the departures */
                guard_enter(&guard, which, entry);
            for (; next[which] < lengths[which]; next[which]++) {
                const int64_t last = left[which][next[which]];
                if (history[last] >> OUTCOME_BITS != now)
                    break;
                if (last == now && is_new) {
                    guard_enter(&guard, which, entry);
                    left_at_once = 1;
                }
                guard_leave(&guard, which, &entries[objects[last]]);
            }
            if (is_new && !left_at_once)
                guard_enter(&guard, which, entry);
        }
        guard_decide(&guard, missed[GUARD_POLICY], missed[GUARD_SAFE]);
        if (!hit) {
            while ((victim = guard_evict(&guard, entry, sizes[now])) != NULL)
                if (victim->stored || guard.used > capacity)
                    return -1;
        }
        outcome[now] = (uint32_t)!hit + 2 * (uint32_t)guard.followed;
        behind[now] = guard.behind;
    }
    counts[0] = guard.misses;
    counts[1] = guard.bypassed;
    counts[2] = guard.switches;
    counts[3] = guard.most_held;
    for (int64_t now = 0; now < requests; now++) {
        struct guard_entry *entry = &entries[objects[now]];
        guard_leave(&guard, GUARD_POLICY, entry);
        guard_leave(&guard, GUARD_SAFE, entry);
        guard_remove(&guard, entry);
        is_clean = is_clean && guard_is_unused(entry);
    }
    for (which = GUARD_POLICY; which <= GUARD_SAFE; which++)
        is_clean = is_clean && guard.lacks[which] == 0 && guard.held[which] == 0 && guard.oldest[which] == NULL &&
                   guard.newest[which] == NULL;
    return is_clean && guard.used == 0;
}
