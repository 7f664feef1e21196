// Two models compared, and the way from one to the other without downtime.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { prose } from "./blocks.js";
import { money } from "./words.js";

const SIGN = { added: "+", removed: "−", changed: "~" };
/** A cost as words; exact dollars or, without a price, null. */
const priced = (cost) => (cost === null ? "at an unknown price" : money(cost.replace("$", "")));
const WHO = { table: "Table", application: "Application", job: "Job", "new data": "New data" };

/**
 * @param {{answer: any, before: string, after: string, sides: {id: string, label: string}[],
 *   choose: (side: "before"|"after", id: string) => void, rate: number, setRate: (rate: number) => void,
 *   texts: boolean, showTexts: (shown: boolean) => void, pair: {a: string, b: string}|null, error: any}} input
 */
export function diffView({ answer, before, after, sides, choose, rate, setRate, texts, showTexts, pair, error }) {
  const select = (which, chosen, label) => html`<label class="df-side"><span>${label}</span>
    <select @change=${(event) => choose(which, event.target.value)}>${sides.map((side) => html`<option value=${side.id} ?selected=${side.id === chosen}>${side.label}</option>`)}</select></label>`;
  return html`<div class="md-page">
    <div class="df-bar">
      ${select("before", before, "Before")}
      <span class="df-arrow" aria-hidden="true">→</span>
      ${select("after", after, "After")}
      <label class="df-side"><span>Write units a second for jobs</span><input type="number" min="1" .value=${String(rate)} @change=${(event) => setRate(Number(event.target.value) || 1000)}></label>
      <button class="md-button" aria-pressed=${texts} @click=${() => showTexts(!texts)}>${texts ? "Hide the texts" : "Both texts"}</button>
    </div>
    ${texts && pair ? html`<kw-merge class="df-merge" .a=${pair.a} .b=${pair.b}></kw-merge>` : nothing}
    ${error ? html`<div class="md-error" role="alert"><p>${error.message}</p>${error.faults?.length ? html`<ul>${error.faults.map((fault) => html`<li>${prose(fault.text)}</li>`)}</ul>` : nothing}</div>` : nothing}
    ${answer ? difference(answer.difference ?? answer) : nothing}
  </div>`;
}

function difference(found) {
  return html`
    <h3>What changes</h3>
    ${found.changes.length === 0 ? html`<p class="md-nothing">Nothing: both are the same model.</p>` : nothing}
    <ul class="df-list">${found.changes.map((change) => html`<li class="df is-${change.change}">
      <span class="df-sign" aria-hidden="true">${SIGN[change.change] ?? "~"}</span>
      <span><span class="df-what">${change.thing} ${change.name} ${change.change}</span>${change.detail ? html`: <code>${change.detail}</code>` : nothing}</span></li>`)}</ul>
    ${found.summary.length > 0 ? html`<ul>${found.summary.map((line) => html`<li>${prose(typeof line === "string" ? line : line.text ?? "")}</li>`)}</ul>` : nothing}
    ${found.notPlanned?.length > 0 ? html`<h3>Not planned</h3><ul>${found.notPlanned.map((line) => html`<li>${prose(textOf(line))}</li>`)}</ul>` : nothing}
    <h3>The way there</h3>
    ${found.steps.length === 0
      ? html`<p>${found.plan === "whole" ? "There is nothing to move." : "No plan could be made; until the reasons above are resolved, nothing is moved or deleted."}</p>`
      : html`<p class="dim">The application keeps running. ${priced(found.cost)} once, ${found.readUnits.toLocaleString("en")} read and ${found.writeUnits.toLocaleString("en")} write units, on demand at ${found.prices} (read ${found.pricesRead}).</p>
      <ol class="df-steps">${found.steps.map((step) => html`<li class="df-step">
        <div class="df-step-head"><span class="df-who is-${step.who.split(" ")[0]}">${WHO[step.who] ?? step.who}</span><b>${step.step}</b>
          ${step.readUnits + step.writeUnits > 0 ? html`<span class="dim">${[step.readUnits > 0 ? `${step.readUnits.toLocaleString("en")} read units` : "", step.writeUnits > 0 ? `${step.writeUnits.toLocaleString("en")} write units` : ""].filter(Boolean).join(", ")}, ${priced(step.cost)}${step.seconds ? `, ${step.seconds.toLocaleString("en")} seconds` : ""}</span>` : nothing}</div>
        <ul>${step.operations.map((operation) => html`<li>${prose(operation.text)}</li>`)}</ul></li>`)}</ol>`}`;
}

const textOf = (line) => (typeof line === "string" ? line : line.text ?? line.reason ?? "");
