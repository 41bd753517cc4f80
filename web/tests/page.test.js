// The page in a real browser: PAGE is its folder, QUELL the program, CHROMIUM the browser.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { after, before, test } from "node:test";
import axe from "axe-core";
import { chromium } from "playwright-core";
import { demonstration, fragment, PRESETS } from "../lib/bench.js";
import { FAMILIES } from "../lib/colours.js";
import { TOUR } from "../lib/tour.js";

const FOLDER = process.env.PAGE ?? "";
const skip = existsSync(join(FOLDER, "quell.wasm")) ? false : "the page has no quell.wasm";
const TYPES = { html: "text/html", js: "text/javascript", css: "text/css", wasm: "application/wasm", txt: "text/plain" };
const POLICY = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; connect-src 'self'; worker-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/** Another page, with a figure in a frame that may do nothing but run its scripts. */
const AROUND = `<!doctype html><title>around</title><link rel="icon" href="data:,"><script>addEventListener("message", ({ data }) => (globalThis.told = data));</script>
<iframe src="/free/#downloads=6&embed=" title="How long does your click wait?" sandbox="allow-scripts" width="100%" height="700"></iframe>`;

let browser;
let server;
let base;

before(async () => {
    if (skip) return;
    browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });
    server = createServer((question, answer) => {
        // Of `/free/` only the page's own policy holds, as where any web server has the exported folder.
        const isFree = question.url.startsWith("/free/");
        const path = isFree ? question.url.slice(5) : question.url;
        const name = path === "/" ? "index.html" : path.slice(1);
        const file = join(FOLDER, name);
        if (name.includes("..") || (name !== "around.html" && !existsSync(file))) return void answer.writeHead(404).end();
        if (name === "around.html") return void answer.writeHead(200, { "content-type": "text/html" }).end(AROUND);
        answer.writeHead(200, { "content-type": TYPES[name.split(".").pop()], ...(isFree ? {} : { "content-security-policy": POLICY }) });
        answer.end(readFileSync(file));
    });
    await new Promise((done) => server.listen(0, "127.0.0.1", done));
    base = `http://127.0.0.1:${server.address().port}/`;
});

after(async () => {
    await browser?.close();
    server?.close();
});

/** Opens the page, acts on it, and looks that nothing went wrong: no error, no violation of the policy, no request to elsewhere. */
async function withPage(address, act, options = {}) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    const page = await context.newPage();
    const wrong = [];
    page.on("pageerror", (error) => wrong.push(`error: ${error.message}`));
    page.on("console", (message) => ["error", "warning"].includes(message.type()) && wrong.push(`console: ${message.text()}`));
    page.on("request", (request) => {
        if (!/^(data|blob|file):/.test(request.url()) && !request.url().startsWith(base)) wrong.push(`request: ${request.url()}`);
    });
    await page.goto(/^file:/.test(address) ? address : base + address);
    await page.waitForSelector(".panel, .problem, .stage, iframe");
    await act(page);
    await context.close();
    assert.deepEqual(wrong, []);
}

/** The time of the run in seconds. */
const now = async (page) => parseFloat(await page.textContent(".now"));
/** The run is at least at this time; it runs as fast as the machine can until then. */
async function reach(page, seconds) {
    await page.waitForFunction((seconds) => parseFloat(document.querySelector(".now")?.textContent ?? "0") >= seconds, seconds, { timeout: 120_000 });
}
const fast = (page) => setRange(page, "Speed", 1_000);
/** Moves a slider to a place of its own scale, as a hand does. */
async function setRange(page, name, place) {
    await page.getByRole("slider", { name, exact: true }).evaluate((slider, place) => {
        slider.value = place;
        slider.dispatchEvent(new Event("input", { bubbles: true }));
    }, place);
}
/**
 * Waits until the page shows what it should, and then returns what `check` returns; the last failure otherwise. A change reaches a run some
 * time after the clock that is shown, so on a busy machine no number of seconds of that clock is enough for all.
 */
async function eventually(page, check) {
    for (const end = Date.now() + 300_000; ; await page.waitForTimeout(200)) {
        try {
            return await check();
        } catch (error) {
            if (Date.now() > end) throw error;
        }
    }
}
const said = (page, panel) => page.locator(`#${panel} [role=img]`).evaluateAll((all) => all.map((one) => one.getAttribute("aria-label")).join("\n"));
const big = (page, panel) => page.locator(`#${panel} dd`).allTextContents();

/** The address of the cockpit with the demonstration of 2015. */
const COCKPIT = `#${fragment(demonstration())}`;

/** What the click waited, above and below, in ms. */
const waited = (page) =>
    eventually(page, async () => {
        const texts = await page.locator(".result output").allTextContents();
        for (const text of texts) assert.match(text, /^[0-9.]+ ms$/);
        return texts.map((text) => parseFloat(text));
    });

