/* Arithmetic on scaled 64-bit integers, without floating point, 128-bit words or signed division: what the verifier of
   Linux accepts. A number x of scale s stands for x * 2^-s. Everything saturates at +-POLICY_MOST; a quotient by zero is
   0, and so is what has no value. Products, quotients and what is shifted right are rounded to the nearest. Functions
   are separated by two empty lines, and an exported header takes those that it needs. */


POLICY_INLINE policy_word policy_magnitude(policy_fixed x)
{
    return x < 0 ? 0 - (policy_word)x : (policy_word)x;
}


POLICY_INLINE policy_fixed policy_signed(policy_word magnitude, int negative)
{
    if (magnitude > (policy_word)POLICY_MOST)
        magnitude = POLICY_MOST;
    return negative ? -(policy_fixed)magnitude : (policy_fixed)magnitude;
}


POLICY_INLINE policy_fixed policy_add(policy_fixed a, policy_fixed b)
{
    policy_fixed sum = (policy_fixed)((policy_word)a + (policy_word)b);
    if (((a ^ sum) & (b ^ sum)) < 0)
        return a < 0 ? -POLICY_MOST : POLICY_MOST;
    return sum < -POLICY_MOST ? -POLICY_MOST : sum;
}


POLICY_INLINE policy_fixed policy_subtract(policy_fixed a, policy_fixed b)
{
    return policy_add(a, -b);
}


/* x * 2^by; `by` may be negative. */
POLICY_INLINE policy_fixed policy_scaled(policy_fixed x, int by)
{
    policy_word magnitude = policy_magnitude(x);
    if (by >= 63)
        magnitude = magnitude ? POLICY_MOST : 0;
    else if (by > 0)
        magnitude = magnitude >> (63 - by) ? POLICY_MOST : magnitude << by;
    else if (by <= -64)
        magnitude = 0;
    else if (by < 0)
        magnitude = ((magnitude >> (-by - 1)) + 1) >> 1;
    return policy_signed(magnitude, x < 0);
}


/* The sign of a * 2^-by - b, exactly; `by` is not negative. */
POLICY_INLINE int policy_order(policy_fixed a, policy_fixed b, int by)
{
    policy_fixed whole = by > 62 ? (a < 0 ? -1 : 0) : a >> by;
    int rest = by > 62 ? a != 0 : (a & (((policy_fixed)1 << by) - 1)) != 0;
    return whole < b ? -1 : whole > b ? 1 : rest;
}


/* How many zeros lead a word that is not 0. */
POLICY_INLINE int policy_leading_zeros(policy_word x)
{
    int zeros = 0, step;
    step = (x < ((policy_word)1 << 32)) << 5;
    zeros += step;
    x <<= step;
    step = (x < ((policy_word)1 << 48)) << 4;
    zeros += step;
    x <<= step;
    step = (x < ((policy_word)1 << 56)) << 3;
    zeros += step;
    x <<= step;
    step = (x < ((policy_word)1 << 60)) << 2;
    zeros += step;
    x <<= step;
    step = (x < ((policy_word)1 << 62)) << 1;
    zeros += step;
    x <<= step;
    return zeros + (x < ((policy_word)1 << 63));
}


/* a * b * 2^-right; the product has 128 bits on the way. */
POLICY_FUNCTION policy_fixed policy_multiply(policy_fixed a, policy_fixed b, int right)
{
    const policy_word half = 0xffffffffULL;
    policy_word x = policy_magnitude(a), y = policy_magnitude(b);
    policy_word low = (x & half) * (y & half), middle = (x >> 32) * (y & half) + (low >> 32);
    policy_word other = (x & half) * (y >> 32) + (middle & half);
    policy_word high = (x >> 32) * (y >> 32) + (middle >> 32) + (other >> 32), result;
    int negative = (a < 0) != (b < 0);
    low = other << 32 | (low & half);
    if (right <= 0) {
        if (high || (right < 0 && (right < -62 || low >> (63 + right))))
            return policy_signed(low || high ? POLICY_MOST : 0, negative);
        return policy_signed(low << (-right & 63), negative);
    }
    if (right > 127)
        return 0;
    if (right > 64)
        result = ((high >> ((right - 65) & 63)) + 1) >> 1;
    else if (right == 64)
        result = high + (low >> 63);
    else if (high >> (right & 63))
        result = POLICY_MOST;
    else {
        result = high << ((64 - right) & 63) | low >> (right & 63);
        if (result < (policy_word)POLICY_MOST)
            result += low >> ((right - 1) & 63) & 1;
    }
    return policy_signed(result, negative);
}


