// What a page remembers of a run: rows of the last minute, and what is drawn of them.

import type { About, TimedRate } from "./engine.js";
import type { News } from "./session.js";

/** How much is remembered, in ns. */
export const MEMORY = 60e9;
/** The most packets of a link, and events of a run, that are remembered: more packets are thinned, the oldest events forgotten. */
const MOST = { packets: 60_000, events: 50_000 } as const;

/** One interval of a queue. */
export interface QueueRow {
    time: number;
    length: number;
    packets: number;
    bytes: number;
    marked: number;
    dropped: number;
    mean: number;
    max: number;
    backlog: number;
}

/** One interval of a group: the sum of its flows. */
export interface GroupRow {
    time: number;
    /** Bytes of payload. */
    delivered: number;
    length: number;
    flows: number;
    window: number;
    /** Sum of the smoothed RTTs of those flows that have one, and how many these are. */
    rtt: number;
    rtts: number;
    retransmitted: number;
}

/** A packet, or several that one stands for. */
export interface Packet {
    time: number;
    delay: number;
    queue: number;
    group: number;
    dropped: boolean;
    marked: boolean;
    weight: number;
}

/** An item, object, frame, segment or window of a call. */
export interface Event {
    kind: string;
    group: number;
    flow: number;
    number: number;
    started: number;
    firstByte: number;
    lastByte: number;
    ended: number;
    size: number;
    outcome: string;
    value: number;
    causes: Record<string, number>;
}

/** The columns of causes. */
const CAUSES = ["syn_retries", "syn_ack_retries", "timeouts", "probes", "recoveries", "retransmitted", "timeouts_up", "retransmitted_up"] as const;

/** Takes what is older than `from` out of a list that is in order of time. */
function forget<T>(list: T[], time: (row: T) => number, from: number): void {
    let old = 0;
    while (old < list.length && time(list[old] as T) < from) old++;
    // Seldom, and many at once: a shift for each would cost more.
    if (old > 64 || old === list.length) list.splice(0, old);
}

/** Every second packet of each queue, those that were dropped by themselves: each stands for two. */
function thinned(packets: Packet[]): Packet[] {
    const counts = new Map<number, number>();
    return packets.filter((packet) => {
        const kind = 2 * packet.queue + Number(packet.dropped);
        const count = (counts.get(kind) ?? 0) + 1;
        counts.set(kind, count);
        if (count % 2 === 0) packet.weight *= 2;
        return count % 2 === 0;
    });
}

/** A direction of a link. */
export interface LinkHistory {
    readonly name: string;
    /** The kind of its queue. */
    readonly discipline: string;
    readonly queues: { readonly name: string; readonly rows: QueueRow[] }[];
    readonly packets: Packet[];
}

/** A group: what its flows do, and its rows. */
export interface GroupHistory {
    readonly name: string;
    /** The kind of its application. */
    readonly kind: string;
    /** Whether that takes all that it can get. */
    readonly isGreedy: boolean;
    /** Whether its data goes up. */
    readonly isUpload: boolean;
    /** Whether its packets say that they are L4S. */
    readonly isL4s: boolean;
    /** Its base RTT. */
    readonly rtt: number;
    readonly rows: GroupRow[];
}

/** Rows that were measured last: those that end after `from` and until `to`. Together they are so long. */
export interface Window {
    from: number;
    to: number;
    length: number;
}

/** The last minute of a run. */
export class History {
    now = 0;
    /** Forward, and in the reverse direction. */
    readonly links: LinkHistory[];
    readonly uplinks: LinkHistory[];
    readonly groups: GroupHistory[];
    readonly events: Event[] = [];
    /** The link that is looked at, by its place, and whether that is its reverse direction. */
    link = 0;
    isUp = false;
    /** Whether single packets are told at all. */
    seesPackets = false;

    /** `about` is replaced when the run changes. */
    constructor(public about: About) {
        const link = (name: string, discipline: string, queues: string[]): LinkHistory => ({ name, discipline, queues: queues.map((name) => ({ name, rows: [] })), packets: [] });
        this.links = about.links.map(({ name, queue, queues }) => link(name, queue, queues));
        this.uplinks = about.links.map(({ name, reverse_queue, reverse_queues }) => link(name, reverse_queue, reverse_queues));
        this.groups = about.groups.map((name, place) => ({
            name,
            kind: about.kinds[place] ?? "",
            isGreedy: about.greedy[place] ?? false,
            isUpload: about.uploads[place] ?? false,
            isL4s: about.l4s[place] ?? false,
            rtt: about.rtts_ns[place] ?? 0,
            rows: [],
        }));
    }

