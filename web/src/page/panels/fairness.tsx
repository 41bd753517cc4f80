// Who gets how much, and what the queues mark and drop.

import type { QueueRow } from "../../history.js";
import { shares, utilisation, type Shares } from "../../recent.js";
import { Chart } from "../chart.js";
import { Legend, Panel, Strips, type Figure, type Shown, type Side } from "../panel.js";
import { groupColour, queueColour, rate, share, span } from "../words.js";
import { where } from "./delay.js";

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

function colourOf({ history }: Side, place: number): string {
    const group = history.groups[place];
    return group ? groupColour(group) : "--ink";
}

/** Those who send in one direction behind each queue: beside an equal share of the link where there is one, else their rates. */
function Bars({ what, of }: { what: string; of: { side: Side; shares: Shares }[] }) {
    const most = Math.max(1, ...of.flatMap(({ shares }) => shares.groups.map(({ each }) => each)));
    const equal = of[0]?.shares.equal;
    return (
        <table class="bars">
            <caption>{equal === undefined ? `Rate of each flow, ${what}` : `Rate of each flow, in percent of an equal share of the ${what} (${rate(equal)})`}</caption>
            {of.map(({ side, shares: { groups } }) => (
                <tbody key={side.place}>
                    {of.length > 1 && (
                        <tr>
                            <th colSpan={3} scope="rowgroup">
                                {side.queue}
                            </th>
                        </tr>
                    )}
                    {groups.map(({ name, place, flows, each, share }) => (
                        <tr key={name}>
                            <th scope="row">{flows > 1 ? `${name} × ${flows}` : name}</th>
                            <td class="bar">
                                <span style={{ width: `${Math.min(share === undefined ? (100 * each) / most : 50 * share, 100)}%`, background: `var(${colourOf(side, place)})` }} />
                            </td>
                            <td>{share === undefined ? rate(each) : `${(100 * share).toFixed(0)} %`}</td>
                        </tr>
                    ))}
                </tbody>
            ))}
        </table>
    );
}

/** The panel of shares. */
export function Fairness({ sides }: Shown) {
    const of = sides.map((side) => {
        const window = side.history.window(WINDOW);
        return { side, window, down: shares(side.history, false, window), up: shares(side.history, true, window) };
    });
    const figures: Figure[] = of.flatMap(({ side, window, down, up }): Figure[] => {
        const { history, queue, colour } = side;
        const used = { value: share(utilisation(history, window) ?? NaN), note: `last ${span(window.length)}` };
        // The bars have the rates of two queues; of one they are large.
        if (sides.length > 1) return [{ what: `Utilisation, ${queue}`, colour, ...used }];
        const greedy = [...down.groups, ...up.groups].filter(({ place }) => history.groups[place]?.isGreedy);
        return [{ what: "Utilisation", ...used }, ...greedy.map(({ name, place, flows, each }) => ({ what: `${name}: each of ${flows}`, value: rate(each), colour: colourOf(side, place) }))];
    });
    const some = (key: "down" | "up") => of.filter((one) => one[key].groups.length > 0).map((one) => ({ side: one.side, shares: one[key] }));
    return (
        <Panel id="fairness" title={`Who gets how much of ${sides[0]?.history.linkName ?? "the link"}`} figures={figures}>
            {some("down").length > 0 && <Bars what="downloads" of={some("down")} />}
            {some("up").length > 0 && <Bars what="uploads" of={some("up")} />}
        </Panel>
    );
}

/** The panel of marks and drops. */
export function Signals({ sides }: Shown) {
    const of = ({ history }: Side) =>
        history.queues.map(({ name, rows }, place) => ({ name, colour: queueColour(name, place, history.discipline), rows: seconds(rows) })).filter(({ rows }) => rows.length > 0);
    const all = sides.flatMap((side) => of(side).flatMap(({ rows }) => rows.flatMap(({ marked, dropped }) => [100 * marked, 100 * dropped])));
    const most = all.reduce((most, share) => Math.max(most, share), 1);
    const top = [1, 2, 5, 10, 20, 50, 100].find((top) => top >= most) ?? 100;
    return (
        <Panel id="signals" title={`What is marked and dropped${sides[0] ? where(sides[0].history) : ""}`}>
            <Strips sides={sides}>
                {(side) => {
                    const seen = of(side);
                    const now = Math.ceil(side.history.now / 1e9);
                    const times = Array.from({ length: 61 }, (_, place) => now - 60 + place).filter((time) => time > 0);
                    const column = (rows: { time: number; marked: number; dropped: number }[], key: "marked" | "dropped"): (number | null)[] => {
                        const at = new Map(rows.map((row) => [row.time, row]));
                        return times.map((time) => (at.has(time) ? 100 * (at.get(time)?.[key] ?? 0) : null));
                    };
                    return (
                        <>
                            <Chart
                                name="Packets marked and dropped, last 60 s"
                                text={seen.map(({ name, rows }) => `queue ${name}: ${share(rows.at(-1)?.marked ?? 0)} marked, ${share(rows.at(-1)?.dropped ?? 0)} dropped`).join("; ") || "nothing yet"}
                                x={{ label: "time, s", from: Math.max(0, now - 60), to: Math.max(60, now), written: (value) => value.toFixed(0) }}
                                y={{ label: "packets, %", from: 0, to: top }}
                                lines={seen.flatMap(({ name, colour }) => [
                                    { name: `${name} marked`, colour },
                                    { name: `${name} dropped`, colour, dash: [6, 5] },
                                ])}
                                data={[times, ...seen.flatMap(({ rows }) => [column(rows, "marked"), column(rows, "dropped")])]}
                                height={sides.length > 1 ? 130 : 170}
                            />
                            <Legend
                                of={seen.flatMap(({ name, colour }) => [
                                    { name: `${name}: marked`, colour, sign: "━" },
                                    { name: `${name}: dropped`, colour, sign: "┅" },
                                ])}
                            />
                        </>
                    );
                }}
            </Strips>
        </Panel>
    );
}