test("who touches nothing sees the queue fill, a click, and the difference; text and pictures fit every width", { skip }, () =>
    withPage("", async (page) => {
        const [above, below] = await waited(page);
        assert.ok(above > 50 && above <= 100 && below < 5, `${above} and ${below} ms`);
        await eventually(page, async () => assert.match(await page.textContent(".say"), /One download is enough/));
        for (const [width, height] of [[2_560, 1_440], [1_440, 900], [1_280, 720], [768, 1_024], [360, 740]]) {
            await page.setViewportSize({ width, height });
            // Two frames: the pictures follow the width in the next one.
            await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
            const seen = await page.evaluate(() => {
                const bottom = (all) => Math.max(...[...document.querySelectorAll(all)].map((one) => one.getBoundingClientRect().bottom));
                const bar = document.querySelector(".hand");
                const isFixed = getComputedStyle(bar).position === "fixed";
                return { canvases: bottom(".stage canvas"), say: bottom(".say"), end: isFixed ? bar.getBoundingClientRect().top : innerHeight, wide: document.documentElement.scrollWidth, scrolled: scrollY };
            });
            assert.ok(seen.canvases <= seen.end && seen.say <= seen.end && seen.scrolled === 0, `${width}: ${JSON.stringify(seen)}`);
            assert.ok(seen.wide <= width, `${width}: ${seen.wide}`);
        }
    }));

test("slider, program, click, pause and one ms: the first screen answers to each", { skip }, () =>
    withPage("", async (page) => {
        await waited(page);
        await page.locator("input[value=classic]").check();
        await eventually(page, async () => {
            const [above, below] = await waited(page);
            assert.ok(above > 50 && below > 5 && below < 40, `an ordinary program: ${above} and ${below} ms`);
        });
        assert.match(await page.textContent(".say"), /An ordinary program waits with the ordinary packets/);
        await setRange(page, "Downloads", 6);
        await eventually(page, async () => assert.match(await page.textContent(".say"), /^6 downloads share the line/));
        await waited(page);
        assert.match(await page.evaluate(() => location.hash), /downloads=6/);
        await page.locator("#pause").click();
        const picture = () => page.locator(".stage canvas").first().evaluate((canvas) => canvas.toDataURL());
        const before = await picture();
        await page.waitForTimeout(300);
        assert.equal(await picture(), before, "a pause");
        await page.locator("#ms").click();
        await eventually(page, async () => assert.notEqual(await picture(), before, "one ms on"));
        await setRange(page, "Downloads", 0);
        await eventually(page, async () => assert.match(await page.textContent(".say"), /^Nobody downloads/));
        const [above, below] = await waited(page);
        assert.ok(above < 1 && below < 1, `${above} and ${below} ms`);
        await page.locator("#other summary").click();
        await page.getByLabel("Queue below").selectOption("pie");
        await eventually(page, async () => assert.match(await page.locator(".stage h3").last().textContent(), /PIE/));
        await setRange(page, "Downloads", 4);
        await page.locator("#minute summary").click();
        await eventually(page, async () => assert.equal(await page.locator("#minute-figures tbody tr").count(), 10));
        assert.equal(await page.locator(".waits span").count(), 8);
        await page.locator("#everything").click();
        await page.waitForSelector("#delay");
        assert.equal(await page.locator("#delay .strip").count(), 2);
        await page.locator("#first").click();
        await page.waitForSelector(".stage");
        await page.locator("#tour").click();
        assert.equal(await page.textContent("#tour-title"), `1 of ${TOUR.length}: ${TOUR[0].title}`);
    }));

test("the first screen costs few drawings, and keeps what it needs", { skip }, () =>
    withPage("#downloads=10", async (page) => {
        await waited(page);
        const calls = await page.evaluate(async () => {
            const names = ["fillRect", "arc", "beginPath", "fill", "stroke", "moveTo", "lineTo", "fillText", "strokeText", "clearRect", "setTransform", "roundRect", "closePath"];
            const to = CanvasRenderingContext2D.prototype;
            let count = 0;
            const kept = names.map((name) => [name, to[name]]);
            for (const [name, call] of kept) to[name] = function (...all) { count++; return call.apply(this, all); };
            const counts = [];
            for (let frame = 0; frame < 30; frame++) {
                count = 0;
                await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
                counts.push(count);
            }
            for (const [name, call] of kept) to[name] = call;
            return Math.max(...counts);
        });
        assert.ok(calls > 100 && calls <= 3_000, `${calls} calls in two frames at most`);
    }));

