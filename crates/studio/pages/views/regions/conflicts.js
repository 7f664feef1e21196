// Changes of a table that lost to concurrent ones in other regions: which, to what, and what was lost.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { keyText, visible } from "../collections/typed.js";
import { sideBySide, summary } from "../operate/images.js";
import { timeOf } from "../operate/watching.js";

/** Conflicts that are shown. */
const SHOWN = 50;

/** @typedef {{at: number, key: any, winner: Version, loser: Version, item: any}} Conflict as the API has it */
/** @typedef {{region: string, at: number}} Version */

/** A name that a conflict keeps while others come. @param {Conflict} one */
export const idOf = (one) => JSON.stringify([one.at, one.key, one.loser]);

const versionText = ({ region, at }) => html`${visible(region)} at ${timeOf(at)}`;

/**
 * @param {object} input
 * @param {Conflict[]|null} input.conflicts of all regions, the newest first; null while they are read
 * @param {string[]} input.keys the names of the key attributes
 * @param {Map<string, any>} input.open the items as they are now, of those that are open; undefined while one is read
 * @param {(one: Conflict) => void} input.toggle
 * @param {(key: any) => string} input.hrefOf the address of an item in all regions
 */
export function conflictsView({ conflicts, keys, open, toggle, hrefOf }) {
  if (!conflicts) return html`<div aria-busy="true" class="op-wait"></div>`;
  if (conflicts.length === 0) return html`<p class="md-nothing">No change has lost to a concurrent one of another region since the server started.</p>`;
  return html`<ol class="sm-list" aria-label="Lost changes, the newest first">${conflicts.slice(0, SHOWN).map((one) => {
    const id = idOf(one);
    const isOpen = open.has(id);
    return html`<li class="sm-item is-remove"><button class="sm-head" aria-expanded=${isOpen} @click=${() => toggle(one)}>
        <span class="sm-key"><code>${keyWords(one.key, keys)}</code></span>
        <span class="sm-what">${visible(one.loser.region)} lost to ${visible(one.winner.region)}: ${one.item ? summary(null, one.item, keys) : "a delete"}</span><span class="dim">${timeOf(one.at)}</span></button>
      ${isOpen ? details(one, open.get(id), hrefOf) : nothing}</li>`;
  })}</ol>${conflicts.length > SHOWN ? html`<p class="dim">Older ones: <code>keywright global conflicts</code></p>` : nothing}`;
}

/** @param {Conflict} one @param {any} now */
function details(one, now, hrefOf) {
  return html`<p class="sm-bar"><span>won: ${versionText(one.winner)}</span><span>lost: ${versionText(one.loser)}</span>${one.key ? html`<a class="md-link" href=${hrefOf(one.key)}>In all regions</a>` : nothing}</p>
    ${now === undefined ? html`<div aria-busy="true"></div>` : now?.error ? html`<p class="sm-bar">${now.error}</p>`
      : html`<div class="md-table-room" tabindex="0" role="region" aria-label="Lost and now">${sideBySide(one.item, now, [one.item ? "lost" : "lost: a delete", now ? "now" : "now: no item"])}</div>`}`;
}

/** A key as people read it. */
export const keyWords = (key, keys) => keys.map((name) => visible(keyText(key?.[name] ?? { S: "" }))).join(" / ");
