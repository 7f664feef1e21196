// What was asked of a table, and what its reader saved of that. Both stay in this browser.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { visible } from "../collections/typed.js";
import { confirmed } from "../confirm.js";
import { wordsOf } from "../collections/filter.js";
import { count } from "../model/words.js";
import { SORTS, fromSearch } from "./ask.js";
import { keep, kept } from "./kept.js";

const ASKED_MAX = 200;
const SAVED_MAX = 200;
const WORDS_MAX = 120;

const ASKED = "asked";
const SAVED = "saved";
const WHEN = new Intl.DateTimeFormat([], { dateStyle: "short", timeStyle: "short" });

function read(kind, table) {
  const list = kept(kind, table);
  return Array.isArray(list) ? list.filter((one) => typeof one?.search === "string") : [];
}

const write = (kind, table, list) => keep(kind, table, list.length > 0 ? list : null);

/** Notes what was asked; the newest first, each once. */
export function note(table, search) {
  write(ASKED, table, [{ search, at: Date.now() }, ...read(ASKED, table).filter((one) => one.search !== search)].slice(0, ASKED_MAX));
}

/** Saves a query under a name; the name's older one goes, and of too many the first saved. */
function save(table, name, search) {
  write(SAVED, table, [...read(SAVED, table).filter((one) => one.name !== name), { name, search }].slice(-SAVED_MAX));
}

/** A query in short. */
export function words(search) {
  const query = fromSearch(new URLSearchParams(search));
  const parts = [];
  if (query.index) parts.push(`${query.index}:`);
  parts.push(query.pk.some(Boolean) ? query.pk.filter(Boolean).join(", ") : "Scan");
  query.ops.forEach((op, at) => { if (op) parts.push(`${SORTS.find(([one]) => one === op)?.[1] ?? op} ${query.sks[at] ?? ""}${op === "BETWEEN" ? ` and ${query.to}` : ""}`); });
  if (query.where.length > 0) parts.push(`filter ${query.where.map(wordsOf).join(" and ")}`);
  if (query.filter) parts.push(`filter ${query.filter}`);
  if (query.descending) parts.push("descending");
  if (query.strong) parts.push("strong");
  if (query.limit) parts.push(`limit ${query.limit}`);
  const text = visible(parts.join(" "));
  return text.length > WORDS_MAX ? `${text.slice(0, WORDS_MAX)}…` : text;
}

/**
 * @param {{table: string, search: string, hrefOf: (search: string) => string, name: string, setName: (name: string) => void, update: () => void}} input
 *   `search` is that of the request as it stands.
 */
export function queriesList({ table, search, hrefOf, name, setName, update }) {
  const own = read(SAVED, table).sort((one, other) => (one.name < other.name ? -1 : 1));
  const past = read(ASKED, table);
  const link = (one, text) => html`<a class="md-link" href=${hrefOf(one.search)} aria-current=${one.search === search ? "true" : "false"} @click=${(event) => event.currentTarget.closest("details")?.removeAttribute("open")}>${text}</a>`;
  const saved = async () => {
    const wanted = name.trim().slice(0, WORDS_MAX);
    const older = own.find((one) => one.name === wanted && one.search !== search);
    if (!wanted || (older && !await confirmed({ title: `Replace the query ${visible(wanted)}?`, lost: [words(older.search)], verb: "Replace query" }))) return;
    save(table, wanted, search);
    setName("");
  };
  return html`<form class="mf-line" @submit=${(event) => { event.preventDefault(); event.stopPropagation(); saved(); }}>
      <label class="kc-hidden" for="qs-name">Name of this query</label><input id="qs-name" placeholder="name of this query" .value=${name} @input=${(event) => setName(event.target.value)}><button class="md-button" ?disabled=${!name.trim()}>Save query</button></form>
    <h3>Saved</h3>
    ${own.length === 0 ? html`<p class="dim">None yet: a name keeps the query that stands in the form.</p>` : html`<ul>${own.map((one) => html`<li>${link(one, visible(one.name))}<span class="dim">${words(one.search)}</span>
      <button type="button" class="it-tiny" aria-label=${`Forget ${visible(one.name)}`} @click=${async () => { if (await confirmed({ title: `Forget the query ${visible(one.name)}?`, lost: [words(one.search)], verb: "Forget query" })) { write(SAVED, table, own.filter((other) => other !== one)); update(); } }}>✕</button></li>`)}</ul>`}
    ${past.length > 0 ? html`<h3>Asked before</h3><ul>${past.map((one) => html`<li>${link(one, words(one.search))}<time class="dim" datetime=${new Date(one.at).toISOString()}>${WHEN.format(one.at)}</time></li>`)}</ul>
      <button type="button" class="md-link" @click=${async () => { if (await confirmed({ title: "Forget what was asked before?", lost: [count(past.length, "query", "queries")], verb: "Forget queries" })) { keep(ASKED, table, null); update(); } }}>Forget these</button>` : nothing}`;
}
