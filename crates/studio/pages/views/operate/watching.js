// What views of figures have in common: they read every two seconds while they are seen, keep what they know when a
// read fails, and forget the answers to what they no longer ask. What a form of theirs asks for goes by `send`.

import { html, nothing, render } from "../../vendor/lit-html/lit-html.js";
import { shell } from "../quote.js";
import { figure } from "./series.js";

const EVERY_MS = 2000;

/** A subclass has `look(still)`, which reads and keeps what it read while `still()`, and `view()`. */
export class Watching extends HTMLElement {
  constructor() {
    super();
    this.error = /** @type {any} */ (null);
    this.readAt = 0;
    /** Reads since what is asked changed. */
    this.reads = 0;
    this.timer = 0;
    this.turn = 0;
    this.reading = false;
    /** A form's request is under way. */ this.busy = false;
    /** The fault of what was sent last. */ this.refused = "";
    /** What was done last. */ this.said = /** @type {any} */ (nothing);
  }

  connectedCallback() {
    this.classList.add("op");
    this.timer = window.setInterval(() => this.read(), EVERY_MS);
    document.addEventListener("visibilitychange", this.seen);
    this.update();
    this.read();
  }

  disconnectedCallback() {
    clearInterval(this.timer);
    document.removeEventListener("visibilitychange", this.seen);
    this.turn += 1;
    this.reading = false;
  }

  seen = () => { this.read(); };

  /** Begins anew, as what is asked has changed. */
  restart() {
    this.turn += 1;
    this.reads = 0;
    this.readAt = 0;
    this.reading = false;
    this.error = null;
    this.update();
    this.read();
  }

  /** Whether there is anything to ask now. */
  get asks() { return true; }

  /** @param {() => boolean} _still @returns {Promise<void>} */
  async look(_still) {}

  /** @returns {any} */
  view() { return nothing; }

  async read() {
    if (!this.asks || this.reading || document.hidden || !this.isConnected) return;
    this.reading = true;
    const turn = this.turn;
    const still = () => turn === this.turn;
    try {
      await this.look(still);
      if (!still()) return;
      this.reads += 1;
      this.readAt = Date.now();
      this.error = null;
    } catch (error) {
      if (still()) this.error = error;
    } finally {
      if (still()) { this.reading = false; this.update(); }
    }
  }

  /** Sends what a form asks for. What it gives is said; its fault is shown. @param {() => Promise<any>} run */
  async send(run) {
    this.busy = true;
    this.refused = "";
    this.said = nothing;
    this.update();
    try {
      this.said = (await run()) ?? nothing;
    } catch (error) {
      this.refused = /** @type {Error} */ (error).message;
    }
    this.busy = false;
    this.update();
  }

  /** How the last sending ended. */
  get outcome() {
    return html`${this.refused ? html`<div class="md-error" role="alert"><p>${this.refused}</p></div>` : nothing}
      <div role="status">${this.said === nothing ? nothing : html`<p>${this.said}</p>`}</div>`;
  }

  update() {
    if (this.isConnected) render(this.view(), this);
  }

  /** When it was read. */
  get at() {
    return html`<span class="op-at">${this.readAt ? `at ${new Date(this.readAt).toLocaleTimeString()}` : ""}</span>`;
  }

  /** The fault of the last read. */
  get fault() {
    if (!this.error) return nothing;
    const known = this.readAt ? ` The figures are those of ${new Date(this.readAt).toLocaleTimeString()}.` : "";
    return html`<div class="md-error" role="alert"><p>${this.error.message}${known}</p><button class="md-button" @click=${() => this.read()}>Retry</button></div>`;
  }
}

/** A view of a place, or of one table of it. A subclass has `forget()`, which drops what it knows of another one. */
export class OfPlace extends Watching {
  constructor() {
    super();
    this.region = "";
    this.table = /** @type {string|null} */ (null);
    this.readOnly = true;
  }

  /** @param {{region: string, table: string|null, readOnly: boolean}} route */
  set route({ region, table, readOnly }) {
    const isOther = region !== this.region || table !== this.table;
    if (!isOther && readOnly === this.readOnly) return;
    this.readOnly = readOnly;
    if (!isOther) { this.update(); return; }
    this.region = region;
    this.table = table;
    this.refused = "";
    this.said = nothing;
    this.forget();
    this.restart();
  }

  get asks() { return this.region !== ""; }

  forget() {}
}

/** A field for the name of a new table or backup. */
export function nameField(words, value, input, placeholder = "") {
  return html`<label>${words} <input data-name required pattern="[A-Za-z0-9_.\\-]{3,255}" title="3 to 255 letters, digits, _ . -" .value=${value} placeholder=${placeholder} @input=${(event) => input(event.target.value)}></label>`;
}

/** A field that chooses one of several values. */
export const choice = (words, options, value, input) => html`<label>${words} <select @change=${(event) => input(event.target.value)}>${options.map(([id, text]) => html`<option value=${id} ?selected=${id === value}>${text}</option>`)}</select></label>`;

/** An age of milliseconds. */
export function lagText(ms) {
  const [value, unit] = ms < 1000 ? [ms, "ms"] : ms < 120_000 ? [ms / 1000, "s"] : ms < 7_200_000 ? [ms / 60_000, "min"] : [ms / 3_600_000, "h"];
  return `${Math.round(value).toLocaleString("en")} ${unit}`;
}

/** A time of milliseconds. */
export const timeOf = (ms) => html`<time datetime=${new Date(ms).toISOString()}>${new Date(ms).toLocaleString()}</time>`;

/** All values of a series added up. */
export function total(points) {
  let sum = 0;
  for (const value of points?.values() ?? []) sum += value;
  return sum;
}

/** The largest value of a series. */
export const most = (points) => Math.max(0, ...(points?.values() ?? []));

/**
 * Operations with their requests and times in milliseconds, or how to make one.
 * @param {string} label
 * @param {{name: string, requests: number, times: number[]}[] | null} rows
 * @param {string[]} heads of the times
 * @param {string} table to be read by the first request
 */
export function operationsTable(label, rows, heads, table) {
  if (!rows) return html`<div aria-busy="true" class="op-wait"></div>`;
  if (rows.length === 0) return html`<p class="md-nothing">No request of items was answered in this time. This one makes some:</p><pre class="md-code">aws dynamodb scan --table-name ${shell(table)} --max-items 10</pre>`;
  return html`<div class="md-table-room" tabindex="0" role="region" aria-label=${label}><table class="md-table tl-table"><thead><tr><th scope="col">operation</th><th scope="col" class="is-number">requests</th>${heads.map((head) => html`<th scope="col" class="is-number">${head}</th>`)}</tr></thead>
    <tbody>${rows.map((one) => html`<tr><th scope="row">${one.name}</th><td class="is-number">${one.requests.toLocaleString("en")}</td>${one.times.map((time) => html`<td class="is-number">${figure(time)} ms</td>`)}</tr>`)}</tbody></table></div>`;
}
