// What people feel on the visitor's own line: three evenings behind three queues.

import { useState } from "preact/hooks";
import type { FeltTable } from "../engine.js";
import { BOUNDS, cell, evenings, household, LINES, PEOPLE, queues, SEEDS, type Household, type Person } from "../household.js";
import { Field } from "./controls.js";
import { Heads } from "./panel.js";
import type { Store } from "./store.js";

const NAMES = { down: "Down, Mbit/s", up: "Up, Mbit/s", trip: "A trip there and back, ms", room: "Room of the ordinary queue, ms" } as const;

/** What everybody feels, in sentences and in figures. */
function Told({ told: { words, rows }, home }: { told: FeltTable; home: Household }) {
    const names = queues(home).map(({ name }) => name);
    return (
        <>
            {words.map((text, place) => (
                <p key={place}>
                    <strong>{names[place]}:</strong> {text}.
                </p>
            ))}
            <div class="scroll" tabIndex={0} role="region" aria-label="What people feel">
                <table>
                    <caption>
                        Mean of {SEEDS.length} evenings, and the least and the most of them. ~: no clear difference from the ordinary queue.
                    </caption>
                    <Heads names={["who", "feels", ...names]} />
                    <tbody>
                        {rows.map(({ who, what, unit, digits, values, clear }) => (
                            <tr key={`${who} ${what}`}>
                                <th scope="row">{who}</th>
                                <td>
                                    {what}, {unit}
                                </td>
                                {values.map((of, place) => (
                                    <td key={place}>
                                        {cell(of, digits)}
                                        {place > 0 && clear[place] === false ? " ~" : ""}
                                    </td>
                                ))}
                            </tr>
                        ))}
                    </tbody>
                </table>
            </div>
        </>
    );
}

/** The section. */
export function People({ store: { evenings: runs } }: { store: Store }) {
    const [home, setHome] = useState(household);
    const [shown, setShown] = useState<Household | undefined>(undefined);
    const put = (change: Partial<Household>): void => setHome({ ...home, ...change });
    const typed = (key: keyof typeof BOUNDS) => (text: string): void => {
        const [least, most] = BOUNDS[key];
        const value = Number(text.replace(",", "."));
        // What is no number leaves the field as it was.
        if (value > 0) put({ [key]: Math.min(Math.max(value, least), most) });
    };
    const run = (): void => {
        setShown(home);
        void runs.want(evenings(home));
    };
    const picked = LINES.findIndex(([down, up]) => down === home.down && up === home.up);
    return (
        <>
            <div class="fields">
                <label class="pick">
                    Line{" "}
                    <select
                        aria-label="Line"
                        value={picked}
                        onChange={({ currentTarget: { value } }) => {
                            const line = LINES[Number(value)];
                            if (line) put({ down: line[0], up: line[1] });
                        }}
                    >
                        {picked < 0 && <option value={-1}>of your own</option>}
                        {LINES.map(([down, up], place) => (
                            <option key={down} value={place}>
                                {down} down, {up} up
                            </option>
                        ))}
                    </select>
                </label>
                {(Object.keys(NAMES) as (keyof typeof NAMES)[]).map((key) => (
                    <Field key={key} name={NAMES[key]} isNumber value={String(home[key])} onChange={typed(key)} />
                ))}
            </div>
            <fieldset class="choice">
                <legend>Somebody</legend>
                {(Object.entries(PEOPLE) as [Person, string][]).map(([person, does]) => (
                    <label key={person}>
                        <input type="checkbox" checked={home.people.includes(person)} onChange={({ currentTarget: { checked } }) => put({ people: checked ? [...home.people, person] : home.people.filter((one) => one !== person) })} /> {does}
                    </label>
                ))}
            </fieldset>
            <p class="buttons">
                <button type="button" id="evenings" disabled={home.people.length === 0} onClick={run}>
                    Simulate {SEEDS.length} evenings behind three queues
                </button>
            </p>
            <div role="status">
                {runs.isRunning && <p class="note">{runs.part > 0 ? `${(100 * runs.part).toFixed(0)} % are simulated…` : "They are simulated…"}</p>}
                {!runs.isRunning && shown && !runs.latest && <p>These evenings cannot be simulated: the line is too fast or too slow for a page. quell run takes it.</p>}
            </div>
            {shown && runs.latest && <Told told={runs.latest} home={shown} />}
        </>
    );
}
