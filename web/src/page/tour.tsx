// The tour: what queueing delay is, in steps of which each is a bench.

import { PRESETS, TOUR, type Preset } from "../bench.js";
import type { Store } from "./store.js";

/** One step of the tour, with what to look at. */
export function Tour({ store, step, onStep }: { store: Store; step: number; onStep: (step: number | undefined) => void }) {
    const preset = TOUR[step];
    if (!preset) return null;
    const go = (next: number): void => {
        const found = TOUR[next];
        if (found) store.begin(structuredClone(found.bench));
        onStep(found ? next : undefined);
    };
    return (
        <section class="tour" aria-labelledby="tour-title" aria-live="polite">
            <h2 id="tour-title">
                {step + 1} of {TOUR.length}: {preset.title}
            </h2>
            <p>{preset.text}</p>
            <div class="buttons">
                <button type="button" disabled={step === 0} onClick={() => go(step - 1)}>
                    Back
                </button>
                <button type="button" class="main" onClick={() => go(step + 1)}>
                    {step + 1 < TOUR.length ? "Next" : "End of the tour"}
                </button>
                <button type="button" onClick={() => onStep(undefined)}>
                    Leave the tour
                </button>
            </div>
        </section>
    );
}

/** The benches with a name. */
export function Presets({ store }: { store: Store }) {
    const pick = (preset: Preset): void => store.begin(structuredClone(preset.bench));
    return (
        <nav class="presets" aria-label="Presets">
            {PRESETS.map((preset) => (
                <button type="button" key={preset.name} title={preset.text} data-preset={preset.name} onClick={() => pick(preset)}>
                    {preset.title}
                </button>
            ))}
        </nav>
    );
}
