typedef long long policy_fixed;
typedef unsigned long long policy_word;

#define POLICY_MOST 0x7fffffffffffffffLL
#define POLICY_INLINE static inline __attribute__((always_inline, unused))
#ifdef __bpf__
/* Not static: the verifier looks at each such function once, whoever calls it. */
#define POLICY_FUNCTION __attribute__((noinline))
/* Keeps the compiler from turning a loop into a call of memmove. */
#define POLICY_BARRIER __asm__ volatile("" ::: "memory")
/* Keeps it from leaving out a bound that it can show and the verifier cannot. */
#define POLICY_HIDE(x) __asm__ volatile("" : "+r"(x))
#else
#define POLICY_FUNCTION static __attribute__((unused))
#define POLICY_BARRIER
#define POLICY_HIDE(x)
#endif
