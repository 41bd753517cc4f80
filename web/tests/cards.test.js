// Report cards of queues, the book of reproduced experiments and the pictures of the documentation, in the browser of the distribution.
//
// QUELL names the program, CHROMIUM the browser.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { ZOOMS, beyond, launch, opener, overlaps, papers, unfold } from "./browser.js";

const QUELL = process.env.QUELL;
// The tests run in target/web/tests.
const IMAGES = fileURLToPath(new URL("../../../docs/images/", import.meta.url));
const PICTURES = ["graph", "delays", "goodputs"];

let folder;
let browser;
let open;
let card;
let book;
let json;
let told;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "quell-cards-"));
  const quell = (...words) => execFileSync(QUELL, words, { cwd: folder, encoding: "utf8" });
  const only = "friendly,iw-10,udp-mix,rtt-100,burst-4,mild,level";
  quell("characterize", "dualpi2", "--against", "fq_codel", "--only", only, "--profile", "10mbit", "--duration", "6s", "--seeds", "3", "--out", "card");
  told = JSON.parse(quell("reproduce", "rfc9332/coupling", "--report", "book.html", "--json"));
  card = pathToFileURL(join(folder, "card", "card.html")).href;
  book = pathToFileURL(join(folder, "book.html")).href;
  json = JSON.parse(readFileSync(join(folder, "card", "card.json"), "utf8"));
  browser = await launch();
  open = opener(browser);
});

after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

test("card and book ask for nothing and run without an error", async () => {
  for (const [address, title] of [[card, "Report card by RFC 7928: dualpi2"], [book, null]]) {
    const { page, wrong } = await open(address);
    if (title !== null) assert.equal(await page.title(), title);
    assert.ok((await page.locator("figure svg").count()) > 0, address);
    const ran = await page.evaluate(() => {
      const script = document.createElement("script");
      script.textContent = "window.stranger = true";
      document.body.append(script);
      return window.stranger === true;
    });
    assert.equal(ran, false);
    assert.deepEqual(wrong.filter((line) => !line.includes("Content Security Policy")), []);
    await page.close();
  }
});

test("a card has a picture for every kind of distribution, with each scenario and each queue", async () => {
  const { page } = await open(card);
  // The matrix comes first.
  assert.equal(await page.locator("figure svg").count(), 1 + PICTURES.length);
  assert.match(await page.locator("figure svg title").first().textContent(), /^What each queue does/);
  for (const name of PICTURES) {
    const panels = JSON.parse(await page.locator(`#${name}-values`).textContent());
    const drawn = await page.locator(`figure[data-plot="${name}-values"] [data-series]`).evaluateAll((all) => all.map((one) => one.dataset.series));
    for (const panel of panels) {
      assert.ok(panel.x.length > 3 && panel.y.includes(", "), panel.y);
      for (const series of panel.series) assert.ok(drawn.includes(series.label), series.label);
    }
    const several = name === "delays" ? json.scenarios.length : 2;
    assert.ok(panels.length >= several, `${name}: ${panels.length}`);
  }
  await page.close();
});

test("values under the pointer are those of card.json", async () => {
  const { page, wrong } = await open(card);
  await unfold(page);
  for (const [name, of, factor] of [["delays", "delay_ms", 1], ["goodputs", "goodput_bps", 1e-6]]) {
    const scenarios = json.scenarios.filter((one) => one.results[0].distribution[of]);
    const panels = JSON.parse(await page.locator(`#${name}-values`).textContent());
    assert.equal(panels.length, scenarios.length);
    panels.forEach((panel, index) => {
      assert.equal(panel.series.length, json.queues.length);
      panel.series.forEach((series, queue) => {
        const outcome = scenarios[index].results[queue];
        assert.equal(series.label, outcome.queue);
        const values = outcome.distribution[of].map((value) => Math.max(value * factor, of === "delay_ms" ? 0.01 : 0));
        assert.equal(series.points.length, new Set(values).size);
        for (const [x, y] of series.points) {
          // Each value once, with its largest share.
          const place = values.findLastIndex((value) => Math.abs(value - x) <= 1e-5 * value);
          assert.ok(place >= 0 && Math.abs(y - 100 * json.shares[place]) < 1e-3, `${x} ${y}`);
        }
      });
    });
    // The pointer in the first panel shows one of them, of every queue.
    const plot = page.locator(`figure[data-plot="${name}-values"]`);
    const svg = plot.locator("svg");
    await svg.evaluate((one) => one.scrollIntoView());
    const box = await svg.boundingBox();
    const scale = box.width / (await svg.evaluate((one) => one.viewBox.baseVal.width));
    const panel = panels[0];
    await page.mouse.move(box.x + (panel.left + panel.width / 2) * scale, box.y + (panel.top + 50) * scale);
    const shown = await plot.locator(".value p").allTextContents();
    assert.equal(shown.length, 1 + json.queues.length, shown.join("; "));
    for (const [number, queue] of json.queues.entries()) {
      const value = Number(shown[number + 1].slice(`${queue.name}: `.length));
      assert.ok(json.shares.some((share) => Math.abs(100 * share - value) < 1e-6), shown[number + 1]);
    }
    await page.mouse.move(0, 0);
  }
  assert.deepEqual(wrong, []);
  await page.close();
});

