// The page: what is set up, what runs, what it shows.

import { render } from "preact";
import { useEffect, useMemo, useReducer } from "preact/hooks";
import { PRESETS, type Preset } from "../bench.js";
import type { Event } from "../history.js";
import { SPEEDS } from "../pace.js";
import { Controls, Field, Links, OwnControls, Slide } from "./controls.js";
import { Figures } from "./figures.js";
import { Front } from "./front.js";
import { Calls, CALLS } from "./panels/calls.js";
import { Cause } from "./panels/cause.js";
import { Delay } from "./panels/delay.js";
import { Fairness } from "./panels/fairness.js";
import { Film } from "./panels/film.js";
import { Hand, Panorama } from "./panels/panorama.js";
import { Web } from "./panels/web.js";
import { Share } from "./share.js";
import { Store, type Side } from "./store.js";
import { time } from "./words.js";

/** The page is drawn anew after so many ms; where motion is not wanted, seldom. */
const DRAWN = { usual: 100, calm: 1_000 } as const;

const WORLDS = { sim: "modelled TCP", virtual: "real Linux TCP", live: "real packets" } as const;

/** Which panels have something to show: of a bench what is switched on, else what its groups do and what was seen. */
function wanted(store: Store, side: Side): { web: boolean; film: boolean; panorama: boolean; calls: boolean } {
    const seen = (kinds: string[]): boolean => side.history.events.some(({ kind }) => kinds.includes(kind));
    if (store.own !== undefined) {
        const calls = side.history.groups.some(({ kind }) => CALLS.includes(kind));
        return { web: seen(["item", "object"]), film: seen(["segment"]), panorama: seen(["frame"]), calls };
    }
    const users = Object.values(store.bench.users);
    const has = (...extras: string[]): boolean => users.some((user) => user.extras.some((extra) => extras.includes(extra)));
    return { web: users.some(({ items }) => items > 0), film: has("film"), panorama: has("panorama"), calls: has("call", "game") };
}

/** The base RTT of the groups that fetch web items, or of all, in ms: the smallest. */
function rtt({ history: { groups } }: Side): number {
    const web = groups.filter(({ kind }) => kind === "web");
    return Math.min(...(web.length > 0 ? web : groups).map(({ rtt }) => rtt)) / 1e6;
}

/** The benches with a name. */
function Presets({ store }: { store: Store }) {
    const pick = (preset: Preset): void => store.begin(structuredClone(preset.bench));
    return (
        <nav class="presets" aria-label="Presets">
            {PRESETS.map((preset) => (
                <button type="button" key={preset.name} title={preset.text} data-preset={preset.name} onClick={() => pick(preset)}>
                    {preset.title}
                </button>
            ))}
        </nav>
    );
}

/** One queue with all of its panels. */
function Column({ store, side, place, calm, hand }: { store: Store; side: Side; place: number; calm: boolean; hand: Hand }) {
    const shown = { history: side.history, all: store.sides.map(({ history }) => history), rtt: rtt(side), isBench: store.own === undefined, calm };
    const show = wanted(store, side);
    const queue = store.queueOf(place);
    const cause = store.cause?.side === place ? store.cause.event : undefined;
    const why = (event: Event | undefined): void => store.why(event, place);
    return (
        <div class="column" data-queue={queue}>
            {store.sides.length > 1 && <p class="queue-name">{queue}</p>}
            {side.about.warnings.length > 0 && (
                <details class="warnings">
                    <summary>{side.about.warnings.length === 1 ? "A warning" : `${side.about.warnings.length} warnings`}</summary>
                    <ul>
                        {side.about.warnings.map((warning) => (
                            <li key={warning}>{warning}</li>
                        ))}
                    </ul>
                </details>
            )}
            <div class="panels">
                {show.panorama && <Panorama {...shown} hand={hand} />}
                {show.web && <Web {...shown} onCause={why} />}
                {cause && <Cause event={cause} group={side.about.groups[cause.group] ?? ""} onClose={() => why(undefined)} />}
                <Delay {...shown} />
                <Fairness {...shown} />
                {show.film && <Film {...shown} />}
                {show.calls && <Calls {...shown} />}
                <Figures {...shown} />
            </div>
        </div>
    );
}

/** Time, speed, pause, step, anew. */
function Clock({ store }: { store: Store }) {
    const { frame } = store;
    const behind = frame !== undefined && store.isPlaying && frame.wished > 0 && frame.reached < 0.9 * frame.wished;
    return (
        <div class="clock">
            <p class="now" aria-label="Time of the run">
                {((frame?.now ?? 0) / 1e9).toFixed(1)} s{frame?.isOver === true && ", the end"}
            </p>
            {!store.isRealTime && (
                <>
                    <button type="button" class="main" id="play" disabled={frame?.isOver === true} onClick={() => store.pace(store.speed, !store.isPlaying)}>
                        {store.isPlaying ? "Pause" : "Play"}
                    </button>
                    <button type="button" id="step" disabled={frame?.isOver === true} onClick={() => store.step(100e6)}>
                        +0.1 s
                    </button>
                    <Slide name="Speed" value={store.speed} min={SPEEDS.usual} max={SPEEDS.fastest} log shown={`${store.speed} ×`} onInput={(speed) => store.pace(speed)} />
                </>
            )}
            <button type="button" id="anew" disabled={store.isReadOnly} onClick={() => void store.restart()}>
                Start anew
            </button>
            {store.own === undefined && (
                <div class="seed">
                    <Field name="Seed" isNumber value={String(store.bench.seed)} onChange={(value) => store.change((bench) => (bench.seed = Math.max(0, Math.trunc(Number(value)) || 0)))} />
                </div>
            )}
            {behind && (
                <p class="note" role="status">
                    This machine reaches {frame.reached.toFixed(frame.reached < 1 ? 2 : 1)} × of {frame.wished} ×: the times shown are those of the run, not of the clock on the wall.
                </p>
            )}
        </div>
    );
}

const worldOf = (store: Store) => WORLDS[store.served?.world ?? "sim"];
const seconds = (ns: number): string => `${Math.round(ns / 1e9)} s`;

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

/** All that can be set and seen. */
function Cockpit({ store, calm, hand }: { store: Store; calm: boolean; hand: Hand }) {
    return (
        <main>
            <aside aria-label="Controls">
                <Clock store={store} />
                {store.own === undefined && !store.isReadOnly ? <Controls store={store} /> : <OwnControls store={store} />}
                <Share store={store} />
            </aside>
            <div class={store.sides.length > 1 ? "columns two" : "columns"}>
                <Links store={store} />
                {store.sides.map((side, place) => (
                    <Column key={place} store={store} side={side} place={place} calm={calm} hand={hand} />
                ))}
                {store.sides.length === 0 && !store.problem && (
                    <p class="note" role="status">
                        {store.progress
                            ? `The run goes on inside its kernel: ${seconds(store.progress.now)} of ${seconds(store.progress.duration)}. You see it once it is over.`
                            : "Starting…"}
                    </p>
                )}
            </div>
        </main>
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
