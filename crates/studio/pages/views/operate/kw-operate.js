// <kw-operate>: what the database does now. Only panels whose figures this build serves are shown.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { confirmed } from "../confirm.js";
import { call, dynamodb, go, tableNames } from "../model/api.js";
import { insightsSwitch, insightsView, readInsights } from "./insights.js";
import { keysView, partitionsView } from "./keys.js";
import "./kw-backups.js";
import "./kw-destinations.js";
import "./kw-history.js";
import "./kw-jobs.js";
import { keyOf } from "./kw-metrics.js";
import "./kw-overview.js";
import "./kw-stream.js";
import "./kw-transfers.js";
import "./kw-triggers.js";
import "../regions/kw-simulation.js";
import { RANGES } from "./series.js";
import { Watching } from "./watching.js";

const PANELS = [["", "Overview"], ["keys", "Hottest keys"], ["streams", "Streams"], ["ttl", "Time to live"], ["history", "History"], ["backups", "Backups"], ["transfers", "Exports and imports"], ["triggers", "Triggers and Kinesis"], ["jobs", "Jobs"], ["simulation", "Simulation"]];
/** Panels whose element asks by itself. */
const OWN = ["", "backups", "transfers", "triggers", "jobs", "simulation"];
/** Tables that a list to choose from has, and that are looked at for time to live. */
const TABLES = 300;

export class KwOperate extends Watching {
  constructor() {
    super();
    this.where = "";
    this.region = "";
    this.panel = /** @type {string|null} */ (null);
    this.table = /** @type {string|null} */ (null);
    this.index = /** @type {string|null} */ (null);
    this.query = new URLSearchParams();
    this.streams = /** @type {any[]|null} */ (null);
    this.expiries = /** @type {any[]|null} */ (null);
    this.names = /** @type {string[]|null} */ (null);
    this.facts = /** @type {any} */ (null);
    this.heat = /** @type {any} */ (null);
    this.insights = /** @type {any} */ (null);
    this.range = RANGES[0][0];
    this.readOnly = true;
  }

  connectedCallback() {
    super.connectedCallback();
    call("state", {}).then((state) => { this.readOnly = state.readOnly; this.update(); }, () => {});
  }

  /** @param {{region: string, panel: string, query: URLSearchParams}} route */
  set route({ region, panel, query }) {
    const where = JSON.stringify([region, panel, query.toString()]);
    if (where === this.where) return;
    this.where = where;
    this.region = region;
    this.panel = PANELS.some(([id]) => id === panel) ? panel : "";
    this.query = query;
    this.table = query.get("table");
    this.index = query.get("index");
    this.heat = null;
    this.insights = null;
    this.restart();
  }

  get asks() { return this.panel !== null && !OWN.includes(this.panel); }

  async look(still) {
    if (this.panel === "keys") await this.lookAtKeys(still);
    else if (this.panel === "ttl") await this.lookAtExpiries();
    else if (this.panel === "history") this.names ??= await tableNames(TABLES);
    else if (this.reads === 0) await this.lookAtStreams();
  }

  async lookAtStreams() {
    const streams = [];
    let start;
    do {
      const page = await dynamodb("ListStreams", start ? { ExclusiveStartStreamArn: start } : {});
      streams.push(...page.Streams);
      start = page.LastEvaluatedStreamArn;
    } while (start && streams.length < 1000);
    this.streams = streams;
  }

  async lookAtKeys(still) {
    const names = this.names ?? await tableNames(TABLES);
    if (!still()) return;
    this.names = names;
    const table = this.table && names.includes(this.table) ? this.table : names[0];
    if (!table) return;
    if (this.facts?.TableName !== table) this.facts = (await dynamodb("DescribeTable", { TableName: table })).Table;
    const [heat, insights] = await Promise.all([
      call("metrics/keys", { table, ...(this.index ? { index: this.index } : {}) }), readInsights({ table, index: this.index, range: this.range }),
    ]);
    if (!still()) return;
    this.heat = heat;
    this.insights = insights;
  }

