// A person who surfs while something downloads, for tests: `node surf.js ROUNDS PORT [SECURE_PORT [QUIC_PORT KEY_HASH]]`, behind a link whose far
// edge is site.js.
// Prints a line of JSON for each page that the browser CHROMIUM loaded.
import { execFile } from "node:child_process";
import { get } from "node:http";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [rounds, port, securePort, quicPort, keyHash] = process.argv.slice(2);
const far = process.env.QUELL_FAR;
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

/** Starts a download that goes on until this program ends; the site may just be starting. */
async function download() {
    for (;;) {
        const begun = await new Promise((done) => {
            const asked = get(`http://${far}:${port}/endless`, (response) => {
                response.resume();
                done(true);
            });
            asked.on("error", () => done(false));
        });
        if (begun) return;
        await sleep(100);
    }
}

/** What the page says in the end. */
function load(browser, words) {
    return new Promise((done) => execFile(browser, words, { timeout: 60_000 }, (_, said) => done(said)));
}

await download();
// It fills the queue.
await sleep(3000);
const addresses = [`http://${far}:${port}/`];
if (securePort) addresses.push(`https://${far}:${securePort}/`);
if (quicPort) addresses.push(`https://${far}:${quicPort}/`);
for (let round = 0; round < Number(rounds); round += 1) {
    for (const address of addresses) {
        // Nothing is kept from page to page, and nothing but the page is asked for.
        const profile = mkdtempSync(join(tmpdir(), "surf-"));
        // By QUIC the browser takes a certificate of nobody only where its key is named.
        const isQuic = quicPort && address.includes(`:${quicPort}/`);
        const trust = isQuic
            ? [`--origin-to-force-quic-on=${far}:${quicPort}`, `--ignore-certificate-errors-spki-list=${keyHash}`]
            : ["--ignore-certificate-errors"];
        const options = [
            "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--no-first-run",
            ...trust, `--user-data-dir=${profile}`, "--dump-dom",
        ];
        const text = await load(process.env.CHROMIUM, [...options, address]);
        rmSync(profile, { recursive: true, force: true });
        console.log(/\{"loaded_ms".*?\}/.exec(text)?.[0] ?? JSON.stringify({ text }));
    }
}
process.exit(0);
