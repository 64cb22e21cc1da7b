"""The generator of random numbers SplitMix64 (Steele, Lea and Flood, OOPSLA 2014)."""

MASK = 2**64 - 1


def split_mix(seed: int, number: int) -> int:
    """Its output of that number, the first of which is 1, from the seed."""
    z = (seed + number * 0x9E3779B97F4A7C15) & MASK
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)
