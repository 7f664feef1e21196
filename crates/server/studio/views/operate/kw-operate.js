// <kw-operate>: what the database does now. Only panels whose figures this build serves are shown.

import { html, nothing, render } from "../../vendor/lit-html/lit-html.js";
import { dynamodb, go, tableNames } from "../model/api.js";
import { styles } from "../model/styles.js";
import "./kw-stream.js";

styles();

const PANELS = [["streams", "Streams"], ["ttl", "Time to live"]];
const TTL_EVERY_MS = 2000;

export class KwOperate extends HTMLElement {
  constructor() {
    super();
    this.region = "";
    this.panel = "";
    this.table = /** @type {string|null} */ (null);
    this.streams = /** @type {any[]|null} */ (null);
    this.expiries = /** @type {any[]|null} */ (null);
    this.error = null;
    this.timer = 0;
    this.reading = false;
  }

  /** @param {{region: string, panel: string, query: URLSearchParams}} route */
  set route({ region, panel, query }) {
    this.region = region;
    this.panel = PANELS.some(([id]) => id === panel) ? panel : PANELS[0][0];
    this.table = query.get("table");
    this.error = null;
    this.update();
    this.load();
  }

  connectedCallback() {
    this.classList.add("op");
    this.timer = window.setInterval(() => { if (!document.hidden && this.panel === "ttl") this.load(); }, TTL_EVERY_MS);
    this.update();
  }

  disconnectedCallback() {
    clearInterval(this.timer);
  }

  async load() {
    if (this.reading) return;
    this.reading = true;
    try {
      if (this.panel === "streams") await this.loadStreams();
      else await this.loadExpiries();
      this.error = null;
    } catch (error) {
      this.error = error;
    }
    this.reading = false;
    this.update();
  }

  async loadStreams() {
    const streams = [];
    let start;
    do {
      const page = await dynamodb("ListStreams", start ? { ExclusiveStartStreamArn: start } : {});
      streams.push(...page.Streams);
      start = page.LastEvaluatedStreamArn;
    } while (start && streams.length < 1000);
    this.streams = streams;
  }

  async loadExpiries() {
    const list = [];
    for (const name of await tableNames(300)) {
      const { TimeToLiveDescription } = await dynamodb("DescribeTimeToLive", { TableName: name });
      if (TimeToLiveDescription?.TimeToLiveStatus !== "ENABLED" && TimeToLiveDescription?.TimeToLiveStatus !== "ENABLING") continue;
      list.push({ name, attribute: TimeToLiveDescription.AttributeName, status: TimeToLiveDescription.TimeToLiveStatus });
    }
    this.expiries = list;
  }

  update() {
    if (this.isConnected) render(this.view(), this);
  }

  view() {
    if (!this.panel) return nothing;
    return html`<div class="op-room">
      <header class="mf-head"><h1>Operate</h1>
        <nav class="md-tabs" aria-label="Panels">${PANELS.map(([id, text]) => html`<a class="md-tab" href=${`/${this.region}/operate/${id}`} aria-current=${this.panel === id ? "page" : "false"}>${text}</a>`)}</nav></header>
      ${this.error ? html`<div class="md-error" role="alert"><p>${this.error.message}</p><button class="md-button" @click=${() => this.load()}>Retry</button></div>` : nothing}
      ${this.panel === "streams" ? this.streamsView() : this.expiryView()}
    </div>`;
  }

  streamsView() {
    if (!this.streams) return html`<div aria-busy="true"></div>`;
    const names = [...new Set(this.streams.map((one) => one.TableName))];
    if (names.length === 0) return html`<div class="md-empty"><h2>No table has a stream</h2><p>A stream keeps each change of a day in order. Switch it on in a table's settings.</p>
      <p><a class="md-button is-main" href=${`/${this.region}/tables`}>To the tables</a></p></div>`;
    const table = this.table && names.includes(this.table) ? this.table : names[0];
    const arns = this.streams.filter((one) => one.TableName === table);
    const arn = arns.at(-1)?.StreamArn;
    return html`<p class="sm-bar"><label>Table <select @change=${(event) => go(`/${this.region}/operate/streams?table=${encodeURIComponent(event.target.value)}`)}>
        ${names.map((name) => html`<option value=${name} ?selected=${name === table}>${name}</option>`)}</select></label></p>
      <kw-stream .route=${{ table, arn: arns.length > 1 ? null : arn }}></kw-stream>`;
  }

  expiryView() {
    if (!this.expiries) return html`<div aria-busy="true"></div>`;
    if (this.expiries.length === 0) return html`<div class="md-empty"><h2>No table has time to live</h2><p>Items with a time in the chosen attribute are deleted after it, at no cost.</p></div>`;
    return html`<div class="md-table-room" tabindex="0" role="region" aria-label="Time to live"><table class="md-table mf-table"><thead><tr><th scope="col">table</th><th scope="col">attribute</th><th scope="col">status</th></tr></thead>
      <tbody>${this.expiries.map((one) => html`<tr><th scope="row"><a class="md-link" href=${`/${this.region}/t/${encodeURIComponent(one.name)}/items`}>${one.name}</a></th><td><code>${one.attribute}</code></td><td>${one.status.toLowerCase()}</td></tr>`)}</tbody></table></div>`;
  }
}

if (!customElements.get("kw-operate")) customElements.define("kw-operate", KwOperate);