/* a * 2^left / b; the dividend has 128 bits on the way (Knuth, algorithm D; Warren, Hacker's Delight, 9-4). */
POLICY_FUNCTION policy_fixed policy_divide(policy_fixed a, policy_fixed b, int left)
{
    const policy_word half = 0xffffffffULL;
    policy_word x = policy_magnitude(a), y = policy_magnitude(b), high = 0, low = x, quotient, rest;
    int negative = (a < 0) != (b < 0);
    if (x == 0 || y == 0)
        return 0;
    if (left < -63)
        return 0;
    if (left > 126)
        return policy_signed(POLICY_MOST, negative);
    if (left >= 64) {
        int more = left - 64;
        if (x >> (63 - more))
            return policy_signed(POLICY_MOST, negative);
        high = x << (more & 63);
        low = 0;
    } else if (left > 0) {
        high = x >> ((64 - left) & 63);
        low = x << (left & 63);
    }
    if (high >= y)
        return policy_signed(POLICY_MOST, negative);
    if (high == 0) {
        quotient = low / y;
        rest = low - quotient * y;
    } else {
        int zeros = policy_leading_zeros(y) & 63; /* at least 1 */
        policy_word divisor = y << zeros, first = divisor >> 32, second = divisor & half;
        policy_word top = high << zeros | low >> ((64 - zeros) & 63), bottom = low << zeros;
        policy_word digit = top / first, remainder = top - digit * first, middle;
        if (digit > half || digit * second > (remainder << 32 | bottom >> 32)) {
            digit--;
            remainder += first;
            if (remainder <= half && (digit > half || digit * second > (remainder << 32 | bottom >> 32)))
                digit--;
        }
        quotient = digit << 32;
        middle = (top << 32 | bottom >> 32) - digit * divisor;
        digit = middle / first;
        remainder = middle - digit * first;
        if (digit > half || digit * second > (remainder << 32 | (bottom & half))) {
            digit--;
            remainder += first;
            if (remainder <= half && (digit > half || digit * second > (remainder << 32 | (bottom & half))))
                digit--;
        }
        quotient += digit;
        rest = low - quotient * y;
    }
    if (quotient > (policy_word)POLICY_MOST)
        return policy_signed(POLICY_MOST, negative);
    if (left < 0)
        return policy_signed(((quotient >> ((-left - 1) & 63)) + 1) >> 1, negative);
    return policy_signed(quotient + (rest >= y - rest), negative);
}


/* The floor of a * 2^left / b, as a whole number. */
POLICY_FUNCTION policy_fixed policy_floor_divide(policy_fixed a, policy_fixed b, int left)
{
    policy_word x = policy_magnitude(a), y = policy_magnitude(b), quotient, back;
    policy_fixed nearest;
    int more = left < 0 ? -left : 0, negative = (a < 0) != (b < 0), inexact = 0;
    if (x == 0 || y == 0)
        return 0;
    if (left <= 0) {
        if (more > 62 || y >> (63 - more))
            return negative ? -1 : 0; /* the divisor is the larger one */
        y <<= more;
        quotient = x / y;
        inexact = quotient * y != x;
        return negative ? -(policy_fixed)(quotient + (policy_word)inexact) : (policy_fixed)quotient;
    }
    nearest = policy_divide((policy_fixed)x, (policy_fixed)y, left);
    if (nearest >= POLICY_MOST)
        return policy_signed(POLICY_MOST, negative);
    /* whether nearest * b is above, at or below the dividend, by their last 64 bits: they are close */
    back = (policy_word)nearest * y - (left > 63 ? 0 : x << (left & 63));
    quotient = (policy_word)nearest - ((policy_fixed)back > 0);
    inexact = back != 0;
    return negative ? -(policy_fixed)(quotient + (policy_word)inexact) : (policy_fixed)quotient;
}


/* The remainder with the sign of b; both are of one scale. */
POLICY_INLINE policy_fixed policy_modulo(policy_fixed a, policy_fixed b)
{
    policy_word y = policy_magnitude(b), rest;
    if (y == 0)
        return 0;
    rest = policy_magnitude(a) % y;
    if (rest != 0 && (a < 0) != (b < 0))
        rest = y - rest;
    return policy_signed(rest, b < 0);
}


POLICY_INLINE policy_fixed policy_min(policy_fixed a, policy_fixed b)
{
    return b < a ? b : a;
}


POLICY_INLINE policy_fixed policy_max(policy_fixed a, policy_fixed b)
{
    return b > a ? b : a;
}


POLICY_INLINE policy_fixed policy_abs(policy_fixed x)
{
    return x < 0 ? -x : x;
}


