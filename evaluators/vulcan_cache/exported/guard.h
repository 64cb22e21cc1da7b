/*
 * The guard: a cache that follows a policy as long as it loses little to a safe one.
 *
 * Both policies, POLICY_ and SAFE_, manage a directory of keys of the full capacity, without values, and are told of
 * every request; the caller has both, driven by the functions above. The cache has the values. It follows one of the two:
 * it stores what that one stores, and evicts, when it needs space, only what that one no longer holds. In any n
 * consecutive requests it misses at most
 *
 *     tolerance * n + allowance * K
 *
 * requests more than the safe policy would have missed, run alone from the start; K is the most objects that the safe
 * policy has held so far. The bound assumes that each key keeps its size, and that nothing is removed except by requests.
 *
 * Each key that the cache or a directory holds has a struct guard_entry, which the caller keeps in its own record of the
 * key, zeroed or from guard_entry_init at first and not moved. For each request:
 *
 *     hit = guard_lookup(&guard, &entry);              whether the value is there; serve it
 *     guard_leave(&guard, GUARD_POLICY, &victim);      for each key that leaves the directory of the policy
 *     guard_enter(&guard, GUARD_POLICY, &entry);       if the directory of the policy has stored the key
 *     ... and the same with GUARD_SAFE for the directory of the safe policy
 *     guard_decide(&guard, policy_missed, safe_missed);
 *     if (!hit) {
 *         while ((victim = guard_evict(&guard, &entry, size)) != NULL)
 *             ... drop the value of the victim
 *         if (entry.stored)
 *             ... store the value
 *     }
 *
 * A record is no longer needed once guard_is_unused(&entry). To drop a value at another time, for it is no longer
 * valid, remove the key from both directories with guard_leave, and call guard_remove(&guard, &entry).
 *
 * No call allocates. A request takes constant time, except that the k keys that leave a directory at one request are
 * sorted by insertion, and that a change of the policy followed takes the time of all that is stored. One thread at a time.
 */

#ifndef GUARD_H
#define GUARD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define GUARD_TOLERANCE 0.01
#define GUARD_ALLOWANCE 1.0
#define GUARD_EVIDENCE 32.0

/* Which of both policies. */
enum { GUARD_POLICY = 0, GUARD_SAFE = 1 };

/* The lists of what is stored: all, and what the policy followed does not hold. */
enum { GUARD_STORED = 0, GUARD_STRAYS = 1 };

/* What is kept of a key. */
struct guard_entry {
    struct guard_entry *older[2], *newer[2]; /* in the lists */
    uint64_t size; /* its size, while it is stored */
    uint64_t last_access; /* the latest request for it */
    uint64_t stray_since; /* the request at which it became a stray */
    unsigned char held[2]; /* whether the policy holds it */
    unsigned char stored; /* whether the cache has its value */
    unsigned char is_stray;
};

/* The account. The counters may be read, and nothing is to be written. */
struct guard {
    uint64_t capacity, used;
    uint64_t hits, misses;
    uint64_t bypassed; /* misses whose value was not stored */
    uint64_t safe_misses; /* requests that the safe policy would have missed */
    uint64_t switches; /* how often another policy was followed */
    uint64_t held[2]; /* how many keys a policy holds */
    uint64_t lacks[2]; /* how many of these the cache does not have */
    uint64_t most_held; /* the most that the safe policy has held */
    uint64_t now; /* the number of the request, from 1 */
    double tolerance, allowance;
    double behind; /* misses more than those of the safe policy, less the tolerance a request; never below 0 */
    double gain; /* of the policy on the safe one since that is followed */
    int followed; /* GUARD_POLICY or GUARD_SAFE: which decides now */
    int hit; /* whether the request was a hit */
    struct guard_entry *oldest[2], *newest[2]; /* of the lists */
};

