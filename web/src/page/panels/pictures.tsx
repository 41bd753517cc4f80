// The pictures of all queues on one ruler: in slow motion single packets, else how long those of each lane wait.

import { useEffect, useRef } from "preact/hooks";
import type { History, LinkHistory } from "../../history.js";
import { colour } from "../chart.js";
import { lanesOf } from "../front.js";
import { Name, Panel, type Shown, type Side } from "../panel.js";
import { paint, reach, type Bar } from "../picture.js";
import type { Store } from "../store.js";
import { familyColour, groupColour, time } from "../words.js";

/** The most of the visitor's time that a frame stands for, in ms. */
const FRAME = 50;
/** What packets waited is the mean of so many ns, or of one interval if that is longer. */
const WINDOW = 100e6;

/** What the packets of a lane of a link waited lately; one lane has all queues. */
function bar(history: History, { queues: all }: LinkHistory, lane: number): Bar {
    const { from } = history.window(WINDOW);
    const isSplit = lanesOf(all.map(({ name }) => name)) === 2;
    const queues = all.filter(({ name }) => !isSplit || (name === "classic") === (lane === 1));
    const rows = queues.flatMap(({ rows }) => rows.filter(({ time, packets }) => time > from && packets > 0));
    const packets = rows.reduce((sum, row) => sum + row.packets, 0);
    return { long: packets > 0 ? rows.reduce((sum, row) => sum + row.packets * row.mean, 0) / packets : 0, longest: Math.max(0, ...rows.map(({ max }) => max)) };
}

/** A picture for each link of each side, in the order of the stages. */
const picturesOf = (sides: Side[]) => sides.flatMap((side) => side.history.inDirection.map((link, hop) => ({ side, history: side.history, link, hop })));

/** The panel. */
export function Pictures({ sides, store }: Shown & { store: Store }) {
    const canvases = useRef<(HTMLCanvasElement | null)[]>([]);
    const latest = useRef(sides);
    latest.current = sides;
    const far = useRef(0);
    const paints = (): void => {
        const { show, isSlow } = store;
        const all = picturesOf(latest.current);
        const bars = all.map(({ history, link }) => [0, 1].map((lane) => bar(history, link, lane)));
        const seen = show.stages.map(({ reel }) => [0, 1].map((lane) => reel.length(lane, show.at)));
        far.current = reach(isSlow ? seen.flat().map((long) => long / 1e6) : bars.flat().flatMap(({ long, longest = 0 }) => [long / 1e6, longest / 1e6]), far.current);
        all.forEach(({ history, link, hop }, place) => {
            const canvas = canvases.current[place];
            const stage = show.stages[place];
            if (!canvas || !stage) return;
            paint(canvas, {
                reel: stage.reel,
                at: show.at,
                slow: show.slow,
                lanes: lanesOf(link.queues.map(({ name }) => name)),
                span: far.current,
                packet: 12e6 / (history.rate(history.isUp ? "reverse" : "forward", hop) ?? 10e6),
                hasAxis: place === all.length - 1,
                bars: isSlow ? undefined : { of: (lane) => bars[place]?.[lane] ?? { long: 0 }, text: "" },
                groups: history.groups.map((group) => ({ colour: colour(groupColour(group)), isSmall: ["voice", "game"].includes(group.kind) })),
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
    const isUp = first?.history.isUp === true;
    return (
        <Panel id="pictures" title={`What waits in front of the link${(first?.history.links.length ?? 0) > 1 ? "s" : ""}${isUp ? ", up" : ""}`} isWide>
            {picturesOf(sides).map(({ side, history, link }, place) => {
                const lanes = lanesOf(link.queues.map(({ name }) => name)) === 2 ? ["L4S", "Classic"] : [""];
                const said = lanes.map((lane, place) => `${lane} ${time(bar(history, link, place).long)}`.trim()).join(", ");
                const names = [sides.length > 1 ? side.queue : "", history.links.length > 1 ? link.name : ""].filter(Boolean);
                return (
                    <div key={`${side.place} ${side.queue} ${link.name}`} class="strip" data-queue={side.queue}>
                        {names.length > 0 && <Name side={{ ...side, queue: names.join(", "), colour: familyColour(link.discipline) }} />}
                        <canvas ref={(element) => void (canvases.current[place] = element)} role="img" aria-label={`${[side.queue, ...names.slice(-1)].join(", ")}: mean wait ${said}`} />
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
