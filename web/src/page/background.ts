// Runs that are simulated out of sight, in a second Worker or in the server: a minute of the first screen, evenings of a household.

import type { FeltTable, Files } from "../engine.js";
import type { Message } from "../session.js";
import { worker, type Connection } from "./connection.js";

/** What is simulated: runs of a scenario, each with its changes. */
export interface Task {
    scenario: string;
    runs: string[][];
    seed?: number;
    /** How long each run is, in ns. */
    length: number;
    /** Behind how many queues, one after the other, the runs are; what people feel there is then told. */
    queues?: number;
}

/** So much is simulated before it is said how far it is, in ns. */
const AT_ONCE = 10e9;

/** One task after the other; of those that are asked for meanwhile only the last. */
export class Background<Result> {
    /** What the task that was asked for last came to, once it is there. */
    latest: Result | undefined;
    /** How far it is, from 0 to 1. */
    part = 0;
    #connection: Promise<Connection> | undefined;
    #running: Task | undefined;
    #wanted: Task | undefined;

    constructor(
        readonly changed: () => void,
        readonly read: (runs: Files[], felt: FeltTable | undefined) => Result | undefined,
        /** The server that simulates where the page cannot. */
        readonly server: () => ((task: Task) => Promise<Message>) | undefined = () => undefined,
    ) {}

    /** Whether it is simulated now. */
    get isRunning(): boolean {
        return this.#running !== undefined;
    }

    /** Simulates a task. */
    async want(task: Task): Promise<void> {
        this.latest = undefined;
        this.part = 0;
        this.#wanted = task;
        if (this.#running) return;
        this.#running = task;
        const server = this.server();
        if (server) return this.#hear(await server(task));
        this.#connection ??= worker((message) => this.#hear(message));
        // The page says by itself that the simulator cannot be loaded.
        const connection = await this.#connection.catch(() => undefined);
        if (!connection) return;
        const { length, queues, ...what } = task;
        connection.ask({ ask: "open", ...what });
        connection.ask({ ask: "speed", speed: 0 });
        for (let left = length; left > 0; left -= AT_ONCE) connection.ask({ ask: "step", step: Math.min(left, AT_ONCE) });
        connection.ask({ ask: "finish", ...(queues === undefined ? {} : { queues }) });
    }

    #hear(message: Message): void {
        if (message.type === "finished") this.#done(this.read(message.runs, message.felt));
        if (message.type === "rows" && this.#running) {
            this.part = message.frame.now / this.#running.length;
            this.changed();
        }
        // What has ended runs nothing more.
        if (message.type === "ended") this.#connection = undefined;
        // Without figures the pictures speak for themselves.
        if (message.type === "refused" || message.type === "ended") this.#done(undefined);
    }

    #done(result: Result | undefined): void {
        const isLatest = this.#running === this.#wanted;
        this.#running = undefined;
        if (!isLatest && this.#wanted) return void this.want(this.#wanted);
        this.latest = result;
        this.changed();
    }
}
