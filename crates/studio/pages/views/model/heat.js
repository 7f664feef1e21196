// How near the busiest key of each table and index comes to what one partition serves.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { entityName, template } from "./blocks.js";
import { percent } from "./words.js";

/** What one partition serves a second. */
export const WRITE_LIMIT = 1000;
export const READ_LIMIT = 3000;

/** A bar against a limit; the scale ends at one and a quarter of it, so that what is above still shows. */
export function bar(value, limit, what) {
  const share = value / limit;
  const scale = Math.max(1.25, share);
  const verdict = share > 1 ? "hot" : share > 0.5 ? "warm" : "cool";
  const width = (100 * share) / scale;
  const at = 100 / scale;
  return html`<div class="ht-line">
    <span class="ht-what">${what}</span>
    <svg class="ht-bar" viewBox="0 0 100 10" preserveAspectRatio="none" role="img"
      aria-label="${value.toLocaleString("en")} of ${limit.toLocaleString("en")} ${what} units a second">
      <rect class="ht-track" x="0" y="2" width="100" height="6" rx="1"></rect>
      <rect class="ht-fill is-${verdict}" x="0" y="2" width=${Math.max(share > 0 ? 0.4 : 0, width)} height="6"></rect>
      <line class="ht-limit" x1=${at} x2=${at} y1="0" y2="10"></line>
    </svg>
    <span class="ht-number">${value.toLocaleString("en")} <span class="dim">of ${limit.toLocaleString("en")}</span></span>
  </div>`;
}

/** @param {{heat: any, marks: any, calculator: {writes: string, answer: any, ask: (writes: string) => void}}} input */
export function heatView({ heat, marks, calculator }) {
  if (!heat) return nothing;
  return html`<div class="md-page">
    <p class="md-about">The busiest key of each table and index, at the peak rates of the model. A partition serves
      ${WRITE_LIMIT.toLocaleString("en")} write units and ${READ_LIMIT.toLocaleString("en")} read units a second; the line in each bar is that limit.</p>
    ${heat.keys.length === 0 ? html`<p class="md-nothing">No key is asked for at a known rate: give patterns a <code>rate</code>.</p>` : nothing}
    <ol class="ht-list">${heat.keys.map((key) => html`<li class="ht is-${key.verdict ?? "unknown"}">
      <div class="ht-head">
        <code class="ht-key">${template(key.partitionKey)}</code>
        <span class="ht-of">${key.index === null ? key.table : `${key.table}.${key.index}`}${key.localIndexes.length > 0 ? html` with ${key.localIndexes.join(", ")}` : nothing}</span>
        <span class="ht-entities">${key.entities.map((name) => entityName(name, marks.entities))}</span>
        ${key.verdict === null
          ? html`<span class="ht-verdict">unknown</span>`
          : html`<span class="ht-verdict is-${key.verdict}"><span aria-hidden="true">${key.verdict === "hot" ? "▲" : key.verdict === "warm" ? "◆" : "●"}</span> ${key.verdict}, ${percent(key.usedPpm)} full</span>`}
      </div>
      ${key.verdict === null ? html`<p class="ht-words">How much of its rate goes to one key is not known: give the entities a <code>count</code>.</p>` : html`
      ${bar(key.writeUnits, WRITE_LIMIT, "write")}
      ${bar(key.readUnits, READ_LIMIT, "read")}
      <p class="ht-words">${percent(key.sharePpm)} of its rate goes to the busiest key.
        ${key.shards > 1 ? html`Spread over <b>${key.shards}</b> shards; ${key.shardsNeeded} needed, ${key.shardsToCool} to be cool.` : nothing}
        ${key.shards === 1 && key.shardsNeeded > 1
          ? key.shardsHelp
            ? html`It needs <b>${key.shardsNeeded}</b> shards, ${key.shardsToCool} to be cool: write <code>${`{…|shard(${key.shardsToCool})}`}</code> in its key.`
            : html`Shards do not help: the load is on one item.`
          : nothing}</p>`}
    </li>`)}</ol>
    ${heat.withoutRate?.length > 0 ? html`<p>Not counted, as they have no rate: ${heat.withoutRate.join(", ")}.</p>` : nothing}
    ${heat.notes?.length > 0 ? html`<ul>${heat.notes.map((note) => html`<li>${note}</li>`)}</ul>` : nothing}
    <section class="ht-calculator" aria-label="Calculator">
      <h3>How many shards?</h3>
      <label>Write units a second on one key
        <input inputmode="numeric" .value=${calculator.writes} @input=${(event) => calculator.ask(event.target.value)}></label>
      <output>${calculator.answer
        ? calculator.answer.shardsNeeded === 1 ? "One key serves that." : html`<b>${calculator.answer.shardsNeeded}</b> shards.`
        : ""}</output>
    </section>
  </div>`;
}