/* b where the test is not 0, else 0. */
POLICY_INLINE policy_fixed policy_both(policy_fixed test, policy_fixed b)
{
    return test != 0 ? b : 0;
}


/* a, shifted, where it is not 0, else b. */
POLICY_INLINE policy_fixed policy_either(policy_fixed a, int by, policy_fixed b)
{
    return a != 0 ? policy_scaled(a, by) : b;
}


/* The largest whole number not above x * 2^-scale; the scale is from 0 to 62. */
POLICY_INLINE policy_fixed policy_floor(policy_fixed x, int scale)
{
    return x >> scale;
}


POLICY_INLINE policy_fixed policy_ceil(policy_fixed x, int scale)
{
    return -(-x >> scale);
}


POLICY_INLINE policy_fixed policy_trunc(policy_fixed x, int scale)
{
    return x < 0 ? -(-x >> scale) : x >> scale;
}


/* The nearest whole number; halves go to the even one. */
POLICY_INLINE policy_fixed policy_round(policy_fixed x, int scale)
{
    policy_fixed half = (policy_fixed)1 << scale >> 1, whole = x >> scale, rest = x - (policy_fixed)((policy_word)whole << scale);
    return whole + (rest > half || (rest == half && scale > 0 && (whole & 1)));
}


/* The square root of a * 2^-scale at another scale: Heron's method, whose last step has 62 bits. Error: 2^-60 of it. */
POLICY_FUNCTION policy_fixed policy_sqrt(policy_fixed a, int scale, int wanted)
{
    policy_fixed m, root, twice = 2 * wanted - scale;
    policy_word guess;
    int shift;
    if (a <= 0)
        return 0;
    shift = policy_leading_zeros((policy_word)a) - 2;
    shift -= (twice - shift) & 1; /* so that it comes out of the root */
    m = policy_scaled(a, shift); /* from 2^60 to 2^62 */
    if (m < ((policy_fixed)1 << 59))
        m = (policy_fixed)1 << 59;
    guess = ((((policy_word)m >> 31) * 1267362858ULL) >> 31) + 896171000ULL;
    guess = (guess + (policy_word)m / guess) >> 1;
    guess = (guess + (policy_word)m / guess) >> 1;
    guess = (guess + (policy_word)m / guess) >> 1;
    root = (policy_fixed)(guess << 31);
    root = (policy_fixed)(((policy_word)root + (policy_word)policy_divide(m, root, 62)) >> 1);
    return policy_scaled(root, (int)((twice - shift) >> 1) - 31);
}


/* The binary logarithm of a * 2^-scale at scale 52; 0 where a <= 0. Error: 2^-50. */
POLICY_FUNCTION policy_fixed policy_log2(policy_fixed a, int scale)
{
    const policy_fixed one = (policy_fixed)1 << 60;
    policy_fixed m, z, square, series;
    int exponent, zeros;
    if (a <= 0)
        return 0;
    zeros = policy_leading_zeros((policy_word)a);
    m = policy_scaled(a, zeros - 3); /* from 1 to 2 at scale 60 */
    exponent = 63 - zeros - scale;
    if (m > 1630477228166597777LL) { /* the square root of 2 */
        exponent += 1;
        z = policy_divide(m - 2 * one, m + 2 * one, 60);
    } else {
        z = policy_divide(m - one, m + one, 60);
    }
    /* the logarithm is twice the inverse hyperbolic tangent of z = (m - 1) / (m + 1) */
    square = policy_multiply(z, z, 60);
    series = one / 21 + policy_multiply(square, one / 23, 60);
    series = one / 19 + policy_multiply(square, series, 60);
    series = one / 17 + policy_multiply(square, series, 60);
    series = one / 15 + policy_multiply(square, series, 60);
    series = one / 13 + policy_multiply(square, series, 60);
    series = one / 11 + policy_multiply(square, series, 60);
    series = one / 9 + policy_multiply(square, series, 60);
    series = one / 7 + policy_multiply(square, series, 60);
    series = one / 5 + policy_multiply(square, series, 60);
    series = one / 3 + policy_multiply(square, series, 60);
    series = one + policy_multiply(square, series, 60);
    z = policy_multiply(policy_multiply(z, series, 60), 3326628274461080623LL, 68); /* 2 / ln 2 at scale 60 */
    return policy_add(z, policy_scaled(exponent, 52));
}


