package com.github.benmanes.caffeine.cache.simulator.policy;

public record AccessEvent(long key, int weight) {
    public static AccessEvent forKeyAndWeight(long key, int weight) { return new AccessEvent(key, weight); }
}
