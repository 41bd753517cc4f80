// What a page asks of its runs, and the messages that it gets: the inside of the Worker.
//
// Several runs share one clock and one seed, so that queues stand side by side under the same plan of arrivals. What goes wrong is told in
// words; after `ended` the page loads a new Worker.

import type { Catalogue } from "./catalogue.js";
import { Ended, Engine, Refused, SERIES, type About, type FeltTable, type Files, type Rows, type Run, type Series } from "./engine.js";
import { Pace, type Frame } from "./pace.js";

/** What a page asks. */
export type Ask =
    /** Starts runs anew: one for each list of changes of the scenario. */
    | { ask: "open"; scenario: string; runs: string[][]; seed?: number; moreFlows?: number; fastest?: number }
    /** Simulated seconds in a second; 0 is a pause. */
    | { ask: "speed"; speed: number }
    /** Goes on by so many ns. */
    | { ask: "step"; step: number }
    /** Changes a key of every run, or of one, from now on. */
    | { ask: "change"; key: string; value: string; run?: number }
    /** Ends every run, and asks for its files; and for what people feel in runs that are behind so many queues, one after the other. */
    | { ask: "finish"; queues?: number }
    /** Asks for all that a scenario may name. */
    | { ask: "catalogue" };

/** What happened in a run since it was last told. */
export interface News {
    words: string[];
    rows: Record<Series, Rows>;
    /** Single packets, where the world shows them. */
    packets?: Rows;
}

/** A message to a page. */
export type Message =
    | { type: "opened"; runs: About[] }
    | { type: "catalogue"; catalogue: Catalogue }
    /** A run that cannot be watched yet is so far, in ns. */
    | { type: "progress"; now: number; duration: number }
    | { type: "rows"; frame: Frame; runs: News[] }
    | { type: "changed"; run: number; scenario: string; about: About }
    | { type: "finished"; runs: Files[]; felt?: FeltTable }
    | { type: "refused"; why: string }
    | { type: "ended"; why: string };

/** Tells the page something; `buffers` are handed over. */
export type Tell = (message: Message, buffers: ArrayBuffer[]) => void;

/** The runs of a page. */
export class Session {
    readonly #engine: Engine;
    readonly #pace: Pace;
    readonly #tell: Tell;
    #runs: Run[] = [];
    #isOver = false;

    constructor(engine: Engine, tell: Tell, clock: () => number) {
        this.#engine = engine;
        this.#pace = new Pace(clock);
        this.#tell = tell;
    }

    /** Does what the page asks. */
    hear(ask: Ask): void {
        this.#safely(() => {
            switch (ask.ask) {
                case "open":
                    return this.#open(ask);
                case "speed":
                    this.#pace.speed = ask.speed;
                    return;
                case "step":
                    return this.#rows(this.#pace.step(this.#runs, ask.step));
                case "change":
                    return this.#change(ask.key, ask.value, ask.run);
                case "finish":
                    return this.#finish(ask.queues);
                case "catalogue":
                    return this.#tell({ type: "catalogue", catalogue: this.#engine.catalogue() }, []);
            }
        });
    }

    /** One frame of the page. */
    frame(): void {
        if (this.#runs.length === 0 || this.#isOver || this.#pace.speed === 0) return;
        this.#safely(() => this.#rows(this.#pace.frame(this.#runs)));
    }

    #open({ scenario, runs, seed, moreFlows, fastest }: Ask & { ask: "open" }): void {
        const opened: Run[] = [];
        try {
            for (const changes of runs) {
                const options = { changes, ...(seed === undefined ? {} : { seed }), moreFlows: moreFlows ?? 0, fastest: fastest ?? 0 };
                opened.push(this.#engine.open(scenario, options));
            }
        } catch (error) {
            for (const run of opened) run.close();
            throw error;
        }
        for (const run of this.#runs) run.close();
        this.#runs = opened;
        this.#isOver = false;
        this.#pace.restart();
        this.#tell({ type: "opened", runs: opened.map((run) => run.about) }, []);
    }

    #change(key: string, value: string, which?: number): void {
        this.#runs.forEach((run, place) => {
            if (which !== undefined && which !== place) return;
            const about = run.change(key, value);
            this.#tell({ type: "changed", run: place, scenario: about.scenario, about }, []);
        });
    }

    #finish(queues?: number): void {
        const files = this.#runs.map((run) => run.finish());
        this.#isOver = true;
        const seeds = this.#runs.length / (queues ?? 1);
        const behind = Array.from({ length: queues ?? 0 }, (_, place) => this.#runs.slice(place * seeds, (place + 1) * seeds));
        this.#tell({ type: "finished", runs: files, ...(queues === undefined ? {} : { felt: this.#engine.felt(behind) }) }, []);
    }

    #rows(frame: Frame): void {
        this.#isOver = frame.isOver;
        const buffers: ArrayBuffer[] = [];
        const runs = this.#runs.map((run) => {
            const handedOver = (rows: Rows): Rows => {
                const [first] = Object.values(rows.columns);
                if (first && rows.count > 0) buffers.push(first.buffer as ArrayBuffer);
                return rows;
            };
            const rows = Object.fromEntries(SERIES.map((series) => [series, handedOver(run.rows(series))])) as Record<Series, Rows>;
            return { rows, packets: handedOver(run.packets()), words: run.words };
        });
        this.#tell({ type: "rows", frame, runs }, buffers);
    }

    #safely(act: () => void): void {
        try {
            act();
        } catch (error) {
            if (error instanceof Refused) {
                this.#tell({ type: "refused", why: error.message }, []);
            } else if (error instanceof Ended) {
                this.#runs = [];
                this.#tell({ type: "ended", why: error.message }, []);
            } else {
                throw error;
            }
        }
    }
}
