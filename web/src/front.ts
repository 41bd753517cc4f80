// The first screen in words: what is set up, and what is true of a minute of it.

import { demonstration, queueChanges, scenario, type Bench } from "./bench.js";

/** The two queues that are compared at first, and the bounds of the slider. */
export const FRONT = { queues: ["fifo:limit=100ms", "dualpi2"], most: 10, first: 1 } as const;
/** A minute after ten seconds: what the figures of the first screen are of. */
export const MINUTE = { duration: "70s", warmup: "10s" } as const;
export const MINUTE_NS = 70e9;

/** Whose downloads they are: half of each kind, of which the first is ordinary, or all of one. */
export type Senders = "half" | "ordinary" | "new";

/** What else a bench of the first screen may have. */
export interface More {
    senders?: Senders;
    /** Small items on new connections. */
    smallItems?: boolean;
    /** Of a sender that never slows down, in percent of the line. */
    udp?: number;
}

/** The bench of the first screen: downloads, and a small packet of each kind of program every 10 ms. */
export function front(downloads: number, queues: readonly string[] = FRONT.queues, { senders = "half", smallItems = false, udp = 0 }: More = {}): Bench {
    const bench = demonstration();
    const l4s = { half: Math.floor(downloads / 2), ordinary: 0, new: downloads }[senders];
    Object.assign(bench.users.classic, { downloads: downloads - l4s, items: 0 });
    Object.assign(bench.users.l4s, { downloads: l4s, items: 0 });
    return Object.assign(bench, { queues: [...queues], clicks: true, smallItems, udp });
}

/** What the minute of a bench is. */
export const minute = (bench: Bench): { scenario: string; runs: string[][]; seed: number; length: number } => ({ scenario: scenario(bench, MINUTE), runs: queueChanges(bench), seed: bench.seed, length: MINUTE_NS });

interface Group {
    name: string;
    count: number;
    goodput_bps: number[];
    packets: number;
    marked: number;
    dropped: number;
    delay_ms: { mean: number; p50: number; p99: number } | null;
    app?: { completion_ms?: { mean: number } | null; slower_than_1s?: number };
}

/** The parts of `summary.json` that are shown. */
export interface Minute {
    link: { utilisation: number | null };
    groups: Group[];
}

/** Figures of a group in a minute. */
export interface Of {
    mean: number;
    p50: number;
    p99: number;
    /** Packets marked and lost, of a hundred. */
    marked: number;
    dropped: number;
    /** Mbit/s of each flow. */
    each: number;
    flows: number;
}

/** The figures of a group, if it is there and sent. */
export function of(minute: Minute, name: string): Of | undefined {
    const group = minute.groups.find((group) => group.name === name);
    if (!group?.delay_ms || group.packets === 0) return undefined;
    const { mean, p50, p99 } = group.delay_ms;
    return {
        mean,
        p50,
        p99,
        marked: (100 * group.marked) / group.packets,
        dropped: (100 * group.dropped) / (group.packets + group.dropped),
        each: group.goodput_bps.reduce((sum, one) => sum + one, 0) / group.goodput_bps.length / 1e6,
        flows: group.goodput_bps.length,
    };
}

/** A number of ms as people read it: two digits. */
export const number = (ms: number): string => (ms >= 9.95 ? ms.toFixed(0) : ms >= 0.995 ? ms.toFixed(1) : ms.toFixed(2));
/** Of a hundred. */
export const percent = (part: number): string => (part === 0 ? "none" : part >= 9.95 ? part.toFixed(0) : part >= 0.095 ? part.toFixed(1) : part >= 0.005 ? part.toFixed(2) : "less than 0.01");

/** The shortest wait of a click that is called a wait, in ms. */
const AT_ONCE = 1;
/** The line is called full from here on. */
const FULL = 0.985;

