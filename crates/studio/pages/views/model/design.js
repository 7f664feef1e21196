// Better keys with proof: what the model has, what is proposed, what it costs, and what forces each key.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { classMap } from "../../vendor/lit-html/directives/class-map.js";
import { visible } from "../collections/typed.js";
import { pageView, prose } from "./blocks.js";
import { money } from "./words.js";

/**
 * @param {{answer: any, fresh: boolean, settings: any, set: (name: string, value: any) => void, run: () => void, running: boolean,
 *   take: () => void, compare: () => void, taken: string|null, tables: string[], marks: any, now: {keys: any, cost: any, passes: boolean|null, unanswered: number}, error: any}} input
 *   `fresh`: whether the answer is of the text as it stands.
 *   `passes`: whether the check of the text passes, null where there is none yet.
 *   `unanswered`: patterns that the keys of the text do not answer as the model says.
 */
export function designView({ answer, fresh, settings, set, run, running, take, compare, taken, tables, marks, now, error }) {
  return html`<div class="md-page">
    <p class="md-about">Finds the keys and indexes that answer every pattern with one request at the least cost, and proves that fewer do not.
      Entities need a <code>count</code> and <code>unique</code> or keys, patterns a <code>rate</code>.</p>
    <fieldset class="ct-settings"><legend>Settings</legend>
      ${tables.length > 1 ? html`<label class="ct-setting"><span>Table</span><select @change=${(event) => set("table", event.target.value || undefined)}>
        <option value="">all</option>${tables.map((name) => html`<option value=${name} ?selected=${settings.table === name}>${name}</option>`)}</select></label>` : nothing}
      <label class="ct-setting"><span>At most</span><span class="ct-field"><input type="number" min="0" max="20" .value=${String(settings.indexes ?? 5)}
        @change=${(event) => set("indexes", Number(event.target.value))}>indexes</span></label>
      <label class="ct-setting"><span>Prefixes of keys</span><select @change=${(event) => set("keys", event.target.value)}>
        <option value="short" ?selected=${settings.keys !== "readable"}>short</option><option value="readable" ?selected=${settings.keys === "readable"}>readable</option></select></label>
      <label class="ct-setting is-flag"><input type="checkbox" .checked=${!!settings.keep} @change=${(event) => set("keep", event.target.checked)}> <span>Keep the keys there are</span></label>
      <label class="ct-setting is-flag"><input type="checkbox" .checked=${settings.multiAttributeKeys !== false} @change=${(event) => set("multiAttributeKeys", event.target.checked)}> <span>Keys of several attributes</span></label>
      <button class="md-button is-main" ?disabled=${running} @click=${run}>${running ? "Searching…" : answer ? "Search again" : "Find the keys"}</button>
    </fieldset>
    ${error && !error.faults?.length ? html`<p class="md-error" role="alert">${error.message}</p>` : nothing}
    ${error?.faults?.length ? html`<div class="md-error" role="alert"><p><b>There is no design:</b></p><ul>${error.faults.map((fault) => html`<li>${fault.line ? html`<button class="md-link" @click=${() => marks.goto(fault.line, fault.column)}>line ${fault.line}</button> ` : nothing}${prose(fault.text)}</li>`)}</ul></div>` : nothing}
    ${answer && !fresh ? html`<p class="md-stale">The text changed since this search: what you see is of an older text.</p>` : nothing}
    ${answer ? html`<div class=${fresh ? "" : "is-stale"}>${found(answer, { fresh, take, compare, taken, marks, now })}</div>` : nothing}
  </div>`;
}