/* 2 to the power y * 2^-52 at the wanted scale. Error: 2^-49 of it. */
POLICY_FUNCTION policy_fixed policy_exp2(policy_fixed y, int wanted)
{
    const policy_fixed one = (policy_fixed)1 << 60;
    policy_fixed whole, x, result;
    if (y > (policy_fixed)300 << 52)
        return POLICY_MOST;
    if (y < -((policy_fixed)300 << 52))
        return 0;
    whole = (y + ((policy_fixed)1 << 51)) >> 52;
    x = policy_multiply((y - (policy_fixed)((policy_word)whole << 52)) * 256, 799144290325165979LL, 60); /* ln 2 at scale 60 */
    result = one + policy_multiply(x, one / 14, 60);
    result = one + policy_multiply(policy_multiply(x, one / 13, 60), result, 60);
    result = one + policy_multiply(policy_multiply(x, one / 12, 60), result, 60);
    result = one + policy_multiply(policy_multiply(x, one / 11, 60), result, 60);
    result = one + policy_multiply(policy_multiply(x, one / 10, 60), result, 60);
    result = one + policy_multiply(policy_multiply(x, one / 9, 60), result, 60);
    result = one + policy_multiply(policy_multiply(x, one / 8, 60), result, 60);
    result = one + policy_multiply(policy_multiply(x, one / 7, 60), result, 60);
    result = one + policy_multiply(policy_multiply(x, one / 6, 60), result, 60);
    result = one + policy_multiply(policy_multiply(x, one / 5, 60), result, 60);
    result = one + policy_multiply(policy_multiply(x, one / 4, 60), result, 60);
    result = one + policy_multiply(policy_multiply(x, one / 3, 60), result, 60);
    result = one + policy_multiply(policy_multiply(x, one / 2, 60), result, 60);
    result = one + policy_multiply(x, result, 60);
    return policy_scaled(result, (int)whole + wanted - 60);
}


/* a * 2^-scale to the power b * 2^-scale_b: the exponential of the logarithm. */
POLICY_FUNCTION policy_fixed policy_power(policy_fixed a, int scale, policy_fixed b, int scale_b, int wanted)
{
    policy_fixed result;
    int odd = 0;
    if (b == 0)
        return wanted >= 0 ? policy_scaled(1, wanted) : 0;
    if (a == 0)
        return 0;
    if (a < 0) {
        if (scale_b > 62 || (scale_b > 0 && b & (((policy_fixed)1 << (scale_b & 63)) - 1)))
            return 0; /* a negative number to a fraction */
        odd = scale_b >= 0 && (b >> (scale_b & 63) & 1);
    }
    result = policy_exp2(policy_multiply(b, policy_log2(a < 0 ? -a : a, scale), scale_b), wanted);
    return odd ? -result : result;
}


/* e to the power x * 2^-scale. Error: 2^-48 of it, and what the scale of x leaves. */
POLICY_FUNCTION policy_fixed policy_exp(policy_fixed x, int scale, int wanted)
{
    return policy_exp2(policy_multiply(x, 1663314137230540312LL, scale + 8), wanted); /* 1 / ln 2 at scale 60 */
}


/* A logarithm at the wanted scale; `factor` is the binary one's to it, at scale 60. */
POLICY_FUNCTION policy_fixed policy_log(policy_fixed a, int scale, policy_fixed factor, int wanted)
{
    return policy_multiply(policy_log2(a, scale), factor, 112 - wanted);
}


/* The hyperbolic tangent of x * 2^-scale at scale 60. Error: 2^-55. */
POLICY_FUNCTION policy_fixed policy_tanh(policy_fixed x, int scale)
{
    const policy_fixed one = (policy_fixed)1 << 60;
    policy_fixed fading = policy_exp(x < 0 ? x : -x, scale - 1, 60);
    policy_fixed result = policy_divide(one - fading, one + fading, 60);
    return x < 0 ? -result : result;
}


POLICY_INLINE policy_fixed policy_square(policy_fixed x, int right)
{
    return policy_multiply(x, x, right);
}


POLICY_INLINE policy_fixed policy_cube(policy_fixed x, int right, int last)
{
    return policy_multiply(policy_multiply(x, x, right), x, last);
}


/* x * 2^by where that is a whole number that is held, else what no observation is. */
POLICY_INLINE policy_fixed policy_exactly(policy_fixed x, int by)
{
    policy_fixed scaled = policy_scaled(x, by);
    int differs = by < 0 ? policy_order(x, scaled, -by) : policy_order(scaled, x, by);
    return differs ? -POLICY_MOST - 1 : scaled;
}


/* The place of the index x * 2^-scale in an array of that length: it is rounded down, and wrapped to the length. The
   factor is 1, or for a negative scale, which is then given as 0, 2^-scale modulo the length. */
