// The access-pattern table: what is asked, how it is answered, what it costs, and whether it is met, in one row.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { repeat } from "../../vendor/lit-html/directives/repeat.js";
import { entityName, verdict } from "./blocks.js";
import { money } from "./words.js";

/** Sum of the monthly cost of a pattern over table and indexes, as dollars text; null where it has no rate. */
export function monthlyOf(cost, id) {
  const lines = cost.patterns.filter((line) => line.pattern === id);
  if (lines.length === 0) return null;
  let nanos = 0n;
  for (const line of lines) nanos += nanosOf(line.monthly.dollars);
  return dollarsOf(nanos);
}

export function nanosOf(dollars) {
  const negative = dollars.startsWith("-");
  const [whole, part = ""] = dollars.replace("-", "").split(".");
  const nanos = BigInt(whole) * 1_000_000_000n + BigInt(part.padEnd(9, "0").slice(0, 9));
  return negative ? -nanos : nanos;
}

export function dollarsOf(nanos) {
  const size = nanos < 0n ? -nanos : nanos;
  return `${nanos < 0n ? "-" : ""}${size / 1_000_000_000n}.${(size % 1_000_000_000n).toString().padStart(9, "0")}`;
}

const unitsOf = (run) => {
  if (run.writeUnits > 0) return `${run.writeUnits} W`;
  return `${run.readUnits} R`;
};

const bytesText = (bytes) => (bytes < 1024 ? `${bytes} B` : `${(bytes / 1024).toFixed(1)} KB`);

/**
 * @param {{page: any, check: any, cost: any, marks: any, open: Set<string>, toggle: (id: string) => void,
 *   draw: (id: string) => void, stale: boolean}} input
 */
export function patternsView({ page, check, cost, marks, open, toggle, draw, stale }) {
  const table = page?.blocks.find((block) => block.table)?.table;
  if (!check) return nothing;
  const column = new Map((table?.headers ?? []).map((header, at) => [header, at]));
  const asked = new Map((table?.rows ?? []).map((row) => [row[0], row]));
  const cell = (id, header) => asked.get(id)?.[column.get(header) ?? -1] ?? "";
  const tally = new Map();
  for (const pattern of check.patterns) tally.set(pattern.result, (tally.get(pattern.result) ?? 0) + 1);
  return html`
    <div class="md-summary">
      ${[...tally].map(([result, number]) => html`<span class="md-tally"><b>${number}</b> ${verdict(result)}</span>`)}
      ${stale ? nothing : html`<span class=${check.passes ? "md-pass" : "md-fail"}>${check.passes ? "The check passes." : "The check fails."}</span>`}
    </div>
    <div class="md-table-room" tabindex="0" role="region" aria-label="Access patterns">
    <table class="md-table pt">
      <thead><tr>
        <th scope="col">id</th><th scope="col">pattern</th><th scope="col">rate</th><th scope="col">operation</th>
        <th scope="col" class="pt-index">index</th><th scope="col" class="is-number">read</th><th scope="col" class="is-number">returned</th>
        <th scope="col" class="is-number" title="Capacity units of one request on the sample items of this model">units (sample)</th><th scope="col" class="is-number" title="What the pattern costs a month at its rate, with the counts and sizes that the model declares">a month (at its rate)</th><th scope="col">result</th>
      </tr></thead>
      <tbody>${repeat(check.patterns, (pattern) => pattern.id, (pattern) => {
        const month = cost ? monthlyOf(cost, pattern.id) : null;
        const isOpen = open.has(pattern.id);
        const failed = pattern.complaints.length > 0;
        const rate = cell(pattern.id, "rate");
        return html`
        <tr class=${failed ? "pt-row is-bad" : "pt-row"} id=${`pt-${pattern.id}`}>
          <td><button class="md-link" title="Go to line ${pattern.line}" @click=${() => marks.goto?.(pattern.line, 5)}>${pattern.id}</button></td>
          <td class="pt-text">
            <button class="pt-fold" aria-expanded=${isOpen} @click=${() => toggle(pattern.id)}>
              <span class="pt-title">${pattern.text ?? ""}</span>
              <span class="pt-ask">${cell(pattern.id, "kind")} ${cell(pattern.id, "of").split(", ").map((name) => entityName(name, marks.entities))}
              ${cell(pattern.id, "given, order, filter") !== "-" ? html`<span class="pt-given">${cell(pattern.id, "given, order, filter")}</span>` : nothing}</span>
            </button></td>
          <td>${rate === "-" || rate === "" ? html`<span class="dim">missing</span>` : rate}</td>
          <td>${pattern.operation ?? html`<span class="dim">—</span>`}<span class="pt-on" aria-hidden="true">${pattern.index ?? pattern.table ?? ""}</span></td>
          <td class="pt-index">${pattern.index ?? pattern.table ?? html`<span class="dim">—</span>`}</td>
          <td class="is-number">${shown(pattern, pattern.itemsRead, "read", draw)}</td>
          <td class="is-number">${shown(pattern, pattern.itemsReturned, "returned", draw)}</td>
          <td class="is-number">${pattern.operation ? unitsOf(pattern) : html`<span class="dim">—</span>`}</td>
          <td class="is-number">${month === null ? html`<span class="dim">${cost ? "unknown" : "…"}</span>` : money(month)}</td>
          <td>${verdict(pattern.result)}</td>
        </tr>
        ${failed || isOpen
          ? html`<tr class="pt-more"><td></td><td colspan="9">
              ${pattern.complaints.map((complaint) => html`<p class="pt-complaint"><span aria-hidden="true">└ </span>${complaint}</p>`)}
              ${isOpen ? html`
              <dl class="pt-facts">
                ${fact("key", pattern.key ? html`<code>${pattern.key}</code>` : null)}
                ${fact("filter", pattern.filter ? html`<code>${pattern.filter}</code>` : null)}
                ${fact("requests", pattern.requests > 1 ? pattern.requests : null)}
                ${fact("returns", cell(pattern.id, "returns"))}
                ${fact("size", cell(pattern.id, "size"))}
                ${fact("consistency", cell(pattern.id, "consistency"))}
                ${fact("bytes returned", pattern.bytesReturned ? bytesText(pattern.bytesReturned) : null)}
                ${fact("returned", pattern.returned?.length ? html`<span class="pt-keys">${pattern.returned.slice(0, 12).map((key) => html`<code>${key.join(" / ")}</code>`)}${pattern.returned.length > 12 ? html` and ${pattern.returned.length - 12} more` : nothing}</span>` : null)}
              </dl>
              <button class="md-button" @click=${() => draw(pattern.id)}>Show it in the item collections</button>` : nothing}
            </td></tr>`
          : nothing}`;
      })}</tbody>
    </table></div>`;
}

/** Items that a pattern reads or returns; a press shows which they are. */
function shown(pattern, items, what, draw) {
  if (!items) return items ?? "";
  return html`<button class="md-link" title="Show them in the item collections" aria-label=${`${items} ${what} by ${pattern.id}: show them`} @click=${() => draw(pattern.id)}>${items}</button>`;
}

const fact = (name, value) => (value === null || value === "" || value === "-" || value === undefined ? nothing : html`<div><dt>${name}</dt><dd>${value}</dd></div>`);
