// The Worker: a session on the module that the page sends first.

import { Engine } from "./engine.js";
import { Session, type Ask, type Message } from "./session.js";

/** Milliseconds between two frames, a little less than those of a screen. */
const FRAME = 16;

const scope = self as unknown as {
    onmessage: ((event: MessageEvent<WebAssembly.Module | Ask>) => void) | null;
    postMessage(message: Message, buffers: ArrayBuffer[]): void;
};

let session: Session | undefined;
const early: Ask[] = [];

scope.onmessage = ({ data }) => {
    if (data instanceof WebAssembly.Module) {
        Engine.load(data).then(
            (engine) => {
                session = new Session(engine, (message, buffers) => scope.postMessage(message, buffers), () => performance.now());
                for (const ask of early) session.hear(ask);
                setInterval(() => session?.frame(), FRAME);
            },
            (error: unknown) => scope.postMessage({ type: "ended", why: String(error) }, []),
        );
    } else if (session) {
        session.hear(data);
    } else {
        early.push(data);
    }
};
