// What repeats the run: its scenario as a file, and the address.

import { useState } from "preact/hooks";
import type { Store } from "./store.js";

/** Puts a text on the clipboard; false where the browser does not let it. */
async function copied(text: string): Promise<boolean> {
    try {
        await navigator.clipboard.writeText(text);
        return true;
    } catch {
        return false;
    }
}

/** The panel. */
export function Share({ store }: { store: Store }) {
    const [said, say] = useState("");
    const [shown, show] = useState<string | undefined>(undefined);
    const copy = async (what: string, text: string): Promise<void> => {
        if (await copied(text)) {
            show(undefined);
            say(`${what} is on the clipboard.`);
        } else {
            // To be copied by hand.
            show(text);
            say(`${what}:`);
        }
    };
    const files = store.sides.some(({ files }) => files);
    return (
        <fieldset class="share">
            <legend>Repeat it</legend>
            {store.sides.map((side, place) => (
                <button type="button" key={place} data-copy={place} onClick={() => void copy("The scenario", side.scenario)}>
                    Copy as scenario{store.sides.length > 1 ? `: ${store.queueOf(place)}` : ""}
                </button>
            ))}
            {store.own === undefined && (
                <button type="button" onClick={() => void copy("The address", location.href)}>
                    Copy the address
                </button>
            )}
            {!store.isReadOnly && !store.isFront && (
                <button type="button" id="finish" disabled={files} onClick={() => store.finish()}>
                    End, with the summary
                </button>
            )}
            <p role="status">{said}</p>
            {shown !== undefined && <textarea readOnly rows={10} value={shown} aria-label="Text to copy" onFocus={(event) => event.currentTarget.select()} />}
            {store.sides.map(
                (side, place) =>
                    side.files && (
                        <details key={place} class="summary">
                            <summary>summary.json{store.sides.length > 1 ? `, ${store.queueOf(place)}` : ""}</summary>
                            <textarea readOnly rows={16} value={side.files.summary} aria-label="summary.json" />
                        </details>
                    ),
            )}
            <p class="note">
                Save the scenario as <code>mine.toml</code>; <code>quell run mine.toml{store.isRealTime ? " --world live" : ""}</code> {store.isRealTime ? "makes the same changes at the same times: real packets never come twice alike." : "gives the same run: changes and seed included."}
            </p>
        </fieldset>
    );
}
