// <kw-live>: the item collections of a live table. Opening it sends one Scan of 50 items, or one page of a Query;
// with a filter, running sends a second request without it, so that what was read and left out is shown too.

import { html, nothing, render } from "../../vendor/lit-html/lit-html.js";
import { call, dynamodb, go, here } from "../model/api.js";
import { expressionOf, filterRows, rowsOf } from "./filter.js";
import { placeId } from "./from_api.js";
import "./kw-collections.js";
import { ITEMS_MAX, keyOf, marksOf, pictureOf, waysOf } from "./live.js";

const FIRST = 50;
/** What the guess of entities looks at. */
const GUESSED_FROM = 1000;
const SORTS = [["", "any"], ["=", "="], ["begins_with", "begins with"], ["BETWEEN", "between"], ["<", "<"], ["<=", "≤"], [">", ">"], [">=", "≥"]];
/** Items of one page of reading on. */
const PAGE = 1000;

export class KwLive extends HTMLElement {
  constructor() {
    super();
    this.table = "";
    this.region = "";
    this.describe = /** @type {any} */ (null);
    this.ways = /** @type {import("./live.js").Way[]} */ ([]);
    this.items = /** @type {{item: any, known: Set<string>|null}[]} */ ([]);
    this.names = /** @type {(string|null)[]} */ ([]);
    this.guessed = true;
    this.error = /** @type {any} */ (null);
    this.busy = false;
    this.more = /** @type {any} */ (null);
    this.query = blank();
    this.answer = /** @type {any} */ (null);
    this.source = null;
    this.run = null;
    this.models = /** @type {string[]} */ ([]);
    this.by = "";
    this.examples = /** @type {string[]} */ ([]);
    this.stop = /** @type {AbortController|null} */ (null);
    /** A run by hand may send the second request of a filter; an opened link sends one. */
    this.pressed = false;
  }

  /** @param {{region: string, table: string, query: URLSearchParams}} route */
  set route({ region, table, query }) {
    const next = readQuery(query);
    const other = table !== this.table || region !== this.region;
    const asked = JSON.stringify(next) !== JSON.stringify(this.query);
    this.query = next;
    if (other) {
      this.table = table;
      this.region = region;
      this.items = [];
      this.names = [];
      this.describe = null;
      this.more = null;
      this.run = null;
      this.source = null;
      this.update();
      this.open();
    } else if (asked && this.describe) {
      this.ask();
    }
  }

  connectedCallback() {
    this.classList.add("md", "lv");
    this.update();
  }

  disconnectedCallback() {
    this.stop?.abort();
  }

  async open() {
    this.error = null;
    this.busy = true;
    this.update();
    try {
      const [described, models] = await Promise.all([dynamodb("DescribeTable", { TableName: this.table }), call("models/list", {}).catch(() => ({ models: [] }))]);
      this.describe = described.Table;
      this.ways = waysOf(described.Table);
      const examples = await call("examples/list", {}).catch(() => ({ examples: [] }));
      this.models = models.models.map((one) => one.name);
      this.examples = examples.examples.map((one) => one.name);
      // The model that made the table names its entities; another one is a choice away.
      const made = localStorage.getItem(`kw-model-of:${this.table}`) ?? "";
      const file = made.endsWith(".yaml") ? made : `${made}.yaml`;
      this.by = this.models.includes(file) || this.examples.includes(file) ? file : "";
      await this.ask();
    } catch (error) {
      this.error = error;
    }
    this.busy = false;
    this.update();
  }

  way(name) {
    return this.ways.find((one) => one.name === name) ?? this.ways[0];
  }

  typeOfKey(name) {
    return this.describe.AttributeDefinitions.find((one) => one.AttributeName === name)?.AttributeType ?? "S";
  }