    /** All links in the direction that is looked at. */
    get inDirection(): LinkHistory[] {
        return this.isUp ? this.uplinks : this.links;
    }

    /** What is looked at. */
    get shown(): LinkHistory | undefined {
        return this.inDirection[this.link];
    }

    /** Its queues. */
    get queues(): LinkHistory["queues"] {
        return this.shown?.queues ?? [];
    }

    /** Its discipline. */
    get discipline(): string {
        return this.shown?.discipline ?? "";
    }

    /** How much of the run is remembered, in ns. */
    get remembered(): number {
        return Math.min(this.now, MEMORY);
    }

    /** Its name, where there are several. */
    get linkName(): string | undefined {
        return this.links.length > 1 ? this.links[this.link]?.name : undefined;
    }

    /** Its packets. */
    get packets(): Packet[] {
        return this.shown?.packets ?? [];
    }

    /** Whether the group at a place crosses it. */
    crosses(group: number): boolean {
        const [first, last] = this.about.paths[group] ?? [0, 0];
        return first <= this.link && this.link <= last;
    }

    /** The rate of a link, of the one that is looked at if none is given, as it is now, in bit/s; undefined if it has no limit or moves. */
    rate(direction: "forward" | "reverse", link = this.link): number | undefined {
        const rates = this.about.links[link]?.rates[direction === "forward" ? 0 : 1] ?? [];
        return rates.reduce<TimedRate>((last, one) => (one[0] <= this.now ? one : last), [0, null])[1] ?? undefined;
    }

    /**
     * The rows of the last `span` ns that were measured: whole intervals, and one at least, however long it is. A run that has ended or stands
     * still keeps them.
     */
    window(span: number): Window {
        const queues = [...this.links, ...this.uplinks].flatMap(({ queues }) => queues.map(({ rows }) => rows));
        const all: { time: number }[][] = [...queues, ...this.groups.map(({ rows }) => rows)];
        const to = Math.max(0, ...all.map((rows) => rows.at(-1)?.time ?? 0));
        const from = to - span;
        const began = queues.map((rows) => rows.find(({ time }) => time > from)).map((row) => (row ? row.time - row.length : to));
        return { from, to, length: to - Math.min(to, ...began) };
    }

    /** Takes what is new. */
    hear(news: News, now: number): void {
        this.now = now;
        this.#queues(news);
        this.#flows(news);
        this.#packets(news);
        this.#events(news);
        const from = now - MEMORY;
        const links = [...this.links, ...this.uplinks];
        for (const { rows } of [...links.flatMap(({ queues }) => queues), ...this.groups]) forget<{ time: number }>(rows, (row) => row.time, from);
        for (const { packets } of links) {
            forget(packets, (packet) => packet.time, from);
            if (packets.length > MOST.packets) packets.splice(0, packets.length, ...thinned(packets));
        }
        forget(this.events, (event) => event.ended, from);
        if (this.events.length > MOST.events) this.events.splice(0, this.events.length - MOST.events);
    }

