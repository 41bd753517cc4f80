// The page: what is set up, what runs, what it shows.

import { render } from "preact";
import { useEffect, useMemo, useReducer } from "preact/hooks";
import { Cockpit, Presets } from "./cockpit.js";
import { Front } from "./front.js";
import { Hand } from "./panels/panorama.js";
import { Store } from "./store.js";
import { time } from "./words.js";

/** The page is drawn anew after so many ms; where motion is not wanted, seldom. */
const DRAWN = { usual: 100, calm: 1_000 } as const;

const WORLDS = { sim: "modelled TCP", virtual: "real Linux TCP", live: "real packets" } as const;

const worldOf = (store: Store) => WORLDS[store.served?.world ?? "sim"];

/** The page. */
function Page({ store }: { store: Store }) {
    const [, draw] = useReducer((count: number) => count + 1, 0);
    const hand = useMemo(() => new Hand(), []);
    const calm = useMemo(() => matchMedia("(prefers-reduced-motion: reduce)"), []);
    useEffect(() => {
        const forget = store.listen(() => draw(undefined));
        const timer = setInterval(() => store.sides.length > 0 && draw(undefined), calm.matches ? DRAWN.calm : DRAWN.usual);
        return () => {
            forget();
            clearInterval(timer);
        };
    }, [store]);
    const world = worldOf(store);
    return (
        <>
            <header hidden={store.isEmbedded}>
                <h1>quell</h1>
                <p class="lead">What a queue does to the people behind a link</p>
                <p class="world" title={store.served?.kernel ?? undefined}>
                    {world}
                    {store.served?.kernel ? `, ${store.served.kernel}` : ""}
                </p>
                {store.canFront && !store.isFront && (
                    <div class="buttons">
                        <button type="button" id="first" onClick={() => store.tour(undefined)}>
                            First screen
                        </button>
                        <button type="button" id="tour" onClick={() => store.tour(0)}>
                            Tour
                        </button>
                    </div>
                )}
            </header>
            {store.problem && (
                <div class="problem" role="alert">
                    <p>{store.problem}</p>
                    <button type="button" onClick={() => (store.isLost ? void store.restart() : store.forgive())}>
                        {store.isLost ? "Start anew" : "Close"}
                    </button>
                </div>
            )}
            {store.isFront && <Front store={store} />}
            {store.own === undefined && !store.isReadOnly && !store.isFront && <Presets store={store} />}
            {!store.isFront && <Cockpit store={store} calm={calm.matches} hand={hand} />}
            {!store.isFront && <Foot store={store} />}
        </>
    );
}

function Foot({ store }: { store: Store }) {
    const world = worldOf(store);
    return (
        <footer>
            <p>
                {world === "modelled TCP"
                    ? "Everything here is computed by quell's simulator: its queues are the ones that move real packets, its TCP is a model of Linux's."
                    : "Everything here was measured by quell."}{" "}
                Percentiles need 100 packets or items; where there are fewer, none is shown. Both sides of a comparison have the same random plan.
                {store.frame ? ` Time of the run: ${time(store.frame.now)}.` : ""}
            </p>
        </footer>
    );
}

const store = new Store();
const place = document.getElementById("page");
if (place) {
    place.replaceChildren();
    render(<Page store={store} />, place);
    void store.connect();
}
