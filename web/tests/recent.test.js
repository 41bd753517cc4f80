// Figures of what was measured last are those that their labels name.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Engine, SERIES } from "../lib/engine.js";
import { History, quantile } from "../lib/history.js";
import { Pace } from "../lib/pace.js";
import { recent, shares, utilisation } from "../lib/recent.js";

const skip = process.env.WASM ? false : "there is no quell.wasm";
const load = async () => Engine.load(await WebAssembly.compile(readFileSync(process.env.WASM)));
const HOME = new URL("../../../crates/scenario/src/starts/home.toml", import.meta.url);

const news = (run) => ({ rows: Object.fromEntries(SERIES.map((series) => [series, run.rows(series)])), packets: run.packets(), words: run.words });

/** Hears a run in steps of `step` seconds until `until`. */
function hear(run, until, step = 1, history = new History(run.about), each = () => {}) {
    for (let now = history.now + step * 1e9; now <= until * 1e9; now += step * 1e9) {
        run.advance(now);
        const heard = news(run);
        each(heard);
        history.hear(heard, now);
    }
    return history;
}

const two = (interval, more = "") => `
schema = 1
name = "two"
[link]
rate = "10mbit"
queue = "fifo"
[link.reverse]
rate = "4mbit"
[[group]]
name = "a-slow-one"
rtt = "20ms"
app = "bulk"
[[group]]
name = "udp"
rtt = "40ms"
app = "bulk"
[[group]]
name = "sent"
direction = "reverse"
rtt = "20ms"
app = "bulk"
[[group]]
name = "other"
rtt = "20ms"
app = { kind = "cbr", size = "1000B", interval = "20ms" }
[run]
duration = "20s"
warmup = "0s"
interval = "${interval}"
${more}
`;

test("shares count by kind and direction, whatever groups are called", { skip }, async () => {
    const engine = await load();
    const home = hear(engine.open(readFileSync(HOME, "utf8")), 30);
    const window = home.window(1e9);
    const [down, up] = [shares(home, false, window), shares(home, true, window)];
    assert.deepEqual([down.equal, up.equal], [50e6, 20e6]);
    assert.deepEqual(up.groups.map(({ name }) => name), ["backup"]);
    const names = down.groups.map(({ name }) => name);
    for (const name of ["downloads", "call", "game"]) assert.ok(names.includes(name), `${name}: ${names}`);
    // What two downloads and one upload can reach at most, less their headers.
    const sum = down.groups.reduce((sum, { share, flows }) => sum + share * flows, 0);
    assert.ok(sum > 1 && sum <= 2, `${sum}`);
    assert.ok(up.groups[0].share > 0.5 && up.groups[0].share <= 1, `${up.groups[0].share}`);
    assert.ok(down.groups.find(({ name }) => name === "call").share < 0.01);

    const own = hear(engine.open(two("100ms")), 10);
    const shared = shares(own, false, own.window(1e9));
    assert.equal(shared.equal, 5e6, "two downloads, whose names say nothing");
    assert.deepEqual(shared.groups.map(({ name }) => name), ["a-slow-one", "udp", "other"]);
});

test("rates and shares follow the rate of the link: as scripted, and as changed", { skip }, async () => {
    const engine = await load();
    const run = engine.open(two("100ms", '[[at]]\ntime = "5s"\nset = { "link.rate" = "5mbit" }\n'));
    const history = hear(run, 4);
    const used = () => utilisation(history, history.window(1e9));
    assert.equal(history.rate("forward"), 10e6);
    assert.ok(used() > 0.75 && used() <= 1.01, `${used()}`);
    hear(run, 8, 1, history);
    assert.equal(history.rate("forward"), 5e6);
    assert.ok(used() > 0.75 && used() <= 1.01, `${used()}`);
    history.about = run.change("link.rate", "2.5mbit");
    hear(run, 12, 1, history);
    assert.equal(history.rate("forward"), 2.5e6);
    assert.equal(history.rate("reverse"), 4e6);
    assert.ok(used() > 0.75 && used() <= 1.01, `${used()}`);
});

test("where intervals are long, figures are of the last one", { skip }, async () => {
    const history = hear(await load().then((engine) => engine.open(two("4s"))), 15, 0.5);
    const window = history.window(1e9);
    assert.deepEqual(window, { from: 11e9, to: 12e9, length: 4e9 });
    const rates = shares(history, false, window).groups.map(({ rate }) => rate);
    const sum = rates.reduce((sum, rate) => sum + rate, 0);
    assert.ok(sum > 9e6 && sum < 10e6, `${rates}`);
});

