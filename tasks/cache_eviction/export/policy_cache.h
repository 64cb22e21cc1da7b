/*
 * The cache of this policy: its keys, its mechanism and its ghost list, in C99. Each object has a `value` for the caller.
 *
 *     struct policy_cache *cache = policy_cache_new(capacity, drop, context);
 *
 *     struct policy_cache_object *object = policy_cache_get(cache, key);     a request: NULL where it missed
 *     if (object == NULL) {
 *         value = ... fetch it
 *         object = policy_cache_put(cache, key, size, value);                completes it: NULL where it is not stored
 *     }
 *     ...
 *     policy_cache_free(cache);
 *
 * `drop(context, object)` is called for each object that leaves, whose `key`, `size` and `value` are still there; NULL
 * for none. What policy_cache_put refuses stays the caller's. An object stays where it is until it leaves. Keys are
 * hashed here, not compared with anything but each other; a key that stands for longer data is the caller's choice. Where
 * the policy computes with obj.id, give keys as its search did: numbers in order of first appearance.
 *
 * The order of events is that of the simulator, and so is each decision. A request has the number of those before as its
 * time. On a hit: count and time of the object are set; policy_observe; policy_on_hit; under the mechanism heap its
 * priority is computed. On a miss of what fits into the cache: policy_on_ghost_hit where the ghost list has the object;
 * policy_on_miss; if there is room already policy_score_admit is asked once, with a victim of zeros. Then, as long as room
 * is needed: the victim is chosen, policy_score_admit is asked, policy_on_evict is called while `cache` counts the victim,
 * then policy_leave, and the ghost list remembers it, being as long as the cache had objects before. At last `cache` counts
 * the new object; policy_enter; policy_on_insert; and its priority is computed. What is refused is remembered too, after
 * policy_on_refuse. A policy has only those functions that it defines.
 *
 * Memory is taken in blocks of objects, and is bounded by the most that the cache and its ghost list have held. A request
 * takes a time that grows with the logarithm of the objects (heap), or with the objects drawn (sample); now and then one
 * more, where the table of keys grows. One thread at a time: give each thread a cache, or hold a lock.
 */

#ifndef POLICY_CACHE_H
#define POLICY_CACHE_H

#include <stddef.h>
#include <stdlib.h>

#if defined POLICY_READS_GHOST || defined POLICY_HANDLES_ON_GHOST_HIT || defined POLICY_KEEPS_FIELDS
#define POLICY_CACHE_REMEMBERS /* what left */
#endif

#define POLICY_CACHE_BLOCK 256 /* objects that memory is taken for at once */

/* An object in the cache, or remembered in the ghost list, or both. */
struct policy_cache_object {
    uint64_t key;
    void *value;
    double size, count; /* count is 0 while it is not in the cache */
    double last_access, insertion, priority;
    size_t place;                     /* in the heap, or among those that are drawn */
    struct policy_cache_object *next; /* in the ghost list, which later ones leave later; or a free one */
#ifdef POLICY_CACHE_REMEMBERS
    struct policy_cache_object *previous;
    double left, left_count, left_at; /* left is 0 where the ghost list does not have it */
#endif
#ifdef POLICY_DEFINES_RECHECK
    size_t timer; /* its place in the heap of times, SIZE_MAX where it is in none */
#endif
    struct policy_entity entity;
};

/* A place in a heap: the lowest order is first, of equals the lowest tie. */
struct policy_cache_node {
    double order, tie;
    struct policy_cache_object *object;
};

struct policy_cache_nodes {
    struct policy_cache_node *nodes;
    size_t count, room;
    size_t place; /* where an object keeps its place here: the offset in it */
};

struct policy_cache_slot {
    uint64_t key;
    struct policy_cache_object *object; /* NULL where the slot is free */
};

