// Items of the web: size and time of each, beside what an idle link would need.

import { useState } from "preact/hooks";
import { quantile, type Event, type History } from "../../history.js";
import { idleTime } from "../../idle.js";
import { Chart, type Dot } from "../chart.js";
import { Heads, Legend, Panel, Strips, type Figure, type Shown, type Side } from "../panel.js";
import { USER_NAMES, groupColour, size, time, userOf } from "../words.js";

/** Items of one window of ten packets: they need no second round. */
const SMALL = 14_480;
/** A percentile needs so many items. */
const ENOUGH = 100;
/** Items in the list of the slowest. */
const LISTED = 8;

const isItem = ({ kind }: Event): boolean => kind === "item" || kind === "object";

/** Time of an item in ns; without the handshake if wished, which an item's value has. */
function taken(event: Event, handshake: boolean): number {
    return event.lastByte - event.started - (handshake || event.kind !== "item" ? 0 : event.value);
}

/** Groups whose items are shown together: those of a user of the bench, or each alone. */
function owners(history: History, isBench: boolean): { name: string; colour: string; groups: number[] }[] {
    const list: { name: string; colour: string; groups: number[] }[] = [];
    history.groups.forEach((group, place) => {
        const { name } = group;
        const user = isBench ? userOf(name) : undefined;
        const label = user ? USER_NAMES[user] : name;
        const known = list.find(({ name }) => name === label);
        if (known) known.groups.push(place);
        else list.push({ name: label, colour: groupColour(group), groups: [place] });
    });
    return list;
}

const complete = (history: History): Event[] => history.events.filter((event) => isItem(event) && event.outcome === "complete");

function figures({ name, colour, items }: { name: string; colour: string; items: Event[] }, handshake: boolean): Figure[] {
    const small = items.filter(({ size }) => size <= SMALL).map((event) => ({ value: taken(event, handshake), weight: 1 }));
    const slow = items.filter((event) => taken(event, handshake) > 1e9).length;
    const high = small.length < ENOUGH ? undefined : quantile(small, 0.99);
    return [
        high === undefined
            ? { what: `${name}: up to ${size(SMALL)}`, value: `${small.length} of ${ENOUGH}`, colour, note: "items for a P99, so far" }
            : { what: `${name}: P99 up to ${size(SMALL)}`, value: time(high), colour, note: `${small.length} items` },
        { what: `${name}: above 1 s`, value: slow === 0 ? "none" : `1 in ${Math.round(items.length / slow)}`, colour, note: `of ${items.length}` },
    ];
}

/** Tells why an item of a side was slow. */
export type Why = (event: Event | undefined, side: number) => void;

/** The panel of sizes and times. */
export function Web({ sides, isBench, onCause }: Shown & { onCause: Why }) {
    const [handshake, setHandshake] = useState(true);
    const shown = ({ history }: Side) => {
        const items = complete(history);
        return owners(history, isBench).map((owner) => ({ ...owner, items: items.filter(({ group }) => owner.groups.includes(group)) })).filter(({ items }) => items.length > 0);
    };
    const of = (side: Side): Figure[] => shown(side).flatMap((owner) => figures(owner, handshake));
    const sizes = Array.from({ length: 61 }, (_, step) => 1e3 * 10 ** (step / 20));
    return (
        <Panel id="web" title="How long web items take" isWide={sides.length > 1}>
            <Strips sides={sides} figures={of}>
                {(side) => {
                    const { history, rtt, place } = side;
                    const dots = shown(side).flatMap(({ colour, items }) =>
                        items.map((event): Dot => ({ x: event.size, y: taken(event, handshake) / 1e6, colour, strength: Math.max(0.15, 1 - (history.now - event.ended) / 60e9) })),
                    );
                    // Without a rate that is known there is no such line.
                    const rate = history.rate("forward");
                    const idle = sizes.map((bytes) => (rate === undefined ? null : idleTime(bytes, rate, rtt) - (handshake ? 0 : rtt)));
                    const pick = (x: number, y: number): void => {
                        const distance = (event: Event): number => Math.hypot(Math.log10(event.size / x), Math.log10(taken(event, handshake) / 1e6 / y));
                        const [nearest] = complete(history).sort((one, other) => distance(one) - distance(other));
                        if (nearest && distance(nearest) < 0.3) onCause(nearest, place);
                    };
                    return (
                        <>
                            <Chart
                                name="Time of each web item by its size, last 60 s"
                                text={of(side).map(({ what, value }) => `${what} ${value}`).join(", ") || "no items yet"}
                                x={{ label: "size", log: true, from: 1e3, to: 1e6, written: size }}
                                y={{ label: "time, ms", log: true, from: 10, to: 1e4 }}
                                lines={[{ name: "idle link", colour: "--ink", dash: [6, 5] }]}
                                data={[sizes, idle]}
                                dots={dots}
                                marks={[
                                    { y: 200, word: "0.2 s" },
                                    { y: 1_000, word: "1 s" },
                                ]}
                                height={sides.length > 1 ? 200 : 260}
                                onPick={pick}
                            />
                            <Legend of={[...shown(side), ...(rate === undefined ? [] : [{ name: "idle link", colour: "--ink", sign: "┅" }])]} />
                        </>
                    );
                }}
            </Strips>
            <label class="switch">
                <input type="checkbox" checked={handshake} onChange={(event) => setHandshake(event.currentTarget.checked)} /> count the handshake
            </label>
        </Panel>
    );
}

/** The panel of the slowest items of all. */
export function Slowest({ sides, onCause }: Shown & { onCause: Why }) {
    const all = sides.flatMap((side) => complete(side.history).map((event) => ({ event, side })));
    const slowest = all.sort((one, other) => taken(other.event, true) - taken(one.event, true)).slice(0, LISTED);
    if (slowest.length === 0) return null;
    return (
        <Panel id="slowest" title="Which items were slowest, and why">
            <div class="scroll" tabIndex={0} role="region" aria-label="The slowest items">
                <table>
                    <Heads names={["time", "size", "for", ...(sides.length > 1 ? ["queue"] : []), "why"]} />
                    <tbody>
                        {slowest.map(({ event, side }) => (
                            <tr key={`${side.place} ${event.group} ${event.flow} ${event.number}`}>
                                <th scope="row">{time(taken(event, true))}</th>
                                <td>{size(event.size)}</td>
                                <td>{side.history.groups[event.group]?.name}</td>
                                {sides.length > 1 && <td>{side.queue}</td>}
                                <td>
                                    <button type="button" onClick={() => onCause(event, side.place)}>
                                        Why?
                                    </button>
                                </td>
                            </tr>
                        ))}
                    </tbody>
                </table>
            </div>
        </Panel>
    );
}