test("a figure runs in a sandboxed frame of another page, and tells its height", { skip }, () =>
    withPage("around.html", async (page) => {
        const figure = page.frameLocator("iframe");
        await eventually(page, async () => assert.match(await figure.locator(".say").textContent(), /^6 downloads share the line.* waits [0-9]+ ms above/));
        assert.equal(await figure.locator("header").isVisible(), false);
        assert.equal(await figure.locator("details").count(), 0);
        assert.match(await figure.locator(".front a").getAttribute("href"), /#downloads=6/);
        const { height } = await page.evaluate(() => globalThis.told.quell);
        assert.ok(height > 400 && height < 900, `${height}`);
    }));

test("the first screen is saved as a picture, and gives a frame", { skip }, () =>
    withPage("#downloads=6", async (page) => {
        await waited(page);
        await page.locator("#repeat summary").click();
        assert.match(await page.locator(".frame textarea").inputValue(), /^<iframe src="http.*#downloads=6&.*embed=.* sandbox="allow-scripts/);
        const [saved] = await Promise.all([page.waitForEvent("download"), page.locator("#save").click()]);
        const bytes = readFileSync(await saved.path());
        assert.deepEqual([saved.suggestedFilename(), bytes.readUInt32BE(16), bytes.readUInt32BE(20)], ["quell.png", 1_200, 630]);
        if (process.env.KEEP) writeFileSync(process.env.KEEP, bytes);
    }));

test("where motion is not wanted, the first screen stands still, and a click shows its whole wait", { skip }, () =>
    withPage("", async (page) => {
        const first = await waited(page);
        assert.ok(first[0] > 50 && first[1] < 5, `${first}`);
        const picture = () => page.locator(".stage canvas").first().evaluate((canvas) => canvas.toDataURL());
        const before = await picture();
        await page.waitForTimeout(500);
        assert.equal(await picture(), before);
        assert.equal(await page.locator("#pause").count(), 0);
        await page.locator("#click").click();
        await eventually(page, async () => assert.notEqual(await picture(), before));
        await eventually(page, async () => assert.match(await page.textContent(".unseen"), /^Your click waited [0-9.]+ ms above, and waited [0-9.]+ ms below\.$/));
    }, { reducedMotion: "reduce" }));

/** A canvas in letters: what most of each cell is, of packets (L, C), of the lane (.) or of nothing. */
const letters = (canvas) => {
    const style = getComputedStyle(document.documentElement);
    const to = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const rgb = (name) => {
        to.fillStyle = style.getPropertyValue(name);
        to.fillRect(0, 0, 1, 1);
        return [...to.getImageData(0, 0, 1, 1).data].slice(0, 3);
    };
    const inks = [["L", rgb("--l4s")], ["C", rgb("--classic")], [".", rgb("--lane")]];
    const { width, height } = Object.assign(to.canvas, { width: canvas.width, height: canvas.height });
    to.drawImage(canvas, 0, 0);
    const { data } = to.getImageData(0, 0, width, height);
    const [columns, rows] = [64, Math.round(height / 10)];
    return Array.from({ length: rows }, (_, row) =>
        Array.from({ length: columns }, (_, column) => {
            const counts = new Map();
            let all = 0;
            for (let y = Math.floor((row * height) / rows); y < Math.floor(((row + 1) * height) / rows); y++) {
                for (let x = Math.floor((column * width) / columns); x < Math.floor(((column + 1) * width) / columns); x++) {
                    all++;
                    const at = 4 * (y * width + x);
                    const found = inks.find(([, ink]) => data[at + 3] > 200 && ink.every((part, place) => Math.abs(part - data[at + place]) < 12));
                    if (found) counts.set(found[0], (counts.get(found[0]) ?? 0) + 1);
                }
            }
            return inks.map(([letter]) => letter).find((letter) => (counts.get(letter) ?? 0) > (letter === "." ? 0.5 : 0.25) * all) ?? " ";
        }).join("").trimEnd(),
    ).join("\n");
};

/** At most one letter in a hundred differs: edges of packets are mixed with the paper. */
function alike(one, other, what) {
    const [lines, others] = [one, other].map((text) => text.split("\n").map((line) => line.padEnd(64)));
    assert.equal(lines.length, others.length, what);
    const differ = lines.flatMap((line, row) => [...line].filter((letter, column) => letter !== others[row][column])).length;
    assert.ok(differ <= 0.01 * 64 * lines.length, `${what}: ${differ} of ${64 * lines.length} letters differ:\n${one}\n${other}`);
}

test("the pictures are those of the file, at each width, light and dark", { skip }, () =>
    withPage("#downloads=6", async (page) => {
        await waited(page);
        const drawn = [];
        for (const [width, height] of [[1_440, 900], [1_280, 720], [768, 1_024], [360, 740]]) {
            const both = [];
            for (const colorScheme of ["light", "dark"]) {
                await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
                await page.setViewportSize({ width, height });
                await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
                const canvases = await page.locator(".stage canvas").all();
                both.push((await Promise.all(canvases.map((canvas) => canvas.evaluate(letters)))).join("\n\n"));
            }
            alike(both[1], both[0], `${width}, dark as light`);
            drawn.push(`${width} × ${height}\n\n${both[0]}\n`);
        }
        const file = new URL("../../../web/tests/pictures.txt", import.meta.url);
        if (process.env.QUELL_BLESS === "1") writeFileSync(file, drawn.join("\n"));
        alike(drawn.join("\n"), readFileSync(file, "utf8"), "as the file");
    }, { reducedMotion: "reduce" }));

test("the first screen has no finding of accessibility, and all is reached by keys: light and dark, wide and narrow", { skip }, () =>
    withPage("#downloads=6", async (page) => {
        await waited(page);
        await page.evaluate(() => document.querySelectorAll(".front details").forEach((one) => (one.open = true)));
        await page.evaluate(axe.source);
        for (const media of [{ colorScheme: "light" }, { colorScheme: "dark" }, { colorScheme: "light", forcedColors: "active" }]) {
            await page.emulateMedia(media);
            // The second is the first at a zoom of 200 %.
            for (const [width, height] of [[1_280, 720], [640, 360], [360, 740]]) {
                await page.setViewportSize({ width, height });
                const { violations } = await page.evaluate(() => globalThis.axe.run(document));
                assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`), []);
                const wide = await page.evaluate(() => document.documentElement.scrollWidth);
                assert.ok(wide <= width, `${wide}`);
            }
        }
        const order = [];
        await page.locator("#downloads").focus();
        for (let step = 0; step < 4; step++) {
            order.push(await page.evaluate(() => document.activeElement.id || document.activeElement.name || document.activeElement.tagName));
            await page.keyboard.press("Tab");
        }
        assert.deepEqual(order, ["downloads", "click", "program", "pause"]);
    }));

test("queues have the colours of their families, as in plots", () => {
    const { queues } = JSON.parse(readFileSync(new URL("../../../crates/results/src/plot/colours.json", import.meta.url), "utf8"));
    assert.deepEqual(FAMILIES, Object.fromEntries(queues.map(({ name, kinds }) => [name, kinds])));
});

for (const preset of PRESETS) {
    test(`${preset.name} fills its panels`, { skip }, () =>
        withPage(`#${fragment(preset.bench)}`, async (page) => {
            await fast(page);
            await reach(page, 12);
            assert.equal(await page.locator(".problem").count(), 0);
            const users = Object.values(preset.bench.users);
            const has = (...extras) => users.some((user) => user.extras.some((extra) => extras.includes(extra)));
            const expected = {
                web: users.some(({ items }) => items > 0),
                panorama: has("panorama"),
                film: has("film"),
                calls: has("call", "game"),
                delay: true,
                fairness: true,
                figures: true,
            };
            for (const [panel, wanted] of Object.entries(expected)) assert.equal(await page.locator(`#${panel}`).count(), wanted ? 1 : 0, panel);
            await page.locator("#play").click();
            for (const panel of ["web", "film", "calls", "delay", "fairness"].filter((panel) => expected[panel])) {
                assert.doesNotMatch(await said(page, panel), /: (no|nothing) /, panel);
                // Something is drawn: dots or lines in a colour of the data, not of the grid.
                const inks = await page.locator(`#${panel} canvas`).evaluateAll((all) =>
                    all.map((canvas) => {
                        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
                        let coloured = 0;
                        for (let at = 0; at < data.length; at += 4) {
                            const [r, g, b, a] = data.slice(at, at + 4);
                            // Drop-tail is grey; text and grid are bluish.
                            if (a > 60 && (Math.max(r, g, b) - Math.min(r, g, b) > 60 || Math.max(...[r, g, b].map((part) => Math.abs(part - 0x6a))) <= 3)) coloured++;
                        }
                        return coloured;
                    }),
                );
                for (const ink of inks) assert.ok(ink > 20, `${panel}: ${inks}`);
            }
            if (expected.panorama) await page.waitForSelector("#panorama dd");
        }),
    );
}

test("each slider and choice changes what is measured", { skip }, () =>
    withPage(COCKPIT, async (page) => {
        await fast(page);
        const groups = page.locator("#figures table").nth(1).locator("tbody tr");
        const rates = async () => {
            const rows = await groups.evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)));
            const scale = { kbit: 1e3, Mbit: 1e6, Gbit: 1e9, bit: 1 };
            const bits = (text) => { const [, number, unit] = /([0-9.]+) (\w?bit)/.exec(text); return number * scale[unit]; };
            return Object.fromEntries(rows.map(([name, , flows, rate]) => [name, { flows: Number(flows), rate: bits(rate) }]));
        };
        const sum = async () => Object.values(await rates()).reduce((sum, { rate }) => sum + rate, 0);
        const within = (value, low, high) => assert.ok(value > low && value < high, `${value}`);
        const becomes = (check) => eventually(page, check);
        await becomes(async () => assert.deepEqual(Object.keys(await rates()), ["classic", "classic-web", "l4s", "l4s-web"]));
        await reach(page, 15);

        // Rate, live: the clock goes on.
        const before = await now(page);
        await setRange(page, "Rate", 100);
        await becomes(async () => within(await sum(), 7e6, 10e6));
        assert.ok((await now(page)) >= before);
        await setRange(page, "Rate", 200);
        await becomes(async () => within(await sum(), 60e6, 100e6));

        // Downloads, live, down to none and back.
        await setRange(page, "L4S: downloads", 0);
        await becomes(async () => assert.equal((await rates()).l4s, undefined));
        await setRange(page, "L4S: downloads", 7);
        await becomes(async () => assert.equal((await rates()).l4s.flows, 7));

        // Web items, live.
        await setRange(page, "Classic: web items per second", 100);
        await becomes(async () => {
            const web = await rates();
            assert.ok(web["classic-web"].rate > 4 * web["l4s-web"].rate, JSON.stringify(web));
        });
        const whole = await now(page);
        assert.ok(whole > before + 20, "nothing so far started the run anew");

        // What cannot change starts the run anew: RTT, datagrams, queue, control, applications.
        await setRange(page, "Base RTT", 200);
        await becomes(async () => within(parseFloat(await groups.first().locator("td").nth(4).textContent()), 100, 1_000));
        await page.locator("aside details").evaluateAll((all) => all.forEach((one) => (one.open = true)));
        await setRange(page, "Unresponsive UDP", 50);
        await becomes(async () => within((await rates()).udp.rate, 40e6, 60e6));
        // A link with a name sets rate, RTT and queue together.
        await page.getByLabel("Profile").selectOption("vdsl");
        assert.equal(await page.getByLabel("Queue", { exact: true }).inputValue(), "fifo:limit=150ms");
        await becomes(async () => assert.match(new URL(page.url()).hash, /rate=50mbit&rtt=15ms&queues=fifo%3Alimit%3D150ms/));
        await page.getByLabel("Queue", { exact: true }).selectOption("pie");
        assert.equal(await page.getByLabel("Profile").inputValue(), "");
        await becomes(async () => assert.deepEqual(await page.locator("#figures tbody").first().locator("th").allTextContents(), ["queue"]));
        await page.getByLabel("L4S: congestion control").selectOption("bbr3");
        assert.equal(await page.getByLabel("L4S: ECN").inputValue(), "off");
        await page.locator(".user.classic").getByLabel("voice call").check();
        await becomes(async () => assert.equal(await page.locator("#calls").count(), 1));
        // The address follows a while after the choices.
        await becomes(async () => assert.match(new URL(page.url()).hash, /bbr3/));
    }),
);