    /** Where there is one link, rows need not say which. */
    #linkAt(hop: number | undefined, isUp: boolean): LinkHistory | undefined {
        const links = isUp ? this.uplinks : this.links;
        return links.length === 1 ? links[0] : links[hop ?? NaN];
    }

    #queues({ rows: { queues }, words }: News): void {
        const column = (name: string): Float64Array => queues.columns[name] ?? new Float64Array();
        for (let row = 0; row < queues.count; row++) {
            const word = (name: string): string => words[column(name)[row] ?? -1] ?? "";
            const queue = this.#linkAt(column("hop")[row], word("direction") === "reverse")?.queues.find(({ name }) => name === word("queue"));
            const at = (name: string): number => column(name)[row] ?? NaN;
            queue?.rows.push({
                time: at("time_ns"),
                length: at("length_ns"),
                packets: at("packets"),
                bytes: at("bytes"),
                marked: at("marked"),
                dropped: at("dropped"),
                mean: at("delay_mean_ns"),
                max: at("delay_max_ns"),
                backlog: at("backlog_bytes"),
            });
        }
    }

    #flows({ rows: { flows } }: News): void {
        const column = (name: string): Float64Array => flows.columns[name] ?? new Float64Array();
        const [time, group, delivered, length] = ["time_ns", "group", "delivered_bytes", "length_ns"].map(column);
        const [window, rtt, retransmitted] = ["congestion_window_bytes", "rtt_ns", "retransmitted"].map(column);
        for (let row = 0; row < flows.count; row++) {
            const rows = this.groups[group?.[row] ?? -1]?.rows;
            if (!rows) continue;
            const at = time?.[row] ?? 0;
            let last = rows.at(-1);
            if (!last || last.time !== at) {
                last = { time: at, delivered: 0, length: 0, flows: 0, window: 0, rtt: 0, rtts: 0, retransmitted: 0 };
                rows.push(last);
            }
            last.flows += 1;
            last.delivered += delivered?.[row] ?? 0;
            last.length = Math.max(last.length, length?.[row] ?? 0);
            last.window += window?.[row] || 0;
            const measured = rtt?.[row] ?? NaN;
            if (!Number.isNaN(measured)) {
                last.rtt += measured;
                last.rtts += 1;
            }
            last.retransmitted += retransmitted?.[row] || 0;
        }
    }

    #packets({ packets }: News): void {
        if (!packets) return;
        this.seesPackets = true;
        const column = (name: string): Float64Array => packets.columns[name] ?? new Float64Array();
        const [time, delay, queue, group, fate, weight, hop, reverse] = ["time_ns", "delay_ns", "queue", "group", "fate", "weight", "hop", "is_reverse"].map(column);
        for (let row = 0; row < packets.count; row++) {
            this.#linkAt(hop?.[row], reverse?.[row] === 1)?.packets.push({
                time: time?.[row] ?? 0,
                delay: delay?.[row] ?? 0,
                queue: queue?.[row] ?? 0,
                group: group?.[row] ?? -1,
                dropped: fate?.[row] === 2,
                marked: fate?.[row] === 1,
                weight: weight?.[row] ?? 1,
            });
        }
    }

    #events({ rows: { events }, words }: News): void {
        for (let row = 0; row < events.count; row++) {
            const at = (name: string): number => events.columns[name]?.[row] ?? NaN;
            const word = (name: string): string => words[at(name)] ?? "";
            const ended = at("ended_ns");
            this.events.push({
                kind: word("kind"),
                group: at("group"),
                flow: at("flow"),
                number: at("number"),
                started: at("started_ns"),
                firstByte: at("first_byte_ns"),
                lastByte: at("last_byte_ns"),
                ended: Number.isNaN(ended) ? this.now : ended,
                size: at("size_bytes"),
                outcome: word("outcome"),
                value: at("value"),
                causes: Object.fromEntries(CAUSES.map((cause) => [cause, at(cause)])),
            });
        }
    }
}

/** Puts values in order. Where all weigh the same, as nearly always, numbers alone are sorted, which takes a tenth of the time. */
function order(values: { value: number; weight: number }[]): void {
    const [first] = values;
    if (!values.every(({ weight }) => weight === first?.weight)) {
        values.sort((one, other) => one.value - other.value);
        return;
    }
    const sorted = Float64Array.from(values, ({ value }) => value).sort();
    values.forEach((one, place) => (one.value = sorted[place] ?? NaN));
}

/** A share `q` of the weights lies at or below this value; undefined without any. `values` are changed. */
export function quantile(values: { value: number; weight: number }[], q: number): number | undefined {
    order(values);
    const all = values.reduce((sum, { weight }) => sum + weight, 0);
    let below = 0;
    for (const { value, weight } of values) {
        below += weight;
        if (below >= q * all) return value;
    }
    return values.at(-1)?.value;
}

/** The share of the weight above each value, for values in order: a step at each. At most `most` points, evenly in the logarithm of the share. */
export function ccdf(values: { value: number; weight: number }[], most = 200): [number[], number[]] {
    const sorted = values.filter(({ value }) => value > 0);
    order(sorted);
    const all = values.reduce((sum, { weight }) => sum + weight, 0);
    const [xs, ys]: [number[], number[]] = [[], []];
    let above = sorted.reduce((sum, { weight }) => sum + weight, 0);
    const factor = Math.pow(Math.max(all, 2), -1 / most);
    let last = Infinity;
    for (const { value, weight } of sorted) {
        const share = above / all;
        if (share <= last * factor || above === weight) {
            xs.push(value);
            ys.push(share);
            last = share;
        }
        above -= weight;
    }
    return [xs, ys];
}
