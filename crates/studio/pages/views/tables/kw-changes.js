// <kw-changes>: who changed a table, from the server's audit log: the newest changes, also those that were denied.
// They are read once, and again after a change that is made on this page.

import { html, nothing, render } from "../../vendor/lit-html/lit-html.js";
import { visible } from "../collections/typed.js";
import { call } from "../model/api.js";
import { count } from "../model/words.js";

export class KwChanges extends HTMLElement {
  constructor() {
    super();
    this.table = "";
    /** How often the table was read when this was asked. */ this.reads = -1;
    this.answer = /** @type {any} */ (null);
    this.error = /** @type {any} */ (null);
    this.denied = false;
    this.turn = 0;
  }

  /** @param {{table: string, reads: number}} route */
  set route({ table, reads }) {
    if (table === this.table && reads === this.reads) return;
    if (table !== this.table) this.answer = null;
    this.table = table;
    this.reads = reads;
    this.load();
  }

  connectedCallback() { this.update(); }

  async load() {
    const turn = (this.turn += 1);
    const read = { answer: this.answer, error: /** @type {any} */ (null), denied: false };
    try {
      read.answer = await call("keywright/table-changes", { table: this.table });
    } catch (error) {
      // The frame says why it is denied.
      if (/** @type {any} */ (error).more?.explanation) read.denied = true;
      else read.error = error;
    }
    if (turn !== this.turn) return;
    Object.assign(this, read);
    this.update();
  }

  update() { if (this.isConnected) render(this.view(), this); }

  view() {
    if (this.denied) return html`<p class="dim">Changes: not shown: denied</p>`;
    if (this.error) return html`<div class="md-error" role="alert"><p>${this.error.message}</p><button class="md-button" @click=${() => this.load()}>Retry</button></div>`;
    if (!this.answer) return html`<div aria-busy="true"></div>`;
    const { logged, changes, complete, since } = this.answer;
    if (!logged) return html`<p class="dim">Not recorded: start the server with <code>--audit-log FILE</code>, and who changes this table is listed here.</p>`;
    const from = since === undefined ? "" : ` since ${timeText(since)}`;
    return html`${changes.length === 0 ? html`<p class="md-nothing">The audit log of this server has no change of ${this.table}${complete ? "" : from}.</p>` : this.list(changes)}
      ${complete || changes.length === 0 ? nothing : html`<p class="dim">The newest of this server's audit log${from}. <code>keywright audit</code> reads all of it.</p>`}`;
  }

  list(changes) {
    return html`<div class="md-table-room" tabindex="0" role="region" aria-label="Changes of the table"><table class="md-table mf-table"><thead><tr><th scope="col">time</th><th scope="col">who</th><th scope="col">event</th><th scope="col">outcome</th><th scope="col">from</th></tr></thead>
      <tbody>${changes.map((one) => this.row(one))}</tbody></table></div>`;
  }

  row({ at, event, who, from, error, message, missing }) {
    const time = html`<th scope="row"><time datetime=${at}>${timeText(at)}</time></th>`;
    if (missing !== undefined) return html`<tr>${time}<td colspan="4"><b class="tl-bad">${count(missing, "record")} missing</b>: the log could not be written</td></tr>`;
    return html`<tr>${time}<td><code>${visible(who ?? "")}</code></td><td>${visible(event)}</td>
      <td>${error ? html`<b class="tl-bad">${visible(error)}</b>${message ? html`<br><span class="dim">${visible(message)}</span>` : nothing}` : "done"}</td><td><code>${visible(from ?? "")}</code></td></tr>`;
  }
}

/** A time of the log, in the browser's zone. */
const timeText = (at) => new Date(at).toLocaleString();

if (!customElements.get("kw-changes")) customElements.define("kw-changes", KwChanges);
