// <kw-metrics>: what a table and its indexes consume against what is provisioned, what was refused and why, its
// hottest keys, its operations. While it is hidden it sends nothing.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { call, dynamodb, go, here } from "../model/api.js";
import { keysView, partitionsView } from "./keys.js";
import { LIMITS, MINUTE, RANGES, Range, listed, metric, read, timeOf } from "./series.js";
import { Watching, most, operationsTable, total } from "./watching.js";

/** Operations and descriptions change seldom. */
const SELDOM = 10;
/** Charts of so many indexes; the rest is in the table. */
const INDEXES_SHOWN = 20;
const DIRECTIONS = /** @type {["Read"|"Write", "reads"|"writes"][]} */ ([["Read", "reads"], ["Write", "writes"]]);

export class KwMetrics extends Watching {
  constructor() {
    super();
    import("./kw-chart.js");
    this.table = "";
    this.region = "";
    this.minutes = 60;
    this.range = new Range(60);
    this.facts = /** @type {any} */ (null);
    this.heat = /** @type {any} */ (null);
    this.operations = /** @type {any[]|null} */ (null);
    this.errors = { user: 0, failed: 0 };
  }

  /** @param {{region: string, table: string, query: URLSearchParams}} route */
  set route({ region, table, query }) {
    const minutes = RANGES.find(([id]) => id === query.get("range"))?.[2] ?? 60;
    if (table === this.table && minutes === this.minutes && region === this.region) return;
    const other = table !== this.table || region !== this.region;
    this.region = region;
    this.table = table;
    this.minutes = minutes;
    this.range = new Range(minutes);
    if (other) { this.facts = null; this.heat = null; this.operations = null; }
    this.restart();
  }

  get asks() { return this.table !== ""; }

  /** The table and its global indexes: the name, the dimensions, what is provisioned. */
  get places() {
    const own = { TableName: this.table };
    const indexes = this.facts?.GlobalSecondaryIndexes ?? [];
    const isProvisioned = this.facts?.BillingModeSummary?.BillingMode !== "PAY_PER_REQUEST";
    const units = (one) => (isProvisioned && one?.ProvisionedThroughput ? { Read: one.ProvisionedThroughput.ReadCapacityUnits, Write: one.ProvisionedThroughput.WriteCapacityUnits } : null);
    return [
      { name: null, of: own, units: units(this.facts) },
      ...indexes.map((one) => ({ name: one.IndexName, of: { ...own, GlobalSecondaryIndexName: one.IndexName }, units: units(one) })),
    ];
  }

  queries() {
    return this.places.flatMap(({ of }, at) => DIRECTIONS.flatMap(([direction]) => [
      metric(`c${direction}${at}`.toLowerCase(), `Consumed${direction}CapacityUnits`, of),
      metric(`p${direction}${at}`.toLowerCase(), `Provisioned${direction}CapacityUnits`, of, { stat: "Average" }),
      metric(`t${direction}${at}`.toLowerCase(), `${direction}ThrottleEvents`, of),
      ...LIMITS.map(([limit], kind) => metric(`r${kind}${direction}${at}`.toLowerCase(), `${direction}${limit}ThrottleEvents`, of)),
    ]));
  }

  async look(still) {
    const seldom = this.reads % SELDOM === 0;
    if (!this.facts || seldom) {
      const { Table } = await dynamodb("DescribeTable", { TableName: this.table });
      if (!still()) return;
      this.facts = Table;
    }
    await this.range.look(this.queries());
    const heat = await call("metrics/keys", { table: this.table });
    if (!still()) return;
    this.heat = heat;
    if (seldom) await this.lookAtOperations(still);
  }

  /** Requests and times of each operation over the range. */
  async lookAtOperations(still) {
    const series = await listed("SuccessfulRequestLatency", { TableName: this.table });
    const names = [...new Set(series.map((one) => one.of.Operation))].toSorted();
    const kinds = series.filter((one) => Object.keys(one.of).length === 2 || !series.some((other) => other.of.Operation === one.of.Operation && Object.keys(other.of).length === 2));
    const period = this.minutes * MINUTE;
    const how = (stat) => ({ stat, period });
    const queries = kinds.flatMap((one, at) => [
      metric(`n${at}`, "SuccessfulRequestLatency", one.of, how("SampleCount")), metric(`h${at}`, "SuccessfulRequestLatency", one.of, how("p50")),
      metric(`s${at}`, "SuccessfulRequestLatency", one.of, how("p99")), metric(`m${at}`, "SuccessfulRequestLatency", one.of, how("Maximum")),
    ]);
    const own = { TableName: this.table };
    queries.push(metric("user", "UserErrors", own, how("Sum")), metric("failed", "ConditionalCheckFailedRequests", own, how("Sum")));
    const { from, to } = this.range;
    const found = await read(queries, from, to);
    if (!still()) return;
    this.errors = { user: total(found.get("user")), failed: total(found.get("failed")) };
    this.operations = names.map((name) => {
      const places = [...kinds.keys()].filter((at) => kinds[at].of.Operation === name);
      const slowest = (letter) => Math.max(...places.map((at) => most(found.get(`${letter}${at}`))));
      return { name, requests: places.reduce((sum, at) => sum + total(found.get(`n${at}`)), 0), times: ["h", "s", "m"].map(slowest) };
    }).filter((one) => one.requests > 0).toSorted((one, other) => other.requests - one.requests);
  }

