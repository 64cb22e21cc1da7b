// SPDX-License-Identifier: GPL-2.0
/*
 * The policy of policy.h as a queue discipline of Linux (struct_ops), one queue of at most LIMIT packets, used as the
 * simulator uses it. Linux lets such a program mark no packet: it drops what it would mark.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "policy.h"

char _license[] SEC("license") = "GPL";

#define ROOM 1024
#define LIMIT 1000
#define MOST_DROPS 8 /* at one departure */
#define DRAIN_BYTES 16384
#define NEVER (~0ULL)
#define SUCCESS 0
#define DROP 1
#define BUSY (-16)

void bpf_kfree_skb(struct sk_buff *skb) __ksym;
void bpf_qdisc_skb_drop(struct sk_buff *skb, struct bpf_sk_buff_ptr *to_free) __ksym;
void bpf_qdisc_watchdog_schedule(struct Qdisc *sch, u64 expire, u64 delta_ns) __ksym;
void bpf_qdisc_bstats_update(struct Qdisc *sch, const struct sk_buff *skb) __ksym;

struct slot {
	struct sk_buff __kptr *skb;
	u64 arrived; /* ns */
	u32 bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ROOM);
	__type(key, u32);
	__type(value, struct slot);
} slots SEC(".maps");

/* Times are in ns; the packets that wait are in slots from head to tail. */
struct queue {
	struct policy_features features;
	struct policy_state remembered;
#ifdef POLICY_EVENTS
	struct policy_controls controls;
	u64 due; /* the policy's timer */
#endif /* POLICY_EVENTS */
	u64 owner;
	u64 began, last_drop, empty_since, busy_from, delay;
	u64 drops, busy_bytes, drain; /* bit/s */
	u32 head, tail, packets, bytes;
	u64 now, sojourn; /* of the packet at hand */
	u32 packet_bytes;
} queue;

static __always_inline __attribute__((unused)) policy_fixed ms(u64 ns)
{
	return (ns / 1000 << 20) / 1000; /* at the scale 20 */
}

static __always_inline void look(u64 now)
{
	struct policy_features *shown __attribute__((unused)) = &queue.features;

	if (!queue.packets)
		queue.delay = 0;
	policy_set_queue_now_ms(shown, ms(now - queue.began), 20);
	policy_set_queue_packets(shown, queue.packets, 0);
	policy_set_queue_bytes(shown, queue.bytes, 0);
	policy_set_queue_limit_packets(shown, LIMIT, 0);
	policy_set_queue_delay_ms(shown, ms(queue.delay), 20);
	policy_set_queue_drain_bps(shown, queue.drain, 0);
	policy_set_queue_expected_delay_ms(shown, queue.drain ? ((u64)queue.bytes * 8000 << 10) / queue.drain : 0, 10);
	policy_set_queue_idle_ms(shown, queue.empty_since != NEVER ? ms(now - queue.empty_since) : 0, 20);
	policy_set_queue_since_drop_ms(shown, ms(now - queue.last_drop), 20);
	policy_set_queue_drops(shown, queue.drops, 0);
}

static __always_inline void show_packet(int overflow)
{
#ifdef POLICY_EVENTS
	struct policy_features *shown __attribute__((unused)) = &queue.features;

	policy_set_packet_bytes(shown, queue.packet_bytes, 0);
	policy_set_packet_sojourn_ms(shown, ms(queue.sojourn), 20);
	policy_set_packet_ecn(shown, 0, 0);
	policy_set_packet_marked(shown, 0, 0);
	policy_set_packet_overflow(shown, overflow, 0);
#endif /* POLICY_EVENTS */
}

#ifdef POLICY_EVENTS
static __always_inline void before_handler(void)
{
	queue.controls.queue.timer_ms = POLICY_UNSET;
#ifdef POLICY_HANDLES_on_dequeue
	queue.controls.packet.drop = POLICY_UNSET;
#endif
}

static __always_inline void after_handler(u64 now)
{
	policy_fixed after = queue.controls.queue.timer_ms;

	if (after != POLICY_UNSET && after > 0)
		queue.due = now + (after >> POLICY_SCALE < 1 ? 1000000 : ((u64)after >> 4) * 1000000 / (1 << (POLICY_SCALE - 4)));
}

#define HANDLE(event)                                                                 \
	do {                                                                          \
		before_handler();                                                      \
		policy_##event(&queue.remembered, &queue.features, &queue.controls);  \
		after_handler(now);                                                    \
	} while (0)

#endif /* POLICY_EVENTS */
/* Call the policy's timer, at the first event when it has expired or later. */
static __always_inline void expire(u64 now)
{
#ifdef POLICY_HANDLES_on_timer
	if (queue.due <= now) {
		queue.due = NEVER;
		look(now);
		HANDLE(on_timer);
	}
#endif
}

static __always_inline void dropped(u64 now, int by_policy)
{
#ifdef POLICY_HANDLES_on_drop
	HANDLE(on_drop);
#endif
	if (by_policy) {
		queue.last_drop = now;
		queue.drops++;
	}
}

/* Whether the policy drops the packet that comes. */
__noinline int refuses(void)
{
	u64 now = queue.now;
	policy_fixed answer;

	expire(now);
	look(now);
	show_packet(queue.packets >= LIMIT);
	policy_set_queue_packet_bytes(&queue.features, queue.packet_bytes, 0);
	if (queue.packets >= LIMIT) {
		dropped(now, 0);
		return 1;
	}
	policy_observe(&queue.remembered, &queue.features);
	answer = policy_score(&queue.remembered, &queue.features);
	if (answer > (policy_fixed)(bpf_get_prandom_u32() >> (32 - POLICY_SCALE))) {
		dropped(now, 1);
		return 1;
	}
#ifdef POLICY_HANDLES_on_enqueue
	HANDLE(on_enqueue);
#endif
	queue.empty_since = NEVER;
	return 0;
}

