// SPDX-License-Identifier: GPL-2.0
/*
 * The policy of policy.h as a congestion control of Linux (struct_ops), used as the simulator uses it: what it is shown,
 * when it is asked, and what becomes of its answer are those of the task congestion_control.
 *
 * It sets the window itself at every acknowledgement (cong_control), also in recovery. As nothing else then sets the
 * rate by which the kernel sizes its bursts and limits what waits in the host's queues, it sets that too.
 *
 * Linux 6.10 and later call cong_control with four arguments; for earlier ones compile with -DCONG_CONTROL_OF_TWO.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "policy.h"

@SETTINGS@

char _license[] SEC("license") = "GPL";

#define LEAST_WINDOW 2
#define MOST_WINDOW 65535
#define NO_THRESHOLD 0x7fffffff
#define LEAST_ROUND_US 1000
#define NO_RTT (~0ULL)
#ifdef POLICY_EVENTS
#define NO_TIMER (~0ULL)
#define MOST_TIMER (1ULL << 40) /* us */
#define LEAST_PACING 8 /* bits/s */
#define LEAST_RATE_OF_TWO 150000 /* bytes/s, below which one packet leaves at a time */
#endif /* POLICY_EVENTS */

enum cause { ACKNOWLEDGEMENT, CONGESTION, TIMEOUT, MARK };

/* What is kept of a connection. */
struct flow {
	struct policy_features features;
	struct policy_state remembered;
#ifdef POLICY_EVENTS
	struct policy_controls controls;
	u64 timer_due; /* us */
	u64 pacing; /* bytes/s, 0 where the policy sets no rate */
	u32 was_paced; /* the socket's pacing before the policy set a rate */
	u32 is_paced;
#endif /* POLICY_EVENTS */
	u64 window; /* packets times 2^POLICY_SCALE: what the policy returned last */
	u64 began, last_loss; /* us */
	u64 delivered, lost; /* packets in all */
	u32 delivered_then, lost_then; /* the kernel's counts when they were last looked at */
	u64 changed; /* packets delivered when the window last changed */
	u64 rtt, least_rtt, most_rtt; /* us */
	u64 rate, send_rate, least_bandwidth, most_bandwidth; /* bits/s */
	u64 threshold, most_window; /* packets */
	u64 round_began, round_delivered, round_lost, round_marked, round_least, round_most, round_sum, round_samples;
	u64 rounds;
	u32 round_end;
	u32 asked; /* why the policy is to be asked at the next acknowledgement */
	u32 state; /* of the sender: TCP_CA_Open and so on */
	u32 was_recovering;
	u32 slow_start; /* 1 while the mechanism runs it */
	/* HyStart */
	u64 train_began, train_last, train_least, least_delay;
	u32 train_end, train_samples;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct flow);
} flows SEC(".maps");

static __always_inline struct flow *flow_of(struct sock *sk)
{
	return bpf_sk_storage_get(&flows, sk, 0, 0);
}

static __always_inline u32 in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

static __always_inline u64 at_least(u64 a, u64 b)
{
	return a > b ? a : b;
}

static __always_inline u64 at_most(u64 a, u64 b)
{
	return a < b ? a : b;
}

/* The window with its fraction, but for where the kernel has changed it. */
static __always_inline u64 window_of(const struct tcp_sock *tp, const struct flow *flow)
{
	u32 window = tp->snd_cwnd;

	return flow->window >> POLICY_SCALE == window ? flow->window : (u64)window << POLICY_SCALE;
}

/* The same rate as tcp_update_pacing_rate() sets for what has no cong_control. */
static __always_inline void set_rate(struct sock *sk, const struct tcp_sock *tp)
{
	u64 rate = (u64)tp->mss_cache * (1000000 / 100 << 3);
	u32 smoothed = tp->srtt_us;

	rate *= tp->snd_cwnd < tp->snd_ssthresh / 2 ? 200 : 120;
	rate *= at_least(tp->snd_cwnd, tp->packets_out);
	if (smoothed)
		rate /= smoothed;
	sk->sk_pacing_rate = at_most(rate, sk->sk_max_pacing_rate);
}

static __always_inline void set_window(struct tcp_sock *tp, struct flow *flow, u64 window)
{
	u32 packets;

	window = at_most(at_least(window, (u64)LEAST_WINDOW << POLICY_SCALE), (u64)MOST_WINDOW << POLICY_SCALE);
	window = at_most(window, (u64)tp->snd_cwnd_clamp << POLICY_SCALE);
	packets = window >> POLICY_SCALE;
	flow->window = window;
	tp->snd_cwnd = packets ? packets : 1;
}

