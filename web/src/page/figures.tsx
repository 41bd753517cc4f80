// The figures of the last ten seconds as tables, as a terminal would print them.

import type { LinkHistory, Window } from "../history.js";
import { quantile } from "../history.js";
import { recent } from "../recent.js";
import { Heads, Panel, type Shown, type Side } from "./panel.js";
import { rate, share, span, time } from "./words.js";

const WINDOW = 10e9;

/** The figures of the queues of a direction of a link; of one without packets there are none. */
function ofQueues({ queues, packets: seen }: LinkHistory, { from, to }: Window) {
    const all = queues.map(({ name, rows }, place) => {
        const inside = rows.filter(({ time }) => time > from);
        const sum = (key: "packets" | "marked" | "dropped"): number => inside.reduce((sum, row) => sum + row[key], 0);
        const packets = sum("packets");
        const mean = inside.reduce((all, row) => all + (row.packets > 0 ? row.mean * row.packets : 0), 0) / packets;
        const delays = seen.filter((packet) => packet.queue === place && !packet.dropped && packet.time > from && packet.time <= to);
        const values = delays.map(({ delay, weight }) => ({ value: delay, weight }));
        const high = values.length < 100 ? undefined : quantile(values, 0.99);
        return { name, packets, marked: sum("marked"), dropped: sum("dropped"), mean, high };
    });
    return all;
}

/** The rows of the queues of a side. */
function Queues({ side: { history }, window }: { side: Side; window: Window }) {
    const several = history.links.length > 1;
    const all = [history.links, history.uplinks].flatMap((links, up) => links.flatMap((link) => ofQueues(link, window).map((queue) => ({ ...queue, link: link.name, isUp: up === 1 }))));
    // A direction without a limit has a queue that nobody waits in.
    const shown = all.filter(({ isUp, mean, dropped }) => !isUp || mean > 0 || dropped > 0);
    return (
        <>
            {shown.map(({ link, isUp, name, packets, marked, dropped, mean, high }) => (
                <tr key={`${link} ${isUp} ${name}`}>
                    <th scope="row">{[several ? link : "", name].filter(Boolean).join(": ")}</th>
                    <td>{isUp ? "up" : "down"}</td>
                    <td>{packets}</td>
                    <td>{share(packets > 0 ? marked / packets : NaN)}</td>
                    <td>{share(packets + dropped > 0 ? dropped / (packets + dropped) : NaN)}</td>
                    <td>{time(packets > 0 ? mean : undefined)}</td>
                    <td>{time(high)}</td>
                </tr>
            ))}
        </>
    );
}

/** A table with a part for each side. */
function Table({ sides, name, heads, rows }: { sides: Side[]; name: string; heads: string[]; rows: (side: Side) => preact.ComponentChildren }) {
    return (
        <div class="scroll" tabIndex={0} role="region" aria-label={`Figures of ${name}s`}>
            <table>
                <Heads names={[name, ...heads]} />
                {sides.map((side) => (
                    <tbody key={side.place}>
                        {sides.length > 1 && (
                            <tr>
                                <th colSpan={heads.length + 1} scope="rowgroup">
                                    {side.queue}
                                </th>
                            </tr>
                        )}
                        {rows(side)}
                    </tbody>
                ))}
            </table>
        </div>
    );
}

/** The panel. */
export function Figures({ sides }: Shown) {
    const windows = sides.map(({ history }) => history.window(WINDOW));
    const windowOf = (side: Side): Window => windows[sides.indexOf(side)] ?? { from: 0, to: 0, length: 0 };
    return (
        <Panel id="figures" title={`Figures of the last ${span(Math.min(...windows.map(({ length }) => length)))}`} isWide>
            <Table sides={sides} name="queue" heads={["direction", "packets", "marked", "dropped", "mean", "P99"]} rows={(side) => <Queues side={side} window={windowOf(side)} />} />
            <Table
                sides={sides}
                name="group"
                heads={["direction", "flows", "rate", "per flow", "mean RTT"]}
                rows={(side) =>
                    side.history.groups
                        .map(({ isUpload }, place) => ({ isUpload, ...recent(side.history, place, windowOf(side)) }))
                        .filter(({ flows, rate }) => flows > 0 || rate > 0)
                        .map(({ name, isUpload, flows, rate: all, each, rtt }) => (
                            <tr key={name}>
                                <th scope="row">{name}</th>
                                <td>{isUpload ? "up" : "down"}</td>
                                <td>{flows}</td>
                                <td>{rate(all)}</td>
                                <td>{rate(each)}</td>
                                <td>{time(rtt)}</td>
                            </tr>
                        ))
                }
            />
        </Panel>
    );
}
