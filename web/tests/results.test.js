// What people see of results: reports and pictures, in the browser of the distribution.
//
// QUELL names the program, CHROMIUM the browser.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { launch, opener, overlaps, unfold } from "./browser.js";

const QUELL = process.env.QUELL;
const SCENARIO = `
schema = 1
name = "browser"
description = "Two downloads of each kind, and items of the web."
[link]
rate = "20mbit"
queue = "dualpi2"
[[group]]
name = "l4s"
count = 2
congestion-control = "dctcp"
ecn = "ect1"
rtt = "10ms"
app = "bulk"
[[group]]
name = "items"
rtt = "10ms"
app = { kind = "web", preset = "l4s-demo" }
[[group]]
name = "film"
rtt = "10ms"
app = { kind = "has", preset = "smooth" }
[[at]]
time = "6s"
set = { "link.rate" = "10mbit" }
[run]
duration = "12s"
warmup = "2s"
`;
const KINDS = ["overview", "delay", "cdf", "ccdf", "rates", "windows", "signals", "reasons", "backlog", "completion", "levels"];

let folder;
let browser;
let open;
let report;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "quell-browser-"));
  writeFileSync(join(folder, "s.toml"), SCENARIO);
  const quell = (...words) => execFileSync(QUELL, words, { cwd: folder, encoding: "utf8" });
  quell("compare", "s.toml", "--queue", "fifo:limit=100ms,pie,dualpi2", "--seed", "1", "--out", "r", "--report", "r.html");
  for (const kind of KINDS) quell("plot", "r", "--kind", kind, "-o", `${kind}.svg`);
  report = pathToFileURL(join(folder, "r.html")).href;
  browser = await launch();
  open = opener(browser);
});

after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

test("a report asks for nothing and runs without an error", async () => {
  const { page, wrong } = await open(report);
  assert.equal(await page.title(), "browser, sim world, seed 1");
  // The answer, what people feel and a picture; everything else is folded.
  const answer = await page.locator("li:visible").allTextContents();
  assert.match(answer[0], /^Asked: 3 queues /);
  assert.match(answer.at(-1), /^Trust: the hosts of the simulator are models/);
  assert.equal(await page.locator("table:visible").count(), 1);
  assert.equal(await page.locator("svg:visible").count(), 1);
  const folded = ["What was asked", "All tables", "More pictures", "Every number of the applications", "What limits trust", "How to repeat it"];
  for (const title of folded) assert.equal(await page.getByText(title, { exact: true }).count(), 1, title);
  assert.equal(await page.locator("figure svg").count(), 8);
  // Somebody else's script does not run.
  const ran = await page.evaluate(() => {
    const script = document.createElement("script");
    script.textContent = "window.stranger = true";
    document.body.append(script);
    return window.stranger === true;
  });
  assert.equal(ran, false);
  const others = wrong.filter((line) => !line.includes("Content Security Policy"));
  assert.deepEqual(others, []);
  await page.close();
});

