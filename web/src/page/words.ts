// Numbers as people read them, and colours of groups and queues.

import { FAMILIES } from "../colours.js";
import type { GroupHistory } from "../history.js";

/** A time in ns: `14.2 ms`. */
export function time(ns: number | undefined): string {
    if (ns === undefined || Number.isNaN(ns)) return "–";
    if (ns >= 1e9) return `${(ns / 1e9).toFixed(2)} s`;
    if (ns >= 1e8) return `${(ns / 1e6).toFixed(0)} ms`;
    if (ns >= 1e7) return `${(ns / 1e6).toFixed(1)} ms`;
    return `${(ns / 1e6).toFixed(2)} ms`;
}

/** A stretch of time that a figure is of, in ns: `60 s`, `0.3 s`. */
export function span(ns: number): string {
    const seconds = ns / 1e9;
    return `${seconds >= 9.95 ? Math.round(seconds) : Number(seconds.toFixed(1))} s`;
}

/** A rate in bit/s: `8.11 Mbit/s`. */
export function rate(bps: number): string {
    for (const [unit, size] of [["Gbit/s", 1e9], ["Mbit/s", 1e6], ["kbit/s", 1e3]] as const) {
        if (bps >= size) return `${Number((bps / size).toPrecision(3))} ${unit}`;
    }
    return `${Math.round(bps)} bit/s`;
}

/** A share: `1.25 %`. */
export function share(part: number): string {
    const percent = 100 * part;
    return Number.isFinite(percent) ? `${percent >= 10 ? percent.toFixed(0) : percent.toFixed(2)} %` : "–";
}

/** Bytes: `14.5 kB`. */
export function size(bytes: number): string {
    if (bytes >= 1e6) return `${Number((bytes / 1e6).toPrecision(3))} MB`;
    return bytes >= 1e3 ? `${Number((bytes / 1e3).toPrecision(3))} kB` : `${bytes} B`;
}

/** What sends, however the queue answers: as in plots. */
const UNRESPONSIVE = ["cbr", "on-off", "voice", "game"];

/** The colour of what a group sends: that of its user in a bench, else by its marks and its application. */
export function groupColour({ name, kind, isL4s }: Pick<GroupHistory, "name" | "kind" | "isL4s">): string {
    if (name === "udp") return "--unresponsive";
    const user = userOf(name);
    if (user) return `--${user}`;
    if (UNRESPONSIVE.includes(kind)) return "--unresponsive";
    return isL4s ? "--l4s" : "--classic";
}

/** The colour of a discipline: that of its family. */
export function familyColour(kind: string): string {
    const family = Object.entries(FAMILIES).find(([, kinds]) => kinds.includes(kind))?.[0];
    return family ? `--queue-${family}` : "--ink";
}

/** The colour of a queue of a discipline: that of its traffic if it has only one kind, else of its family; a second one has another. */
export function queueColour(name: string, place: number, kind: string): string {
    if (name === "l4s") return "--l4s";
    if (name === "classic") return "--classic";
    return place === 0 ? familyColour(kind) : "--unresponsive";
}

/** The user that a group belongs to, where a bench made it. */
export function userOf(name: string): "classic" | "l4s" | undefined {
    return /^(classic|l4s)(-|$)/.exec(name)?.[1] as "classic" | "l4s" | undefined;
}

/** How people call the users. */
export const USER_NAMES = { classic: "Classic", l4s: "L4S" } as const;
