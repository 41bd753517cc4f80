"""A sender and a receiver over UDP with a known congestion control, and defects to switch on: the known truth for `quell judge`.

The server waits for a hello at port 4433, then sends until killed. A datagram has a number, and whether the receiver shall acknowledge at
once; else it acknowledges every second one. An acknowledgement, Not-ECT, has its counts of packets, ECT(0), ECT(1) and CE, and the numbers
of one or two packets. Nothing is encrypted, nothing sent again, nothing random.

With ECT(1) the control is scalable, after TCP Prague (draft-briscoe-iccrg-prague-congestion-control): once a virtual round trip, at least
25 ms, alpha follows the share of CE with a gain of 1/16, and at most once the window falls by alpha / 2; growth is that of a flow with this
round trip. With ECT(0) CE reduces to 0.7, at most once a round trip. Losses, found by time, halve. Validation is that of RFC 9000, 13.4.2,
but one failure ends the use of ECN. Below one packet the window is the share of round trips that carry one. With QLOGDIR the receiver
logs its acknowledgements as if they were of QUIC. Defects:

ignore-ce: reduces for CE only where all packets carry it     three-duplicates: takes a packet as lost when three later ones have arrived
classic-law: reduces to 0.7 with ECT(1) as well               keep-ect: keeps ECT when no packet is counted
every-mark: halves at each acknowledgement that reports CE    accept-remark: accepts counts of the other ECT code
half-counts: the receiver counts every second CE as ECT(1)    ect-stall: keeps ECT when all packets vanish
miscount: the receiver counts ECT(1) as ECT(0)                idle-growth: grows the window while --limit holds
burst: sends 32 packets at once where its window has 16        start-ce: ignores CE in slow start, for a second
ignore-loss: does not reduce for losses                       alpha0: alpha starts at 0 and stays there for a second
rtt: takes the true round trip, however short                 constant: sends a constant 12 Mbit/s
window2: keeps a window of two packets                        nqb: sends a constant 600 kbit/s with the DSCP of NQB
no-fallback: does not detect a Classic queue, as the toy      nqb-burst: sends 480 kbit/s so, three packets at once
"""

import argparse
import json
import math
import os
import select
import socket
import struct
import time

DEFECTS = """ignore-ce classic-law every-mark half-counts miscount burst ignore-loss rtt window2 three-duplicates keep-ect accept-remark
    no-fallback ect-stall idle-growth start-ce alpha0 constant nqb nqb-burst""".split()
PORT = 4433
UDP_SEGMENT = 103  # A train leaves in one call, and the kernel makes datagrams of it: udp(7).
SIZE, HEADERS = 1400, 28  # Bytes of a datagram.
DATA, ACKNOWLEDGEMENT = struct.Struct("!QB"), struct.Struct("!6Q")
RING = 1 << 16
NOT_ECT, ECT1, ECT0, CE = range(4)
CODES = {"ect1": ECT1, "ect0": ECT0, "none": NOT_ECT}
FIRST_WINDOW, LARGEST_WINDOW = 10.0, 1024.0  # Packets; the first one once the round trip is known.
PAIRS_BELOW = 0.0004  # Packets closer than this, in seconds, leave in pairs.
LIMITED_FOR = 10  # Seconds of --limit.
# Streams of constant rate: bytes of a datagram, datagrams at once, seconds from train to train.
STREAMS = {name: (SIZE, 1, (SIZE + HEADERS) * 8 / rate) for name, rate in (("constant", 12e6), ("nqb", 600e3), ("good-nqb", 400e3))}
STREAMS["nqb-burst"] = (972, 3, 0.05)


