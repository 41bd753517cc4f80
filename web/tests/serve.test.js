// The page of `quell serve` in a real browser: QUELL is the program, PAGE the folder of the page, CHROMIUM the browser.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";

const QUELL = process.env.QUELL ?? "";
const SCENARIO = `
schema = 1
name = "served"
[link]
rate = "20mbit"
queue = { kind = "dualpi2" }
[[group]]
name = "l4s"
congestion-control = "cubic"
rtt = "10ms"
app = { kind = "bulk" }
[[group]]
name = "web"
congestion-control = "cubic"
rtt = "10ms"
app = { kind = "web", preset = "l4s-demo" }
[run]
duration = "600s"
warmup = "1s"
`;

/** Two links in a row: the first one is the narrower one. */
const LINKS = SCENARIO.replace(
    /\[link\][^[]*/,
    `[[link]]
name = "line"
rate = "15mbit"
queue = { kind = "fifo", limit = "100ms" }
[[link]]
name = "wifi"
rate = "20mbit"
queue = { kind = "dualpi2" }
`,
).replaceAll('"10ms"', '"20ms"');

let browser;
let folder;
let page;

before(async () => {
    browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] });
    folder = mkdtempSync(join(tmpdir(), "quell-serve-"));
    writeFileSync(join(folder, "served.toml"), SCENARIO);
    writeFileSync(join(folder, "links.toml"), LINKS);
    // Without a simulator of its own the page has its runs in the server.
    page = join(folder, "page");
    cpSync(process.env.PAGE ?? "", page, { recursive: true, filter: (file) => !/quell\.wasm$|local\.js$/.test(file) });
});

after(async () => {
    await browser?.close();
    if (folder) rmSync(folder, { recursive: true });
});

