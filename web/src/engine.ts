// quell as WebAssembly: runs of scenarios in slices, with their series as columns of numbers.
//
//     const engine = await Engine.load(bytes);
//     const run = engine.open(toml, { changes: ["link.rate=20mbit"], seed: 1 });
//     run.advance(1e9);
//     run.rows("queues").columns.delay_mean_ns;
//     run.finish().summary;
//
// Times are in nanoseconds. What the engine refuses is thrown as a Refused; after an Ended the instance is lost, and a new one must be
// loaded.

import type { Catalogue } from "./catalogue.js";

/** A scenario or call that is refused, in words for people. */
export class Refused extends Error {}

/** The instance ended: memory was short, or quell has an error. */
export class Ended extends Error {}

/** One of the files of a result, without its ending. */
export type Series = "queues" | "flows" | "events";

/** All series. */
export const SERIES: readonly Series[] = ["queues", "flows", "events"];

/** A column of a series. */
export interface Column {
    name: string;
    type: string;
    unit: string;
    meaning: string;
}

/** A link. */
export interface Link {
    name: string;
    /** Its forward rate at the start; null if it has no limit or moves. */
    rate: string | null;
    /** The kind of its forward queue. */
    queue: string;
    /** The names of its forward queues. */
    queues: string[];
    /** The same of its reverse direction. */
    reverse_queue: string;
    reverse_queues: string[];
    /** What each packet adds to its IP length on the link, in its forward and its reverse direction. */
    overhead_bytes: [number, number];
    /** The rates of its forward and its reverse direction in bit/s, each with the time in ns from which on it holds; null as `rate`. */
    rates: [TimedRate[], TimedRate[]];
}

/** From a time in ns on, so many bit/s. */
export type TimedRate = [number, number | null];

/** What a page needs to read the rows of a run. */
export interface About {
    /** The resolved scenario, as TOML. */
    scenario: string;
    seed: number;
    warnings: string[];
    duration_ns: number;
    interval_ns: number;
    links: Link[];
    groups: string[];
    /** The first and the last link that each group crosses, by their places. */
    paths: [number, number][];
    /** The kind of the application of each group. */
    kinds: string[];
    /** Whether it takes all that it can get. */
    greedy: boolean[];
    /** Whether its data goes up. */
    uploads: boolean[];
    /** Whether its packets say that they are L4S. */
    l4s: boolean[];
    /** Its base RTT. */
    rtts_ns: number[];
    columns: Record<Series | "packets", Column[]>;
}

/** What somebody feels behind each of several queues. */
export interface FeltRow {
    who: string;
    what: string;
    unit: string;
    digits: number;
    more_is_better: boolean;
    application: string;
    /** Of each seed, queue by queue. */
    values: number[][];
    /** Whether they differ from those behind the first queue by more than chance; null where one seed cannot say. */
    clear: (boolean | null)[];
}

/** What people feel behind each of several queues, and what they would say. */
export interface FeltTable {
    words: string[];
    rows: FeltRow[];
}

/** Rows of a series: how many, and the values of each column. NaN is a missing value. */
export interface Rows {
    count: number;
    columns: Record<string, Float64Array>;
}

/** The texts of `summary.json` and `histograms.json`. */
export interface Files {
    summary: string;
    histograms: string;
}

/** How a run is opened. */
export interface Options {
    /** As after `--set`: `KEY=VALUE`. */
    changes?: string[];
    /** Without one it is the scenario's first. */
    seed?: number;
    /** Flows that each group may start later, besides its own. */
    moreFlows?: number;
    /** The fastest that the link may become, in bit/s. */
    fastest?: number;
}

/** Rows of numbers that come column by column. */
export function named(names: readonly Column[], count: number, numbers: Float64Array): Rows {
    const columns: Record<string, Float64Array> = {};
    names.forEach(({ name }, place) => {
        columns[name] = numbers.subarray(place * count, (place + 1) * count);
    });
    return { count, columns };
}

type Export = (...values: number[]) => number;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** An instance. */
export class Engine {
    readonly #memory: WebAssembly.Memory;
    readonly #exports: Record<string, Export>;

    private constructor(instance: WebAssembly.Instance) {
        this.#memory = instance.exports["memory"] as WebAssembly.Memory;
        this.#exports = instance.exports as Record<string, Export>;
    }

    /** Of a module, compiled from `quell.wasm`. */
    static async load(module: WebAssembly.Module): Promise<Engine> {
        return new Engine(await WebAssembly.instantiate(module, {}));
    }

    /** Bytes of memory that it has taken; there is never less. */
    get memory(): number {
        return this.#memory.buffer.byteLength;
    }

