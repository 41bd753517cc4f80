// What the page of `quell serve` costs in a browser: first paint, from a change to the chart, memory after an hour.
// QUELL is the program, PAGE the folder of the page, CHROMIUM the browser. A bound that is missed says so, and fails.
import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const BOUNDS = { paint: 500, change: 150, memory: 100 };
const ROUNDS = Number(process.env.QUELL_BENCH_ROUNDS ?? 11);
const scenario = (duration) => `
schema = 1
name = "hour"
[link]
rate = "10mbit"
queue = { kind = "dualpi2" }
[[group]]
name = "l4s"
congestion-control = "dctcp"
ecn = "ect1"
rtt = "20ms"
app = { kind = "bulk" }
[[group]]
name = "web"
congestion-control = "cubic"
rtt = "20ms"
app = { kind = "web", preset = "l4s-demo" }
[run]
duration = "${duration}"
warmup = "1s"
`;

const folder = mkdtempSync(join(tmpdir(), "quell-bench-"));
const site = join(folder, "page");
cpSync(process.env.PAGE, site, { recursive: true, filter: (file) => !/quell\.wasm$|local\.js$/.test(file) });
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });
let missed = 0;

/** Serves the scenario to a new page, and calls `act` with it. */
async function withServed(duration, words, act) {
    const file = join(folder, `${duration}.toml`);
    writeFileSync(file, scenario(duration));
    const child = spawn(process.env.QUELL, ["serve", "--no-open", "--page", site, file, ...words], { stdio: ["ignore", "pipe", "inherit"] });
    const url = await new Promise((done) => createInterface(child.stdout).once("line", done));
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    const page = await context.newPage();
    try {
        return await act(page, url);
    } finally {
        await context.close();
        child.kill("SIGINT");
        await new Promise((done) => child.once("exit", done));
    }
}

const median = (all) => [...all].sort((one, other) => one - other)[all.length >> 1];
const report = (what, found, bound, unit) => {
    const met = found <= bound;
    if (!met) missed++;
    console.log(`${what}: ${found.toFixed(found < 10 ? 1 : 0)} ${unit} (bound ${bound} ${unit})${met ? "" : ": MISSED"}`);
};

const paints = [];
for (let round = 0; round < ROUNDS; round++) {
    paints.push(
        await withServed("600s", [], async (page, url) => {
            await page.goto(url);
            await page.waitForSelector(".panel");
            return page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? Infinity);
        }),
    );
}
report(`first paint, median of ${ROUNDS}`, median(paints), BOUNDS.paint, "ms");

// From the input to the first drawing of the delay chart after rows that follow the change.
const changes = await withServed("600s", [], async (page, url) => {
    await page.addInitScript(() => {
        const seen = (globalThis.seen = { changed: 0, rows: 0, drawn: 0 });
        const { parse } = JSON;
        JSON.parse = (text, ...more) => {
            const value = parse(text, ...more);
            if (value?.type === "changed") Object.assign(seen, { changed: performance.now(), rows: 0, drawn: 0 });
            if (value?.type === "rows" && seen.changed && !seen.rows) seen.rows = performance.now();
            return value;
        };
        const { clearRect } = CanvasRenderingContext2D.prototype;
        CanvasRenderingContext2D.prototype.clearRect = function (...box) {
            if (seen.rows && !seen.drawn && this.canvas.closest("#delay")) seen.drawn = performance.now();
            return clearRect.apply(this, box);
        };
    });
    await page.goto(url);
    await page.waitForFunction(() => parseFloat(document.querySelector(".now")?.textContent ?? "0") > 3);
    const all = [];
    for (let round = 0; round < 4 * ROUNDS; round++) {
        // At any place of the page's own rhythm.
        await page.waitForTimeout(300 + 37 * (round % 7));
        all.push(
            await page.evaluate(
                (rate) =>
                    new Promise((done) => {
                        Object.assign(globalThis.seen, { changed: 0, rows: 0, drawn: 0 });
                        const field = [...document.querySelectorAll("label")].find((label) => label.textContent.startsWith("Rate of the link"))?.querySelector("input");
                        const began = performance.now();
                        field.value = rate;
                        field.dispatchEvent(new Event("input", { bubbles: true }));
                        field.dispatchEvent(new Event("change", { bubbles: true }));
                        const look = () => (globalThis.seen.drawn ? done(globalThis.seen.drawn - began) : setTimeout(look, 1));
                        look();
                    }),
                `${8 + (round % 5)}mbit`,
            ),
        );
    }
    return all;
});
report(`from a change to the chart, median of ${changes.length}`, median(changes), BOUNDS.change, "ms");
console.log(`from a change to the chart, longest: ${Math.max(...changes).toFixed(0)} ms`);

const memory = await withServed("3600s", ["--speed", "max"], async (page, url) => {
    const client = await page.context().newCDPSession(page);
    await page.goto(url);
    await page.waitForFunction(() => parseFloat(document.querySelector(".now")?.textContent ?? "0") >= 3_590, undefined, { timeout: 900_000, polling: 1_000 });
    await client.send("HeapProfiler.enable");
    await client.send("HeapProfiler.collectGarbage");
    const { usedSize } = await client.send("Runtime.getHeapUsage");
    return usedSize / 1e6;
});
report("memory of the page's scripts after an hour of rows", memory, BOUNDS.memory, "MB");

await browser.close();
rmSync(folder, { recursive: true });
process.exitCode = missed > 0 ? 1 : 0;
