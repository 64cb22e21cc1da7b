/*
 * A cache in C whose policy is guarded by LRU: the header's two policies, their directories and the guard together.
 *
 *     vulcan export best.py --task cache_eviction --guard lru --format c -o guarded.h
 *     cc -O2 -ffp-contract=off guarded_cache.c -o guarded_cache -lm
 *     ./guarded_cache CAPACITY < requests
 *
 * A request is a line "key size"; each is answered by a line of 0 for a hit or 1 for a miss, plus 2 where the safe policy is
 * followed after it. The counters follow on stderr. Requests are answered as `vulcan eval --guard lru`
 * does. It is for policies of cache_eviction whose mechanism is heap, that read no ghost list and handle no
 * events.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "guarded.h"

#define BUCKETS 65536

/* What a directory knows of a key. */
struct ranked {
    double size; /* that of the request with which it entered */
    double count, last_access, insertion, priority;
    size_t place; /* in the heap */
};

/* A key that the cache or a directory holds. */
struct record {
    struct guard_entry guard; /* first, so that a pointer to it is one to the record */
    uint64_t key;
    struct ranked ranked[2];
    struct policy_entity policy_entity;
    struct safe_entity safe_entity;
    struct record *next; /* in the bucket */
};

/* The keys that a policy would hold, as a binary heap: the lowest priority, of equals the longest untouched, is first. */
struct directory {
    int which;
    double capacity, used, evicted_priority, now;
    struct record **heap;
    size_t objects, room;
};

static struct guard guard;
static struct directory directories[2];
static struct policy_state policy_state;
static struct safe_state safe_state;
static struct record *buckets[BUCKETS];

