/* What Envoy shows of its hosts to a load balancer in C, for tests: arrays, and a clock, that are set from outside. */
#define _GNU_SOURCE
#include "envoy_balancer.c"

#define HOSTS 16
size_t levels, counts[2], removed;
char addresses[2][HOSTS][24], gone[HOSTS][24];
bool healthy[2][HOSTS];
uint64_t active[2][HOSTS];
double clock_ms;

int clock_gettime(clockid_t which, struct timespec *time)
{
    (void)which;
    time->tv_sec = (time_t)(clock_ms / 1e3);
    time->tv_nsec = (long)(clock_ms * 1e6) % 1000000000;
    return 0;
}

static bool tell(const char *own, struct text *address)
{
    address->start = own;
    address->length = strlen(own);
    return true;
}

size_t envoy_dynamic_module_callback_lb_get_priority_set_size(void *envoy) { (void)envoy; return levels; }

size_t envoy_dynamic_module_callback_lb_get_hosts_count(void *envoy, uint32_t level) { (void)envoy; return counts[level]; }

/* The place among all hosts of a healthy one; that of none is the number of all. */
static size_t place(uint32_t level, size_t index)
{
    size_t n = 0;
    for (; n < counts[level]; n++)
        if (healthy[level][n] && index-- == 0)
            break;
    return n;
}

size_t envoy_dynamic_module_callback_lb_get_healthy_hosts_count(void *envoy, uint32_t level)
{
    size_t found = 0;
    (void)envoy;
    while (place(level, found) < counts[level])
        found++;
    return found;
}

bool envoy_dynamic_module_callback_lb_get_host_address(void *envoy, uint32_t level, size_t index, struct text *address)
{
    (void)envoy;
    return index < counts[level] && tell(addresses[level][index], address);
}

bool envoy_dynamic_module_callback_lb_get_healthy_host_address(void *envoy, uint32_t level, size_t index,
                                                               struct text *address)
{
    return envoy_dynamic_module_callback_lb_get_host_address(envoy, level, place(level, index), address);
}

bool envoy_dynamic_module_callback_lb_get_member_update_host_address(void *envoy, size_t index, bool is_added,
                                                                     struct text *address)
{
    (void)envoy;
    return !is_added && index < removed && tell(gone[index], address);
}

uint64_t envoy_dynamic_module_callback_lb_get_host_stat(void *envoy, uint32_t level, size_t index, int stat)
{
    (void)envoy;
    return stat == ACTIVE_REQUESTS && index < counts[level] ? active[level][index] : 0;
}
