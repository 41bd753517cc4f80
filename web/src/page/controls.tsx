// The controls: queue, link, users, applications.

import { useState } from "preact/hooks";
import { bitsPerSecond, EXTRAS, ITEMS, MOST, USERS, type Bench, type Extra, type User, type Who } from "../bench.js";
import { range, read, slides, written, type Catalogue, type Parameter } from "../catalogue.js";
import { PROFILES } from "../profiles.js";
import type { Store } from "./store.js";
import { USER_NAMES } from "./words.js";

const EXTRA_NAMES: Record<Extra, string> = { film: "video stream", panorama: "panorama", call: "voice call", game: "game" };

/** Queues that the seeds compare come first; all others follow. */
export const FIRST: readonly { queue: string; name: string }[] = [
    { queue: "fifo:limit=10ms", name: "drop-tail, 10 ms" },
    { queue: "fifo:limit=100ms", name: "drop-tail, 100 ms" },
    { queue: "fifo:limit=200ms", name: "drop-tail, 200 ms" },
    { queue: "pie", name: "PIE" },
    { queue: "fq_codel", name: "FQ-CoDel" },
    { queue: "dualpi2", name: "DualPI2" },
    { queue: "dualq_2015", name: "DualQ of 2015" },
];

interface SlideProps {
    name: string;
    value: number;
    min: number;
    max: number;
    step?: number;
    log?: boolean;
    shown: string;
    help?: string;
    disabled?: boolean;
    onInput: (value: number) => void;
}

/** A slider with its value in words. Logarithmic ones have a hundred steps for a decade. */
export function Slide({ name, value, min, max, step = 1, log, shown, help, disabled, onInput }: SlideProps) {
    const place = (value: number): number => (log ? Math.round(100 * Math.log10(value)) : value);
    const meant = (place: number): number => (log ? Math.min(Math.max(Number((10 ** (place / 100)).toPrecision(2)), min), max) : place);
    return (
        <label class="slide" title={help}>
            <span>
                {name} <output>{shown}</output>
            </span>
            <input
                type="range"
                min={place(min)}
                max={place(max)}
                step={log ? 1 : step}
                value={place(value)}
                disabled={disabled}
                aria-label={name}
                aria-valuetext={shown}
                onInput={(event) => onInput(meant(event.currentTarget.valueAsNumber))}
            />
        </label>
    );
}

interface FieldProps {
    name: string;
    value: string;
    isNumber?: boolean;
    placeholder?: string;
    help?: string;
    onChange: (value: string) => void;
}

/** A field to type in: what is typed counts when it is left, or with Enter. */
export function Field({ name, value, isNumber = false, placeholder = "", help, onChange }: FieldProps) {
    // The page is drawn again and again meanwhile.
    const [draft, setDraft] = useState<string | undefined>(undefined);
    return (
        <label class="pick" title={help}>
            {name}{" "}
            <input
                type="text"
                inputMode={isNumber ? "numeric" : "text"}
                value={draft ?? value}
                placeholder={placeholder}
                aria-label={name}
                onInput={(event) => setDraft(event.currentTarget.value)}
                onChange={(event) => {
                    setDraft(undefined);
                    onChange(event.currentTarget.value);
                }}
            />
        </label>
    );
}

/** A choice of a queue. */
function Queues({ name, value, catalogue, none, onPick }: { name: string; value: string; catalogue: Catalogue | undefined; none?: string; onPick: (queue: string) => void }) {
    const known = FIRST.some(({ queue }) => queue === value);
    const others = catalogue?.queues.filter((kind) => !FIRST.some(({ queue }) => queue === kind.name)) ?? [];
    const isOther = others.some((kind) => kind.name === value);
    return (
        <label class="pick">
            {name}{" "}
            <select aria-label={name} value={value} onChange={(event) => onPick(event.currentTarget.value)}>
                {none !== undefined && <option value="">{none}</option>}
                {!known && !isOther && value !== "" && <option value={value}>{value}</option>}
                {FIRST.map(({ queue, name }) => (
                    <option key={queue} value={queue}>
                        {name}
                    </option>
                ))}
                {others.map((kind) => (
                    <option key={kind.name} value={kind.name}>
                        {kind.name}
                    </option>
                ))}
            </select>
        </label>
    );
}

/** A choice of a link with a name: it sets the rate, the RTT and the first queue. */
function Profiles({ store }: { store: Store }) {
    const { bench } = store;
    const chosen = PROFILES.find(({ rate, rtt, queue }) => rate === bench.rate && rtt === bench.rtt && queue === bench.queues[0]);
    const pick = (name: string): void => {
        const found = PROFILES.find((profile) => profile.name === name);
        if (!found) return;
        store.change((bench) => {
            Object.assign(bench, { rate: found.rate, rtt: found.rtt, queues: [found.queue, ...bench.queues.slice(1)] });
        });
    };
    return (
        <label class="pick" title={chosen?.title}>
            Profile{" "}
            <select aria-label="Profile" value={chosen?.name ?? ""} onChange={(event) => pick(event.currentTarget.value)}>
                {!chosen && <option value="">none</option>}
                {PROFILES.map(({ name, title }) => (
                    <option key={name} value={name} title={title}>
                        {name}
                    </option>
                ))}
            </select>
        </label>
    );
}