/** What a queue is called on the first screen, and what is small beside it. */
export function called(queue: string): { name: string; small: string } {
    const [kind = "", ...rest] = queue.split(":");
    const limit = /limit=([^,]+)/.exec(rest.join(":"))?.[1];
    const room = limit ? `, room for ${limit.replace(/(\d)(ms|s|kB|MB|p)$/, "$1 $2")}` : "";
    const known: Record<string, [string, string]> = {
        fifo: ["One ordinary queue", `drop-tail${room}`],
        dualpi2: ["Two short queues", "DualPI2"],
        dualq_2015: ["Two short queues", "DualQ of 2015"],
        pie: ["A queue that drops early", "PIE"],
        codel: ["A queue that drops early", "CoDel"],
        fq_codel: ["A queue for each flow", "FQ-CoDel"],
        fq_pie: ["A queue for each flow", "FQ-PIE"],
    };
    const [name, small] = known[kind] ?? [`The queue ${kind}`, rest.join(":")];
    return { name, small };
}

/** Two sentences that are true of a minute of the two runs: what the click waits, and what the downloads have of it. */
export function sentences(bench: Bench, [above, below]: readonly [Minute, Minute], program: "l4s" | "classic"): [string, string] {
    const downloads = bench.users.classic.downloads + bench.users.l4s.downloads;
    const me = `${program}-click`;
    const [mine, other] = [of(above, me), of(below, me)];
    if (!mine || !other) return ["Nothing of your program came through.", ""];
    const isOrdinary = (bench.queues[0] ?? "").startsWith("fifo") && mine.mean > 20 * AT_ONCE;
    const waits = `On average your click waits ${number(mine.mean)} ms above and ${number(other.mean)} ms below.`;
    if (downloads === 0) {
        const passes = mine.mean < AT_ONCE && other.mean < AT_ONCE;
        return [`Nobody downloads.${passes ? " The line is idle, and your click passes at once." : ` ${waits}`} Now move the slider to 1.`, ""];
    }
    const first = !isOrdinary
        ? `${downloads === 1 ? "One download has" : `${downloads} downloads share`} the line.`
        : downloads === 1
          ? "One download is enough: its sender speeds up until the upper queue is full, and everybody else stands behind it."
          : `${downloads} downloads share the line. The upper queue is hardly longer than with one: it was already full.`;
    const beside = program === "classic" && (bench.queues[1] ?? "").startsWith("dualpi2") ? " An ordinary program waits with the ordinary packets." : "";
    return [`${first} ${waits}${beside}`, shares(above, below)];
}

/** What senders are told to slow down by, and what each download has. */
function shares(above: Minute, below: Minute): string {
    const signal = (minute: Minute, where: string): string => {
        const [l4s, classic] = [of(minute, "l4s"), of(minute, "classic")];
        const signs = (["marked", "dropped"] as const).flatMap((sign) => {
            const shares = [
                l4s && l4s[sign] > 0 ? `${percent(l4s[sign])} of 100 packets of new senders` : "",
                classic && classic[sign] > 0 ? `${percent(classic[sign])} of 100 packets of ordinary ones` : "",
            ].filter(Boolean);
            return shares.length > 0 ? [`${shares.join(" and ")} ${sign === "marked" ? "carry the mark “slow down”" : "are dropped"}`] : [];
        });
        return signs.length > 0 ? `${where}, ${signs.join(", and ")}.` : "";
    };
    const used = [above, below].map(({ link }) => link.utilisation ?? NaN);
    const full = used.every((used) => used >= FULL) ? "Both lines are full:" : `Of the line ${used.map((used) => `${(100 * used).toFixed(0)} %`).join(" above and ")} below are used:`;
    const each = (name: string, who: string): string => {
        const [one, other] = [of(above, name), of(below, name)];
        return one && other ? `${who} has ${one.each.toFixed(1)} Mbit/s above and ${other.each.toFixed(1)} below` : "";
    };
    const rates = [each("classic", "an ordinary download"), each("l4s", "a new one")].filter(Boolean);
    return [signal(above, "Above"), signal(below, "Below"), `${full} ${rates.join(", and ")}.`].filter(Boolean).join(" ");
}