  async countKeys(table, action) {
    const consent = action === "DISABLE" ? await confirmed({ title: `Stop counting the keys of ${table}?`, verb: "Stop counting", lost: ["The keys counted so far, busiest and refused"] }) : null;
    if (action === "DISABLE" && !consent) return;
    try {
      await dynamodb("UpdateContributorInsights", { TableName: table, ...(this.index ? { IndexName: this.index } : {}), ContributorInsightsAction: action }, { consent });
      this.restart();
    } catch (error) {
      this.error = error;
      this.update();
    }
  }

  async lookAtExpiries() {
    const enabled = [];
    for (const name of await tableNames(TABLES)) {
      const known = this.expiries?.find((one) => one.name === name);
      if (known) { enabled.push(known); continue; }
      const { TimeToLiveDescription } = await dynamodb("DescribeTimeToLive", { TableName: name });
      if (TimeToLiveDescription?.TimeToLiveStatus !== "ENABLED" && TimeToLiveDescription?.TimeToLiveStatus !== "ENABLING") continue;
      enabled.push({ name, attribute: TimeToLiveDescription.AttributeName });
    }
    const { tables, nowMs } = enabled.length > 0 ? await call("metrics/backlog", { tables: enabled.map((one) => one.name) }) : { tables: [], nowMs: 0 };
    const found = new Map(tables.map((one) => [one.table, one]));
    this.expiries = enabled.filter((one) => found.has(one.name)).map((one) => ({ ...one, backlog: found.get(one.name), nowMs }));
  }

  view() {
    if (this.panel === null) return nothing;
    return html`<div class="op-room">
      <header class="mf-head"><h1>Operate</h1>
        <nav class="md-tabs" aria-label="Panels">${PANELS.map(([id, text]) => html`<a class="md-tab" href=${`/${this.region}/operate${id ? `/${id}` : ""}`} aria-current=${this.panel === id ? "page" : "false"}>${text}</a>`)}</nav></header>
      ${this.fault}
      ${this.panelView()}
    </div>`;
  }

  panelView() {
    const { region, table, query, readOnly } = this;
    switch (this.panel) {
      case "streams": return this.streamsView();
      case "keys": return this.keys();
      case "ttl": return this.expiryView();
      case "history": return this.history();
      case "backups": return html`<kw-backups .route=${{ region, table, readOnly }}></kw-backups>`;
      case "transfers": return html`<kw-transfers .second=${Number(query.get("at")) || null} .route=${{ region, table, readOnly }}></kw-transfers>`;
      case "triggers": return html`<kw-triggers .route=${{ region, table, readOnly }}></kw-triggers><h2>Kinesis destinations</h2><kw-destinations .route=${{ region, table, readOnly }}></kw-destinations>`;
      case "jobs": return html`<kw-jobs .route=${{ region }}></kw-jobs>`;
      case "simulation": return html`<p class="dim">Faults between the regions of global tables, for tests. Changes are delivered by hand in the tab Regions of a table.</p><kw-simulation .of=${{ region, table: null, regions: [], key: null }}></kw-simulation>`;
      default: return html`<kw-overview .route=${{ region, query }}></kw-overview>`;
    }
  }

  history() {
    if (!this.names) return html`<div aria-busy="true" class="op-wait"></div>`;
    if (this.names.length === 0) return this.noTable();
    const table = this.table && this.names.includes(this.table) ? this.table : this.names[0];
    return html`<p class="sm-bar"><label>Table <select @change=${(event) => go(`/${this.region}/operate/history?table=${encodeURIComponent(event.target.value)}`)}>
        ${this.names.map((name) => html`<option value=${name} ?selected=${name === table}>${name}</option>`)}</select></label></p>
      <kw-history .route=${{ region: this.region, table, query: this.query }}></kw-history>`;
  }

  noTable() {
    return html`<div class="md-empty"><h2>No table in ${this.region}</h2><p><a class="md-button is-main" href="/start">Start with an example</a></p></div>`;
  }

