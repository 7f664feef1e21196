// <kw-overview>: is the database of this place well: what all tables consume, how fast they answer, what is
// refused; then each table. While it is hidden it sends nothing.

import { html, nothing, svg } from "../../vendor/lit-html/lit-html.js";
import { call, dynamodb, tableNames } from "../model/api.js";
import { rangeLinks } from "./kw-metrics.js";
import { MINUTE, RANGES, Range, expression, figure, listed, metric, read } from "./series.js";
import { Watching, most, operationsTable, total } from "./watching.js";

const SELDOM = 5;
/** So many tables fit into one request: four series of each. */
const TABLES = 100;
/** Series of operations that one request reads: two values of each. */
const SERIES = 240;
/** Series of operations in all. */
const SERIES_MAX = 1200;
const SPARK = 30;

export class KwOverview extends Watching {
  constructor() {
    super();
    import("./kw-chart.js");
    this.region = "";
    this.minutes = 60;
    this.range = new Range(60);
    this.names = /** @type {string[]} */ ([]);
    this.more = false;
    this.refusing = { reads: /** @type {any[]} */ ([]), writes: /** @type {any[]} */ ([]) };
    this.facts = new Map();
    this.known = /** @type {Map<string, Map<number, number>>} */ (new Map());
    this.operations = /** @type {{name: string, requests: number, times: number[]}[]|null} */ (null);
    /** Requests answered, by table. @type {Map<string, number>} */ this.requests = new Map();
    this.throttle = /** @type {string|null} */ (null);
  }

  /** @param {{region: string, query: URLSearchParams}} route */
  set route({ region, query }) {
    const minutes = RANGES.find(([id]) => id === query.get("range"))?.[2] ?? 60;
    if (region === this.region && minutes === this.minutes) return;
    this.region = region;
    this.minutes = minutes;
    this.range = new Range(minutes);
    this.restart();
  }

  get asks() { return this.region !== ""; }

  /** Sums over all tables by minute; the series of single tables stay in the process. Indexes refuse too. */
  queries() {
    const of = (letter, list) => list.map((one, at) => metric(`${letter}x${at}`, one.name, one.of, { silent: true }));
    const sum = (id, letter, list) => (list.length > 0 ? [expression(id, `SUM([${list.map((_, at) => `${letter}x${at}`).join(", ")}])`)] : []);
    const consumed = (name) => this.names.map((TableName) => ({ name, of: { TableName } }));
    const [reads, writes] = [consumed("ConsumedReadCapacityUnits"), consumed("ConsumedWriteCapacityUnits")];
    const { refusing } = this;
    return [
      // Of the place as a whole: also requests that name no table.
      metric("faults", "UserErrors", {}),
      ...of("r", reads), ...of("w", writes), ...of("a", refusing.reads), ...of("b", refusing.writes),
      ...sum("reads", "r", reads), ...sum("writes", "w", writes), ...sum("readsrefused", "a", refusing.reads), ...sum("writesrefused", "b", refusing.writes),
    ];
  }

  /** The series of refusals, of tables and indexes. */
  async learnRefusing(still) {
    const own = async (name) => (await listed(name)).filter((one) => this.names.includes(one.of.TableName)).slice(0, TABLES);
    const refusing = { reads: await own("ReadThrottleEvents"), writes: await own("WriteThrottleEvents") };
    if (still()) this.refusing = refusing;
  }

  async look(still) {
    const seldom = this.reads % SELDOM === 0;
    if (seldom) {
      const names = await tableNames(TABLES + 1);
      if (!still()) return;
      this.more = names.length > TABLES;
      this.names = names.slice(0, TABLES);
      await this.learnRefusing(still);
    }
    if (this.names.length === 0 || !still()) return;
    await this.range.look(this.queries());
    if (seldom && still()) await this.lookAtTables(still);
  }

