// What is taken along from the first screen: a picture of it, and a frame for another page.

import { called } from "../front.js";
import type { Store } from "./store.js";

/** The size of pictures that are shown beside a link to a page. */
const [WIDTH, HEIGHT] = [1_200, 630];

/** The address of this page, with other words in its fragment. */
function address(words: (words: URLSearchParams) => void): string {
    const fragment = new URLSearchParams(location.hash.slice(1));
    words(fragment);
    return `${location.href.split("#")[0]}#${fragment}`;
}

/** A picture of both queues as they are now, with their results. */
function draw(store: Store, results: string[]): HTMLCanvasElement {
    const canvas = Object.assign(document.createElement("canvas"), { width: WIDTH, height: HEIGHT });
    const to = canvas.getContext("2d");
    const style = getComputedStyle(document.documentElement);
    const ink = (name: string): string => style.getPropertyValue(name).trim();
    if (!to) return canvas;
    const text = (what: string, x: number, y: number, font: string, colour = "--ink"): void => {
        to.font = `${font} system-ui, sans-serif`;
        to.fillStyle = ink(colour);
        to.fillText(what, x, y);
    };
    to.fillStyle = ink("--paper");
    to.fillRect(0, 0, WIDTH, HEIGHT);
    text("Somebody downloads. You click. How long does your click wait?", 30, 52, "700 31px");
    const all = [...document.querySelectorAll<HTMLCanvasElement>(".stage canvas")];
    const widest = Math.max(1, ...all.map(({ width }) => width));
    // Both in one scale, so that lengths can be compared.
    const scale = Math.min((WIDTH - 60) / widest, 380 / Math.max(1, all.reduce((sum, { height }) => sum + height, 0)));
    let y = 100;
    all.forEach((picture, place) => {
        const { name, small } = called(store.bench.queues[place] ?? "");
        text(`${name} (${small})`, 30, y, "600 24px");
        to.textAlign = "right";
        text(`your click waits ${results[place] ?? ""}`, WIDTH - 30, y, "700 28px");
        to.textAlign = "left";
        to.drawImage(picture, 30, y + 10, picture.width * scale, picture.height * scale);
        y += picture.height * scale + 60;
    });
    const words = (document.querySelector(".say")?.textContent ?? "").split(" ");
    for (let line = ""; words.length > 0; line = "") {
        to.font = "24px system-ui, sans-serif";
        while (words.length > 0 && (line === "" || to.measureText(`${line} ${words[0]}`).width < WIDTH - 60)) line += ` ${words.shift()}`;
        text(line.trim(), 30, y, "24px");
        y += 32;
    }
    const where = location.protocol.startsWith("http") ? `, ${location.host}${location.pathname}` : "";
    text(`${store.downloads} download${store.downloads === 1 ? "" : "s"} on a line of ${store.bench.rate.replace("mbit", " Mbit/s")}; simulated by quell${where}`, 30, HEIGHT - 24, "20px", "--soft");
    return canvas;
}

/** Buttons for both. */
export function Copies({ store, results }: { store: Store; results: string[] }) {
    const save = (): void => {
        const link = document.createElement("a");
        link.download = "quell.png";
        link.href = draw(store, results).toDataURL("image/png");
        link.click();
    };
    const frame = `<iframe src="${address((words) => words.set("embed", ""))}" title="How long does your click wait?" sandbox="allow-scripts allow-popups" loading="lazy" width="100%" height="700"></iframe>`;
    return (
        <>
            <p class="buttons">
                <button type="button" id="save" onClick={save}>
                    Save as a picture
                </button>
            </p>
            <label class="frame">
                A frame for another page, where this page is on a web server:
                <textarea readOnly rows={3} value={frame} onFocus={(event) => event.currentTarget.select()} />
            </label>
        </>
    );
}

/** Where a figure in another page leads to. */
export function Whole() {
    return (
        <p class="note">
            <a href={address((words) => words.delete("embed"))} target="_blank" rel="noopener">
                The whole page
            </a>
            : other queues, figures, a tour. Simulated by quell in your browser.
        </p>
    );
}