test("a run that has ended is as long as it was, and keeps its last figures", { skip }, async () => {
    const run = (await load()).open(two("100ms"));
    const history = new History(run.about);
    let clock = 0;
    const pace = new Pace(() => (clock += 7), 1_000);
    pace.speed = 100;
    let frame;
    do {
        frame = pace.frame([run]);
        history.hear(news(run), frame.now);
        clock += 9;
    } while (!frame.isOver);
    assert.equal(frame.now, 20e9, "not a slice later");
    assert.equal(pace.step([run], 1e9).now, 20e9);
    const window = history.window(1e9);
    for (const place of [0, 1, 2, 3]) {
        const { flows, rate, each } = recent(history, place, window);
        assert.equal(flows, 1);
        assert.ok(rate > 100e3 && each > 100e3, `${place}: ${rate} ${each}`);
    }
    assert.ok(utilisation(history, window) > 0.75);
});

test("the RTT of the last ten seconds is their mean, not the last sample", { skip }, async () => {
    const run = (await load()).open(two("100ms"));
    const samples = [];
    const history = hear(run, 15, 1, undefined, ({ rows: { flows } }) => {
        for (let row = 0; row < flows.count; row++) {
            const [time, group, rtt] = ["time_ns", "group", "rtt_ns"].map((name) => flows.columns[name][row]);
            if (group === 0 && time > 5e9) samples.push(rtt);
        }
    });
    assert.equal(samples.length, 100);
    const mean = samples.reduce((sum, rtt) => sum + rtt, 0) / samples.length;
    const { rtt } = recent(history, 0, history.window(10e9));
    assert.ok(Math.abs(rtt / mean - 1) < 1e-9, `${rtt} ${mean}`);
    assert.ok(Math.abs(samples.at(-1) / mean - 1) > 1e-6, "the test could not tell them apart");
    assert.equal(recent(history, 3, history.window(10e9)).rtt, undefined, "datagrams have none");
});

test("a flow that began a moment ago does not take its rate from the time before", () => {
    const about = { links: [{ name: "link", queues: ["queue"], reverse_queues: [], rates: [[[0, 1e7]], [[0, null]]], overhead_bytes: [0, 0] }], groups: ["one"], paths: [[0, 0]], kinds: ["bulk"], greedy: [true], uploads: [false], l4s: [false], rtts_ns: [1e7], interval_ns: 1e8 };
    const history = new History(about);
    const row = (time, bytes) => ({ time, length: 1e8, packets: 1, bytes, marked: 0, dropped: 0, mean: 0, max: 0, backlog: 0 });
    for (let n = 1; n <= 10; n++) history.links[0].queues[0].rows.push(row(n * 1e8, 125_000));
    history.groups[0].rows.push({ time: 1e9, delivered: 125_000, length: 1e8, flows: 1, window: 0, rtt: 0, rtts: 0, retransmitted: 0 });
    history.now = 1e9;
    const { rate, each, flows } = recent(history, 0, history.window(1e9));
    assert.deepEqual([rate, each, flows], [1e6, 1e7, 1]);
});

test("more packets than are remembered are thinned evenly, so that a minute stays a minute", () => {
    const about = { links: [{ name: "link", queues: ["a", "b"], reverse_queues: [] }], groups: ["one"], paths: [[0, 0]], kinds: ["bulk"], greedy: [true], uploads: [false], l4s: [false], rtts_ns: [1e7], interval_ns: 1e8 };
    const history = new History(about);
    const empty = { count: 0, columns: {} };
    // 400 000 packets in 50 s, by turns of either queue: those of the second wait twice as long.
    for (let second = 0; second < 50; second++) {
        const count = 8_000;
        const column = (of) => Float64Array.from({ length: count }, (_, row) => of(row));
        const columns = { time_ns: column((row) => (second + row / count) * 1e9), delay_ns: column((row) => (row + 1) * (1 + (row % 2))), queue: column((row) => row % 2), group: column(() => 0), fate: column(() => 0), weight: column(() => 1), hop: column(() => 0) };
        history.hear({ rows: { queues: empty, flows: empty, events: empty }, packets: { count, columns }, words: [] }, (second + 1) * 1e9);
    }
    assert.ok(history.packets.length <= 60_000 && history.packets[0].time < 1e9, `${history.packets.length} from ${history.packets[0].time}`);
    for (const queue of [0, 1]) {
        const values = history.packets.filter((packet) => packet.queue === queue).map(({ delay, weight }) => ({ value: delay, weight }));
        const count = values.reduce((sum, { weight }) => sum + weight, 0);
        assert.ok(Math.abs(count / 200_000 - 1) < 0.01, `${count}`);
        assert.ok(Math.abs(quantile(values, 0.5) / (4_000 * (1 + queue)) - 1) < 0.05);
    }
});