  /** The request of the form, without its filter; null where there is no partition key: then all is scanned. */
  request() {
    const { query } = this;
    const way = this.way(query.index);
    const names = {};
    const values = {};
    const conditions = [];
    way.pk.forEach((name, at) => {
      names[`#p${at}`] = name;
      values[`:p${at}`] = { [this.typeOfKey(name)]: query.pk[at] ?? "" };
      conditions.push(`#p${at} = :p${at}`);
    });
    const base = { TableName: this.table, ReturnConsumedCapacity: "INDEXES", ...(way.kind === "table" ? {} : { IndexName: way.name }) };
    if (query.pk.length < way.pk.length || query.pk.some((one) => one === "")) return { operation: "Scan", body: base };
    if (query.op && way.sk.length > 0) {
      const name = way.sk[0];
      const type = this.typeOfKey(name);
      names["#s"] = name;
      values[":s"] = { [type]: query.sk };
      if (query.op === "BETWEEN") {
        values[":t"] = { [type]: query.to };
        conditions.push("#s BETWEEN :s AND :t");
      } else if (query.op === "begins_with") conditions.push("begins_with(#s, :s)");
      else conditions.push(`#s ${query.op} :s`);
    }
    return {
      operation: "Query",
      body: {
        ...base, KeyConditionExpression: conditions.join(" AND "), ExpressionAttributeNames: names, ExpressionAttributeValues: values,
        ...(query.descending ? { ScanIndexForward: false } : {}),
      },
    };
  }

  withFilter(body) {
    const where = this.query.where.filter((row) => row.name);
    return where.length > 0 ? expressionOf(where, body) : null;
  }

  take(items, way) {
    const [base] = this.ways;
    const at = new Map(this.items.map((one, index) => [keyOf(one.item, base), index]));
    const known = way.whole ? null : way.attributes;
    const list = [...this.items];
    for (const item of items) {
      const key = keyOf(item, base);
      const index = at.get(key);
      if (index === undefined) {
        if (list.length >= ITEMS_MAX) break;
        at.set(key, list.length);
        list.push({ item, known });
      } else if (known === null || list[index].known !== null) list[index] = { item, known };
    }
    this.items = list;
  }

  async ask() {
    this.stop?.abort();
    const stop = new AbortController();
    const both = this.pressed;
    this.pressed = false;
    this.stop = stop;
    this.busy = true;
    this.error = null;
    this.update();
    try {
      const { operation, body } = this.request();
      const way = this.way(this.query.index);
      const limit = operation === "Scan" ? { Limit: FIRST } : {};
      const filtered = this.withFilter(body);
      // Both requests end at the same item: the second has the first one's count as its limit where a page ended it.
      const first = await dynamodb(operation, { ...(filtered ?? body), ...limit }, { signal: stop.signal });
      let all = first;
      let requests = 1;
      if (filtered && both) {
        const bound = first.LastEvaluatedKey ? { Limit: Math.max(1, first.ScannedCount) } : limit;
        all = await dynamodb(operation, { ...body, ...bound }, { signal: stop.signal });
        requests = 2;
      }
      if (stop.signal.aborted) return;
      this.take(all.Items, way);
      this.take(first.Items, way);
      this.more = operation === "Scan" ? first.LastEvaluatedKey ?? null : null;
      this.answer = {
        operation, requests, read: all.Items, returned: first.Items, scanned: first.ScannedCount, counted: first.Count,
        capacity: first.ConsumedCapacity, second: requests === 2 ? all.ConsumedCapacity : null, hidden: !!filtered && !both && first.ScannedCount > first.Count, cut: !!first.LastEvaluatedKey, place: placeId(this.table, way.kind === "table" ? null : way.name),
        marked: operation === "Query" || !!filtered,
      };
      await this.name();
      this.draw();
    } catch (error) {
      if (!stop.signal.aborted) this.error = error;
    }
    if (this.stop === stop) { this.busy = false; this.update(); }
  }

