#!/usr/bin/env python3
"""Makes a trace of a link (CSV, for `rate = { trace = "FILE" }`) from a log of what it carried.

    scripts/trace-from-log.py bytes LOG > trace.csv      lines "SECONDS BYTES" of single packets, separated by blanks or commas
    scripts/trace-from-log.py totals LOG > trace.csv     lines "SECONDS BYTES": all that arrived since the line before
    scripts/trace-from-log.py elapsed LOG > trace.csv    lines that end with BYTES MILLISECONDS: what arrived since the line before

LOG may be - for standard input. `bytes` gives the rate of each window, which is what arrived in it; --window 0.1 is its length in
seconds. A log whose lines are further apart than that is refused, because the trace would have bursts that the link did not have.
`totals` and `elapsed` give one rate for each line; of `totals` the first line only says when the second one began. The 4G logs of Ghent
(van der Hooft et al. 2016) and the 3G logs of Oslo (Riiser et al. 2013) have the form of `elapsed`. A log tells what was carried, which is
what the link could carry only while the sender always had more to send.

What prints lines for `bytes`, for example:

    tshark -r capture.pcap -Y 'ip.dst == 10.0.0.2' -T fields -e frame.time_epoch -e ip.len
    irtt client -o out.json.gz …; zcat out.json.gz |
        jq -r '.round_trips[] | select(.lost == "false") | "\\(.timestamps.client.receive.wall / 1e9) 172"'
"""

import argparse
import statistics
import sys


def fail(line, why):
    sys.exit(f"line {line}: {why}")


def rows(text, part):
    """Two numbers of each line, which `part` selects, with the line's number."""
    for number, line in enumerate(text, 1):
        cells = line.replace(",", " ").split()
        if not cells or cells[0].startswith("#"):
            continue
        if len(cells) < 2:
            fail(number, "must have two columns")
        try:
            yield number, [float(cell) for cell in cells[part]]
        except ValueError:
            fail(number, "must be numbers")


def spaced(text):
    """(number of the line, seconds since the first one, bytes), in order."""
    start, last = None, 0
    for number, (at, count) in rows(text, slice(2)):
        start = at if start is None else start
        if at - start < last:
            fail(number, "is before the line in front of it")
        last = at - start
        yield number, last, count


def windows(text, window):
    """(start, bit/s) of each window, and the end; times in seconds from the first line."""
    sums, times = [], []
    for number, at, count in spaced(text):
        index = int(at / window)
        if index > 10_000_000:
            fail(number, "is more than ten million windows after the first line")
        sums.extend([0] * (index + 1 - len(sums)))
        sums[index] += count
        times.append(at)
    if len(times) > 1:
        gap = statistics.median(b - a for a, b in zip(times, times[1:]))
        if gap > 1.05 * window:
            sys.exit(
                f"most lines are {gap:.6g} s apart, more than the window of {window:g} s: where each is all that arrived since the line"
                f" before, use totals; where they are single packets, a window of {10 * gap:.3g}, with --window"
            )
    return [(n * window, 8 * count / window) for n, count in enumerate(sums)], len(sums) * window


def totals(text):
    """The same of logs whose lines say what arrived since the line before."""
    before, all_ = None, []
    for number, at, count in spaced(text):
        if before is not None and at > before:
            all_.append((before, 8 * count / (at - before)))
        elif before is not None:
            fail(number, "is at the time of the line before, so it has no rate")
        before = at
    return all_, before or 0


def lines(text):
    """The same of logs whose lines say how many bytes came in how many milliseconds."""
    at, all_ = 0.0, []
    for _, (count, millis) in rows(text, slice(-2, None)):
        if millis <= 0:
            continue
        all_.append((at, 8 * count / (millis / 1000)))
        at += millis / 1000
    return all_, at


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("format", choices=["bytes", "totals", "elapsed"])
    parser.add_argument("log")
    parser.add_argument("--window", type=float, default=0.1, help="seconds (default 0.1)")
    arguments = parser.parse_args()
    if arguments.window < 0.001:
        sys.exit("--window must be at least 0.001")
    text = sys.stdin if arguments.log == "-" else open(arguments.log, encoding="utf-8")
    with text:
        if arguments.format == "bytes":
            steps, end = windows(text, arguments.window)
        else:
            steps, end = (totals if arguments.format == "totals" else lines)(text)
    if not steps:
        sys.exit("the log is empty")
    print("time_s,rate_bps")
    for at, rate in steps:
        print(f"{at:.6f},{rate:.0f}")
    print(f"{end:.6f},")


main()
