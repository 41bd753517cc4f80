// What the tests in a browser share. CHROMIUM names the browser.
import { chromium } from "playwright-core";

export const launch = () => {
  const asRoot = process.getuid() === 0 ? ["--no-sandbox"] : [];
  return chromium.launch({ executablePath: process.env.CHROMIUM, args: asRoot });
};

// A page that reports whatever should not happen.
export const opener = (browser) => async (address, options = {}) => {
  const page = await browser.newPage(options);
  const wrong = [];
  page.on("pageerror", (error) => wrong.push(`error: ${error}`));
  page.on("console", (message) => wrong.push(`console: ${message.text()}`));
  page.on("request", (request) => {
    if (request.url() !== address) wrong.push(`request: ${request.url()}`);
  });
  await page.goto(address);
  return { page, wrong };
};

// Pairs of texts of one picture of which one lies over the other.
export const overlaps = () => {
  const found = [];
  for (const svg of document.querySelectorAll("svg")) {
    const texts = [...svg.querySelectorAll("text")].filter((text) => text.textContent !== "");
    const boxes = texts.map((text) => text.getBoundingClientRect());
    for (let a = 0; a < boxes.length; a += 1) {
      for (let b = a + 1; b < boxes.length; b += 1) {
        const wide = Math.min(boxes[a].right, boxes[b].right) - Math.max(boxes[a].left, boxes[b].left);
        const high = Math.min(boxes[a].bottom, boxes[b].bottom) - Math.max(boxes[a].top, boxes[b].top);
        // The boxes of a font are higher than its letters.
        const slack = 0.3 * Math.min(boxes[a].height, boxes[b].height);
        if (wide > 1 && high > slack) found.push(`${texts[a].textContent} | ${texts[b].textContent}`);
      }
    }
  }
  return found;
};

// Widths of the window in CSS pixels, with the zoom at which a window of 1000 pixels has them: 80 to 400 %.
/** Opens all that is folded. */
export const unfold = (page) => page.locator("details").evaluateAll((all) => all.forEach((one) => (one.open = true)));

export const ZOOMS = [[1250, 0.8], [1000, 1], [500, 2], [360, 2.8], [250, 4]];

// How far a page is wider than its window.
export const beyond = () => document.documentElement.scrollWidth - document.documentElement.clientWidth;

// The sum of red, green and blue of what the page and its first picture stand on.
export const papers = () => {
  const colors = [getComputedStyle(document.body).backgroundColor, getComputedStyle(document.querySelector("svg .paper")).fill];
  return colors.map((color) => color.match(/\d+/g).slice(0, 3).map(Number).reduce((a, b) => a + b));
};
