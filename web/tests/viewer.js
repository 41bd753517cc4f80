// Somebody who looks at a camera, and after a while downloads something, for tests: `node viewer.js PORT DOWNLOAD_PORT SECONDS`, behind a link
// whose far edge is camera.js. Prints how much later frames were decoded beside the download than before it, and the longest time in which
// the picture stood still, as a line of JSON in milliseconds.
import { spawn } from "node:child_process";
import { connect } from "node:net";

const [port, downloadPort, seconds] = process.argv.slice(2).map(Number);
const far = process.env.QUELL_FAR;
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const quantile = (values, part) => values.toSorted((a, b) => a - b)[Math.floor(part * (values.length - 1))];

/** Waits until the camera listens. */
async function listens() {
    for (;;) {
        const there = await new Promise((done) => {
            const socket = connect(downloadPort, far, () => done(true));
            socket.on("error", () => done(false)).on("connect", () => socket.destroy());
        });
        if (there) return;
        await sleep(100);
    }
}

/** When each frame was decoded, and the time in the film that it has, in milliseconds. */
const frames = [];
await listens();
const input = ["-fflags", "nobuffer", "-flags", "low_delay", "-threads", "1", "-analyzeduration", "0", "-probesize", "100000", "-i", `tcp://${far}:${port}`];
const player = spawn("ffmpeg", ["-hide_banner", "-nostdin", "-nostats", ...input, "-vf", "showinfo", "-f", "null", "-"], { stdio: ["ignore", "ignore", "pipe"] });
let rest = "";
player.stderr.on("data", (data) => {
    const at = performance.now();
    const lines = (rest + data).split("\n");
    rest = lines.pop();
    for (const line of lines) {
        const time = /Parsed_showinfo.* n: *\d+ .*pts_time:([\d.]+)/.exec(line)?.[1];
        if (time !== undefined) frames.push({ at, time: 1e3 * Number(time) });
    }
});

/** Until the film is this far after its first frame. */
async function reach(ms) {
    while (!(frames.length > 0 && frames.at(-1).time - frames[0].time >= ms)) {
        if (player.exitCode !== null) throw new Error(`the player has ended: ${rest}`);
        await sleep(20);
    }
}

// The first second may be read from a buffer.
await reach(4_000);
const alone = frames.filter(({ time }) => time - frames[0].time >= 1_000);
connect(downloadPort, far).on("error", () => {}).resume();
const before = frames.length;
await reach(4_000 + seconds * 1_000);
const usual = quantile(alone.map(({ at, time }) => at - time), 0.5);
const beside = frames.slice(before);
const lags = beside.map(({ at, time }) => at - time - usual);
const gaps = beside.slice(1).map(({ at }, index) => at - beside[index].at);
const round = (value) => Math.round(10 * value) / 10;
console.log(JSON.stringify({ frames: beside.length, later_ms: round(quantile(lags, 0.5)), p95_ms: round(quantile(lags, 0.95)), still_ms: round(Math.max(...gaps)) }));
player.kill();
process.exit(0);
