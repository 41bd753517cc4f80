// What the page knows, and what it asks: the bench that is set up, the runs that go on, what they have told.

import { demonstration, difference, fragment, fromFragment, MOST, queueChanges, scenario, type Bench } from "../bench.js";
import type { Catalogue } from "../catalogue.js";
import type { About, Files } from "../engine.js";
import { front, FRONT, minute, type Minute, type More } from "../front.js";
import { History, type Event } from "../history.js";
import { SPEEDS, type Frame } from "../pace.js";
import { Reel } from "../picture.js";
import type { Message } from "../session.js";
import { Show, type Program, type Stage } from "../show.js";
import { TOUR } from "../tour.js";
import { lanesOf } from "./front.js";
import { Background, type Task } from "./background.js";
import { distant, server, served, token, worker, type Connection, type Served } from "./connection.js";

/** The fastest that the page's link can become while it runs. */
const FASTEST = 1e9;

/** So much is simulated at a time, in ns: of more packets than these the page would be told a sample. */
const AT_ONCE = 500e6;

/** What an address of the cockpit has; one of the first screen has the downloads, and the queues above and below. */
const COCKPIT = ["rate", "rtt", "queues", "classic", "l4s", "udp", "seed", "scenario"];

/** A run that is shown. */
export interface Side {
    about: About;
    history: History;
    /** What repeats it. */
    scenario: string;
    files?: Files;
}

/** What the page knows. */
export class Store {
    bench: Bench;
    /** A scenario that is no bench: the server's, or the address's. */
    own: string | undefined;
    /** What was changed of it, with `--set` or while it ran. */
    sides: Side[] = [];
    frame: Frame | undefined;
    speed = 1;
    isPlaying = true;
    catalogue: Catalogue | undefined;
    served: Served | undefined;
    /** What is wrong, in words. */
    problem: string | undefined;
    /** How far a run is that is shown once it is over, in ns. */
    progress: { now: number; duration: number } | undefined;
    /** Nothing goes on any more. */
    isLost = false;
    cause: { event: Event; side: number } | undefined;
    /** Whether the first screen is shown, and not the cockpit. */
    isFront: boolean;
    /** Whether this is a figure in another page. */
    readonly isEmbedded: boolean;
    /** The step of the tour, if it is shown; and what the bench of the first screen has besides downloads. */
    stepOfTour: number | undefined;
    more: More = {};
    /** The minute of both queues of the first screen, and the evenings of a household. */
    readonly minutes = new Background(
        () => this.tell(),
        (runs) => {
            const [above, below] = runs.map(({ summary }) => JSON.parse(summary) as Minute);
            return above && below ? ([above, below] as const) : undefined;
        },
        () => this.#distant,
    );
    readonly evenings = new Background(
        () => this.tell(),
        (_, felt) => felt,
        () => this.#distant,
    );
    readonly show: Show;
    /** Values of live parameters of queues, by their keys. */
    readonly parameters = new Map<string, string>();
    #connection: Connection | undefined;
    #listeners = new Set<() => void>();
    #token: string | null = null;
    #changed: number | undefined;
    /** The place of the link that is looked at, and whether in its reverse direction. */
    #link = 0;
    #isUp = false;
    /** Whether the next rows are the first after a change, and drawn at once. */
    #isAwaited = false;
    /** Whether somebody has asked for a new run. */
    #isAnew = false;
    /** Whether what was asked last are changes of the bench. */
    #isChanging = false;

    constructor() {
        this.#token = token();
        const words = new URLSearchParams(location.hash.slice(1));
        const { bench, problems } = fromFragment(location.hash);
        this.bench = bench;
        this.own = words.get("scenario") ?? undefined;
        // An address that sets up a bench is of the cockpit.
        this.isFront = this.own === undefined && ![...words.keys()].some((key) => COCKPIT.includes(key));
        this.isEmbedded = this.isFront && words.has("embed");
        if (this.isFront) {
            const [downloads, ...queues] = [words.get("downloads"), words.get("above"), words.get("below")];
            const count = /^[0-9]+$/.test(downloads ?? "") ? Math.min(Number(downloads), FRONT.most) : FRONT.first;
            const known = (queue: string | null, place: number): string => (queue !== null && /^[a-z0-9_]+(:[^\s]+)?$/.test(queue) ? queue : (FRONT.queues[place] ?? ""));
            this.bench = front(count, queues.map(known));
            const step = Number(words.get("tour") ?? 0) - 1;
            if (TOUR[step]) this.#setStep(step);
        }
        this.show = new Show(
            {
                ahead: (ns) => this.#ahead(ns),
                pace: (speed) => this.isFront && this.#connection?.ask({ ask: "speed", speed: this.isPlaying ? speed : 0 }),
                said: () => this.tell(),
            },
            matchMedia("(prefers-reduced-motion: reduce)").matches,
        );
        if (problems.length > 0) this.problem = `The address has what this page does not know: ${problems.join(", ")}`;
    }

