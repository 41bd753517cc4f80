// What the page computes of what it is told.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { demonstration, MOST, scenario } from "../lib/bench.js";
import { range, read, slides, written } from "../lib/catalogue.js";
import { Engine } from "../lib/engine.js";
import { ccdf, History, quantile } from "../lib/history.js";
import { idleTime } from "../lib/idle.js";

const skip = process.env.WASM ? false : "there is no quell.wasm";
const load = async () => Engine.load(await WebAssembly.compile(readFileSync(process.env.WASM)));

test("quantiles count what each value stands for", () => {
    const values = () => [{ value: 3, weight: 1 }, { value: 1, weight: 98 }, { value: 2, weight: 1 }];
    assert.equal(quantile(values(), 0.5), 1);
    assert.equal(quantile(values(), 0.99), 2);
    assert.equal(quantile(values(), 1), 3);
    assert.equal(quantile([], 0.5), undefined);
});

test("a CCDF begins at one, falls, and ends at the share of the largest", () => {
    const values = Array.from({ length: 10_000 }, (_, place) => ({ value: place + 1, weight: place === 9_999 ? 2 : 1 }));
    const [xs, ys] = ccdf(values);
    assert.ok(xs.length > 100 && xs.length < 300, `${xs.length}`);
    assert.deepEqual([xs[0], ys[0], xs.at(-1), ys.at(-1)], [1, 1, 10_000, 2 / 10_001]);
    for (let place = 1; place < xs.length; place++) assert.ok(xs[place] > xs[place - 1] && ys[place] < ys[place - 1]);
    assert.deepEqual(ccdf([]), [[], []]);
});

test("numbers of parameters read back as they were written", () => {
    for (const [domain, value, text] of [
        [{ type: "time", unit: "ns" }, 15e6, "15ms"],
        [{ type: "time", unit: "ns" }, 999, "999ns"],
        [{ type: "rate", unit: "bit" }, 40e6, "40mbit"],
        [{ type: "packets", unit: "p" }, 1000, "1000p"],
        [{ type: "fraction" }, 0.3125, "0.3125"],
        [{ type: "integer" }, 8, "8"],
    ]) {
        assert.equal(written(domain, value), text);
        assert.equal(read(text), value);
    }
    assert.equal(read("fast"), undefined);
});

test("what a slider of each live parameter says is taken by a run", { skip }, async () => {
    const engine = await load();
    let count = 0;
    for (const queue of engine.catalogue().queues) {
        const text = scenario({ ...demonstration(), queues: [queue.name] });
        for (const parameter of queue.parameters.filter((parameter) => parameter.live && parameter.only === null && slides(parameter))) {
            const [low, high] = range(parameter);
            const run = engine.open(text);
            run.advance(1e8);
            for (const value of [low || high / 1e4, Math.sqrt((low || high / 1e4) * high), high]) {
                try {
                    run.change(`link.queue.${parameter.name}`, written(parameter.domain, value));
                    count++;
                } catch (error) {
                    // Some have to stay on one side of another parameter, or have an effect only beside it, and say so.
                    assert.match(error.message, /only with|must be (above|below|at least|at most|larger|smaller|less|more|from|between|an? )|memory|greater/, `${queue.name} ${parameter.name}: ${error.message}`);
                }
            }
            run.close();
        }
    }
    assert.ok(count > 100, `${count}`);
});

test("items over an idle link take what the curve says", { skip }, async () => {
    const engine = await load();
    const bench = demonstration();
    for (const user of Object.values(bench.users)) user.downloads = 0;
    const run = engine.open(scenario(bench), { moreFlows: MOST.flows, fastest: 1e9 });
    const history = new History(run.about);
    for (let now = 1e9; now <= 60e9; now += 1e9) {
        run.advance(now);
        const rows = Object.fromEntries(["queues", "flows", "events"].map((series) => [series, run.rows(series)]));
        history.hear({ rows, packets: run.packets(), words: run.words }, now);
    }
    const ratios = history.events.filter(({ outcome }) => outcome === "complete").map((event) => (event.lastByte - event.started) / 1e6 / idleTime(event.size, 40e6, 7)).sort((one, other) => one - other);
    assert.ok(ratios.length > 800, `${ratios.length}`);
    // Two items seldom meet; most have the link alone.
    assert.ok(ratios[0] > 0.99, `${ratios[0]}`);
    assert.ok(ratios[Math.floor(ratios.length / 2)] < 1.02, `${ratios[Math.floor(ratios.length / 2)]}`);
    assert.ok(history.seesPackets && history.packets.every(({ time }) => time >= 0));
    assert.deepEqual(history.queues.map(({ name }) => name), ["l4s", "classic"]);
});

test("a history forgets what is older than a minute, and keeps within its bounds", { skip }, async () => {
    const engine = await load();
    const run = engine.open(scenario(demonstration()), { moreFlows: MOST.flows, fastest: 1e9 });
    const history = new History(run.about);
    for (let now = 5e9; now <= 200e9; now += 5e9) {
        run.advance(now);
        const rows = Object.fromEntries(["queues", "flows", "events"].map((series) => [series, run.rows(series)]));
        history.hear({ rows, packets: run.packets(), words: run.words }, now);
    }
    assert.ok(history.queues.every(({ rows }) => rows.length <= 664 && rows[0].time > 130e9));
    assert.ok(history.packets.length <= 60_000 && history.packets[0].time >= 138e9);
    assert.ok(history.events.length > 500 && history.events.length < 2_000, `${history.events.length}`);
});