struct policy_cache {
    uint64_t hits, misses, refused; /* refused: not stored, as too large, not admitted, or for want of memory */
    double now, used, capacity, objects, evicted_priority;
    struct policy_cache_nodes stored;
    struct policy_cache_slot *slots; /* a power of 2 of them, at most half of them taken */
    size_t mask, taken;
    unsigned shift;
    struct policy_cache_object *unused, *blocks; /* a block's first object chains the blocks */
    void (*drop)(void *context, struct policy_cache_object *object);
    void *context;
#ifdef POLICY_CACHE_REMEMBERS
    struct policy_cache_object *oldest, *newest;
    double departures, remembered_from; /* the ghost list has the departures from this one on */
#endif
#ifdef POLICY_MECHANISM_SAMPLE
    uint64_t generator;
#endif
#ifdef POLICY_DEFINES_RECHECK
    struct policy_cache_nodes timers;
    double asked;
#endif
    struct policy_state policy;
};

/* The table of keys */

static inline size_t policy_cache_home(const struct policy_cache *cache, uint64_t key)
{
    return (size_t)(((key ^ key >> 32) * UINT64_C(0x9E3779B97F4A7C15)) >> cache->shift);
}

/* The slot of the key, or the free one in which it belongs. */
static inline struct policy_cache_slot *policy_cache_find(const struct policy_cache *cache, uint64_t key)
{
    size_t at = policy_cache_home(cache, key);
    while (cache->slots[at].object != NULL && cache->slots[at].key != key)
        at = (at + 1) & cache->mask;
    return &cache->slots[at];
}

static inline void policy_cache_forget(struct policy_cache *cache, struct policy_cache_object *object)
{
    size_t hole = (size_t)(policy_cache_find(cache, object->key) - cache->slots), at = hole;
    for (;;) { /* what stands behind it and may stand in its place moves there */
        at = (at + 1) & cache->mask;
        if (cache->slots[at].object == NULL)
            break;
        if (((at - policy_cache_home(cache, cache->slots[at].key)) & cache->mask) >= ((at - hole) & cache->mask)) {
            cache->slots[hole] = cache->slots[at];
            hole = at;
        }
    }
    cache->slots[hole].object = NULL;
    cache->taken -= 1;
    object->next = cache->unused;
    cache->unused = object;
}

static inline int policy_cache_grow(struct policy_cache *cache)
{
    const size_t count = cache->slots == NULL ? 1024 : 2 * (cache->mask + 1);
    struct policy_cache_slot *old = cache->slots, *made;
    const size_t before = old == NULL ? 0 : cache->mask + 1;
    size_t at;
    made = (struct policy_cache_slot *)calloc(count, sizeof *made);
    if (made == NULL)
        return 0;
    cache->shift = old == NULL ? 54 : cache->shift - 1;
    cache->slots = made;
    cache->mask = count - 1;
    for (at = 0; at < before; at++)
        if (old[at].object != NULL)
            *policy_cache_find(cache, old[at].key) = old[at];
    free(old);
    return 1;
}

static inline int policy_cache_reserve(struct policy_cache_nodes *heap, size_t count)
{
    const size_t room = 2 * heap->room + 1024;
    struct policy_cache_node *made;
    if (count <= heap->room)
        return 1;
    made = (struct policy_cache_node *)realloc(heap->nodes, room * sizeof *made);
    if (made == NULL)
        return 0;
    heap->nodes = made;
    heap->room = room;
    return 1;
}

/* A new object of the key, with room for it everywhere; NULL for want of memory. */
static inline struct policy_cache_object *policy_cache_add(struct policy_cache *cache, uint64_t key)
{
    struct policy_cache_object *object;
    struct policy_cache_slot *slot;
    size_t n;
    if (2 * (cache->taken + 1) > cache->mask + 1 && !policy_cache_grow(cache))
        return NULL;
    if (cache->unused == NULL) {
        struct policy_cache_object *block = (struct policy_cache_object *)malloc(POLICY_CACHE_BLOCK * sizeof *block);
        if (block == NULL)
            return NULL;
        block->next = cache->blocks;
        cache->blocks = block;
        for (n = 1; n < POLICY_CACHE_BLOCK; n++) {
            block[n].next = cache->unused;
            cache->unused = &block[n];
        }
    }
    object = cache->unused;
    cache->unused = object->next;
    memset(object, 0, sizeof *object);
    object->key = key;
#ifdef POLICY_DEFINES_RECHECK
    object->timer = SIZE_MAX;
#endif
    policy_entity_init(&object->entity);
    slot = policy_cache_find(cache, key);
    slot->key = key;
    slot->object = object;
    cache->taken += 1;
    return object;
}

