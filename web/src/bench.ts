// What a visitor sets up: two users with their applications in front of one link, behind one queue or two that are compared.
//
// A bench is written as a scenario of quell, and as the fragment of an address, which reads back as the same bench.

/** The applications that a user may have besides downloads and web items. */
export const EXTRAS = ["film", "panorama", "call", "game"] as const;
export type Extra = (typeof EXTRAS)[number];

/** The two users. */
export const USERS = ["classic", "l4s"] as const;
export type Who = (typeof USERS)[number];

/** One user. */
export interface User {
    /** The congestion control of all that goes over TCP. */
    control: string;
    /** What its packets carry in the ECN field. */
    ecn: "off" | "ect0" | "ect1";
    downloads: number;
    /** Web items a second. */
    items: number;
    extras: Extra[];
}

/** All that can be set up. */
export interface Bench {
    /** As scenarios write it: `40mbit`. */
    rate: string;
    rtt: string;
    /** The queues, side by side: `dualpi2`, or with parameters `fifo:limit=200ms`. */
    queues: string[];
    users: Record<Who, User>;
    /** Datagrams that do not slow down, in percent of the link's rate. */
    udp: number;
    seed: number;
    /** Whether each user also sends a small packet every 10 ms: the clicks of the first screen. */
    clicks?: boolean;
    /** Whether each user also fetches ten small items a second, each on a new connection. */
    smallItems?: boolean;
}

/**
 * Web items are offered in steps of so many a second: each is a flow of its own, which can start and stop while the run goes on. Arrivals
 * of several at random are arrivals at random at their sum.
 */
export const ITEMS = 10;

/** Items that may be under way at once for each such flow: ten seconds of arrivals. More are refused, and the page needs memory for all. */
const WAITING = 100;

/** The most of each that the page offers, and the most flows that a group can have then. */
export const MOST = { downloads: 20, items: 200, udp: 200, queues: 2, flows: 20 } as const;

/** How long a bench runs in simulated time, if nobody ends it. */
const DURATION = "3600s";
/** Bytes of a datagram of the user that does not slow down. */
const DATAGRAM = 1_500;

/** The demonstration of 2015: 40 Mbit/s, 7 ms, four and two downloads, ten items a second for each user. */
export function demonstration(): Bench {
    return {
        rate: "40mbit",
        rtt: "7ms",
        queues: ["dualpi2"],
        users: {
            classic: { control: "cubic", ecn: "off", downloads: 2, items: 10, extras: [] },
            l4s: { control: "prague", ecn: "ect1", downloads: 4, items: 10, extras: [] },
        },
        udp: 0,
        seed: 1,
    };
}

/** Whether it has the line and the downloads of the demonstration of 2015, with as many items for each user. */
export function isDemonstration({ rate, rtt, udp, users: { classic, l4s } }: Bench): boolean {
    const first = demonstration();
    const same = (user: User, other: User): boolean => user.downloads === other.downloads && user.control === other.control && user.ecn === other.ecn && user.extras.length === 0;
    return rate === first.rate && rtt === first.rtt && udp === 0 && classic.items === l4s.items && same(classic, first.users.classic) && same(l4s, first.users.l4s);
}

/** What `40mbit` means; 0 if it means nothing. */
export const bitsPerSecond = (rate: string): number => {
    const [, number = "0", unit = ""] = /^([0-9.]+)\s*([kmg]?)bit$/.exec(rate.trim()) ?? [];
    const scale: Record<string, number> = { "": 1, k: 1e3, m: 1e6, g: 1e9 };
    return Number(number) * (scale[unit] ?? 0);
};

const quoted = (text: string): string => JSON.stringify(text);

const group = (lines: string[]): string => ["[[group]]", ...lines].join("\n");

