// The frame of a panel: a title, figures in large type, and what is drawn.

import type { ComponentChildren } from "preact";
import type { History } from "../history.js";

/** What every panel is given. */
export interface Shown {
    history: History;
    /** Those of all sides: their axes are alike, so that lengths can be compared. */
    all: History[];
    /** The base RTT of those who fetch web items, in ms. */
    rtt: number;
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
    children?: ComponentChildren;
}

/** A panel. */
export function Panel({ id, title, figures = [], children }: Props) {
    return (
        <section class="panel" id={id} aria-labelledby={`${id}-title`}>
            <h2 id={`${id}-title`}>{title}</h2>
            {figures.length > 0 && (
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
            )}
            {children}
        </section>
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

