// What the first screen shows of two runs, and when: first the seconds in which the queues fill, in real time; then slow motion, in which
// single packets can be seen, and a click.

import { Reel, falls, type Seen } from "./picture.js";

/** How long the beginning is shown in real time, in ns. */
const BEGINNING = 2.4e9;
/** How far the runs are ahead of the picture: twice the longest wait of the last seconds, within these bounds, in ns. */
const AHEAD = { least: 50e6, most: 5e9 } as const;
/** How far they are at first where nothing moves, in ns. */
const FIRST = 500e6;
const LATELY = 2e9;

/** A run of the show. */
export interface Stage {
    reel: Reel;
    /** The places of the groups whose packets are the clicks, by the kind of program. */
    clicks: Record<Program, number>;
    click: Seen | undefined;
    /** Whether what became of the click was said. */
    isSaid: boolean;
    /** The waits of clicks that are over, in ns. */
    over: number[];
}

/** What sends the click. */
export type Program = "l4s" | "classic";

/** What the show asks of the runs. */
export interface Wish {
    /** Goes on by so many ns at once. */
    ahead(ns: number): void;
    /** Goes on at this speed: simulated seconds in a second. */
    pace(speed: number): void;
    /** A click is over. */
    said(): void;
}

/** The first screen's time, and its clicks. */
export class Show {
    /** The time of the picture in the runs, in ns. */
    at = 0;
    stages: Stage[] = [];
    isBeginning = true;
    program: Program = "l4s";
    /** So many times slower than real time. */
    slow = 50;
    #reached = 0;
    #asked = -1;
    /** Whether a click was asked for of which it is not known yet what becomes of it. */
    #wantsClick = false;

    constructor(
        readonly wish: Wish,
        /** Nothing moves by itself. */
        readonly isCalm: boolean,
    ) {}

    /** Two other runs, at their beginning. */
    open(stages: Pick<Stage, "reel" | "clicks">[], isIdle: boolean): void {
        this.stages = stages.map((stage) => ({ ...stage, click: undefined, isSaid: false, over: [] }));
        this.at = 0;
        this.#reached = 0;
        this.#asked = -1;
        this.#wantsClick = false;
        this.isBeginning = !isIdle && !this.isCalm;
        // A calm page begins where the queues are full; an idle link has nothing to wait for.
        this.wish.ahead(this.isBeginning ? AHEAD.least : BEGINNING + FIRST);
        this.wish.pace(this.isBeginning ? 1 : this.isCalm ? 0 : 1 / this.slow);
        if (!this.isBeginning) {
            this.at = BEGINNING;
            this.#wantsClick = true;
        }
    }

    /** Joins runs at the time that they have reached, in slow motion, without a click. */
    join(stages: Pick<Stage, "reel" | "clicks">[], at: number): void {
        this.stages = stages.map((stage) => ({ ...stage, click: undefined, isSaid: false, over: [] }));
        this.at = this.#reached = at;
        this.#asked = -1;
        this.#wantsClick = this.isBeginning = false;
    }

    /** The runs have reached a time. */
    hear(reached: number): void {
        this.#reached = reached;
        for (const { reel } of this.stages) reel.forget(this.at);
    }

    /** How far the runs must be ahead. */
    get #ahead(): number {
        const longest = Math.max(0, ...this.stages.map(({ reel }) => reel.longest(this.at - LATELY)));
        return Math.min(Math.max(2 * longest, AHEAD.least), AHEAD.most);
    }

    /** So many ms of the visitor's time went by. */
    tick(ms: number, isPlaying: boolean): void {
        if (this.#reached === 0 || this.stages.length === 0) return;
        const ahead = this.#ahead;
        const speed = this.isBeginning ? 1 : 1 / this.slow;
        if (isPlaying && !this.isCalm) {
            const wished = this.at + ms * 1e6 * speed;
            // Of what leaves later than the runs have come nobody knows yet where it stands.
            this.at = Math.max(this.at, Math.min(wished, this.#reached - ahead / 2));
            // A page that was hidden goes on where its runs are.
            if (this.#reached - this.at > ahead + 1e9 * speed) this.at = this.#reached - ahead;
        }
        this.#need(ahead);
        if (this.isBeginning && this.at >= BEGINNING) this.#slowDown();
        if (this.#wantsClick) this.#find();
        this.#over();
    }

    /** Asks for more of the runs, once for each time that they have reached. */
    #need(ahead: number): void {
        if (this.#reached - this.at >= ahead || this.#asked === this.#reached) return;
        this.#asked = this.#reached;
        this.wish.ahead(ahead - (this.#reached - this.at));
    }

    #slowDown(): void {
        this.isBeginning = false;
        this.#wantsClick = true;
        this.wish.pace(1 / this.slow);
    }

    /** Sends a click: the next packet of the visitor's program in both runs. */
    click(): void {
        if (this.isBeginning) {
            this.isBeginning = false;
            this.wish.pace(1 / this.slow);
        }
        this.#wantsClick = true;
        if (this.isCalm) {
            // The picture is set to its arrival, so time has to pass between two clicks.
            this.at = Math.max(this.at + 20e6, ...this.stages.map(({ click }) => (click?.gone ?? 0) + 1e6));
            this.#need(this.#ahead);
        }
        this.#find();
        this.#over();
    }

    /** Another speed of slow motion. */
    pace(slow: number): void {
        this.slow = slow;
        this.wish.pace(this.isBeginning ? 1 : 1 / slow);
    }

    /** Goes on by so many ns, without moving by itself. */
    step(ns: number): void {
        this.isBeginning = false;
        this.at += ns;
        this.#need(this.#ahead);
        this.#over();
    }

    #find(): void {
        const after = this.at + (this.isCalm ? 0 : falls(this.slow));
        const found = this.stages.map(({ reel, clicks }) => reel.next(clicks[this.program], after));
        if (found.some((click) => !click)) return;
        this.#wantsClick = false;
        this.stages.forEach((stage, side) => Object.assign(stage, { click: found[side], isSaid: false }));
        // Nothing moves: the picture shows it where it joined, and the whole of its wait.
        if (this.isCalm) this.at = Math.max(...found.map((click) => click?.arrive ?? 0));
    }

    #over(): void {
        for (const stage of this.stages) {
            const { click } = stage;
            if (!click || stage.isSaid || (this.at < click.gone && !this.isCalm)) continue;
            stage.isSaid = true;
            if (click.fate === "passed" || click.fate === "marked") stage.over.push(click.wait);
            this.wish.said();
        }
    }
}
