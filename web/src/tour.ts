// The tour: what a queue does, in steps of which each has two queues, one thing to do, and what is true of a minute of them.

import { FRONT, number, of, percent, type Minute, type More } from "./front.js";

/** A step. */
export interface Step {
    name: string;
    title: string;
    /** What the visitor does. */
    act: string;
    downloads: number;
    queues: readonly [string, string];
    more: More;
    /** What is true of a minute of the two queues, which are above and below. */
    text(above: Minute, below: Minute): string;
}

/** The mean time of a small item of a user, in ms. */
export const item = (minute: Minute, who: "l4s" | "classic"): number => minute.groups.find(({ name }) => name === `${who}-item`)?.app?.completion_ms?.mean ?? NaN;
/** How many of a hundred small items of both users take more than a second. */
export const slow = (minute: Minute): number => {
    const shares = minute.groups.filter(({ name }) => name.endsWith("-item")).map(({ app }) => app?.slower_than_1s ?? NaN);
    return (100 * shares.reduce((sum, share) => sum + share, 0)) / shares.length;
};

const wait = (minute: Minute, group: string): string => number(of(minute, group)?.mean ?? NaN);
const rate = (minute: Minute, group: string): string => `${(of(minute, group)?.each ?? NaN).toFixed(1)} Mbit/s`;
const took = (minute: Minute, who: "l4s" | "classic"): string => {
    const ms = item(minute, who);
    return `${ms < 99.5 ? ms.toPrecision(3).replace(/\.0$/, "") : ms.toFixed(0)} ms`;
};

const ORDINARY = "fifo:limit=100ms";

/** The steps, in their order. `web/tests/tour.test.js` runs what each of them says. */
export const TOUR: readonly Step[] = [
    {
        name: "idle",
        title: "An idle line",
        act: "Press Click: the star passes at once.",
        downloads: 0,
        queues: FRONT.queues,
        more: { smallItems: true },
        text: (above, below) =>
            `Nobody downloads. A small item of the web is there after ${took(above, "classic")} above and ${took(below, "classic")} below: two trips of 7 ms to the server and back. No queue can make it faster.`,
    },
    {
        name: "one",
        title: "One download",
        act: "Press Click, then choose an ordinary program.",
        downloads: 1,
        queues: FRONT.queues,
        more: {},
        text: (above, below) =>
            `One download speeds up until the upper queue is full; your click stands behind it for ${wait(above, "l4s-click")} ms. Below it waits ${wait(below, "l4s-click")} ms, or ${wait(below, "classic-click")} ms if your program is an ordinary one. The download has ${rate(above, "classic")} above and ${rate(below, "classic")} below.`,
    },
    {
        name: "six",
        title: "Six downloads",
        act: "Move the slider: more downloads hardly make the upper queue longer.",
        downloads: 6,
        queues: FRONT.queues,
        more: { smallItems: true },
        text: (above, below) =>
            `The queue was full already: a packet waits ${wait(above, "classic-click")} ms. A small item now takes ${took(above, "classic")}, because both of its trips wait. Below it takes ${took(below, "l4s")} with L4S, and ${took(below, "classic")} without.`,
    },
    {
        name: "early",
        title: "Drop early",
        act: "Watch the crosses: below, packets are dropped while the queue is short.",
        downloads: 6,
        queues: [ORDINARY, "pie"],
        more: { senders: "ordinary", smallItems: true },
        text: (_, below) =>
            `PIE keeps the queue at ${wait(below, "classic")} ms by dropping early: ${percent(of(below, "classic")?.dropped ?? NaN)} of 100 packets. Of 100 small items ${percent(slow(below))} take more than a second: their first packet was lost, and is sent again only after a second.`,
    },
    {
        name: "flows",
        title: "A queue for each flow",
        act: "Press Click: the star overtakes the downloads.",
        downloads: 6,
        queues: [ORDINARY, "fq_codel"],
        more: { senders: "ordinary", smallItems: true },
        text: (above, below) =>
            `Small senders pass: below an item takes ${took(below, "classic")} instead of ${took(above, "classic")}, and your click waits ${wait(below, "classic-click")} ms. Each download has ${rate(below, "classic")}. What is larger gets its share, and no more.`,
    },
    {
        name: "marks",
        title: "Marks instead of drops",
        act: "Watch the holes: new senders are told to slow down, and lose nothing.",
        downloads: 6,
        queues: FRONT.queues,
        more: {},
        text: (above, below) =>
            `New senders get the mark “slow down” on ${percent(of(below, "l4s")?.marked ?? NaN)} of 100 packets; ${percent(of(below, "l4s")?.dropped ?? NaN)} are dropped, and they wait ${wait(below, "l4s")} ms while they download. An ordinary download has ${rate(below, "classic")}, above ${rate(above, "classic")}.`,
    },
    {
        name: "new",
        title: "All of them new",
        act: "Compare the lengths: everybody below has a short queue.",
        downloads: 6,
        queues: FRONT.queues,
        more: { senders: "new" },
        text: (_, below) =>
            `If all senders are new, 99 of 100 packets wait less than ${number(of(below, "l4s")?.p99 ?? NaN)} ms. The price: ${((1 - (below.link.utilisation ?? NaN)) * 100).toFixed(0)} of 100 bits of the line stay unused.`,
    },
    {
        name: "honest",
        title: "Where it ends",
        act: "Watch the picture above: who never slows down takes the line.",
        downloads: 6,
        queues: ["dualpi2", "fq_codel"],
        more: { senders: "half", smallItems: true, udp: 150 },
        text: (above, below) =>
            `One sender never slows down, and sends more than the line can carry. DualPI2, above, keeps waits short for new senders, but trusts all to slow down: it takes ${rate(above, "udp")}, and an ordinary download gets ${rate(above, "classic")}. A queue for each flow, below, holds it at ${rate(below, "udp")}; each ordinary download has ${rate(below, "classic")}.`,
    },
];
