// The picture of a queue: a packet stands as far from the exit as the time that it still has to wait.
//
// Nothing is modelled here: when a packet leaves is what the run told, which is simulated a little ahead of the picture.

import type { Rows } from "./engine.js";

/** What becomes of a packet. A packet that falls off the end was not let in; one that is dropped had waited. */
export type Fate = "passed" | "marked" | "refused" | "dropped";

/** A packet of the picture. Times are in ns. */
export interface Seen {
    arrive: number;
    /** When it leaves, or would leave if it had been let in. */
    leave: number;
    /** When it falls out of the picture, for one that is lost; else when it leaves. */
    gone: number;
    wait: number;
    lane: number;
    group: number;
    fate: Fate;
    /** When it was marked; NaN if it was not. One that came with a mark was marked before. */
    marked: number;
    /** The row of its lane. */
    row: number;
}

/** How long after its end a packet is still drawn, at most, and so remembered, in ns. */
const REMEMBERED = 500e6;

/** The packets of a run that are in the picture, or were lately. */
export class Reel {
    /** In the order in which they leave. */
    readonly packets: Seen[] = [];
    #rows: number[] = [];
    #last: number[] = [];

    /** `lane` gives the lane of a queue, by its place among those of a direction of a link; other packets are not shown. */
    constructor(
        readonly lane: (queue: number) => number,
        readonly link = 0,
        readonly isUp = false,
    ) {}

    /** Takes packets as the run tells them. */
    hear({ count, columns }: Rows): void {
        const column = (name: string): Float64Array => columns[name] ?? new Float64Array();
        const [time, delay, queue, group, fate, hop, reverse, marks] = ["time_ns", "delay_ns", "queue", "group", "fate", "hop", "is_reverse", "marked_ns"].map(column);
        for (let row = 0; row < count; row++) {
            if ((hop?.[row] ?? 0) !== this.link || (reverse?.[row] === 1) !== this.isUp) continue;
            const lane = this.lane(queue?.[row] ?? 0);
            const [leave, wait] = [time?.[row] ?? 0, delay?.[row] ?? 0];
            const isLost = fate?.[row] === 2;
            const isRefused = isLost && wait === 0;
            if (!isLost) this.#last[lane] = wait;
            const line = (this.#rows[lane] = (this.#rows[lane] ?? 0) + 1);
            this.packets.push({
                arrive: leave - wait,
                // What is not let in is drawn where it would have joined the end.
                leave: isRefused ? leave + (this.#last[lane] ?? 0) : leave,
                gone: leave,
                wait,
                lane,
                group: group?.[row] ?? -1,
                fate: isRefused ? "refused" : isLost ? "dropped" : fate?.[row] === 1 ? "marked" : "passed",
                marked: fate?.[row] === 1 ? (Number.isNaN(marks?.[row] ?? NaN) ? 0 : (marks?.[row] ?? 0)) : NaN,
                row: line,
            });
        }
    }

    /** Forgets what has been out of the picture for long at a time. */
    forget(at: number): void {
        let old = 0;
        while (old < this.packets.length && (this.packets[old] as Seen).gone < at - REMEMBERED) old++;
        if (old > 1_000 || old === this.packets.length) this.packets.splice(0, old);
    }

    /** The longest wait of any packet since a time, in ns. */
    longest(since: number): number {
        let most = 0;
        for (const { gone, wait } of this.packets) if (gone >= since && wait > most) most = wait;
        return most;
    }

    /** How long a lane is at a time: until the last one that waits then leaves, in ns. */
    length(lane: number, at: number): number {
        let most = 0;
        for (const packet of this.packets) {
            if (packet.lane === lane && packet.arrive <= at && packet.gone > at && packet.fate !== "refused") most = Math.max(most, packet.gone - at);
        }
        return most;
    }

    /** The first packet of a group that arrives after a time, if it is known already what becomes of it. */
    next(group: number, after: number): Seen | undefined {
        let first: Seen | undefined;
        for (const packet of this.packets) {
            if (packet.group === group && packet.arrive > after && (!first || packet.arrive < first.arrive)) first = packet;
        }
        return first;
    }
}

/** Where the parts of a picture are, in pixels. */
export interface Layout {
    width: number;
    height: number;
    /** The place of the exit. */
    exit: number;
    /** Pixels of a ms. */
    scale: number;
    /** The side of a square, and how many stand above each other. */
    square: number;
    rows: number;
    /** The top of each lane, and its height. */
    tops: number[];
    lane: number;
    isSmall: boolean;
}

/**
 * The layout of a picture of `lanes` lanes, whose axis reaches to `span` ms, for packets that take `packet` ms each on the link. In so many
 * rows a square is as wide as that many packets, so rows are chosen such that squares can be seen.
 */
export function layout(width: number, lanes: number, span: number, packet: number, hasAxis: boolean): Layout {
    const isSmall = width < 600;
    const exit = width - (isSmall ? 34 : 92);
    const scale = (exit - 4) / span;
    const many = Math.min(12, Math.max(2, Math.round((isSmall ? 7 : 12) / (packet * scale))));
    const square = Math.min(isSmall ? 9 : 14, Math.max(3, packet * scale * many));
    const sky = isSmall ? 22 : 34;
    const rows = lanes === 1 ? many : Math.ceil(many * 0.6);
    const lane = rows * square;
    const gap = isSmall ? 10 : 14;
    const tops = Array.from({ length: lanes }, (_, place) => sky + place * (lane + gap));
    return { width, height: (tops.at(-1) ?? sky) + lane + (hasAxis ? 40 : 14), exit, scale, square, rows, tops, lane, isSmall };
}

/** How long a packet falls in, and how long it fades, in ns of the run; `slow` times slower than real time. */
export const falls = (slow: number): number => 0.35e9 / slow;
export const fades = (slow: number): number => 0.5e9 / slow;

/** Where a packet is, and how strong it is drawn, from 0 to 1; nothing if it is not in the picture. */
export function place(packet: Seen, at: number, layout: Layout, slow: number, isStar = false): { x: number; y: number; strength: number; isLost: boolean } | undefined {
    const { exit, scale, square, rows, tops, lane } = layout;
    const [fall, fade] = [falls(slow), fades(slow)];
    const isLost = (packet.fate === "refused" || packet.fate === "dropped") && at >= packet.gone;
    if (at < packet.arrive - fall || at > packet.gone + (isLost ? 2.2 : 1) * fade) return undefined;
    const top = tops[packet.lane] ?? tops[0] ?? 0;
    let y = top + ((isStar ? (rows - 1) / 2 : packet.row % rows) + 0.5) * square;
    // It falls in at the speed at which all move.
    let x = exit - ((packet.leave - Math.min(at, packet.gone)) / 1e6) * scale;
    if (isLost) {
        const part = (at - packet.gone) / (2.2 * fade);
        return { x, y: y + part * (layout.height - y - 8), strength: 1 - 0.8 * part, isLost };
    }
    if (at < packet.arrive) {
        const part = (packet.arrive - at) / fall;
        y -= part * part * (y - 4);
        return { x, y, strength: 1 - 0.7 * part, isLost };
    }
    if (at > packet.gone) {
        const part = (at - packet.gone) / fade;
        const middle = ((tops[0] ?? 0) + (tops.at(-1) ?? 0) + lane) / 2;
        x = exit + part * (layout.width - exit);
        y += part * (middle - y);
        return { x, y, strength: 1 - part, isLost };
    }
    return { x, y, strength: 1, isLost };
}
