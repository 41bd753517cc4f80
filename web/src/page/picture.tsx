// The canvas of a picture: draws what is at a time, whole, each time.

import { fades, falls, layout, place, type Layout, type Reel, type Seen } from "../picture.js";
import { number } from "../front.js";
import { colour, cross } from "./chart.js";

/** How long the packets of a lane wait: the filled length, and the longest. */
export interface Bar {
    long: number;
    longest?: number;
}

/** What a picture shows. */
export interface Scene {
    reel: Reel;
    at: number;
    slow: number;
    lanes: number;
    /** How far the axis reaches, and what a packet takes on the link, in ms. */
    span: number;
    packet: number;
    hasAxis: boolean;
    /** Only how long each lane is, in ns, where single packets are too fast or not told; and what that is. */
    bars?: { of: (lane: number) => Bar; text: string } | undefined;
    /** The colour of a group, and whether it is one of small packets. */
    groups: { colour: string; isSmall: boolean }[];
    click: Seen | undefined;
    /** The waits of clicks that are over. */
    over: number[];
    isCalm: boolean;
}

type Inks = Record<"paper" | "ink" | "soft" | "lines" | "l4s" | "classic" | "lane", string>;

const inks = (): Inks => Object.fromEntries(["paper", "ink", "soft", "lines", "l4s", "classic", "lane"].map((name) => [name, colour(`--${name}`)])) as Inks;

/** The axis reaches to one of these, in ms. */
const SPANS = [11, 22, 33, 55, 110, 165, 220, 330, 550, 770, 1_100, 1_650, 2_200, 3_300, 5_500] as const;

/** How far axes reach that have room for all of these, in ms. They grow at once, and shrink by half at least. */
export function reach(lengths: readonly number[], before: number): number {
    const most = Math.max(10, ...lengths);
    const needed = SPANS.find((span) => span >= 1.04 * most) ?? most;
    return needed > before || needed < before / 2 ? needed : before;
}

/** Draws a scene, and makes the canvas as high as it needs to be. */
export function paint(canvas: HTMLCanvasElement, scene: Scene): void {
    const { clientWidth: width } = canvas;
    if (width < 10) return;
    const laid = layout(width, scene.lanes, scene.span, scene.packet, scene.hasAxis);
    const dense = devicePixelRatio || 1;
    const [wide, high] = [Math.round(width * dense), Math.round(laid.height * dense)];
    if (canvas.width !== wide || canvas.height !== high) {
        Object.assign(canvas, { width: wide, height: high });
        canvas.style.height = `${laid.height}px`;
    }
    const to = canvas.getContext("2d");
    if (!to) return;
    const ink = inks();
    to.setTransform(dense, 0, 0, dense, 0, 0);
    to.clearRect(0, 0, width, laid.height);
    ground(to, laid, scene, ink);
    if (scene.bars) return lengths(to, laid, scene, ink);
    for (const packet of scene.reel.packets) {
        if (packet.arrive > scene.at + falls(scene.slow) || packet === scene.click) continue;
        square(to, laid, scene, ink, packet);
    }
    clicks(to, laid, scene, ink);
}

const font = ({ isSmall }: Layout, bold = false): string => `${bold ? "700 " : ""}${(isSmall ? 11 : 13) + (bold ? 2 : 0)}px system-ui, sans-serif`;

/** Lanes, axis and exit. */
function ground(to: CanvasRenderingContext2D, laid: Layout, { lanes, span, hasAxis }: Scene, ink: Inks): void {
    const { exit, scale, tops, lane, isSmall } = laid;
    const bottom = (tops.at(-1) ?? 0) + lane;
    to.fillStyle = ink.lane;
    for (const top of tops) {
        to.beginPath();
        to.roundRect(2, top - 2, exit - 2, lane + 4, 5);
        to.fill();
    }
    to.font = font(laid);
    to.textBaseline = "middle";
    to.strokeStyle = ink.lines;
    to.fillStyle = ink.soft;
    to.lineWidth = 1;
    to.textAlign = "center";
    const step = [0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000].find((step) => span / step <= 6) ?? 2_000;
    for (let ms = step; ms < span; ms += step) {
        const x = Math.round(exit - ms * scale) + 0.5;
        to.beginPath();
        to.moveTo(x, (tops[0] ?? 0) - 2);
        to.lineTo(x, bottom + 6);
        to.stroke();
        if (hasAxis) to.fillText(String(ms), x, bottom + 16);
    }
    if (hasAxis) {
        to.fillText("0", exit, bottom + 16);
        to.textAlign = "left";
        to.fillText("milliseconds until it leaves", 2, bottom + 31);
    }
    to.fillStyle = ink.ink;
    to.fillRect(exit, (tops[0] ?? 0) - 4, 2.5, bottom - (tops[0] ?? 0) + 8);
    to.textAlign = "left";
    to.fillStyle = ink.soft;
    if (!isSmall) to.fillText("to you", exit + 34, (tops[0] ?? 0) - 16);
    if (lanes === 2) {
        to.fillText("new senders (L4S)", 10, (tops[0] ?? 0) + lane / 2);
        to.fillText("ordinary senders", 10, (tops[1] ?? 0) + lane / 2);
    }
}