POLICY_INLINE policy_word policy_index(policy_fixed x, int scale, policy_word factor, policy_word length)
{
    policy_fixed whole = scale > 62 ? -(policy_fixed)(x < 0) : x >> (scale & 63);
    policy_word rest = policy_magnitude(whole) % length * factor % length;
    return whole < 0 && rest != 0 ? length - rest : rest;
}


/* The element at a place of an array of that length, by a bound that the verifier of Linux sees. */
POLICY_INLINE policy_fixed policy_at(const policy_fixed *array, policy_word place, policy_word length)
{
    POLICY_HIDE(place);
    if (place >= length)
        place = 0;
    return array[place];
}


POLICY_INLINE void policy_put(policy_fixed *array, policy_word place, policy_word length, policy_fixed value)
{
    POLICY_HIDE(place);
    if (place >= length)
        place = 0;
    array[place] = value;
}


/* One more observation in a sorted window of the last: the one that leaves a full window is taken out first. Free
   places are last. */
POLICY_INLINE void policy_sorted_observe(policy_fixed *sorted, int window, policy_fixed observations,
                                         policy_fixed leaving, policy_fixed moving)
{
    policy_fixed other;
    int gone = 0, is_full = observations >= window;
    if (observations == 0)
        sorted[0] = POLICY_MOST;
    for (int i = 0; i < window; i++) {
        POLICY_BARRIER;
        other = sorted[i];
        gone |= is_full & (other == leaving);
        if (gone)
            other = i < window - 1 ? sorted[i < window - 1 ? i + 1 : i] : POLICY_MOST;
        sorted[i] = other;
    }
    for (int i = 0; i < window; i++) {
        POLICY_BARRIER;
        other = sorted[i];
        sorted[i] = policy_min(other, moving);
        moving = policy_max(other, moving);
    }
}


/* The observation of a sorted window whose place `places` has, by how many there are. */
POLICY_INLINE policy_fixed policy_ranked(const policy_fixed *sorted, policy_word window, policy_fixed observations,
                                         const unsigned short *places)
{
    policy_word count = (policy_word)observations;
    if (count > window)
        count = window;
    return policy_at(sorted, places[count], window);
}


/* How many of the latest observations are equal to a value. Comparisons are taken from sign bits, hidden from the
   compiler: with a branch for each observation, the verifier of Linux would follow two paths from each, 2^window in
   all. */
POLICY_INLINE policy_fixed policy_ring_count(const policy_fixed *ring, int window, policy_fixed observations,
                                             policy_fixed wanted)
{
    policy_word found = 0, differs, is_observed;
    for (int i = 0; i < window; i++) {
        POLICY_BARRIER;
        differs = (policy_word)ring[i] ^ (policy_word)wanted;
        differs |= 0 - differs;
        is_observed = (policy_word)i - (policy_word)observations;
        POLICY_HIDE(differs);
        POLICY_HIDE(is_observed);
        found += (~differs & is_observed) >> 63;
    }
    return (policy_fixed)found;
}


/* The next 64 bits of the generator splitmix64 in this state. */
POLICY_INLINE policy_word policy_mix(policy_word word)
{
    word += 0x9e3779b97f4a7c15ULL;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9ULL;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebULL;
    return word ^ (word >> 31);
}


/* The bits of the double nearest to x * 2^-scale; halves go to the even one. */
POLICY_FUNCTION policy_word policy_bits(policy_fixed x, int scale)
{
    policy_word word = policy_magnitude(x), rest;
    int zeros;
    if (word == 0)
        return 0;
    zeros = policy_leading_zeros(word) & 63;
    word <<= zeros;
    rest = word & 0x7ff;
    word >>= 11;
    word += rest > 0x400 || (rest == 0x400 && (word & 1));
    word += (policy_word)(1023 + 62 - zeros - scale) << 52; /* the leading one adds 1 to the exponent */
    return x < 0 ? word | (policy_word)1 << 63 : word;
}


/* A whole number from 0 to 2^53 - 1; each k gives another function of a. */
POLICY_INLINE policy_fixed policy_hash(policy_fixed a, int scale, policy_fixed k, int scale_k)
{
    return (policy_fixed)(policy_mix(policy_mix(policy_bits(k, scale_k)) ^ policy_bits(a, scale)) >> 11);
}


/* The next random number, from 0 to below 1, at scale 62. */
POLICY_INLINE policy_fixed policy_draw(policy_word *generator)
{
    const policy_word word = policy_mix(*generator);
    *generator += 0x9e3779b97f4a7c15ULL;
    return (policy_fixed)(word >> 11) << 9;
}