test("values under the pointer in the book are those that its verdicts name", async () => {
  const { page, wrong } = await open(book);
  const name = "rfc9332-coupling-0";
  const [panel] = JSON.parse(await page.locator(`#${name}-values`).textContent());
  const [ours, published] = panel.series;
  assert.deepEqual([ours.label, published.label], ["quell", "published"]);
  assert.equal(ours.points.length, panel.words.length);
  // "5 of 5 within 3 %; furthest 50 → L: 2√p_C / p_L: 1.01 (+0.7 %)"
  const statement = told[0].statements.find(({ id }) => id === "rfc9332/coupling#square-law");
  const [, row, value, apart] = statement.ours.match(/furthest (.*): .*: ([\d.]+) \(([+-][\d.]+) %\)/);
  const distances = ours.points.map(([, y], place) => 100 * (y / published.points[place][1] - 1));
  const furthest = distances.reduce((most, one, place) => (Math.abs(one) > Math.abs(distances[most]) ? place : most), 0);
  assert.equal(panel.words[furthest], row);
  assert.equal(ours.points[furthest][1].toPrecision(3), value);
  assert.equal(Number(apart), Number(distances[furthest].toFixed(1)));
  // The pointer in the middle of each place shows what is there, and its name.
  const plot = page.locator(`figure[data-plot="${name}-values"]`);
  const svg = plot.locator("svg");
  await svg.evaluate((one) => one.scrollIntoView());
  const box = await svg.boundingBox();
  const scale = box.width / (await svg.evaluate((one) => one.viewBox.baseVal.width));
  const { low, high } = panel.spanX;
  for (const [place, word] of panel.words.entries()) {
    const x = panel.left + (panel.width * (place - low)) / (high - low);
    await page.mouse.move(box.x + x * scale, box.y + (panel.top + 50) * scale);
    const shown = await plot.locator(".value p").allTextContents();
    assert.ok(shown[0].includes(word), shown.join("; "));
    const at = (label) => Number(shown.find((line) => line.startsWith(`${label}: `)).slice(label.length + 2));
    assert.ok(Math.abs(at("quell") - ours.points[place][1]) < 1e-3, shown.join("; "));
    assert.equal(at("published"), published.points[place][1]);
  }
  assert.deepEqual(wrong, []);
  await page.close();
});

test("the points of the graph are those of card.json, and ellipses have none", async () => {
  const { page } = await open(card);
  const panels = JSON.parse(await page.locator("#graph-values").textContent());
  const mild = panels.at(-1);
  const wanted = json.scenarios.find((one) => one.id === "mild").results;
  assert.equal(mild.series.length, wanted.length);
  mild.series.forEach((series, queue) => {
    const points = wanted[queue].classes[0].points;
    assert.equal(series.points.length, json.seeds);
    series.points.forEach(([x, y], seed) => {
      assert.ok(Math.abs(x - points[seed][0]) < 1e-4 * x && Math.abs(y - points[seed][1] / 1e6) < 1e-4 * y);
    });
  });
  await page.close();
});