/* Heaps of four children a node */

static inline int policy_cache_before(const struct policy_cache_node *a, const struct policy_cache_node *b)
{
    return a->order < b->order || (a->order == b->order && a->tie < b->tie);
}

static inline void policy_cache_place(struct policy_cache_nodes *heap, size_t at, struct policy_cache_node node)
{
    heap->nodes[at] = node;
    memcpy((char *)node.object + heap->place, &at, sizeof at);
}

/* Put the node at that place, or where it belongs above or below it. */
static inline void policy_cache_settle(struct policy_cache_nodes *heap, size_t at, struct policy_cache_node node)
{
    size_t child, least, end;
    for (; at > 0 && policy_cache_before(&node, &heap->nodes[(at - 1) / 4]); at = (at - 1) / 4)
        policy_cache_place(heap, at, heap->nodes[(at - 1) / 4]);
    for (; (least = 4 * at + 1) < heap->count; at = least) {
        end = least + 4 < heap->count ? least + 4 : heap->count;
        for (child = least + 1; child < end; child++)
            if (policy_cache_before(&heap->nodes[child], &heap->nodes[least]))
                least = child;
        if (!policy_cache_before(&heap->nodes[least], &node))
            break;
        policy_cache_place(heap, at, heap->nodes[least]);
    }
    policy_cache_place(heap, at, node);
}

static inline void policy_cache_take_out(struct policy_cache_nodes *heap, size_t at)
{
    heap->count -= 1;
    if (at < heap->count)
        policy_cache_settle(heap, at, heap->nodes[heap->count]);
}

/* What the policy sees */

static inline struct policy_features policy_cache_shown(
    const struct policy_cache *cache, const struct policy_cache_object *object)
{
    struct policy_features features;
    memset(&features, 0, sizeof features);
    features.now = cache->now;
    features.obj.id = (double)object->key;
    features.obj.size = object->size;
    features.obj.count = object->count;
    features.obj.last_access = object->last_access;
    features.obj.insertion = object->insertion;
    features.cache.used = cache->used;
    features.cache.capacity = cache->capacity;
    features.cache.objects = cache->objects;
    features.cache.evicted_priority = cache->evicted_priority;
#ifdef POLICY_READS_GHOST
    if (object->left > 0.0) {
        features.ghost.contains = 1.0;
        features.ghost.count = object->left_count;
        features.ghost.age = cache->now - object->left_at;
    }
#endif
    return features;
}

static inline double policy_cache_priority(const struct policy_cache *cache, const struct policy_cache_object *object)
{
    const struct policy_features features = policy_cache_shown(cache, object);
    const double priority = policy_score(&cache->policy, &object->entity, &features);
    return priority > 1e300 ? 1e300 : priority < -1e300 ? -1e300 : priority;
}

/* Under the mechanism `heap`: times at which objects are looked at again, and their priorities */

#ifdef POLICY_DEFINES_RECHECK
static inline void policy_cache_no_longer(struct policy_cache *cache, struct policy_cache_object *object)
{
    if (object->timer != SIZE_MAX)
        policy_cache_take_out(&cache->timers, object->timer);
    object->timer = SIZE_MAX;
}
#endif

#ifdef POLICY_MECHANISM_HEAP
static inline void policy_cache_rank(struct policy_cache *cache, struct policy_cache_object *object)
{
    struct policy_cache_node node;
    object->priority = policy_cache_priority(cache, object);
    node.order = object->priority;
    node.tie = object->last_access;
    node.object = object;
    policy_cache_settle(&cache->stored, object->place, node);
#ifdef POLICY_DEFINES_RECHECK
    {
        const struct policy_features features = policy_cache_shown(cache, object);
        const double wait = policy_score_recheck(&cache->policy, &object->entity, &features);
        policy_cache_no_longer(cache, object);
        node.tie = cache->asked += 1.0;
        if (wait >= 1.0) {
            node.order = cache->now + floor(wait < 0x1p40 ? wait : 0x1p40);
            cache->timers.count += 1;
            policy_cache_settle(&cache->timers, cache->timers.count - 1, node);
        }
    }
#endif
}
#endif