  /** Each table's share, in steps that fit a small picture, and the times of all operations. */
  async lookAtTables(still) {
    const { from, to } = this.range;
    const step = Math.max(1, Math.ceil(this.minutes / SPARK)) * MINUTE;
    const how = { period: step };
    const queries = this.names.flatMap((table, at) => [
      metric(`r${at}`, "ConsumedReadCapacityUnits", { TableName: table }, how), metric(`w${at}`, "ConsumedWriteCapacityUnits", { TableName: table }, how),
      metric(`u${at}`, "UserErrors", { TableName: table }, how), metric(`c${at}`, "ConditionalCheckFailedRequests", { TableName: table }, how),
    ]);
    for (const [letter, list] of /** @type {[string, any[]][]} */ ([["a", this.refusing.reads], ["b", this.refusing.writes]])) queries.push(...list.map((one, at) => metric(`${letter}${at}`, one.name, one.of, how)));
    this.known = await read(queries, from, to);
    this.step = step;
    if (!still()) return;
    const series = (await listed("SuccessfulRequestLatency")).filter((one) => this.names.includes(one.of.TableName)).slice(0, SERIES_MAX);
    const whole = this.minutes * MINUTE;
    const by = new Map();
    const answered = new Map(this.names.map((name) => [name, 0]));
    for (let begin = 0; begin < series.length; begin += SERIES) {
      const part = series.slice(begin, begin + SERIES);
      const times = await read(part.flatMap((one, at) => [
        metric(`n${at}`, "SuccessfulRequestLatency", one.of, { stat: "SampleCount", period: whole }), metric(`s${at}`, "SuccessfulRequestLatency", one.of, { stat: "p99", period: whole }),
      ]), from, to);
      if (!still()) return;
      part.forEach((one, at) => {
        const requests = total(times.get(`n${at}`));
        if (requests === 0) return;
        answered.set(one.of.TableName, (answered.get(one.of.TableName) ?? 0) + requests);
        const found = by.get(one.of.Operation) ?? { name: one.of.Operation, requests: 0, times: [0] };
        found.requests += requests;
        found.times = [Math.max(...found.times, most(times.get(`s${at}`)))];
        by.set(one.of.Operation, found);
      });
    }
    this.requests = answered;
    this.operations = [...by.values()].toSorted((one, other) => other.requests - one.requests);
    for (const name of this.names.slice(0, TABLES)) if (!this.facts.has(name)) this.facts.set(name, (await dynamodb("DescribeTable", { TableName: name }).catch(() => ({}))).Table ?? null);
    if (this.throttle === null && this.names.length > 0) this.throttle = (await call("metrics/keys", { table: this.names[0] }).catch(() => ({}))).throttle ?? null;
  }

  view() {
    const { range } = this;
    return html`<div class="op-bar">${rangeLinks(this.minutes)}${this.at}</div>
      ${this.fault}
      ${!this.readAt && !this.error ? html`<div aria-busy="true" class="op-wait"></div>` : nothing}
      ${this.readAt && this.names.length === 0 ? html`<div class="md-empty"><h2>No table in ${this.region}</h2><p>Figures come with the first requests.</p><p><a class="md-button is-main" href="/start">Start with an example</a></p></div>` : nothing}
      ${range.to > 0 && this.names.length > 0 ? html`${this.tiles()}
        <div class="op-charts"><kw-chart .chart=${this.chart("Reads of all tables", "reads", "reads")}></kw-chart><kw-chart .chart=${this.chart("Writes of all tables", "writes", "writes")}></kw-chart></div>
        <h2>Tables</h2>${this.tables()}
        <h2>Operations</h2>${operationsTable("Operations of all tables", this.operations, ["99 % within, of the slowest table"], this.names[0])}` : nothing}`;
  }

  chart(title, id, tone) {
    const { range } = this;
    const lines = [{ name: "consumed", tone, kind: "bars", values: range.values(id, 1 / MINUTE) }];
    if (range.sum(`${id}refused`) > 0) lines.push({ name: "refused", tone: "bad", kind: "thin", values: range.values(`${id}refused`, 1 / MINUTE) });
    return { title, unit: "units a second", times: range.times, lines };
  }

  tiles() {
    const { range } = this;
    const busiest = (id) => most(range.points.get(id)) / MINUTE;
    const refused = range.sum("readsrefused") + range.sum("writesrefused");
    const operations = this.operations ?? [];
    const requests = operations.reduce((sum, one) => sum + one.requests, 0);
    const slow = Math.max(0, ...operations.flatMap((one) => one.times));
    const faults = range.sum("faults");
    const conditions = this.names.reduce((sum, _, at) => sum + total(this.known.get(`c${at}`)), 0);
    const words = RANGES.find(([, , minutes]) => minutes === this.minutes)?.[1];
    const tile = (name, value, unit, bad = false) => html`<li class=${`op-tile${bad ? " is-bad" : ""}`}><span class="op-name">${name}</span><span class="op-value">${value}</span><span class="op-unit">${unit}</span></li>`;
    return html`<ul class="op-tiles" aria-label="In short">
      ${tile("Reads", figure(busiest("reads")), "units a second in the busiest minute")}
      ${tile("Writes", figure(busiest("writes")), "units a second in the busiest minute")}
      ${tile("Requests", requests.toLocaleString("en"), `answered in ${words}`)}
      ${tile("p99 latency", slow > 0 ? figure(slow) : "–", "ms, of the slowest operation")}
      ${tile("Throttled", refused.toLocaleString("en"), refused > 0 || this.throttle !== "off" ? "refused by limits of throughput" : "never: throttling is off", refused > 0)}
      ${tile("Rejected requests", faults.toLocaleString("en"), "refused: the request has a fault")}
      ${tile("Failed conditions", conditions.toLocaleString("en"), "of writes")}</ul>`;
  }