test("a parameter of a queue changes while it runs", { skip }, () =>
    withPage(`#${fragment({ ...demonstration(), queues: ["pie"] })}`, async (page) => {
        await fast(page);
        await page.getByText("Parameters of pie").click();
        await reach(page, 15);
        const mean = async () => parseFloat((await page.locator("#figures tbody").first().locator("td").nth(4).textContent()) ?? "");
        const usual = await mean();
        await setRange(page, "target", 770);
        await eventually(page, async () => {
            const long = await mean();
            assert.ok(long > 1.5 * usual, `${usual} ${long}`);
        });
        await page.locator("[data-copy]").first().click();
        assert.equal(await page.locator(".problem").count(), 0);
    }),
);

test("two queues run side by side on one clock, with the same plan", { skip }, () =>
    withPage(`#${fragment({ ...demonstration(), queues: ["fifo:limit=100ms", "dualpi2"] })}`, async (page) => {
        await fast(page);
        await reach(page, 20);
        assert.deepEqual((await page.locator("#delay .queue-name").allTextContents()).map((name) => name.trim()), ["fifo:limit=100ms", "dualpi2"]);
        const [plain, dual] = await page.locator("#delay .strip").evaluateAll((all) => all.map((one) => [...one.querySelectorAll("dd")].map((dd) => parseFloat(dd.textContent))));
        assert.ok(plain[0] > 90 && plain[0] <= 101, `${plain}`);
        assert.ok(dual[0] < 10 && dual[1] < 80, `${dual}`);
        // Lengths can be compared: the axes of both are alike, and reach to the longer one.
        for (const panel of ["delay", "signals", "web"]) {
            const ranges = await page.locator(`#${panel} .plot`).evaluateAll((all) => all.map((plot) => plot.dataset.y));
            assert.equal(ranges.length, 2, panel);
            assert.equal(ranges[1], ranges[0], panel);
            if (panel === "delay") assert.match(ranges[1], /^0 (1|2)00$/);
        }
        // One plot has the lines of all, and one table their shares.
        assert.match(await said(page, "longer"), /fifo:limit=100ms, dualpi2, l4s, dualpi2, classic/);
        assert.deepEqual(await page.locator("#fairness th[scope=rowgroup]").allTextContents(), ["fifo:limit=100ms", "dualpi2"]);
        const ids = await page.evaluate(() => [...document.querySelectorAll("[id]")].map(({ id }) => id));
        assert.equal(new Set(ids).size, ids.length, "an id is there once");
    }),
);