/** Starts `quell serve` with these words, and says where. It is ended as by Ctrl-C. */
async function served(words) {
    const child = spawn(QUELL, ["serve", "--no-open", "--page", page, ...words], { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
    let errors = "";
    child.stderr.on("data", (more) => (errors += more));
    const ended = new Promise((done) => child.on("exit", (code, signal) => done({ code, signal, errors })));
    const first = await Promise.race([new Promise((done) => createInterface(child.stdout).once("line", done)), ended]);
    if (typeof first !== "string") throw new Error(first.errors);
    const end = async () => {
        child.kill("SIGINT");
        const { signal } = await ended;
        assert.equal(signal, "SIGINT", errors);
    };
    return { url: first.trim(), end };
}

/** Opens what `quell serve` shows, acts on it, and looks that nothing went wrong: no error, no violation of the policy, no request elsewhere. */
async function withServed(words, act) {
    const { url, end } = await served(words);
    const base = new URL(url).origin;
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    const page = await context.newPage();
    const wrong = [];
    const policies = [];
    page.on("pageerror", (error) => wrong.push(`error: ${error.message}`));
    page.on("console", (message) => ["error", "warning"].includes(message.type()) && wrong.push(`console: ${message.text()}`));
    page.on("request", (request) => !/^(data|blob):/.test(request.url()) && !request.url().startsWith(`${base}/`) && wrong.push(`request: ${request.url()}`));
    page.on("response", (response) => policies.push(response.headers()["content-security-policy"] ?? "none"));
    await page.addInitScript(() => document.addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`)));
    try {
        await page.goto(url);
        await page.waitForSelector(".panel, .stage, .problem");
        assert.doesNotMatch(page.url(), /token/, "the address keeps the token");
        await act(page);
        assert.deepEqual(wrong, []);
        for (const policy of policies) assert.match(policy, /^default-src 'none'; script-src 'self' 'wasm-unsafe-eval';/);
    } finally {
        await context.close();
        await end();
    }
}

const now = async (page) => parseFloat(await page.textContent(".now"));
async function reach(page, seconds) {
    await page.waitForFunction((seconds) => parseFloat(document.querySelector(".now")?.textContent ?? "0") >= seconds, seconds, { timeout: 120_000 });
}
const later = async (page, seconds) => reach(page, (await now(page)) + seconds);
const speed = (page, place) =>
    page.getByRole("slider", { name: "Speed", exact: true }).evaluate((slider, place) => {
        slider.value = place;
        slider.dispatchEvent(new Event("input", { bubbles: true }));
    }, place);
const set = async (page, name, value) => {
    await page.getByLabel(name, { exact: true }).fill(value);
    await page.getByLabel(name, { exact: true }).press("Enter");
};
/** Rates of the groups in bit/s, and their flows. */
async function groups(page, column = 0) {
    const rows = await page.locator("#figures table").nth(1).locator("tbody").nth(column).locator("tr:has(td)").evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)));
    const scale = { bit: 1, kbit: 1e3, Mbit: 1e6, Gbit: 1e9 };
    return Object.fromEntries(
        rows.map(([name, , flows, rate]) => {
            const [, number, unit] = /([0-9.]+) (\w?bit)/.exec(rate) ?? [, "0", "bit"];
            return [name, { flows: Number(flows), rate: number * scale[unit] }];
        }),
    );
}
/** The queues that a panel has side by side. */
const queueNames = async (page) => (await page.locator("#delay .queue-name").allTextContents()).map((name) => name.trim());
/** How many pixels of a panel have a colour of the data. */
const inks = (page, panel) =>
    page.locator(`#${panel} canvas`).first().evaluate((canvas) => {
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        let coloured = 0;
        for (let at = 0; at < data.length; at += 4) {
            const [r, g, b, a] = data.slice(at, at + 4);
            if (a > 60 && Math.max(r, g, b) - Math.min(r, g, b) > 60) coloured++;
        }
        return coloured;
    });

test("a simulated scenario fills its charts, and what is changed there changes the run", () =>
    withServed(["served.toml"], async (page) => {
        assert.equal(await page.textContent(".world"), "modelled TCP");
        await speed(page, 70);
        await later(page, 10);
        assert.ok((await groups(page)).l4s.rate > 8e6, JSON.stringify(await groups(page)));
        assert.match(await page.textContent("#delay dd"), /ms|µs/);
        assert.ok((await inks(page, "delay")) > 20);
        await set(page, "Rate of the link", "4mbit");
        await later(page, 15);
        const all = Object.values(await groups(page)).reduce((sum, { rate }) => sum + rate, 0);
        assert.ok(all > 2e6 && all < 4.1e6, JSON.stringify(await groups(page)));
        await set(page, "Rate of the link", "much");
        await page.waitForSelector(".problem");
        assert.match(await page.textContent(".problem"), /link\.rate/);
        await page.evaluate(() => Object.defineProperty(navigator, "clipboard", { value: undefined }));
        await page.getByRole("button", { name: "Copy as scenario" }).click();
        const text = await page.getByLabel("Text to copy").inputValue();
        writeFileSync(join(folder, "mine.toml"), text);
        assert.match(text, /4mbit/);
        execFileSync(QUELL, ["check", join(folder, "mine.toml")]);
        await page.getByRole("button", { name: "End, with the summary" }).click();
        await page.getByText("summary.json", { exact: true }).click();
        assert.equal(JSON.parse(await page.getByLabel("summary.json").inputValue()).world, "sim");
    }));

/** In which of the rows of queues packets wait more than 10 ms on average. */
const waiting = (page) =>
    page.locator("#figures tbody").first().locator("tr").evaluateAll((rows) =>
        rows
            .filter(({ children }) => {
                const [, mean = 0] = /([0-9.]+) ms/.exec(children[5]?.textContent ?? "") ?? [];
                return mean > 10;
            })
            .map(({ children }) => children[0].textContent),
    );

/** Looks at each of two links, and makes the second one the narrower one. */
async function twoLinks(page) {
    assert.deepEqual((await page.locator("#pictures .queue-name").allTextContents()).map((name) => name.trim()), ["line", "wifi"]);
    assert.equal(await page.locator("#pictures canvas").count(), 2);
    assert.equal(await page.textContent("#delay-title"), "How long packets wait in the queue of line");
    assert.equal(await page.textContent("#fairness-title"), "Who gets how much of line");
    assert.deepEqual(await page.locator("#figures tbody").first().locator("th").allTextContents(), ["line: queue", "wifi: l4s", "wifi: classic"]);
    assert.deepEqual(await waiting(page), ["line: queue"]);
    await page.getByLabel("wifi", { exact: true }).check();
    await page.waitForFunction(() => document.querySelector("#delay-title").textContent === "How long packets wait in the queue of wifi");
    await set(page, "Rate of wifi", "5mbit");
    await later(page, 15);
    assert.deepEqual(await waiting(page), ["wifi: classic"]);
    assert.ok((await inks(page, "delay")) > 20);
    // The utilisation of the last second is that of the narrower link.
    await page.waitForFunction(() => parseFloat(document.querySelector("#fairness dd").textContent) >= 90);
    await set(page, "Rate of line", "2mbit");
    await later(page, 15);
    assert.deepEqual(await waiting(page), ["line: queue"]);
    assert.equal(await page.locator(".problem").count(), 0);
}

test("of two links each is looked at, and changed by its name", () =>
    withServed(["links.toml"], async (page) => {
        await speed(page, 70);
        await later(page, 12);
        await twoLinks(page);
    }));

test("without a scenario the first screen comes at once, and its minute and evenings", () =>
    withServed([], async (page) => {
        await page.waitForSelector(".stage");
        const waits = () => page.locator(".result output").allTextContents();
        await page.waitForFunction(() => [...document.querySelectorAll(".result output")].every((one) => / ms$/.test(one.textContent)), undefined, { timeout: 120_000 });
        const [above, below] = (await waits()).map(parseFloat);
        assert.ok(above > 50 && below < 5, `${above} and ${below} ms`);
        await page.waitForFunction(() => /^One download is enough/.test(document.querySelector(".say").textContent), undefined, { timeout: 60_000 });
        await page.locator("#people summary").click();
        await page.getByLabel("Line").selectOption("16 down, 1 up");
        await page.locator("#evenings").click();
        await page.waitForSelector("#people strong", { timeout: 120_000 });
        assert.equal(await page.locator("#people strong").count(), 3);
    }));

test("the set-up of two users runs in the server, with two queues side by side", () =>
    withServed(["--speed", "20"], async (page) => {
        await page.locator("#everything").click();
        await page.getByLabel("Queue", { exact: true }).selectOption("dualpi2");
        await page.getByLabel("Beside it", { exact: true }).selectOption("fifo");
        await page.waitForSelector("#delay .strip:nth-child(2)");
        await later(page, 10);
        assert.deepEqual(await queueNames(page), ["dualpi2", "fifo"]);
        assert.ok((await groups(page, 0)).classic.rate > 1e6);
        assert.ok((await groups(page, 1)).classic.rate > 1e6);
    }));

test("a result is played, and ends with its summary", async () => {
    execFileSync(QUELL, ["run", "served.toml", "--duration", "40s", "--out", "result"], { cwd: folder });
    await withServed(["result", "--speed", "10"], async (page) => {
        assert.equal(await page.textContent(".world"), await page.textContent(".world"));
        await reach(page, 8);
        const { l4s } = await groups(page);
        assert.ok(l4s.rate > 8e6, JSON.stringify(l4s));
        // Single packets are not in a result: what those of each interval waited is.
        assert.match(await page.textContent("#delay"), /mean/);
        assert.ok((await inks(page, "delay")) > 20);
        await page.locator("#play").click();
        const paused = await now(page);
        await page.waitForTimeout(400);
        assert.ok((await now(page)) - paused < 2, `${paused} ${await now(page)}`);
        assert.equal(await page.locator("#anew").isDisabled(), true);
        await speed(page, 100);
        await page.locator("#play").click();
        await page.getByText("summary.json", { exact: true }).click({ timeout: 60_000 });
        const summary = await page.getByLabel("summary.json").inputValue();
        // A text area has no last line feed of its own.
        assert.equal(summary.trim(), readFileSync(join(folder, "result/summary.json"), "utf8").trim());
    });
});

test("the queues of a comparison are played side by side", async () => {
    execFileSync(QUELL, ["compare", "served.toml", "--queue", "fifo,pie", "--duration", "20s", "--out", "compared"], { cwd: folder });
    await withServed(["compared", "--speed", "max"], async (page) => {
        await page.waitForSelector("#delay .strip:nth-child(2)");
        await reach(page, 15);
        assert.deepEqual((await queueNames(page)).sort(), ["fifo", "pie"]);
        for (const column of [0, 1]) assert.ok((await groups(page, column)).l4s.rate > 1e6);
    });
});

const root = process.getuid?.() === 0;
test("real packets: what is changed changes them, and nothing pauses them", { skip: root ? false : "needs root" }, () =>
    withServed(["served.toml", "--world", "live"], async (page) => {
        assert.match(await page.textContent(".world"), /^real packets, \d/);
        assert.equal(await page.locator("#play").count(), 0);
        await reach(page, 6);
        assert.ok((await groups(page)).l4s.rate > 4e6, JSON.stringify(await groups(page)));
        assert.ok((await inks(page, "delay")) > 20);
        // Single packets are not told: bars say what they wait.
        assert.match(await page.locator("#pictures canvas").getAttribute("aria-label"), /mean wait .*[0-9] (ms|s)/);
        assert.equal(await page.locator("#slow").count(), 0);
        await set(page, "Rate of the link", "4mbit");
        await later(page, 12);
        const all = Object.values(await groups(page)).reduce((sum, { rate }) => sum + rate, 0);
        assert.ok(all < 4.2e6, JSON.stringify(await groups(page)));
        await set(page, "Flows of l4s", "3");
        await later(page, 3);
        assert.equal((await groups(page)).l4s.flows, 3);
        const before = await now(page);
        await page.locator("#anew").click();
        await page.waitForFunction((before) => parseFloat(document.querySelector(".now").textContent) < before, before);
        await reach(page, 1);
        assert.equal(await page.locator(".problem").count(), 0);
    }));

test("real packets over two links: each is looked at, and changed by its name", { skip: root ? false : "needs root" }, () =>
    withServed(["links.toml", "--world", "live"], async (page) => {
        await reach(page, 12);
        await twoLinks(page);
    }));

const kernels = () => execFileSync(QUELL, ["kernel", "list"], { encoding: "utf8" });
test("a run inside a kernel is played once it is over", { skip: existsSync(QUELL) && /\d+\.\d+/.test(kernels()) ? false : "there is no kernel: quell kernel build" }, () => {
    writeFileSync(join(folder, "inside.toml"), SCENARIO.replace("600s", "20s"));
    return withServed(["inside.toml", "--world", "virtual", "--out", "inside", "--speed", "10"], async (page) => {
        assert.match(await page.textContent(".world"), /^real Linux TCP/);
        await reach(page, 15);
        assert.ok((await groups(page)).l4s.rate > 4e6);
    });
});
