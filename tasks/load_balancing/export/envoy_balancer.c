/*
 * The policy above as a load balancer of Envoy 1.40: a dynamic module, by Envoy's interface in C.
 *
 *     cc -O2 -ffp-contract=off -shared -fPIC envoy_balancer.c -o libbalancer.so -lm
 *     ENVOY_DYNAMIC_MODULES_SEARCH_PATH=$PWD envoy -c envoy.yaml
 *
 * with this in the cluster:
 *
 *     load_balancing_policy:
 *       policies:
 *       - typed_extension_config:
 *           name: envoy.load_balancing_policies.dynamic_modules
 *           typed_config:
 *             "@type": type.googleapis.com/envoy.extensions.load_balancing_policies.dynamic_modules.v3.DynamicModulesLoadBalancerConfig
 *             dynamic_module_config: {name: balancer}
 *             lb_policy_name: balancer
 *
 * Each of Envoy's workers has a balancer, with a state of its own. It chooses among the healthy hosts of the first priority
 * that has any. `server.mine` are the requests that Envoy, all workers, has open with the host: one that waits for a
 * connection is not among them yet. A host that comes back after it was removed is a new one.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

struct text {
    const char *start;
    size_t length;
};

/* What is used of the interface: source/extensions/dynamic_modules/abi/abi.h of Envoy */
#define ABI_VERSION "v0.2.0"
#define ACTIVE_REQUESTS 7
size_t envoy_dynamic_module_callback_lb_get_priority_set_size(void *envoy);
size_t envoy_dynamic_module_callback_lb_get_hosts_count(void *envoy, uint32_t priority);
size_t envoy_dynamic_module_callback_lb_get_healthy_hosts_count(void *envoy, uint32_t priority);
bool envoy_dynamic_module_callback_lb_get_host_address(void *envoy, uint32_t priority, size_t index, struct text *address);
bool envoy_dynamic_module_callback_lb_get_healthy_host_address(void *envoy, uint32_t priority, size_t index,
                                                               struct text *address);
bool envoy_dynamic_module_callback_lb_get_member_update_host_address(void *envoy, size_t index, bool is_added,
                                                                     struct text *address);
uint64_t envoy_dynamic_module_callback_lb_get_host_stat(void *envoy, uint32_t priority, size_t index, int stat);

struct server {
    char *address; /* NULL where there is none */
    size_t length;
    size_t index; /* among all hosts of its priority, when it was last looked for */
    struct policy_entity entity;
    double mine, chance;
};

struct balancer {
    struct policy_state state;
    struct policy_features features;
    uint64_t drawn;
    struct timespec began;
    struct server *servers; /* by their ids */
    size_t count;
    size_t *healthy; /* ids of the healthy hosts, as Envoy has them; room for as many as there are servers */
};

static uint64_t next_seed = 1;