test("the cockpit's pictures have bars, and single packets in slow motion, of either direction", { skip }, () =>
    withPage(`#${new URLSearchParams({ scenario: readFileSync(new URL("../../../crates/scenario/src/starts/home.toml", import.meta.url), "utf8") })}`, async (page) => {
        const picture = () => page.locator("#pictures canvas").evaluate((canvas) => canvas.toDataURL());
        const wait = async () => parseFloat(/Classic ([0-9.]+)/.exec(await page.locator("#pictures canvas").getAttribute("aria-label"))[1]);
        await reach(page, 4);
        await eventually(page, async () => assert.ok((await wait()) > 1));
        assert.match(await page.textContent("#pictures .note"), /^Filled: what packets waited on average/);
        await page.getByLabel("up", { exact: true }).check();
        assert.match(await page.textContent("#delay-title"), /, up$/);
        assert.match(await page.textContent("#pictures-title"), /, up$/);
        await page.getByLabel("down", { exact: true }).check();
        assert.match(await page.textContent("#delay-title"), /queue$/);
        await page.locator("#slow").click();
        assert.match(await page.textContent("#pictures .note"), /^A packet stands as far from the exit/);
        const seen = new Set();
        await eventually(page, async () => assert.ok(seen.add(await picture()).size > 5, "packets move"));
        await page.locator("#slow").click();
        await eventually(page, async () => assert.match(await page.textContent("#pictures .note"), /^Filled/));
    }),
);

test("the demonstration of 2015 has its panel, whose items are chosen", { skip }, () =>
    withPage(COCKPIT, async (page) => {
        await fast(page);
        await reach(page, 5);
        const rows = () => page.locator("#demonstration tbody tr").evaluateAll((rows) => rows.map(({ cells }) => [cells[0].textContent, cells[1].textContent]));
        await eventually(page, async () => {
            const all = Object.fromEntries(await rows());
            assert.ok(parseFloat(all.Utilisation) > 80, JSON.stringify(all));
            for (const who of ["Each Classic download", "Each L4S download"]) assert.match(all[who], /^[0-9.]+ Mbit\/s$/);
        });
        await page.locator("#demonstration").getByLabel("100", { exact: true }).check();
        for (const user of ["Classic", "L4S"]) assert.equal(await page.getByRole("slider", { name: `${user}: web items per second` }).inputValue(), "100");
        await setRange(page, "L4S: downloads", 3);
        assert.equal(await page.locator("#demonstration").count(), 0);
    }),
);

