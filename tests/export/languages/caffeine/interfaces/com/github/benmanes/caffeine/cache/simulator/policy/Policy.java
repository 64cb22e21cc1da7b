package com.github.benmanes.caffeine.cache.simulator.policy;

public interface Policy {
    void record(AccessEvent event);
    PolicyStats stats();
    enum Characteristic { WEIGHTED }
    @interface PolicySpec { String name() default ""; Characteristic[] characteristics() default {}; }
}
