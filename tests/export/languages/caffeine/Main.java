import com.github.benmanes.caffeine.cache.simulator.policy.*;

public class Main {
    public static void main(String[] given) throws Exception {
        java.util.List<Policy> policies = new java.util.ArrayList<>();
        // POLICIES
        java.util.Scanner requests = new java.util.Scanner(new java.io.File("requests"));
        while (requests.hasNextLong()) {
            AccessEvent event = AccessEvent.forKeyAndWeight(requests.nextLong(), requests.nextInt());
            for (Policy policy : policies) {
                policy.record(event);
            }
        }
        for (Policy policy : policies) {
            System.out.println(policy.stats().missCount());
        }
    }
}
