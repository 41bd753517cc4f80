// A web site at the far edge of a link, for tests: `node site.js PORT SECURE_PORT KEY CERTIFICATE [QUIC_PORT PYTHON]`. It speaks HTTP/1.1
// at the first port and HTTP/2 at the second one: a page with objects, and a file without an end at /endless. With PYTHON, which has aioquic,
// site3.py speaks HTTP/3 at the third one.
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { createSecureServer } from "node:http2";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const OBJECTS = 12;
const OBJECT = Buffer.alloc(20_000, "x");
const [port, securePort, key, certificate, quicPort, python] = process.argv.slice(2);

// When the load event comes, the page says how long that took, and by which protocol it came.
const PAGE = `<!doctype html><meta charset="utf-8"><title>site</title><link rel="icon" href="data:,">
<script>addEventListener("load", () => {
    const { nextHopProtocol } = performance.getEntriesByType("navigation")[0];
    document.body.append(JSON.stringify({ loaded_ms: performance.now(), protocol: nextHopProtocol }));
});</script>
${Array.from({ length: OBJECTS }, (_, index) => `<script src="/${index}.js"></script>`).join("\n")}`;

function answer(request, response) {
    if (request.url === "/endless") {
        const more = () => {
            while (response.write(OBJECT));
        };
        response.writeHead(200, { "content-type": "application/octet-stream" });
        response.on("drain", more);
        more();
        return;
    }
    const isPage = request.url === "/";
    response.writeHead(200, { "content-type": isPage ? "text/html" : "text/javascript" });
    response.end(isPage ? PAGE : Buffer.concat([Buffer.from("//"), OBJECT]));
}

createServer(answer).listen(Number(port));
if (key) createSecureServer({ key: readFileSync(key), cert: readFileSync(certificate) }, answer).listen(Number(securePort));
if (python) {
    const script = fileURLToPath(new URL("site3.py", import.meta.url));
    const quic = spawn(python, [script, quicPort, `http://127.0.0.1:${port}`, key, certificate], { stdio: ["ignore", "ignore", "inherit"] });
    process.on("SIGTERM", () => {
        quic.kill();
        process.exit();
    });
}
