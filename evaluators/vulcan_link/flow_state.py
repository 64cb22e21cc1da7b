"""Memory layout of a flow's state as algorithms see it: one row of float64 slots per flow.

Algorithms see nothing else. Times are nanoseconds since the simulation began, windows and counts are packets, rates
are bits/s on the wire (a packet's whole `PACKET_BYTES`). Whole numbers are exact up to 2**53: 104 days.
"""

# Configuration of the flow, set before it starts.
ALGORITHM = 0  # number of the algorithm, `algorithms.NUMBERS`
CONTROLS = 1  # 1 where the algorithm sets the window itself on every acknowledgement, also in recovery
PACED = 2  # 1 where packets leave no faster than PACING_RATE
PAYLOAD_BYTES = 3  # of a packet
PACKET_BYTES = 4  # of a packet on the wire
PARAMETER = 5  # the flow's `parameter`
PROPAGATION = 6  # ns, there and back without any queue
LINK_RATE = 7  # bits/s of the bottleneck, the mean over a period of its trace
INITIAL_WINDOW = 8
RANDOM = 9  # state of the flow's own generator, see `random.py`

# Sender state, updated by the mechanism; read-only for algorithms.
NOW = 10
UNACKED = 11  # lowest sequence number not acknowledged cumulatively; packets are numbered from 0
NEXT = 12  # the sequence number of the next new packet
IN_FLIGHT = 13  # sent, and neither acknowledged nor deemed lost
PRIOR_IN_FLIGHT = 14  # the same before the acknowledgement at hand
ACKED = 15  # newly delivered by the acknowledgement at hand, cumulatively or selectively
ADVANCED = 16  # newly acknowledged cumulatively by it
LOST = 17  # newly deemed lost at it
MARKED = 18  # delivered by it with a mark of congestion (ECN)
DELIVERED = 19  # in all
LOST_TOTAL = 20
RTT = 21  # ns, of the most recently sent packet that this acknowledgement covers; -1 where there is no valid sample
SMOOTHED_RTT = 22  # ns, RFC 6298; 0 before the first sample
MIN_RTT = 23  # ns; 0 before the first sample
MAX_RTT = 24
STATE = 25  # OPEN, DISORDER, REDUCING, RECOVERY or LOSS
PRIOR_STATE = 26  # before the last change of the state
WINDOW_LIMITED = 27  # 1 where the window, not the data or the receiver, held the sender back
SAMPLE_DELIVERED = 28  # the rate sample: packets delivered over SAMPLE_INTERVAL
SAMPLE_INTERVAL = 29  # ns; -1 where the sample is not valid
SAMPLE_RATE = 30  # bits/s; 0 where it is not valid
SAMPLE_PRIOR_DELIVERED = 31  # DELIVERED when the packet that the sample is of was sent
SAMPLE_LIMITED = 32  # 1 where the sender had nothing to send then
SAMPLE_DELAYED = 33  # 1 where the receiver may have delayed this acknowledgement
STARTED = 34  # ns, when the flow began
CAUSE = 35  # why the algorithm is called: ACKNOWLEDGEMENT, CONGESTION, TIMEOUT or MARK

# Decisions of the algorithm.
CWND = 36  # packets; the mechanism sends while fewer than floor(CWND) are in flight
SSTHRESH = 37  # packets
PACING_RATE = 38  # bits/s; 0 means unlimited
PRIOR_CWND = 39  # CWND when the last reduction began; set by the mechanism
PRIOR_SSTHRESH = 40  # SSTHRESH then; set by the mechanism
NEXT_SEND = 41  # ns, before which pacing lets nothing leave; set by the mechanism
LIMITED_UNTIL = 42  # packets sent until DELIVERED exceeds this count as sent for want of data; 0: none
SAMPLE_SENT_INTERVAL = 44  # ns, over which the packets of the rate sample were sent
COMING = 43  # packets that the link can carry in the PROPAGATION that begins now; for algorithms that foresee it

OWN = 48
"""The first slot that is the algorithm's own, zero at first. 48 of them."""
SLOTS = 96

OPEN, DISORDER, REDUCING, RECOVERY, LOSS = range(5)
"""States of the sender, as Linux has them: REDUCING is its CWR, a reduction without loss, after an ECN mark."""

ACKNOWLEDGEMENT, CONGESTION, TIMEOUT, MARK = range(4)
"""Causes: an acknowledgement, packets deemed lost, the retransmission timeout, an ECN mark."""

NO_THRESHOLD = float(0x7FFFFFFF)
"""SSTHRESH before the first reduction."""
