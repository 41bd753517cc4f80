// The frame of a panel: a question, what answers it for each queue, figures in large type, and what is drawn.

import type { ComponentChildren } from "preact";
import type { History } from "../history.js";

/** One of the queues that are shown, and its run. */
export interface Side {
    /** As its heading has it. */
    queue: string;
    place: number;
    /** The colour of its family. */
    colour: string;
    history: History;
    /** The base RTT of those who fetch web items, in ms. */
    rtt: number;
}

/** What every panel is given. */
export interface Shown {
    /** Every panel shows all, so that their axes are alike and lengths can be compared. */
    sides: Side[];
    /** Whether the groups are those of the two users of a bench. */
    isBench: boolean;
    /** Nothing moves by itself. */
    calm: boolean;
}

/** A number in large type. */
export interface Figure {
    what: string;
    value: string;
    colour?: string;
    note?: string;
}

interface Props {
    id: string;
    title: string;
    figures?: Figure[];
    /** It takes the width of two. */
    isWide?: boolean;
    children?: ComponentChildren;
}

const Large = ({ figures }: { figures: Figure[] }) => (
    <dl class="figures">
        {figures.map(({ what, value, colour, note }) => (
            <div key={what} style={colour ? { borderColor: `var(${colour})` } : {}}>
                <dt>{what}</dt>
                <dd>
                    {value}
                    {note && <small> {note}</small>}
                </dd>
            </div>
        ))}
    </dl>
);

/** A panel. */
export function Panel({ id, title, figures = [], isWide = false, children }: Props) {
    return (
        <section class={isWide ? "panel wide" : "panel"} id={id} aria-labelledby={`${id}-title`}>
            <h2 id={`${id}-title`}>{title}</h2>
            {figures.length > 0 && <Large figures={figures} />}
            {children}
        </section>
    );
}

/** What a panel shows of each queue, one below the other, with their names where there are several. */
export function Strips({ sides, figures, children }: { sides: Side[]; figures?: (side: Side) => Figure[]; children: (side: Side) => ComponentChildren }) {
    return (
        <div class="strips">
            {sides.map((side) => (
                <div key={`${side.place} ${side.queue}`} class="strip" data-queue={side.queue}>
                    {sides.length > 1 && <Name side={side} />}
                    {figures && <Large figures={figures(side)} />}
                    {children(side)}
                </div>
            ))}
        </div>
    );
}

/** The name of a queue, with its colour. */
export function Name({ side: { queue, colour } }: { side: Side }) {
    return (
        <h3 class="queue-name">
            <i class="key" style={{ background: `var(${colour})` }} /> {queue}
        </h3>
    );
}

/** The heads of the columns of a table. */
export function Heads({ names }: { names: readonly string[] }) {
    return (
        <thead>
            <tr>
                {names.map((name) => (
                    <th key={name} scope="col">
                        {name}
                    </th>
                ))}
            </tr>
        </thead>
    );
}

/** What colours and signs stand for. */
export function Legend({ of }: { of: { name: string; colour: string; sign?: string }[] }) {
    return (
        <ul class="legend" aria-hidden="true">
            {of.map(({ name, colour, sign = "■" }) => (
                <li key={name}>
                    <span style={{ color: `var(${colour})` }}>{sign}</span> {name}
                </li>
            ))}
        </ul>
    );
}