test("what people feel on a line of one's own is simulated of three evenings", { skip }, () =>
    withPage("", async (page) => {
        await eventually(page, async () => assert.doesNotMatch(await page.textContent(".say"), /is simulated/));
        await page.locator("#people summary").click();
        await page.getByLabel("Line").selectOption("16 down, 1 up");
        await page.getByLabel("Room of the ordinary queue, ms").fill("300");
        await page.getByLabel("Room of the ordinary queue, ms").press("Enter");
        await page.getByLabel("watches a film").uncheck();
        await page.locator("#evenings").click();
        await eventually(page, async () => assert.equal(await page.locator("#people strong").count(), 3));
        const said = await page.locator("#people p:has(strong)").allTextContents();
        assert.match(said[0], /^One ordinary queue: .*page/);
        const rows = await page.locator("#people tbody tr").evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
        const of = (who, what) => rows.find((row) => row[0] === who && row[1].startsWith(what)).slice(2).map(parseFloat);
        assert.ok(!rows.some(([who]) => who === "film"));
        const [plain, flows] = of("browser", "a page loads in");
        assert.ok(plain > flows, `${plain} ${flows}`);
        assert.match(await page.textContent("#people caption"), /Mean of 3 evenings/);
    }),
);

test("what is copied is a scenario that quell takes, changes included", { skip }, () =>
    withPage(COCKPIT, async (page) => {
        await fast(page);
        await reach(page, 5);
        await setRange(page, "Rate", 130);
        await reach(page, (await now(page)) + 5);
        await page.locator("#play").click();
        const clipboard = await page.evaluate(() => {
            window.copied = [];
            Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => void window.copied.push(text) } });
        });
        assert.equal(clipboard, undefined);
        await page.getByRole("button", { name: "Copy as scenario" }).click();
        const [text] = await page.evaluate(() => window.copied);
        assert.match(text, /\[\[at\]\]|at = \[/);
        const folder = mkdtempSync(join(tmpdir(), "quell-page-"));
        writeFileSync(join(folder, "mine.toml"), text);
        execFileSync(process.env.QUELL, ["check", join(folder, "mine.toml")]);
        rmSync(folder, { recursive: true });
    }),
);

test("without a clipboard the scenario is shown; a run that ends has a summary", { skip }, () =>
    withPage(COCKPIT, async (page) => {
        await fast(page);
        await reach(page, 3);
        await page.evaluate(() => Object.defineProperty(navigator, "clipboard", { value: undefined }));
        await page.getByRole("button", { name: "Copy as scenario" }).click();
        assert.match(await page.getByLabel("Text to copy").inputValue(), /\[\[group\]\]/);
        await page.getByRole("button", { name: "End, with the summary" }).click();
        await page.getByText("summary.json", { exact: true }).click();
        const summary = JSON.parse(await page.getByLabel("summary.json").inputValue());
        assert.equal(summary.world, "sim");
        assert.ok(summary.duration_s >= 3);
    }),
);

test("pause, step and start anew; the same seed gives the same figures", { skip }, () =>
    withPage(COCKPIT, async (page) => {
        // What the run sent before it heard of the pause still arrives; then the clock stands.
        await page.locator("#play").click();
        await page.getByRole("button", { name: "Play", exact: true }).waitFor();
        await page.waitForFunction(() => {
            const [text, at] = [document.querySelector(".now").textContent, performance.now()];
            if (globalThis.shown?.text !== text) globalThis.shown = { text, at };
            return at - globalThis.shown.at > 500;
        });
        const paused = await now(page);
        await page.waitForTimeout(1_000);
        assert.equal(await now(page), paused);
        const figures = async () => {
            await page.locator("#anew").click();
            await page.waitForFunction(() => parseFloat(document.querySelector(".now").textContent) === 0);
            for (const until of [0.1, 0.2, 0.3]) {
                await page.locator("#step").click();
                await page.waitForFunction((until) => parseFloat(document.querySelector(".now").textContent) >= until, until);
            }
            return page.locator("#figures tbody").allTextContents();
        };
        const first = await figures();
        assert.match(first[0], /l4sdown[1-9]/);
        assert.deepEqual(await figures(), first);
        const stepped = await now(page);
        await page.locator("#step").click();
        await page.waitForFunction((before) => parseFloat(document.querySelector(".now").textContent) > before, stepped);
        assert.equal((await now(page)).toFixed(1), (stepped + 0.1).toFixed(1));
    }),
);

test("why an item was slow is told, by mouse and by keyboard", { skip }, () =>
    withPage(`#${fragment({ ...demonstration(), queues: ["pie"], users: { ...demonstration().users, classic: { control: "cubic", ecn: "off", downloads: 5, items: 100, extras: [] } } })}`, async (page) => {
        await fast(page);
        await reach(page, 20);
        await page.locator("#play").click();
        await page.locator("#slowest button").first().focus();
        await page.keyboard.press("Enter");
        const text = await page.locator("#cause").textContent();
        assert.match(text, /SYN: the user asks for a connection/);
        assert.match(text, /last byte of/);
        // The slowest of two thousand behind PIE lost something.
        assert.match(text, /sent again|timer|probe/);
        await page.locator("#cause button").click();
        assert.equal(await page.locator("#cause").count(), 0);
    }),
);

