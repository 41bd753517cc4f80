// What packets wait: each of the last seconds, and how many wait longer than a given time.

import { ccdf, quantile, type History, type Packet } from "../../history.js";
import { Chart, type Dot } from "../chart.js";
import { Legend, Panel, type Figure, type Shown } from "../panel.js";
import { queueColour, span, time } from "../words.js";

/** How long the trace is, in ns. */
const TRACE = 10e9;
/** A percentile needs so many packets. */
const ENOUGH = 100;

const titleOf = ({ linkName }: History): string => (linkName === undefined ? "Delay in the queue" : `Delay in the queue of ${linkName}`);

/** Delays of the packets of a queue that were not dropped. */
function delays({ packets }: History, queue: number): { value: number; weight: number }[] {
    const fits = (packet: Packet): boolean => packet.queue === queue && !packet.dropped;
    return packets.filter(fits).map(({ delay, weight }) => ({ value: delay, weight }));
}

/** The least of these that is not exceeded. */
const topOf = (longest: number): number => [2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 60_000].find((top) => top >= longest) ?? 1e5;

/** The longest wait of any side in the trace, in ms. */
function longestOf(all: History[]): number {
    const waits = all.flatMap(({ now, seesPackets, packets, queues }) => {
        const from = Math.max(0, now - TRACE);
        if (seesPackets) return packets.filter(({ time }) => time >= from).map(({ delay }) => delay);
        return queues.flatMap(({ rows }) => rows.filter(({ time, max }) => time >= from && max >= 0).map(({ max }) => max));
    });
    return waits.reduce((most, wait) => Math.max(most, wait / 1e6), 1);
}

/** The same where single packets are not told: what those of each interval waited, on average and at most. */
function Intervals({ history, all: sides }: Pick<Shown, "history" | "all">) {
    const from = Math.max(0, history.now - TRACE);
    const all = history.queues.map(({ name, rows }, place) => ({ name, colour: queueColour(name, place, history.discipline), rows: rows.filter(({ mean }) => mean >= 0) }));
    const figures: Figure[] = all.flatMap(({ name, colour, rows }): Figure[] => {
        const packets = rows.reduce((sum, row) => sum + row.packets, 0);
        if (packets === 0) return [];
        const mean = rows.reduce((sum, row) => sum + row.mean * row.packets, 0) / packets;
        const longest = Math.max(...rows.map(({ max }) => max));
        return [{ what: `mean, queue ${name}`, value: time(mean), colour, note: `at most ${time(longest)}; ${packets} packets, ${span(history.remembered)}` }];
    });
    const recent = all.map(({ name, colour, rows }) => ({ name, colour, rows: rows.filter((row) => row.time >= from) }));
    const xs = [...new Set(recent.flatMap(({ rows }) => rows.map((row) => row.time)))].sort((one, other) => one - other);
    const values = recent.flatMap(({ rows }) => {
        const at = new Map(rows.map((row) => [row.time, row]));
        return (["mean", "max"] as const).map((key) => xs.map((x) => (at.has(x) ? (at.get(x)?.[key] ?? 0) / 1e6 : null)));
    });
    const longest = longestOf(sides);
    return (
        <Panel id="delay" title={titleOf(history)} figures={figures}>
            <Chart
                name="Delay of packets in each interval of the last 10 s: mean, and longest"
                text={figures.map(({ what, value, note }) => `${what} ${value}, ${note}`).join("; ") || "no packets yet"}
                x={{ label: "time, s", from: from / 1e9, to: Math.max(from + TRACE, history.now) / 1e9, written: (value) => value.toFixed(0) }}
                y={{ label: "delay, ms", from: 0, to: topOf(longest) }}
                lines={recent.flatMap(({ name, colour }) => [{ name: `${name}, mean`, colour }, { name: `${name}, longest`, colour, dashed: true }])}
                data={[xs.map((x) => x / 1e9), ...values]}
            />
            <Legend of={recent.map(({ name, colour }) => ({ name: `${name}: mean, dashed: longest`, colour }))} />
        </Panel>
    );
}

/** The panel. */
export function Delay({ history, all }: Shown) {
    return history.seesPackets || history.now === 0 ? <Packets history={history} all={all} /> : <Intervals history={history} all={all} />;
}

function Packets({ history, all: sides }: Pick<Shown, "history" | "all">) {
    const names = history.queues.map(({ name }, place) => ({ name, colour: queueColour(name, place, history.discipline), place }));
    const all = names.map((queue) => ({ ...queue, delays: delays(history, queue.place) })).filter(({ delays }) => delays.length > 0);
    const figures: Figure[] = all.map(({ name, colour, delays }) => {
        const count = delays.reduce((sum, { weight }) => sum + weight, 0);
        const high = count < ENOUGH ? undefined : quantile(delays, 0.99);
        return { what: `P99, queue ${name}`, value: time(high), colour, note: `${count} packets, ${span(history.remembered)}` };
    });

    const from = Math.max(0, history.now - TRACE);
    const recent = history.packets.filter((packet) => packet.time >= from);
    const longest = longestOf(sides);
    const top = topOf(longest);
    // More dots than pixels help nobody.
    const step = Math.max(1, Math.ceil(recent.length / 6_000));
    const dots = recent.flatMap((packet, place): Dot[] =>
        place % step !== 0 && !packet.dropped
            ? []
            : [
                  {
                      x: packet.time / 1e9,
                      y: packet.delay / 1e6,
                      colour: packet.dropped ? "--ink" : queueColour(history.queues[packet.queue]?.name ?? "", packet.queue, history.discipline),
                      strength: packet.dropped ? 0.9 : 0.55,
                      cross: packet.dropped,
                  },
              ],
    );
    const said = figures.map(({ what, value }) => `${what} ${value}`).join(", ") || "no packets yet";

    const steps = all.map(({ name, colour, delays }) => ({ name, colour, line: ccdf(delays) }));
    const xs = [...new Set(steps.flatMap(({ line: [xs] }) => xs.map((x) => x / 1e6)))].sort((one, other) => one - other);
    const lines = steps.map(({ line: [values, shares] }) => {
        let at = 0;
        return xs.map((x) => {
            while (at < values.length - 1 && (values[at] ?? 0) / 1e6 < x) at++;
            const value = (values[at] ?? 0) / 1e6;
            return value < x ? null : (shares[at] ?? null);
        });
    });
    return (
        <Panel id="delay" title={titleOf(history)} figures={figures}>
            <Chart
                name="Delay of packets in the last 10 s"
                text={said}
                x={{ label: "time, s", from: from / 1e9, to: Math.max(from + TRACE, history.now) / 1e9, written: (value) => value.toFixed(0) }}
                y={{ label: "delay, ms", from: 0, to: top }}
                lines={[]}
                data={[[]]}
                dots={dots}
            />
            <Chart
                name="Share of packets that wait longer, last 60 s"
                text={said}
                x={{ label: "delay, ms", log: true, from: 0.01, to: Math.max(1_000, 10 ** Math.ceil(Math.log10(longest))) }}
                y={{ label: "share that waits longer", log: true, from: 1e-4, to: 1, written: (value) => `${100 * value} %` }}
                lines={steps.map(({ name, colour }) => ({ name, colour, stepped: true }))}
                data={[xs, ...lines]}
            />
            <Legend of={[...names, ...(dots.some(({ cross }) => cross) ? [{ name: "dropped", colour: "--ink", sign: "✕" }] : [])]} />
        </Panel>
    );
}
