// Which queues share a colour.

/** The families of queues, whose colours are in `colours.json`; a test compares. */
export const FAMILIES: Record<string, readonly string[]> = {
    dualpi2: ["dualpi2", "dualq_2015", "dualq_curvy_red", "curvy_red"],
    pie: ["pie", "fq_pie", "pi2"],
    codel: ["codel", "fq_codel", "cobalt", "cake"],
    red: ["red", "step", "gsp", "csaqm", "vdq_csaqm", "pvpie", "drop_min_value"],
    "drop-tail": ["fifo"],
};