function found(answer, { fresh, take, compare, taken, marks, now }) {
  const tables = answer.tables ?? [];
  return html`
    ${answer.shown ? html`<p class="dg-answer" role="status">${verdict(now, answer.bill)}${tables.map(cheaper)}</p>` : nothing}
    <div class="dg-verdict ${!answer.agrees ? "is-bad" : fresh ? "is-good" : ""}">
      <span aria-hidden="true">${!answer.agrees ? "✗" : fresh ? "✓" : "·"}</span>
      <span>${answer.trial || (answer.agrees ? "Proved on generated items." : "The proof failed.")}</span>
      <span class="dg-actions">
        <button class=${classMap({ "md-button": true, "is-main": !answer.bill || isBetter(now.cost, answer.bill) })} @click=${take}>Save as new model</button>
        <button class="md-button" @click=${compare}>Compare with this model</button></span>
    </div>
    ${taken ? html`<p class=${fresh ? "md-pass" : ""}>Saved as <a class="md-link" href=${`/models/${encodeURIComponent(taken)}/patterns`}>${taken}</a>; this model is untouched.</p>` : nothing}
    ${(answer.notices ?? []).map((notice) => html`<p class="dg-notice">${prose(String(notice))}</p>`)}
    ${answer.shown ? html`<div class="dg-columns">
      ${column("Now", now.keys, now.cost, marks)}
      ${column("Proposed", answer.shown.keys, answer.shown.cost, marks)}</div>` : nothing}
    ${answer.fault ? html`<p class="md-error" role="alert">${answer.fault}</p>` : nothing}
    ${tables.map((table) => ways(table, answer.bill))}
    <h3>Why these keys, what fewer would cost, and the next best</h3>
    <p class="dim">Units and costs are those of production: at the counts, sizes and rates that the model declares. Units on the sample items, which the view Patterns has, are named so.</p>
    ${explained(answer.text)}
    <details class="ct-prices"><summary>The proposed model</summary><pre class="md-drawing" tabindex="0" role="region" aria-label="The proposed model">${visibleLines(answer.model)}</pre></details>`;
}

const visibleLines = (text) => text.split("\n").map(visible).join("\n");

/** Bills that differ by less than this are one: no bill shows it. In billionths of a dollar. */
const CENT = 10_000_000;
/** Patterns that are named as the reason of a difference. */
const REASONS = 3;

const dollars = (nanos) => money((nanos / 1e9).toFixed(9));
const sum = (list) => list.reduce((all, one) => all + one.monthly.nanoDollars, 0);

/** What each part of a bill costs: patterns by their ids, and storage. */
function partsOf(bill) {
  const parts = new Map([["storage", sum(bill.storage)]]);
  for (const line of bill.patterns) parts.set(line.pattern, (parts.get(line.pattern) ?? 0) + line.monthly.nanoDollars);
  return parts;
}

/** What is saved a month, as the difference of the two amounts that the page prints. In billionths of a dollar. */
const savedOf = (now, proposed) => {
  const printed = (bill) => Math.floor((bill.total.nanoDollars + CENT / 2) / CENT) * CENT;
  return Math.abs(now.total.nanoDollars - proposed.total.nanoDollars) < CENT ? 0 : printed(now) - printed(proposed);
};

/** Whether the proposal is the one to take: it saves something, or the model has no bill. */
const isBetter = (now, proposed) => !now || savedOf(now, proposed) > 0;

/** One sentence: are the keys there are the cheapest, and if not, what is saved by what. */
function verdict({ cost: now, passes, unanswered }, proposed) {
  const cost = money(proposed.total.dollars);
  if (!now) return html`<b>The cheapest keys cost ${cost} a month.</b> The model as it stands has no bill to compare with.`;
  const saved = savedOf(now, proposed);
  // Keys that fail the check are no cheaper answer to the same question.
  const but = unanswered > 0 ? ", but they do not answer every pattern: see Findings" : passes === false ? ", but the check fails: see Findings" : passes === null ? ": compare Findings" : "";
  const whole = now.whole ? nothing : html` The bill of your keys lacks what has no rate or does not run, so it is a lower bound.`;
  if (saved === 0) return html`<b>Your keys are already the cheapest: ${money(now.total.dollars)} a month${but}.</b> The proposal costs the same${unanswered > 0 ? " and answers every pattern" : "; nothing is gained by taking it"}.${whole}`;
  const [before, after] = [partsOf(now), partsOf(proposed)];
  const changes = [...new Set([...before.keys(), ...after.keys()])].map((name) => /** @type {[string, number]} */ ([name, (before.get(name) ?? 0) - (after.get(name) ?? 0)]));
  const most = changes.filter(([, less]) => Math.sign(less) === Math.sign(saved) && Math.abs(less) >= CENT).sort(([, one], [, other]) => Math.abs(other) - Math.abs(one)).slice(0, REASONS);
  const reasons = most.length > 0 ? html` Most of it: ${most.map(([name, less], at) => html`${at > 0 ? ", " : ""}${name} ${dollars(Math.abs(less))}`)}.` : nothing;
  const answers = `your keys leave ${unanswered === 1 ? "one pattern" : `${unanswered} patterns`} without the answer that the model asks for`;
  if (saved < 0 && unanswered > 0) return html`<b>The proposed keys cost ${dollars(-saved)} a month more,</b> ${cost} instead of ${money(now.total.dollars)}, and answer every pattern: ${answers}.${reasons}${whole}`;
  if (saved < 0) return html`<b>Your keys are cheaper by ${dollars(-saved)} a month:</b> ${money(now.total.dollars)} against ${cost}${but}. The search answers every pattern with one request and keeps to the settings above; yours need not.${reasons}${whole}`;
  const share = (100 * saved) / now.total.nanoDollars;
  return html`<b>The proposed keys save ${dollars(saved)} a month</b> (${share < 1 ? "less than 1" : Math.round(share)} %): ${cost} instead of ${money(now.total.dollars)}.${reasons}${unanswered > 0 ? ` They also answer every pattern: ${answers}.` : ""}${whole}`;
}