test("the panorama follows the hand after the view latency, and by keys", { skip }, () =>
    withPage(`#${fragment({ ...PRESETS.find(({ name }) => name === "panorama").bench, queues: ["fifo:limit=200ms"] })}`, async (page) => {
        await setRange(page, "Speed", 100);
        await page.waitForSelector("#panorama canvas");
        await page.locator("#play").click();
        const view = page.locator("#panorama canvas").first();
        const picture = () => view.evaluate((canvas) => canvas.toDataURL());
        const latency = parseFloat(/[0-9.]+/.exec(await view.getAttribute("aria-valuetext"))[0]);
        assert.ok(latency > 60, `${latency}`);
        await page.waitForTimeout(500);
        const still = await picture();
        await view.focus();
        await page.keyboard.press("ArrowRight");
        await page.waitForTimeout(latency + 500);
        const moved = await picture();
        assert.notEqual(moved, still);
        const box = await view.boundingBox();
        await page.mouse.move(box.x + 200, box.y + 50);
        await page.mouse.down();
        await page.mouse.move(box.x + 80, box.y + 50);
        await page.mouse.up();
        await page.waitForTimeout(latency + 500);
        assert.notEqual(await picture(), moved);
    }),
);

test("the tour goes from step to step, each of which starts anew, fits a phone, and ends", { skip }, () =>
    withPage(COCKPIT, async (page) => {
        await page.locator("#tour").click();
        for (const [place, { title, act, downloads }] of TOUR.entries()) {
            assert.equal(await page.textContent("#tour-title"), `${place + 1} of ${TOUR.length}: ${title}`);
            assert.equal(await page.textContent(".step .lead"), act);
            assert.equal(await page.textContent(".slide output"), String(downloads));
            await eventually(page, async () => assert.doesNotMatch(await page.textContent(".say"), /is simulated/));
            assert.match(await page.textContent(".say"), /^[A-Z].*[0-9].*\.$/);
            for (const [width, height] of [[1_280, 720], [360, 740]]) {
                await page.setViewportSize({ width, height });
                await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
                const [canvases, wide] = await page.evaluate(() => [Math.max(...[...document.querySelectorAll(".stage canvas")].map((one) => one.getBoundingClientRect().bottom)), document.documentElement.scrollWidth]);
                assert.ok(canvases <= (width === 360 ? 630 : 720) && wide <= width, `${title}, ${width}: ${canvases}, ${wide}`);
            }
            await eventually(page, async () => assert.match(await page.evaluate(() => location.hash), new RegExp(`tour=${place + 1}$`)));
            await page.locator("#next").click();
        }
        assert.equal(await page.locator("#tour-title").count(), 0);
        assert.match(await page.textContent(".question"), /How long does your click wait/);
        assert.equal(await page.textContent(".slide output"), "1");
    }),
);

test("a step of the tour says nothing of downloads that were changed", { skip }, () =>
    withPage("#tour=3", async (page) => {
        await eventually(page, async () => assert.match(await page.textContent(".say"), /A small item now takes/));
        await setRange(page, "Downloads", 2);
        await eventually(page, async () => assert.match(await page.textContent(".say"), /^2 downloads share the line/));
        await setRange(page, "Downloads", 6);
        await eventually(page, async () => assert.match(await page.textContent(".say"), /A small item now takes/));
    }),
);

test("every control is reached by the keyboard, and has a name", { skip }, () =>
    withPage(COCKPIT, async (page) => {
        const all = await page.locator("button:not(:disabled), input, select, summary, [tabindex='0']").evaluateAll((all) => all.filter((one) => one.checkVisibility()).length);
        const seen = new Set();
        for (let step = 0; step < all + 5; step++) {
            await page.keyboard.press("Tab");
            seen.add(await page.evaluate(() => {
                const one = document.activeElement;
                return `${one.tagName} ${one.id} ${one.getAttribute("aria-label") ?? one.closest("label")?.textContent ?? one.textContent}`.slice(0, 80);
            }));
        }
        for (const name of ["Rate", "Base RTT", "Speed", "L4S: downloads", "Classic: web items per second"]) {
            assert.ok([...seen].some((one) => one.includes(`INPUT  ${name}`)), `${name}: ${[...seen].join("\n")}`);
        }
        const slider = page.getByRole("slider", { name: "L4S: downloads" });
        await slider.focus();
        await page.keyboard.press("ArrowRight");
        assert.equal(await slider.inputValue(), "5");
        assert.equal(await slider.getAttribute("aria-valuetext"), "5");
    }),
);