/** Parameters of a queue that can change while it runs. */
function Parameters({ store, run, queue, link = "link" }: { store: Store; run: number; queue: string; link?: string }) {
    const [kind = "", ...rest] = queue.split(":");
    const given = new Map(rest.join(":").split(",").filter(Boolean).map((pair) => pair.split("=") as [string, string]));
    const found = store.catalogue?.queues.find(({ name }) => name === kind);
    const live = found?.parameters.filter(({ live, only }) => live && only === null) ?? [];
    if (!found || live.length === 0) return null;
    const key = (parameter: Parameter): string => `${link}.queue.${parameter.name}`;
    const value = (parameter: Parameter): string =>
        store.parameters.get(`${run}:${key(parameter)}`) ?? given.get(parameter.name) ?? parameter.default ?? "";
    const put = (parameter: Parameter, value: string): void => store.put(key(parameter), value, run);
    return (
        <details class="parameters">
            <summary>Parameters of {found.name}</summary>
            <p class="note">{found.summary}</p>
            {live.map((parameter) => {
                const text = value(parameter);
                const number = read(text);
                const help = `${parameter.help} Default: ${parameter.default ?? parameter.derived ?? "none"}. Source: ${parameter.source}`;
                if (parameter.domain.type === "flag" || parameter.domain.type === "word") {
                    const words = parameter.domain.words ?? ["true", "false"];
                    return (
                        <label class="pick" key={parameter.name} title={help}>
                            {parameter.name}{" "}
                            <select aria-label={parameter.name} value={text} onChange={(event) => put(parameter, event.currentTarget.value)}>
                                {words.map((word) => (
                                    <option key={word}>{word}</option>
                                ))}
                            </select>
                        </label>
                    );
                }
                if (slides(parameter) && number !== undefined) {
                    const [min, max] = range(parameter);
                    return (
                        <Slide
                            key={parameter.name}
                            name={parameter.name}
                            value={Math.min(Math.max(number, min || max / 1e4), max)}
                            min={min || max / 1e4}
                            max={max}
                            log
                            shown={text}
                            help={help}
                            onInput={(value) => put(parameter, written(parameter.domain, value))}
                        />
                    );
                }
                return (
                    <Field key={parameter.name} name={parameter.name} value={text} placeholder={parameter.derived ?? ""} help={help} onChange={(value) => put(parameter, value)} />
                );
            })}
        </details>
    );
}

/** One user. */
function UserControls({ store, who }: { store: Store; who: Who }) {
    const user = store.bench.users[who];
    const change = (act: (user: User) => void): void => store.change((bench) => act(bench.users[who]));
    const control = store.catalogue?.controls.find(({ name }) => name === user.control);
    return (
        <fieldset class={`user ${who}`}>
            <legend>{USER_NAMES[who]} user</legend>
            <Slide name={`${USER_NAMES[who]}: downloads`} value={user.downloads} min={0} max={10} shown={String(user.downloads)} onInput={(value) => change((user) => (user.downloads = value))} />
            <Slide name={`${USER_NAMES[who]}: web items per second`} value={user.items} min={0} max={MOST.items} step={ITEMS} shown={String(user.items)} onInput={(value) => change((user) => (user.items = value))} />
            <div class="extras">
                {EXTRAS.map((extra) => (
                    <label key={extra}>
                        <input
                            type="checkbox"
                            checked={user.extras.includes(extra)}
                            onChange={(event) => {
                                const on = event.currentTarget.checked;
                                change((user) => (user.extras = EXTRAS.filter((each) => (each === extra ? on : user.extras.includes(each)))));
                            }}
                        />{" "}
                        {EXTRA_NAMES[extra]}
                    </label>
                ))}
            </div>
            <details class="parameters">
                <summary>More</summary>
                <label class="pick" title={control?.summary}>
                    Congestion control{" "}
                    <select
                        aria-label={`${USER_NAMES[who]}: congestion control`}
                        value={user.control}
                        onChange={(event) =>
                            change((user) => {
                                user.control = event.currentTarget.value;
                                const scalable = store.catalogue?.controls.find(({ name }) => name === user.control)?.scalable;
                                // What the control expects of the network; another code point can be chosen after it.
                                user.ecn = scalable ? "ect1" : "off";
                            })
                        }
                    >
                        {(store.catalogue?.controls ?? [{ name: user.control }]).map(({ name }) => (
                            <option key={name}>{name}</option>
                        ))}
                    </select>
                </label>
                <label class="pick">
                    ECN{" "}
                    <select aria-label={`${USER_NAMES[who]}: ECN`} value={user.ecn} onChange={(event) => change((user) => (user.ecn = event.currentTarget.value as User["ecn"]))}>
                        <option value="off">off</option>
                        <option value="ect0">ECT(0)</option>
                        <option value="ect1">ECT(1)</option>
                    </select>
                </label>
            </details>
        </fieldset>
    );
}

