// The figures of the last ten seconds as a table, as a terminal would print them.

import { Fragment } from "preact";
import { quantile } from "../history.js";
import { recent } from "../recent.js";
import { Panel, type Shown } from "./panel.js";
import { rate, share, span, time } from "./words.js";

const WINDOW = 10e9;

/** The panel. */
export function Figures({ history }: Shown) {
    const window = history.window(WINDOW);
    const { from, to } = window;
    const all = history.links.flatMap(({ name: link, queues, packets }) => queues.map(({ name, rows }, place) => ({ link, name, rows, place, seen: packets })));
    const queues = all.map(({ link, name, rows, place, seen }) => {
        const inside = rows.filter(({ time }) => time > from);
        const sum = (key: "packets" | "marked" | "dropped"): number => inside.reduce((sum, row) => sum + row[key], 0);
        const packets = sum("packets");
        const mean = inside.reduce((all, row) => all + (row.packets > 0 ? row.mean * row.packets : 0), 0) / packets;
        const delays = seen.filter((packet) => packet.queue === place && !packet.dropped && packet.time > from && packet.time <= to);
        const values = delays.map(({ delay, weight }) => ({ value: delay, weight }));
        const high = values.length < 100 ? undefined : quantile(values, 0.99);
        return { link, isFirst: place === 0, name, packets, marked: sum("marked"), dropped: sum("dropped"), mean, high };
    });
    const groups = history.groups.map((_, place) => recent(history, place, window));
    return (
        <Panel id="figures" title={`Figures of the last ${span(window.length)}`}>
            <div class="scroll" tabIndex={0} role="region" aria-label="Figures of queues and groups">
                <table>
                    <thead>
                        <tr>
                            {["queue", "packets", "marked", "dropped", "mean", "P99"].map((name) => (
                                <th key={name} scope="col">
                                    {name}
                                </th>
                            ))}
                        </tr>
                    </thead>
                    <tbody>
                        {queues.map(({ link, isFirst, name, packets, marked, dropped, mean, high }) => (
                            <Fragment key={`${link} ${name}`}>
                                {isFirst && history.links.length > 1 && (
                                    <tr>
                                        <th colSpan={6} scope="rowgroup">
                                            {link}
                                        </th>
                                    </tr>
                                )}
                                <tr>
                                    <th scope="row">{name}</th>
                                    <td>{packets}</td>
                                    <td>{share(packets > 0 ? marked / packets : NaN)}</td>
                                    <td>{share(packets + dropped > 0 ? dropped / (packets + dropped) : NaN)}</td>
                                    <td>{time(packets > 0 ? mean : undefined)}</td>
                                    <td>{time(high)}</td>
                                </tr>
                            </Fragment>
                        ))}
                    </tbody>
                    <thead>
                        <tr>
                            {["group", "flows", "rate", "per flow", "mean RTT", ""].map((name) => (name === "" ? <td key={name} /> : <th key={name} scope="col">{name}</th>))}
                        </tr>
                    </thead>
                    <tbody>
                        {groups
                            .filter(({ flows, rate }) => flows > 0 || rate > 0)
                            .map(({ name, flows, rate: all, each, rtt }) => (
                                <tr key={name}>
                                    <th scope="row">{name}</th>
                                    <td>{flows}</td>
                                    <td>{rate(all)}</td>
                                    <td>{rate(each)}</td>
                                    <td>{time(rtt)}</td>
                                    <td />
                                </tr>
                            ))}
                    </tbody>
                </table>
            </div>
        </Panel>
    );
}
