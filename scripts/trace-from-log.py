#!/usr/bin/env python3
"""Makes a trace of a link (CSV, for `rate = { trace = "FILE" }`) from a log of what it carried.

    scripts/trace-from-log.py bytes LOG > trace.csv      lines "SECONDS BYTES", separated by blanks or commas
    scripts/trace-from-log.py elapsed LOG > trace.csv    lines that end with BYTES MILLISECONDS: what arrived since the line before

LOG may be - for standard input. `bytes` gives the rate of each window, which is what arrived in it; --window 0.1 is its length in
seconds. `elapsed` gives one rate for each line; the 4G logs of Ghent (van der Hooft et al. 2016) and the 3G logs of Oslo (Riiser et
al. 2013) have this form. A log tells what was carried, which is what the link could carry only while the sender always had more to
send.

What prints lines for `bytes`, for example:

    tshark -r capture.pcap -Y 'ip.dst == 10.0.0.2' -T fields -e frame.time_epoch -e ip.len
    irtt client -o out.json.gz …; zcat out.json.gz |
        jq -r '.round_trips[] | select(.lost == "false") | "\\(.timestamps.client.receive.wall / 1e9) 172"'
"""

import argparse
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


def windows(text, window):
    """(start, bit/s) of each window, and the end; times in seconds from the first line."""
    start, last, sums = None, 0, []
    for number, (at, count) in rows(text, slice(2)):
        start = at if start is None else start
        if at - start < last:
            fail(number, "is before the line in front of it")
        last = at - start
        index = int(last / window)
        if index > 10_000_000:
            fail(number, "is more than ten million windows after the first line")
        sums.extend([0] * (index + 1 - len(sums)))
        sums[index] += count
    return [(n * window, 8 * count / window) for n, count in enumerate(sums)], len(sums) * window


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
    parser.add_argument("format", choices=["bytes", "elapsed"])
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
            steps, end = lines(text)
    if not steps:
        sys.exit("the log is empty")
    print("time_s,rate_bps")
    for at, rate in steps:
        print(f"{at:.6f},{rate:.0f}")
    print(f"{end:.6f},")


main()