test("a card can be read without its pictures, and by the keyboard", async () => {
  const { page } = await open(card);
  await unfold(page);
  for (const name of PICTURES) {
    const figure = page.locator(`figure[data-plot="${name}-values"]`);
    await figure.locator("svg").focus();
    await page.keyboard.press("ArrowRight");
    const first = await figure.locator(".value").textContent();
    await page.keyboard.press("ArrowRight");
    assert.notEqual(first, "");
    assert.notEqual(await figure.locator(".value").textContent(), first);
    await page.keyboard.press("Escape");
    assert.equal(await figure.locator(".value").isVisible(), false);
    const texts = await figure.locator("svg").evaluate((svg) => ["title", "desc"].map((tag) => svg.querySelector(tag).textContent));
    assert.ok(texts[0].length > 5 && texts[1].includes(" from "), texts.join());
  }
  await page.close();
  // The table of the distributions, without a script.
  const plain = await open(card, { javaScriptEnabled: false });
  assert.equal(await plain.page.locator("figure svg").count(), 1 + PICTURES.length);
  for (const title of ["Distributions", "Distributions in numbers"]) {
    await plain.page.getByText(title, { exact: true }).first().focus();
    await plain.page.keyboard.press("Enter");
  }
  const numbers = plain.page.locator("details details", { hasText: "Distributions in numbers" }).locator("tbody tr");
  const rows = await numbers.allTextContents();
  const delays = json.scenarios.length * json.queues.length;
  assert.equal(rows.filter((row) => row.startsWith("delay ms")).length, delays);
  assert.ok(rows.some((row) => row.startsWith("goodput Mbit/s")));
  const median = json.scenarios[0].results[0].distribution.delay_ms[json.shares.indexOf(0.5)];
  assert.equal(await numbers.first().locator("td").nth(7).textContent(), median.toFixed(2));
  await plain.page.close();
});

test("no label of card and book lies over another, from 80 to 400 %, and a phone scrolls pictures and tables only", async () => {
  for (const address of [card, book]) {
    for (const [width, zoom] of ZOOMS) {
      const { page } = await open(address, { viewport: { width, height: 800 }, deviceScaleFactor: zoom });
      await unfold(page);
      assert.deepEqual(await page.evaluate(overlaps), [], `${address}, ${width} wide, ${zoom}`);
      const more = await page.evaluate(beyond);
      assert.ok(more <= 0, `${address}: ${more} beyond ${width}`);
      await page.close();
    }
  }
});

test("dark card and book are dark", async () => {
  for (const address of [card, book]) {
    for (const [colorScheme, isLight] of [["light", true], ["dark", false]]) {
      const { page } = await open(address, { colorScheme });
      for (const brightness of await page.evaluate(papers)) assert.equal(brightness > 380, isLight, `${address} ${brightness}`);
      await page.close();
    }
  }
});

test("the pictures of the documentation have a name, no label over another, and nothing beyond the edge", async () => {
  const names = readdirSync(IMAGES).filter((name) => name.endsWith(".svg"));
  assert.ok(names.includes("cards.svg"));
  for (const name of names) {
    const { page, wrong } = await open(pathToFileURL(join(IMAGES, name)).href);
    assert.deepEqual(await page.evaluate(overlaps), [], name);
    const cut = await page.evaluate(() => {
      const paper = document.documentElement.getBoundingClientRect();
      const texts = [...document.querySelectorAll("text")];
      const isOut = (box) => box.left < paper.left || box.right > paper.right || box.top < paper.top || box.bottom > paper.bottom;
      return texts.filter((text) => isOut(text.getBoundingClientRect())).map((text) => text.textContent);
    });
    assert.deepEqual(cut, [], name);
    assert.deepEqual(wrong, []);
    // The tutorial's picture is drawn by Matplotlib, with letters as shapes; its name is that of the link.
    if (!readFileSync(join(IMAGES, name), "utf8").includes("Matplotlib")) {
      assert.equal(await page.evaluate(() => document.documentElement.getAttribute("role")), "img", name);
      assert.ok((await page.evaluate(() => document.querySelector("title").textContent.length)) > 5, name);
      assert.ok((await page.locator("text").count()) > 10, name);
    }
    await page.close();
  }
});