static void *checked(void *memory)
{
    if (memory == NULL) {
        fputs("guarded_cache: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

static struct record **bucket_of(uint64_t key)
{
    return &buckets[(key * UINT64_C(0x9E3779B97F4A7C15)) >> 48];
}

static struct record *record_of(uint64_t key)
{
    struct record **bucket = bucket_of(key), *found = *bucket;
    while (found != NULL && found->key != key)
        found = found->next;
    if (found == NULL) {
        found = (struct record *)checked(calloc(1, sizeof *found));
        found->key = key;
        found->next = *bucket;
        *bucket = found;
    }
    return found;
}

static void free_if_unused(struct record *record)
{
    struct record **place = bucket_of(record->key);
    if (!guard_is_unused(&record->guard))
        return;
    while (*place != record)
        place = &(*place)->next;
    *place = record->next;
    free(record);
}

/* The features of cache_eviction, shown to either policy. */
#define SHOW(prefix)                                                                                                   \
    static struct prefix##_features prefix##_features_of(const struct directory *directory, const struct record *record) \
    {                                                                                                                  \
        const struct ranked *ranked = &record->ranked[directory->which];                                               \
        struct prefix##_features features;                                                                             \
        memset(&features, 0, sizeof features);                                                                         \
        features.now = directory->now;                                                                                 \
        features.obj.id = (double)record->key;                                                                         \
        features.obj.size = ranked->size;                                                                              \
        features.obj.count = ranked->count;                                                                            \
        features.obj.last_access = ranked->last_access;                                                                \
        features.obj.insertion = ranked->insertion;                                                                    \
        features.cache.used = directory->used;                                                                         \
        features.cache.capacity = directory->capacity;                                                                 \
        features.cache.objects = (double)directory->objects;                                                           \
        features.cache.evicted_priority = directory->evicted_priority;                                                 \
        return features;                                                                                               \
    }                                                                                                                  \
    static void prefix##_has_entered(const struct directory *directory, struct record *record)                         \
    {                                                                                                                  \
        const struct prefix##_features features = prefix##_features_of(directory, record);                             \
        prefix##_enter(&prefix##_state, &record->prefix##_entity, &features);                                          \
    }                                                                                                                  \
    static void prefix##_was_touched(const struct directory *directory, struct record *record)                         \
    {                                                                                                                  \
        const struct prefix##_features features = prefix##_features_of(directory, record);                             \
        prefix##_observe(&prefix##_state, &record->prefix##_entity, &features);                                        \
    }                                                                                                                  \
    static double prefix##_priority(const struct directory *directory, const struct record *record)                    \
    {                                                                                                                  \
        const struct prefix##_features features = prefix##_features_of(directory, record);                             \
        return prefix##_score(&prefix##_state, &record->prefix##_entity, &features);                                   \
    }

SHOW(policy)
SHOW(safe)

static int precedes(const struct directory *directory, const struct record *a, const struct record *b)
{
    const struct ranked *first = &a->ranked[directory->which], *second = &b->ranked[directory->which];
    if (first->priority != second->priority)
        return first->priority < second->priority;
    return first->last_access < second->last_access;
}

static void put(struct directory *directory, size_t place, struct record *record)
{
    directory->heap[place] = record;
    record->ranked[directory->which].place = place;
}

/* Restore the order of the heap, in which only the record at that place is wrong. */
static void settle(struct directory *directory, size_t place)
{
    struct record *record = directory->heap[place];
    for (; place > 0 && precedes(directory, record, directory->heap[(place - 1) / 2]); place = (place - 1) / 2)
        put(directory, place, directory->heap[(place - 1) / 2]);
    for (;;) {
        size_t child = 2 * place + 1;
        if (child + 1 < directory->objects && precedes(directory, directory->heap[child + 1], directory->heap[child]))
            child += 1;
        if (child >= directory->objects || !precedes(directory, directory->heap[child], record))
            break;
        put(directory, place, directory->heap[child]);
        place = child;
    }
    put(directory, place, record);
}

static void rank(struct directory *directory, struct record *record)
{
    const double priority = directory->which == GUARD_POLICY ? policy_priority(directory, record)
                                                             : safe_priority(directory, record);
    record->ranked[directory->which].priority = priority > 1e300 ? 1e300 : priority < -1e300 ? -1e300 : priority;
    settle(directory, record->ranked[directory->which].place);
}

static void evict_lowest(struct directory *directory)
{
    struct record *victim = directory->heap[0];
    if (directory->which == GUARD_POLICY)
        policy_leave(&policy_state, &victim->policy_entity);
    else
        safe_leave(&safe_state, &victim->safe_entity);
    directory->used -= victim->ranked[directory->which].size;
    directory->evicted_priority = victim->ranked[directory->which].priority;
    directory->objects -= 1;
    if (directory->objects > 0) {
        put(directory, 0, directory->heap[directory->objects]);
        settle(directory, 0);
    }
    guard_leave(&guard, directory->which, &victim->guard);
    free_if_unused(victim);
}

/* Make the request to a directory: whether it missed. */
static int request_of(struct directory *directory, struct record *record, double size)
{
    struct ranked *ranked = &record->ranked[directory->which];
    const double now = directory->now;
    if (record->guard.held[directory->which]) {
        ranked->count += 1.0;
        ranked->last_access = now;
        if (directory->which == GUARD_POLICY)
            policy_was_touched(directory, record);
        else
            safe_was_touched(directory, record);
        rank(directory, record);
        directory->now += 1.0;
        return 0;
    }
    if (size <= directory->capacity) {
        while (directory->used + size > directory->capacity)
            evict_lowest(directory);
        if (directory->objects == directory->room) {
            directory->room = 2 * directory->room + 1024;
            directory->heap = (struct record **)checked(
                realloc(directory->heap, directory->room * sizeof *directory->heap));
        }
        ranked->size = size;
        ranked->count = 1.0;
        ranked->last_access = ranked->insertion = now;
        put(directory, directory->objects, record);
        directory->objects += 1;
        directory->used += size;
        if (directory->which == GUARD_POLICY)
            policy_has_entered(directory, record);
        else
            safe_has_entered(directory, record);
        rank(directory, record);
        guard_enter(&guard, directory->which, &record->guard);
    }
    directory->now += 1.0;
    return 1;
}

/* Make a request to the cache: whether it was a hit. */
static int request(uint64_t key, uint64_t size)
{
    struct record *record = record_of(key);
    struct guard_entry *victim;
    const int hit = guard_lookup(&guard, &record->guard);
    const double taken = (double)(size > 0 ? size : 1);
    int missed[2];
    missed[GUARD_POLICY] = request_of(&directories[GUARD_POLICY], record, taken);
    missed[GUARD_SAFE] = request_of(&directories[GUARD_SAFE], record, taken);
    guard_decide(&guard, missed[GUARD_POLICY], missed[GUARD_SAFE]);
    if (!hit) {
        while ((victim = guard_evict(&guard, &record->guard, size)) != NULL)
            free_if_unused((struct record *)victim); /* and the victim's value is dropped here */
        /* where record->guard.stored, the value is fetched and stored here */
    }
    free_if_unused(record);
    return hit;
}

int main(int count, char **arguments)
{
    const uint64_t capacity = count == 2 ? strtoull(arguments[1], NULL, 10) : 0;
    uint64_t key, size;
    int which;
    if (capacity == 0) {
        fputs("usage: guarded_cache CAPACITY < requests, lines of a key and a size\n", stderr);
        return 2;
    }
    guard_init(&guard, capacity, GUARD_TOLERANCE, GUARD_ALLOWANCE);
    policy_init(&policy_state);
    safe_init(&safe_state);
    for (which = GUARD_POLICY; which <= GUARD_SAFE; which++) {
        directories[which].which = which;
        directories[which].capacity = (double)capacity;
    }
    while (scanf("%" SCNu64 " %" SCNu64, &key, &size) == 2) {
        const int hit = request(key, size);
        printf("%d\n", !hit + 2 * guard.followed);
    }
    fprintf(stderr, "misses %" PRIu64 ", of the safe policy %" PRIu64 ", switches %" PRIu64 ", bound %g\n", guard.misses,
            guard.safe_misses, guard.switches, guard.tolerance * (double)guard.now + guard_allowed(&guard));
    return 0;
}