    /** Starts a run. */
    open(toml: string, { changes = [], seed = -1, moreFlows = 0, fastest = 0 }: Options = {}): Run {
        return this.withText(toml, (at, length) =>
            this.withText(changes.join("\n"), (changesAt, changesLength) => {
                const handle = this.call("quell_open", at, length, changesAt, changesLength, seed, moreFlows, fastest);
                if (handle === 0) throw new Refused(this.answer());
                return new Run(this, handle, JSON.parse(this.answer()) as About);
            }),
        );
    }

    /** All that a scenario may name. */
    catalogue(): Catalogue {
        this.call("quell_catalogue");
        return JSON.parse(this.answer()) as Catalogue;
    }

    /** What people feel in runs of a scenario that are over: those of each seed, queue by queue. */
    felt(queues: readonly (readonly Run[])[]): FeltTable {
        const text = queues.map((seeds) => seeds.map(({ handle }) => handle).join(" ")).join("\n");
        return this.withText(text, (at, length) => {
            this.call("quell_felt", at, length);
            return JSON.parse(this.answer()) as FeltTable;
        });
    }

    /** Calls an exported function; NaN is a refusal. */
    call(name: string, ...values: number[]): number {
        let value: number;
        try {
            value = this.#named(name)(...values);
        } catch (error) {
            if (!(error instanceof WebAssembly.RuntimeError || error instanceof RangeError)) throw error;
            throw new Ended(this.answer() || error.message);
        }
        if (Number.isNaN(value)) throw new Refused(this.answer());
        return value;
    }

    /** Calls `act` with the place and length of a text. */
    withText<T>(text: string, act: (at: number, length: number) => T): T {
        const bytes = encoder.encode(text);
        const at = this.#named("quell_alloc")(bytes.length);
        if (at === 0) throw new Refused(`a text of ${bytes.length} bytes is too long`);
        new Uint8Array(this.#memory.buffer, at, bytes.length).set(bytes);
        try {
            return act(at, bytes.length);
        } finally {
            this.#named("quell_free")(at, bytes.length);
        }
    }

    /** The answer of the last call, as text. */
    answer(): string {
        return decoder.decode(this.#bytes());
    }

    /** The same as numbers. */
    numbers(): Float64Array {
        return new Float64Array(this.#bytes().slice().buffer);
    }

    #bytes(): Uint8Array {
        return new Uint8Array(this.#memory.buffer, this.#named("quell_answer")(), this.#named("quell_answer_length")());
    }

    #named(name: string): Export {
        const found = this.#exports[name];
        if (!found) throw new Error(`quell.wasm has no ${name}`);
        return found;
    }
}

/** A run. */
export class Run {
    readonly #engine: Engine;
    #words: string[] = [];

    constructor(
        engine: Engine,
        readonly handle: number,
        /** What is needed to read its rows. */
        readonly about: About,
    ) {
        this.#engine = engine;
    }

    /** Simulates until a time, and returns the time that is reached. */
    advance(until: number): number {
        return this.#engine.call("quell_advance", this.handle, until);
    }

    /** Changes a key from the time on that is reached, and returns what the run is now: its scenario repeats it. */
    change(key: string, value: string): About {
        return this.#engine.withText(`${key}=${value}`, (at, length) => {
            this.#engine.call("quell_change", this.handle, at, length);
            return JSON.parse(this.#engine.answer()) as About;
        });
    }

    /** Whether its end is reached. */
    get isOver(): boolean {
        return this.#engine.call("quell_is_over", this.handle) === 1;
    }

    /** Events of the simulation so far: what a slice costs. */
    get events(): number {
        return this.#engine.call("quell_events", this.handle);
    }

    /** The rows of a series since the last call. */
    rows(series: Series): Rows {
        const count = this.#engine.call("quell_rows", this.handle, SERIES.indexOf(series));
        return named(this.about.columns[series], count, this.#engine.numbers());
    }

    /** The packets that left the queues, or were dropped, since the last call: all, or an even sample of very many. */
    packets(): Rows {
        const count = this.#engine.call("quell_packets", this.handle);
        return named(this.about.columns.packets, count, this.#engine.numbers());
    }

    /** The words that numbers in columns of words stand for, by their places; there are only ever more of them. */
    get words(): string[] {
        const count = this.#engine.call("quell_words", this.handle);
        if (count !== this.#words.length) this.#words = this.#engine.answer().split("\n");
        return this.#words;
    }

    /** Ends it. Rows that are left can still be taken. */
    finish(): Files {
        this.#engine.call("quell_finish", this.handle);
        const [summary = "", histograms = ""] = this.#engine.answer().split("\0");
        return { summary, histograms };
    }

    /** Forgets it. */
    close(): void {
        this.#engine.call("quell_close", this.handle);
    }
}