/** Only what is there has a group: quell refuses groups that never have a flow. */
function groups(bench: Bench): string[] {
    const all: string[] = [];
    for (const who of USERS) {
        const { control, ecn, downloads, items, extras } = bench.users[who];
        const rtt = `rtt = ${quoted(bench.rtt)}`;
        const tcp = [`congestion-control = ${quoted(control)}`, `ecn = ${quoted(ecn)}`, rtt];
        if (downloads > 0) all.push(group([`name = "${who}"`, `count = ${downloads}`, ...tcp, `app = "bulk"`]));
        if (items > 0) {
            all.push(group([`name = "${who}-web"`, `count = ${items / ITEMS}`, ...tcp, `app = { kind = "web", rate = ${ITEMS}, max-concurrent = ${WAITING} }`]));
        }
        const datagrams = [`ecn = ${quoted(ecn === "ect0" ? "off" : ecn)}`, rtt];
        const apps: Record<Extra, string[]> = {
            film: [...tcp, `app = { kind = "has", preset = "smooth" }`],
            panorama: [...tcp, `app = "panorama"`],
            call: [...datagrams, `app = "voice"`],
            game: [...datagrams, `app = "game"`],
        };
        if (bench.clicks) all.push(group([`name = "${who}-click"`, ...datagrams, `app = { kind = "cbr", size = "200B", interval = "10ms" }`]));
        if (bench.smallItems) all.push(group([`name = "${who}-item"`, ...tcp, `app = { kind = "web", rate = 10, size = "2kB", max-concurrent = ${WAITING} }`]));
        for (const extra of EXTRAS.filter((extra) => extras.includes(extra))) {
            all.push(group([`name = "${who}-${extra}"`, ...apps[extra]]));
        }
    }
    if (bench.udp > 0) {
        const app = `app = { kind = "cbr", size = "${DATAGRAM}B", interval = "${gap(bench)}" }`;
        all.push(group([`name = "udp"`, `ecn = "off"`, `rtt = ${quoted(bench.rtt)}`, app]));
    }
    return all;
}

/** Between two datagrams of the user that does not slow down. */
function gap(bench: Bench): string {
    const rate = (bitsPerSecond(bench.rate) * bench.udp) / 100;
    return `${Math.max(1, Math.round((DATAGRAM * 8e9) / rate))}ns`;
}

/** A change of a key while a bench runs. */
export interface Change {
    key: string;
    value: string;
}

/**
 * What changes one bench into another while it runs, with the groups that the run has; `undefined` if it must start anew. What is switched
 * off keeps its group, and can be switched on again.
 */
export function difference(before: Bench, after: Bench, groups: readonly string[]): Change[] | undefined {
    const same = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);
    if (before.rtt !== after.rtt || before.seed !== after.seed || before.udp !== after.udp || !same(before.queues, after.queues)) return undefined;
    const changes: Change[] = [];
    let isNew = false;
    const put = (group: string, one: number, other: number): void => {
        if (one === other) return;
        if (groups.includes(group)) changes.push({ key: `group.${group}.count`, value: String(other) });
        else isNew = true;
    };
    if (before.rate !== after.rate) changes.push({ key: "link.rate", value: after.rate });
    for (const who of USERS) {
        const [one, other] = [before.users[who], after.users[who]];
        if (one.control !== other.control || one.ecn !== other.ecn) return undefined;
        put(who, one.downloads, other.downloads);
        put(`${who}-web`, one.items / ITEMS, other.items / ITEMS);
        for (const extra of EXTRAS) {
            put(`${who}-${extra}`, Number(one.extras.includes(extra)), Number(other.extras.includes(extra)));
        }
    }
    return isNew ? undefined : changes;
}

/** The scenario of a bench, with its first queue. */
export function scenario(bench: Bench, { duration, warmup } = { duration: DURATION, warmup: "0s" }): string {
    const [queue = "dualpi2"] = bench.queues;
    const [kind = "", ...rest] = queue.split(":");
    const parameters = rest.join(":").split(",").filter(Boolean);
    const settings = parameters.map((parameter) => {
        const [key = "", value = ""] = parameter.split("=");
        return `${key} = ${/^(true|false|[0-9.]+)$/.test(value) ? value : quoted(value)}`;
    });
    return [
        `schema = 1\nname = "page"`,
        `[link]\nrate = ${quoted(bench.rate)}\nqueue = { ${[`kind = ${quoted(kind)}`, ...settings].join(", ")} }`,
        ...groups(bench),
        `[run]\nduration = "${duration}"\nwarmup = "${warmup}"\ninterval = "100ms"\nseeds = [${bench.seed}]`,
        "",
    ].join("\n\n");
}

/** What `--queue` would change of the scenario for each queue, as `KEY=VALUE`. */
export function queueChanges(bench: Bench): string[][] {
    return bench.queues.map((queue) => {
        const [kind = "", ...rest] = queue.split(":");
        const parameters = rest.join(":").split(",").filter(Boolean);
        return [`link.queue.kind=${kind}`, ...parameters.map((parameter) => `link.queue.${parameter}`)];
    });
}

