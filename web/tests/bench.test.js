// A bench is a scenario that quell takes, and an address that reads back.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { demonstration, difference, EXTRAS, fragment, fromFragment, MOST, PRESETS, queueChanges, scenario, USERS } from "../lib/bench.js";
import { Engine } from "../lib/engine.js";

const skip = process.env.WASM ? false : "there is no quell.wasm";

test("a fragment reads back as the same bench", () => {
    for (const { bench } of PRESETS) {
        const read = fromFragment(`#${fragment(bench)}`);
        assert.deepEqual(read, { bench, problems: [] });
    }
});

test("addresses in the documentation are understood whole", () => {
    const text = readFileSync(new URL("../../../docs/guides/page.md", import.meta.url), "utf8");
    const addresses = [...text.matchAll(/`(#rate=[^`]*)`/g)].map(([, address]) => address);
    assert.ok(addresses.length > 1);
    for (const address of addresses) assert.deepEqual(fromFragment(address).problems, [], address);
});

test("what makes no sense in an address is left out and named", () => {
    const { bench, problems } = fromFragment("rate=fast&rtt=7ms&queues=a b c&l4s=prague ect1 4&classic=cubic off 1 10 tea&udp=900&seed=-1&other=1");
    assert.deepEqual(bench, demonstration());
    assert.deepEqual(problems, ["rate=fast", "queues=a b c", "classic=cubic off 1 10 tea", "l4s=prague ect1 4", "udp=900", "seed=-1"]);
    assert.deepEqual(fromFragment(""), { bench: demonstration(), problems: [] });
});

test("what can change while a bench runs is told apart from what cannot", () => {
    const bench = demonstration();
    const groups = ["classic", "classic-web", "l4s", "l4s-web", "l4s-film"];
    const change = (act) => {
        const other = structuredClone(bench);
        act(other);
        return difference(bench, other, groups);
    };
    assert.deepEqual(difference(bench, demonstration(), groups), []);
    assert.deepEqual(change((other) => (other.rate = "20mbit")), [{ key: "link.rate", value: "20mbit" }]);
    assert.deepEqual(change((other) => (other.users.classic.items = 100)), [{ key: "group.classic-web.count", value: "10" }]);
    assert.deepEqual(change((other) => (other.users.l4s.extras = ["film"])), [{ key: "group.l4s-film.count", value: "1" }]);
    const anew = [
        (other) => (other.rtt = "8ms"),
        (other) => (other.queues = ["pie"]),
        (other) => (other.users.classic.control = "reno"),
        (other) => (other.seed = 2),
        (other) => (other.udp = 50),
        (other) => (other.users.l4s.extras = ["call"]),
    ];
    for (const act of anew) assert.equal(change(act), undefined);
});

test("names of presets differ, and texts are sentences", () => {
    const all = PRESETS;
    assert.equal(new Set(all.map(({ name }) => name)).size, all.length);
    for (const { title, text } of all) assert.match(`${title} ${text}`, /^[A-Z0-9].*\.$/);
});

test("every preset and every extra runs, and every group moves data", { skip }, async () => {
    const engine = await Engine.load(await WebAssembly.compile(readFileSync(process.env.WASM)));
    const extras = demonstration();
    const expected = (bench) => USERS.flatMap((who) => {
        const { downloads, items, extras } = bench.users[who];
        return [...(downloads ? [who] : []), ...(items ? [`${who}-web`] : []), ...extras.map((extra) => `${who}-${extra}`)];
    }).concat(bench.udp ? ["udp"] : []);
    for (const who of USERS) Object.assign(extras.users[who], { extras: [...EXTRAS] });
    for (const { name, bench } of [...PRESETS, { name: "extras", bench: extras }]) {
        for (const changes of queueChanges(bench)) {
            const run = engine.open(scenario(bench), { changes, moreFlows: MOST.flows, fastest: 1e9 });
            // A call in the L4S queue is light enough for it, and quell says all the same what the rule is.
            const others = run.about.warnings.filter((warning) => !/-(call|game)\.ecn = "ect1": datagrams do not respond/.test(warning));
            assert.deepEqual(others, [], name);
            run.advance(8e9);
            const { columns } = run.rows("flows");
            for (const [place, group] of run.about.groups.entries()) {
                const moved = columns.delivered_bytes.some((bytes, row) => columns.group[row] === place && bytes > 0);
                assert.ok(moved, `${name}: ${group}`);
            }
            assert.deepEqual(run.about.groups, expected(bench), name);
            // Everything off and on again, and more of it.
            const { groups } = run.about;
            const off = structuredClone(bench);
                        for (const who of USERS) Object.assign(off.users[who], { downloads: 0, items: 0, extras: [] });
            const more = structuredClone(bench);
            more.rate = "60mbit";
            for (const who of USERS) Object.assign(more.users[who], { downloads: bench.users[who].downloads && 10, items: bench.users[who].items && 50 });
            for (const { key, value } of difference(bench, off, groups)) run.change(key, value);
            run.advance(9e9);
            for (const { key, value } of difference(off, more, groups)) run.change(key, value);
            run.advance(10e9);
            run.rows("flows");
            run.advance(18e9);
            const after = run.rows("flows").columns;
            for (const [place, group] of groups.entries()) {
                assert.ok(after.delivered_bytes.some((bytes, row) => after.group[row] === place && bytes > 0), `${name}, changed: ${group}`);
            }
            run.close();
        }
    }
});

test("the queues of a bench are compared under the same plan of arrivals", { skip }, async () => {
    const engine = await Engine.load(await WebAssembly.compile(readFileSync(process.env.WASM)));
    const bench = { ...demonstration(), queues: ["fifo:limit=100ms", "dualpi2:target=20ms"] };
    const plans = queueChanges(bench).map((changes) => {
        const run = engine.open(scenario(bench), { changes });
        run.advance(5e9);
        const { columns } = run.rows("events");
        return [...columns.number].map((number, row) => `${columns.flow[row]} ${number} ${columns.started_ns[row]} ${columns.size_bytes[row]}`).sort();
    });
    const both = plans[0].filter((item) => plans[1].includes(item));
    assert.ok(both.length > 0.9 * Math.min(plans[0].length, plans[1].length), `${both.length} of ${plans.map(({ length }) => length)}`);
});