const mbit = (bench: Bench): number => bitsPerSecond(bench.rate) / 1e6;
const milliseconds = (bench: Bench): number => (read(bench.rtt) ?? 7e6) / 1e6;

/** The controls of the bench. */
export function Controls({ store }: { store: Store }) {
    const { bench, catalogue } = store;
    const [one = "dualpi2", other = ""] = bench.queues;
    const queues = (one: string, other: string): void => store.change((bench) => (bench.queues = other === "" ? [one] : [one, other]));
    return (
        <div class="controls">
            <fieldset>
                <legend>Queue</legend>
                <Queues name="Queue" value={one} catalogue={catalogue} onPick={(queue) => queues(queue, other)} />
                <Parameters store={store} run={0} queue={one} />
                <Queues name="Beside it" value={other} catalogue={catalogue} none="no other queue" onPick={(queue) => queues(one, queue)} />
                {other !== "" && <Parameters store={store} run={1} queue={other} />}
            </fieldset>
            {USERS.map((who) => (
                <UserControls key={who} store={store} who={who} />
            ))}
            <fieldset>
                <legend>Link</legend>
                <Profiles store={store} />
                <Slide name="Rate" value={mbit(bench)} min={2} max={1000} log shown={`${mbit(bench)} Mbit/s`} onInput={(value) => store.change((bench) => (bench.rate = `${value}mbit`))} />
                <Slide name="Base RTT" value={milliseconds(bench)} min={1} max={200} log shown={`${milliseconds(bench)} ms`} onInput={(value) => store.change((bench) => (bench.rtt = `${value}ms`))} />
                <details class="parameters">
                    <summary>More</summary>
                    <Slide
                        name="Unresponsive UDP"
                        value={bench.udp}
                        min={0}
                        max={MOST.udp}
                        step={5}
                        shown={bench.udp === 0 ? "none" : `${bench.udp} % of the link`}
                        onInput={(value) => store.change((bench) => (bench.udp = value))}
                    />
                </details>
            </fieldset>
        </div>
    );
}

/** Which link the panels are of, and which direction of it. */
export function Links({ store }: { store: Store }) {
    const { about, history } = store.sides[0] ?? {};
    if (!about || !history) return null;
    const { link, isUp } = history;
    // What has no limit has no queue.
    const hasUp = about.links[link]?.rates[1].some(([, rate]) => rate !== null) === true || isUp;
    if (about.links.length === 1 && !hasUp) return null;
    const choice = (name: string, of: string, isChosen: boolean, pick: () => void) => (
        <label key={name}>
            <input type="radio" name={of} checked={isChosen} onChange={pick} /> {name}
        </label>
    );
    return (
        <fieldset class="choice">
            <legend>What the panels show</legend>
            {about.links.length > 1 && about.links.map(({ name }, place) => choice(name, "link", link === place, () => store.look(place, false)))}
            {hasUp && choice("down", "direction", !isUp, () => store.look(link, false))}
            {hasUp && choice("up", "direction", isUp, () => store.look(link, true))}
        </fieldset>
    );
}

/** The controls of a scenario that is no bench: what can change while it runs. */
export function OwnControls({ store }: { store: Store }) {
    const { links = [], groups = [] } = store.sides[0]?.about ?? {};
    const put = (key: string) => (value: string): void => store.put(key, value);
    return (
        <div class="controls">
            <fieldset disabled={store.isReadOnly}>
                <legend>Change while it runs</legend>
                {links.map(({ name, rate, queue }, place) => {
                    const link = store.linkKey(place);
                    return (
                        <div key={name}>
                            <Field
                                name={`Rate of ${links.length > 1 ? name : "the link"}`}
                                value={store.parameters.get(`${link}.rate`) ?? rate ?? ""}
                                placeholder="none, or it moves"
                                onChange={put(`${link}.rate`)}
                            />
                            <Parameters store={store} run={0} queue={queue} link={link} />
                        </div>
                    );
                })}
                {groups.map((name) => (
                    <Field
                        key={name}
                        name={`Flows of ${name}`}
                        isNumber
                        value={store.parameters.get(`group.${name}.count`) ?? ""}
                        placeholder="as written"
                        onChange={put(`group.${name}.count`)}
                    />
                ))}
            </fieldset>
        </div>
    );
}
