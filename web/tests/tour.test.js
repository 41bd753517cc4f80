// What each step of the tour says is what the simulator gives, with three seeds; and so is what a preset says.
import assert from "node:assert/strict";
import { test } from "node:test";
import { PRESETS, scenario } from "../lib/bench.js";
import { front, of } from "../lib/front.js";
import { item, slow, TOUR } from "../lib/tour.js";
import { holds, minutes, skip } from "./minutes.js";

const within = (value, low, high, what) => assert.ok(value >= low && value <= high, `${what}: ${value}`);

/** The words of a step that are no figures, the groups of its figures in their order, and what its words claim of every seed. */
const CLAIMS = {
    idle: {
        words: /there after # ms above and # ms below: two trips of 7 ms/,
        figures: [([above]) => item(above, "classic"), ([, below]) => item(below, "classic")],
        claims: ([above, below]) => {
            // Two trips, and what a link of 40 Mbit/s needs to send it.
            for (const side of [above, below]) for (const who of ["l4s", "classic"]) within(item(side, who), 14, 15.2, who);
        },
    },
    one: {
        words: /stands behind it for # ms. Below it waits # ms, or # ms if .* ordinary one. The download has # Mbit\/s above and # Mbit\/s below/,
        figures: [([above]) => of(above, "l4s-click").mean, ([, below]) => of(below, "l4s-click").mean, ([, below]) => of(below, "classic-click").mean, ([above]) => of(above, "classic").each, ([, below]) => of(below, "classic").each],
        claims: ([above]) => within(of(above, "l4s-click").mean, 75, 100, "full"),
    },
    six: {
        words: /full already: a packet waits # ms. A small item now takes # ms, because both of its trips wait. Below it takes # ms with L4S, and # ms without/,
        figures: [([above]) => of(above, "classic-click").mean, ([above]) => item(above, "classic"), ([, below]) => item(below, "l4s"), ([, below]) => item(below, "classic")],
        claims: ([above]) => within(item(above, "classic") / (2 * of(above, "classic-click").mean + 14.5), 0.9, 1.15, "two waits and two trips"),
    },
    early: {
        words: /at # ms by dropping early: # of 100 packets. Of 100 small items # take more than a second/,
        figures: [([, below]) => of(below, "classic").mean, ([, below]) => of(below, "classic").dropped, ([, below]) => slow(below)],
        claims: ([, below]) => {
            const apps = below.groups.filter(({ name }) => name.endsWith("-item")).map(({ app }) => app);
            const [all, first] = [apps.reduce((sum, app) => sum + app.slower_than_1s * app.completed, 0), apps.reduce((sum, app) => sum + app.slow_1s_handshake, 0)];
            within(first / all, 0.9, 1.01, "for a lost first packet");
        },
    },
    flows: {
        words: /an item takes # ms instead of # ms, and your click waits # ms. Each download has # Mbit\/s/,
        figures: [([, below]) => item(below, "classic"), ([above]) => item(above, "classic"), ([, below]) => of(below, "classic-click").mean, ([, below]) => of(below, "classic").each],
        claims: ([, below]) => {
            const { goodput_bps: all } = below.groups.find(({ name }) => name === "classic");
            within(Math.min(...all) / Math.max(...all), 0.98, 1, "each as much");
        },
    },
    marks: {
        words: /on # of 100 packets; none are dropped, and they wait # ms while they download. An ordinary download has # Mbit\/s, above # Mbit\/s/,
        figures: [([, below]) => of(below, "l4s").marked, ([, below]) => of(below, "l4s").mean, ([, below]) => of(below, "classic").each, ([above]) => of(above, "classic").each],
        claims: ([, below]) => assert.equal(of(below, "l4s").dropped, 0),
    },
    new: {
        words: /99 of 100 packets wait less than # ms. The price: # of 100 bits of the line stay unused/,
        figures: [([, below]) => of(below, "l4s").p99, ([, below]) => 100 * (1 - below.link.utilisation)],
        claims: ([above, below]) => within(of(below, "l4s").p99 / of(above, "l4s").p99, 0, 0.1, "beside an ordinary queue"),
    },
    honest: {
        words: /keeps waits short for new senders.* it takes # Mbit\/s, and an ordinary download gets # Mbit\/s. .* holds it at # Mbit\/s; each ordinary download has # Mbit\/s/,
        figures: [([above]) => of(above, "udp").each, ([above]) => of(above, "classic").each, ([, below]) => of(below, "udp").each, ([, below]) => of(below, "classic").each],
        claims: ([above, below]) => {
            within(of(above, "l4s-click").mean, 0, 5, "short for new senders");
            within(of(below, "udp").each / of(below, "classic").each, 0.8, 1.25, "held as a download");
        },
    },
};

test("every step has its claims", () => assert.deepEqual(TOUR.map(({ name }) => name), Object.keys(CLAIMS)));

for (const { name, downloads, queues, more, text } of TOUR) {
    test(`${name}: what is said holds for three seeds`, { skip }, async () => {
        const all = await minutes(front(downloads, queues, more));
        const { words, figures, claims } = CLAIMS[name];
        for (const pair of all) {
            const said = text(...pair);
            // Each `#` is a figure.
            const [, ...printed] = new RegExp(words.source.replaceAll("#", "([0-9.]+)")).exec(said) ?? assert.fail(`${said}\nis not ${words}`);
            assert.equal(printed.length, figures.length, said);
            printed.forEach((figure, place) => holds(Number(figure), all.map(figures[place]), `${name}, figure ${place + 1}`));
            claims(pair);
        }
    });
}

test("home: the call and the game wait behind the download", { skip }, async () => {
    const { bench } = PRESETS.find(({ name }) => name === "home");
    assert.match(scenario(bench), /voice/);
    for (const [summary] of await minutes(bench)) {
        for (const group of summary.groups.filter(({ app }) => ["voice", "game"].includes(app.kind))) within(group.delay_ms.p50, 100, 200, group.name);
    }
});
