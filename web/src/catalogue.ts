// All that a scenario may name: queues, congestion controls and applications, with their parameters.

/** What a parameter may be. */
export interface Domain {
    type: string;
    unit?: string;
    low?: number;
    high?: number;
    words?: string[];
}

/** A parameter. */
export interface Parameter {
    name: string;
    help: string;
    source: string;
    /** Words that finish "must be …". */
    allowed: string;
    domain: Domain;
    default: string | null;
    derived: string | null;
    /** Whether it can change during a run. */
    live: boolean;
    /** The condition under which it exists. */
    only: string | null;
}

/** A queue, control or application. */
export interface Kind {
    name: string;
    summary: string;
    source?: string;
    parameters: Parameter[];
}

/** A congestion control. */
export interface Control extends Kind {
    scalable: boolean;
}

/** All of them. */
export interface Catalogue {
    queues: Kind[];
    controls: Control[];
    applications: Kind[];
}

/** A number of a parameter as scenarios write it: `15ms`, `1000p`, `0.3125`. */
export function written(domain: Domain, value: number): string {
    const short = (number: number): string => String(Number(number.toPrecision(4)));
    switch (domain.type) {
        case "time":
            for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["us", 1e3]] as const) {
                if (value >= size) return short(value / size) + unit;
            }
            return `${Math.round(value)}ns`;
        case "rate":
            for (const [unit, size] of [["gbit", 1e9], ["mbit", 1e6], ["kbit", 1e3]] as const) {
                if (value >= size) return short(value / size) + unit;
            }
            return `${Math.round(value)}bit`;
        case "fraction":
            return short(value);
        default:
            return `${Math.round(value)}${domain.unit ?? ""}`;
    }
}

const SCALES: Record<string, number> = { ns: 1, us: 1e3, ms: 1e6, s: 1e9, bit: 1, kbit: 1e3, mbit: 1e6, gbit: 1e9, B: 1, kB: 1e3, KiB: 1024, MB: 1e6, MiB: 1048576, p: 1, "%": 0.01, "": 1 };

/** What such a text means, in the unit of its domain; undefined if it is not a plain number with a unit. */
export function read(text: string): number | undefined {
    const [, number, unit = ""] = /^([0-9.]+)\s*([a-zA-Z%]*)$/.exec(text.trim()) ?? [];
    const scale = SCALES[unit];
    return number === undefined || scale === undefined ? undefined : Number(number) * scale;
}

/** Whether a slider can show it: it has a range, and a default that is a number. */
export function slides({ domain, default: text }: Parameter): boolean {
    const value = text === null ? undefined : read(text);
    return domain.low !== undefined && domain.high !== undefined && value !== undefined && value > 0;
}

/** The range of its slider: the default lies within, and nothing is outside of the domain. It is logarithmic. */
export function range({ domain, default: text }: Parameter): [number, number] {
    const value = (text === null ? undefined : read(text)) ?? 1;
    return [Math.max(domain.low ?? 0, value / 100), Math.min(domain.high ?? value, value * 100)];
}
