/* Anvil's total arithmetic in doubles: every operation has a finite result for every finite input. Functions are
   separated by two empty lines, and an exported header takes those that it needs. */


static inline double policy_saturate(double x)
{
    return x > POLICY_LARGEST ? POLICY_LARGEST : x < -POLICY_LARGEST ? -POLICY_LARGEST : x;
}


static inline double policy_divide(double a, double b)
{
    return b != 0.0 ? policy_saturate(a / b) : 0.0;
}


/* The remainder with the sign of b, as Python has it. */
static inline double policy_modulo(double a, double b)
{
    double rest;
    if (b == 0.0)
        return 0.0;
    rest = fmod(a, b);
    if (rest == 0.0)
        return copysign(0.0, b);
    return (rest < 0.0) != (b < 0.0) ? rest + b : rest;
}


/* The floor of the quotient, as Python has it. */
static inline double policy_floor_divide(double a, double b)
{
    double rest, quotient, floored;
    if (b == 0.0)
        return 0.0;
    rest = fmod(a, b);
    quotient = (a - rest) / b;
    if (rest != 0.0 && (rest < 0.0) != (b < 0.0))
        quotient -= 1.0;
    if (quotient == 0.0)
        return copysign(0.0, a / b);
    floored = floor(quotient);
    if (quotient - floored > 0.5)
        floored += 1.0;
    return policy_saturate(floored);
}


/* The operands of the mathematical library pass through memory, so that no compiler computes what it has itself
   and rounds in its own way. */
static inline double policy_power(double a, double b)
{
    volatile double base = a, exponent = b;
    if ((a == 0.0 && b < 0.0) || (a < 0.0 && b != floor(b)))
        return 0.0;
    return policy_saturate(pow(base, exponent));
}


static inline double policy_exp(double x)
{
    volatile double operand = x;
    return policy_saturate(exp(operand));
}


static inline double policy_expm1(double x)
{
    volatile double operand = x;
    return policy_saturate(expm1(operand));
}


static inline double policy_log(double x)
{
    volatile double operand = x;
    return x > 0.0 ? log(operand) : 0.0;
}


static inline double policy_log2(double x)
{
    volatile double operand = x;
    return x > 0.0 ? log2(operand) : 0.0;
}


static inline double policy_log10(double x)
{
    volatile double operand = x;
    return x > 0.0 ? log10(operand) : 0.0;
}


static inline double policy_log1p(double x)
{
    volatile double operand = x;
    return x > -1.0 ? log1p(operand) : 0.0;
}


static inline double policy_sqrt(double x)
{
    return x > 0.0 ? sqrt(x) : 0.0;
}


static inline double policy_tanh(double x)
{
    volatile double operand = x;
    return tanh(operand);
}


static inline double policy_atan(double x)
{
    volatile double operand = x;
    return atan(operand);
}


static inline double policy_sin(double x)
{
    volatile double operand = x;
    return sin(operand);
}


static inline double policy_cos(double x)
{
    volatile double operand = x;
    return cos(operand);
}


static inline double policy_min(double a, double b)
{
    return b < a ? b : a;
}


static inline double policy_max(double a, double b)
{
    return b > a ? b : a;
}


static inline double policy_both(double a, double b)
{
    return a != 0.0 ? b : a;
}


static inline double policy_either(double a, double b)
{
    return a != 0.0 ? a : b;
}


static inline int64_t policy_wrapped(int64_t count, int64_t length)
{
    return count % length;
}


/* Where a ring of that length has the observation so many steps back; where there are fewer, a place not yet taken. */
static inline int64_t policy_back(int64_t observations, int64_t steps, int64_t length)
{
    return (observations + length - steps) % length;
}


static inline int64_t policy_at_most(int64_t count, int64_t most)
{
    return count < most ? count : most;
}


static inline int64_t policy_at_least_one(int64_t count)
{
    return count > 1 ? count : 1;
}


/* The sum of `count` observations from the place `start` on, the oldest first. */
static inline double policy_ring_sum(const double *ring, int64_t start, int64_t count, int64_t length)
{
    double total = 0.0;
    for (int64_t i = 0; i < count; i++)
        total += ring[(start + i) % length];
    return total;
}


/* The sum of the last `window` observations, added up anew every so many, so that rounding errors do not add up. */
static inline double policy_renewed(const double *ring, int64_t observations, int64_t window, int64_t length,
                                    double total)
{
    if (policy_wrapped(observations, window) != 0)
        return total;
    return policy_ring_sum(ring, policy_back(observations, window, length), window, length);
}


/* How many of the latest `window` observations are equal to the value. */
static inline double policy_ring_count(const double *ring, int64_t observations, int64_t window, int64_t length,
                                       double value)
{
    int64_t found = 0, count = policy_at_most(observations, window);
    for (int64_t i = 1; i <= count; i++)
        found += ring[policy_back(observations, i, length)] == value;
    return (double)found;
}


/* Put a value behind its equals in `count` sorted ones. */
static inline void policy_sorted_insert(double *sorted, int64_t count, double value)
{
    int64_t at = count;
    for (; at > 0 && sorted[at - 1] > value; at--)
        sorted[at] = sorted[at - 1];
    sorted[at] = value;
}