    /** The queue of a side, as its heading has it. */
    queueOf(place: number): string {
        if (this.own === undefined) return this.bench.queues[place] ?? "";
        const kinds = this.sides[place]?.about.links.map(({ queue }) => queue) ?? [];
        return kinds.join(" + ") || (this.served?.name ?? "scenario");
    }

    /** Looks at another link of the scenario, or in its other direction. */
    look(link: number, isUp: boolean): void {
        [this.#link, this.#isUp] = [link, isUp];
        for (const { history } of this.sides) Object.assign(history, { link, isUp });
        if (!this.isFront) this.#join();
        this.tell();
    }

    /** Whether the cockpit's pictures show single packets. */
    get isSlow(): boolean {
        return !this.isFront && this.speed < SPEEDS.usual;
    }

    /** Whether they can. */
    get canSlow(): boolean {
        return !this.isRealTime && this.sides.length > 0 && this.sides.every(({ history }) => history.seesPackets) && this.frame?.isOver !== true;
    }

    /** Slow motion, or the usual speed. */
    slowly(isSlow: boolean): void {
        this.pace(isSlow ? 1 / this.show.slow : 1, true);
        this.#join();
        this.tell();
    }

    /** What the keys of a link begin with. */
    linkKey(link: number): string {
        const links = this.sides[0]?.about.links ?? [];
        return links.length > 1 ? `link.${links[link]?.name ?? ""}` : "link";
    }

    /** Whether the world cannot be paused or run faster. */
    get isRealTime(): boolean {
        return this.served?.mode === "live";
    }

    /** Whether two queues can be simulated, which the first screen needs. */
    get canFront(): boolean {
        return !this.served || (this.served.mode === "sim" && !this.served.read_only);
    }

    /** The server, where it simulates what the page cannot. */
    get #distant(): ((task: Task) => Promise<Message>) | undefined {
        const token = this.#token;
        return this.served && !this.served.wasm && token !== null ? (task) => distant(token, task) : undefined;
    }

    /** Whether nothing can be changed. */
    get isReadOnly(): boolean {
        return this.served?.mode === "result" || this.served?.mode === "virtual" || this.served?.read_only === true;
    }

    /** Calls `listener` after each change. */
    listen(listener: () => void): () => void {
        this.#listeners.add(listener);
        return () => this.#listeners.delete(listener);
    }

    /** Connects, and starts what the address or the server says. */
    async connect(): Promise<void> {
        if (this.#token) this.served = await served(this.#token);
        if (this.served?.scenario) this.own = this.served.scenario;
        const { speed = 1 } = this.served ?? {};
        this.speed = speed === "max" ? SPEEDS.fastest : speed;
        try {
            const inPage = !this.served || (this.served.mode === "sim" && this.served.wasm);
            if (this.isFront && (!this.canFront || this.own !== undefined)) {
                this.isFront = false;
                if (this.own === undefined) this.bench = demonstration();
            }
            this.#connection = inPage ? await worker((message) => this.#hear(message)) : server(this.#token ?? "", (message) => this.#hear(message));
        } catch (error) {
            const why = error instanceof Error ? error.message : String(error);
            this.problem = `${why}. Open the address that quell serve printed, or serve this folder by any web server.`;
            this.isLost = true;
            return this.tell();
        }
        this.#connection.ask({ ask: "catalogue" });
        // Real packets have begun when the first page came, or do now; the others join in.
        const isGiven = this.served?.mode === "result" || this.served?.mode === "virtual" || (this.isRealTime && this.own !== undefined);
        if (!isGiven || this.#isAnew) this.open();
        if (!this.isRealTime && speed !== "max" && !this.isFront) this.#connection.ask({ ask: "speed", speed });
        this.tell();
    }

    /** Starts anew. */
    open(): void {
        this.#isChanging = false;
        this.cause = undefined;
        this.parameters.clear();
        // What has ended stands still; a new run goes on.
        if (this.sides.some(({ files }) => files) && !this.isRealTime) this.pace(this.speed, true);
        if (this.isFront) void this.minutes.want(minute(this.bench));
        const own = this.own;
        const text = own ?? scenario(this.bench);
        const runs = own === undefined ? queueChanges(this.bench) : [[]];
        this.#connection?.ask({
            ask: "open",
            scenario: text,
            runs,
            ...(own === undefined ? { seed: this.bench.seed, moreFlows: MOST.flows, fastest: FASTEST } : {}),
        });
    }

