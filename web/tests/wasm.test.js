// quell as WebAssembly gives what it gives natively, to the byte. NATIVE names a file with the lines of `digest`
// (crates/watch/examples), WASM the compiled file.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Engine, Refused } from "../lib/engine.js";
import { Session } from "../lib/session.js";

const wasm = process.env.WASM && (await WebAssembly.compile(readFileSync(process.env.WASM)));
const skip = wasm ? false : "there is no quell.wasm";
const native = wasm ? readFileSync(process.env.NATIVE, "utf8").trim().split("\n").map(JSON.parse) : [];
const MB = 1e6;
// Each scenario runs to its end, or for so many seconds of its own time, as it did natively.
const LONGEST = 1e9 * (Number(process.env.QUELL_SECONDS) || Infinity);

const hash = (data) => createHash("sha256").update(data).digest("hex");

const SMALL = `
schema = 1
name = "small"
[link]
rate = "10mbit"
queue = { kind = "pie" }
[[group]]
name = "download"
congestion-control = "cubic"
rtt = "20ms"
app = { kind = "bulk" }
[run]
duration = "10s"
warmup = "1s"
`;

function digest(engine, toml) {
    let run;
    try {
        run = engine.open(toml, { seed: 1 });
    } catch (error) {
        if (!(error instanceof Refused)) throw error;
        return { refused: error.message };
    }
    const about = hash(engine.answer());
    const began = performance.now();
    const names = ["queues", "flows", "events"];
    const hashes = names.map(() => createHash("sha256"));
    const take = () => {
        names.forEach((name, place) => {
            for (const column of Object.values(run.rows(name).columns)) {
                hashes[place].update(new Uint8Array(column.buffer, column.byteOffset, column.byteLength));
            }
        });
    };
    // As a page does: rows are taken while the run goes on.
    for (let until = 1e9; !run.isOver && until <= LONGEST; until += 1e9) {
        run.advance(until);
        take();
    }
    const events = run.events;
    const files = run.finish();
    take();
    const seconds = (performance.now() - began) / 1e3;
    const series = hashes.map((all) => all.digest("hex"));
    const { words } = run;
    run.close();
    return { about, summary: hash(files.summary), histograms: hash(files.histograms), series, words, events, seconds };
}

test("every scenario gives the same bytes as natively, and fits a page's memory", { skip }, async () => {
    assert.ok(native.length > 0);
    for (const { file, digest: expected } of native) {
        const engine = await Engine.load(wasm);
        const { seconds, ...found } = digest(engine, readFileSync(file, "utf8"));
        const { seconds: nativeSeconds, ...wanted } = expected;
        assert.deepEqual(found, wanted, file);
        assert.ok(engine.memory <= 32 * MB, `${file}: ${engine.memory} bytes`);
        if (seconds) console.log(`${file}: ${seconds.toFixed(2)} s, native ${nativeSeconds.toFixed(2)} s, ${engine.memory / MB} MB`);
    }
});

test("what is wrong is refused in words, and the engine goes on", { skip }, async () => {
    const engine = await Engine.load(wasm);
    const refused = (toml, changes) => {
        try {
            engine.open(toml, { changes });
        } catch (error) {
            assert.ok(error instanceof Refused, String(error));
            return error.message;
        }
        return assert.fail("it was taken");
    };
    assert.match(refused("x = ", []), /^scenario\.toml:1/);
    assert.match(refused(SMALL, ["link.rate=fast"]), /^--set link\.rate=fast/);
    assert.match(refused(SMALL, ["group.download.count=10000", "link.rate=10gbit", "group.download.rtt=1s"]), / MB/);
    assert.match(refused("a".repeat(17_000_000), []), /too long/);
    assert.throws(() => engine.call("quell_advance", 7, 1), /there is no run 7/);
    const run = engine.open(SMALL);
    run.advance(2e9);
    assert.equal(run.isOver, false);
    assert.equal(JSON.parse(run.finish().summary).partial, true);
    assert.throws(() => run.advance(3e9), /run 1 is over/);
});

