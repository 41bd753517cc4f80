// The panoramic video: the visitor drags a picture, and it follows after what the simulated packets took.

import { useEffect, useRef } from "preact/hooks";
import type { Event, History } from "../../history.js";
import { Panel, Strips, type Figure, type Shown, type Side } from "../panel.js";
import { groupColour, span, time } from "../words.js";

/** The frames of the last minute that showed a group a new input: the network latency of that input, and what passed until it was on the screen. */
function frames(history: History, group: number): { network: number; view: number; ended: number }[] {
    const isNew = (event: Event): boolean => event.kind === "frame" && event.group === group && event.value > 0 && event.outcome === "complete";
    return history.events
        .filter(isNew)
        .map((event) => ({ network: event.value, view: event.value + (event.ended - event.lastByte), ended: event.ended }));
}

/** A landscape that repeats: hills, houses with numbers, so that its place can be read. */
function landscape(context: CanvasRenderingContext2D, width: number, height: number, shift: number): void {
    const period = 1_200;
    const sky = context.createLinearGradient(0, 0, 0, height);
    sky.addColorStop(0, "#8ec5e8");
    sky.addColorStop(1, "#e9f3f8");
    context.fillStyle = sky;
    context.fillRect(0, 0, width, height);
    const hills = (base: number, swing: number, waves: number, ink: string): void => {
        context.fillStyle = ink;
        context.beginPath();
        context.moveTo(0, height);
        for (let x = 0; x <= width; x += 6) {
            const angle = ((x + shift) / period) * 2 * Math.PI;
            context.lineTo(x, height * base - swing * (Math.sin(waves * angle) + 0.5 * Math.sin((waves + 2) * angle)));
        }
        context.lineTo(width, height);
        context.fill();
    };
    hills(0.62, height * 0.12, 3, "#7a9e7e");
    hills(0.8, height * 0.07, 5, "#4f7a56");
    context.font = `bold ${Math.round(height / 8)}px system-ui, sans-serif`;
    context.textAlign = "center";
    const first = Math.floor(shift / 150) - 1;
    for (let house = first; house * 150 - shift < width + 150; house++) {
        const x = house * 150 - shift;
        const number = ((house % 8) + 8) % 8;
        context.fillStyle = "#f5ead6";
        context.fillRect(x - 24, height * 0.62, 48, height * 0.3);
        context.fillStyle = "#8a3b2a";
        context.beginPath();
        context.moveTo(x - 30, height * 0.62);
        context.lineTo(x, height * 0.45);
        context.lineTo(x + 30, height * 0.62);
        context.fill();
        context.fillStyle = "#333";
        context.fillText(String(number + 1), x, height * 0.82);
    }
}

/** One user's view, and where the hand has been. */
function View({ name, colour, latency, hand }: { name: string; colour: string; latency: number; hand: Hand }) {
    const place = useRef<HTMLCanvasElement>(null);
    const late = useRef(latency);
    late.current = latency;
    useEffect(() => {
        const canvas = place.current;
        const context = canvas?.getContext("2d");
        if (!canvas || !context) return;
        let next = 0;
        let drawn = NaN;
        const draw = (): void => {
            next = requestAnimationFrame(draw);
            const width = canvas.clientWidth;
            if (width !== canvas.width) canvas.width = width;
            const shift = hand.at(performance.now() - late.current / 1e6);
            if (shift === drawn && width > 0) return;
            drawn = shift;
            landscape(context, canvas.width, canvas.height, -shift);
        };
        draw();
        const resized = new ResizeObserver(() => (drawn = NaN));
        resized.observe(canvas);
        return () => {
            cancelAnimationFrame(next);
            resized.disconnect();
        };
    }, [hand]);
    return (
        <figure class="view" style={{ borderColor: `var(${colour})` }}>
            <canvas
                ref={place}
                height={110}
                tabIndex={0}
                role="slider"
                aria-label={`View of ${name}: drag it, or move it with the arrow keys`}
                aria-valuenow={0}
                aria-valuetext={`follows after ${time(latency)}`}
                onPointerDown={(event) => {
                    event.currentTarget.setPointerCapture(event.pointerId);
                    hand.grab(event.clientX);
                }}
                onPointerMove={(event) => event.buttons > 0 && hand.drag(event.clientX)}
                onKeyDown={(event) => {
                    const step = { ArrowLeft: 20, ArrowRight: -20 }[event.key];
                    if (step === undefined) return;
                    event.preventDefault();
                    hand.move(step);
                }}
            />
            <figcaption>{name}</figcaption>
        </figure>
    );
}

/** Where the hand was at each time: every view shows it as it was some time ago. */
export class Hand {
    #moves: { time: number; place: number }[] = [{ time: -Infinity, place: 0 }];
    #grabbed = 0;

    constructor(readonly clock: () => number = () => performance.now()) {}

    get place(): number {
        return this.#moves.at(-1)?.place ?? 0;
    }

    /** The hand is put down at a place of the screen. */
    grab(x: number): void {
        this.#grabbed = x - this.place;
    }

    /** It is at a place of the screen now. */
    drag(x: number): void {
        this.#put(x - this.#grabbed);
    }

    /** It moves by so much. */
    move(by: number): void {
        this.#put(this.place + by);
    }

    /** Where it was at a time. */
    at(time: number): number {
        for (let move = this.#moves.length - 1; move >= 0; move--) {
            const { time: began = 0, place = 0 } = this.#moves[move] ?? {};
            if (began <= time) return place;
        }
        return this.#moves[0]?.place ?? 0;
    }

    #put(place: number): void {
        this.#moves.push({ time: this.clock(), place });
        // A view is never later than some seconds.
        if (this.#moves.length > 2_000) this.#moves.splice(0, 1_000);
    }
}

/** Those who drag a picture behind a queue. */
const viewers = ({ history }: Side) =>
    history.groups.map((group, place) => ({ name: group.name, colour: groupColour(group), frames: frames(history, place) })).filter(({ frames }) => frames.length > 0);

const figures = (side: Side): Figure[] =>
    viewers(side).map(({ name, colour, frames }): Figure => {
        const all = frames.map(({ network }) => network);
        return { what: `${name}: network latency`, value: time(all.at(-1)), colour, note: `${time(Math.min(...all))} to ${time(Math.max(...all))} in ${span(side.history.remembered)}` };
    });

/** The panel. */
export function Panorama({ sides, hand }: Shown & { hand: Hand }) {
    return (
        <Panel id="panorama" title="Panorama: drag the picture" isWide={sides.length > 1}>
            <Strips sides={sides} figures={figures}>
                {(side) => viewers(side).map(({ name, colour, frames }) => <View key={name} name={name} colour={colour} latency={frames.at(-1)?.view ?? 0} hand={hand} />)}
            </Strips>
            <p class="note">Each view follows the hand after the view latency of the packets that quell moves: network, decoding and display.</p>
        </Panel>
    );
}