/* Start an empty cache, with the policy. Returns 0, or -1 where the tolerance is not in 0 to 1 or the allowance below 0. */
static inline int guard_init(struct guard *guard, uint64_t capacity, double tolerance, double allowance)
{
    memset(guard, 0, sizeof *guard);
    if (!(tolerance >= 0.0 && tolerance <= 1.0 && allowance >= 0.0))
        return -1;
    guard->capacity = capacity;
    guard->tolerance = tolerance;
    guard->allowance = allowance;
    return 0;
}

static inline void guard_entry_init(struct guard_entry *entry)
{
    memset(entry, 0, sizeof *entry);
}

static inline int guard_is_unused(const struct guard_entry *entry)
{
    return !entry->stored && !entry->held[GUARD_POLICY] && !entry->held[GUARD_SAFE];
}

/* The most misses, beyond the tolerance, that the cache may be behind the safe policy. */
static inline double guard_allowed(const struct guard *guard)
{
    return guard->allowance * (double)guard->most_held;
}

static inline void guard_unlink(struct guard *guard, int list, struct guard_entry *entry)
{
    struct guard_entry *older = entry->older[list], *newer = entry->newer[list];
    if (older != NULL)
        older->newer[list] = newer;
    else
        guard->oldest[list] = newer;
    if (newer != NULL)
        newer->older[list] = older;
    else
        guard->newest[list] = older;
    entry->older[list] = entry->newer[list] = NULL;
}

/* Put the entry behind that one, or in front of all where it is NULL. */
static inline void guard_link(struct guard *guard, int list, struct guard_entry *entry, struct guard_entry *older)
{
    struct guard_entry *newer = older != NULL ? older->newer[list] : guard->oldest[list];
    entry->older[list] = older;
    entry->newer[list] = newer;
    if (older != NULL)
        older->newer[list] = entry;
    else
        guard->oldest[list] = entry;
    if (newer != NULL)
        newer->older[list] = entry;
    else
        guard->newest[list] = entry;
}

/* Strays are evicted in the order in which they became strays, those of one request the longest unrequested first. */
static inline void guard_add_stray(struct guard *guard, struct guard_entry *entry)
{
    struct guard_entry *older = guard->newest[GUARD_STRAYS];
    while (older != NULL && older->stray_since == guard->now && older->last_access > entry->last_access)
        older = older->older[GUARD_STRAYS];
    entry->is_stray = 1;
    entry->stray_since = guard->now;
    guard_link(guard, GUARD_STRAYS, entry, older);
}

static inline void guard_remove_stray(struct guard *guard, struct guard_entry *entry)
{
    entry->is_stray = 0;
    guard_unlink(guard, GUARD_STRAYS, entry);
}

static inline void guard_follow(struct guard *guard, int which)
{
    struct guard_entry *entry;
    guard->followed = which;
    guard->gain = 0.0;
    guard->switches += 1;
    while (guard->oldest[GUARD_STRAYS] != NULL)
        guard_remove_stray(guard, guard->oldest[GUARD_STRAYS]);
    for (entry = guard->oldest[GUARD_STORED]; entry != NULL; entry = entry->newer[GUARD_STORED]) {
        if (!entry->held[which])
            guard_add_stray(guard, entry);
    }
}

/* Begin a request for the key: whether the cache has its value. */
static inline int guard_lookup(struct guard *guard, struct guard_entry *entry)
{
    guard->now += 1;
    guard->hit = entry->stored;
    entry->last_access = guard->now;
    if (!guard->hit) {
        guard->misses += 1;
        return 0;
    }
    guard->hits += 1;
    guard_unlink(guard, GUARD_STORED, entry);
    guard_link(guard, GUARD_STORED, entry, guard->newest[GUARD_STORED]);
    return 1;
}

/* The directory of that policy has stored the key. */
static inline void guard_enter(struct guard *guard, int which, struct guard_entry *entry)
{
    if (entry->held[which])
        return;
    entry->held[which] = 1;
    guard->held[which] += 1;
    if (!entry->stored)
        guard->lacks[which] += 1;
    else if (entry->is_stray && which == guard->followed)
        guard_remove_stray(guard, entry);
}

