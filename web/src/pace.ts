// How far runs are simulated in each frame of a page.
//
// Runs follow the wall clock at a chosen speed, and a frame may take only so long: slices are as long as the last ones say that there is
// time for. A machine that cannot keep up falls behind, and says so; it never tries to catch up later.

/** What can be simulated. */
export interface Simulated {
    /** Goes on until a time, or to its end, and returns the time that is reached. */
    advance(until: number): number;
    readonly isOver: boolean;
}

/** How a frame went. */
export interface Frame {
    /** The simulated time that all runs have reached, in ns. */
    now: number;
    /** Simulated time over real time, as wished and as it was in the last seconds. */
    wished: number;
    reached: number;
    /** Whether each run is over. */
    isOver: boolean;
}

/** The slowest and fastest speed: simulated seconds in a second. The first is of slow motion; a page lets people choose from `usual` on. */
export const SPEEDS = { slowest: 1 / 200, usual: 0.1, fastest: 100 } as const;

/** The first slice, in ns of simulated time: nothing is known yet of its cost. */
const FIRST = 1e6;
/** The least, so that a frame ends. */
const LEAST = 1e4;
/** How fast the memory of speed fades, in ms. */
const FADES = 2_000;

const areOver = (runs: readonly Simulated[]): boolean => runs.length > 0 && runs.every((run) => run.isOver);

/** Goes on until `until` in all runs, and returns the time that is reached: no time is later than the end of the runs. */
function advance(runs: readonly Simulated[], until: number): number {
    const reached = runs.map((run) => run.advance(until));
    return areOver(runs) ? Math.max(...reached) : until;
}

/** Paces runs on one clock. */
export class Pace {
    #speed = 1;
    #now = 0;
    #before: number | undefined;
    /** Simulated ns in a millisecond of processor time. */
    #rate: number | undefined;
    #reached: number;

    /** `clock` gives milliseconds; a frame may simulate for `budget` of them. */
    constructor(
        readonly clock: () => number,
        readonly budget = 8,
    ) {
        this.#reached = this.#speed;
    }

    /** Simulated seconds in a second; 0 is a pause. */
    get speed(): number {
        return this.#speed;
    }

    set speed(speed: number) {
        this.#speed = speed <= 0 ? 0 : Math.min(Math.max(speed, SPEEDS.slowest), SPEEDS.fastest);
        this.#reached = this.#speed;
        this.#before = undefined;
    }

    /** The simulated time that is reached, in ns. */
    get now(): number {
        return this.#now;
    }

    /** Begins again at time zero, at the same speed. */
    restart(): void {
        this.#now = 0;
        this.#before = undefined;
        this.#rate = undefined;
        this.#reached = this.#speed;
    }

    /** One frame: simulates what the clock and the budget allow. */
    frame(runs: readonly Simulated[]): Frame {
        const began = this.clock();
        const elapsed = this.#before === undefined ? 0 : began - this.#before;
        this.#before = began;
        const start = this.#now;
        this.#until(runs, start + elapsed * this.#speed * 1e6, began);
        if (elapsed > 0 && this.#speed > 0) {
            const speed = (this.#now - start) / (elapsed * 1e6);
            const weight = Math.min(elapsed / FADES, 1);
            this.#reached += weight * (speed - this.#reached);
        }
        return this.#told(runs);
    }

    /** Goes on by `step` ns of simulated time, however long that takes. */
    step(runs: readonly Simulated[], step: number): Frame {
        this.#now = advance(runs, this.#now + step);
        this.#before = undefined;
        return this.#told(runs);
    }

    #until(runs: readonly Simulated[], target: number, began: number): void {
        let at = began;
        while (this.#now < target && at - began < this.budget) {
            const left = this.budget - (at - began);
            const slice = this.#rate === undefined ? FIRST : Math.max(LEAST, (this.#rate * left) / 2);
            const until = Math.min(target, this.#now + slice);
            const now = advance(runs, until);
            const after = this.clock();
            // Clocks of pages are coarse: what took no time says nothing.
            if (after > at) {
                const rate = (until - this.#now) / (after - at);
                this.#rate = this.#rate === undefined ? rate : 0.7 * this.#rate + 0.3 * rate;
            } else {
                this.#rate = 2 * (this.#rate ?? FIRST);
            }
            this.#now = now;
            at = after;
            if (now < until) break;
        }
    }

    #told(runs: readonly Simulated[]): Frame {
        return {
            now: this.#now,
            wished: this.#speed,
            reached: this.#reached,
            isOver: areOver(runs),
        };
    }
}
