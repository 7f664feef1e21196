// The rules of a simulation in words, and how a fault is added to them. A rule may have members that are not known
// here: they are shown by their names, and kept.

import { visible } from "../collections/typed.js";
import { lagText } from "../operate/watching.js";

export const ANY = "*";

/** A region as a rule names it. */
export const regionText = (region) => (region === ANY ? "any region" : visible(region));

const percentText = (share) => `${Math.round(share * 1000) / 10} %`;
const rangeText = (from, spread) => (spread > 0 ? `${lagText(from)} to ${lagText(from + spread)}` : lagText(from));

/** What the known members of a rule do. @type {Record<string, (value: any, rule: any) => string>} */
const WORDS = {
  partition: () => "nothing arrives",
  latency_ms: (ms, rule) => `changes take ${rangeText(ms, rule.jitter_ms ?? 0)}`,
  jitter_ms: (ms, rule) => (rule.latency_ms ? "" : `changes take ${rangeText(0, ms)}`),
  duplicate: (share) => `${percentText(share)} arrive twice`,
  reorder: (share) => `${percentText(share)} are overtaken`,
  split_transactions: (share) => `${percentText(share)} arrive apart from their transaction`,
  pause: () => "nothing arrives and nothing leaves",
  clock_ms: (ms) => `its clock is ${lagText(Math.abs(ms))} ${ms > 0 ? "ahead" : "behind"}`,
  isolate: () => "no writes and no strongly consistent reads",
  mrsc_round_trip_ms: (ms) => `strongly consistent writes take ${lagText(ms)}`,
  mrsc_conflict: (share) => `${percentText(share)} of strongly consistent writes conflict`,
  status: (status) => String(status),
  step: () => "changes move only when they are delivered by hand",
};

/** Members that say what a rule is for. */
const SUBJECT = ["from", "to", "region", "table", "account", "for_ms"];

/** What a rule is for. */
function subjectText(rule) {
  if (rule.from !== undefined) return `${regionText(rule.from)} → ${regionText(rule.to)}`;
  return [rule.table, rule.region].filter((name) => name !== undefined).map(visible).join(" in ");
}

/** What a rule does; empty if nothing. */
function effectText(rule) {
  const members = Object.entries(rule).filter(([name, value]) => !SUBJECT.includes(name) && value && !(typeof value === "number" && value === 0));
  return members.map(([name, value]) => (WORDS[name] ? WORDS[name](value, rule) : value === true ? name : `${name} ${visible(JSON.stringify(value))}`)).filter(Boolean).join(", ");
}

/**
 * All rules of a simulation that do something, in words.
 * @param {any} simulation
 * @returns {{list: string, rule: any, subject: string, effect: string}[]}
 */
export function rulesOf(simulation) {
  const lists = Object.entries(simulation ?? {}).filter(([, rules]) => Array.isArray(rules));
  return lists.flatMap(([list, rules]) => rules.map((rule) => ({ list, rule, subject: subjectText(rule), effect: effectText(rule) }))).filter(({ effect }) => effect !== "");
}

/** When a rule ends by itself. */
export const endText = ({ for_ms }) => (for_ms === undefined ? "until it is removed" : `for ${lagText(Math.max(1000, for_ms))}`);

/** Faults that a form offers: what each is called, what it is for, and what it sets. */
export const FAULTS = /** @type {[string, string, "link"|"region"|"table", (value: number) => any][]} */ ([
  ["partition", "Cut a link", "link", () => ({ partition: true })],
  ["latency", "Delay changes", "link", (ms) => ({ latency_ms: ms, jitter_ms: 0 })],
  ["aws", "Delay changes as AWS does", "link", () => ({ preset: "aws" })],
  ["duplicate", "Deliver changes twice", "link", (percent) => ({ duplicate: percent / 100 })],
  ["reorder", "Let changes be overtaken", "link", (percent) => ({ reorder: percent / 100 })],
  ["split", "Split transactions", "link", (percent) => ({ split_transactions: percent / 100 })],
  ["pause", "Pause a region", "region", () => ({ pause: true })],
  ["clock", "Shift a region's clock", "region", (ms) => ({ clock_ms: ms })],
  ["step", "Deliver by hand", "table", () => ({ step: true })],
]);

/** What the number of a fault is; none for the others. @type {Map<string, [string, number, number, number]>} words, least, most, first */
export const NUMBERS = new Map([
  ["latency", ["milliseconds", 1, 86_400_000, 1000]], ["clock", ["milliseconds ahead", -21_600_000, 21_600_000, 3_600_000]],
  ["duplicate", ["% of changes", 1, 100, 25]], ["reorder", ["% of changes", 1, 100, 25]], ["split", ["% of changes", 1, 100, 100]],
]);

const LISTS = { link: "links", region: "regions", table: "tables" };
const isFor = (rule, subject) => Object.entries(subject).every(([name, value]) => rule[name] === value);

/** Rules whose time is over are not sent again. */
const lasting = (rules) => rules.filter((rule) => rule.for_ms === undefined || rule.for_ms > 0);

/** The simulation with lists of rules changed. */
function changed(simulation, change) {
  const lists = Object.entries(simulation).map(([name, rules]) => [name, Array.isArray(rules) ? change(name, lasting(rules)) : rules]);
  return Object.fromEntries(lists);
}

/**
 * A simulation with one more fault: a rule for the same link, region or table gets it too.
 * @param {any} simulation
 * @param {{fault: string, value: number, subject: Record<string, string>, forMs: number|null}} wanted
 */
export function withFault(simulation, { fault, value, subject, forMs }) {
  const [, , kind, of] = FAULTS.find(([id]) => id === fault) ?? FAULTS[0];
  const effect = of(value);
  const added = (before) => {
    const rule = { ...before, ...subject, ...effect };
    // A preset stands for these two.
    if (effect.preset) { delete rule.latency_ms; delete rule.jitter_ms; }
    if (forMs === null) delete rule.for_ms; else rule.for_ms = forMs;
    return rule;
  };
  return changed({ [LISTS[kind]]: [], ...simulation }, (name, rules) => {
    if (name !== LISTS[kind]) return rules;
    const same = rules.find((rule) => isFor(rule, subject));
    return same ? rules.map((rule) => (rule === same ? added(rule) : rule)) : [...rules, added({})];
  });
}

/** A simulation without one of its rules. */
export function withoutRule(simulation, { list, rule }) {
  const subject = Object.fromEntries(SUBJECT.filter((name) => name !== "for_ms" && rule[name] !== undefined).map((name) => [name, rule[name]]));
  return changed(simulation, (name, rules) => (name === list ? rules.filter((one) => !isFor(one, subject)) : rules));
}