  view() {
    const { range } = this;
    const ready = range.to > 0 && this.facts;
    return html`<div class="op-bar">${rangeLinks(this.minutes)}
        <a class="md-link" href=${`/${this.region}/t/${encodeURIComponent(this.table)}/items`}>View items</a>
        ${this.at}</div>
      ${this.fault}
      ${!ready ? html`<div aria-busy="true" class="op-wait"></div>` : html`
      ${this.charts()}
      <h2>Refused</h2>${this.refusals()}
      <h2>Hottest keys</h2>${keysView({ heat: this.heat, region: this.region, table: this.table, index: null, ...keyOf(this.facts) })}
      ${this.heat?.throttle === "full" ? html`<h2>Partitions</h2>${partitionsView(this.heat)}` : nothing}
      <h2>Operations</h2>${this.operationsView()}`}`;
  }

  charts() {
    const { range } = this;
    const places = this.places.slice(0, INDEXES_SHOWN + 1);
    const used = places.filter(({ name }, at) => name === null || ["cread", "cwrite", "tread", "twrite"].some((id) => range.sum(`${id}${at}`) > 0));
    return html`<div class="op-charts">${used.map((place) => {
      const at = places.indexOf(place);
      return DIRECTIONS.map(([direction, tone]) => html`<kw-chart .chart=${this.chart(place, at, direction, tone)}></kw-chart>`);
    })}</div>
    ${places.length > used.length ? html`<p class="dim">Not drawn, as nothing was read or written there: ${places.filter((one) => !used.includes(one)).map((one) => one.name).join(", ")}.</p>` : nothing}`;
  }

  chart({ name, units }, at, direction, tone) {
    const { range } = this;
    const word = direction.toLowerCase();
    const lines = [{ name: "consumed", tone, kind: "bars", values: range.values(`c${word}${at}`, 1 / MINUTE) }];
    if (units) {
      const held = range.held(`p${word}${at}`);
      held[held.length - 1] = units[direction];
      const first = held.findIndex((value) => value !== null);
      lines.push({ name: "provisioned", tone: "limit", kind: "limit", values: held.map((value, place) => (place < first ? held[first] : value)) });
    }
    const refused = range.sum(`t${word}${at}`);
    if (refused > 0) lines.push({ name: "refused", tone: "bad", kind: "thin", values: range.values(`t${word}${at}`, 1 / MINUTE) });
    return {
      title: `${name === null ? "Table" : `Index ${name}`}: ${tone}`, unit: "units a second", times: range.times, lines,
      note: refused > 0 ? html`<span class="tl-bad">${Math.round(refused).toLocaleString("en")} refused</span> in this time, drawn as refusals a second.` : null,
    };
  }

  refusals() {
    const rows = this.places.flatMap(({ name }, at) => LIMITS.map(([, words], kind) => ({
      name, words, read: this.range.sum(`r${kind}read${at}`), write: this.range.sum(`r${kind}write${at}`),
    }))).filter((row) => row.read + row.write > 0);
    if (rows.length === 0) return html`<p class="md-nothing">${this.heat?.throttle === "off" ? html`Never: throttling is off. <code>--throttle table</code> or <code>--throttle full</code> turns it on.` : "Nothing was refused in this time."}</p>`;
    return html`<div class="md-table-room" tabindex="0" role="region" aria-label="Refused by reason"><table class="md-table tl-table"><thead><tr><th scope="col">table or index</th><th scope="col">because of</th><th scope="col" class="is-number">reads</th><th scope="col" class="is-number">writes</th><th scope="col" class="is-number">last</th></tr></thead>
      <tbody>${rows.map((row) => html`<tr><th scope="row">${row.name ?? this.table}</th><td>${row.words}</td><td class="is-number">${row.read > 0 ? html`<b class="tl-bad">${row.read.toLocaleString("en")}</b>` : "0"}</td><td class="is-number">${row.write > 0 ? html`<b class="tl-bad">${row.write.toLocaleString("en")}</b>` : "0"}</td>
        <td class="is-number">${this.lastOf(row)}</td></tr>`)}</tbody></table></div>`;
  }

  /** The last minute in which a limit refused. */
  lastOf(row) {
    const at = this.places.findIndex((one) => one.name === row.name);
    const kind = LIMITS.findIndex(([, words]) => words === row.words);
    const times = ["read", "write"].flatMap((word) => [...(this.range.points.get(`r${kind}${word}${at}`)?.keys() ?? [])]);
    return times.length > 0 ? timeOf(Math.max(...times)) : "";
  }

  operationsView() {
    const { user, failed } = this.errors;
    const faults = user + failed > 0 ? html`<p>${user > 0 ? html`${user.toLocaleString("en")} answered with an error of status 400. ` : nothing}${failed > 0 ? html`${failed.toLocaleString("en")} failed their condition.` : nothing}</p>` : nothing;
    return html`${operationsTable("Operations", this.operations, ["half within", "99 % within", "slowest"], this.table)}${this.operations ? faults : nothing}`;
  }
}

/** The attributes of a table's key. */
export function keyOf(facts) {
  const named = (kind) => (facts?.KeySchema ?? []).filter((one) => one.KeyType === kind).map((one) => one.AttributeName);
  return { pk: named("HASH"), sk: named("RANGE") };
}

/** The ranges as links: each is an address. */
export function rangeLinks(minutes) {
  const to = (id) => {
    const url = new URL(here(), location.href);
    url.searchParams.set("range", id);
    return url.pathname + url.search;
  };
  return html`<nav class="op-ranges" aria-label="Time shown">${RANGES.map(([id, words, own]) => html`<a href=${to(id)} aria-current=${own === minutes ? "true" : "false"} @click=${(event) => { event.preventDefault(); event.stopPropagation(); go(to(id), true); }}>${words}</a>`)}</nav>`;
}

if (!customElements.get("kw-metrics")) customElements.define("kw-metrics", KwMetrics);
