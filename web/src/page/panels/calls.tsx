// Calls and games: how a call sounds, and which of their packets come late.

import { quantile } from "../../history.js";
import { Chart, type Dot } from "../chart.js";
import { Legend, Panel, Strips, type Figure, type Shown, type Side } from "../panel.js";
import { groupColour, span, time } from "../words.js";

/** The applications of which this panel is. */
export const CALLS = ["voice", "game"];

/** Late packets are shown so long, in ns. */
const STRIP = 30e9;

/** In words what an R factor means to those who call (G.107, annex B). */
export function sounds(r: number): string {
    if (r >= 90) return "very satisfied";
    if (r >= 80) return "satisfied";
    if (r >= 70) return "some dissatisfied";
    if (r >= 60) return "many dissatisfied";
    return "nearly all dissatisfied";
}

/** Those who call or play behind a queue. */
const parties = ({ history }: Side) =>
    history.groups
        .map((group, place) => ({ name: group.name, kind: group.kind, place, colour: groupColour(group), packets: history.packets.filter(({ group }) => group === place) }))
        .filter(({ kind }) => CALLS.includes(kind));

function figures(side: Side): Figure[] {
    const { history } = side;
    const windows = history.events.filter(({ kind }) => kind === "interval");
    return parties(side).flatMap(({ name, place, colour, packets }): Figure[] => {
        const heard = windows.filter(({ group }) => group === place).at(-1);
        const delays = packets.filter(({ dropped }) => !dropped).map(({ delay, weight }) => ({ value: delay, weight }));
        const list: Figure[] = [];
        if (heard) list.push({ what: `${name}: R`, value: (heard.value / 100).toFixed(1), colour, note: `${sounds(heard.value / 100)}, ${span(heard.ended - heard.started)} until ${span(heard.ended)}` });
        // Where single packets are not told, nobody knows those of a call from others.
        if (history.seesPackets) list.push({ what: `${name}: queue P99`, value: time(delays.length < 100 ? undefined : quantile(delays, 0.99)), colour, note: span(history.remembered) });
        return list;
    });
}

/** The panel. */
export function Calls({ sides }: Shown) {
    return (
        <Panel id="calls" title="Call and game">
            <Strips sides={sides} figures={figures}>
                {(side) => {
                    const { history } = side;
                    const from = Math.max(0, history.now - STRIP);
                    const dots = parties(side).flatMap(({ colour, packets }) =>
                        packets
                            .filter(({ time }) => time >= from)
                            .map(({ time, delay, dropped }): Dot => ({ x: time / 1e9, y: Math.max(delay / 1e6, 0.01), colour: dropped ? "--ink" : colour, strength: 0.8, cross: dropped })),
                    );
                    return (
                        <>
                            {history.seesPackets && (
                                <Chart
                                    name="What packets of calls and games wait in the queue, last 30 s"
                                    text={figures(side).map(({ what, value }) => `${what} ${value}`).join(", ") || "no packets yet"}
                                    x={{ label: "time, s", from: from / 1e9, to: Math.max(from + STRIP, history.now) / 1e9, written: (value) => value.toFixed(0) }}
                                    y={{ label: "delay, ms", log: true, from: 0.01, to: 1_000 }}
                                    lines={[]}
                                    data={[[]]}
                                    dots={dots}
                                    height={160}
                                />
                            )}
                            <Legend of={parties(side)} />
                        </>
                    );
                }}
            </Strips>
        </Panel>
    );
}
