// Figures of groups over what was measured last: rates, round trips, and how those who share a link share it.

import type { GroupHistory, GroupRow, History, Window } from "./history.js";

/** What a group did in a window. */
export interface Recent {
    name: string;
    place: number;
    /** Flows at its end. */
    flows: number;
    /** Payload of all flows in bit/s. */
    rate: number;
    /** The same of a flow, on average over all flows and the time that each had. */
    each: number;
    /** The mean of the smoothed RTTs of its flows, in ns; undefined where none has one. */
    rtt: number | undefined;
}

/** Figures of the group at a place. */
export function recent(history: History, place: number, window: Window): Recent {
    const { name, rows } = history.groups[place] as GroupHistory;
    const { from, to, length } = window;
    const inside = rows.filter(({ time }) => time > from);
    const sum = (of: (row: GroupRow) => number): number => inside.reduce((sum, row) => sum + of(row), 0);
    const last = inside.at(-1);
    const bits = 8e9 * sum(({ delivered }) => delivered);
    const flowTime = sum(({ flows, length }) => flows * length);
    const rtts = sum(({ rtts }) => rtts);
    return {
        name,
        place,
        // The last rows of groups may come an interval later than those of queues.
        flows: last && last.time >= to - 1.5 * history.about.interval_ns ? last.flows : 0,
        rate: length > 0 ? bits / length : 0,
        each: flowTime > 0 ? bits / flowTime : 0,
        rtt: rtts > 0 ? sum(({ rtt }) => rtt) / rtts : undefined,
    };
}

/** One group of those that send in one direction. */
export interface Share extends Recent {
    /** Each of its flows beside an equal share of the link, 1 for as much; undefined where there is no such share. */
    share: number | undefined;
}

/** Those who send over the link in one direction. */
export interface Shares {
    /** An equal share: the rate of the link over the flows that take all they can get; undefined without either. */
    equal: number | undefined;
    groups: Share[];
}

/**
 * How the groups that cross the link share it in a direction. Only what takes all it can get has a claim to an equal share; a film or a call
 * takes what it needs, and stands beside it.
 */
export function shares(history: History, isUpload: boolean, window: Window): Shares {
    const groups = history.groups.flatMap((group, place) => (group.isUpload === isUpload && history.crosses(place) ? [recent(history, place, window)] : []));
    const seen = groups.filter(({ flows, rate }) => flows > 0 || rate > 0);
    const flows = seen.reduce((sum, { place, flows }) => sum + (history.groups[place]?.isGreedy ? flows : 0), 0);
    const rate = history.rate(isUpload ? "reverse" : "forward");
    const equal = rate !== undefined && flows > 0 ? rate / flows : undefined;
    return { equal, groups: seen.map((group) => ({ ...group, share: equal === undefined ? undefined : group.each / equal })) };
}

/** How much of what is looked at was used: of 1; undefined where its rate is not known or nothing was measured. */
export function utilisation(history: History, { from, length }: Window): number | undefined {
    const rate = history.rate(history.isUp ? "reverse" : "forward");
    if (rate === undefined || length <= 0) return undefined;
    const overhead = history.about.links[history.link]?.overhead_bytes[history.isUp ? 1 : 0] ?? 0;
    const rows = history.queues.flatMap(({ rows }) => rows.filter(({ time }) => time > from));
    const bytes = rows.reduce((sum, { bytes, packets }) => sum + bytes + packets * overhead, 0);
    return (bytes * 8e9) / length / rate;
}
