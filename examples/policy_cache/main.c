/*
 * A cache of values in front of something slow, in C, with a policy that Vulcan found.
 *
 *     make POLICY=best.py && ./cache CAPACITY < requests
 *
 * A request is a line "key size". The value of a key is what fetch() makes: here memory of that size with the key in it.
 */

#include "policy_cache.h"

#include <inttypes.h>
#include <stdio.h>

struct value {
    uint64_t key;
    char data[];
};

static struct value *fetch(uint64_t key, uint64_t size)
{
    struct value *value = (struct value *)calloc(1, sizeof *value + size);
    if (value != NULL)
        value->key = key;
    return value;
}

/* An object leaves the cache: its value is freed. */
static void drop(void *context, struct policy_cache_object *object)
{
    *(uint64_t *)context += 1;
    free(object->value);
}

int main(int count, char **arguments)
{
    const uint64_t capacity = count == 2 ? strtoull(arguments[1], NULL, 10) : 0;
    uint64_t evicted = 0, key, size;
    struct policy_cache *cache = policy_cache_new(capacity, drop, &evicted);
    if (cache == NULL) {
        fputs("usage: cache CAPACITY < requests, lines of a key and a size\n", stderr);
        return 2;
    }
    while (scanf("%" SCNu64 " %" SCNu64, &key, &size) == 2) {
        const struct policy_cache_object *object = policy_cache_get(cache, key);
        struct value *value = object != NULL ? (struct value *)object->value : fetch(key, size);
        if (value == NULL || value->key != key)
            return 1;
        if (object == NULL && policy_cache_put(cache, key, size, value) == NULL)
            free(value); /* it was served, and is not stored */
    }
    printf("hits %" PRIu64 ", misses %" PRIu64 ", refused %" PRIu64 ", evicted %" PRIu64 "\n", cache->hits, cache->misses,
           cache->refused, evicted);
    policy_cache_free(cache);
    return 0;
}