static __always_inline void begin_train(const struct tcp_sock *tp, struct flow *flow, u64 now)
{
	flow->train_began = flow->train_last = now;
	flow->train_end = tp->snd_nxt;
	flow->train_least = NO_RTT;
	flow->train_samples = 0;
}

static __always_inline void begin_slow_start(const struct tcp_sock *tp, struct flow *flow, u64 now)
{
	flow->slow_start = 1;
	flow->least_delay = NO_RTT;
	begin_train(tp, flow, now);
}

/* HyStart as in tcp_cubic.c: whether the pipe seems to be full, by a train of acknowledgements or a rise in delay. */
static __always_inline int is_full(const struct sock *sk, const struct tcp_sock *tp, struct flow *flow, u64 now, u64 rtt)
{
	u64 limit, rate = sk->sk_pacing_rate;

	flow->least_delay = at_most(flow->least_delay, rtt);
	if ((s32)(tp->snd_una - flow->train_end) > 0)
		begin_train(tp, flow, now);
	if (tp->snd_cwnd < 16)
		return 0;
	if (now - flow->train_last <= 2000) {
		flow->train_last = now;
		limit = flow->least_delay + (rate ? at_most(1000, 4ULL * 65536 * 1000000 / rate) : 1000);
		if (now - flow->train_began > limit / 2)
			return 1;
	}
	flow->train_least = at_most(flow->train_least, rtt);
	if (flow->train_samples < 8) {
		flow->train_samples++;
		return 0;
	}
	return flow->train_least > flow->least_delay + at_most(at_least(flow->least_delay / 8, 4000), 16000);
}

/* Whether the mechanism has grown the window itself. */
static __always_inline int slow_start(const struct sock *sk, struct tcp_sock *tp, struct flow *flow, u64 now, u64 rtt,
				      u32 acked)
{
	u64 window;

	if (!flow->slow_start)
		return 0;
	if (rtt != NO_RTT && tp->snd_cwnd < tp->snd_ssthresh && is_full(sk, tp, flow, now, rtt))
		tp->snd_ssthresh = tp->snd_cwnd;
	window = at_most((u64)tp->snd_cwnd + acked, tp->snd_ssthresh);
	set_window(tp, flow, window << POLICY_SCALE);
	if (tp->snd_cwnd >= tp->snd_ssthresh || tp->snd_cwnd >= MOST_WINDOW)
		flow->slow_start = 0;
	return 1;
}

/* Count towards the round trip at hand. Returns whether it is over; the features of `window` are then set. */
static __always_inline int round_is_over(const struct tcp_sock *tp, struct flow *flow, u64 now, u64 rtt, u64 marked)
{
	u64 duration = now - flow->round_began, delivered = flow->delivered - flow->round_delivered, bandwidth;

	if (rtt != NO_RTT) {
		flow->round_least = at_most(flow->round_least, rtt);
		flow->round_most = at_least(flow->round_most, rtt);
		flow->round_sum += rtt;
		flow->round_samples++;
	}
	flow->round_marked += marked;
	if ((s32)(tp->snd_una - flow->round_end) <= 0 || duration < LEAST_ROUND_US || !delivered)
		return 0;
	bandwidth = delivered * tp->mss_cache * 8000000 / duration;
	policy_set_window_duration_us(&flow->features, duration, 0);
	policy_set_window_delivered_packets(&flow->features, delivered, 0);
	policy_set_window_delivered_bytes(&flow->features, delivered * tp->mss_cache, 0);
	policy_set_window_bandwidth_bps(&flow->features, bandwidth, 0);
	policy_set_window_lost_packets(&flow->features, flow->lost - flow->round_lost, 0);
	policy_set_window_ecn_packets(&flow->features, flow->round_marked, 0);
	if (flow->round_samples) {
		policy_set_window_min_rtt_us(&flow->features, flow->round_least, 0);
		policy_set_window_avg_rtt_us(&flow->features, flow->round_sum / flow->round_samples, 0);
		policy_set_window_max_rtt_us(&flow->features, flow->round_most, 0);
	}
	flow->most_bandwidth = at_least(flow->most_bandwidth, bandwidth);
	if (!flow->rounds || bandwidth < flow->least_bandwidth)
		flow->least_bandwidth = bandwidth;
	flow->rounds++;
	flow->round_began = now;
	flow->round_delivered = flow->delivered;
	flow->round_lost = flow->lost;
	flow->round_marked = flow->round_most = flow->round_sum = flow->round_samples = 0;
	flow->round_least = NO_RTT;
	flow->round_end = tp->snd_nxt;
	return 1;
}

