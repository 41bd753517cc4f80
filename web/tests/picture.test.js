// The picture is true: what stands between entry and exit is what the queue held, and a packet is where it has to wait.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { queueChanges, scenario } from "../lib/bench.js";
import { Engine } from "../lib/engine.js";
import { front } from "../lib/front.js";
import { fades, falls, layout, place, Reel } from "../lib/picture.js";
import { Show } from "../lib/show.js";

const skip = process.env.WASM ? false : "there is no quell.wasm";
const MS = 1e6;

/** Packets as a run tells them: time, delay, queue, group, fate. */
function rows(packets) {
    const names = ["time_ns", "delay_ns", "queue", "group", "fate"];
    return { count: packets.length, columns: Object.fromEntries(names.map((name, column) => [name, Float64Array.from(packets, (packet) => packet[column])])) };
}

function reel(...packets) {
    const made = new Reel((queue) => queue);
    made.hear(rows(packets));
    return made;
}

test("a packet stands as far from the exit as it still has to wait", () => {
    const laid = layout(1_000, 1, 110, 0.3, true);
    const [packet] = reel([100 * MS, 80 * MS, 0, 0, 0]).packets;
    for (const left of [80, 40, 1, 0]) {
        const { x, strength } = place(packet, (100 - left) * MS, laid, 50);
        assert.ok(Math.abs(x - (laid.exit - left * laid.scale)) < 1e-6, `${left} ms: ${x}`);
        assert.equal(strength, 1);
    }
    const slow = 50;
    const above = place(packet, 20 * MS - falls(slow) / 2, laid, slow);
    const arrived = place(packet, 20 * MS, laid, slow);
    assert.ok(above.y < arrived.y && above.x < arrived.x && above.strength < 1, "it falls onto its place");
    const after = place(packet, 100 * MS + fades(slow) / 2, laid, slow);
    assert.ok(after.x > laid.exit && after.strength < 1, "it fades towards the visitor");
    assert.equal(place(packet, 20 * MS - 1.1 * falls(slow), laid, slow), undefined);
    assert.equal(place(packet, 100 * MS + 1.1 * fades(slow), laid, slow), undefined);
});

test("what is refused falls at the end of the queue, what is dropped after its wait at the exit", () => {
    const laid = layout(1_000, 1, 110, 0.3, true);
    const { packets } = reel([50 * MS, 40 * MS, 0, 0, 0], [50 * MS, 0, 0, 0, 2], [60 * MS, 15 * MS, 0, 0, 2]);
    assert.deepEqual(packets.map(({ fate }) => fate), ["passed", "refused", "dropped"]);
    const end = place(packets[1], 50 * MS, laid, 50);
    assert.ok(end.isLost && Math.abs(end.x - (laid.exit - 40 * laid.scale)) < 1e-6);
    const exit = place(packets[2], 60 * MS, laid, 50);
    assert.ok(exit.isLost && Math.abs(exit.x - laid.exit) < 1e-6);
    const later = place(packets[2], 60 * MS + fades(50), laid, 50);
    assert.ok(later.y > exit.y && later.strength < 1);
});

test("pictures of two queues have one axis, and squares that can be seen at each width", () => {
    for (const width of [320, 360, 768, 1_280, 2_560]) {
        const [one, two] = [layout(width, 1, 110, 0.3, false), layout(width, 2, 110, 0.3, true)];
        assert.deepEqual([one.exit, one.scale], [two.exit, two.scale]);
        assert.ok(one.square >= 3 && one.exit > 0 && one.exit < width && two.tops.length === 2, `${width}`);
    }
    // A slow link: a packet takes long, and squares stay squares.
    assert.ok(layout(1_280, 1, 110, 12, true).square <= 14);
});

test("a reel forgets what is long out of the picture, and finds the next of a group", () => {
    const made = new Reel(() => 0);
    for (let ms = 0; ms < 5_000; ms++) made.hear(rows([[ms * MS, 0.5 * MS, 0, ms % 2, 0]]));
    made.forget(4_500 * MS);
    assert.ok(made.packets.length <= 1_001, `${made.packets.length}`);
    assert.equal(made.next(1, 4_600 * MS).arrive, 4_600.5 * MS);
    assert.equal(made.next(3, 0), undefined);
    assert.equal(made.longest(4_900 * MS), 0.5 * MS);
    assert.equal(made.length(0, 4_900.7 * MS), 0.3 * MS);
    const other = new Reel(() => 0, 1);
    other.hear({ count: 1, columns: { time_ns: Float64Array.of(1), hop: Float64Array.of(0) } });
    assert.equal(other.packets.length, 0, "of another link");
});

