/* A policy of Caffeine's simulator: the keys, mechanism and ghost list of the search around the functions above. On a
   trace of Caffeine's it decides as Vulcan's simulator does. Where the policy computes with obj.id, keys are to be numbers
   in order of first appearance. */
@com.github.benmanes.caffeine.cache.simulator.policy.Policy.PolicySpec(
    name = "vulcan.Policy",
    characteristics = com.github.benmanes.caffeine.cache.simulator.policy.Policy.Characteristic.WEIGHTED)
public static final class CachePolicy implements com.github.benmanes.caffeine.cache.simulator.policy.Policy {
    private static final class Entry {
        long key;
        double size, count, lastAccess, insertion, priority;
        double left, leftCount, leftAt; // left is 0 where the ghost list does not have it
        int place;
        Fields fields = new Fields();
    }

    private final com.github.benmanes.caffeine.cache.simulator.policy.PolicyStats stats =
        new com.github.benmanes.caffeine.cache.simulator.policy.PolicyStats("vulcan.Policy");
    private final State state = new State();
    private final Features features = new Features();
    private final java.util.HashMap<Long, Entry> entries = new java.util.HashMap<>();
    private final java.util.ArrayDeque<Object[]> ghosts = new java.util.ArrayDeque<>(); // an entry, and when it left
    private final java.util.TreeSet<Entry> ranked = new java.util.TreeSet<>((a, b) -> {
        int order = Double.compare(a.priority + 0.0, b.priority + 0.0);
        return order != 0 ? order : Double.compare(a.lastAccess, b.lastAccess);
    });
    private final java.util.ArrayList<Entry> drawn = new java.util.ArrayList<>();
    private final double capacity;
    private double now, used, objects, evictedPriority, departures, rememberedFrom = 1.0;
    private long generator;

    public CachePolicy(long capacity) {
        this.capacity = capacity;
        long z = ((long) SAMPLE_SEED + 1) * 0x9E3779B97F4A7C15L; // splitmix64 of the seed
        z = (z ^ z >>> 30) * 0xBF58476D1CE4E5B9L;
        z = (z ^ z >>> 27) * 0x94D049BB133111EBL;
        z ^= z >>> 31;
        generator = z != 0 ? z : 0x9E3779B97F4A7C15L;
        state.policy_random = (long) SAMPLE_SEED;
    }

    @Override
    public com.github.benmanes.caffeine.cache.simulator.policy.PolicyStats stats() {
        return stats;
    }

    @Override
    public void record(com.github.benmanes.caffeine.cache.simulator.policy.AccessEvent event) {
        now = stats.requestCount();
        Entry entry = entries.computeIfAbsent(event.key(), key -> new Entry());
        entry.key = event.key();
        if (entry.count > 0.0) {
            stats.recordWeightedHit(event.weight());
            ranked.remove(entry);
            entry.count += 1.0;
            entry.lastAccess = now;
            observe(state, entry.fields, shown(entry));
            on_hit(state, entry.fields, shown(entry));
            rank(entry);
            return;
        }
        stats.recordWeightedMiss(event.weight());
        if (event.weight() > capacity) {
            if (entry.left <= 0.0) {
                entries.remove(entry.key);
            }
            return;
        }
        missed(entry, event.weight());
    }

    private void missed(Entry entry, double size) {
        entry.size = size;
        entry.count = 1.0;
        entry.lastAccess = entry.insertion = now;
        if (entry.left > 0.0) {
            on_ghost_hit(state, entry.fields, shown(entry));
        }
        on_miss(state, entry.fields, shown(entry));
        boolean isLetIn = used + size > capacity || admits(entry, null);
        while (isLetIn && used + size > capacity) {
            Entry victim = victim();
            isLetIn = admits(entry, victim);
            if (isLetIn) {
                evict(victim);
            }
        }
        if (!isLetIn) {
            on_refuse(state, entry.fields, shown(entry));
            stats.recordRejection();
            remember(entry, 1.0 + (entry.left > 0.0 ? entry.leftCount : 0.0), objects + Math.floor((capacity - used) / size));
            return;
        }
        stats.recordAdmission();
        used += size;
        objects += 1.0;
        entry.place = drawn.size();
        drawn.add(entry);
        observe(state, entry.fields, shown(entry));
        on_insert(state, entry.fields, shown(entry));
        rank(entry);
    }