#ifdef POLICY_EVENTS
/* Pace the socket at the policy's rate, by the kernel's own timer where no queueing discipline does. */
static __always_inline void pace(struct sock *sk, struct flow *flow)
{
	if (flow->pacing) {
		if (!flow->is_paced) {
			flow->was_paced = sk->sk_pacing_status;
			flow->is_paced = 1;
			if (flow->was_paced == SK_PACING_NONE)
				sk->sk_pacing_status = SK_PACING_NEEDED;
		}
		sk->sk_pacing_rate = at_most(flow->pacing, sk->sk_max_pacing_rate);
	} else if (flow->is_paced) {
		flow->is_paced = 0;
		sk->sk_pacing_status = flow->was_paced;
	}
}

/* Show how long the policy's timer has to go, and whether slow start is the mechanism's. */
static __always_inline void show_flow(struct flow *flow, u32 cause, u64 now)
{
	u64 due __attribute__((unused)) = flow->timer_due;

	policy_set_flow_timer_us(&flow->features, due == NO_TIMER || due < now ? 0 : due - now, 0);
	policy_set_flow_in_slow_start(&flow->features, cause == ACKNOWLEDGEMENT && flow->slow_start, 0);
}

static __always_inline void before_handler(struct flow *flow, u32 cause, u64 now)
{
	show_flow(flow, cause, now);
	flow->controls.flow.timer_after_us = POLICY_UNSET;
	flow->controls.flow.pacing_bps = POLICY_UNSET;
}

/* Set the timer and the pacing rate if a handler has. */
static __always_inline void after_handler(struct flow *flow, u64 now)
{
	policy_fixed after = flow->controls.flow.timer_after_us;

	if (after != POLICY_UNSET)
		flow->timer_due = after >> POLICY_SCALE < 1 ? NO_TIMER : now + at_most(after >> POLICY_SCALE, MOST_TIMER);
	after = flow->controls.flow.pacing_bps;
	if (after != POLICY_UNSET)
		flow->pacing = after >> POLICY_SCALE < LEAST_PACING ? 0 : (u64)after >> (POLICY_SCALE + 3);
}

#define HANDLE(event)                                                                     \
	do {                                                                              \
		before_handler(flow, cause, now);                                          \
		policy_##event(&flow->remembered, &flow->features, &flow->controls);      \
		after_handler(flow, now);                                                 \
	} while (0)

/* Call the policy's handlers of what has happened. The kernel calls nothing when the timer expires, so that its handler
 * is called at the first event that happens then or later. */
static __always_inline void handle_events(struct flow *flow, u32 cause, int over, u64 now)
{
	if (flow->timer_due <= now) {
		flow->timer_due = NO_TIMER;
#ifdef POLICY_HANDLES_on_timer
		HANDLE(on_timer);
#endif
	}
#ifdef POLICY_HANDLES_on_window
	if (over)
		HANDLE(on_window);
#endif
#ifdef POLICY_HANDLES_on_ack
	if (cause != TIMEOUT)
		HANDLE(on_ack);
#endif
#ifdef POLICY_HANDLES_on_loss
	if (cause == CONGESTION)
		HANDLE(on_loss);
#endif
#ifdef POLICY_HANDLES_on_ecn
	if (cause == MARK)
		HANDLE(on_ecn);
#endif
#ifdef POLICY_HANDLES_on_timeout
	if (cause == TIMEOUT)
		HANDLE(on_timeout);
#endif
}

