// The first screen: two queues on one ruler, and a click.

import { useEffect, useRef } from "preact/hooks";
import { bitsPerSecond } from "../bench.js";
import { called, FRONT, number, of, percent, sentences, type Minute } from "../front.js";
import type { Stage } from "../show.js";
import { colour } from "./chart.js";
import { FIRST } from "./controls.js";
import { Copies, Whole } from "./copies.js";
import { Heads } from "./panel.js";
import { People } from "./people.js";
import { paint, reach } from "./picture.js";
import { Share } from "./share.js";
import { TOUR } from "../tour.js";
import type { Store } from "./store.js";

/** The most of the visitor's time that a frame stands for, in ms. */
const FRAME = 50;

/** How far both axes reach: to the room of an ordinary queue, and to what is in the pictures. */
function span(store: Store, before: number): number {
    const { at, stages } = store.show;
    const rooms = store.bench.queues.map((queue) => Number(/limit=([0-9.]+)ms/.exec(queue)?.[1] ?? 0));
    const lengths = stages.flatMap(({ reel }) => [0, 1].map((lane) => reel.length(lane, at) / 1e6));
    return reach([...rooms, ...lengths], before);
}

/** The result of the click of a side, in words. */
function result(stage: Stage | undefined): string {
    if (!stage?.click) return "–";
    if (!stage.isSaid) return "…";
    return stage.click.fate === "passed" || stage.click.fate === "marked" ? `${number(stage.click.wait / 1e6)} ms` : "lost";
}

/** A group of a row of the table, in words. */
const ROWS = [
    { group: "l4s", name: "new downloads (L4S)" },
    { group: "classic", name: "ordinary downloads" },
    { group: "l4s-click", name: "your clicks, new program" },
    { group: "classic-click", name: "your clicks, ordinary program" },
    { group: "l4s-item", name: "small items, new program" },
    { group: "classic-item", name: "small items, ordinary program" },
    { group: "udp", name: "one that never slows down" },
] as const;

/** The colour of what a group sends. */
const trafficColour = (group: string): string => (group === "udp" ? "--unresponsive" : group.startsWith("l4s") ? "--l4s" : "--classic");

/** The rows of a side of which there are figures. */
const rowsOf = (side: Minute) =>
    ROWS.flatMap(({ group, name }) => {
        const figures = of(side, group);
        return figures ? [{ group, name, ...figures }] : [];
    });

/** From the median wait to that which one packet in a hundred exceeds, of both queues on one axis. */
function Bars({ store, minute }: { store: Store; minute: readonly [Minute, Minute] }) {
    const sides = minute.map(rowsOf);
    const most = Math.max(1, ...sides.flat().map(({ p99 }) => p99));
    return (
        <table class="waits">
            <caption>A bar reaches from the median wait to the one that one packet in a hundred exceeds. All share one axis, from 0 to {number(most)} ms.</caption>
            {sides.map((rows, place) => (
                <tbody key={place}>
                    <tr>
                        <th colSpan={3} scope="rowgroup">
                            {called(store.bench.queues[place] ?? "").name}
                        </th>
                    </tr>
                    {rows.map(({ group, name, p50, p99 }) => (
                        <tr key={group}>
                            <th scope="row">{name}</th>
                            <td>
                                <span style={{ marginLeft: `${(100 * p50) / most}%`, width: `max(3px, ${(100 * (p99 - p50)) / most}%)`, background: `var(${trafficColour(group)})` }} />
                            </td>
                            <td>
                                {number(p50)} to {number(p99)} ms
                            </td>
                        </tr>
                    ))}
                </tbody>
            ))}
        </table>
    );
}

/** Every packet of the minute, as a table. */
function Figures({ store, minute }: { store: Store; minute: readonly [Minute, Minute] }) {
    return (
        <div class="scroll" tabIndex={0} role="region" aria-label="Figures of the minute">
            <table id="minute-figures">
                <Heads names={["packets of", "mean wait, ms", "one in a hundred waits longer than, ms", "marked, %", "lost, %", "Mbit/s each"]} />
                {minute.map((side, place) => (
                    <tbody key={place}>
                        <tr>
                            <th colSpan={6} scope="rowgroup">
                                {called(store.bench.queues[place] ?? "").name}
                            </th>
                        </tr>
                        {rowsOf(side).map(({ group, name, mean, p99, marked, dropped, each }) => (
                            <tr key={group}>
                                <th scope="row">{name}</th>
                                {[number(mean), number(p99), percent(marked), percent(dropped), each.toFixed(each < 1 ? 2 : 1)].map((value, column) => (
                                    <td key={column}>{value}</td>
                                ))}
                            </tr>
                        ))}
                    </tbody>
                ))}
            </table>
        </div>
    );
}