    private Features shown(Entry entry) {
        features.now = now;
        features.obj_id = entry.key;
        features.obj_size = entry.size;
        features.obj_count = entry.count;
        features.obj_last_access = entry.lastAccess;
        features.obj_insertion = entry.insertion;
        features.cache_used = used;
        features.cache_capacity = capacity;
        features.cache_objects = objects;
        features.cache_evicted_priority = evictedPriority;
        features.ghost_contains = entry.left > 0.0 ? 1.0 : 0.0;
        features.ghost_count = entry.left > 0.0 ? entry.leftCount : 0.0;
        features.ghost_age = entry.left > 0.0 ? now - entry.leftAt : 0.0;
        return features;
    }

    private void rate(Entry entry) {
        entry.priority = Math.max(-1e300, Math.min(1e300, priority(state, entry.fields, shown(entry))));
    }

    private void rank(Entry entry) {
        if (MECHANISM_HEAP != 0.0) {
            rate(entry);
            ranked.add(entry);
        }
    }

    private Entry victim() {
        if (MECHANISM_HEAP != 0.0) {
            return ranked.first();
        }
        Entry chosen = null;
        int all = drawn.size();
        for (int n = 0; n < Math.min(all, SAMPLE_SIZE); n++) {
            int at = n;
            if (all > SAMPLE_SIZE) { // xorshift64
                generator ^= generator << 13;
                generator ^= generator >>> 7;
                generator ^= generator << 17;
                at = (int) ((generator >>> 32) * all >>> 32);
            }
            rate(drawn.get(at));
            chosen = chosen == null || drawn.get(at).priority < chosen.priority ? drawn.get(at) : chosen;
        }
        return chosen;
    }

    private boolean admits(Entry entry, Entry victim) {
        shown(entry);
        features.victim_size = victim == null ? 0.0 : victim.size;
        features.victim_count = victim == null ? 0.0 : victim.count;
        features.victim_last_access = victim == null ? 0.0 : victim.lastAccess;
        features.victim_insertion = victim == null ? 0.0 : victim.insertion;
        features.victim_priority = victim == null ? 0.0 : victim.priority;
        return DEFINES_ADMIT == 0.0 || admit(state, entry.fields, features) > 0.0;
    }

    private void evict(Entry victim) {
        double before = objects;
        on_evict(state, victim.fields, shown(victim));
        leave(state, victim.fields);
        stats.recordEviction();
        used -= victim.size;
        objects -= 1.0;
        ranked.remove(victim);
        Entry last = drawn.remove(drawn.size() - 1);
        if (last != victim) {
            drawn.set(victim.place, last);
            last.place = victim.place;
        }
        remember(victim, victim.count, before);
        evictedPriority = victim.priority;
    }

    private void remember(Entry entry, double count, double room) {
        entry.count = 0.0;
        entry.left = departures += 1.0;
        entry.leftCount = count;
        entry.leftAt = now;
        ghosts.add(new Object[] {entry, entry.left});
        rememberedFrom = Math.max(rememberedFrom, departures + 1.0 - room);
        while (!ghosts.isEmpty() && (double) ghosts.peek()[1] < rememberedFrom) {
            Object[] first = ghosts.remove();
            Entry old = (Entry) first[0];
            if (old.left == (double) first[1]) { // else it has left again since
                old.left = 0.0;
                if (old.count <= 0.0) {
                    entries.remove(old.key);
                }
            }
        }
    }
}