/* Take the first value equal to `leaving` out of `count` sorted ones, and put another in. */
static inline void policy_sorted_replace(double *sorted, int64_t count, double leaving, double value)
{
    int64_t at = 0;
    while (at < count - 1 && sorted[at] != leaving)
        at++;
    for (; at < count - 1; at++)
        sorted[at] = sorted[at + 1];
    policy_sorted_insert(sorted, count - 1, value);
}


/* One more observation in the last `window` of them, `before` having come before it. */
static inline void policy_sorted_observe(double *sorted, int64_t before, int64_t window, double leaving, double value)
{
    if (before >= window)
        policy_sorted_replace(sorted, window, leaving, value);
    else
        policy_sorted_insert(sorted, before, value);
}


/* The value that a share of the sorted ones does not exceed (nearest rank). */
static inline double policy_sorted_percentile(const double *sorted, double share, int64_t count)
{
    return sorted[policy_at_least_one((int64_t)ceil(share * (double)count)) - 1];
}


/* The number, from 1, of a value's log-linear bucket. */
static inline int64_t policy_bucket(double value, int resolution, int64_t first, int64_t lowest, int64_t buckets)
{
    double magnitude = fabs(value);
    int64_t bucket = 0;
    memcpy(&bucket, &magnitude, sizeof bucket);
    bucket = magnitude < 0x1p-20 ? 0 : (bucket >> (52 - resolution)) - first;
    bucket = (value < 0.0 ? -bucket : bucket) - lowest + 1;
    return bucket < 1 ? 1 : bucket > buckets ? buckets : bucket;
}


/* The value in a bucket that is nearest to zero. */
static inline double policy_bucket_value(int64_t number, int resolution, int64_t first, int64_t lowest)
{
    int64_t bucket = number - 1 + lowest, bits;
    double value;
    if (bucket == 0)
        return 0.0;
    bits = ((bucket < 0 ? -bucket : bucket) + first) << (52 - resolution);
    memcpy(&value, &bits, sizeof value);
    return bucket < 0 ? -value : value;
}


/* A value goes from one bucket to another; 0 is none. The tree of Fenwick counts those in each, `tree[0]` all. */
static inline void policy_population_move(int64_t *tree, int64_t buckets, int64_t old, int64_t now)
{
    if (old == now)
        return;
    tree[0] += (now > 0) - (old > 0);
    for (int64_t i = old; i > 0 && i <= buckets; i += i & -i)
        tree[i] -= 1;
    for (int64_t i = now; i > 0 && i <= buckets; i += i & -i)
        tree[i] += 1;
}


/* The bucket that holds the value which a share of the population does not exceed (nearest rank). */
static inline int64_t policy_population_bucket(const int64_t *tree, int64_t buckets, double share)
{
    int64_t rank = policy_at_least_one((int64_t)ceil(share * (double)tree[0])), at = 0, step = 1;
    while (step * 2 <= buckets)
        step *= 2;
    for (; step > 0; step /= 2)
        if (at + step <= buckets && tree[at + step] < rank) {
            at += step;
            rank -= tree[at];
        }
    return at + 1;
}


/* The value that a share of the population does not exceed (nearest rank). */
static inline double policy_population_percentile(const int64_t *tree, int64_t buckets, double share, int resolution,
                                                  int64_t first, int64_t lowest, double unknown)
{
    if (tree[0] == 0)
        return unknown;
    return policy_bucket_value(policy_population_bucket(tree, buckets, share), resolution, first, lowest);
}


/* The place of an index in an array of that length: it is rounded down, and wrapped to the length. */
static inline int64_t policy_index(double index, int64_t length)
{
    double whole = floor(index), rest;
    if (whole >= 0.0 && whole < (double)length)
        return (int64_t)whole;
    rest = fmod(whole, (double)length);
    if (rest < 0.0)
        rest += (double)length;
    return rest >= 0.0 && rest < (double)length ? (int64_t)rest : 0;
}


/* The next 64 bits of the generator splitmix64 in this state. */
static inline uint64_t policy_mix(uint64_t word)
{
    word += 0x9e3779b97f4a7c15ULL;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9ULL;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebULL;
    return word ^ (word >> 31);
}


/* The bits of a double; those of both zeros are 0. */
static inline uint64_t policy_bits(double x)
{
    uint64_t bits = 0;
    if (x != 0.0)
        memcpy(&bits, &x, sizeof bits);
    return bits;
}


/* A whole number from 0 to 2^53 - 1; each k gives another function of a. */
static inline double policy_hash(double a, double k)
{
    return (double)(policy_mix(policy_mix(policy_bits(k)) ^ policy_bits(a)) >> 11);
}


/* The next random number, from 0 to below 1. */
static inline double policy_draw(uint64_t *generator)
{
    const uint64_t word = policy_mix(*generator);
    *generator += 0x9e3779b97f4a7c15ULL;
    return (double)(word >> 11) * 0x1p-53;
}
