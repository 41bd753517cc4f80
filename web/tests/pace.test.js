// Runs follow the clock of a page, and never hold it up.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Pace } from "../lib/pace.js";

const FRAME = 16;

/** A run of which a second of simulated time takes `cost` ms, on a clock that it moves itself. */
class Machine {
    now = 0;
    reached = 0;
    longest = 0;
    isOver = false;

    constructor(cost) {
        this.cost = cost;
    }

    advance(until) {
        this.now += ((until - this.reached) / 1e9) * this.cost;
        this.reached = until;
        return until;
    }

    /** So many frames; returns the last. */
    frames(pace, count) {
        let frame;
        for (let n = 0; n < count; n++) {
            const began = this.now;
            frame = pace.frame([this]);
            this.longest = Math.max(this.longest, this.now - began);
            this.now = Math.max(this.now, began + FRAME);
        }
        return frame;
    }
}

test("a run keeps to the speed that is wished, also where a page skips frames", () => {
    const machine = new Machine(5);
    const pace = new Pace(() => machine.now);
    machine.frames(pace, 2);
    machine.now += 100;
    pace.speed = 2;
    const before = machine.now;
    machine.frames(pace, 101);
    const expected = (machine.now - FRAME - before) * 2e6;
    assert.ok(Math.abs(pace.now - 16e6 - expected) < 1, `${pace.now} ${expected}`);
});

test("no frame is held up, however costly a run is, and a machine that is too slow says so", () => {
    // A second takes four: at most half of a frame may go to it.
    for (const cost of [4_000, 40_000]) {
        const machine = new Machine(cost);
        const pace = new Pace(() => machine.now);
        machine.frames(pace, 20);
        machine.longest = 0;
        const frame = machine.frames(pace, 1_500);
        assert.ok(machine.longest < 12, `${machine.longest} ms`);
        const possible = 8 / FRAME / (cost / 1e3);
        assert.ok(frame.reached > 0.5 * possible && frame.reached < 1.5 * possible, `${frame.reached} of ${possible}`);
        assert.equal(frame.wished, 1);
    }
});

test("a pause is a pause, and a step is a step", () => {
    const machine = new Machine(1);
    const pace = new Pace(() => machine.now);
    pace.speed = 0;
    assert.equal(machine.frames(pace, 50).now, 0);
    assert.equal(pace.step([machine], 5e6).now, 5e6);
    pace.speed = 1;
    machine.now += 10_000;
    // What a pause took is not made up for.
    assert.equal(machine.frames(pace, 1).now, 5e6);
    assert.equal(machine.frames(pace, 1).now, 5e6 + FRAME * 1e6);
});

test("the speed stays within its limits", () => {
    const pace = new Pace(() => 0);
    const speeds = [1_000, 0.001, -3, 7].map((speed) => {
        pace.speed = speed;
        return pace.speed;
    });
    assert.deepEqual(speeds, [100, 1 / 200, 0, 7]);
});

test("a clock that stands still within a frame ends it all the same", () => {
    let advanced = 0;
    let now = 0;
    const pace = new Pace(() => now);
    const run = { isOver: false, advance: (until) => (advanced = until) };
    pace.frame([run]);
    now = 16;
    assert.equal(pace.frame([run]).now, 16e6);
    assert.equal(advanced, 16e6);
});