/* The ghost list, in which an object that comes back stays until later ones push it out */

#ifdef POLICY_CACHE_REMEMBERS
static inline void policy_cache_unlist(struct policy_cache *cache, struct policy_cache_object *object)
{
    if (object->left <= 0.0)
        return;
    *(object->previous != NULL ? &object->previous->next : &cache->oldest) = object->next;
    *(object->next != NULL ? &object->next->previous : &cache->newest) = object->previous;
    object->left = 0.0;
}
#endif

/* The object has left, or was refused, where the cache has room for so many; it was requested so often. */
static inline void policy_cache_remember(
    struct policy_cache *cache, struct policy_cache_object *object, double count, double room)
{
    object->count = 0.0;
#ifdef POLICY_CACHE_REMEMBERS
    policy_cache_unlist(cache, object);
    object->left = cache->departures += 1.0;
    object->left_count = count;
    object->left_at = cache->now;
    object->previous = cache->newest;
    object->next = NULL;
    *(cache->newest != NULL ? &cache->newest->next : &cache->oldest) = object;
    cache->newest = object;
    if (cache->departures + 1.0 - room > cache->remembered_from)
        cache->remembered_from = cache->departures + 1.0 - room;
    while (cache->oldest != NULL && cache->oldest->left < cache->remembered_from) {
        struct policy_cache_object *first = cache->oldest;
        policy_cache_unlist(cache, first);
        if (first->count <= 0.0)
            policy_cache_forget(cache, first);
    }
#else
    (void)count; (void)room;
    policy_cache_forget(cache, object);
#endif
}

/* The object, which is in the cache, leaves it; what the ghost list knows of it stays. */
static inline void policy_cache_take(struct policy_cache *cache, struct policy_cache_object *object)
{
    policy_leave(&cache->policy, &object->entity);
    if (cache->drop != NULL)
        cache->drop(cache->context, object);
    object->value = NULL;
    cache->used -= object->size;
    cache->objects -= 1.0;
#ifdef POLICY_MECHANISM_HEAP
    policy_cache_take_out(&cache->stored, object->place);
#else
    cache->stored.count -= 1;
    policy_cache_place(&cache->stored, object->place, cache->stored.nodes[cache->stored.count]);
#endif
#ifdef POLICY_DEFINES_RECHECK
    policy_cache_no_longer(cache, object);
#endif
}

/* The object that leaves next, with its priority. */
static inline struct policy_cache_object *policy_cache_victim(struct policy_cache *cache)
{
#ifdef POLICY_MECHANISM_HEAP
    return cache->stored.nodes[0].object;
#else
    const size_t all = cache->stored.count, draws = all < POLICY_SAMPLE_SIZE ? all : POLICY_SAMPLE_SIZE;
    struct policy_cache_object *chosen = NULL;
    size_t n;
    for (n = 0; n < draws; n++) {
        struct policy_cache_object *object;
        uint64_t x = cache->generator; /* xorshift64 */
        if (all > POLICY_SAMPLE_SIZE) {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            cache->generator = x;
        }
        object = cache->stored.nodes[all > POLICY_SAMPLE_SIZE ? (size_t)((x >> 32) * (uint64_t)all >> 32) : n].object;
        object->priority = policy_cache_priority(cache, object);
        if (chosen == NULL || object->priority < chosen->priority)
            chosen = object;
    }
    return chosen;
#endif
}

