// Adaptive video: the level of each segment, and what its download reached.

import { Chart } from "../chart.js";
import { Legend, Panel, type Figure, type Shown } from "../panel.js";
import { groupColour, rate, time } from "../words.js";

/** The panel. */
export function Film({ history }: Shown) {
    const segments = history.events.filter(({ kind, outcome }) => kind === "segment" && outcome === "complete");
    const players = history.groups
        .map(({ name }, place) => ({ name, colour: groupColour(name, place), segments: segments.filter(({ group }) => group === place) }))
        .filter(({ segments }) => segments.length > 0);
    const figures = players.map(({ name, colour, segments }): Figure => {
        const last = segments.at(-1);
        const took = last ? last.lastByte - last.started : NaN;
        return {
            what: `${name}: level`,
            value: String(last?.value ?? "–"),
            colour,
            note: last ? `${rate((last.size * 8e9) / took)}, ${time(took)} for the last segment` : "",
        };
    });
    const from = Math.max(0, history.now - 60e9) / 1e9;
    const times = [...new Set(segments.map(({ lastByte }) => lastByte / 1e9))].sort((one, other) => one - other);
    const lines = players.map(({ segments }) => {
        let at = -1;
        const sorted = [...segments].sort((one, other) => one.lastByte - other.lastByte);
        return times.map((time) => {
            while ((sorted[at + 1]?.lastByte ?? Infinity) / 1e9 <= time) at++;
            return sorted[at]?.value ?? null;
        });
    });
    const top = Math.max(4, ...segments.map(({ value }) => value)) + 1;
    return (
        <Panel id="film" title="Video stream" figures={figures}>
            <Chart
                name="Level of each segment of the video, last 60 s"
                text={figures.map(({ what, value }) => `${what} ${value}`).join(", ") || "no segment yet"}
                x={{ label: "time, s", from, to: Math.max(60, history.now / 1e9), written: (value) => value.toFixed(0) }}
                y={{ label: "level, 0 is the lowest", from: 0, to: top, written: (value) => value.toFixed(0) }}
                lines={players.map(({ name, colour }) => ({ name, colour, stepped: true }))}
                data={[times, ...lines]}
                height={160}
            />
            <Legend of={players} />
        </Panel>
    );
}
