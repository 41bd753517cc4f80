// Adaptive video: the level of each segment, and what its download reached.

import { Chart } from "../chart.js";
import { Legend, Panel, Strips, type Figure, type Shown, type Side } from "../panel.js";
import { groupColour, rate, time } from "../words.js";

/** Those who watch behind a queue, and what they got. */
function players({ history }: Side) {
    const segments = history.events.filter(({ kind, outcome }) => kind === "segment" && outcome === "complete");
    return history.groups
        .map((group, place) => ({ name: group.name, colour: groupColour(group), segments: segments.filter(({ group }) => group === place) }))
        .filter(({ segments }) => segments.length > 0);
}

const figures = (side: Side): Figure[] =>
    players(side).map(({ name, colour, segments }): Figure => {
        const last = segments.at(-1);
        const took = last ? last.lastByte - last.started : NaN;
        return {
            what: `${name}: level`,
            value: String(last?.value ?? "–"),
            colour,
            note: last ? `${rate((last.size * 8e9) / took)}, ${time(took)} for the last segment` : "",
        };
    });

/** The panel. */
export function Film({ sides }: Shown) {
    const top = Math.max(4, ...sides.flatMap((side) => players(side).flatMap(({ segments }) => segments.map(({ value }) => value)))) + 1;
    return (
        <Panel id="film" title="Video stream">
            <Strips sides={sides} figures={figures}>
                {(side) => {
                    const seen = players(side);
                    const times = [...new Set(seen.flatMap(({ segments }) => segments.map(({ lastByte }) => lastByte / 1e9)))].sort((one, other) => one - other);
                    const lines = seen.map(({ segments }) => {
                        let at = -1;
                        const sorted = [...segments].sort((one, other) => one.lastByte - other.lastByte);
                        return times.map((time) => {
                            while ((sorted[at + 1]?.lastByte ?? Infinity) / 1e9 <= time) at++;
                            return sorted[at]?.value ?? null;
                        });
                    });
                    const { now } = side.history;
                    return (
                        <>
                            <Chart
                                name="Level of each segment of the video, last 60 s"
                                text={figures(side).map(({ what, value }) => `${what} ${value}`).join(", ") || "no segment yet"}
                                x={{ label: "time, s", from: Math.max(0, now - 60e9) / 1e9, to: Math.max(60, now / 1e9), written: (value) => value.toFixed(0) }}
                                y={{ label: "level, 0 is the lowest", from: 0, to: top, written: (value) => value.toFixed(0) }}
                                lines={seen.map(({ name, colour }) => ({ name, colour, stepped: true }))}
                                data={[times, ...lines]}
                                height={sides.length > 1 ? 120 : 160}
                            />
                            <Legend of={seen} />
                        </>
                    );
                }}
            </Strips>
        </Panel>
    );
}
