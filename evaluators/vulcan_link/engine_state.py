"""Memory layout of the engine's own state, which no algorithm sees: int64 slots. Times are nanoseconds."""

NEVER = 1 << 62

DROP_TAIL, ONE_CODEL, FAIR_CODEL = range(3)  # settings[CODEL]

# A row a flow: when each of its sources of events is due, NEVER where it is not.
START, ACK_ARRIVES, TIMER, MAY_SEND, DELAYED_ACK, LATE_ARRIVES = range(6)
SOURCES = 6

# A row a flow: the sender.
(
    UNA,  # lowest sequence number not acknowledged cumulatively
    NXT,  # next new sequence number
    SACKED_OUT,  # between them: delivered, deemed lost, and retransmissions under way
    LOST_OUT,
    RETRANSMITTED_OUT,
    HIGH,  # NXT when recovery began: it is over when UNA reaches it
    SENDER_STATE,
    DELIVERED_COUNT,
    DELIVERED_TIME,
    FIRST_SENT,  # when the packet was sent that the latest rate sample ends with
    LOST_COUNT,
    TRANSMISSIONS,  # transmissions so far: the tail of the ring of transmissions
    OLDEST,  # the oldest transmission that loss detection still looks at: the head of the ring
    RACK,  # the latest transmission known to be delivered (RFC 8985), -1 before the first
    RACK_RTT,
    LOST_HEAD,  # the ring of packets to be retransmitted
    LOST_TAIL,
    TIMER_KIND,
    SRTT,  # times 8, as Linux keeps it
    DEVIATION,  # times 4
    DEVIATION_MAX,
    VARIATION,
    VARIATION_END,
    MIN_RTT,
    RTO,
    BACKOFF,
    TIMEOUTS_IN_ROW,
    UNDO,  # 1 where the reduction of a timeout may be undone
    FIRST_RETRANSMISSION,  # when the first retransmission since the timeout was sent, 0 before
    PRR_DELIVERED,
    PRR_OUT,
    FRTO,
    NEW_DATA_FIRST,
    PROBED_HIGH,  # NXT when a tail loss probe was sent, 0 where none is under way
    OUTSTANDING,  # transmissions that the network holds
    STOP,
    CAPABLE_OF_ECN,
    RECEIVE_WINDOW,
    ROUND_END,  # the policy's round trips: DELIVERED_COUNT that ends one
    SLOW_START,  # 1 while the mechanism runs slow start for a policy
    CALLED,  # 1 where the policy is asked once per round trip
    ASK,  # why the policy is to be asked now: a cause of `record`, or -1
    RECOVERING,  # whether recovery was under way before the acknowledgement at hand
    SLOW_START_BY_MECHANISM,
    # the receiver
    EXPECTED,  # next in order
    MAX,  # highest received, plus 1
    WAITING,  # packets received and not yet acknowledged
    WAITING_COVERED,  # and transmissions, duplicates included
    WAITING_MARKED,
    WAITING_ECHO,  # when the first of them that was in order was sent, 0 where none was
    QUICK,  # packets still acknowledged at once
    ARRIVALS_HEAD,
    ARRIVALS_TAIL,
    ACKS_HEAD,
    ACKS_TAIL,
    LAST_ACK_ARRIVAL,
    DELAYS_ACKS,
    # counts, of which those of the measured time are the differences to a copy
    SENT,
    GONE,  # delivered, out of the link
    DROPPED,
    LOST_AT_RANDOM,
    MARKED_COUNT,
    RETRANSMITTED,
    TIMEOUTS,
    RECEIVED,  # for the first time
    CARRIED_BYTES,
    CALLS,
    ACKS,
    DELAY_SUM,
    RTT_SUM,
    RTT_COUNT,
    WINDOW_SUM,
    DELAY_MAX,
    DECISIONS,  # a hash of the policy's answers
    FORESEES,
    FIRST_SERIAL,  # of the next acknowledgement to arrive
    LAST_NEW,  # when the receiver last got a packet for the first time
    WRITE_PACKETS,  # what the application writes at a time, 0 for endless data
    WRITE_INTERVAL,  # ns between its writes, of which the first is when the flow starts
    # reordering: the ring of packets that are late, and what a sender makes of it
    LATE_HEAD,
    LATE_TAIL,
    HIGHEST_DELIVERED,  # sequence number, plus 1
    REORDERINGS,  # times that a packet was seen to have been late
    REORDERING_STEPS,  # quarters of the least round trip that RACK waits
    REORDERING_PERSIST,  # recoveries until that is one again
    STEPPED_AT,  # DELIVERED_COUNT when it last changed
    UNDO_RECOVERY,  # 1 where the reduction of a recovery may be undone
    UNDO_RETRANSMITTED,  # its retransmissions that were not seen to be needless
    MAY_REORDER,  # 1 where packets may come late
    NEEDLESS,  # 1 where a needless retransmission was reported, and not yet answered
) = range(90)
FLOW_SLOTS = 96

