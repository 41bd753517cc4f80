// A chart: uPlot with the colours of the page, and a text for those who do not see it.

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";

/** An axis. */
export interface Axis {
    label: string;
    /** Logarithmic if `log`; from `from` to `to` always. */
    log?: boolean;
    from: number;
    to: number;
    /** How its numbers are written. */
    written?: (value: number) => string;
}

/** A line, or only its name where `dots` draws it. */
export interface Line {
    name: string;
    colour: string;
    /** Lengths of dashes and gaps. */
    dash?: number[];
    stepped?: boolean;
    hidden?: boolean;
}

/** A dot of a scatter. */
export interface Dot {
    x: number;
    y: number;
    colour: string;
    /** From 0 to 1. */
    strength: number;
    cross?: boolean;
}

interface Props {
    name: string;
    /** What it shows now, in words. */
    text: string;
    x: Axis;
    y: Axis;
    lines: Line[];
    /** The x of all lines, and the y of each. */
    data: (number | null)[][];
    dots?: Dot[];
    /** Horizontal lines with a word. */
    marks?: { y: number; word: string }[];
    height?: number;
    onPick?: (x: number, y: number) => void;
}

/** The value of a colour of the page's style. */
export function colour(name: string): string {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

const plain = (value: number): string => (Math.abs(value) >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3))));

function axis({ label, log, written }: Axis, side: number, size: number, isNamed: boolean): uPlot.Axis {
    const ink = colour("--ink");
    const lines = colour("--lines");
    return {
        // The name of the vertical axis stands above the plot, where it is neither turned nor cut.
        ...(isNamed ? { label } : {}),
        side,
        size,
        stroke: ink,
        font: "12px system-ui, sans-serif",
        labelFont: "12px system-ui, sans-serif",
        labelSize: 18,
        gap: 3,
        grid: { stroke: lines, width: 1 },
        ticks: { stroke: lines, width: 1, size: 4 },
        values: (_, splits) =>
            splits.map((value) => {
                // Of a logarithmic axis only the powers of ten have a number.
                if (value === null || (log && Math.abs(Math.log10(value) - Math.round(Math.log10(value))) > 1e-6)) return "";
                return (written ?? plain)(value);
            }),
    };
}

/** Its range is asked for anew with all new data. */
const scale = ({ log }: Axis, range: () => Axis): uPlot.Scale => ({
    time: false,
    distr: log ? 3 : 1,
    log: 10,
    auto: true,
    range: () => [range().from, range().to],
});

/** A chart that follows its data. */
export function Chart(props: Props) {
    const place = useRef<HTMLDivElement>(null);
    const plot = useRef<uPlot | null>(null);
    const latest = useRef(props);
    latest.current = props;
    const { x, y, lines, height = 200, name, text, data } = props;
    const shape = JSON.stringify([x.log, y.log, x.label, y.label, lines, height]);

    useEffect(() => {
        const element = place.current;
        if (!element) return;
        const make = (): void => {
            plot.current?.destroy();
            const { x, y, lines, data } = latest.current;
            plot.current = new uPlot(
                {
                    width: Math.max(element.clientWidth, 160),
                    height,
                    padding: [8, 22, 0, 0],
                    cursor: { show: false },
                    legend: { show: false },
                    scales: { x: scale(x, () => latest.current.x), y: scale(y, () => latest.current.y) },
                    axes: [axis(x, 2, 40, true), axis(y, 3, 50, false)],
                    series: [
                        {},
                        ...lines.map(
                            (line): uPlot.Series => ({
                                label: line.name,
                                stroke: colour(line.colour),
                                width: 2,
                                ...(line.dash ? { dash: line.dash } : {}),
                                ...(line.stepped ? { paths: uPlot.paths.stepped?.({ align: 1 }) as uPlot.Series.PathBuilder } : {}),
                                show: !line.hidden,
                                points: { show: false },
                            }),
                        ),
                    ],
                    hooks: { draw: [(drawn) => over(drawn, latest.current)] },
                },
                data as uPlot.AlignedData,
                element,
            );
        };
        make();
        const sizes = new ResizeObserver(() => plot.current?.setSize({ width: Math.max(element.clientWidth, 160), height }));
        sizes.observe(element);
        const scheme = matchMedia("(prefers-color-scheme: dark)");
        scheme.addEventListener("change", make);
        return () => {
            sizes.disconnect();
            scheme.removeEventListener("change", make);
            plot.current?.destroy();
            plot.current = null;
        };
    }, [shape]);

    useEffect(() => plot.current?.setData(data as uPlot.AlignedData, true));

    const pick = (event: MouseEvent): void => {
        const drawn = plot.current;
        if (!drawn || !props.onPick) return;
        const box = drawn.over.getBoundingClientRect();
        props.onPick(drawn.posToVal(event.clientX - box.left, "x"), drawn.posToVal(event.clientY - box.top, "y"));
    };
    return (
        <figure class="chart">
            <p class="axis" aria-hidden="true">
                {y.label}
            </p>
            <div class="plot" ref={place} role="img" data-y={`${y.from} ${y.to}`} aria-label={`${name}: ${text}`} onClick={pick} style={{ height: `${height}px` }} />
        </figure>
    );
}

/** A cross, whose arms are so long to each side: what is lost. */
export function cross(to: CanvasRenderingContext2D, x: number, y: number, arm: number): void {
    to.beginPath();
    to.moveTo(x - arm, y - arm);
    to.lineTo(x + arm, y + arm);
    to.moveTo(x + arm, y - arm);
    to.lineTo(x - arm, y + arm);
    to.stroke();
}

/** Dots and marks, above the lines. */
function over(drawn: uPlot, { dots = [], marks = [], y, x }: Props): void {
    const { ctx, bbox } = drawn;
    const dense = devicePixelRatio || 1;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.font = `${12 * dense}px system-ui, sans-serif`;
    ctx.textAlign = "left";
    ctx.textBaseline = "bottom";
    for (const { y: value, word } of marks) {
        if (value < y.from || value > y.to) continue;
        const at = drawn.valToPos(value, "y", true);
        ctx.strokeStyle = ctx.fillStyle = colour("--ink");
        ctx.setLineDash([2 * dense, 4 * dense]);
        ctx.beginPath();
        ctx.moveTo(bbox.left, at);
        ctx.lineTo(bbox.left + bbox.width, at);
        ctx.stroke();
        ctx.setLineDash([]);
        ctx.fillText(word, bbox.left + 4 * dense, at - 2 * dense);
    }
    const half = 2 * dense;
    const colours = new Map<string, string>();
    for (const dot of dots) {
        const at = drawn.valToPos(Math.min(Math.max(dot.x, x.from), x.to), "x", true);
        const high = drawn.valToPos(Math.min(Math.max(dot.y, y.from), y.to), "y", true);
        let ink = colours.get(dot.colour);
        if (ink === undefined) colours.set(dot.colour, (ink = colour(dot.colour)));
        ctx.globalAlpha = dot.strength;
        ctx.fillStyle = ctx.strokeStyle = ink;
        if (dot.cross) {
            ctx.lineWidth = dense;
            cross(ctx, at, high, half);
        } else {
            ctx.fillRect(at - half / 2, high - half / 2, half, half);
        }
    }
    ctx.restore();
}