test("values under the pointer are those of the result", async () => {
  const { page, wrong } = await open(report);
  const histograms = JSON.parse(readFileSync(join(folder, "r", "dualpi2", "histograms.json"), "utf8"));
  const counts = histograms.groups.find((group) => group.name === "l4s").delay_ns;
  const total = counts.reduce((sum, [, count]) => sum + count, 0);
  const longer = new Map();
  let below = 0;
  for (const [value, count] of counts) {
    below += count;
    longer.set(value / 1e6, (100 * (total - below)) / total);
  }
  const plot = page.locator('figure[data-plot="plot-ccdf-values"]');
  const data = JSON.parse(await page.locator("#plot-ccdf-values").textContent());
  // A frame for each queue, in the order asked.
  assert.equal(data.length, 3);
  const panel = data[2];
  const label = "l4s";
  const points = panel.series.find((series) => series.label === label).points;
  assert.ok(points.length > 20);
  for (const [x, y] of points) {
    // Shorter delays are drawn at the end of the logarithmic axis.
    if (x <= 0.001) continue;
    const nearest = [...longer.keys()].reduce((a, b) => (Math.abs(b - x) < Math.abs(a - x) ? b : a));
    assert.ok(Math.abs(nearest - x) < 1e-4 * x && Math.abs(longer.get(nearest) - y) < 1e-4 * y, `${x} ${y}`);
  }
  // The pointer in the middle of the panel shows one of these, of every series.
  const svg = plot.locator("svg");
  await svg.scrollIntoViewIfNeeded();
  const box = await svg.boundingBox();
  const scale = box.width / (await svg.evaluate((one) => one.viewBox.baseVal.width));
  await page.mouse.move(box.x + (panel.left + panel.width / 2) * scale, box.y + (panel.top + 50) * scale);
  const told = await plot.locator(".value p").allTextContents();
  assert.equal(told.length, 1 + panel.series.length, told.join("; "));
  const shown = Number(told.find((line) => line.startsWith(`${label}: `)).split(": ")[1]);
  assert.ok(points.some(([, y]) => Number(y.toPrecision(4)) === shown), String(shown));
  await page.mouse.move(0, 0);
  assert.equal(await plot.locator(".value").isVisible(), false);
  assert.deepEqual(wrong, []);
  await page.close();
});

test("the keyboard walks over every picture", async () => {
  const { page } = await open(report);
  await unfold(page);
  for (const figure of await page.locator("figure[data-plot]").all()) {
    await figure.locator("svg").focus();
    await page.keyboard.press("ArrowRight");
    const first = await figure.locator(".value").textContent();
    await page.keyboard.press("ArrowRight");
    const second = await figure.locator(".value").textContent();
    assert.notEqual(first, "");
    assert.notEqual(first, second);
    await page.keyboard.press("Escape");
    assert.equal(await figure.locator(".value").isVisible(), false);
    // For those who do not see it.
    const name = await figure.locator("svg").evaluate((svg) => svg.querySelector("title").textContent);
    const description = await figure.locator("svg").evaluate((svg) => svg.querySelector("desc").textContent);
    assert.ok(name.length > 5 && description.includes(" from "), description);
  }
  await page.close();
});

test("no label lies over another, from 80 to 400 %, and a phone scrolls pictures only", async () => {
  for (const [width, zoom] of [[1250, 0.8], [1000, 1], [500, 2], [360, 2.8], [250, 4]]) {
    const { page } = await open(report, { viewport: { width, height: 800 }, deviceScaleFactor: zoom });
    await unfold(page);
    assert.deepEqual(await page.evaluate(overlaps), [], `${width} wide, ${zoom}`);
    const beyond = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.ok(beyond <= 0, `${beyond} beyond ${width}`);
    await page.close();
  }
  for (const kind of KINDS) {
    const { page } = await open(pathToFileURL(join(folder, `${kind}.svg`)).href);
    assert.deepEqual(await page.evaluate(overlaps), [], kind);
    await page.close();
  }
});

test("a dark page is dark, and a page without scripts is whole", async () => {
  for (const [colorScheme, isLight] of [["light", true], ["dark", false]]) {
    const { page } = await open(report, { colorScheme, javaScriptEnabled: true });
    const paper = await page.evaluate(() => [
      getComputedStyle(document.body).backgroundColor,
      getComputedStyle(document.querySelector("svg .paper")).fill,
    ]);
    for (const color of paper) {
      const brightness = color.match(/\d+/g).slice(0, 3).map(Number).reduce((a, b) => a + b);
      assert.equal(brightness > 380, isLight, color);
    }
    await page.close();
  }
  const { page } = await open(report, { javaScriptEnabled: false });
  assert.equal(await page.locator("figure svg").count(), 8);
  assert.ok((await page.locator("table").count()) > 4);
  assert.equal(await page.locator("button:visible").count(), 0);
  await page.close();
});

