// <kw-stream>: the tail of a table's stream: each change as old → new, in the order of its shard. A pause loses
// nothing: each shard goes on after the last record that was shown. On a table's page its triggers and Kinesis
// destinations stand below.

import { html, nothing, render } from "../../vendor/lit-html/lit-html.js";
import { repeat } from "../../vendor/lit-html/directives/repeat.js";
import { shortText } from "../collections/typed.js";
import { call, dynamodb } from "../model/api.js";
import { shell } from "../quote.js";
import { sideBySide, summary } from "./images.js";
import "./kw-destinations.js";
import "./kw-triggers.js";

const EVERY_MS = 1000;
/** So many records are kept; the oldest go. */
const KEPT = 5000;
const SHOWN = 500;
const PAGE = 1000;

/**
 * @typedef {{id: string, parent: string|null, closed: boolean, last: string|null, iterator: string|null, done: boolean,
 *   from: "TRIM_HORIZON"|"LATEST"}} Shard
 * @typedef {{shard: string, sequence: string, event: string, at: number, keys: any, before: any, after: any, expired: boolean}} Change
 */

export class KwStream extends HTMLElement {
  constructor() {
    super();
    this.region = "";
    this.readOnly = true;
    this.table = "";
    this.arn = /** @type {string|null} */ (null);
    this.view_ = "";
    /** @type {Map<string, Shard>} */ this.shards = new Map();
    /** @type {Change[]} */ this.changes = [];
    this.paused = false;
    this.filter = "";
    this.only = "";
    this.from = /** @type {"TRIM_HORIZON"|"LATEST"} */ ("TRIM_HORIZON");
    this.error = /** @type {any} */ (null);
    this.loading = false;
    this.missing = false;
    this.timer = 0;
    this.polling = false;
    this.asked = 0;
    this.total = 0;
    this.open = new Set();
    this.turn = 0;
  }

  /** @param {{region?: string, table: string, arn?: string|null}} route with a region on a table's page */
  set route({ region = "", table, arn }) {
    this.region = region;
    if (table === this.table && (arn ?? null) === (this.wanted ?? null)) return;
    this.table = table;
    this.wanted = arn ?? null;
    this.start();
  }

  connectedCallback() {
    this.classList.add("op", "sm");
    this.timer = window.setInterval(() => this.poll(), EVERY_MS);
    if (this.region) call("state", {}).then((state) => { this.readOnly = state.readOnly; this.update(); }, () => {});
    this.update();
  }

  disconnectedCallback() {
    clearInterval(this.timer);
    this.turn += 1;
  }

  async start() {
    this.turn += 1;
    this.arn = null;
    this.shards = new Map();
    this.changes = [];
    this.open = new Set();
    this.total = 0;
    this.missing = false;
    this.error = null;
    this.loading = true;
    this.update();
    const turn = this.turn;
    try {
      let arn = this.wanted ?? null;
      if (!arn) {
        const { Table } = await dynamodb("DescribeTable", { TableName: this.table });
        arn = Table.LatestStreamArn && Table.StreamSpecification?.StreamEnabled ? Table.LatestStreamArn : null;
      }
      if (turn !== this.turn) return;
      this.missing = arn === null;
      this.arn = arn;
      if (arn) await this.look(true);
    } catch (error) {
      if (turn === this.turn) this.error = error;
    }
    this.loading = false;
    this.update();
    this.poll();
  }

  /** Learns the shards; new ones are read from their beginning, as they follow what was read. */
  async look(first) {
    let start;
    do {
      const { StreamDescription } = await dynamodb("DescribeStream", { StreamArn: this.arn, ...(start ? { ExclusiveStartShardId: start } : {}) });
      this.view_ = StreamDescription.StreamViewType ?? "";
      for (const shard of StreamDescription.Shards ?? []) {
        const known = this.shards.get(shard.ShardId);
        const closed = !!shard.SequenceNumberRange?.EndingSequenceNumber;
        if (known) known.closed = closed;
        else {
          this.shards.set(shard.ShardId, {
            id: shard.ShardId, parent: shard.ParentShardId ?? null, closed, last: null, iterator: null,
            done: first && closed && this.from === "LATEST", from: first ? this.from : "TRIM_HORIZON",
          });
        }
      }
      start = StreamDescription.LastEvaluatedShardId;
    } while (start);
  }