    /** Sets up another bench: by changes if that can be done while it runs, else anew. */
    set(bench: Bench): void {
        const changes = this.own === undefined && !this.isLost ? difference(this.bench, bench, this.sides[0]?.about.groups ?? []) : undefined;
        const wasOwn = this.own !== undefined;
        this.own = undefined;
        this.bench = bench;
        if (changes && !wasOwn && this.sides.length > 0) {
            this.#isChanging = true;
            for (const { key, value } of changes) this.#connection?.ask({ ask: "change", key, value });
        } else this.open();
        this.#remember();
        this.tell();
    }

    /** Sets up another bench, and starts it anew: what is shown is of it alone. */
    begin(bench: Bench): void {
        this.own = undefined;
        this.bench = bench;
        this.open();
        this.#remember();
        this.tell();
    }

    /** The downloads of the first screen. */
    get downloads(): number {
        return this.bench.users.classic.downloads + this.bench.users.l4s.downloads;
    }

    /** Shows the first screen with so many downloads, behind two queues, from their beginning. */
    front(downloads: number, queues: readonly string[] = this.bench.queues): void {
        this.isFront = true;
        this.isPlaying = true;
        this.begin(front(downloads, queues, this.more));
    }

    /** Shows a step of the tour from its beginning; none leaves it. */
    tour(step: number | undefined): void {
        this.isFront = true;
        this.isPlaying = true;
        this.#setStep(step);
        this.begin(this.bench);
    }

