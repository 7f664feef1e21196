// What was denied here, and why: the sentence of the API, the statement that decided, and what stopped the others.
// All of it is about the visitor's own policies.

import { html, nothing } from "../vendor/lit-html/lit-html.js";
import { visible } from "./collections/typed.js";

/** Requests that are kept; the newest come first. */
const KEPT = 20;

/**
 * @typedef {{text: string, explanation: {action: string, resource: string, decision: "explicit"|"implicit", layer: string, by: string|null,
 *   statements: {layer: string, matches: boolean, effect: string, text: string}[]}}} Denial
 */

/** The list with one more; the same right on the same resource is listed once. @param {Denial[]} list @param {Denial} one */
export function withDenial(list, one) {
  const same = (other) => other.explanation.action === one.explanation.action && other.explanation.resource === one.explanation.resource;
  return [one, ...list.filter((other) => !same(other))].slice(0, KEPT);
}

/** What decided, in a sentence. @param {Denial["explanation"]} why */
function decided({ decision, layer, by, statements, action }) {
  if (decision === "explicit") return by ? html`Denied by <b>${visible(by)}</b> (${layer}).` : html`Denied by a statement of another account (${layer}).`;
  if (statements.length === 0) return html`None of your policies has a statement about <code>${action}</code>.`;
  return html`No ${layer} allows it. These statements are about <code>${action}</code>:`;
}

/** @param {Denial["explanation"]} why */
function stopped({ decision, statements }) {
  const shown = decision === "explicit" ? [] : statements;
  return shown.length === 0 ? nothing : html`<ul>${shown.map(({ layer, text }) => html`<li>${visible(text)} <span class="dim">(${layer})</span></li>`)}</ul>`;
}

/** @param {Denial[]} list @param {() => void} dismiss */
export function deniedView(list, dismiss) {
  const words = list.length === 1 ? "1 request was denied" : `${list.length} requests were denied`;
  return html`<section class="denied" aria-label="Denied requests"><details>
    <summary>${words}: why?</summary>
    <ol>${list.map(({ text, explanation }) => html`<li><p>${visible(text)}</p><p>${decided(explanation)}</p>${stopped(explanation)}</li>`)}</ol></details>
    <button class="find" @click=${dismiss}>Dismiss</button></section>`;
}
