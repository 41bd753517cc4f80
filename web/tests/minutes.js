// A minute of the two queues of a bench of the first screen, for three seeds; and what a figure may be.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Engine } from "../lib/engine.js";
import { minute, MINUTE_NS } from "../lib/front.js";

export const skip = process.env.WASM ? false : "there is no quell.wasm";
const SEEDS = [1, 2, 3];

/** The summaries above and below, of each seed. */
export async function minutes(bench) {
    const module = await WebAssembly.compile(readFileSync(process.env.WASM));
    const all = [];
    for (const seed of SEEDS) {
        const { scenario, runs } = minute({ ...bench, seed });
        const pair = [];
        for (const changes of runs) {
            const engine = await Engine.load(module);
            const one = engine.open(scenario, { changes, seed });
            one.advance(MINUTE_NS);
            pair.push(JSON.parse(one.finish().summary));
        }
        all.push(pair);
    }
    return all;
}

export const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/**
 * A figure that the page prints, which is of one seed, is that of all: no farther from their mean than two standard deviations, beside what
 * rounding to two digits leaves.
 */
export function holds(printed, values, what) {
    const middle = mean(values);
    const deviation = Math.sqrt(mean(values.map((value) => (value - middle) ** 2)) * (values.length / (values.length - 1)));
    const rounding = Math.max(0.05 * Math.abs(middle), 0.01);
    assert.ok(Number.isFinite(printed) && Math.abs(printed - middle) <= 2 * deviation + rounding, `${what}: ${printed}, by the seeds ${values.join(", ")}`);
}
