/* Replays requests through an exported policy_cache.h: the outcome of each, as histories of the simulator have it. */

#include "policy_cache.h"

static void left(void *context, struct policy_cache_object *object)
{
    int64_t *values = (int64_t *)context;
    values[0] -= *(int64_t *)object->value;
}

/* Returns misses, or -1 where an object does not have the value it was stored with, or values are lost. */
int64_t replay(int64_t count, const uint32_t *keys, const int64_t *sizes, uint64_t capacity, uint32_t *outcome, double *facts)
{
    static int64_t one = 1;
    int64_t stored = 0, n, misses;
    struct policy_cache *cache = policy_cache_new(capacity, left, &stored);
    for (n = 0; n < count; n++) {
        struct policy_cache_object *object = policy_cache_get(cache, keys[n]);
        outcome[n] = 0;
        if (object == NULL) {
            object = policy_cache_put(cache, keys[n], (uint64_t)sizes[n], &one);
            outcome[n] = object != NULL ? 1 : 2;
            stored += object != NULL;
        }
        if (object != NULL && (object->key != keys[n] || object->value != &one))
            return -1;
    }
    misses = (int64_t)cache->misses;
    if (stored != (int64_t)cache->objects || cache->used > cache->capacity)
        return -1;
    facts[0] = cache->used;
    facts[1] = cache->evicted_priority;
    for (n = 0; n < count; n++)
        policy_cache_remove(cache, keys[n]);
    if (stored != 0 || cache->objects != 0.0 || cache->used != 0.0)
        return -1;
    policy_cache_free(cache);
    return misses;
}