  async poll() {
    if (this.paused || this.polling || !this.arn || document.hidden || !this.isConnected) return;
    this.polling = true;
    const turn = this.turn;
    try {
      this.asked += 1;
      if (this.asked % 10 === 0) await this.look(false);
      let changed = false;
      for (const shard of this.shards.values()) {
        if (turn !== this.turn || this.paused) break;
        const parent = shard.parent === null ? null : this.shards.get(shard.parent);
        if (shard.done || (parent && !parent.done)) continue;
        changed = (await this.read(shard)) || changed;
        if (shard.done) await this.look(false);
      }
      if (this.error || changed) { this.error = null; this.update(); }
    } catch (error) {
      if (turn === this.turn) { this.error = error; this.update(); }
    }
    this.polling = false;
  }

  async read(shard) {
    if (shard.iterator === null) {
      const where = shard.last === null
        ? { ShardIteratorType: shard.from }
        : { ShardIteratorType: "AFTER_SEQUENCE_NUMBER", SequenceNumber: shard.last };
      shard.iterator = (await dynamodb("GetShardIterator", { StreamArn: this.arn, ShardId: shard.id, ...where })).ShardIterator;
    }
    let answer;
    try {
      answer = await dynamodb("GetRecords", { ShardIterator: shard.iterator, Limit: PAGE });
    } catch (error) {
      // An iterator lives for minutes; the shard goes on after the last record that it gave.
      shard.iterator = null;
      if (/ExpiredIterator/.test(error.more?.__type ?? "")) return false;
      throw error;
    }
    for (const record of answer.Records) {
      const change = record.dynamodb;
      shard.last = change.SequenceNumber;
      this.total += 1;
      this.changes.push({
        shard: shard.id,
        sequence: change.SequenceNumber,
        event: record.eventName,
        at: Number(change.ApproximateCreationDateTime) * 1000,
        keys: change.Keys,
        before: change.OldImage ?? null,
        after: change.NewImage ?? null,
        expired: record.userIdentity?.Type === "Service" && record.userIdentity?.PrincipalId === "dynamodb.amazonaws.com",
      });
    }
    if (this.changes.length > KEPT) this.changes.splice(0, this.changes.length - KEPT);
    if (answer.NextShardIterator) shard.iterator = answer.NextShardIterator;
    else shard.done = true;
    return answer.Records.length > 0;
  }

  update() {
    if (this.isConnected) render(this.view(), this);
  }

  view() {
    const { region, table, readOnly } = this;
    return html`${this.tail()}${region ? html`<h2>Triggers</h2><kw-triggers .route=${{ region, table, readOnly }}></kw-triggers>
      <h2>Kinesis destinations</h2><kw-destinations .route=${{ region, table, readOnly }}></kw-destinations>` : nothing}`;
  }