for (const [name, options] of Object.entries({
    "a phone": { viewport: { width: 360, height: 740 } },
    "a zoom of 200 %, with colours of the system": { viewport: { width: 640, height: 450 }, forcedColors: "active" },
    "a wide screen": { viewport: { width: 2560, height: 1200 } },
    "dark paper": { colorScheme: "dark" },
})) {
    test(`no serious finding of accessibility, and nothing beside the screen: ${name}`, { skip }, () =>
        withPage(`#${fragment({ ...demonstration(), users: { classic: { ...demonstration().users.classic, extras: ["film", "panorama", "call", "game"] }, l4s: demonstration().users.l4s } })}`, async (page) => {
            await fast(page);
            await reach(page, 15);
            await page.locator("#play").click();
            await page.evaluate(axe.source);
            const { violations } = await page.evaluate(() => window.axe.run());
            const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
            assert.deepEqual(serious.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(" | ")}`), []);
            const [whole, seen] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
            assert.ok(whole <= seen, `${whole} of ${seen} pixels`);
        }, options),
    );
}

test("where motion is not wanted, the page is drawn once a second", { skip }, () =>
    withPage(COCKPIT, async (page) => {
        await reach(page, 0.2);
        const changes = await page.evaluate(() => new Promise((done) => {
            let count = 0;
            const watcher = new MutationObserver(() => count++);
            watcher.observe(document.querySelector(".now"), { characterData: true, childList: true, subtree: true });
            setTimeout(() => done(count), 3_500);
        }));
        assert.ok(changes >= 1 && changes <= 5, `${changes}`);
    }, { reducedMotion: "reduce" }),
);

test("a scenario in the address runs, with what can change of it; a wrong one is refused in words", { skip }, async () => {
    const text = readFileSync(new URL("../../../scenarios/dualq2015/coexistence.toml", import.meta.url), "utf8");
    await withPage(`#${new URLSearchParams({ scenario: text })}`, async (page) => {
        await setRange(page, "Speed", 70);
        await reach(page, 3);
        assert.match((await big(page, "delay"))[0], /ms/);
        await page.getByLabel("Rate of the link").fill("20mbit");
        await page.getByLabel("Rate of the link").press("Enter");
        await reach(page, (await now(page)) + 3);
        assert.equal(await page.locator(".problem").count(), 0);
        await page.getByLabel("Rate of the link").fill("much");
        await page.getByLabel("Rate of the link").press("Enter");
        await page.waitForSelector(".problem");
        assert.match(await page.textContent(".problem"), /link\.rate/);
    });
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`${base}#scenario=schema%20%3D%201`);
    await page.waitForSelector(".problem");
    assert.match(await page.textContent(".problem"), /name|link/);
    await context.close();
});

test("a household of one's own: shares by kind and direction, and an end that keeps its figures", { skip }, async () => {
    const text = readFileSync(new URL("../../../crates/scenario/src/starts/home.toml", import.meta.url), "utf8").replace('"130s"', '"21s"');
    await withPage(`#${new URLSearchParams({ scenario: text })}`, async (page) => {
        await fast(page);
        await page.waitForFunction(() => document.querySelector(".now")?.textContent === "21.0 s, the end", undefined, { timeout: 300_000 });
        const tables = await page.locator("#fairness table").evaluateAll((all) =>
            all.map((table) => ({ caption: table.caption.textContent, rows: [...table.rows].map((row) => [row.cells[0].textContent, row.cells[2].textContent]) })),
        );
        assert.deepEqual(tables.map(({ caption }) => caption), [
            "Rate of each flow, in percent of an equal share of the downloads (50 Mbit/s)",
            "Rate of each flow, in percent of an equal share of the uploads (20 Mbit/s)",
        ]);
        assert.deepEqual(tables[1].rows.map(([name]) => name), ["backup"]);
        for (const [name, share] of tables.flatMap(({ rows }) => rows)) assert.ok(/^[0-9]+ %$/.test(share) && parseFloat(share) <= 100, `${name}: ${share}`);
        assert.ok(tables[0].rows.some(([name]) => name === "downloads × 2"), JSON.stringify(tables));
        // Of the last second, in which the downloads may recover from a loss.
        const used = parseFloat((await big(page, "fairness"))[0]);
        assert.ok(used > 50 && used <= 100, `utilisation: ${used}`);
        assert.equal(await page.locator("#calls").count(), 1);
        assert.match((await big(page, "calls")).join("\n"), /satisfied/);
        const rates = await page.locator("#figures table").nth(1).locator("td:nth-child(4)").allTextContents();
        assert.ok(rates.length >= 4 && rates.every((rate) => rate !== "0 bit/s"), `${rates}`);
    });
});

test("hostile addresses are told, and do nothing", { skip }, () =>
    withPage(`#rate=<script>alert(1)</script>&rtt=%3Cimg%20src=x%20onerror=alert(1)%3E&l4s=%00&udp=1e9`, async (page) => {
        await reach(page, 0.2);
        assert.equal(await page.locator(".world").textContent(), "modelled TCP");
    }),
);

test("a queue that is not known is refused in words, and another one runs", { skip }, () =>
    withPage(`#queues=${"x".repeat(2_000)}`, async (page) => {
        assert.match(await page.textContent(".problem"), /queue/);
        await page.getByLabel("Queue", { exact: true }).selectOption("dualpi2");
        await reach(page, 0.2);
        assert.equal(await page.locator(".problem").count(), 0);
    }),
);

test("it works from a file system", { skip }, () =>
    withPage(pathToFileURL(join(FOLDER, "index.html")).href, async (page) => {
        await waited(page);
        await eventually(page, async () => assert.match(await page.textContent(".say"), /^One download is enough/));
        await page.locator("#everything").click();
        await reach(page, 1);
    }),
);
