// The sheet of help: what this view is for, the keys, and what the words of the pages mean.

import { html } from "../../vendor/lit-html/lit-html.js";

/** What each view is for, and its section of the guide. @type {Map<string, [string, string]>} */
const VIEWS = new Map([
  ["kw-start", ["Examples to begin with, and a tour through the six steps of modelling.", "The first minutes"]],
  ["kw-models", ["The model files. One click opens a model; New model and Import make one.", "The views of a model"]],
  ["kw-model", ["One model: its text at the left, and views of that text. The tabs follow the steps of modelling, from what is asked to the way from the old keys to the new.", "The views of a model"]],
  ["kw-tables", ["The tables of this account and region. Create a table, or open one to see its items.", "The tabs of a table"]],
  ["kw-items", ["Ask the table or an index, see what the answer cost, and change items. Nothing is written before Save or Commit.", "Items"]],
  ["kw-live", ["The item collections of the table and its indexes: what a request reads, returns and leaves out.", "The tabs of a table"]],
  ["kw-schema", ["Keys, indexes and settings of the table, and the table as other tools write it.", "The tabs of a table"]],
  ["kw-request", ["Any request by hand, PartiQL too.", "The tabs of a table"]],
  ["kw-stream", ["Each change of an item as old → new, in order; where changes are sent.", "The tabs of a table"]],
  ["kw-history", ["What an item was at any second, and the way back: restore to a new table, or roll back.", "History, backups and jobs"]],
  ["kw-regions", ["The replicas of the table in other regions: how far changes have come, which have lost, one item in all regions.", "Regions"]],
  ["kw-metrics", ["What the table consumes against what is provisioned, and what was refused.", "What the database does"]],
  ["kw-operate", ["What all tables here consume, how fast they answer, what was refused.", "What the database does"]],
  ["kw-sign-in", ["This server asks for an access key. The secret key never leaves the page.", "Who may use it"]],
]);

/** Keys, by where they work. @type {[string, [string, string][]][]} */
const KEYS = [
  ["Everywhere", [["Ctrl K", "find a table or a view"], ["?", "this sheet"], ["Esc", "close what is open"], ["Tab", "the next control; the first one skips to the view"]]],
  ["Items", [["↑ ↓ ← →", "move in the grid"], ["Enter", "open the item"], ["F2", "edit the cell; a double-click does too"], ["Space", "select the row"], ["Ctrl A", "select all that are loaded"], ["Ctrl C", "copy the cell"], ["Ctrl Enter", "run the request"], ["Ctrl S", "stage the item"], ["Ctrl Shift Enter", "review what is staged"]]],
  ["Models", [["Ctrl S", "save"], ["F8", "the next fault"], ["Ctrl Space", "complete"], ["Esc Tab", "one after the other: leave the editor"]]],
  ["Collections", [["↑ ↓", "move within an item collection"], ["Ctrl ↑ ↓", "the collection before or after"]]],
];

/** Words of the pages that a newcomer may not know. */
const WORDS = [
  ["account and region", "name a place: each has its own tables. Press the line at the top to go to another place."],
  ["stage, commit", "a staged change waits in this tab; a commit writes all that are staged, as one transaction or one by one."],
  ["read, returned", "DynamoDB charges for the items that a request reads, also for those that a filter leaves out."],
  ["item collection", "all items with the same partition key, sorted by their sort key."],
  ["access pattern", "one question or change that a model must answer, with its rate."],
  ["derived item", "an item kept as a copy under another key; the item it copies is its source item."],
  ["RCU, WCU", "read and write capacity units, as DynamoDB counts and bills them."],
];

/** @param {{tag: string, title: string}} to */
export function helpSheet({ tag, title }) {
  const [purpose, section] = VIEWS.get(tag) ?? ["", ""];
  return html`<div class="hp-body"><header><h1 id="hp-title">Help</h1><form method="dialog"><button class="find" aria-label="Close the help">✕</button></form></header>
    <section><h2>You are in ${title}</h2><p>${purpose} ${section ? html`<span class="hp-dim">In the guide: <cite>docs/guide/studio.md</cite> in the repository, “${section}”.</span>` : ""}</p></section>
    <div class="hp-keys">${KEYS.map(([where, keys]) => html`<section><h2>${where}</h2><dl>${keys.map(([key, does]) => html`<div><dt>${key.split(/ (?=[A-Z↑↓←→])/).map((one) => html`<kbd>${one}</kbd>`)}</dt><dd>${does}</dd></div>`)}</dl></section>`)}</div>
    <section><h2>Words</h2><dl class="hp-words">${WORDS.map(([word, means]) => html`<div><dt>${word}</dt><dd>${means}</dd></div>`)}</dl></section>
    <p><label><input type="checkbox" .checked=${localStorage.getItem("kw-help-key") !== "off"} @change=${(event) => { if (event.target.checked) localStorage.removeItem("kw-help-key"); else localStorage.setItem("kw-help-key", "off"); }}> The key <kbd>?</kbd> opens this sheet</label></p></div>`;
}