test("slices of a frame give what one slice gives", { skip }, async () => {
    const engine = await Engine.load(wasm);
    const whole = engine.open(SMALL);
    whole.advance(1e11);
    const sliced = engine.open(SMALL);
    const seen = [];
    for (let until = 0; !sliced.isOver; until += 16.7e6) {
        sliced.advance(until);
        seen.push(...sliced.rows("queues").columns.packets);
    }
    assert.deepEqual(seen, [...whole.rows("queues").columns.packets]);
    assert.deepEqual(sliced.finish(), whole.finish());
});

test("what a visitor changes is a scenario that repeats the run", { skip }, async () => {
    const engine = await Engine.load(wasm);
    const run = engine.open(SMALL, { moreFlows: 3 });
    run.advance(3e9);
    run.change("link.rate", "2mbit");
    run.advance(6e9);
    assert.throws(() => run.change("group.download.mss", "600B"), Refused);
    const { scenario: toml } = run.change("group.download.count", "3");
    assert.match(toml, /\[\[at\]\]\ntime = "6s"/);
    const again = engine.open(toml, { moreFlows: 3 });
    const packets = [run, again].map((each) => {
        each.advance(1e11);
        const { packets, direction } = each.rows("queues").columns;
        return [...packets].filter((_, row) => each.words[direction[row]] === "forward");
    });
    assert.deepEqual(packets[0], packets[1]);
    // A row is 100 ms: 83 packets at 10 Mbit/s, 17 at 2.
    assert.equal(packets[0][25], 83);
    assert.ok(Math.max(...packets[0].slice(31, 90)) <= 25);
});

test("a session has runs side by side on one clock, and says what it refuses", { skip }, async () => {
    const messages = [];
    let now = 0;
    const session = new Session(await Engine.load(wasm), (message) => messages.push(message), () => now);
    const said = (kind) => messages.filter(({ type }) => type === kind);
    session.hear({ ask: "open", scenario: SMALL, runs: [["link.queue.kind=fifo"], ["link.queue.kind=pie"]], seed: 3 });
    assert.deepEqual(said("opened")[0].runs.map(({ seed }) => seed), [3, 3]);
    session.hear({ ask: "speed", speed: 10 });
    for (let frame = 0; frame < 40; frame++) {
        session.frame();
        now += 16;
    }
    // 39 frames of 16 ms at ten times real time.
    const last = said("rows").at(-1);
    assert.equal(last.frame.now, 39 * 160e6);
    const delay = (run) => {
        const all = said("rows").flatMap(({ runs }) => [...runs[run].rows.queues.columns.delay_mean_ns]);
        return all.filter((delay) => delay > 0).reduce((sum, delay) => sum + delay, 0);
    };
    assert.ok(delay(0) > 2 * delay(1), `${delay(0)} ${delay(1)}`);
    session.hear({ ask: "change", key: "link.rate", value: "5mbit" });
    assert.deepEqual(said("changed").map(({ run, scenario }) => [run, /link\.rate" = "5mbit"/.test(scenario)]), [[0, true], [1, true]]);
    session.hear({ ask: "change", key: "link.rate", value: "fast", run: 1 });
    assert.match(said("refused")[0].why, /link\.rate/);
    session.hear({ ask: "open", scenario: "x = ", runs: [[]] });
    assert.equal(said("refused").length, 2);
    // The runs before go on.
    session.hear({ ask: "step", step: 1e9 });
    assert.equal(said("rows").at(-1).frame.now, 39 * 160e6 + 1e9);
    session.hear({ ask: "finish" });
    assert.equal(said("finished")[0].runs.length, 2);
    assert.equal(said("ended").length, 0);
});

test("an hour of runs takes no more memory than the first", { skip }, async () => {
    const engine = await Engine.load(wasm);
    let first;
    for (let round = 0; round < 60; round++) {
        const run = engine.open(SMALL, { changes: ["run.duration=60s"], seed: round });
        run.advance(1e12);
        run.finish();
        run.close();
        first ??= engine.memory;
    }
    assert.ok(engine.memory <= 1.05 * first, `${first} then ${engine.memory}`);
});
