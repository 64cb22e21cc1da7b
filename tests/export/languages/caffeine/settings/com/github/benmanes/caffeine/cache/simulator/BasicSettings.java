package com.github.benmanes.caffeine.cache.simulator;

public class BasicSettings {
    private final com.typesafe.config.Config config;
    public BasicSettings(com.typesafe.config.Config config) { this.config = config; }
    public com.typesafe.config.Config config() { return config; }
    public long maximumSize() { return config.getLong("maximum-size"); }
}
