// A real browser and a real player behind the link of `quell exec`, beside a download: QUELL is the program, CHROMIUM the browser.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash, X509Certificate } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const QUELL = process.env.QUELL ?? "";
const HERE = dirname(fileURLToPath(import.meta.url));
const ROUNDS = 3;
const [PORT, SECURE_PORT, QUIC_PORT] = ["8000", "8443", "8444"];
// Python with aioquic, which serves HTTP/3.
const QUIC_PYTHON = process.env.QUELL_QUIC_PYTHON;

const probe = spawnSync(QUELL, ["exec", "--net", "none", "--quiet", "--", "true"], { encoding: "utf8" });
const skip = probe.status === 0 ? false : `no link here: ${probe.stderr}`;
const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

/** What `words` print behind this queue, with `far` at the far edge. */
function behind(queue, far, words) {
    const link = ["exec", "--net", "none", "--far", far.join(" "), "--down", "10mbit", "--up", "5mbit", "--rtt", "20ms", "--queue", queue, "--far-cc", "cubic", "--quiet"];
    // Five minutes are far more than any machine needs.
    const { status, stdout, stderr } = spawnSync(QUELL, [...link, "--", ...words], { encoding: "utf8", timeout: 300_000 });
    assert.equal(status, 0, stderr);
    return stdout;
}

/** Key, certificate and the hash of the key for a far edge, made in `folder`; nothing without openssl. */
function certify(folder) {
    const [key, certificate] = [join(folder, "key.pem"), join(folder, "certificate.pem")];
    const made = spawnSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=far", "-keyout", key, "-out", certificate]);
    if (made.status !== 0) return undefined;
    const open = new X509Certificate(readFileSync(certificate)).publicKey.export({ type: "spki", format: "der" });
    return { key, certificate, hash: createHash("sha256").update(open).digest("base64") };
}

/** Loads the site behind this queue; milliseconds until the page was loaded, by protocol. */
function surf(queue, certified) {
    const site = ["node", join(HERE, "site.js"), PORT];
    const surfer = ["node", join(HERE, "surf.js"), String(ROUNDS), PORT];
    if (certified) {
        site.push(SECURE_PORT, certified.key, certified.certificate);
        surfer.push(SECURE_PORT);
    }
    if (certified && QUIC_PYTHON) {
        site.push(QUIC_PORT, QUIC_PYTHON);
        surfer.push(QUIC_PORT, certified.hash);
    }
    const said = behind(queue, site, surfer);
    const pages = said.trim().split("\n").map(JSON.parse);
    assert.equal(pages.length, ROUNDS * protocols(certified).length, said);
    const times = {};
    for (const { protocol, loaded_ms, text } of pages) {
        assert.ok(loaded_ms > 0, text);
        (times[protocol] ??= []).push(loaded_ms);
    }
    return Object.fromEntries(Object.entries(times).map(([protocol, all]) => [protocol, median(all)]));
}

/** What the browser says that pages came by (nextHopProtocol), sorted. */
function protocols(certified) {
    if (!certified) return ["http/1.1"];
    return QUIC_PYTHON ? ["h2", "h3", "http/1.1"] : ["h2", "http/1.1"];
}

test("a page beside a download loads sooner behind DualPI2 than behind drop-tail, by HTTP/1.1, HTTP/2 and HTTP/3", { skip }, (context) => {
    const folder = mkdtempSync(join(tmpdir(), "quell-exec-"));
    try {
        const certified = certify(folder);
        if (!certified) context.diagnostic("not run: HTTP/2 and HTTP/3: openssl is missing, which makes the certificate");
        const dropTail = surf("fifo:limit=250ms", certified);
        const dualpi2 = surf("dualpi2", certified);
        context.diagnostic(`until the page is loaded, ms: drop-tail ${JSON.stringify(dropTail)}, DualPI2 ${JSON.stringify(dualpi2)}`);
        assert.deepEqual(Object.keys(dropTail).sort(), protocols(certified));
        assert.deepEqual(Object.keys(dualpi2).sort(), protocols(certified));
        for (const protocol of protocols(certified)) {
            // Handshakes, requests and the growth of windows cost round trips of 270 ms behind the one and of 40 ms behind the other.
            assert.ok(dropTail[protocol] > 1.5 * dualpi2[protocol], `${protocol}: ${dropTail[protocol]} and ${dualpi2[protocol]} ms`);
        }
    } finally {
        rmSync(folder, { recursive: true });
    }
});

const player = spawnSync("ffmpeg", ["-hide_banner", "-version"], { encoding: "utf8" });
const noPlayer = skip || (player.status === 0 ? false : "ffmpeg is missing");

test("a live picture beside a download is later behind drop-tail than behind DualPI2, by ffmpeg", { skip: noPlayer }, (context) => {
    const watch = (queue) => {
        const said = behind(queue, ["node", join(HERE, "camera.js"), PORT, SECURE_PORT], ["node", join(HERE, "viewer.js"), PORT, SECURE_PORT, "8"]);
        const picture = JSON.parse(said);
        assert.ok(picture.frames >= 190, said);
        return picture;
    };
    const [dropTail, dualpi2] = [watch("fifo:limit=250ms"), watch("dualpi2")];
    context.diagnostic(`later than without the download, ms: drop-tail ${JSON.stringify(dropTail)}, DualPI2 ${JSON.stringify(dualpi2)}`);
    // The queue of the one holds up to 250 ms, that of the other about 15 ms.
    assert.ok(dropTail.later_ms > 2 * dualpi2.later_ms && dropTail.later_ms > 50, `${dropTail.later_ms} and ${dualpi2.later_ms} ms`);
});