/** The two queues that are compared. */
function Queues({ store }: { store: Store }) {
    return (
        <p class="buttons">
            {["Above", "Below"].map((name, place) => (
                <label key={name} class="pick">
                    {name}{" "}
                    <select
                        aria-label={`Queue ${name.toLowerCase()}`}
                        value={store.bench.queues[place]}
                        onChange={({ currentTarget: { value } }) => store.front(store.downloads, store.bench.queues.map((queue, at) => (at === place ? value : queue)))}
                    >
                        {FIRST.map(({ queue, name }) => (
                            <option key={queue} value={queue}>
                                {name}
                            </option>
                        ))}
                    </select>
                </label>
            ))}
        </p>
    );
}

/** One queue: its name, what the click waited, its picture. */
function Side({ store, place, canvas }: { store: Store; place: number; canvas: (element: HTMLCanvasElement | null) => void }) {
    const { name, small } = called(store.bench.queues[place] ?? "");
    const said = result(store.show.stages[place]);
    return (
        <div class="stage">
            <div class="head">
                <h3>
                    {name} <small>{small}</small>
                </h3>
                <p class="result">
                    <span class="what">your click waits</span> <output aria-live="off">{said}</output>
                </p>
            </div>
            <canvas ref={canvas} role="img" aria-label={`${name}: ${said === "–" || said === "…" ? "no click yet" : said === "lost" ? "your click was lost" : `your click waited ${said}`}`} />
        </div>
    );
}

/** Slider, click, program, pause, slow motion. */
function Hand({ store }: { store: Store }) {
    const { show, downloads } = store;
    const isMoving = store.isPlaying && !show.isCalm;
    return (
        <section class="hand" aria-label="Controls">
            <label class="slide">
                <span>
                    Downloads: <output>{downloads}</output>
                </span>
                <input
                    type="range"
                    id="downloads"
                    min={0}
                    max={FRONT.most}
                    value={downloads}
                    aria-label="Downloads"
                    aria-valuetext={`${downloads} download${downloads === 1 ? "" : "s"}`}
                    onInput={({ currentTarget }) => store.front(currentTarget.valueAsNumber)}
                />
            </label>
            <button type="button" class="main" id="click" onClick={() => store.click()}>
                Click
            </button>
            <fieldset>
                <legend>Your program:</legend>
                {([["l4s", "a new one (L4S)"], ["classic", "an ordinary one"]] as const).map(([program, name]) => (
                    <label key={program}>
                        <input type="radio" name="program" value={program} checked={show.program === program} onChange={() => store.click(program)} /> {name}
                    </label>
                ))}
            </fieldset>
            {!show.isCalm && (
                <button type="button" id="pause" onClick={() => store.rest(isMoving)}>
                    {isMoving ? "Pause" : "Play"}
                </button>
            )}
            <label class="pick slow">
                Slow motion{" "}
                <select value={show.slow} onChange={({ currentTarget }) => (show.pace(Number(currentTarget.value)), store.tell())}>
                    {[15, 50, 150].map((slow) => (
                        <option key={slow} value={slow}>
                            {slow} times
                        </option>
                    ))}
                </select>
            </label>
            <button type="button" id="ms" onClick={() => (store.rest(true), show.step(1e6), store.tell())}>
                1 ms on
            </button>
        </section>
    );
}

/** What is asked: of the first screen, or of a step of the tour. */
function Question({ store }: { store: Store }) {
    const step = store.stepOfTour === undefined ? undefined : TOUR[store.stepOfTour];
    if (!step || store.stepOfTour === undefined) {
        return (
            <>
                <h2 class="question">Somebody downloads. You click. How long does your click wait?</h2>
                <p class="lead">
                    Both pictures show the same line of {bitsPerSecond(store.bench.rate) / 1e6} Mbit/s and the same senders. Only the queue in front of the line differs.
                </p>
            </>
        );
    }
    const place = store.stepOfTour;
    const isLast = place + 1 === TOUR.length;
    return (
        <section class="step" aria-labelledby="tour-title">
            <h2 class="question" id="tour-title">
                {place + 1} of {TOUR.length}: {step.title}
            </h2>
            <p class="lead">{step.act}</p>
            <div class="buttons">
                <button type="button" disabled={place === 0} onClick={() => store.tour(place - 1)}>
                    Back
                </button>
                <button type="button" id="next" onClick={() => store.tour(isLast ? undefined : place + 1)}>
                    {isLast ? "End of the tour" : "Next"}
                </button>
                {!isLast && (
                    <button type="button" onClick={() => store.tour(undefined)}>
                        Leave the tour
                    </button>
                )}
            </div>
        </section>
    );
}

/** What is true of the minute, in a large and a small sentence. */
function said(store: Store): [string, string] {
    const { latest } = store.minutes;
    if (!latest) return ["A minute of both is simulated…", ""];
    const step = store.stepOfTour === undefined ? undefined : TOUR[store.stepOfTour];
    // Of other downloads than those of the step its text would not be true.
    return step && step.downloads === store.downloads && step.queues.every((queue, place) => queue === store.bench.queues[place]) ? [step.text(...latest), ""] : sentences(store.bench, latest, store.show.program);
}

