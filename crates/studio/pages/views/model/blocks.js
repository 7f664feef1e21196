// A page of the workbench (headings, sentences, lists, tables, drawings) as HTML. It serves every view; special
// pictures stand above it. Words in backticks are code; keys, entities, patterns and verdicts get their marks.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { markClasses } from "../collections/entities.js";
import { named, oneLine, visible } from "../collections/typed.js";

/**
 * @typedef {{entities: Map<string, any>, places: Map<string, {line: number, column: number}>,
 *   goto: ((line: number, column: number) => void)|null}} Marks
 */

/** A sentence with its `code` marked, and its lines as lines. */
export function prose(text) {
  const lines = (part) => part.split("\n").map((line, at) => html`${at > 0 ? html`\n<br>` : nothing}${named(line)}`);
  return text.trimEnd().split("`").map((part, at) => (at % 2 === 1 ? html`<code>${named(part)}</code>` : part.includes("\n") ? lines(part) : named(part)));
}

/** A key template: literals as they are, attributes marked. */
export function template(text) {
  return text.split(/(\{[^}]*\})/).filter(Boolean).map((part) =>
    part.startsWith("{") ? html`<span class="tp-attr">${part}</span>` : html`<span class="tp-lit">${part}</span>`);
}

const VERDICTS = new Map([
  ["met", ["✓", "good"]], ["yes", ["✓", "good"]], ["ran", ["✓", "plain"]],
  ["no", ["✗", "bad"]], ["failed", ["✗", "bad"]], ["no path", ["✗", "bad"]],
  ["not needed", ["·", "plain"]], ["in your program", ["→", "plain"]],
]);

/** A verdict with its sign; the word is always there. */
export function verdict(text) {
  const found = VERDICTS.get(text.toLowerCase()) ?? (/^(not met|failed|no )/i.test(text) ? ["✗", "bad"] : null);
  if (!found) return text;
  return html`<span class="vd vd-${found[1]}"><span aria-hidden="true">${found[0]}</span> ${text}</span>`;
}

export function entityName(name, entities) {
  const mark = entities.get(name);
  return mark
    ? html`<span class="en"><span class=${markClasses(mark)} aria-hidden="true">${mark.letters}</span>${name}</span>`
    : visible(name);
}

/** A list of entities, "Order, OrderItem", each with its mark where all of them are entities. */
function entityList(text, entities) {
  const names = text.split(", ");
  if (names.length === 0 || !names.every((name) => entities.has(name))) return visible(text);
  return names.map((name, at) => html`${at > 0 ? ", " : ""}${entityName(name, entities)}`);
}

/** @param {Marks} marks */
function cellOf(header, text, view, marks) {
  if (text === "-") return html`<span class="dim" title="nothing">-</span>`;
  if ((header === "id" || header === "pattern") && marks.goto && marks.places.has(text)) {
    const place = marks.places.get(text);
    return html`<button class="md-link" title="Go to its line" @click=${() => { if (place) marks.goto?.(place.line, place.column); }}>${text}</button>`;
  }
  if (header === "result" || header === "there" || header === "verdict") return verdict(text);
  if (header === "entity" || header === "of" || header === "entities in it") return entityList(text, marks.entities);
  if (view === "keys") return html`<code>${template(text)}</code>`;
  if (header === "key") return html`<code>${visible(text)}</code>`;
  return prose(text);
}

const NUMERIC = /^(-|[\d,.]+( ?(B|KB|MB|GB|R|W|%|\/s))?|\d+, \d+)$/;

function tableOf(table, view, marks) {
  const numeric = table.headers.map((_, at) => table.rows.length > 0 && table.rows.every((row) => NUMERIC.test(row[at])));
  return html`<div class="md-table-room" tabindex="0" role="region" aria-label=${table.headers.join(", ")}>
    <table class="md-table">
      <thead><tr>${table.headers.map((header, at) => html`<th scope="col" class=${numeric[at] ? "is-number" : ""}>${header}</th>`)}</tr></thead>
      <tbody>${table.rows.map((row) => html`<tr>${row.map((text, at) =>
        html`<td class=${numeric[at] ? "is-number" : text.length > 60 ? "is-long" : ""}>${cellOf(table.headers[at], text, view, marks)}</td>`)}</tr>`)}</tbody>
    </table></div>`;
}

/** Whether nothing but drawings follows a heading. */
function onlyDrawings(blocks, from) {
  const end = blocks.findIndex((block, at) => at >= from && block.heading !== undefined);
  const own = blocks.slice(from, end < 0 ? undefined : end);
  return own.length > 0 && own.every((block) => block.drawing !== undefined);
}

/**
 * @param {{name: string, about: string, title: string, blocks: any[]}} page
 * @param {Marks} marks
 * @param {{drawings?: boolean, title?: boolean}} [show]
 */
export function pageView(page, marks, show = {}) {
  return html`<article class="md-page">
    ${show.title === false ? nothing : html`<h2>${oneLine(page.title)}</h2><p class="md-about">${page.about}</p>`}
    ${page.blocks.map((block, at) => {
      if (show.drawings === false && block.heading !== undefined && onlyDrawings(page.blocks, at + 1)) return nothing;
      if (block.heading !== undefined) return html`<h3>${oneLine(block.heading)}</h3>`;
      if (block.text !== undefined) return html`<p>${prose(block.text)}</p>`;
      if (block.list !== undefined) return html`<ul>${block.list.map((line) => html`<li>${prose(line)}</li>`)}</ul>`;
      if (block.table !== undefined) return tableOf(block.table, page.name, marks);
      if (block.drawing !== undefined) {
        return show.drawings === false ? nothing : html`<pre class="md-drawing" tabindex="0" role="region" aria-label="Drawing">${block.drawing.text}</pre>`;
      }
      return nothing;
    })}
  </article>`;
}