  keys() {
    if (!this.names) return html`<div aria-busy="true" class="op-wait"></div>`;
    if (this.names.length === 0) return this.noTable();
    const table = this.table && this.names.includes(this.table) ? this.table : this.names[0];
    const indexes = this.facts?.GlobalSecondaryIndexes ?? [];
    const index = indexes.find((one) => one.IndexName === this.index) ?? null;
    const of = { heat: this.heat, region: this.region, table, index: index ? { name: index.IndexName } : null, ...keyOf(index ?? this.facts) };
    const to = (name, ofIndex) => go(`/${this.region}/operate/keys?table=${encodeURIComponent(name)}${ofIndex ? `&index=${encodeURIComponent(ofIndex)}` : ""}`);
    return html`<p class="sm-bar"><label>Table <select @change=${(event) => to(event.target.value, "")}>${this.names.map((name) => html`<option value=${name} ?selected=${name === table}>${name}</option>`)}</select></label>
        <label>Index <select @change=${(event) => to(table, event.target.value)}><option value="" ?selected=${!index}>the table</option>${indexes.map((one) => html`<option value=${one.IndexName} ?selected=${one === index}>index ${one.IndexName}</option>`)}</select></label>
        ${insightsSwitch({ insights: this.insights, readOnly: this.readOnly, change: (action) => this.countKeys(table, action) })}
        ${this.insights?.status === "ENABLED" ? html`<label>In the last <select @change=${(event) => { this.range = event.target.value; this.insights = null; this.restart(); }}>${RANGES.map(([id, text]) => html`<option value=${id} ?selected=${id === this.range}>${text}</option>`)}</select></label>` : nothing}</p>
      ${this.insights && this.facts ? insightsView({ insights: this.insights, ...of }) : nothing}
      ${this.insights?.status === "ENABLED" && this.heat?.throttle !== "full" ? nothing : keysView(of)}
      ${this.heat?.throttle === "full" ? html`<h2>Partitions</h2>${partitionsView(this.heat)}` : nothing}`;
  }

  streamsView() {
    if (!this.streams) return html`<div aria-busy="true"></div>`;
    const names = [...new Set(this.streams.map((one) => one.TableName))];
    if (names.length === 0) return html`<div class="md-empty"><h2>No table has a stream</h2><p>A stream keeps each change of a day in order. Enable it in a table's settings.</p>
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
    return html`<div class="md-table-room" tabindex="0" role="region" aria-label="Time to live"><table class="md-table mf-table"><thead><tr><th scope="col">table</th><th scope="col">attribute</th><th scope="col" class="is-number">due, not deleted</th><th scope="col">due since</th><th scope="col">next</th><th scope="col">deleted after</th><th scope="col" class="is-number">kept</th></tr></thead>
      <tbody>${this.expiries.map(({ name, attribute, backlog, nowMs }) => html`<tr><th scope="row"><a class="md-link" href=${`/${this.region}/t/${encodeURIComponent(name)}/items`}>${name}</a></th><td><code>${attribute}</code></td>
        <td class="is-number" data-due>${counted(backlog.due)}${backlog.filling ? html` <span class="dim">and counting</span>` : nothing}</td>
        <td>${when(backlog.oldestDueSeconds, nowMs)}</td><td>${when(backlog.nextSeconds, nowMs)}</td><td>${span(backlog.delayMs / 1000)}</td><td class="is-number">${counted(backlog.past)}</td></tr>`)}</tbody></table></div>
      <p class="dim">Kept: items whose time is more than five years past, which time to live takes for a mistake. Items whose attribute is no number never expire and are not counted.</p>`;
  }
}

/** Counting ends at 10,000. */
const counted = (number) => (number >= 10_000 ? "10,000 or more" : number.toLocaleString("en"));

/** A time and how far it is from now. */
function when(seconds, nowMs) {
  if (seconds === null) return html`<span class="dim">–</span>`;
  const date = new Date(seconds * 1000);
  const apart = seconds - nowMs / 1000;
  if (Number.isNaN(date.getTime())) return html`<code>${seconds}</code>`;
  return html`<time datetime=${date.toISOString()}>${date.toLocaleString()}</time> <span class="dim">${apart < 0 ? `${span(-apart)} ago` : `in ${span(apart)}`}</span>`;
}

function span(seconds) {
  const [value, unit] = seconds < 120 ? [seconds, "s"] : seconds < 7200 ? [seconds / 60, "min"] : seconds < 172_800 ? [seconds / 3600, "h"] : [seconds / 86_400, "days"];
  return `${Math.round(value).toLocaleString("en")} ${unit}`;
}

if (!customElements.get("kw-operate")) customElements.define("kw-operate", KwOperate);
