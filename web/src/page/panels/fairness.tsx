// Who gets how much, and what the queues mark and drop.

import type { History, QueueRow } from "../../history.js";
import { Chart } from "../chart.js";
import { Legend, Panel, type Figure, type Shown } from "../panel.js";
import { groupColour, queueColour, rate as rateWords, share } from "../words.js";

/** Rates are means over so many ns. */
const WINDOW = 1e9;

/** Rates of a group over the last second: of all its flows, and how many they are. */
function rates(history: History): { name: string; colour: string; crosses: boolean; flows: number; rate: number }[] {
    return history.groups.map(({ name, rows }, place) => {
        const recent = rows.filter(({ time }) => time > history.now - WINDOW - 1e8);
        const spans = recent.reduce((sum, { length }) => sum + length, 0);
        const bytes = recent.reduce((sum, { delivered }) => sum + delivered, 0);
        return { name, colour: groupColour(name, place), crosses: history.crosses(place), flows: recent.at(-1)?.flows ?? 0, rate: spans > 0 ? (bytes * 8e9) / spans : 0 };
    });
}

/** Sums of each second of a queue: shares that are marked and dropped. */
function seconds(rows: QueueRow[]): { time: number; marked: number; dropped: number }[] {
    const list: { time: number; packets: number; marked: number; dropped: number }[] = [];
    for (const { time, packets, marked, dropped } of rows) {
        const second = Math.ceil(time / 1e9);
        const last = list.at(-1);
        if (last?.time === second) {
            last.packets += packets;
            last.marked += marked;
            last.dropped += dropped;
        } else list.push({ time: second, packets, marked, dropped });
    }
    return list.map(({ time, packets, marked, dropped }) => ({
        time,
        marked: packets > 0 ? marked / packets : 0,
        dropped: packets + dropped > 0 ? dropped / (packets + dropped) : 0,
    }));
}

/** The panel. */
export function Fairness({ history, rate }: Shown) {
    const groups = rates(history).filter(({ crosses, flows, rate }) => crosses && (flows > 0 || rate > 0));
    // Downloads share the link; what applications send besides is theirs.
    const bulk = groups.filter(({ name }) => !name.includes("-") && name !== "udp");
    const flows = bulk.reduce((sum, { flows }) => sum + flows, 0);
    const fair = flows > 0 ? rate / flows : 0;
    const last = history.queues.flatMap(({ rows }) => rows.filter(({ time }) => time > history.now - WINDOW - 1e8));
    const span = Math.max(...history.queues.map(({ rows }) => rows.filter(({ time }) => time > history.now - WINDOW - 1e8).reduce((sum, { length }) => sum + length, 0)), 0);
    const bytes = last.reduce((sum, { bytes }) => sum + bytes, 0);
    const used = span > 0 && rate > 0 ? (bytes * 8e9) / span / rate : NaN;
    const figures: Figure[] = [
        { what: "Utilisation", value: share(Math.min(used, 1)), note: "last second" },
        ...bulk.map(({ name, colour, flows, rate }) => ({ what: `${name}: each of ${flows}`, value: rateWords(rate / Math.max(flows, 1)), colour })),
    ];
    const lines = history.queues.map(({ name, rows }, place) => ({ name, colour: queueColour(name, place), rows: seconds(rows) }));
    const seen = lines.filter(({ rows }) => rows.length > 0);
    const now = Math.ceil(history.now / 1e9);
    const times = Array.from({ length: 61 }, (_, place) => now - 60 + place).filter((time) => time > 0);
    const column = (rows: { time: number; marked: number; dropped: number }[], key: "marked" | "dropped"): (number | null)[] =>
        times.map((time) => {
            const found = rows.find((row) => row.time === time);
            return found ? 100 * found[key] : null;
        });
    const values = seen.flatMap(({ rows }) => [column(rows, "marked"), column(rows, "dropped")]);
    const most = Math.max(1, ...values.flat().map((value) => value ?? 0));
    const top = [1, 2, 5, 10, 20, 50, 100].find((top) => top >= most) ?? 100;
    return (
        <Panel id="fairness" title={`Shares of ${history.linkName ?? "the link"}`} figures={figures}>
            <table class="bars">
                <caption>Rate of each flow, in percent of an equal share of the downloads ({rateWords(fair)})</caption>
                <tbody>
                    {groups.map(({ name, colour, flows, rate }) => {
                        const each = rate / Math.max(flows, 1);
                        const percent = fair > 0 ? (100 * each) / fair : 0;
                        return (
                            <tr key={name}>
                                <th scope="row">{flows > 1 ? `${name} × ${flows}` : name}</th>
                                <td class="bar">
                                    <span style={{ width: `${Math.min(percent / 2, 100)}%`, background: `var(${colour})` }} />
                                </td>
                                <td>{fair > 0 ? `${percent.toFixed(0)} %` : rateWords(each)}</td>
                            </tr>
                        );
                    })}
                </tbody>
            </table>
            <Chart
                name="Packets marked and dropped, last 60 s"
                text={seen.map(({ name, rows }) => `queue ${name}: ${share(rows.at(-1)?.marked ?? 0)} marked, ${share(rows.at(-1)?.dropped ?? 0)} dropped`).join("; ") || "nothing yet"}
                x={{ label: "time, s", from: Math.max(0, now - 60), to: Math.max(60, now), written: (value) => value.toFixed(0) }}
                y={{ label: "packets, %", from: 0, to: top }}
                lines={seen.flatMap(({ name, colour }) => [
                    { name: `${name} marked`, colour },
                    { name: `${name} dropped`, colour, dashed: true },
                ])}
                data={[times, ...values]}
                height={170}
            />
            <Legend
                of={seen.flatMap(({ name, colour }) => [
                    { name: `${name}: marked`, colour, sign: "━" },
                    { name: `${name}: dropped`, colour, sign: "┅" },
                ])}
            />
        </Panel>
    );
}