#endif /* POLICY_EVENTS */
/* Show the policy the sender as it is, and set the window to its answer where it is time for one. */
static __always_inline void ask(struct sock *sk, struct tcp_sock *tp, struct flow *flow, u32 cause, u64 now, u64 rtt,
				u64 marked)
{
	struct policy_features *shown = &flow->features;
	u32 acked = tp->delivered - flow->delivered_then, lost = tp->lost - flow->lost_then;
	u32 flying = in_flight(tp), before = tp->snd_cwnd;
	policy_fixed answer;
	int over __attribute__((unused)) = 0;

	flow->delivered += acked;
	flow->lost += lost;
	flow->delivered_then = tp->delivered;
	flow->lost_then = tp->lost;
	if (cause != TIMEOUT)
		over = round_is_over(tp, flow, now, rtt, marked);
	if (rtt != NO_RTT) {
		flow->rtt = rtt;
		flow->least_rtt = flow->least_rtt ? at_most(flow->least_rtt, rtt) : rtt;
		flow->most_rtt = at_least(flow->most_rtt, rtt);
	}
	policy_set_state_now_us(shown, now - flow->began, 0);
	policy_set_state_cause(shown, cause, 0);
	policy_set_state_cwnd_packets(shown, window_of(tp, flow), POLICY_SCALE);
	policy_set_state_ssthresh_packets(shown, flow->threshold, 0);
	policy_set_state_in_flight_packets(shown, flying, 0);
	policy_set_state_acked_packets(shown, acked, 0);
	policy_set_state_lost_packets(shown, lost, 0);
	policy_set_state_rtt_us(shown, flow->rtt, 0);
	policy_set_state_smoothed_rtt_us(shown, tp->srtt_us, 3);
	policy_set_state_min_rtt_us(shown, flow->least_rtt, 0);
	policy_set_state_max_rtt_us(shown, flow->most_rtt, 0);
	policy_set_state_delivery_rate_bps(shown, flow->rate, 0);
	policy_set_state_max_bandwidth_bps(shown, flow->most_bandwidth, 0);
	policy_set_state_min_bandwidth_bps(shown, flow->least_bandwidth, 0);
	policy_set_state_delivered_packets(shown, flow->delivered, 0);
	policy_set_state_lost_total_packets(shown, flow->lost, 0);
	policy_set_state_ecn_marked_packets(shown, marked, 0);
	policy_set_state_ecn_enabled(shown, tp->ecn_flags & 1, 0); /* TCP_ECN_OK */
	policy_set_state_max_cwnd_packets(shown, flow->most_window, POLICY_SCALE);
	policy_set_state_mss_bytes(shown, tp->mss_cache, 0);
	policy_set_state_since_loss_us(shown, now - flow->last_loss, 0);
	policy_set_state_in_recovery(shown, flow->was_recovering, 0);
	policy_set_state_acked_since_change_packets(shown, flow->delivered - flow->changed, 0);
	policy_set_state_round_trip_acked_packets(shown, flow->delivered - flow->round_delivered, 0);
	policy_set_state_round_trips(shown, flow->rounds, 0);
	policy_set_state_cwnd_exact_packets(shown, window_of(tp, flow), POLICY_SCALE);
	policy_set_state_send_rate_bps(shown, flow->send_rate, 0);
#ifdef POLICY_EVENTS
	show_flow(flow, cause, now);
#endif /* POLICY_EVENTS */
#ifdef POLICY_OBSERVES_round_trip
	if (over)
		policy_observe_round_trip(&flow->remembered, shown);
#endif
	policy_observe(&flow->remembered, shown);
#ifdef POLICY_EVENTS
	handle_events(flow, cause, over, now);
#endif /* POLICY_EVENTS */
	if (cause != ACKNOWLEDGEMENT) {
		flow->last_loss = now;
		flow->threshold = at_least(flying / 2, LEAST_WINDOW);
		policy_set_state_ssthresh_packets(shown, flow->threshold, 0);
		flow->slow_start = 0;
	} else if (slow_start(sk, tp, flow, now, rtt, acked)) {
		goto noted;
	}
#ifdef SETTING_CALLED_ROUND
	if (cause == ACKNOWLEDGEMENT && !over)
		goto noted;
#endif
	answer = policy_score(&flow->remembered, shown);
	answer = answer < 0 ? 0 : answer;
	if (cause == TIMEOUT) {
#ifndef SETTING_SLOW_START_POLICY
		tp->snd_ssthresh = at_most(at_least(answer >> POLICY_SCALE, LEAST_WINDOW), MOST_WINDOW);
		begin_slow_start(tp, flow, now);
		goto noted;
#endif
	}
	set_window(tp, flow, answer);
	if (cause == TIMEOUT || cause == CONGESTION || tp->snd_ssthresh == NO_THRESHOLD)
		tp->snd_ssthresh = tp->snd_cwnd;
noted:
	if (tp->snd_cwnd != before)
		flow->changed = flow->delivered;
	flow->most_window = at_least(flow->most_window, window_of(tp, flow));
}