/** The first screen. */
export function Front({ store }: { store: Store }) {
    const canvases = useRef<(HTMLCanvasElement | null)[]>([]);
    useEffect(() => {
        let before: number | undefined;
        let asked = 0;
        let far = 0;
        const frame = (now: number): void => {
            asked = requestAnimationFrame(frame);
            store.show.tick(Math.min(now - (before ?? now), FRAME), store.isPlaying);
            before = now;
            far = span(store, far);
            draw(store, canvases.current, far);
        };
        asked = requestAnimationFrame(frame);
        // The page around a figure may make its frame as high as this.
        const tell = new ResizeObserver(() => parent.postMessage({ quell: { height: document.documentElement.scrollHeight } }, "*"));
        if (store.isEmbedded && parent !== window) tell.observe(document.body);
        return () => {
            cancelAnimationFrame(asked);
            tell.disconnect();
        };
    }, [store]);
    const { show } = store;
    const [say, more] = said(store);
    const results = show.stages.map((stage) => result(stage));
    const isOver = results.length === 2 && show.stages.every(({ isSaid }) => isSaid);
    return (
        <main class="front">
            <Question store={store} />
            <section aria-label="The two queues">
                {store.bench.queues.map((queue, place) => (
                    <Side key={`${place} ${queue}`} store={store} place={place} canvas={(element) => (canvases.current[place] = element)} />
                ))}
            </section>
            <Hand store={store} />
            <p class="say" role="status">
                {say}
            </p>
            <p class="more">{more}</p>
            <p class="unseen" role="status">
                {isOver ? `Your click ${results[0] === "lost" ? "was lost" : `waited ${results[0] ?? ""}`} above, and ${results[1] === "lost" ? "was lost" : `waited ${results[1] ?? ""}`} below.` : ""}
            </p>
            <ul class="legend" aria-label="What you see">
                <li><i class="key l4s" /> packet of a new sender (L4S)</li>
                <li><i class="key classic" /> packet of an ordinary sender</li>
                <li><i class="key hole" /> marked: “slow down”</li>
                {store.bench.udp > 0 && <li><i class="key never" /> packet of one that never slows down</li>}
                <li>✕ dropped</li>
                <li>★ your click</li>
            </ul>
            {store.isEmbedded ? <Whole /> : <Rest store={store} results={results} />}
        </main>
    );
}

/** What is closed at first. */
function Rest({ store, results }: { store: Store; results: string[] }) {
    const { minutes } = store;
    return (
        <>
            <details id="other">
                <summary>Other queues</summary>
                <Queues store={store} />
            </details>
            <details id="people">
                <summary>What people feel on your line</summary>
                <People store={store} />
            </details>
            <details id="minute">
                <summary>Every packet of a minute</summary>
                {minutes.latest ? (
                    <>
                        <Bars store={store} minute={minutes.latest} />
                        <Figures store={store} minute={minutes.latest} />
                    </>
                ) : (
                    <p class="note">It is simulated…</p>
                )}
            </details>
            <details id="repeat">
                <summary>Repeat and share</summary>
                <Share store={store} />
                <Copies store={store} results={results} />
            </details>
            <p class="buttons">
                <button type="button" id="tour" onClick={() => store.tour(0)}>
                    The tour
                </button>
                <button type="button" id="everything" onClick={() => store.cockpit()}>
                    Everything that can be set and seen
                </button>
            </p>
            <p class="note">
                Everything here is computed by quell's simulator, now: new senders are L4S with Prague, ordinary ones have CUBIC; base RTT {store.bench.rtt.replace("ms", " ms")}. A packet stands as far from the exit as the time that it still has
                to wait. Your click is the next of the small packets that your program sends every 10 ms. The sentences are of a minute after ten seconds.
            </p>
        </>
    );
}

function draw(store: Store, canvases: (HTMLCanvasElement | null)[], far: number): void {
    const { show } = store;
    show.stages.forEach((stage, place) => {
        const canvas = canvases[place];
        const about = store.sides[place]?.about;
        if (!canvas || !about) return;
        paint(canvas, {
            reel: stage.reel,
            at: show.at,
            slow: show.slow,
            lanes: lanesOf(about.links[0]?.queues ?? []),
            span: far,
            packet: 12e6 / Math.max(1, bitsPerSecond(store.bench.rate)),
            hasAxis: place === show.stages.length - 1,
            bars: show.isBeginning ? { of: (lane) => ({ long: stage.reel.length(lane, show.at) }), text: `the downloads start: ${(show.at / 1e9).toFixed(1)} s, in real time` } : undefined,
            groups: about.groups.map((name) => ({ colour: colour(trafficColour(name)), isSmall: name.endsWith("-click") })),
            click: stage.click,
            over: stage.over.slice(-40),
            isCalm: show.isCalm,
        });
    });
}

/** A queue for new senders above one for ordinary ones has two lanes; all others have one. */
export const lanesOf = (queues: readonly string[]): number => (queues.includes("l4s") && queues.includes("classic") ? 2 : 1);
