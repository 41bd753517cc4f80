// A minute of both queues, simulated out of sight: the figures of the first screen.

import type { Bench } from "../bench.js";
import { minute, MINUTE_NS, type Minute } from "../front.js";
import { worker, type Connection } from "./connection.js";

/** The minutes of benches, one after the other; of those that are asked for meanwhile only the last. */
export class Minutes {
    /** The figures of the bench that was asked for last, once they are there. */
    latest: readonly [Minute, Minute] | undefined;
    #connection: Promise<Connection> | undefined;
    #running: Bench | undefined;
    #wanted: Bench | undefined;

    constructor(
        readonly changed: () => void,
        readonly open: typeof worker = worker,
    ) {}

    /** Simulates a minute of a bench. */
    async want(bench: Bench): Promise<void> {
        this.latest = undefined;
        this.#wanted = bench;
        if (this.#running) return;
        this.#running = bench;
        this.#connection ??= this.open((message) => {
            if (message.type === "finished") this.#done(message.runs.map(({ summary }) => JSON.parse(summary) as Minute));
            // What has ended runs nothing more.
            if (message.type === "ended") this.#connection = undefined;
            // Without figures the pictures speak for themselves.
            if (message.type === "refused" || message.type === "ended") this.#done([]);
        });
        // The page says by itself that the simulator cannot be loaded.
        const connection = await this.#connection.catch(() => undefined);
        if (!connection) return;
        connection.ask({ ask: "open", ...minute(bench), seed: bench.seed });
        connection.ask({ ask: "speed", speed: 0 });
        connection.ask({ ask: "step", step: MINUTE_NS });
        connection.ask({ ask: "finish" });
    }

    #done([above, below]: Minute[]): void {
        const isLatest = this.#running === this.#wanted;
        this.#running = undefined;
        if (!isLatest && this.#wanted) return void this.want(this.#wanted);
        if (above && below) this.latest = [above, below];
        this.changed();
    }
}