/* The key has left the directory of that policy. */
static inline void guard_leave(struct guard *guard, int which, struct guard_entry *entry)
{
    if (!entry->held[which])
        return;
    entry->held[which] = 0;
    guard->held[which] -= 1;
    if (!entry->stored)
        guard->lacks[which] -= 1;
    else if (which == guard->followed)
        guard_add_stray(guard, entry);
}

/* Keep the account, once both directories have had the request, and choose: which policy is followed. */
static inline int guard_decide(struct guard *guard, int policy_missed, int safe_missed)
{
    const double missed_by_policy = policy_missed ? 1.0 : 0.0, missed_by_safe = safe_missed ? 1.0 : 0.0;
    const double lacks_of_policy = (double)guard->lacks[GUARD_POLICY];
    double behind, gain, allowed;
    guard->safe_misses += safe_missed ? 1 : 0;
    if (guard->held[GUARD_SAFE] > guard->most_held)
        guard->most_held = guard->held[GUARD_SAFE];
    allowed = guard_allowed(guard);
    behind = guard->behind + ((guard->hit ? 0.0 : 1.0) - missed_by_safe) - guard->tolerance;
    gain = guard->gain + (missed_by_safe - missed_by_policy) - guard->tolerance;
    guard->behind = behind > 0.0 ? behind : 0.0;
    guard->gain = gain > 0.0 ? gain : 0.0;
    if (guard->followed == GUARD_POLICY) {
        if (guard->behind + (double)guard->lacks[GUARD_SAFE] > allowed)
            guard_follow(guard, GUARD_SAFE);
    } else if (guard->gain >= GUARD_EVIDENCE && guard->gain >= lacks_of_policy &&
               guard->behind + 2.0 * lacks_of_policy <= allowed) {
        guard_follow(guard, GUARD_POLICY);
    }
    return guard->followed;
}

/* The value is no longer stored. */
static inline void guard_remove(struct guard *guard, struct guard_entry *entry)
{
    if (!entry->stored)
        return;
    if (entry->is_stray)
        guard_remove_stray(guard, entry);
    guard_unlink(guard, GUARD_STORED, entry);
    entry->stored = 0;
    guard->used -= entry->size;
    guard->lacks[GUARD_POLICY] += entry->held[GUARD_POLICY];
    guard->lacks[GUARD_SAFE] += entry->held[GUARD_SAFE];
}

/* After a miss, and until it returns NULL: a key whose value is to be dropped, or NULL when the key is stored or bypassed. */
static inline struct guard_entry *guard_evict(struct guard *guard, struct guard_entry *entry, uint64_t size)
{
    const uint64_t taken = size > 0 ? size : 1;
    if (entry->stored)
        return NULL;
    while (entry->held[guard->followed]) {
        struct guard_entry *victim = guard->oldest[GUARD_STRAYS];
        if (taken <= guard->capacity - guard->used) {
            entry->stored = 1;
            entry->size = taken;
            guard->used += taken;
            guard_link(guard, GUARD_STORED, entry, guard->newest[GUARD_STORED]);
            guard->lacks[GUARD_POLICY] -= entry->held[GUARD_POLICY];
            guard->lacks[GUARD_SAFE] -= entry->held[GUARD_SAFE];
            return NULL;
        }
        if (victim == NULL)
            break;
        if (guard->followed == GUARD_POLICY && victim->held[GUARD_SAFE] &&
            guard->behind + (double)guard->lacks[GUARD_SAFE] + 1.0 > guard_allowed(guard)) {
            guard_follow(guard, GUARD_SAFE);
            continue;
        }
        guard_remove(guard, victim);
        return victim;
    }
    guard->bypassed += 1;
    return NULL;
}

#endif