/** Where the bill finds a design cheaper than the search, which compares designs by estimates. */
function cheaper({ table, fewer }) {
  if (!fewer?.more || fewer.more.nanoDollars > -CENT) return nothing;
  return html` <b>With ${fewer.indexes === 0 ? "no index" : fewer.indexes === 1 ? "one index" : `${fewer.indexes} indexes`} ${table} would cost ${dollars(-fewer.more.nanoDollars)} less still:</b> it needs derived items, which the search estimates higher than the bill. Set “At most” to ${fewer.indexes} to see it.`;
}

const more = (amount) => money(amount.dollars, "+");

/** The proposal next to fewer indexes and the next best, and what each pattern adds. */
function ways(table, bill) {
  const explained = table.explanation;
  const own = bill.totals.filter((one) => table.tables.includes(one.table));
  const rows = [
    ["proposed", table.indexes, dollars(sum(own)), table.fewer?.more?.nanoDollars < 0 ? "the cheapest by the search's estimate" : "proved the cheapest"],
    ...(table.fewer ? [["fewer indexes", table.fewer.indexes, table.fewer.more ? more(table.fewer.more) : "—", table.fewer.reason ?? (table.fewer.more ? "needs derived items" : "")]] : []),
    ...(explained?.runnersUp ?? []).map((one, at) => [at === 0 ? "next best" : "after that", "", one.more ? more(one.more) : "—", "estimated"]),
  ];
  return html`<h3>Ways for ${table.table}</h3>
    <table class="md-table dg-ways"><thead><tr><th scope="col">design</th><th scope="col" class="is-number">indexes</th><th scope="col" class="is-number">a month</th><th scope="col">why</th></tr></thead>
      <tbody>${rows.map((row) => html`<tr><th scope="row">${row[0]}</th><td class="is-number">${row[1]}</td><td class="is-number">${row[2]}</td><td>${typeof row[3] === "string" ? visible(row[3]) : nothing}</td></tr>`)}</tbody></table>
    ${explained?.patterns?.length > 0 ? html`<details class="ct-prices"><summary>What each pattern adds</summary>
      <table class="md-table"><thead><tr><th scope="col">pattern</th><th scope="col" class="is-number">without it, less a month (estimated)</th><th scope="col" class="is-number">indexes without it</th><th scope="col">forces an index</th></tr></thead>
      <tbody>${explained.patterns.map((one) => html`<tr><th scope="row">${one.pattern}</th><td class="is-number">${money(one.saves.dollars)}</td><td class="is-number">${one.indexesWithout}</td><td>${one.forces ? "yes" : "no"}</td></tr>`)}</tbody></table></details>` : nothing}
    ${explained?.breakEvens?.length > 0 ? html`<ul>${explained.breakEvens.map((one) => html`<li>At ${one.percent} % of its rate, ${one.pattern} turns the design.</li>`)}</ul>` : nothing}`;
}

/** One side: keys of every entity, and the bill. */
function column(title, view, cost, marks) {
  const page = view?.views.find((one) => one.name === "keys");
  return html`<section class="dg-column" aria-label=${title}>
    <h3>${title} ${cost ? html`<span class="dg-bill">${money(cost.total.dollars)} <span class="dim">a month${cost.whole ? "" : ", at least"}</span></span>` : nothing}</h3>
    ${page ? pageView(page, { ...marks, goto: null }, { title: false }) : html`<p class="dim">Nothing that runs yet.</p>`}
  </section>`;
}

/** The words of the command, its aligned lines as they are and its sentences as paragraphs. */
function explained(text) {
  const parts = text.trimEnd().split(/\n\n+/);
  return html`<div class="dg-words">${parts.map((part) =>
    /\S {2,}\S/.test(part.split("\n")[0]) && part.split("\n").length > 1
      ? html`<pre class="md-drawing" tabindex="0" role="region" aria-label="Keys">${visibleLines(part)}</pre>`
      : html`<ul>${part.split("\n").map((line) => html`<li>${visible(line)}</li>`)}</ul>`)}</div>`;
}