SEC("struct_ops/vulcan_init")
void BPF_PROG(vulcan_init, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *flow;
	u64 now = tp->tcp_mstamp;

	bpf_sk_storage_delete(&flows, sk); /* what an earlier use by the same connection has left */
	flow = bpf_sk_storage_get(&flows, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!flow)
		return;
	policy_init(&flow->remembered);
#ifdef POLICY_EVENTS
	flow->timer_due = NO_TIMER;
#ifdef POLICY_DRAWS
	policy_seed(&flow->remembered, (u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32());
#endif
#endif /* POLICY_EVENTS */
	flow->began = flow->last_loss = flow->round_began = now;
	flow->delivered_then = tp->delivered;
	flow->lost_then = tp->lost;
	flow->round_end = tp->snd_nxt;
	flow->round_least = NO_RTT;
	flow->threshold = MOST_WINDOW;
#ifndef SETTING_HANDSHAKE_NONE
	if (tp->rtt_min.s[0].v != ~0U) /* the round trip of the connection's opening */
		flow->least_rtt = tp->rtt_min.s[0].v;
#endif
	flow->window = flow->most_window = (u64)tp->snd_cwnd << POLICY_SCALE;
	flow->state = TCP_CA_Open;
	begin_slow_start(tp, flow, now);
#ifdef SETTING_SLOW_START_POLICY
	flow->slow_start = 0;
#endif
}

SEC("struct_ops/vulcan_cong_control")
#ifdef CONG_CONTROL_OF_TWO
void BPF_PROG(vulcan_cong_control, struct sock *sk, const struct rate_sample *rs)
#else
void BPF_PROG(vulcan_cong_control, struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
#endif
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *flow = flow_of(sk);
	u64 rtt = rs->rtt_us >= 0 ? (u64)rs->rtt_us : NO_RTT;
	s64 interval = rs->interval_us;
	s32 delivered = rs->delivered, marked = rs->delivered_ce;
	u32 sent = rs->snd_interval_us;

	if (flow) {
		if (delivered > 0 && interval > 0) {
			flow->rate = (u64)delivered * tp->mss_cache * 8000000 / (u64)interval;
			if (sent > 0)
				flow->send_rate = (u64)delivered * tp->mss_cache * 8000000 / sent;
		}
		ask(sk, tp, flow, flow->asked, tp->tcp_mstamp, rtt, marked > 0 ? marked : 0);
		flow->asked = ACKNOWLEDGEMENT;
		flow->was_recovering = flow->state >= TCP_CA_CWR;
	}
	set_rate(sk, tp);
#ifdef POLICY_EVENTS
	if (flow)
		pace(sk, flow);
#endif /* POLICY_EVENTS */
}

SEC("struct_ops/vulcan_set_state")
void BPF_PROG(vulcan_set_state, struct sock *sk, u8 state)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct flow *flow = flow_of(sk);

	if (!flow)
		return;
	if (state == TCP_CA_Recovery && flow->state < TCP_CA_Recovery)
		flow->asked = CONGESTION;
	else if (state == TCP_CA_CWR && flow->state < TCP_CA_CWR && !flow->asked)
		flow->asked = MARK;
	if (state == TCP_CA_Loss) {
		flow->was_recovering = flow->state >= TCP_CA_CWR;
		flow->asked = ACKNOWLEDGEMENT;
		ask(sk, tp, flow, TIMEOUT, tp->tcp_mstamp, NO_RTT, 0);
		flow->was_recovering = 1;
	}
	flow->state = state;
}

/* The kernel asks for it when a reduction begins. The policy sets the window at the acknowledgement that follows. */
SEC("struct_ops/vulcan_ssthresh")
u32 BPF_PROG(vulcan_ssthresh, struct sock *sk)
{
	return ((struct tcp_sock *)sk)->snd_ssthresh;
}

SEC("struct_ops/vulcan_undo_cwnd")
u32 BPF_PROG(vulcan_undo_cwnd, struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	return at_least(tp->snd_cwnd, tp->prior_cwnd);
}

#ifdef POLICY_EVENTS
/* Of a paced sender, packets that leave at a time at least. */
SEC("struct_ops/vulcan_min_tso_segs")
u32 BPF_PROG(vulcan_min_tso_segs, struct sock *sk)
{
	struct flow *flow = flow_of(sk);

	return flow && flow->pacing && flow->pacing < LEAST_RATE_OF_TWO ? 1 : 2;
}

#endif /* POLICY_EVENTS */
SEC(".struct_ops")
struct tcp_congestion_ops vulcan = {
	.init = (void *)vulcan_init,
	.cong_control = (void *)vulcan_cong_control,
	.set_state = (void *)vulcan_set_state,
	.ssthresh = (void *)vulcan_ssthresh,
	.undo_cwnd = (void *)vulcan_undo_cwnd,
#ifdef POLICY_EVENTS
	.min_tso_segs = (void *)vulcan_min_tso_segs,
#endif /* POLICY_EVENTS */
	.name = "@NAME@",
};