  /** Reads on until so many items more are read, or so many are kept. */
  async readOn(most) {
    const stop = new AbortController();
    this.stop?.abort();
    this.stop = stop;
    this.busy = true;
    this.update();
    try {
      let left = most;
      while (this.more && left > 0 && this.items.length < ITEMS_MAX && !stop.signal.aborted) {
        const way = this.way(this.query.index);
        const page = await dynamodb("Scan", { ...this.request().body, ExclusiveStartKey: this.more, Limit: Math.min(PAGE, left) }, { signal: stop.signal });
        left -= page.ScannedCount;
        this.take(page.Items, way);
        this.more = page.LastEvaluatedKey ?? null;
        this.source = null;
        this.update();
      }
      await this.name();
      this.draw();
    } catch (error) {
      if (!stop.signal.aborted) this.error = error;
    }
    this.busy = false;
    this.update();
  }

  /** The entities of the items, by a model's templates or guessed from the first thousand. */
  async name() {
    const model = this.by ? (await call(this.models.includes(this.by) ? "models/read" : "examples/read", { name: this.by })).text : null;
    const names = [];
    this.guessed = model === null;
    try {
      for (let at = 0; at < this.items.length; at += GUESSED_FROM) {
        const part = this.items.slice(at, at + GUESSED_FROM).map((one) => one.item);
        const answer = await call("items/entities", { table: this.table, items: part, model });
        names.push(...answer.names);
        this.guessed = answer.guessed;
      }
      this.names = names;
    } catch {
      this.names = this.items.map(() => null);
    }
  }

  draw() {
    this.source = pictureOf({ table: this.table, ways: this.ways, items: this.items, names: this.names, guessed: this.guessed });
    const answer = this.answer;
    this.run = answer?.marked
      ? { place: answer.place, marks: marksOf(this.items, this.ways[0], answer.read, answer.returned), words: "", more: answer.cut }
      : null;
    this.update();
  }

  submit(event) {
    event.preventDefault();
    this.pressed = true;
    const { query } = this;
    const search = new URLSearchParams();
    if (query.index) search.set("index", query.index);
    for (const one of query.pk) search.append("pk", one);
    if (query.op) { search.set("op", query.op); search.set("sk", query.sk); if (query.op === "BETWEEN") search.set("to", query.to); }
    for (const row of query.where) if (row.name) search.append("filter", JSON.stringify([row.name, row.op, row.type, row.value]));
    if (query.descending) search.set("order", "descending");
    const url = `/${this.region}/t/${encodeURIComponent(this.table)}/collections${search.size > 0 ? `?${search}` : ""}`;
    if (url === here()) this.ask();
    else { this.query = blank(); go(url); }
  }

  update() {
    if (this.isConnected) render(this.view(), this);
  }

  view() {
    if (this.error && !this.describe) return html`<div class="md-error" role="alert"><p>${this.error.message}</p><button class="md-button" @click=${() => this.open()}>Retry</button></div>`;
    if (!this.describe) return html`<div aria-busy="true"></div>`;
    const way = this.way(this.query.index);
    const strip = html`${this.form(way)}${this.strip()}`;
    if (this.source && this.source.items.length === 0) {
      return html`${strip}<div class="md-empty"><p>${this.answer?.operation === "Query" ? "No item has this key." : `${this.table} has no items.`}</p></div>`;
    }
    return html`${this.source
      ? html`<kw-collections .source=${this.source} .result=${this.run} .controls=${strip}></kw-collections>`
      : strip}`;
  }

