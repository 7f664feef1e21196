// Images of an item: what differs, in one line or attribute by attribute.

import { html } from "../../vendor/lit-html/lit-html.js";
import { shortText, visible } from "../collections/typed.js";

/** Attributes that a line names. */
const NAMED = 4;
const none = html`<span class="dim">—</span>`;

/** Whether two values are the same. */
export const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/** The names of images: keys as they come, then the rest. */
const namesOf = (...images) => [...new Set(images.flatMap((image) => Object.keys(image ?? {})))];

/** Whether an attribute has the same value in both. */
const sameIn = (before, after, name) => same(before?.[name], after?.[name]);

/** Whether two images are the same item, in any order of their attributes. */
export const sameItems = (before, after) => !before === !after && namesOf(before, after).every((name) => sameIn(before, after, name));

/**
 * What a change did, in one line: old → new of what differs.
 * @param {any} before @param {any} after null: there was none @param {string[]} keys
 */
export function summary(before, after, keys) {
  if (before && after) {
    const names = namesOf(before, after).filter((name) => !sameIn(before, after, name));
    const of = (item, name) => (item[name] === undefined ? "—" : shortText(item[name], 30));
    return names.slice(0, NAMED).map((name) => `${visible(name)} ${of(before, name)} → ${of(after, name)}`).join(", ");
  }
  const image = after ?? before ?? {};
  return Object.keys(image).filter((name) => !keys.includes(name)).slice(0, NAMED).map((name) => `${visible(name)} ${shortText(image[name], 30)}`).join(", ");
}

/** Two images side by side, what differs marked. @param {[string, string]} heads */
export const sideBySide = (before, after, heads = ["before", "after"]) => columns([before, after], heads);

/**
 * Images side by side, what differs marked; null: there is none. What was not read (undefined) differs from nothing.
 * @param {any[]} images @param {unknown[]} heads
 */
export function columns(images, heads) {
  const cell = (value) => html`<td>${value === undefined ? none : html`<code>${shortText(value, 400)}</code>`}</td>`;
  const known = images.filter((image) => image !== undefined);
  return html`<table class="md-table sm-table"><thead><tr><th scope="col">attribute</th>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
    <tbody>${namesOf(...images).map((name) => html`<tr class=${known.every((image) => sameIn(known[0], image, name)) ? "" : "is-changed"}><td>${visible(name)}</td>${images.map((image) => (image === undefined ? html`<td class="dim">not read</td>` : cell(image?.[name])))}</tr>`)}</tbody></table>`;
}