  tail() {
    if (this.loading) return html`<div aria-busy="true"></div>`;
    if (this.missing) {
      return html`<div class="md-empty"><h2>${this.table} has no stream</h2>
        <p>A stream keeps each change of a day in order. Enable it in the table's Schema, or by a program:</p>
        <pre class="md-code">aws dynamodb update-table --table-name ${shell(this.table)} \\\n  --stream-specification StreamEnabled=true,StreamViewType=NEW_AND_OLD_IMAGES</pre>
        <p><button class="md-button" @click=${() => this.start()}>Look again</button></p></div>`;
    }
    const shards = [...this.shards.values()];
    const wanted = this.filter.toLowerCase();
    const list = this.changes.filter((change) =>
      (!this.only || (this.only === "TTL" ? change.expired : change.event === this.only)) &&
      (!wanted || JSON.stringify([change.keys, change.before, change.after]).toLowerCase().includes(wanted)));
    const shown = list.slice(-SHOWN).reverse();
    return html`
      ${this.error ? html`<div class="md-error" role="alert"><p>${this.error.message}</p><button class="md-button" @click=${() => this.start()}>Retry</button></div>` : nothing}
      <div class="sm-bar">
        <button class="md-button" aria-pressed=${this.paused} @click=${() => { this.paused = !this.paused; this.update(); this.poll(); }}>${this.paused ? "Go on" : "Pause"}</button>
        <label>Of <select @change=${(event) => { this.only = event.target.value; this.update(); }}>
          ${[["", "all changes"], ["INSERT", "inserts"], ["MODIFY", "modifications"], ["REMOVE", "removals"], ["TTL", "expired by time to live"]].map(([value, text]) => html`<option value=${value} ?selected=${value === this.only}>${text}</option>`)}</select></label>
        <label>With <input .value=${this.filter} placeholder="text in keys or images" @input=${(event) => { this.filter = event.target.value; this.update(); }}></label>
        <label>From <select @change=${(event) => { this.from = event.target.value; this.start(); }}>
          <option value="TRIM_HORIZON" ?selected=${this.from === "TRIM_HORIZON"}>the oldest kept</option><option value="LATEST" ?selected=${this.from === "LATEST"}>now</option></select></label>
        <span class="dim" role="status">${this.total.toLocaleString("en")} ${this.total === 1 ? "record" : "records"}${this.total > this.changes.length ? html`, the last ${this.changes.length.toLocaleString("en")} kept` : nothing}${this.paused ? ", paused" : ""}</span>
        <details class="sm-shards"><summary>${shards.length} ${shards.length === 1 ? "shard" : "shards"}, ${this.view_}</summary>
          <ul>${shards.map((shard) => html`<li><code>${shard.id}</code> ${shard.closed ? "closed" : "open"}${shard.parent ? html`, after <code>${shard.parent}</code>` : nothing}${shard.done ? ", read" : ""}</li>`)}</ul></details>
      </div>
      ${shown.length === 0 ? html`<p class="md-nothing">${this.changes.length === 0 ? "No change yet: the next write of the table appears here." : "No record passes the filter."}</p>` : nothing}
      <ol class="sm-list" aria-label="Changes, the newest first">${repeat(shown, (change) => `${change.shard} ${change.sequence}`, (change) => this.change(change))}</ol>
      ${list.length > SHOWN ? html`<p class="dim">The newest ${SHOWN} of ${list.length.toLocaleString("en")}.</p>` : nothing}`;
  }

  change(change) {
    const id = `${change.shard} ${change.sequence}`;
    const open = this.open.has(id);
    const word = change.expired ? "TTL" : change.event;
    const sign = { INSERT: "+", MODIFY: "~", REMOVE: "−", TTL: "⏱" }[word] ?? "?";
    return html`<li class="sm-item is-${word.toLowerCase()}" data-event=${change.event} data-sequence=${change.sequence}>
      <button class="sm-head" aria-expanded=${open} @click=${() => { if (open) this.open.delete(id); else this.open.add(id); this.update(); }}>
        <span class="sm-event"><span aria-hidden="true">${sign}</span> ${change.expired ? "REMOVE by time to live" : change.event}</span>
        <code class="sm-key">${Object.values(change.keys ?? {}).map((value) => shortText(value, 80)).join(" / ")}</code>
        <span class="sm-what">${summary(change.before, change.after, Object.keys(change.keys ?? {}))}</span>
        <time class="dim" datetime=${new Date(change.at).toISOString()}>${new Date(change.at).toLocaleTimeString()}</time>
      </button>
      ${open ? sideBySide(change.before, change.after) : nothing}
    </li>`;
  }
}

if (!customElements.get("kw-stream")) customElements.define("kw-stream", KwStream);