/** Too fast for single packets: how long each lane is. */
function lengths(to: CanvasRenderingContext2D, laid: Layout, { bars, lanes }: Scene, ink: Inks): void {
    const { exit, scale, tops, lane, width } = laid;
    tops.forEach((top, place) => {
        const { long = 0, longest } = bars?.of(place) ?? {};
        to.fillStyle = lanes === 1 ? ink.soft : place === 0 ? ink.l4s : ink.classic;
        to.fillRect(exit - (long / 1e6) * scale, top, (long / 1e6) * scale, lane);
        if (longest) to.fillRect(exit - (longest / 1e6) * scale - 2, top, 2, lane);
    });
    to.fillStyle = ink.ink;
    to.textAlign = "center";
    if (bars?.text) to.fillText(bars.text, width / 2, (tops[0] ?? 0) - 14);
}

function square(to: CanvasRenderingContext2D, laid: Layout, scene: Scene, ink: Inks, packet: Seen): void {
    const { at, slow, groups } = scene;
    const group = groups[packet.group];
    const where = place(packet, at, laid, slow);
    if (!where) return;
    const { x, y, strength, isLost } = where;
    const half = Math.max(1.5, laid.square * 0.44);
    to.globalAlpha = strength;
    if (isLost) {
        to.strokeStyle = ink.ink;
        to.lineWidth = 2.5;
        cross(to, x, y, half + 1.5);
    } else {
        to.fillStyle = group?.colour ?? ink.soft;
        if (group?.isSmall) {
            to.beginPath();
            to.arc(x, y, half * 0.5, 0, 7);
            to.fill();
        } else {
            to.fillRect(x - half, y - half, 2 * half, 2 * half);
            if (packet.marked <= at) {
                to.fillStyle = ink.paper;
                to.beginPath();
                to.arc(x, y, half * 0.52, 0, 7);
                to.fill();
            }
        }
    }
    to.globalAlpha = 1;
}

function star(to: CanvasRenderingContext2D, x: number, y: number, radius: number): void {
    to.beginPath();
    for (let corner = 0; corner < 10; corner++) {
        const [turn, long] = [-Math.PI / 2 + (corner * Math.PI) / 5, corner % 2 === 0 ? radius : radius * 0.45];
        to.lineTo(x + long * Math.cos(turn), y + long * Math.sin(turn));
    }
    to.closePath();
}

/** The click with its wait, and those that are over as stars on the axis. */
function clicks(to: CanvasRenderingContext2D, laid: Layout, { click, over, at, slow, isCalm }: Scene, ink: Inks): void {
    const { exit, scale, tops, lane, isSmall } = laid;
    to.fillStyle = ink.soft;
    for (const wait of over) {
        star(to, exit - (wait / 1e6) * scale, (tops.at(-1) ?? 0) + lane + 4, 4);
        to.fill();
    }
    if (!click || at > click.gone + 3 * fades(slow)) return;
    const where = place(click, at, laid, slow, true);
    if (!where) return;
    const { x, y } = where;
    to.lineJoin = "round";
    to.lineWidth = 4;
    to.strokeStyle = ink.paper;
    to.fillStyle = ink.ink;
    star(to, x, y, isSmall ? 9 : 12);
    to.stroke();
    to.fill();
    if (at < click.arrive) return;
    const waited = isCalm ? click.wait : Math.min(at - click.arrive, click.wait);
    const text = where.isLost ? "lost" : `${number(waited / 1e6)} ms`;
    to.font = font(laid, true);
    to.textAlign = x > exit - 60 ? "right" : "center";
    const [left, high] = [Math.max(Math.min(x, exit - 4), 30), Math.max(y - (isSmall ? 17 : 21), 9)];
    to.strokeText(text, left, high);
    to.fillText(text, left, high);
}
