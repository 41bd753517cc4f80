#!/usr/bin/env python3
"""Makes the traces of scenarios/traces: like LTE and like Wi-Fi, of nobody's network.

    scripts/make-traces.py lte > lte.csv
    scripts/make-traces.py wifi > wifi.csv
    scripts/make-traces.py scenarios scenarios/traces   # the files of the repository

Both are drawn from a generator of their own, so that they are the same everywhere. They have the features of measured links that
matter to queues, with invented numbers: LTE varies smoothly with its signal, in steps when other users come and go, and stops for a
moment at a handover; Wi-Fi jumps between the rates of its modulations, and loses air time to others in bursts.
"""

import sys

SECONDS = 60


class Draw:
    """Numbers from a 64-bit generator (SplitMix64)."""

    def __init__(self, seed):
        self.state = seed

    def below(self, bound):
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        z = self.state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return (z ^ (z >> 31)) % bound

    def normal(self):
        """About normal, in thousandths: the sum of 12 uniform numbers."""
        return sum(self.below(1001) for _ in range(12)) - 6000


def lte(seed=1):
    """A rate in kbit/s for each 100 ms."""
    draw = Draw(seed)
    signal, users, outage = 0, 2, 0
    rows = []
    for step in range(SECONDS * 10):
        # The signal keeps 95 % of itself; thousandths.
        signal = (signal * 95 + draw.normal() * 31) // 100
        if draw.below(40) == 0:
            users = 1 + draw.below(4)
        if draw.below(200) == 0:
            outage = 1 + draw.below(3)
        if outage > 0:
            outage -= 1
            rate = 0
        else:
            rate = max(500, 36_000 + 12 * signal) // users
        rows.append((step * 100, rate))
    return rows


MODULATIONS = [7_000, 14_000, 21_000, 28_000, 43_000, 57_000, 65_000, 72_000]


def wifi(seed=1):
    """A rate in kbit/s for each stretch of 20 to 200 ms."""
    draw = Draw(seed)
    at, place, share, rows = 0, 5, 90, []
    while at < SECONDS * 1000:
        place = min(7, max(0, place + draw.below(3) - 1))
        if draw.below(6) == 0:
            share = 30 + draw.below(61)
        rows.append((at, MODULATIONS[place] * share // 100))
        at += 20 + draw.below(181)
    return rows


def csv(rows):
    lines = ["time_ms,rate_kbps"]
    for index, (at, rate) in enumerate(rows):
        if index == 0 or rate != rows[index - 1][1]:
            lines.append(f"{at},{rate}")
    return "\n".join(lines + [f"{SECONDS * 1000},"]) + "\n"


TRACES = {"lte": lte, "wifi": wifi}
SCENARIOS = {
    "lte": ("lte", "", "Prague and CUBIC share an LTE-like link: 21 Mbit/s on average, up to 60, with stops."),
    "lte-opportunities": ("lte", 'mode = "opportunities"\n', "The LTE-like link as opportunities to send, as mahimahi plays traces."),
    "wifi": ("wifi", "", "Prague and CUBIC share a link whose rate moves as on Wi-Fi: 26 Mbit/s on average, 3 to 65."),
}
TEXT = """\
# {description} The trace is made: scripts/make-traces.py.

schema = 1
name = "{name}"
description = "{description}"

[link]
queue = "dualpi2"

[link.rate]
{options}data = '''
{data}'''

[[group]]
name = "l4s"
congestion-control = "prague"
rtt = "40ms"
app = "bulk"

[[group]]
name = "classic"
congestion-control = "cubic"
rtt = "40ms"
app = "bulk"

[run]
duration = "60s"
warmup = "10s"
"""


def main():
    match sys.argv[1:]:
        case [name] if name in TRACES:
            sys.stdout.write(csv(TRACES[name]()))
        case ["scenarios", folder]:
            for name, trace in TRACES.items():
                with open(f"{folder}/{name}.csv", "w", encoding="ascii") as file:
                    file.write(csv(trace()))
            for name, (trace, options, description) in SCENARIOS.items():
                data = csv(TRACES[trace]())
                text = TEXT.format(name=name, options=options, description=description, data=data)
                with open(f"{folder}/{name}.toml", "w", encoding="ascii") as file:
                    file.write(text)
        case _:
            sys.exit(__doc__)


main()