RETRANSMISSION, PROBE, REORDERING = range(3)  # purpose of the timer

# A row a packet, by its sequence number modulo the rows.
SENT_AT, DELIVERED_THEN, DELIVERED_TIME_THEN, FIRST_SENT_THEN, FLAGS, TRANSMISSION, LIMITED_THEN = range(7)
PACKET_SLOTS = 8
IS_DELIVERED, IS_LOST, IS_RETRANSMITTED, WAS_RETRANSMITTED = 1, 2, 4, 8

# A row an acknowledgement on its way.
ACK_TIME, ACK_NUMBER, ACK_PACKETS, ACK_COVERED, ACK_MARKED, ACK_ECHO, ACK_SERIAL = range(7)
ACK_SLOTS = 7

# A row a packet in the queue.
Q_FLOW, Q_SEQUENCE, Q_TIME, Q_SENT_AT, Q_MARK, Q_BYTES = range(6)
QUEUE_SLOTS = 6

# A row a packet that is late.
L_TIME, L_SEQUENCE, L_SENT_AT, L_MARK = range(4)
LATE_SLOTS = 4

# A row of the log: what happens to a packet, when, and to which flow's. The value is, of packets that come to the
# queue, the bytes that wait there; of those that leave it, how long they waited, ns.
E_TIME, E_KIND, E_FLOW, E_VALUE = range(4)
LOG_SLOTS = 4
(
    LOST_BEFORE,  # at random, before the queue
    QUEUED,
    OVERFLOWED,  # dropped as it came to a full queue
    REFUSED,  # dropped as it came, by a policer or by who manages the queue
    DROPPED_WAITING,  # dropped out of the queue
    CARRIED,  # out of the link, and new to the receiver
    CARRIED_AGAIN,  # and the receiver had it
) = range(7)

# The link: where its trace and its queue are.
(
    POSITION,  # of the next opportunity, or of the rate that holds
    CYCLE,  # when the current repetition of the trace began
    SERVICE,  # when the link acts next, NEVER while it has nothing to do
    IN_SERVICE,  # 1 while `CURRENT` is a packet
    LEFT,  # bytes of it still to carry, by opportunities
    BEGAN,  # when its transmission began, by rates
    HEAD,
    TAIL,
    WAITING_BYTES,
    FIRST_ABOVE,  # CoDel's
    DROP_NEXT,
    DROPS,
    LAST_DROPS,
    DROPPING,
    LAST_DEPARTURE,
    SERIAL,  # acknowledgements so far, of all flows
    LOGGED,  # rows of the log so far, those that it has no room for included
    TOKENS,  # the policer's, in billionths of a byte
    TOKENS_AT,  # when they were counted
    CURRENT,  # the packet's row, as of the queue
) = range(20)
LINK_SLOTS = CURRENT + QUEUE_SLOTS

# What the link and its queue are.
(
    BY_RATES,
    PERIOD,
    LIMIT_PACKETS,
    CODEL,
    ECN,
    MARK_PACKETS,
    TARGET,
    INTERVAL,
    CLOCK,
    JITTER,
    DURATION,
    MEASURE_FROM,
    DRAIN,
    NOISE,  # the seed of what delays acknowledgements
    MANAGER,  # the address of who manages the queue (see `queue_management`), 0 for nobody
    MANAGER_KIND,
    MANAGER_STATE,  # the address of its float64 slots
    MANAGER_SLOTS,
    MANAGER_SCORE,
    MANAGER_UPDATE,
    MANAGER_ENQUEUE,  # the policy's handlers, 0 for those it does not have
    MANAGER_DEQUEUE,
    MANAGER_DROP,
    MANAGER_TIMER,
    MANAGER_DEPARTURE,  # observes the statistics of packets
    ACK_BATCH,  # acknowledgements arrive on its multiples, 0 for at once
    HANDSHAKE,  # 1 where the least round trip begins with the handshake's
    POLICER_RATE,  # bytes/s, 0 for no policer
    POLICER_BURST,  # bytes
    LATE_SHARE,  # of packets that come late, in millionths
    LATE_BY,  # ns
) = range(31)
SETTINGS = 31

FINE_BINS, COARSE_BINS = 100_000, 50_000
FINE, COARSE = 10_000, 10_000_000
BINS = FINE_BINS + COARSE_BINS
"""Queueing delays are counted in bins of 10 us up to 1 s, and of 10 ms from there."""
