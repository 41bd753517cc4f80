// A camera at the far edge of a link, for tests: `node camera.js PORT DOWNLOAD_PORT`. Whoever connects to the first port gets its picture
// live, by ffmpeg: MPEG-TS with 25 frames of H.264 per second, 1.5 Mbit/s. The second port sends without end.
import { spawn } from "node:child_process";
import { createServer } from "node:net";

const [port, downloadPort] = process.argv.slice(2).map(Number);
const PICTURE = ["-hide_banner", "-loglevel", "error", "-nostdin", "-re", "-f", "lavfi", "-i", "testsrc2=size=640x360:rate=25"];
const CODED = ["-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-b:v", "1500k", "-maxrate", "1500k", "-bufsize", "150k"];
const SENT = ["-f", "mpegts", "-muxdelay", "0", "-muxpreload", "0", "-flush_packets", "1", "pipe:1"];

createServer({ noDelay: true }, (socket) => {
    const camera = spawn("ffmpeg", [...PICTURE, ...CODED, ...SENT], { stdio: ["ignore", "pipe", "inherit"] });
    camera.stdout.pipe(socket);
    socket.on("error", () => {}).on("close", () => camera.kill());
}).listen(port);

const DATA = Buffer.alloc(20_000, "x");
createServer((socket) => {
    const more = () => {
        while (socket.write(DATA));
    };
    socket.on("error", () => {}).on("drain", more);
    more();
}).listen(downloadPort);
