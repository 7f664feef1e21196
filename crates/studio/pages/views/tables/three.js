// A conflict: what was read, what is there now and what was made of it, side by side, with a choice for each
// attribute.

import { html } from "../../vendor/lit-html/lit-html.js";
import { shortText, visible } from "../collections/typed.js";
import { changedNames, own, same } from "./save.js";

/**
 * @param {{before: any, theirs: any, after: any, take: Map<string, string>}} conflict
 * @param {() => void} changed
 */
export function threeWay(conflict, changed) {
  const { before, theirs, after } = conflict;
  const names = [...new Set([...changedNames(before, theirs), ...changedNames(before, after)])];
  const cell = (value) => (value === undefined ? "—" : shortText(value));
  const choice = (name, side, words) => html`<label class="th-take"><input type="radio" name=${`take-${name}`} .checked=${takes(conflict, name) === side}
    @change=${() => { conflict.take.set(name, side); changed(); }}><span class="kc-hidden">${visible(name)}: </span>${words}</label>`;
  return html`<div class="md-table-room" tabindex="0" role="region" aria-label="Three values"><table class="md-table th-table">
    <thead><tr><th scope="col">attribute</th><th scope="col">you read</th><th scope="col">now there</th><th scope="col">yours</th><th scope="col">take</th></tr></thead>
    <tbody>${names.map((name) => html`<tr class=${takes(conflict, name) === "mine" ? "is-mine" : "is-theirs"}><th scope="row">${visible(name)}</th>
      <td>${cell(own(before, name))}</td><td class="th-theirs">${cell(own(theirs, name))}</td><td class="th-mine">${cell(own(after, name))}</td>
      <td>${same(own(theirs, name), own(after, name)) ? html`<span class="dim">the same</span>` : html`${choice(name, "mine", "yours")} ${choice(name, "theirs", "theirs")}`}</td></tr>`)}</tbody></table></div>`;
}

/** What is taken of an attribute unless chosen: yours where you changed it. */
function takes({ before, after, take }, name) {
  return take.get(name) ?? (same(own(before, name), own(after, name)) ? "theirs" : "mine");
}

/** The item that the choices make of a conflict. */
export function resolved(conflict) {
  const { before, theirs, after } = conflict;
  const merged = new Map(Object.entries(theirs));
  for (const name of changedNames(theirs, after)) {
    if (!changedNames(before, theirs).includes(name) && !changedNames(before, after).includes(name)) continue;
    if (takes(conflict, name) !== "mine") continue;
    if (Object.hasOwn(after, name)) merged.set(name, after[name]);
    else merged.delete(name);
  }
  return Object.fromEntries(merged);
}
