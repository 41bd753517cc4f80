// The cockpit: all that can be set and seen, a panel for each question, with all queues in it.

import { Component, type ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { isDemonstration, PRESETS, type Preset } from "../bench.js";
import type { Event, History } from "../history.js";
import { SPEEDS } from "../pace.js";
import { Controls, Field, Links, OwnControls, Slide } from "./controls.js";
import { Figures } from "./figures.js";
import { Calls, CALLS } from "./panels/calls.js";
import { Cause } from "./panels/cause.js";
import { Delay, Longer } from "./panels/delay.js";
import { Demonstration } from "./panels/demonstration.js";
import { Fairness, Signals } from "./panels/fairness.js";
import { Film } from "./panels/film.js";
import { Hand, Panorama } from "./panels/panorama.js";
import { Pictures } from "./panels/pictures.js";
import { Slowest, Web } from "./panels/web.js";
import { Share } from "./share.js";
import type { Store } from "./store.js";
import { familyColour } from "./words.js";

const seconds = (ns: number): string => `${Math.round(ns / 1e9)} s`;

/** Which panels have something to show: of a bench what is switched on, else what its groups do and what was seen. */
function wanted(store: Store): { web: boolean; film: boolean; panorama: boolean; calls: boolean } {
    const histories = store.sides.map(({ history }) => history);
    const seen = (kinds: string[]): boolean => histories.some(({ events }) => events.some(({ kind }) => kinds.includes(kind)));
    if (store.own !== undefined) {
        const calls = histories.some(({ groups }) => groups.some(({ kind }) => CALLS.includes(kind)));
        return { web: seen(["item", "object"]), film: seen(["segment"]), panorama: seen(["frame"]), calls };
    }
    const users = Object.values(store.bench.users);
    const has = (...extras: string[]): boolean => users.some((user) => user.extras.some((extra) => extras.includes(extra)));
    return { web: users.some(({ items }) => items > 0), film: has("film"), panorama: has("panorama"), calls: has("call", "game") };
}

/** The base RTT of the groups that fetch web items, or of all, in ms: the smallest. */
function rtt({ groups }: History): number {
    const web = groups.filter(({ kind }) => kind === "web");
    return Math.min(...(web.length > 0 ? web : groups).map(({ rtt }) => rtt)) / 1e6;
}

/** The benches with a name. */
export function Presets({ store }: { store: Store }) {
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

/** What the runs warn of, each once. */
function Warnings({ store }: { store: Store }) {
    const all = [...new Set(store.sides.flatMap(({ about }) => about.warnings))];
    if (all.length === 0) return null;
    return (
        <details class="warnings">
            <summary>{all.length === 1 ? "A warning" : `${all.length} warnings`}</summary>
            <ul>
                {all.map((warning) => (
                    <li key={warning}>{warning}</li>
                ))}
            </ul>
        </details>
    );
}

/** What is out of sight is drawn twice a second, or when nothing moves. */
class Seen extends Component<{ isPlaying: boolean; children?: ComponentChildren }> {
    #isSeen = true;
    #drawn = 0;
    #watcher = new IntersectionObserver((entries) => (this.#isSeen = entries.at(-1)?.isIntersecting === true));

    override componentDidMount(): void {
        const { base } = this as { base?: unknown };
        if (base instanceof Element) this.#watcher.observe(base);
    }

    override componentWillUnmount(): void {
        this.#watcher.disconnect();
    }

    override shouldComponentUpdate({ isPlaying }: { isPlaying: boolean }): boolean {
        const now = performance.now();
        const draws = this.#isSeen || !isPlaying || now - this.#drawn > 500;
        if (draws) this.#drawn = now;
        return draws;
    }

    override render() {
        return this.props.children;
    }
}

/** The panels. */
function Panels({ store, calm, hand }: { store: Store; calm: boolean; hand: Hand }) {
    const sides = store.sides.map(({ history }, place) => ({ queue: store.queueOf(place), place, colour: familyColour(history.discipline), history, rtt: rtt(history) }));
    const shown = { sides, isBench: store.own === undefined, calm };
    const show = wanted(store);
    const { cause, isPlaying } = store;
    const why = (event: Event | undefined, side: number): void => store.why(event, side);
    return (
        <div class="panels">
            <Pictures {...shown} store={store} />
            {store.own === undefined && isDemonstration(store.bench) && <Demonstration {...shown} store={store} />}
            {show.panorama && <Panorama {...shown} hand={hand} />}
            <Seen isPlaying={isPlaying}>
                <Delay {...shown} />
            </Seen>
            <Seen isPlaying={isPlaying}>
                <Longer {...shown} />
            </Seen>
            <Seen isPlaying={isPlaying}>
                <Fairness {...shown} />
            </Seen>
            <Seen isPlaying={isPlaying}>
                <Signals {...shown} />
            </Seen>
            {show.web && (
                <Seen isPlaying={isPlaying}>
                    <Web {...shown} onCause={why} />
                </Seen>
            )}
            {show.web && (
                <Seen isPlaying={isPlaying}>
                    <Slowest {...shown} onCause={why} />
                </Seen>
            )}
            {cause && <Cause event={cause.event} group={store.sides[cause.side]?.about.groups[cause.event.group] ?? ""} onClose={() => why(undefined, cause.side)} />}
            {show.film && (
                <Seen isPlaying={isPlaying}>
                    <Film {...shown} />
                </Seen>
            )}
            {show.calls && (
                <Seen isPlaying={isPlaying}>
                    <Calls {...shown} />
                </Seen>
            )}
            <Seen isPlaying={isPlaying}>
                <Figures {...shown} />
            </Seen>
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
                    {store.canSlow && (
                        <button type="button" id="slow" aria-pressed={store.isSlow} title="single packets can be seen in the picture" onClick={() => store.slowly(!store.isSlow)}>
                            Slow motion
                        </button>
                    )}
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

/** All that can be set and seen. */
export function Cockpit({ store, calm, hand }: { store: Store; calm: boolean; hand: Hand }) {
    const [isOpen, open] = useState(false);
    return (
        <main>
            <button type="button" id="controls" aria-expanded={isOpen} onClick={() => open(!isOpen)}>
                {isOpen ? "Close the controls" : "Controls"}
            </button>
            <aside aria-label="Controls" class={isOpen ? "open" : ""}>
                {store.own === undefined && !store.isReadOnly ? <Controls store={store} /> : <OwnControls store={store} />}
                <Share store={store} />
            </aside>
            <div class="content">
                <Clock store={store} />
                <Links store={store} />
                <Warnings store={store} />
                {store.sides.length > 0 && <Panels store={store} calm={calm} hand={hand} />}
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
