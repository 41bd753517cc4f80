// What packets wait: each of the last seconds, and how many wait longer than a given time.

import { ccdf, quantile, type History, type Packet } from "../../history.js";
import { Chart, type Dot, type Line } from "../chart.js";
import { Legend, Panel, Strips, type Figure, type Shown, type Side } from "../panel.js";
import { queueColour, span, time } from "../words.js";

/** How long the trace is, in ns. */
const TRACE = 10e9;
/** A percentile needs so many packets. */
const ENOUGH = 100;

/** Where the queue is that is looked at, if that is not plain. */
export const where = ({ linkName, isUp }: History): string => (linkName === undefined ? (isUp ? ", up" : "") : ` of ${linkName}${isUp ? ", up" : ""}`);

/** The queues of a side that have packets, with their colours. */
const queuesOf = ({ history }: Side) => history.queues.map(({ name, rows }, place) => ({ name, rows, place, colour: queueColour(name, place, history.discipline) }));

type Values = { value: number; weight: number }[];

interface Delays {
    values: Values;
    /** How many packets they stand for, and what one in a hundred waits longer; undefined of too few. */
    count: number;
    high: number | undefined;
}

/** What was asked for last of each run: two panels draw it, and a minute of packets changes little in half a second. */
const kept = new WeakMap<Packet[], { now: number; at: number; of: Map<number, Delays> }>();
const FRESH = 500;

/** Delays of the packets of a queue that were not dropped. */
function delays({ packets, now }: History, queue: number): Delays {
    let last = kept.get(packets);
    const at = performance.now();
    if (!last || (now !== last.now && (at - last.at > FRESH || now < last.now))) kept.set(packets, (last = { now, at, of: new Map() }));
    const known = last.of.get(queue);
    if (known) return known;
    const values: Values = [];
    for (const { queue: of, dropped, delay, weight } of packets) if (of === queue && !dropped) values.push({ value: delay, weight });
    const count = values.reduce((sum, { weight }) => sum + weight, 0);
    const found = { values, count, high: count < ENOUGH ? undefined : quantile(values, 0.99) };
    last.of.set(queue, found);
    return found;
}

/** The least of these that is not exceeded. */
const topOf = (longest: number): number => [2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 60_000].find((top) => top >= longest) ?? 1e5;

/** The longest wait of any side in the trace, in ms. */
function longestOf(sides: Side[]): number {
    let most = 1e6;
    for (const { history: { now, seesPackets, packets, queues } } of sides) {
        const from = Math.max(0, now - TRACE);
        if (seesPackets) for (let place = packets.length - 1; place >= 0 && (packets[place]?.time ?? 0) >= from; place--) most = Math.max(most, packets[place]?.delay ?? 0);
        else for (const { time, max } of queues.flatMap(({ rows }) => rows)) if (time >= from && max >= 0) most = Math.max(most, max);
    }
    return most / 1e6;
}

/** The axis of the time of a trace. */
const trace = ({ now }: History) => {
    const from = Math.max(0, now - TRACE);
    return { label: "time, s", from: from / 1e9, to: Math.max(from + TRACE, now) / 1e9, written: (value: number) => value.toFixed(0) };
};

/** Where single packets are not told: what those of each interval waited, on average and at most. */
function Intervals({ sides }: Shown) {
    const top = topOf(longestOf(sides));
    const of = (side: Side) => queuesOf(side).map((queue) => ({ ...queue, rows: queue.rows.filter(({ mean }) => mean >= 0) }));
    const figures = (side: Side): Figure[] =>
        of(side).flatMap(({ name, colour, rows }): Figure[] => {
            const packets = rows.reduce((sum, row) => sum + row.packets, 0);
            if (packets === 0) return [];
            const mean = rows.reduce((sum, row) => sum + row.mean * row.packets, 0) / packets;
            const longest = Math.max(...rows.map(({ max }) => max));
            return [{ what: `mean, queue ${name}`, value: time(mean), colour, note: `at most ${time(longest)}; ${packets} packets, ${span(side.history.remembered)}` }];
        });
    return (
        <Panel id="delay" title={`How long packets wait in the queue${sides[0] ? where(sides[0].history) : ""}`}>
            <Strips sides={sides} figures={figures}>
                {(side) => {
                    const x = trace(side.history);
                    const recent = of(side).map((queue) => ({ ...queue, rows: queue.rows.filter((row) => row.time >= 1e9 * x.from) }));
                    const xs = [...new Set(recent.flatMap(({ rows }) => rows.map((row) => row.time)))].sort((one, other) => one - other);
                    const values = recent.flatMap(({ rows }) => {
                        const at = new Map(rows.map((row) => [row.time, row]));
                        return (["mean", "max"] as const).map((key) => xs.map((x) => (at.has(x) ? (at.get(x)?.[key] ?? 0) / 1e6 : null)));
                    });
                    return (
                        <>
                            <Chart
                                name="Delay of packets in each interval of the last 10 s: mean, and longest"
                                text={figures(side).map(({ what, value, note }) => `${what} ${value}, ${note}`).join("; ") || "no packets yet"}
                                x={x}
                                y={{ label: "delay, ms", from: 0, to: top }}
                                lines={recent.flatMap(({ name, colour }) => [{ name: `${name}, mean`, colour }, { name: `${name}, longest`, colour, dash: [6, 5] }])}
                                data={[xs.map((x) => x / 1e9), ...values]}
                            />
                            <Legend of={recent.map(({ name, colour }) => ({ name: `${name}: mean, dashed: longest`, colour }))} />
                        </>
                    );
                }}
            </Strips>
        </Panel>
    );
}

