package com.github.benmanes.caffeine.cache.simulator.policy;

public class PolicyStats {
    private long hits, misses;
    public PolicyStats(String format, Object... args) {}
    public void recordWeightedHit(int weight) { hits++; }
    public void recordWeightedMiss(int weight) { misses++; }
    public void recordEviction() {}
    public void recordAdmission() {}
    public void recordRejection() {}
    public long requestCount() { return hits + misses; }
    public long missCount() { return misses; }
}
