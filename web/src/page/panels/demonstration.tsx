// The panel of the demonstration of 2015: what its slide had, of each queue, and the web items that a visitor chooses.

import type { QueueRow } from "../../history.js";
import { shares, utilisation } from "../../recent.js";
import { Panel, type Shown, type Side } from "../panel.js";
import type { Store } from "../store.js";
import { rate, share, span } from "../words.js";

const WINDOW = 1e9;
/** Items that each user fetches in a second. */
const ITEMS = [0, 10, 100] as const;

/** The figures of a queue, in the order of the rows. */
function figures({ history }: Side): string[] {
    const window = history.window(WINDOW);
    const rows = history.queues.flatMap(({ rows }) => rows.filter(({ time }) => time > window.from));
    const sum = (key: "packets" | "marked" | "dropped"): number => rows.reduce((sum: number, row: QueueRow) => sum + row[key], 0);
    const [packets, marked, dropped] = [sum("packets"), sum("marked"), sum("dropped")];
    const { groups } = shares(history, false, window);
    const each = (name: string): string => {
        const found = groups.find((group) => group.name === name);
        return found ? rate(found.each) : "–";
    };
    return [share(utilisation(history, window) ?? NaN), share(packets > 0 ? marked / packets : NaN), share(packets + dropped > 0 ? dropped / (packets + dropped) : NaN), each("classic"), each("l4s")];
}

const ROWS = ["Utilisation", "Marked", "Dropped", "Each Classic download", "Each L4S download"] as const;

/** The panel. */
export function Demonstration({ sides, store }: Shown & { store: Store }) {
    const all = sides.map(figures);
    const { users } = store.bench;
    const fair = 40e6 / (users.classic.downloads + users.l4s.downloads);
    const [first] = sides;
    return (
        <Panel id="demonstration" title="Demonstration of 2015" isWide>
            <fieldset class="choice">
                <legend>Web items of each user in a second</legend>
                {ITEMS.map((items) => (
                    <label key={items}>
                        <input type="radio" name="items" checked={users.classic.items === items} onChange={() => store.change(({ users }) => Object.assign(users.classic, { items }) && Object.assign(users.l4s, { items }))} /> {items}
                    </label>
                ))}
            </fieldset>
            <div class="scroll" tabIndex={0} role="region" aria-label="Figures of the demonstration">
                <table>
                    <thead>
                        <tr>
                            <th scope="col">last {span(first?.history.window(WINDOW).length ?? WINDOW)}</th>
                            {sides.map(({ queue, place }) => (
                                <th key={place} scope="col">
                                    {queue}
                                </th>
                            ))}
                        </tr>
                    </thead>
                    <tbody>
                        {ROWS.map((name, row) => (
                            <tr key={name}>
                                <th scope="row">{name}</th>
                                {all.map((figures, place) => (
                                    <td key={place}>{figures[row]}</td>
                                ))}
                            </tr>
                        ))}
                    </tbody>
                </table>
            </div>
            <p class="note">Without items each of the six downloads would have {rate(fair)} of the link if all were equal.</p>
        </Panel>
    );
}
