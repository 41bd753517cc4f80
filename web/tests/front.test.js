// Each sentence of the first screen is what the simulator gives, with three seeds.
import assert from "node:assert/strict";
import { test } from "node:test";
import { called, front, number, of, percent, sentences } from "../lib/front.js";
import { holds, mean, minutes, skip } from "./minutes.js";

const DOWNLOADS = [0, 1, 2, 4, 6, 10];
const ran = new Map();

/** A minute of both queues, for each seed. */
async function run(downloads, queues) {
    const key = JSON.stringify([downloads, queues]);
    if (!ran.has(key)) ran.set(key, await minutes(front(downloads, queues)));
    return ran.get(key);
}

for (const downloads of DOWNLOADS) {
    test(`${downloads} downloads: what is said holds for three seeds`, { skip }, async () => {
        const all = await run(downloads);
        for (const program of ["l4s", "classic"]) {
            const bench = front(downloads);
            const [say, more] = sentences(bench, all[0], program);
            assert.doesNotMatch(`${say} ${more}`, /NaN|undefined|Infinity|–/);
            const waits = (side) => all.map((pair) => of(pair[side], `${program}-click`).mean);
            if (downloads === 0) {
                assert.match(say, /idle, and your click passes at once/);
                for (const side of [0, 1]) for (const wait of waits(side)) assert.ok(wait < 1, `${wait}`);
                assert.equal(more, "");
                continue;
            }
            const [, above, below] = /waits ([0-9.]+) ms above and ([0-9.]+) ms below/.exec(say);
            holds(Number(above), waits(0), "above");
            holds(Number(below), waits(1), "below");
            if (downloads === 1) {
                assert.match(say, /One download is enough: its sender speeds up until the upper queue is full/);
                // Full: of the room of 100 ms a sender that halves has most, most of the time.
                for (const wait of waits(0)) assert.ok(wait > 75 && wait <= 100, `${wait}`);
            } else {
                assert.match(say, /hardly longer than with one: it was already full/);
                const one = (await run(1)).map((pair) => of(pair[0], `${program}-click`).mean);
                assert.ok(mean(waits(0)) / mean(one) < 1.06, `${mean(waits(0))} ms beside ${mean(one)}`);
            }
            assert.equal(/An ordinary program waits with the ordinary packets/.test(say), program === "classic");
            shares(all, more, downloads);
        }
    });
}

/** The second sentence: marks, drops, rates, and that the lines are full. */
function shares(all, more, downloads) {
    assert.match(more, /Both lines are full/);
    for (const pair of all) for (const { link } of pair) assert.ok(link.utilisation >= 0.985, `${link.utilisation}`);
    const [, above, below] = /an ordinary download has ([0-9.]+) Mbit\/s above and ([0-9.]+) below/.exec(more);
    const each = (side, name) => all.map((pair) => of(pair[side], name).each);
    holds(Number(above), each(0, "classic"), "an ordinary download above");
    holds(Number(below), each(1, "classic"), "and below");
    if (downloads < 2) return;
    const [, one, other] = /a new one has ([0-9.]+) Mbit\/s above and ([0-9.]+) below/.exec(more);
    holds(Number(one), each(0, "l4s"), "a new one above");
    holds(Number(other), each(1, "l4s"), "and below");
    const [, marked] = /Below, ([0-9.]+) of 100 packets of new senders carry the mark/.exec(more);
    holds(Number(marked), all.map((pair) => of(pair[1], "l4s").marked), "marked");
    // New senders lose nothing where they are marked.
    for (const pair of all) assert.equal(of(pair[1], "l4s").dropped, 0);
}

test("every pair of the queues that can be chosen gives whole sentences", { skip }, async () => {
    for (const [above, below] of [["fifo:limit=10ms", "pie"], ["fq_codel", "dualq_2015"], ["dualpi2", "fifo:limit=200ms"]]) {
        const all = await run(3, [above, below]);
        for (const program of ["l4s", "classic"]) {
            const [say, more] = sentences(front(3, [above, below]), all[0], program);
            assert.match(say, /^3 downloads share the line\..* On average your click waits [0-9.]+ ms above and [0-9.]+ ms below\./);
            assert.doesNotMatch(say + more, /NaN|undefined|Infinity/);
            // Only an ordinary queue was full with one download.
            if (!above.startsWith("fifo:limit=1")) assert.doesNotMatch(say, /already full/);
        }
    }
});

test("numbers have the digits that people read", () => {
    assert.deepEqual([88.21, 9.96, 1.04, 0.994, 0.05].map(number), ["88", "10", "1.0", "0.99", "0.05"]);
    assert.deepEqual([0, 21.3, 0.66, 0.0123, 0.001].map(percent), ["none", "21", "0.7", "0.01", "less than 0.01"]);
    assert.deepEqual(called("fifo:limit=100ms"), { name: "One ordinary queue", small: "drop-tail, room for 100 ms" });
    assert.deepEqual(called("step"), { name: "The queue step", small: "" });
});