/** A bench as the fragment of an address, without the `#`. */
export function fragment(bench: Bench): string {
    const words = new URLSearchParams();
    words.set("rate", bench.rate);
    words.set("rtt", bench.rtt);
    words.set("queues", bench.queues.join(" "));
    for (const who of USERS) {
        const { control, ecn, downloads, items, extras } = bench.users[who];
        words.set(who, [control, ecn, downloads, items, ...extras].join(" "));
    }
    if (bench.udp > 0) words.set("udp", String(bench.udp));
    words.set("seed", String(bench.seed));
    return words.toString();
}

/** A bench from a fragment. What it does not say, or what makes no sense, is as in the demonstration; `problems` names the latter. */
export function fromFragment(text: string): { bench: Bench; problems: string[] } {
    const words = new URLSearchParams(text.replace(/^#/, ""));
    const bench = demonstration();
    const problems: string[] = [];
    const take = (key: string, accept: (value: string) => boolean): void => {
        const value = words.get(key);
        if (value !== null && !accept(value)) problems.push(`${key}=${value}`);
    };
    const whole = (value: string | undefined, most: number): number | undefined => {
        const number = Number(value);
        return value !== undefined && /^[0-9]+$/.test(value) && number <= most ? number : undefined;
    };
    take("rate", (value) => bitsPerSecond(value) > 0 && Boolean((bench.rate = value)));
    take("rtt", (value) => /^[0-9.]+(ms|us|s)$/.test(value) && Boolean((bench.rtt = value)));
    take("queues", (value) => {
        const queues = value.split(" ").filter(Boolean);
        const fit = queues.length > 0 && queues.length <= MOST.queues && queues.every((queue) => /^[a-z0-9_]+(:[^\s]+)?$/.test(queue));
        if (fit) bench.queues = queues;
        return fit;
    });
    for (const who of USERS) {
        take(who, (value) => {
            const [control = "", ecn = "", downloads, items, ...extras] = value.split(" ");
            const counts = [whole(downloads, MOST.downloads), whole(items, MOST.items)];
            if (Number(items) % ITEMS !== 0) return false;
            const known = extras.filter((extra): extra is Extra => (EXTRAS as readonly string[]).includes(extra));
            const isEcn = ecn === "off" || ecn === "ect0" || ecn === "ect1";
            const [first, second] = counts;
            if (!/^[a-z0-9_]+$/.test(control) || !isEcn || first === undefined || second === undefined || known.length !== extras.length) {
                return false;
            }
            bench.users[who] = { control, ecn, downloads: first, items: second, extras: known };
            return true;
        });
    }
    take("udp", (value) => {
        const udp = whole(value, MOST.udp);
        if (udp !== undefined) bench.udp = udp;
        return udp !== undefined;
    });
    take("seed", (value) => {
        const seed = whole(value, Number.MAX_SAFE_INTEGER);
        if (seed !== undefined) bench.seed = seed;
        return seed !== undefined;
    });
    return { bench, problems };
}

/** A bench with a name, and what to look at. */
export interface Preset {
    name: string;
    title: string;
    text: string;
    bench: Bench;
}

function preset(name: string, title: string, text: string, change: (bench: Bench) => void): Preset {
    const bench = demonstration();
    change(bench);
    return { name, title, text, bench };
}

/** Benches that a visitor can begin with. */
export const PRESETS: readonly Preset[] = [
    preset("demo", "Demonstration of 2015", "Four L4S and two Classic downloads share 40 Mbit/s; both users fetch ten web items a second.", () => {}),
    preset("panorama", "A picture that follows the hand", "Each user drags a panoramic video beside three downloads.", (bench) => {
        for (const who of USERS) Object.assign(bench.users[who], { downloads: 3, items: 0, extras: ["panorama"] });
    }),
    preset("streaming", "Films beside downloads", "Each user watches a film of changing quality; the link has 20 Mbit/s and 20 ms.", (bench) => {
        Object.assign(bench, { rate: "20mbit", rtt: "20ms" });
        for (const who of USERS) Object.assign(bench.users[who], { items: 0, extras: ["film"] });
    }),
    preset("home", "A line at home", "100 Mbit/s with a long plain buffer, as routers often have one: the call and the game wait behind the download.", (bench) => {
        Object.assign(bench, { rate: "100mbit", rtt: "20ms", queues: ["fifo:limit=200ms"] });
        Object.assign(bench.users.classic, { downloads: 1, extras: ["call", "game"] });
        Object.assign(bench.users.l4s, { downloads: 0, items: 0 });
    }),
    preset("overload", "More than the link can carry", "A sender that never slows down sends half as much again as the link can carry.", (bench) => {
        bench.udp = 150;
    }),
];
