// What the tour and the presets say is what the simulator gives, with three seeds.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { MOST, PRESETS, queueChanges, scenario, TOUR } from "../lib/bench.js";
import { Engine, SERIES } from "../lib/engine.js";
import { History, quantile } from "../lib/history.js";
import { idleTime } from "../lib/idle.js";
import { recent, utilisation } from "../lib/recent.js";

const skip = process.env.WASM ? false : "there is no quell.wasm";
const SEEDS = [1, 2, 3];
/** What a page remembers, so that figures are those that it shows. */
const SECONDS = 60;
/** Of a first window: ten packets. */
const SMALL = 14_480;

const quantileOf = (values, q) => quantile(values.map((value) => ({ value, weight: 1 })), q);
const median = (values) => quantileOf(values, 0.5);

/** What a page would show of a step or preset after a minute, for each seed. */
async function shown(name, queues) {
    const { bench, text } = [...TOUR, ...PRESETS].find((preset) => preset.name === name);
    const module = await WebAssembly.compile(readFileSync(process.env.WASM));
    const all = [];
    for (const seed of SEEDS) {
        const changed = { ...structuredClone(bench), seed, ...(queues ? { queues } : {}) };
        const engine = await Engine.load(module);
        const run = engine.open(scenario(changed), { changes: queueChanges(changed)[0], moreFlows: MOST.flows, fastest: 1e9 });
        const history = new History(run.about);
        for (let now = 1e9; now <= SECONDS * 1e9; now += 1e9) {
            run.advance(now);
            const rows = Object.fromEntries(SERIES.map((series) => [series, run.rows(series)]));
            history.hear({ rows, packets: run.packets(), words: run.words }, now);
        }
        all.push(new Figures(history));
    }
    return { text, all };
}

class Figures {
    constructor(history) {
        this.history = history;
        this.window = history.window(SECONDS * 1e9);
    }

    /** Items of a user with sizes in a range: the time of each in ms, and how many times that of the idle link it is. */
    items(user, from, to = Infinity) {
        const { history } = this;
        const fits = ({ kind, group, size, outcome }) => kind === "item" && outcome === "complete" && history.groups[group].name.startsWith(user) && size > from && size <= to;
        return history.events.filter(fits).map((event) => {
            const took = (event.lastByte - event.started) / 1e6;
            return { took, times: took / idleTime(event.size, 40e6, 7), causes: event.causes };
        });
    }

    times(user, from, to) {
        return this.items(user, from, to).map(({ times }) => times);
    }

    /** Packets that were delivered by any queue, or by one: the delay of each in ms. */
    delays(queue) {
        const place = this.history.queues.findIndex(({ name }) => name === queue);
        return this.history.packets.filter((packet) => !packet.dropped && (queue === undefined || packet.queue === place)).map(({ delay, weight }) => ({ value: delay / 1e6, weight }));
    }

    mean(queue) {
        const delays = this.delays(queue);
        return delays.reduce((sum, { value, weight }) => sum + value * weight, 0) / delays.reduce((sum, { weight }) => sum + weight, 0);
    }

    /** Mbit/s of each flow of a group. */
    each(name) {
        return recent(this.history, this.history.groups.findIndex((group) => group.name === name), this.window).each / 1e6;
    }

    get used() {
        return utilisation(this.history, this.window);
    }
}

const within = (value, low, high, what) => assert.ok(value >= low && value <= high, `${what}: ${value}`);

test("idle: items lie on the curve, but for large ones of the L4S user", { skip }, async () => {
    const { text, all } = await shown("idle");
    assert.match(text, /the points lie on the curve of the idle link. Only those of the L4S user beyond 25 kB take longer/);
    for (const figures of all) {
        for (const [user, to] of [["classic", Infinity], ["l4s", 25_000]]) {
            within(median(figures.times(user, 0, to)), 0.99, 1.02, user);
            within(quantileOf(figures.times(user, 0, to), 0.9), 0.99, 1.1, user);
        }
        // An idle link: nothing of an earlier run.
        within(quantile(figures.delays(), 0.99), 0, 10, "P99");
    }
    within(median(all.flatMap((figures) => figures.times("l4s", 25_000))), 1.2, 2.5, "beyond 25 kB");
});