  form(way) {
    const { query } = this;
    const set = (change) => { Object.assign(query, change); this.update(); };
    return html`<form class="lv-form" aria-label="What to read" @submit=${(event) => this.submit(event)}>
      <label>Table or index <select @change=${(event) => set({ index: event.target.value, pk: [], op: "", sk: "", to: "" })}>
        ${this.ways.map((one) => html`<option value=${one.name} ?selected=${one.name === way.name}>${one.name || this.table}</option>`)}</select></label>
      ${way.pk.map((name, at) => html`<label>${name} <input .value=${query.pk[at] ?? ""} placeholder="any" @input=${(event) => { const pk = [...query.pk]; pk[at] = event.target.value; set({ pk }); }}></label>`)}
      ${way.sk.length > 0 ? html`
        <label>${way.sk[0]} <select @change=${(event) => set({ op: event.target.value })}>${SORTS.map(([value, text]) => html`<option value=${value} ?selected=${value === query.op}>${text}</option>`)}</select></label>
        ${query.op ? html`<input aria-label="Value of ${way.sk[0]}" .value=${query.sk} @input=${(event) => set({ sk: event.target.value })}>` : nothing}
        ${query.op === "BETWEEN" ? html`<span>and</span><input aria-label="Last value of ${way.sk[0]}" .value=${query.to} @input=${(event) => set({ to: event.target.value })}>` : nothing}` : nothing}
      ${filterRows(query.where, (where) => set({ where }))}
      <label class="md-check"><input type="checkbox" .checked=${query.descending} @change=${(event) => set({ descending: event.target.checked })}> newest first</label>
      <button class="md-button is-main" ?disabled=${this.busy}>${query.pk.length >= way.pk.length && query.pk.every((one) => one !== "") ? "Query" : "Scan"}</button>
      <label class="lv-by">Entities <select @change=${async (event) => { this.by = event.target.value; await this.name(); this.draw(); }}>
        <option value="">guessed</option>${[...this.models, ...this.examples.filter((name) => !this.models.includes(name))].map((name) => html`<option value=${name} ?selected=${name === this.by}>of ${name}</option>`)}</select></label>
    </form>`;
  }

  strip() {
    const answer = this.answer;
    const units = (capacity) => (capacity ? `${capacity.CapacityUnits} RCU` : "");
    return html`<div class="kc-strip" role="status">
      ${this.error ? html`<span class="vd-bad">${this.error.message}</span>` : nothing}
      ${answer ? html`<div class="kc-run">
        <span><b>${answer.operation}</b>${this.query.index ? html` on ${this.query.index}` : nothing}</span>
        <span>${answer.requests === 2 ? "2 requests, one without the filter" : "1 request"}</span>
        <span>read <b>${answer.scanned}</b></span><span>returned <b>${answer.counted}</b></span>
        ${answer.scanned > answer.counted ? html`<span>${Math.round((100 * (answer.scanned - answer.counted)) / answer.scanned)} % thrown away</span>` : nothing}
        <span>${units(answer.capacity)}${answer.second ? html` and ${units(answer.second)} to see what was left out` : nothing}</span>
        ${answer.hidden ? html`<button class="md-button" @click=${() => { this.pressed = true; this.ask(); }}>Show what was left out: one request more</button>` : nothing}
        ${answer.cut ? html`<span>the page ended there</span>` : nothing}
      </div>` : nothing}
      ${this.more ? html`<button class="md-button" ?disabled=${this.busy} @click=${() => this.readOn(PAGE)}>Load ${PAGE.toLocaleString("en")} more</button>
        <button class="md-button" ?disabled=${this.busy} @click=${() => this.readOn(ITEMS_MAX - this.items.length)}>Load all, at most ${ITEMS_MAX.toLocaleString("en")}</button>` : nothing}
      ${this.busy ? html`<span>${this.items.length > 0 ? `${this.items.length.toLocaleString("en")} items…` : "reading…"}</span>
        <button class="md-button" @click=${() => { this.stop?.abort(); this.busy = false; this.draw(); }}>Stop</button>` : nothing}
    </div>`;
  }
}

function blank() {
  return { index: "", pk: /** @type {string[]} */ ([]), op: "", sk: "", to: "", descending: false, where: /** @type {import("./filter.js").Row[]} */ ([]) };
}

function readQuery(search) {
  const query = blank();
  query.index = search.get("index") ?? "";
  query.pk = search.getAll("pk");
  query.op = search.get("op") ?? "";
  query.sk = search.get("sk") ?? "";
  query.to = search.get("to") ?? "";
  query.descending = search.get("order") === "descending";
  query.where = rowsOf(search.getAll("filter"));
  if (!SORTS.some(([op]) => op === query.op)) query.op = "";
  return query;
}

if (!customElements.get("kw-live")) customElements.define("kw-live", KwLive);