class Sender:
    """Sends to one receiver for ever."""

    def __init__(self, channel, arguments):
        self.channel, self.defect = channel, "good-nqb" if arguments.nqb else arguments.defect
        self.stream = STREAMS.get(self.defect)
        self.size = self.stream[0] if self.stream else SIZE
        self.dscp = 45 if self.stream and self.defect != "constant" else 0
        channel.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, self.size)
        self.buffer = memoryview(bytearray(32 * self.size))
        self.start = self.due = self.progress = time.monotonic()
        self.limit_end = self.start + (LIMITED_FOR if arguments.limit else 0)
        self.offered_interval = (SIZE + HEADERS) * 8e-6 / (arguments.limit or 1)
        self.sent = [0.0] * RING  # When each packet left; 0 once it is acknowledged or lost.
        # The next packet; the first one of whose fate nothing is known; the last one acknowledged.
        self.next, self.oldest, self.largest = 1, 1, 0
        self.set_code(NOT_ECT if self.dscp else CODES[arguments.ecn])
        self.recovery = 0  # Losses of packets before this one belong to the last reduction for loss.
        self.in_flight = self.timeouts = self.partly_counted = 0
        self.window, self.threshold = 1.0, LARGEST_WINDOW
        self.round_trip, self.least_round_trip, self.smoothed, self.span = 0.1, 0.0, 0.1, 0.1  # Seconds.
        self.alpha = 0.0 if self.defect == "alpha0" else 1.0
        self.round_end, self.reduce_after = math.inf, 0.0  # Alpha changes from the first CE on.
        self.round_packets, self.round_ce, self.counts = 0, 0, (0, 0, 0, 0)
        self.note = log_of("server")

    def set_code(self, code):
        """Sets the ECN field of the packets from now on."""
        self.code, self.first_plain = code, 1 << 60 if code else self.next
        self.channel.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, self.dscp << 2 | code)

    def run(self):
        now, read = self.start, [self.channel]
        while True:
            wake = self.fill(now)
            ready = select.select(read, [], [], max(0.0, wake - now))[0]
            now = time.monotonic()
            if ready:
                self.on_acknowledgement(now, *ACKNOWLEDGEMENT.unpack(self.channel.recv(64)))

    def fill(self, now):
        """Sends what window and pace allow; the time to look again."""
        while True:
            self.progress = self.progress if self.in_flight else now
            wake = self.progress + (2 * self.smoothed + 0.05) * (1 << min(self.timeouts, 4))
            if now >= wake:
                self.on_timeout()
                continue
            if self.stream:
                _, train, interval = self.stream
                room = train
            else:
                interval = self.smoothed / self.window / (2 if self.window < self.threshold else 1)
                train = 2 if interval < PAIRS_BELOW else 1
                room = int(max(1.0, self.window) - self.in_flight + 0.999)
                if self.defect == "burst" and room > 0 and self.window >= max(16, self.threshold):
                    train = room = 32
                interval *= train
            if now < self.limit_end:
                interval = max(interval, self.offered_interval * train)
            if room <= 0:
                return wake
            # What a late wake-up missed is made up for by one train at most.
            self.due = max(self.due, now - interval)
            if now < self.due:
                return min(wake, self.due)
            count = min(room, train)
            self.due += interval * count / train
            for index in range(count):
                self.sent[self.next % RING] = now
                self.in_flight += 1
                # At once where no second packet follows soon.
                DATA.pack_into(self.buffer, index * self.size, self.next, self.window < 4 or self.in_flight >= self.window)
                self.next += 1
            self.channel.send(self.buffer[: count * self.size])
            self.note("transport:packet_sent", {"header": {"packet_type": "1RTT"}, "frames": []})

    def on_acknowledgement(self, now, *fields):
        *counts, first, second = fields
        newly = newly_ect = 0
        for number in (first, second):
            then = self.sent[number % RING]
            if then and number >= self.oldest:
                self.sent[number % RING] = 0.0
                newly += 1
                newly_ect += number < self.first_plain
                self.round_trip = now - then
        if not newly:
            return
        self.largest = max(self.largest, first, second)
        self.in_flight -= newly
        self.progress, self.timeouts = now, 0
        if not self.least_round_trip:
            self.least_round_trip, self.smoothed, self.window = self.round_trip, self.round_trip, FIRST_WINDOW
            self.due = self.due if self.stream else now
        self.smoothed += (self.round_trip - self.smoothed) / 8
        self.least_round_trip = min(self.least_round_trip, self.round_trip)
        # The round trip that the control assumes, in seconds.
        self.span = max(self.smoothed, 0.025) if self.code == ECT1 and self.defect != "rtt" else self.smoothed
        steps = [new - old for new, old in zip(counts, self.counts)]
        self.counts = counts
        self.find_losses(now)
        if self.code:
            self.validate(newly_ect, *steps[1:])
        if self.code and steps[3]:
            self.on_ce(now)
        self.round_packets += newly
        self.round_ce += steps[3]
        if now >= self.round_end:
            self.alpha += (min(1.0, self.round_ce / self.round_packets) - self.alpha) / 16
            self.round_end, self.round_packets, self.round_ce = now + self.span, 0, 0
        # The window does not grow for CE, nor while the application offers too little to fill it.
        if newly > steps[3] and (now >= self.limit_end or self.defect == "idle-growth"):
            growth = newly - steps[3]
            if self.window >= self.threshold:
                growth *= (self.smoothed / self.span) ** 2 / self.window
            self.window = min(self.window + min(growth, self.window), LARGEST_WINDOW)
        own = {"congestion_window": int(self.window * SIZE), "smoothed_rtt": 1000 * self.smoothed}
        self.note("recovery:metrics_updated", own)

    def validate(self, newly, ect0, ect1, ce):
        own, other = (ect1, ect0) if self.code == ECT1 else (ect0, ect1)
        if self.defect == "accept-remark":
            own, other = own + other, 0
        if own + ce < newly and self.defect == "keep-ect":
            # One acknowledgement may be from before and after the path changed.
            self.partly_counted += own + ce > 0
            newly = newly if self.partly_counted > 1 else 0
        if own + ce < newly or other > 0:
            self.set_code(NOT_ECT)

    def on_ce(self, now):
        in_slow_start = self.window < self.threshold
        if in_slow_start and self.defect == "start-ce" and now < self.start + 1:
            return
        if self.round_end == math.inf:
            self.round_end = now + (1.0 if self.defect == "alpha0" else self.span)
        factor = 1 - self.alpha / 2
        if self.defect == "every-mark":
            factor, self.reduce_after = 0.5, now
        elif self.code == ECT0 or self.defect == "classic-law":
            factor = 0.7
        elif self.defect == "ignore-ce" and (in_slow_start or self.alpha < 0.9):
            factor = 1.0
        if now >= self.reduce_after:
            self.reduce(factor)
            self.reduce_after = now + self.span

    def reduce(self, factor):
        # Congestion leaves ten packets a second.
        least = 2.0 if self.defect == "window2" else min(1.0, self.smoothed * 10)
        self.window = self.threshold = max(self.window * factor, least)

    def find_losses(self, now):
        """Lost is what was sent before a packet that arrived, and a quarter of a round trip late (after RACK, RFC 8985)."""
        late = now - self.round_trip - self.least_round_trip / 4
        while self.oldest < self.largest:
            then = self.sent[self.oldest % RING]
            if then:
                if then > late if self.defect != "three-duplicates" else self.oldest + 3 > self.largest:
                    return
                self.sent[self.oldest % RING] = 0.0
                self.in_flight -= 1
                if self.oldest >= self.recovery and self.defect != "ignore-loss":
                    self.recovery = self.next
                    self.reduce(0.5)
            self.oldest += 1

    def on_timeout(self):
        """All that is in flight is lost; where that happens twice, the path may drop ECT."""
        self.oldest = self.recovery = self.next
        self.in_flight, self.timeouts = 0, self.timeouts + 1
        if self.defect != "ignore-loss":
            self.threshold, self.window = max(1.0, self.window / 2), min(1.0, self.window)
        if self.timeouts > 1 and self.code and self.defect != "ect-stall":
            self.set_code(NOT_ECT)