    #setStep(step: number | undefined): void {
        const found = step === undefined ? undefined : TOUR[step];
        this.stepOfTour = found ? step : undefined;
        this.more = found?.more ?? {};
        this.bench = found ? front(found.downloads, found.queues, found.more) : front(FRONT.first);
    }

    /** Shows all that can be set and seen, of the same downloads. */
    cockpit(bench: Bench = { ...structuredClone(this.bench), clicks: false, smallItems: false }): void {
        this.isFront = false;
        this.stepOfTour = undefined;
        this.begin(bench);
        this.pace(1, true);
    }

    /** A click of the first screen, from another program if one is given. */
    click(program: Program = this.show.program): void {
        this.show.program = program;
        this.show.click();
        this.tell();
    }

    /** The first screen stands still, or goes on. */
    rest(isResting: boolean): void {
        this.isPlaying = !isResting;
        this.show.pace(this.show.slow);
        this.tell();
    }

    /** Changes a part of the bench. */
    change(act: (bench: Bench) => void): void {
        const bench = structuredClone(this.bench);
        act(bench);
        this.set(bench);
    }

    /** Changes a key of one run, or of all. */
    put(key: string, value: string, run?: number): void {
        this.#isChanging = false;
        this.parameters.set(run === undefined ? key : `${run}:${key}`, value);
        this.#connection?.ask({ ask: "change", key, value, ...(run === undefined ? {} : { run }) });
        this.tell();
    }

    /** Goes on at another speed; 0 is a pause. */
    pace(speed: number, isPlaying = this.isPlaying): void {
        this.speed = speed;
        this.isPlaying = isPlaying;
        this.#connection?.ask({ ask: "speed", speed: isPlaying ? speed : 0 });
        this.tell();
    }

    /** Goes on by `ns`, and pauses there. */
    step(ns: number): void {
        this.pace(this.speed, false);
        this.#connection?.ask({ ask: "step", step: ns });
    }

    /** Ends the runs, and asks for their results. */
    finish(): void {
        this.#connection?.ask({ ask: "finish" });
    }

    /** Shows why an event took so long; nothing for none. */
    why(event: Event | undefined, side = 0): void {
        this.cause = event && { event, side };
        this.tell();
    }

    /** Says what is wrong no longer. */
    forgive(): void {
        this.problem = undefined;
        this.tell();
    }

    tell(): void {
        for (const listener of this.#listeners) listener();
    }

    /** The address follows the bench, a little later: browsers allow few changes in a second. */
    #remember(): void {
        clearTimeout(this.#changed);
        this.#changed = setTimeout(() => {
            const words = this.own === undefined ? fragment(this.bench) : new URLSearchParams({ scenario: this.own }).toString();
            history.replaceState(null, "", `#${this.isFront ? this.#frontWords() : words}`);
        }, 300) as unknown as number;
    }

    #ahead(ns: number): void {
        for (let left = ns; left > 0; left -= AT_ONCE) this.#connection?.ask({ ask: "step", step: Math.min(left, AT_ONCE) });
    }

    #frontWords(): string {
        const [above = "", below = ""] = this.bench.queues;
        const words = new URLSearchParams({ downloads: String(this.downloads), above, below });
        if (this.isEmbedded) words.set("embed", "");
        if (this.stepOfTour !== undefined) words.set("tour", String(this.stepOfTour + 1));
        return words.toString();
    }

    #hear(message: Message): void {
        switch (message.type) {
            case "opened":
                this.problem = undefined;
                this.progress = undefined;
                this.frame = undefined;
                this.sides = message.runs.map((about) => ({ about, history: new History(about), scenario: about.scenario }));
                this.look(this.#link < (this.sides[0]?.about.links.length ?? 0) ? this.#link : 0, this.#isUp);
                if (this.isFront) this.#begin();
                break;
            case "rows":
                this.frame = message.frame;
                // The first screen shows nothing of the past.
                if (!this.isFront) message.runs.forEach((news, place) => this.sides[place]?.history.hear(news, message.frame.now));
                if (this.isFront || this.isSlow) {
                    const links = this.show.stages.length / this.sides.length;
                    this.show.stages.forEach(({ reel }, place) => {
                        const { packets } = message.runs[Math.floor(place / links)] ?? {};
                        if (packets) reel.hear(packets);
                    });
                    this.show.hear(message.frame.now);
                }
                // Rows are told often; the page is drawn in its own time.
                if (!this.#isAwaited) return;
                this.#isAwaited = false;
                break;
            case "changed": {
                this.#isAwaited = true;
                const side = this.sides[message.run];
                if (side) {
                    side.scenario = message.scenario;
                    side.history.about = message.about;
                }
                break;
            }
            case "progress":
                this.progress = message;
                break;
            case "catalogue":
                this.catalogue = message.catalogue;
                break;
            case "finished":
                this.isPlaying = false;
                message.runs.forEach((files, place) => {
                    const side = this.sides[place];
                    if (side) side.files = files;
                });
                break;
            case "refused":
                // A change that cannot be made while the run goes on is a bench of its own.
                if (this.#isChanging && this.own === undefined) return this.open();
                this.problem = message.why;
                break;
            case "ended":
                this.problem = `${message.why}. Start anew to go on.`;
                this.isLost = true;
        }
        this.tell();
    }

    /** The first screen begins with its runs. */
    #begin(): void {
        this.show.open(this.#stages(), this.downloads === 0);
    }

    /** The cockpit's pictures show what its runs are at. */
    #join(): void {
        this.show.join(this.#stages(), this.frame?.now ?? 0);
    }

    /** One for each link of each side. */
    #stages(): Pick<Stage, "reel" | "clicks">[] {
        return this.sides.flatMap(({ about: { groups }, history }) =>
            history.inDirection.map(({ queues }, link) => {
                const names = queues.map(({ name }) => name);
                const lane = (queue: number): number => (lanesOf(names) === 2 && names[queue] === "classic" ? 1 : 0);
                return { reel: new Reel(lane, link, history.isUp), clicks: { l4s: groups.indexOf("l4s-click"), classic: groups.indexOf("classic-click") } };
            }),
        );
    }

    /** After an end: a new Worker or stream, and the same bench. */
    async restart(): Promise<void> {
        if (this.isLost) {
            this.#connection?.close();
            this.isLost = false;
            this.problem = undefined;
            this.#isAnew = !this.isReadOnly;
            await this.connect();
        } else this.open();
        this.frame = undefined;
        if (!this.isRealTime) this.pace(this.speed);
    }
}