test("a picture has the colours of its series", async () => {
  const page = await browser.newPage();
  for (const kind of KINDS) {
    const svg = readFileSync(join(folder, `${kind}.svg`), "utf8");
    const colors = new Set([...svg.matchAll(/class="s(\d) series"/g)].map((found) => found[1]));
    const found = await page.evaluate(async (text) => {
      const image = new Image();
      image.src = `data:image/svg+xml;base64,${btoa(unescape(encodeURIComponent(text)))}`;
      await image.decode();
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [image.width, image.height];
      const context = canvas.getContext("2d");
      context.drawImage(image, 0, 0);
      const pixels = context.getImageData(0, 0, canvas.width, canvas.height).data;
      let colored = 0;
      const hues = new Set();
      for (let at = 0; at < pixels.length; at += 4) {
        const [red, green, blue] = pixels.slice(at, at + 3);
        const spread = Math.max(red, green, blue) - Math.min(red, green, blue);
        if (spread > 100) {
          colored += 1;
          hues.add([red, green, blue].map((one) => one >> 5).join());
        }
      }
      return { share: colored / (pixels.length / 4), hues: hues.size };
    }, svg);
    assert.ok(colors.size >= 1, kind);
    assert.ok(found.share > 0.0005 && found.share < 0.5, `${kind}: ${found.share} is coloured`);
    assert.ok(found.hues >= Math.min(colors.size, 2), `${kind}: ${found.hues} hues`);
  }
  await page.close();
});

// Two programs draw each picture: Chromium the SVG, quell the PNG. What they show is alike, letters aside.
test("the SVG looks as the PNG does", async () => {
  const page = await browser.newPage();
  const address = (type, name) => `data:image/${type};base64,${readFileSync(join(folder, name)).toString("base64")}`;
  for (const kind of KINDS) {
    execFileSync(QUELL, ["plot", "r", "--kind", kind, "--scale", "1", "-o", `${kind}.png`], { cwd: folder });
    const sources = [address("svg+xml", `${kind}.svg`), address("png", `${kind}.png`)];
    const { sizes, apart, most, colored } = await page.evaluate(async (sources) => {
      // Blocks of 8 by 8 pixels, by their mean.
      const pictures = [];
      const sizes = [];
      for (const source of sources) {
        const image = new Image();
        image.src = source;
        await image.decode();
        sizes.push([image.width, image.height]);
        const [width, height] = sizes[0];
        const canvas = document.createElement("canvas");
        [canvas.width, canvas.height] = [width, height];
        const context = canvas.getContext("2d");
        context.fillStyle = "white";
        context.fillRect(0, 0, width, height);
        context.drawImage(image, 0, 0);
        const pixels = context.getImageData(0, 0, width, height).data;
        const [columns, rows] = [Math.floor(width / 8), Math.floor(height / 8)];
        const blocks = new Float64Array(columns * rows * 3);
        for (let y = 0; y < rows * 8; y += 1) {
          for (let x = 0; x < columns * 8; x += 1) {
            for (let color = 0; color < 3; color += 1) {
              blocks[((y >> 3) * columns + (x >> 3)) * 3 + color] += pixels[(y * width + x) * 4 + color] / 64;
            }
          }
        }
        pictures.push(blocks);
      }
      // Letters and axes are grey, and fonts differ; series have colours.
      const [one, other] = pictures.map((blocks) => {
        const spreads = [];
        for (let at = 0; at < blocks.length; at += 3) spreads.push(Math.max(...blocks.slice(at, at + 3)) - Math.min(...blocks.slice(at, at + 3)));
        return spreads;
      });
      const distances = one.map((value, place) => Math.abs(value - other[place]));
      const sum = (values) => values.reduce((all, value) => all + value, 0);
      return { sizes, apart: sum(distances) / sum(one), most: distances.reduce((a, b) => Math.max(a, b)), colored: sum(one) };
    }, sources);
    assert.deepEqual(sizes[0], sizes[1], kind);
    assert.ok(colored > 1000, `${kind} is empty`);
    assert.ok(apart < 0.08 && most < 30, `${kind}: ${apart} of what is coloured differs, ${most} of 255 at most`);
  }
  await page.close();
});