def log_of(side):
    """What writes a line of qlog, where a folder for logs is named."""
    folder, start = os.environ.get("QLOGDIR"), time.monotonic()
    if not folder:
        return lambda *_: None
    log = open(f"{folder}/{side}.sqlog", "w", buffering=1)
    log.write("\x1e" + json.dumps({"qlog_version": "0.3", "trace": {"vantage_point": {"type": side}}}) + "\n")

    def note(name, data):
        record = {"time": (time.monotonic() - start) * 1000, "name": name, "data": data}
        log.write("\x1e" + json.dumps(record) + "\n")

    return note


def receive(channel, arguments):
    channel.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
    server, hello = (arguments.address, PORT), bytes(ACKNOWLEDGEMENT.size)
    channel.sendto(hello, server)
    while not select.select([channel], [], [], 0.2)[0]:
        channel.sendto(hello, server)
    note = log_of("client")
    counted = [0] * 4  # Packets by ECN field.
    waiting, next_ce = 0, CE
    while True:
        message, ((_, _, (field, *_)),), _, _ = channel.recvmsg(SIZE, 32)
        field &= 3
        if arguments.defect == "miscount" and field == ECT1:
            field = ECT0
        if arguments.defect == "half-counts" and field == CE:
            field, next_ce = next_ce, ECT1 if next_ce == CE else CE
        counted[field] += 1
        number, at_once = DATA.unpack_from(message)
        if waiting or at_once:
            counts = sum(counted), counted[ECT0], counted[ECT1], counted[CE]
            channel.sendto(ACKNOWLEDGEMENT.pack(*counts, waiting or number, number), server)
            frame = {"frame_type": "ack", **dict(zip(("ect0", "ect1", "ce"), counts[1:]))}
            note("transport:packet_sent", {"header": {"packet_type": "1RTT"}, "frames": [frame]})
        waiting = 0 if waiting or at_once else number


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("role", choices=["server", "client"])
parser.add_argument("address")
parser.add_argument("result", nargs="?", help="not used: all is in the acknowledgements")
parser.add_argument("--ecn", choices=CODES, default="ect1")
parser.add_argument("--defect", choices=DEFECTS)
parser.add_argument("--limit", type=float, default=0.0, help=f"offer so many Mbit/s for {LIMITED_FOR} s, then all")
parser.add_argument("--nqb", action="store_true", help="send a constant 400 kbit/s with the DSCP of NQB")
parsed = parser.parse_args()
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
if parsed.role == "server":
    udp.bind((parsed.address, PORT))
    udp.connect(udp.recvfrom(64)[1])
    Sender(udp, parsed).run()
receive(udp, parsed)