static double draw(struct balancer *b)
{
    uint64_t z = b->drawn += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static bool is_of(const struct server *server, struct text address)
{
    return server->address != NULL && server->length == address.length &&
           memcmp(server->address, address.start, address.length) == 0;
}

/* The id of the server of that address, looked for at `guess` first; `count` where there is none. */
static size_t find(const struct balancer *b, struct text address, size_t guess)
{
    size_t id;
    if (guess < b->count && is_of(&b->servers[guess], address))
        return guess;
    for (id = 0; id < b->count && !is_of(&b->servers[id], address); id++)
        ;
    return id;
}

static void show_server(struct balancer *b, size_t id)
{
    b->features.server.id = id < 1000 ? (double)id : 1000.0;
    b->features.server.mine = b->servers[id].mine;
    b->features.server.chance = b->servers[id].chance;
}

/* Add a server, at the first id that is free. Returns false where there is no memory. */
static bool add(struct balancer *b, struct text address, size_t *id)
{
    char *own = malloc(address.length + 1);
    for (*id = 0; *id < b->count && b->servers[*id].address != NULL; ++*id)
        ;
    if (own != NULL && *id == b->count) {
        size_t room = 2 * b->count + 8, n;
        struct server *servers = realloc(b->servers, room * sizeof *servers);
        size_t *healthy;
        b->servers = servers != NULL ? servers : b->servers;
        healthy = realloc(b->healthy, room * sizeof *healthy);
        b->healthy = healthy != NULL ? healthy : b->healthy;
        if (servers == NULL || healthy == NULL) {
            free(own);
            return false;
        }
        for (n = b->count; n < room; n++) {
            b->servers[n].address = NULL;
            b->healthy[n] = 0;
        }
        b->count = room;
    }
    if (own == NULL)
        return false;
    memset(&b->servers[*id], 0, sizeof *b->servers);
    memcpy(own, address.start, address.length);
    b->servers[*id].address = own;
    b->servers[*id].length = address.length;
    policy_entity_init(&b->servers[*id].entity);
    show_server(b, *id);
    policy_enter(&b->state, &b->servers[*id].entity, &b->features);
    return true;
}

/* Look at the healthy host of that number, and count its requests. Returns false where Envoy has none any more. */
static bool look(struct balancer *b, void *envoy, uint32_t priority, size_t number)
{
    struct text address, other;
    size_t id, hosts = envoy_dynamic_module_callback_lb_get_hosts_count(envoy, priority), n;
    struct server *server;
    if (!envoy_dynamic_module_callback_lb_get_healthy_host_address(envoy, priority, number, &address))
        return false;
    id = find(b, address, number < b->count ? b->healthy[number] : 0);
    if (id == b->count && !add(b, address, &id))
        return false;
    b->healthy[number] = id;
    server = &b->servers[id];
    server->index = server->index < hosts ? server->index : 0;
    for (n = 0; n < hosts; n++, server->index = (server->index + 1) % hosts)
        if (envoy_dynamic_module_callback_lb_get_host_address(envoy, priority, server->index, &other) && is_of(server, other))
            break;
    server->mine = (double)envoy_dynamic_module_callback_lb_get_host_stat(envoy, priority, server->index, ACTIVE_REQUESTS);
    b->features.servers.unanswered += server->mine;
    return n < hosts;
}

const char *envoy_dynamic_module_on_program_init(void)
{
    return ABI_VERSION;
}

const void *envoy_dynamic_module_on_lb_config_new(void *envoy, struct text name, struct text config)
{
    (void)envoy; (void)name; (void)config;
    return &next_seed;
}

void envoy_dynamic_module_on_lb_config_destroy(const void *config)
{
    (void)config;
}

const void *envoy_dynamic_module_on_lb_new(const void *config, void *envoy)
{
    struct balancer *b = calloc(1, sizeof *b);
    (void)config; (void)envoy;
    if (b == NULL)
        return NULL;
    policy_init(&b->state);
    b->drawn = __atomic_fetch_add(&next_seed, 1, __ATOMIC_RELAXED);
#ifdef POLICY_DRAWS
    policy_seed(&b->state, b->drawn);
#endif
    clock_gettime(CLOCK_MONOTONIC, &b->began);
    return b;
}

void envoy_dynamic_module_on_lb_destroy(const void *module)
{
    struct balancer *b = (struct balancer *)module;
    for (size_t id = 0; id < b->count; id++)
        free(b->servers[id].address);
    free(b->servers);
    free(b->healthy);
    free(b);
}

void envoy_dynamic_module_on_lb_on_host_membership_update(void *envoy, const void *module, size_t added, size_t removed)
{
    struct balancer *b = (struct balancer *)module;
    struct text address;
    (void)added;
    for (size_t n = 0; n < removed; n++) {
        size_t id = b->count;
        if (envoy_dynamic_module_callback_lb_get_member_update_host_address(envoy, n, false, &address))
            id = find(b, address, id);
        if (id < b->count) {
            policy_leave(&b->state, &b->servers[id].entity);
            free(b->servers[id].address);
            b->servers[id].address = NULL;
        }
    }
}

bool envoy_dynamic_module_on_lb_choose_host(void *envoy, const void *module, void *context, uint32_t *priority,
                                            uint32_t *index)
{
    struct balancer *b = (struct balancer *)module;
    size_t levels = envoy_dynamic_module_callback_lb_get_priority_set_size(envoy), count = 0, start, best = 0;
    struct timespec now;
    double highest = 0.0;
    (void)context;
    for (*priority = 0; *priority < levels; ++*priority)
        if ((count = envoy_dynamic_module_callback_lb_get_healthy_hosts_count(envoy, *priority)) > 0)
            break;
    clock_gettime(CLOCK_MONOTONIC, &now);
    b->features.now = (double)(now.tv_sec - b->began.tv_sec) * 1e3 + (double)(now.tv_nsec - b->began.tv_nsec) / 1e6;
    b->features.servers.count = count < 2 ? 2.0 : count > 1000 ? 1000.0 : (double)count;
    b->features.servers.unanswered = 0.0;
    for (size_t n = 0; n < count; n++)
        if (!look(b, envoy, *priority, n))
            return false;
    if (count == 0)
        return false;
    start = (size_t)(draw(b) * (double)count);
    for (size_t n = 0; n < count; n++) {
        size_t number = (start + n) % count;
        struct server *server = &b->servers[b->healthy[number]];
        server->chance = draw(b);
        show_server(b, b->healthy[number]);
        double score = policy_score(&b->state, &server->entity, &b->features);
        if (n == 0 || score > highest) {
            highest = score;
            best = number;
        }
    }
#ifdef POLICY_HANDLES_ON_DISPATCH
    show_server(b, b->healthy[best]);
    policy_on_dispatch(&b->state, &b->servers[b->healthy[best]].entity, &b->features);
#endif
    *index = (uint32_t)best;
    return true;
}
