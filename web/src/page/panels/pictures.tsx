// The pictures of all queues on one ruler: in slow motion single packets, else how long those of each lane wait.

import { useEffect, useRef } from "preact/hooks";
import { colour } from "../chart.js";
import { lanesOf } from "../front.js";
import { Name, Panel, type Shown, type Side } from "../panel.js";
import { paint, reach, type Bar } from "../picture.js";
import type { Store } from "../store.js";
import { groupColour, time } from "../words.js";
import { where } from "./delay.js";

/** The most of the visitor's time that a frame stands for, in ms. */
const FRAME = 50;
/** What packets waited is the mean of so many ns, or of one interval if that is longer. */
const WINDOW = 100e6;

/** What the packets of a lane waited lately; one lane has all queues. */
function bar({ history }: Side, lane: number): Bar {
    const { from } = history.window(WINDOW);
    const isSplit = lanesOf(history.queues.map(({ name }) => name)) === 2;
    const queues = history.queues.filter(({ name }) => !isSplit || (name === "classic") === (lane === 1));
    const rows = queues.flatMap(({ rows }) => rows.filter(({ time, packets }) => time > from && packets > 0));
    const packets = rows.reduce((sum, row) => sum + row.packets, 0);
    return { long: packets > 0 ? rows.reduce((sum, row) => sum + row.packets * row.mean, 0) / packets : 0, longest: Math.max(0, ...rows.map(({ max }) => max)) };
}

/** The panel. */
export function Pictures({ sides, store }: Shown & { store: Store }) {
    const canvases = useRef<(HTMLCanvasElement | null)[]>([]);
    const latest = useRef(sides);
    latest.current = sides;
    const far = useRef(0);
    const paints = (): void => {
        const { show, isSlow } = store;
        const bars = latest.current.map((side) => [0, 1].map((lane) => bar(side, lane)));
        const seen = show.stages.map(({ reel }) => [0, 1].map((lane) => reel.length(lane, show.at)));
        far.current = reach(isSlow ? seen.flat().map((long) => long / 1e6) : bars.flat().flatMap(({ long, longest = 0 }) => [long / 1e6, longest / 1e6]), far.current);
        latest.current.forEach(({ history }, place) => {
            const canvas = canvases.current[place];
            const stage = show.stages[place];
            if (!canvas || !stage) return;
            const rate = history.rate(history.isUp ? "reverse" : "forward") ?? 10e6;
            paint(canvas, {
                reel: stage.reel,
                at: show.at,
                slow: show.slow,
                lanes: lanesOf(history.queues.map(({ name }) => name)),
                span: far.current,
                packet: 12e6 / rate,
                hasAxis: place === latest.current.length - 1,
                bars: isSlow ? undefined : { of: (lane) => bars[place]?.[lane] ?? { long: 0 }, text: "" },
                groups: history.groups.map(({ name, kind }, place) => ({ colour: colour(groupColour(name, place)), isSmall: ["voice", "game", "cbr"].includes(kind) })),
                click: undefined,
                over: [],
                isCalm: false,
            });
        });
    };
    useEffect(() => {
        let before: number | undefined;
        let asked = 0;
        const frame = (now: number): void => {
            asked = requestAnimationFrame(frame);
            if (store.isSlow) {
                store.show.tick(Math.min(now - (before ?? now), FRAME), store.isPlaying);
                paints();
            }
            before = now;
        };
        asked = requestAnimationFrame(frame);
        return () => cancelAnimationFrame(asked);
    }, [store]);
    // What stands still needs no drawing between two messages.
    useEffect(() => paints());
    const [first] = sides;
    return (
        <Panel id="pictures" title={`What waits in front of the link${first ? where(first.history) : ""}`} isWide>
            {sides.map((side) => {
                const lanes = lanesOf(side.history.queues.map(({ name }) => name)) === 2 ? ["L4S", "Classic"] : [""];
                const said = lanes.map((lane, place) => `${lane} ${time(bar(side, place).long)}`.trim()).join(", ");
                return (
                    <div key={`${side.place} ${side.queue}`} class="strip" data-queue={side.queue}>
                        {sides.length > 1 && <Name side={side} />}
                        <canvas ref={(element) => void (canvases.current[side.place] = element)} role="img" aria-label={`${side.queue}: mean wait ${said}`} />
                    </div>
                );
            })}
            <p class="note">
                {store.isSlow
                    ? "A packet stands as far from the exit as the time that it still has to wait. Hole: marked “slow down”. ✕: dropped."
                    : `Filled: what packets waited on average in the last ${time(Math.max(WINDOW, first?.history.about.interval_ns ?? 0))}. Line: the longest wait.${store.canSlow ? " Slow motion shows single packets." : ""}`}
            </p>
        </Panel>
    );
}