  tables() {
    const rows = this.names.map((name, at) => {
      const sum = (letter) => total(this.known.get(`${letter}${at}`));
      return { name, at, reads: sum("r"), writes: sum("w"), requests: this.requests.get(name) ?? 0, refused: this.refusedOf(name), errors: sum("u") };
    }).toSorted((one, other) => other.reads + other.writes - one.reads - one.writes || one.name.localeCompare(other.name));
    const seconds = this.minutes * MINUTE;
    const of = (facts, kind) => {
      const units = facts?.BillingModeSummary?.BillingMode === "PAY_PER_REQUEST" ? 0 : facts?.ProvisionedThroughput?.[kind] ?? 0;
      return units > 0 ? html` <span class="tl-of">of ${units.toLocaleString("en")}</span>` : nothing;
    };
    return html`<div class="md-table-room" tabindex="0" role="region" aria-label="Tables by what they consume"><table class="md-table tl-table"><thead><tr><th scope="col">table</th><th scope="col" class="is-number">requests</th><th scope="col">reads and writes</th>
        <th scope="col" class="is-number">read units a second</th><th scope="col" class="is-number">write units a second</th><th scope="col" class="is-number">throttled</th><th scope="col" class="is-number" title="Every answer with status 400: faults, failed conditions, throttles">errors</th></tr></thead>
      <tbody>${rows.map((row) => { const facts = this.facts.get(row.name); return html`<tr><th scope="row"><a class="md-link" href=${`/${this.region}/t/${encodeURIComponent(row.name)}?tab=metrics`}>${row.name}</a></th>
        <td class="is-number">${row.requests.toLocaleString("en")}</td><td>${this.spark(row.at)}</td><td class="is-number">${figure(row.reads / seconds)}${of(facts, "ReadCapacityUnits")}</td><td class="is-number">${figure(row.writes / seconds)}${of(facts, "WriteCapacityUnits")}</td>
        <td class="is-number">${row.refused > 0 ? html`<span class="tl-bad">${row.refused.toLocaleString("en")}</span>` : "0"}</td><td class="is-number">${row.errors.toLocaleString("en")}</td></tr>`; })}</tbody></table></div>
      ${this.more ? html`<p class="dim">The first ${TABLES} tables here, in the order of their names.</p>` : nothing}`;
  }

  refusedOf(name) {
    const of = (letter, list) => list.reduce((sum, one, at) => sum + (one.of.TableName === name ? total(this.known.get(`${letter}${at}`)) : 0), 0);
    return of("a", this.refusing.reads) + of("b", this.refusing.writes);
  }

  /** Reads above, writes below the middle. */
  spark(at) {
    const step = this.step ?? MINUTE;
    const { from, to } = this.range;
    const count = Math.max(1, Math.ceil((to - from) / step));
    const points = ["r", "w"].map((letter) => this.known.get(`${letter}${at}`) ?? new Map());
    const most = Math.max(1e-9, ...points.flatMap((own) => [...own.values()]));
    const bars = points.flatMap((own, below) => [...own].map(([time, value]) => {
      const height = Math.max(0.8, (12 * value) / most);
      const x = ((time - from) / step) * (120 / count);
      return svg`<rect class=${below ? "is-writes" : "is-reads"} x=${x} width=${Math.max(1, 120 / count - 0.6)} y=${below ? 13.5 : 12.5 - height} height=${height}></rect>`;
    }));
    return html`<svg class="tl-spark" viewBox="0 0 120 26" preserveAspectRatio="none" aria-hidden="true">${bars}</svg>`;
  }
}

if (!customElements.get("kw-overview")) customElements.define("kw-overview", KwOverview);