test("full: every item waits behind a full buffer of 100 ms", { skip }, async () => {
    const { text, all } = await shown("full");
    assert.match(text, /plain buffer of 100 ms. Every item now waits behind them.* most take more than ten times as long/);
    for (const figures of all) {
        within(figures.mean(), 80, 100, "mean delay");
        within(quantile(figures.delays(), 0.999), 95, 101, "longest");
        for (const user of ["classic", "l4s"]) {
            within(quantileOf(figures.times(user, 0), 0.02), 5, 100, user);
            within(median(figures.times(user, 0)), 10, 100, user);
        }
    }
});

test("pie: the queue is near 15 ms, and an item without its first packet waits a second", { skip }, async () => {
    const { text, all } = await shown("pie");
    assert.match(text, /keeps the queue near 15 ms.*where the first one is lost.*an item waits a whole second/);
    for (const figures of all) within(figures.mean(), 14, 17.5, "mean delay");
    const items = all.flatMap((figures) => [...figures.items("classic", 0), ...figures.items("l4s", 0)]);
    const isFirst = ({ syn_retries, syn_ack_retries }) => syn_retries > 0 || syn_ack_retries > 0;
    const first = items.filter(({ causes }) => isFirst(causes));
    assert.ok(first.length >= 5, `${first.length}`);
    for (const { took } of first) within(took, 1_000, 60_000, "first packet lost");
    assert.ok(items.some(({ causes }) => causes.retransmitted > 0 && !isFirst(causes)), "others lose packets too");
});

test("fair: small items pass, larger ones get their share, and the panorama what it needs", { skip }, async () => {
    const { text, all } = await shown("fair");
    assert.match(text, /small items pass the downloads.*beyond 50 kB they take about five times as long.*panorama gets the 4 Mbit\/s that it needs/);
    const large = all.flatMap((figures) => ["classic", "l4s"].flatMap((user) => figures.times(user, 50_000)));
    within(median(large), 4, 6, "beyond 50 kB");
    for (const figures of all) {
        for (const user of ["classic", "l4s"]) {
            within(median(figures.times(user, 0, SMALL)), 0.99, 1.3, user);
            within(figures.each(`${user}-panorama`), 3.9, 4.1, "panorama");
        }
    }
});

test("l4s: small items of the L4S user are on the curve, and Classic keeps its rate", { skip }, async () => {
    const { text, all } = await shown("l4s");
    assert.match(text, /small items of the L4S user are back on the curve.*Classic keeps its rate/);
    const before = (await shown("pie")).all;
    all.forEach((figures, place) => {
        within(median(figures.times("l4s", 0, SMALL)), 0.99, 1.1, "l4s");
        within(quantileOf(figures.times("l4s", 0, SMALL), 0.9), 0.99, 1.2, "l4s");
        within(figures.each("classic") / before[place].each("classic"), 0.9, 1.25, "Classic's rate");
    });
});

test("both: 99 of 100 packets wait less than 5 ms, and the link is nearly full", { skip }, async () => {
    const { text, all } = await shown("both");
    assert.match(text, /of 100 packets 99 wait less than 5 ms, and the link is nearly full/);
    for (const figures of all) {
        within(quantile(figures.delays(), 0.99), 0, 5, "P99");
        within(figures.used, 0.92, 1, "utilisation");
    }
});

test("honest: behind DualPI2 the sender takes the link, behind FQ-CoDel as much as a download", { skip }, async () => {
    const { text, all } = await shown("honest");
    assert.match(text, /takes the link from both users: DualPI2 does not tell flows apart. Choose fq_codel as the queue, and it gets about as much as each download/);
    for (const figures of all) {
        within(figures.each("udp"), 36, 40, "UDP behind DualPI2");
        for (const user of ["classic", "l4s"]) within(figures.each(user), 0, 0.3, user);
    }
    for (const figures of (await shown("honest", ["fq_codel"])).all) {
        for (const user of ["classic", "l4s"]) within(figures.each("udp") / figures.each(user), 0.8, 1.25, user);
    }
});

test("home: the call and the game wait behind the download", { skip }, async () => {
    const { all } = await shown("home");
    for (const figures of all) {
        const { history } = figures;
        for (const kind of ["voice", "game"]) {
            const place = history.groups.findIndex((group) => group.kind === kind);
            const delays = history.packets.filter(({ group, dropped }) => group === place && !dropped).map(({ delay }) => delay / 1e6);
            within(median(delays), 100, 200, kind);
        }
    }
});
