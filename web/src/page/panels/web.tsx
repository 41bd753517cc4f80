// Items of the web: size and time of each, beside what an idle link would need.

import { useState } from "preact/hooks";
import { quantile, type Event, type History } from "../../history.js";
import { idleTime } from "../../idle.js";
import { Chart, type Dot } from "../chart.js";
import { Legend, Panel, type Figure, type Shown } from "../panel.js";
import { USER_NAMES, groupColour, size, time, userOf } from "../words.js";

/** Items of one window of ten packets: they need no second round. */
const SMALL = 14_480;
/** A percentile needs so many items. */
const ENOUGH = 100;
/** Items in the list of the slowest. */
const LISTED = 5;

const isItem = ({ kind }: Event): boolean => kind === "item" || kind === "object";

/** Time of an item in ns; without the handshake if wished, which an item's value has. */
function taken(event: Event, handshake: boolean): number {
    return event.lastByte - event.started - (handshake || event.kind !== "item" ? 0 : event.value);
}

/** Groups whose items are shown together: those of a user of the bench, or each alone. */
function owners(history: History, isBench: boolean): { name: string; colour: string; groups: number[] }[] {
    const list: { name: string; colour: string; groups: number[] }[] = [];
    history.groups.forEach(({ name }, place) => {
        const user = isBench ? userOf(name) : undefined;
        const label = user ? USER_NAMES[user] : name;
        const known = list.find(({ name }) => name === label);
        if (known) known.groups.push(place);
        else list.push({ name: label, colour: groupColour(name, place), groups: [place] });
    });
    return list;
}

/** The panel. */
export function Web({ history, rtt, isBench, onCause }: Shown & { onCause: (event: Event) => void }) {
    const [handshake, setHandshake] = useState(true);
    const items = history.events.filter((event) => isItem(event) && event.outcome === "complete");
    const groups = owners(history, isBench).map((owner) => ({ ...owner, items: items.filter(({ group }) => owner.groups.includes(group)) }));
    const shown = groups.filter(({ items }) => items.length > 0);
    const figures = shown.flatMap(({ name, colour, items }): Figure[] => {
        const small = items.filter(({ size }) => size <= SMALL).map((event) => ({ value: taken(event, handshake), weight: 1 }));
        const slow = items.filter((event) => taken(event, handshake) > 1e9).length;
        const high = small.length < ENOUGH ? undefined : quantile(small, 0.99);
        return [
            { what: `${name}: P99 up to ${size(SMALL)}`, value: time(high), colour, note: small.length < ENOUGH ? `${small.length} of ${ENOUGH} items` : `${small.length} items` },
            { what: `${name}: above 1 s`, value: slow === 0 ? "none" : `1 in ${Math.round(items.length / slow)}`, colour, note: `of ${items.length}` },
        ];
    });
    const dots = shown.flatMap(({ colour, items }) =>
        items.map((event): Dot => ({
            x: event.size,
            y: taken(event, handshake) / 1e6,
            colour,
            strength: Math.max(0.15, 1 - (history.now - event.ended) / 60e9),
        })),
    );
    const sizes = Array.from({ length: 61 }, (_, step) => 1e3 * 10 ** (step / 20));
    // Without a rate that is known there is no such line.
    const rate = history.rate("forward");
    const idle = sizes.map((bytes) => (rate === undefined ? null : idleTime(bytes, rate, rtt) - (handshake ? 0 : rtt)));
    const slowest = [...items].sort((one, other) => taken(other, handshake) - taken(one, handshake)).slice(0, LISTED);
    const pick = (x: number, y: number): void => {
        const distance = (event: Event): number =>
            Math.hypot(Math.log10(event.size / x), Math.log10(taken(event, handshake) / 1e6 / y));
        const [nearest] = [...items].sort((one, other) => distance(one) - distance(other));
        if (nearest && distance(nearest) < 0.3) onCause(nearest);
    };
    return (
        <Panel id="web" title="Web items" figures={figures}>
            <Chart
                name="Time of each web item by its size, last 60 s"
                text={figures.map(({ what, value }) => `${what} ${value}`).join(", ") || "no items yet"}
                x={{ label: "size", log: true, from: 1e3, to: 1e6, written: size }}
                y={{ label: "time, ms", log: true, from: 10, to: 1e4 }}
                lines={[{ name: "idle link", colour: "--ink", dashed: true }]}
                data={[sizes, idle]}
                dots={dots}
                marks={[
                    { y: 200, word: "0.2 s" },
                    { y: 1_000, word: "1 s" },
                ]}
                height={260}
                onPick={pick}
            />
            <Legend of={[...shown, ...(rate === undefined ? [] : [{ name: "idle link", colour: "--ink", sign: "┅" }])]} />
            <label class="switch">
                <input type="checkbox" checked={handshake} onChange={(event) => setHandshake(event.currentTarget.checked)} /> count the handshake
            </label>
            {slowest.length > 0 && (
                <div class="slowest">
                    <h3>Slowest items: why?</h3>
                    <ul>
                        {slowest.map((event) => (
                            <li key={`${event.flow}-${event.number}`}>
                                <button type="button" onClick={() => onCause(event)}>
                                    {time(taken(event, handshake))} for {size(event.size)}, {history.groups[event.group]?.name}
                                </button>
                            </li>
                        ))}
                    </ul>
                </div>
            )}
        </Panel>
    );
}