test("the bytes in the picture are the backlog of each interval, behind every queue", { skip }, async (group) => {
    const module = await WebAssembly.compile(readFileSync(process.env.WASM));
    const { queues } = (await Engine.load(module)).catalogue();
    assert.ok(queues.length >= 18);
    for (const { name } of queues) {
        await group.test(name, async () => {
            const engine = await Engine.load(module);
            const bench = front(6, [name === "fifo" ? "fifo:limit=100ms" : name, "dualpi2"]);
            const run = engine.open(scenario(bench), { changes: queueChanges(bench)[0] });
            const [packets, backlogs] = [[], []];
            for (let now = 20 * MS; now <= 6_000 * MS; now += 20 * MS) {
                run.advance(now);
                const { count, columns } = run.packets();
                for (let row = 0; row < count; row++) {
                    const [leave, wait] = [columns.time_ns[row], columns.delay_ns[row]];
                    const mark = columns.marked_ns[row];
                    assert.ok(columns.fate[row] === 1 ? leave - wait <= mark && mark <= leave : columns.fate[row] === 2 || Number.isNaN(mark), `marked at ${mark}`);
                    if (wait > 0) packets.push({ arrive: leave - wait, leave, length: columns.length_bytes[row], weight: columns.weight[row] });
                }
                const told = run.rows("queues");
                const words = run.words;
                for (let row = 0; row < told.count; row++) {
                    if (words[told.columns.direction[row]] !== "forward") continue;
                    backlogs.push({ time: told.columns.time_ns[row], bytes: told.columns.backlog_bytes[row] });
                }
            }
            assert.ok(packets.every(({ weight }) => weight === 1), "all packets are told");
            let compared = 0;
            const times = [...new Set(backlogs.map(({ time }) => time))].filter((time) => time <= 5_000 * MS);
            for (const time of times) {
                const held = backlogs.filter((row) => row.time === time).reduce((sum, { bytes }) => sum + bytes, 0);
                // What arrives or leaves in this very instant may count on either side.
                const sum = (isIn) => packets.filter(isIn).reduce((sum, { length }) => sum + length, 0);
                const least = sum(({ arrive, leave }) => arrive < time && leave > time);
                const most = sum(({ arrive, leave }) => arrive <= time && leave >= time);
                assert.ok(held >= least && held <= most, `${time / 1e9} s: ${held} bytes, in the picture ${least} to ${most}`);
                compared += 1;
            }
            assert.ok(compared >= 40, `${compared} intervals`);
        });
    }
});

/** A show of two runs in which a small packet of group 2 comes each 10 ms and waits 80 or 0.2 ms. */
function show(isCalm = false) {
    const asked = [];
    const made = new Show({ ahead: (ns) => asked.push(["ahead", ns]), pace: (speed) => asked.push(["pace", speed]), said: () => asked.push(["said"]) }, isCalm);
    const stages = [80, 0.2].map((wait) => ({ reel: new Reel(() => 0), clicks: { l4s: 2, classic: 3 }, wait }));
    made.open(stages.map(({ reel, clicks }) => ({ reel, clicks })), false);
    let told = 0;
    /** The runs have come to a time, and tell what has left until then. */
    const reach = (ms) => {
        for (const { reel, wait } of stages) {
            const packets = [];
            for (let sent = 0; sent + wait <= ms; sent += 10) if (sent + wait > told) packets.push([(sent + wait) * MS, wait * MS, 0, 2, 0]);
            reel.hear(rows(packets));
        }
        told = ms;
        made.hear(ms * MS);
    };
    return { made, asked, reach };
}

test("the show is real time first, then slow motion with a click that waits what its packet waits", () => {
    const { made, asked, reach } = show();
    assert.deepEqual(asked[1], ["pace", 1]);
    for (let ms = 200; ms <= 2_700; ms += 50) {
        reach(ms);
        made.tick(50, true);
    }
    assert.ok(!made.isBeginning && asked.some(([what, speed]) => what === "pace" && speed === 1 / 50));
    const began = made.at;
    for (let frame = 0; frame < 200; frame++) {
        reach(2_700 + frame);
        made.tick(50, true);
    }
    assert.ok(made.at - began <= 201 * MS + 1, `50 times slower: ${(made.at - began) / MS} ms in 10 s`);
    assert.deepEqual(made.stages.map(({ over }) => over[0] / MS), [80, 0.2].map((wait) => wait));
    assert.ok(asked.filter(([what]) => what === "said").length >= 2);
});

test("the picture never overtakes its runs, and asks for more once for each time they reach", () => {
    const { made, asked, reach } = show();
    reach(100);
    for (let frame = 0; frame < 100; frame++) made.tick(50, true);
    assert.ok(made.at <= 100 * MS);
    assert.equal(asked.filter(([what]) => what === "ahead").length, 2, "at the start, and once");
    const before = made.at;
    made.tick(50, false);
    assert.equal(made.at, before, "a pause");
    // The beginning stays in real time when it goes on.
    made.pace(150);
    assert.deepEqual([made.isBeginning, asked.at(-1)], [true, ["pace", 1]]);
});

test("where nothing may move by itself a click shows the whole of its wait at once", () => {
    const { made, asked, reach } = show(true);
    assert.deepEqual(asked, [["ahead", 2_900 * MS], ["pace", 0]]);
    reach(2_900);
    made.tick(50, true);
    assert.deepEqual(made.stages.map(({ isSaid, over }) => [isSaid, over.length]), [[true, 1], [true, 1]]);
    const at = made.at;
    made.tick(5_000, true);
    assert.equal(made.at, at);
    reach(3_100);
    made.click();
    assert.ok(made.at > at);
    assert.deepEqual(made.stages.map(({ over }) => over.map((wait) => wait / MS)), [[80, 80], [0.2, 0.2]]);
});