/* Whether the policy drops the packet that leaves. */
__noinline int withholds(void)
{
	u64 now = queue.now;

	expire(now);
	look(now);
	show_packet(0);
#ifdef POLICY_OBSERVES_departure
	policy_observe_departure(&queue.remembered, &queue.features);
#endif
#ifdef POLICY_HANDLES_on_dequeue
	HANDLE(on_dequeue);
	if (queue.controls.packet.drop != POLICY_UNSET && queue.controls.packet.drop > 0) {
		dropped(now, 1);
		if (!queue.packets)
			queue.empty_since = now;
		return 1;
	}
#endif
	queue.delay = queue.sojourn;
	if (!queue.packets) {
		queue.empty_since = now;
		queue.busy_from = NEVER;
	} else if (queue.busy_from == NEVER) {
		queue.busy_from = now;
		queue.busy_bytes = 0;
	} else if ((queue.busy_bytes += queue.packet_bytes) >= DRAIN_BYTES && now > queue.busy_from) {
		u64 rate = queue.busy_bytes * 8000000000ULL / (now - queue.busy_from);

		queue.drain = queue.drain ? (queue.drain + rate) / 2 : rate;
		queue.busy_from = now;
		queue.busy_bytes = 0;
	}
	return 0;
}

SEC("struct_ops/vulcan_enqueue")
int BPF_PROG(vulcan_enqueue, struct sk_buff *skb, struct Qdisc *sch, struct bpf_sk_buff_ptr *to_free)
{
	u32 bytes = ((struct qdisc_skb_cb *)skb->cb)->pkt_len, at = queue.tail % ROOM;
	struct slot *slot = bpf_map_lookup_elem(&slots, &at);

	queue.now = bpf_ktime_get_ns();
	queue.packet_bytes = bytes;
	queue.sojourn = 0;
	if (!slot || refuses()) {
		sch->qstats.drops++;
		bpf_qdisc_skb_drop(skb, to_free);
		return DROP;
	}
	slot->arrived = queue.now;
	slot->bytes = bytes;
	skb = bpf_kptr_xchg(&slot->skb, skb);
	if (skb)
		bpf_qdisc_skb_drop(skb, to_free);
	queue.tail++;
	queue.packets++;
	queue.bytes += bytes;
	sch->q.qlen++;
	sch->qstats.backlog += bytes;
	return SUCCESS;
}

SEC("struct_ops/vulcan_dequeue")
struct sk_buff *BPF_PROG(vulcan_dequeue, struct Qdisc *sch)
{
	queue.now = bpf_ktime_get_ns();
	for (int n = 0; n < MOST_DROPS; n++) {
		u32 at = queue.head % ROOM;
		struct slot *slot = bpf_map_lookup_elem(&slots, &at);
		struct sk_buff *skb;

		if (!slot || !queue.packets)
			return NULL;
		skb = bpf_kptr_xchg(&slot->skb, NULL);
		queue.head++;
		queue.packets--;
		queue.bytes -= slot->bytes;
		sch->q.qlen--;
		sch->qstats.backlog -= slot->bytes;
		if (!skb)
			return NULL;
		queue.sojourn = queue.now - slot->arrived;
		queue.packet_bytes = slot->bytes;
		if (!withholds()) {
			bpf_qdisc_bstats_update(sch, skb);
			return skb;
		}
		sch->qstats.drops++;
		bpf_kfree_skb(skb);
	}
	bpf_qdisc_watchdog_schedule(sch, queue.now, 0);
	return NULL;
}

SEC("struct_ops/vulcan_init")
int BPF_PROG(vulcan_init, struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	if (queue.owner)
		return BUSY;
	queue.owner = (u64)sch;
	sch->limit = LIMIT;
	queue.began = queue.last_drop = queue.empty_since = bpf_ktime_get_ns();
	queue.busy_from = NEVER;
	queue.drops = queue.drain = queue.delay = 0;
	policy_init(&queue.remembered);
#ifdef POLICY_EVENTS
	queue.due = queue.began;
#ifdef POLICY_DRAWS
	policy_seed(&queue.remembered, (u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32());
#endif
#endif /* POLICY_EVENTS */
	return 0;
}

static int free_one(u32 at, void *nothing)
{
	struct slot *slot = bpf_map_lookup_elem(&slots, &at);
	struct sk_buff *skb;

	if (!slot)
		return 1;
	skb = bpf_kptr_xchg(&slot->skb, NULL);
	if (skb)
		bpf_kfree_skb(skb);
	return 0;
}

SEC("struct_ops/vulcan_reset")
void BPF_PROG(vulcan_reset, struct Qdisc *sch)
{
	if (queue.owner != (u64)sch)
		return;
	bpf_loop(ROOM, free_one, NULL, 0);
	queue.head = queue.tail = queue.packets = queue.bytes = 0;
	sch->q.qlen = 0;
	sch->qstats.backlog = 0;
}

SEC("struct_ops/vulcan_destroy")
void BPF_PROG(vulcan_destroy, struct Qdisc *sch)
{
	if (queue.owner == (u64)sch)
		queue.owner = 0;
}

SEC(".struct_ops")
struct Qdisc_ops vulcan = {
	.enqueue = (void *)vulcan_enqueue,
	.dequeue = (void *)vulcan_dequeue,
	.init = (void *)vulcan_init,
	.reset = (void *)vulcan_reset,
	.destroy = (void *)vulcan_destroy,
	.id = "@NAME@",
};
