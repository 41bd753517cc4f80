// Where the runs of the page are: in a Worker of the page itself, or in the server that gave the page.

import { named, type About, type Rows, type Series } from "../engine.js";
import type { Catalogue } from "../catalogue.js";
import type { Ask, News, Message } from "../session.js";
import type { Task } from "./background.js";

/** What the server says of itself. */
export interface Served {
    version: string;
    mode: "sim" | "virtual" | "live" | "result";
    world: "sim" | "virtual" | "live";
    kernel: string | null;
    read_only: boolean;
    speed: number | "max";
    scenario: string | null;
    wasm: boolean;
    name: string | null;
}

/** A place where runs are. */
export interface Connection {
    ask(ask: Ask): void;
    close(): void;
}

type Hear = (message: Message) => void;

/** In a file system, and in a frame that may have no origin, browsers load no module and no worker; there a script has both as texts. */
interface Local {
    quellLocal?: { wasm: string; worker: string };
}

const bytesOf = (base64: string): Uint8Array<ArrayBuffer> => Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));

async function script(address: string): Promise<void> {
    await new Promise<void>((done, failed) => {
        const element = document.createElement("script");
        element.src = address;
        element.onload = () => done();
        element.onerror = () => failed(new Error(`${address} cannot be loaded`));
        document.head.append(element);
    });
}

/** The simulator in a Worker. */
export async function worker(hear: Hear): Promise<Connection> {
    let module: WebAssembly.Module;
    let address = "worker.js";
    if (location.protocol === "file:" || origin === "null") {
        if (!(globalThis as Local).quellLocal) await script("local.js");
        const local = (globalThis as Local).quellLocal;
        if (!local) throw new Error("local.js is damaged");
        module = await WebAssembly.compile(bytesOf(local.wasm));
        address = URL.createObjectURL(new Blob([local.worker], { type: "text/javascript" }));
    } else {
        const answer = await fetch("quell.wasm");
        if (!answer.ok) throw new Error(`quell.wasm cannot be loaded: ${answer.status}`);
        module = await WebAssembly.compile(await answer.arrayBuffer());
    }
    const inside = new Worker(address);
    inside.onmessage = ({ data }: MessageEvent<Message>) => hear(data);
    inside.onerror = (event) => hear({ type: "ended", why: event.message || "the worker cannot be started" });
    inside.postMessage(module);
    return { ask: (ask) => inside.postMessage(ask), close: () => inside.terminate() };
}

/** The token of the server: from the address, which forgets it, or from an earlier load of this tab. */
export function token(): string | null {
    const words = new URLSearchParams(location.hash.slice(1));
    // A frame without an origin has no storage, and no server of quell.
    if (origin === "null") return null;
    const given = words.get("token");
    if (given) {
        words.delete("token");
        sessionStorage.setItem("token", given);
        history.replaceState(null, "", `${location.pathname}#${words}`);
    }
    return location.protocol.startsWith("http") ? sessionStorage.getItem("token") : null;
}

const headers = (token: string): Record<string, string> => ({ Authorization: `Bearer ${token}` });

/** What the server says of itself; undefined where there is no server of quell. */
export async function served(token: string): Promise<Served | undefined> {
    try {
        const answer = await fetch("api/about", { headers: headers(token) });
        return answer.ok ? ((await answer.json()) as Served) : undefined;
    } catch {
        return undefined;
    }
}

/** A series as the server writes it. */
interface Written {
    count: number;
    base64: string;
}

/** The numbers of a base64 text. */
function rowsOf(written: Written, about: About, series: Series | "packets"): Rows {
    const bytes = bytesOf(written.base64);
    return named(about.columns[series], written.count, new Float64Array(bytes.buffer));
}

const posted = (path: string, token: string, body: unknown): Promise<Response> =>
    fetch(path, { method: "POST", headers: { ...headers(token), "Content-Type": "application/json" }, body: JSON.stringify(body) });

/** A task that the server simulates out of sight. */
export async function distant(token: string, task: Task): Promise<Message> {
    const answer = await posted("api/background", token, task).catch((error: unknown) => String(error));
    if (typeof answer === "string") return { type: "refused", why: answer };
    return answer.ok ? ((await answer.json()) as Message) : { type: "refused", why: await why(answer) };
}

/** The runs of a server. */
export function server(token: string, hear: Hear): Connection {
    let abouts: About[] = [];
    let isOpen = true;
    const stop = new AbortController();

    const read = (text: string): void => {
        const message = JSON.parse(text) as Message;
        if (message.type === "opened") abouts = message.runs;
        if (message.type === "rows") {
            message.runs = message.runs.map((news, place) => {
                const about = abouts[place] as About;
                const written = news as unknown as { words: string[]; rows: Record<Series, Written>; packets?: Written };
                const decoded: News = {
                    words: written.words,
                    rows: {
                        queues: rowsOf(written.rows.queues, about, "queues"),
                        flows: rowsOf(written.rows.flows, about, "flows"),
                        events: rowsOf(written.rows.events, about, "events"),
                    },
                };
                if (written.packets && about.columns.packets) decoded.packets = rowsOf(written.packets, about, "packets");
                return decoded;
            });
        }
        hear(message);
    };

    const listen = async (): Promise<void> => {
        const answer = await fetch("api/messages", { headers: headers(token), signal: stop.signal });
        if (!answer.ok || !answer.body) throw new Error(await why(answer));
        const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
        let rest = "";
        for (;;) {
            const { done, value } = await reader.read();
            if (done) throw new Error("the server has ended");
            const parts = (rest + value).split("\n\n");
            rest = parts.pop() ?? "";
            for (const part of parts) {
                const data = part.split("\n").filter((line) => line.startsWith("data:"));
                if (data.length > 0) read(data.map((line) => line.slice(5).trimStart()).join("\n"));
            }
        }
    };
    listen().catch((error: unknown) => {
        if (isOpen) hear({ type: "ended", why: error instanceof Error ? error.message : String(error) });
    });

    // One after the other: what is asked first is done first.
    let last: Promise<void> = Promise.resolve();
    const post = async (ask: Ask): Promise<void> => {
        if (ask.ask === "catalogue") {
            const answer = await fetch("api/catalogue", { headers: headers(token) });
            if (answer.ok) hear({ type: "catalogue", catalogue: (await answer.json()) as Catalogue });
            return;
        }
        const answer = await posted("api/ask", token, ask);
        if (!answer.ok) hear({ type: "refused", why: await why(answer) });
    };
    return {
        ask: (ask) => {
            last = last.then(() => post(ask)).catch((error: unknown) => hear({ type: "refused", why: String(error) }));
        },
        close: () => {
            isOpen = false;
            stop.abort();
        },
    };
}

/** Why a request was refused, in the server's words. */
async function why(answer: Response): Promise<string> {
    try {
        const { why } = (await answer.json()) as { why?: string };
        if (why) return why;
    } catch {
        // No words: the number has to do.
    }
    return `the server refuses: ${answer.status}`;
}
