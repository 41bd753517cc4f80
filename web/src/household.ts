// A household on the visitor's own line: what its people do, and the evenings that are simulated of it.

/** The line, and who is at home. */
export interface Household {
    /** In Mbit/s. */
    down: number;
    up: number;
    /** A trip there and back, and the room of an ordinary queue, in ms. */
    trip: number;
    room: number;
    people: Person[];
}

/** What somebody does, with the words for it. */
export const PEOPLE = {
    browser: "reads the web",
    film: "watches a film",
    call: "calls",
    game: "plays",
    downloads: "downloads twice",
    backup: "runs a backup",
} as const;
export type Person = keyof typeof PEOPLE;

/** Usual lines: down and up in Mbit/s. */
export const LINES = [[16, 1], [50, 10], [100, 20], [250, 50], [1_000, 50]] as const;

/** What the fields may be. */
export const BOUNDS = { down: [1, 1_000], up: [0.5, 1_000], trip: [1, 500], room: [5, 2_000] } as const;

/** The household that is shown first. */
export const household = (): Household => ({ down: 50, up: 10, trip: 20, room: 200, people: Object.keys(PEOPLE) as Person[] });

/** The queues that are compared, in both directions, with what each is called. */
export const queues = ({ room }: Household): { queue: string; name: string }[] => [
    { queue: `fifo:limit=${room}ms`, name: "One ordinary queue" },
    { queue: "fq_codel", name: "A queue for each flow (FQ-CoDel)" },
    { queue: "dualpi2", name: "Two short queues (DualPI2)" },
];

export const SEEDS = [1, 2, 3] as const;

/** The lines of a group; all TCP is CUBIC, as most of the Internet's is, and a call and a game mark their packets as L4S. */
const GROUPS: Record<Person, string> = {
    browser: `congestion-control = "cubic"\napp = { kind = "web", preset = "median-2024" }`,
    film: `congestion-control = "cubic"\napp = { kind = "has", preset = "4k" }`,
    call: `ecn = "ect1"\napp = "voice"`,
    game: `ecn = "ect1"\napp = "game"`,
    downloads: `count = 2\ncongestion-control = "cubic"\napp = "bulk"`,
    backup: `direction = "reverse"\ncongestion-control = "cubic"\napp = "bulk"`,
};

/** How long an evening is, in s: the buffer of a film, and enough pages; of a fast line less, which takes as many packets. */
const seconds = ({ down, up }: Household): number => (Math.max(down, up) > 100 ? 70 : 130);

/** The evenings of all queues and seeds, and how long each is, in ns. */
export function evenings(home: Household): { scenario: string; runs: string[][]; length: number; queues: number } {
    const { down, up, trip, people } = home;
    const groups = (Object.keys(PEOPLE) as Person[]).filter((person) => people.includes(person)).map((person) => `[[group]]\nname = "${person}"\nrtt = "${trip}ms"\n${GROUPS[person]}`);
    const scenario = [
        `schema = 1\nname = "household"`,
        `[link]\nrate = "${down * 1_000}kbit"\nqueue = "fifo"`,
        `[link.reverse]\nrate = "${up * 1_000}kbit"\nqueue = "fifo"`,
        ...groups,
        `[run]\nduration = "${seconds(home)}s"\nwarmup = "10s"`,
        "",
    ].join("\n\n");
    const all = queues(home);
    const runs = all.flatMap(({ queue }) => {
        const [kind = "", ...settings] = queue.split(/[:,]/);
        const changes = ["link.queue", "link.reverse.queue"].flatMap((at) => [`${at}.kind=${kind}`, ...settings.map((setting) => `${at}.${setting}`)]);
        return SEEDS.map((seed) => [...changes, `run.seeds=[${seed}]`]);
    });
    return { scenario, runs, length: seconds(home) * 1e9, queues: all.length };
}

/** The figures of a cell: their mean, and from the least to the most of all evenings. */
export function cell(values: readonly number[], digits: number): string {
    if (values.length === 0) return "–";
    const written = (value: number): string => value.toFixed(digits);
    const [mean, least, most] = [values.reduce((sum, value) => sum + value, 0) / values.length, Math.min(...values), Math.max(...values)].map(written);
    return least === most ? String(mean) : `${mean} (${least} to ${most})`;
}
