// What quell costs as WebAssembly: compiling it, a first run of 60 s of coexistence, later ones, and those natively in the same minutes.
// WASM is the compiled file, DIGEST the program `digest` (crates/watch/examples). A bound that is missed says so, and fails.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Engine } from "../lib/engine.js";

const ROUNDS = Number(process.env.QUELL_BENCH_ROUNDS ?? 11);
const SCENARIO = readFileSync(new URL("../../../scenarios/dualq2015/coexistence.toml", import.meta.url), "utf8");

const folder = mkdtempSync(join(tmpdir(), "quell-bench-"));
const toml = SCENARIO.replace(/^duration = .*$/m, 'duration = "60s"');
if (toml === SCENARIO && !/^duration = "60s"$/m.test(SCENARIO)) throw new Error("the scenario has no duration");
const file = join(folder, "coexistence.toml");
writeFileSync(file, toml);
const median = (values) => values.toSorted((one, other) => one - other)[values.length >> 1];

/** Milliseconds of one run, second by second and with its rows, as `digest` does it. */
function run(engine) {
    const began = performance.now();
    const opened = engine.open(toml, { seed: 1 });
    for (let until = 1e9; !opened.isOver; until += 1e9) {
        opened.advance(until);
        for (const series of ["queues", "flows", "events"]) opened.rows(series);
    }
    opened.finish();
    opened.close();
    return performance.now() - began;
}

const native = () => 1e3 * JSON.parse(execFileSync(process.env.DIGEST, [file], { encoding: "utf8" })).digest.seconds;

const bytes = readFileSync(process.env.WASM);
const began = performance.now();
const engine = await Engine.load(await WebAssembly.compile(bytes));
const compiled = performance.now() - began;
const first = run(engine);
const [here, there] = [[], []];
for (let round = 0; round < ROUNDS; round++) {
    here.push(run(engine));
    there.push(native());
}
rmSync(folder, { recursive: true });

let missed = 0;
function judge(what, found, unit, bound, isMet) {
    console.log(`${what}: ${found.toFixed(unit ? 0 : 2)}${unit}, bound ${bound}${unit}: ${isMet ? "met" : "MISSED"}`);
    if (!isMet) missed++;
}
const warm = median(here);
const ratio = median(there) / warm;
judge("compile and instantiate", compiled, " ms", 100, compiled <= 100);
judge("the first 60 s of coexistence", first, " ms", 1000, first <= 1000);
judge(`60 s of coexistence, median of ${ROUNDS}`, warm, " ms", 300, warm <= 300);
judge(`native speed, median of ${ROUNDS}: ${median(there).toFixed(0)} ms; share reached`, ratio, "", 0.5, ratio >= 0.5);
process.exitCode = missed ? 1 : 0;
