// Why an item was slow: what happened to it, and what TCP had to repair.

import type { Event } from "../../history.js";
import { Panel } from "../panel.js";
import { size, time } from "../words.js";

/** One thing that cost time. */
interface Step {
    at: number;
    text: string;
}

/** What the counts of causes mean, costliest first. Each is a lower bound that TCP sets. */
const REPAIRS: readonly [string, string][] = [
    ["syn_retries", "the request for the connection (SYN) was lost and sent again: 1 s each, doubled from one to the next"],
    ["syn_ack_retries", "the answer to it (SYN-ACK) was lost and sent again: 1 s each, doubled from one to the next"],
    ["timeouts", "nothing told the server of a loss, so that its timer had to run out: 0.2 s at least"],
    ["timeouts_up", "the same at the user's end"],
    ["probes", "the server asked with a probe what had arrived: two round trips, and 0.2 s more behind a single packet"],
    ["recoveries", "lost packets were seen and sent again: a round trip"],
];

/** The steps of an item in order. */
export function steps(event: Event): Step[] {
    const at = (time: number): number => time - event.started;
    const list: Step[] = [{ at: 0, text: "SYN: the user asks for a connection" }];
    if (event.kind === "item" && event.value > 0) list.push({ at: event.value, text: "SYN-ACK: the connection is up" });
    if (!Number.isNaN(event.firstByte)) list.push({ at: at(event.firstByte), text: "first byte" });
    if (!Number.isNaN(event.lastByte)) list.push({ at: at(event.lastByte), text: `last byte of ${size(event.size)}` });
    return list;
}

/** What was repaired for it. */
export function repairs(event: Event): string[] {
    const found = REPAIRS.flatMap(([cause, text]) => {
        const count = event.causes[cause] ?? 0;
        return count > 0 ? [`${count} × ${text}`] : [];
    });
    return found.length > 0 ? found : ["Nothing was lost: it waited in the queue, or for its share of the link."];
}

/** The panel. */
export function Cause({ event, group, onClose }: { event: Event; group: string; onClose: () => void }) {
    const list = steps(event);
    const end = Math.max(...list.map(({ at }) => at), 1);
    return (
        <Panel id="cause" title="Why was this item slow?">
            <p>
                {size(event.size)} for {group} took {time(end)}.
            </p>
            <ol class="steps">
                {list.map(({ at, text }) => (
                    <li key={text}>
                        <span class="bar" style={{ width: `${(100 * at) / end}%` }} aria-hidden="true" />
                        <span class="at">{time(at)}</span> {text}
                    </li>
                ))}
            </ol>
            <ul>
                {repairs(event).map((text) => (
                    <li key={text}>{text}</li>
                ))}
            </ul>
            <button type="button" onClick={onClose}>
                Close
            </button>
        </Panel>
    );
}
