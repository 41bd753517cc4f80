// Who gets how much, and what the queues mark and drop.

import type { History, QueueRow } from "../../history.js";
import { shares, utilisation, type Shares } from "../../recent.js";
import { Chart } from "../chart.js";
import { Legend, Panel, type Figure, type Shown } from "../panel.js";
import { groupColour, queueColour, rate, share, span } from "../words.js";

/** Rates are means over so many ns, or over the last interval if that is longer. */
const WINDOW = 1e9;

/** Sums of each second of a queue: shares that are marked and dropped. */
function seconds(rows: QueueRow[]): { time: number; marked: number; dropped: number }[] {
    const list: { time: number; packets: number; marked: number; dropped: number }[] = [];
    for (const { time, packets, marked, dropped } of rows) {
        const second = Math.ceil(time / 1e9);
        const last = list.at(-1);
        if (last?.time === second) {
            last.packets += packets;
            last.marked += marked;
            last.dropped += dropped;
        } else list.push({ time: second, packets, marked, dropped });
    }
    return list.map(({ time, packets, marked, dropped }) => ({
        time,
        marked: packets > 0 ? marked / packets : 0,
        dropped: packets + dropped > 0 ? dropped / (packets + dropped) : 0,
    }));
}

/** Those who send in one direction: beside an equal share of the link where there is one, else their rates. */
function Bars({ what, of: { equal, groups } }: { what: string; of: Shares }) {
    const most = Math.max(1, ...groups.map(({ each }) => each));
    return (
        <table class="bars">
            <caption>{equal === undefined ? `Rate of each flow, ${what}` : `Rate of each flow, in percent of an equal share of the ${what} (${rate(equal)})`}</caption>
            <tbody>
                {groups.map(({ name, place, flows, each, share }) => (
                    <tr key={name}>
                        <th scope="row">{flows > 1 ? `${name} × ${flows}` : name}</th>
                        <td class="bar">
                            <span style={{ width: `${Math.min(share === undefined ? (100 * each) / most : 50 * share, 100)}%`, background: `var(${groupColour(name, place)})` }} />
                        </td>
                        <td>{share === undefined ? rate(each) : `${(100 * share).toFixed(0)} %`}</td>
                    </tr>
                ))}
            </tbody>
        </table>
    );
}

/** The largest share that any side marks or drops, in percent. */
function mostOf(all: History[]): number {
    const shares = all.flatMap(({ queues }) => queues.flatMap(({ rows }) => seconds(rows).flatMap(({ marked, dropped }) => [marked, dropped])));
    return shares.reduce((most, share) => Math.max(most, 100 * share), 1);
}

/** The panel. */
export function Fairness({ history, all }: Shown) {
    const window = history.window(WINDOW);
    const [down, up] = [shares(history, false, window), shares(history, true, window)];
    const used = utilisation(history, window) ?? NaN;
    const greedy = [...down.groups, ...up.groups].filter(({ place }) => history.groups[place]?.isGreedy);
    const figures: Figure[] = [
        { what: "Utilisation", value: share(used), note: `last ${span(window.length)}` },
        ...greedy.map(({ name, place, flows, each }) => ({ what: `${name}: each of ${flows}`, value: rate(each), colour: groupColour(name, place) })),
    ];
    const lines = history.queues.map(({ name, rows }, place) => ({ name, colour: queueColour(name, place, history.discipline), rows: seconds(rows) }));
    const seen = lines.filter(({ rows }) => rows.length > 0);
    const now = Math.ceil(history.now / 1e9);
    const times = Array.from({ length: 61 }, (_, place) => now - 60 + place).filter((time) => time > 0);
    const column = (rows: { time: number; marked: number; dropped: number }[], key: "marked" | "dropped"): (number | null)[] =>
        times.map((time) => {
            const found = rows.find((row) => row.time === time);
            return found ? 100 * found[key] : null;
        });
    const values = seen.flatMap(({ rows }) => [column(rows, "marked"), column(rows, "dropped")]);
    const most = mostOf(all);
    const top = [1, 2, 5, 10, 20, 50, 100].find((top) => top >= most) ?? 100;
    return (
        <Panel id="fairness" title={`Shares of ${history.linkName ?? "the link"}`} figures={figures}>
            {down.groups.length > 0 && <Bars what="downloads" of={down} />}
            {up.groups.length > 0 && <Bars what="uploads" of={up} />}
            <Chart
                name="Packets marked and dropped, last 60 s"
                text={seen.map(({ name, rows }) => `queue ${name}: ${share(rows.at(-1)?.marked ?? 0)} marked, ${share(rows.at(-1)?.dropped ?? 0)} dropped`).join("; ") || "nothing yet"}
                x={{ label: "time, s", from: Math.max(0, now - 60), to: Math.max(60, now), written: (value) => value.toFixed(0) }}
                y={{ label: "packets, %", from: 0, to: top }}
                lines={seen.flatMap(({ name, colour }) => [
                    { name: `${name} marked`, colour },
                    { name: `${name} dropped`, colour, dashed: true },
                ])}
                data={[times, ...values]}
                height={170}
            />
            <Legend
                of={seen.flatMap(({ name, colour }) => [
                    { name: `${name}: marked`, colour, sign: "━" },
                    { name: `${name}: dropped`, colour, sign: "┅" },
                ])}
            />
        </Panel>
    );
}