/* Whether the object is let in, in the place of a victim or, where that is NULL, into free space. */
static inline int policy_cache_admits(
    const struct policy_cache *cache, const struct policy_cache_object *object, const struct policy_cache_object *victim)
{
#ifdef POLICY_DEFINES_ADMIT
    struct policy_features features = policy_cache_shown(cache, object);
    if (victim != NULL) {
        features.victim.size = victim->size;
        features.victim.count = victim->count;
        features.victim.last_access = victim->last_access;
        features.victim.insertion = victim->insertion;
        features.victim.priority = victim->priority;
    }
    return policy_score_admit(&cache->policy, &object->entity, &features) > 0.0;
#else
    (void)cache; (void)object; (void)victim;
    return 1;
#endif
}

/* Call a function of the policy that is told of an object. */
#define POLICY_CACHE_TELL(function, cache, object)                                      \
    do {                                                                                \
        const struct policy_features features = policy_cache_shown((cache), (object));  \
        function(&(cache)->policy, &(object)->entity, &features);                       \
    } while (0)

static inline void policy_cache_evict(struct policy_cache *cache, struct policy_cache_object *victim)
{
    const double priority = victim->priority, count = victim->count, objects = cache->objects;
#ifdef POLICY_HANDLES_ON_EVICT
    POLICY_CACHE_TELL(policy_on_evict, cache, victim);
#endif
    policy_cache_take(cache, victim);
    policy_cache_remember(cache, victim, count, objects);
    cache->evicted_priority = priority;
}

static inline void policy_cache_refuse(struct policy_cache *cache, struct policy_cache_object *object)
{
    double count = 1.0;
#ifdef POLICY_HANDLES_ON_REFUSE
    POLICY_CACHE_TELL(policy_on_refuse, cache, object);
#endif
#ifdef POLICY_CACHE_REMEMBERS
    count += object->left > 0.0 ? object->left_count : 0.0;
#endif
    cache->refused += 1;
    policy_cache_remember(
        cache, object, count, cache->objects + floor((cache->capacity - cache->used) / object->size));
}

/* What the caller uses */

/* A request for the key: the object, or NULL where it is not in the cache. */
static inline struct policy_cache_object *policy_cache_get(struct policy_cache *cache, uint64_t key)
{
    struct policy_cache_object *object;
    cache->now = (double)(cache->hits + cache->misses);
#ifdef POLICY_DEFINES_RECHECK
    {
        int again;
        for (again = 0; again < 4 && cache->timers.count > 0 && cache->timers.nodes[0].order <= cache->now; again++)
            policy_cache_rank(cache, cache->timers.nodes[0].object);
    }
#endif
    object = policy_cache_find(cache, key)->object;
    if (object == NULL || object->count <= 0.0) {
        cache->misses += 1;
        return NULL;
    }
    cache->hits += 1;
    object->count += 1.0;
    object->last_access = cache->now;
    POLICY_CACHE_TELL(policy_observe, cache, object);
#ifdef POLICY_HANDLES_ON_HIT
    POLICY_CACHE_TELL(policy_on_hit, cache, object);
#endif
#ifdef POLICY_MECHANISM_HEAP
    policy_cache_rank(cache, object);
#endif
    return object;
}

/* Store what a request missed, of that size (0 counts as 1): the object, or NULL where it is not stored.

   No request by itself. A key that is in the cache stays as it is: to change its value, set it in the object; to change
   its size, remove it first. */