/** The panel of waits over time. */
export function Delay(shown: Shown) {
    const { sides } = shown;
    if (sides.some(({ history }) => !history.seesPackets && history.now > 0)) return <Intervals {...shown} />;
    const top = topOf(longestOf(sides));
    const figures = ({ history, ...side }: Side): Figure[] =>
        queuesOf({ history, ...side }).flatMap(({ name, colour, place }): Figure[] => {
            const { count, high } = delays(history, place);
            if (count === 0) return [];
            const value = high === undefined ? `${count} of ${ENOUGH}` : time(high);
            return [{ what: `P99, queue ${name}`, value, colour, note: `${high === undefined ? "packets so far" : `${count} packets`}, ${span(history.remembered)}` }];
        });
    return (
        <Panel id="delay" title={`How long packets wait in the queue${sides[0] ? where(sides[0].history) : ""}`}>
            <Strips sides={sides} figures={figures}>
                {(side) => {
                    const { history } = side;
                    const x = trace(history);
                    const recent = history.packets.filter((packet) => packet.time >= 1e9 * x.from);
                    // More dots than pixels help nobody.
                    const step = Math.max(1, Math.ceil(recent.length / 6_000));
                    const colours = queuesOf(side).map(({ colour }) => colour);
                    const dots = recent.flatMap(({ time, delay, queue, dropped }, place): Dot[] =>
                        place % step !== 0 && !dropped ? [] : [{ x: time / 1e9, y: delay / 1e6, colour: dropped ? "--ink" : (colours[queue] ?? "--ink"), strength: dropped ? 0.9 : 0.55, cross: dropped }],
                    );
                    return (
                        <>
                            <Chart
                                name="Delay of packets in the last 10 s"
                                text={figures(side).map(({ what, value }) => `${what} ${value}`).join(", ") || "no packets yet"}
                                x={x}
                                y={{ label: "delay, ms", from: 0, to: top }}
                                lines={[]}
                                data={[[]]}
                                dots={dots}
                                height={sides.length > 1 ? 150 : 200}
                            />
                            <Legend of={[...queuesOf(side), ...(dots.some(({ cross }) => cross) ? [{ name: "dropped", colour: "--ink", sign: "✕" }] : [])]} />
                        </>
                    );
                }}
            </Strips>
        </Panel>
    );
}

/** Dashes of the queues of a discipline that shares its colour with others, and the signs of the legend. */
const DASHES: readonly { sign: string; dash?: number[] }[] = [{ sign: "━" }, { sign: "┅", dash: [6, 5] }, { sign: "┉", dash: [2, 4] }];

/** The panel of the distribution: all queues in one plot. */
export function Longer({ sides }: Shown) {
    const longest = longestOf(sides);
    const lines = sides.flatMap((side): (Line & { sign: string; steps: [number[], number[]] })[] =>
        queuesOf(side).flatMap(({ name, colour, place }) => {
            const { values } = delays(side.history, place);
            if (values.length === 0) return [];
            const steps = ccdf(values);
            if (sides.length === 1) return [{ name, colour, stepped: true, sign: "━", steps }];
            // Two of one family differ by their dashes.
            const isTwin = sides.some((other) => other.place < side.place && other.colour === side.colour);
            const { sign = "━", dash } = DASHES[(place + (isTwin ? 1 : 0)) % DASHES.length] ?? {};
            const label = side.history.queues.length > 1 ? `${side.queue}, ${name}` : side.queue;
            return [{ name: label, colour: side.colour, stepped: true, sign, steps, ...(dash ? { dash } : {}) }];
        }),
    );
    if (lines.length === 0) return null;
    const xs = [...new Set(lines.flatMap(({ steps: [xs] }) => xs.map((x) => x / 1e6)))].sort((one, other) => one - other);
    const values = lines.map(({ steps: [values, shares] }) => {
        let at = 0;
        return xs.map((x) => {
            while (at < values.length - 1 && (values[at] ?? 0) / 1e6 < x) at++;
            const value = (values[at] ?? 0) / 1e6;
            return value < x ? null : (shares[at] ?? null);
        });
    });
    const within = Math.min(...sides.map(({ history }) => history.remembered));
    return (
        <Panel id="longer" title="How many wait longer">
            <Chart
                name={`Share of packets that wait longer, last ${span(within)}`}
                text={lines.map(({ name }) => name).join(", ")}
                x={{ label: "delay, ms", log: true, from: 0.01, to: Math.max(1_000, 10 ** Math.ceil(Math.log10(longest))) }}
                y={{ label: "share that waits longer", log: true, from: 1e-4, to: 1, written: (value) => `${100 * value} %` }}
                lines={lines.map(({ steps: _, sign: __, ...line }) => line)}
                data={[xs, ...values]}
                height={sides.length > 1 ? 330 : 260}
            />
            <Legend of={lines} />
        </Panel>
    );
}