static inline struct policy_cache_object *policy_cache_put(
    struct policy_cache *cache, uint64_t key, uint64_t size, void *value)
{
    const double taken = size > 0 ? (double)size : 1.0;
    struct policy_cache_object *object = policy_cache_find(cache, key)->object;
    int is_let_in = 1;
    if (object != NULL && object->count > 0.0)
        return object;
    if (taken <= cache->capacity && policy_cache_reserve(&cache->stored, cache->stored.count + 1)
#ifdef POLICY_DEFINES_RECHECK
        && policy_cache_reserve(&cache->timers, cache->stored.count + 1)
#endif
    )
        object = object != NULL ? object : policy_cache_add(cache, key);
    else
        object = NULL;
    if (object == NULL) {
        cache->refused += 1;
        return NULL;
    }
    object->size = taken;
    object->count = 1.0;
    object->last_access = object->insertion = cache->now;
#ifdef POLICY_HANDLES_ON_GHOST_HIT
    if (object->left > 0.0)
        POLICY_CACHE_TELL(policy_on_ghost_hit, cache, object);
#endif
#ifdef POLICY_HANDLES_ON_MISS
    POLICY_CACHE_TELL(policy_on_miss, cache, object);
#endif
    if (cache->used + taken <= cache->capacity)
        is_let_in = policy_cache_admits(cache, object, NULL);
    while (is_let_in && cache->used + taken > cache->capacity) {
        struct policy_cache_object *victim = policy_cache_victim(cache);
        is_let_in = policy_cache_admits(cache, object, victim);
        if (is_let_in)
            policy_cache_evict(cache, victim);
    }
    if (!is_let_in) {
        policy_cache_refuse(cache, object);
        return NULL;
    }
    object->value = value;
    object->place = cache->stored.count;
    cache->stored.count += 1;
    cache->used += taken;
    cache->objects += 1.0;
    POLICY_CACHE_TELL(policy_enter, cache, object);
#ifdef POLICY_HANDLES_ON_INSERT
    POLICY_CACHE_TELL(policy_on_insert, cache, object);
#endif
#ifdef POLICY_MECHANISM_HEAP
    policy_cache_rank(cache, object);
#else
    cache->stored.nodes[object->place].object = object;
#endif
    return object;
}

/* Remove the key, if it is in the cache, without an event of the policy. */
static inline void policy_cache_remove(struct policy_cache *cache, uint64_t key)
{
    struct policy_cache_object *object = policy_cache_find(cache, key)->object;
    if (object == NULL || object->count <= 0.0)
        return;
    policy_cache_take(cache, object);
    object->count = 0.0;
#ifdef POLICY_CACHE_REMEMBERS
    if (object->left > 0.0)
        return;
#endif
    policy_cache_forget(cache, object);
}

/* Free all; `drop` is called for what is in the cache. */
static inline void policy_cache_free(struct policy_cache *cache)
{
    size_t n;
    for (n = 0; n < cache->stored.count && cache->drop != NULL; n++)
        cache->drop(cache->context, cache->stored.nodes[n].object);
    while (cache->blocks != NULL) {
        struct policy_cache_object *block = cache->blocks;
        cache->blocks = block->next;
        free(block);
    }
    free(cache->stored.nodes);
#ifdef POLICY_DEFINES_RECHECK
    free(cache->timers.nodes);
#endif
    free(cache->slots);
    free(cache);
}

/* An empty cache of that capacity, in the unit of sizes; NULL for a capacity of 0, over 2^53, or want of memory. */
static inline struct policy_cache *policy_cache_new(
    uint64_t capacity, void (*drop)(void *context, struct policy_cache_object *object), void *context)
{
    struct policy_cache *cache;
    if (capacity == 0 || capacity > UINT64_C(1) << 53)
        return NULL;
    cache = (struct policy_cache *)calloc(1, sizeof *cache);
    if (cache == NULL || !policy_cache_grow(cache)) {
        free(cache);
        return NULL;
    }
    cache->capacity = (double)capacity;
    cache->drop = drop;
    cache->context = context;
    cache->stored.place = offsetof(struct policy_cache_object, place);
#ifdef POLICY_CACHE_REMEMBERS
    cache->remembered_from = 1.0;
#endif
#ifdef POLICY_DEFINES_RECHECK
    cache->timers.place = offsetof(struct policy_cache_object, timer);
#endif
#ifdef POLICY_MECHANISM_SAMPLE
    {
        uint64_t z = ((uint64_t)POLICY_SAMPLE_SEED + 1) * UINT64_C(0x9E3779B97F4A7C15); /* splitmix64 of the seed */
        z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
        z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
        z ^= z >> 31;
        cache->generator = z != 0 ? z : UINT64_C(0x9E3779B97F4A7C15);
    }
#endif
    policy_init(&cache->policy);
#ifdef POLICY_DRAWS
    policy_seed(&cache->policy, (uint64_t)POLICY_SAMPLE_SEED);
#endif
    return cache;
}

#endif
