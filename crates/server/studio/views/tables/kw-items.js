// <kw-items>: asks a table or an index, and shows what the answer cost. Opening sends one Query page or one Scan of
// 50 items. An item is edited as DynamoDB JSON; saving writes what changed, if it is still what was read.

import { html, nothing, render } from "../../vendor/lit-html/lit-html.js";
import { classMap } from "../../vendor/lit-html/directives/class-map.js";
import { repeat } from "../../vendor/lit-html/directives/repeat.js";
import { waysOf } from "../collections/live.js";
import { keyText, shortText, sizeText, itemSize, typeOf, visible } from "../collections/typed.js";
import { call, dynamodb, go } from "../model/api.js";
import { styles } from "../model/styles.js";

styles();

const FIRST = 50;
const ROW = 28;
const OVER = 12;
const COLUMNS = 14;
const SORTS = [["", "any"], ["=", "="], ["begins_with", "begins with"], ["BETWEEN", "between"], ["<", "<"], ["<=", "≤"], [">", ">"], [">=", "≥"]];

export class KwItems extends HTMLElement {
  constructor() {
    super();
    this.region = "";
    this.table = "";
    this.described = /** @type {any} */ (null);
    this.ways = /** @type {import("../collections/live.js").Way[]} */ ([]);
    this.query = blank();
    this.items = /** @type {any[]} */ ([]);
    this.columns = /** @type {string[]} */ ([]);
    this.next = /** @type {any} */ (null);
    this.sums = none();
    this.error = null;
    this.busy = false;
    this.readOnly = false;
    this.editing = /** @type {any} */ (null);
    this.top = 0;
    this.chosen = 0;
    this.stop = /** @type {AbortController|null} */ (null);
  }

  /** @param {{region: string, table: string, query: URLSearchParams}} route */
  set route({ region, table, query }) {
    const next = fromSearch(query);
    const other = region !== this.region || table !== this.table;
    const asked = JSON.stringify(next) !== JSON.stringify(this.query);
    this.query = next;
    if (other) {
      this.region = region;
      this.table = table;
      this.described = null;
      this.editing = null;
      this.items = [];
      this.load();
    } else if (asked && this.described) this.ask();
  }

  connectedCallback() {
    this.classList.add("md", "it");
    import("../model/kw-editor.js");
    call("state", {}).then((state) => { this.readOnly = state.readOnly; this.update(); }, () => {});
    this.update();
  }

  disconnectedCallback() {
    this.stop?.abort();
  }

  async load() {
    this.error = null;
    this.update();
    try {
      this.described = (await dynamodb("DescribeTable", { TableName: this.table })).Table;
      this.ways = waysOf(this.described);
      await this.ask();
    } catch (error) {
      this.error = error;
      this.update();
    }
  }

  way() { return this.ways.find((one) => one.name === this.query.index) ?? this.ways[0]; }
  typeOfKey(name) { return this.described.AttributeDefinitions.find((one) => one.AttributeName === name)?.AttributeType ?? "S"; }

  request() {
    const { query } = this;
    const way = this.way();
    const base = { TableName: this.table, ReturnConsumedCapacity: "INDEXES", ...(way.kind === "table" ? {} : { IndexName: way.name }) };
    const filter = query.filter
      ? { FilterExpression: query.filter, ...(query.names ? { ExpressionAttributeNames: JSON.parse(query.names) } : {}), ...(query.values ? { ExpressionAttributeValues: JSON.parse(query.values) } : {}) }
      : {};
    if (way.pk.some((_, at) => !query.pk[at])) return { operation: "Scan", body: { ...base, ...filter } };
    const names = { ...filter.ExpressionAttributeNames };
    const values = { ...filter.ExpressionAttributeValues };
    const conditions = way.pk.map((name, at) => {
      names[`#k${at}`] = name;
      values[`:k${at}`] = { [this.typeOfKey(name)]: query.pk[at] };
      return `#k${at} = :k${at}`;
    });
    if (query.op && way.sk.length > 0) {
      const type = this.typeOfKey(way.sk[0]);
      names["#k_s"] = way.sk[0];
      values[":k_s"] = { [type]: query.sk };
      if (query.op === "BETWEEN") values[":k_t"] = { [type]: query.to };
      conditions.push(query.op === "BETWEEN" ? "#k_s BETWEEN :k_s AND :k_t" : query.op === "begins_with" ? "begins_with(#k_s, :k_s)" : `#k_s ${query.op} :k_s`);
    }
    return { operation: "Query", body: { ...base, ...filter, KeyConditionExpression: conditions.join(" AND "), ExpressionAttributeNames: names, ExpressionAttributeValues: values, ...(query.descending ? { ScanIndexForward: false } : {}) } };
  }

  async ask(more = false) {
    this.stop?.abort();
    const stop = new AbortController();
    this.stop = stop;
    this.busy = true;
    this.error = null;
    this.update();
    try {
      const { operation, body } = this.request();
      const started = performance.now();
      const page = await dynamodb(operation, { ...body, ...(operation === "Scan" ? { Limit: FIRST } : {}), ...(more ? { ExclusiveStartKey: this.next } : {}) }, { signal: stop.signal });
      if (!more) { this.items = []; this.sums = none(); this.top = 0; this.chosen = 0; }
      this.items = [...this.items, ...page.Items];
      this.next = page.LastEvaluatedKey ?? null;
      this.sums = {
        operation, requests: this.sums.requests + 1, read: this.sums.read + page.ScannedCount, returned: this.sums.returned + page.Count,
        units: this.sums.units + (page.ConsumedCapacity?.CapacityUnits ?? 0), ms: performance.now() - started,
      };
      this.order();
    } catch (error) {
      if (!stop.signal.aborted) this.error = error;
    }
    if (this.stop === stop) { this.busy = false; this.update(); }
  }

  /** Keys first, then attributes by how many items have them. */
  order() {
    const way = this.way();
    const keys = [...new Set([...this.ways[0].pk, ...this.ways[0].sk, ...way.pk, ...way.sk])];
    const counts = new Map();
    for (const item of this.items) for (const name of Object.keys(item)) counts.set(name, (counts.get(name) ?? 0) + 1);
    const rest = [...counts.keys()].filter((name) => !keys.includes(name)).sort((one, other) => counts.get(other) - counts.get(one));
    this.columns = [...keys, ...rest];
  }

  submit(event) {
    event.preventDefault();
    const url = `/${this.region}/t/${encodeURIComponent(this.table)}/items${toSearch(this.query)}`;
    if (url === location.pathname + location.search) this.ask();
    else { this.query = blank(); go(url); }
  }

  async open(item) {
    const key = this.keyOf(item);
    this.error = null;
    try {
      const read = (await dynamodb("GetItem", { TableName: this.table, Key: key, ConsistentRead: true })).Item;
      if (!read) throw new Error("The item is not there any more.");
      this.editing = { isNew: false, key, read, text: JSON.stringify(read, null, 2), faults: [], theirs: null };
    } catch (error) {
      this.error = error;
    }
    this.update();
  }

  create() {
    const item = {};
    for (const name of [...this.ways[0].pk, ...this.ways[0].sk]) item[name] = { [this.typeOfKey(name)]: "" };
    this.editing = { isNew: true, key: null, read: null, text: JSON.stringify(item, null, 2), faults: [], theirs: null };
    this.update();
  }

  keyOf(item) {
    const key = {};
    for (const name of [...this.ways[0].pk, ...this.ways[0].sk]) key[name] = item[name];
    return key;
  }

  /** Writes what changed, on condition that each changed attribute is what was read and the item is there. */
  async save() {
    const editing = this.editing;
    if (!editing) return;
    editing.faults = [];
    editing.theirs = null;
    let item;
    try {
      item = JSON.parse(editing.text);
    } catch (error) {
      editing.faults = [String(/** @type {Error} */ (error).message)];
      this.update();
      return;
    }
    const [base] = this.ways;
    const keys = [...base.pk, ...base.sk];
    try {
      if (editing.isNew) {
        await dynamodb("PutItem", { TableName: this.table, Item: item, ConditionExpression: "attribute_not_exists(#k)", ExpressionAttributeNames: { "#k": keys[0] } });
      } else if (keys.some((name) => same(item[name], editing.read[name]) === false)) {
        editing.faults = ["The key of an item does not change: create the new item, then delete this one."];
        this.update();
        return;
      } else {
        const changed = [...new Set([...Object.keys(item), ...Object.keys(editing.read)])].filter((name) => !same(own(item, name), own(editing.read, name)));
        if (changed.length === 0) { this.editing = null; this.update(); return; }
        const names = { "#k": keys[0] };
        const values = {};
        const sets = [];
        const removes = [];
        const conditions = ["attribute_exists(#k)"];
        changed.forEach((name, at) => {
          names[`#a${at}`] = name;
          if (own(item, name) === undefined) removes.push(`#a${at}`);
          else { values[`:n${at}`] = item[name]; sets.push(`#a${at} = :n${at}`); }
          if (own(editing.read, name) === undefined) conditions.push(`attribute_not_exists(#a${at})`);
          else { values[`:o${at}`] = editing.read[name]; conditions.push(`#a${at} = :o${at}`); }
        });
        await dynamodb("UpdateItem", {
          TableName: this.table, Key: editing.key, ConditionExpression: conditions.join(" AND "), ReturnValuesOnConditionCheckFailure: "ALL_OLD",
          UpdateExpression: [sets.length > 0 ? `SET ${sets.join(", ")}` : "", removes.length > 0 ? `REMOVE ${removes.join(", ")}` : ""].filter(Boolean).join(" "),
          ExpressionAttributeNames: names, ...(Object.keys(values).length > 0 ? { ExpressionAttributeValues: values } : {}),
        });
      }
      this.editing = null;
      await this.ask();
    } catch (error) {
      editing.faults = [/** @type {Error} */ (error).message];
      if (/ConditionalCheckFailed/.test(/** @type {any} */ (error).more?.__type ?? "") && !editing.isNew) {
        editing.theirs = /** @type {any} */ (error).more.Item ?? null;
        editing.gone = editing.theirs === null;
      }
      this.update();
    }
  }

  /** Saves on what is there now: theirs, but for the attributes that were changed here. */
  saveOnTheirs() {
    const editing = this.editing;
    let mine;
    try {
      mine = JSON.parse(editing.text);
    } catch (error) {
      editing.faults = [String(/** @type {Error} */ (error).message)];
      this.update();
      return;
    }
    editing.text = JSON.stringify(rebased(editing.read, editing.theirs, mine), null, 2);
    editing.read = editing.theirs;
    editing.theirs = null;
    editing.faults = [];
    this.save();
  }

  async erase() {
    const { key, read } = this.editing;
    try {
      const names = {};
      const values = {};
      const conditions = Object.keys(read).slice(0, 90).map((name, at) => {
        names[`#a${at}`] = name;
        values[`:a${at}`] = read[name];
        return `#a${at} = :a${at}`;
      });
      await dynamodb("DeleteItem", { TableName: this.table, Key: key, ConditionExpression: conditions.join(" AND "), ExpressionAttributeNames: names, ExpressionAttributeValues: values });
      this.editing = null;
      await this.ask();
    } catch (error) {
      this.editing.faults = [/** @type {Error} */ (error).message];
      this.update();
    }
  }

  update() {
    if (this.isConnected) render(this.view(), this);
  }

  view() {
    if (!this.described) return this.error
      ? html`<div class="md-error" role="alert"><p>${this.error.message}</p><button class="md-button" @click=${() => this.load()}>Retry</button></div>`
      : html`<div aria-busy="true"></div>`;
    return html`
      ${this.form()}
      ${this.error ? html`<div class="md-error" role="alert"><p>${this.error.more?.__type ? html`<b>${this.error.more.__type.split("#").at(-1)}</b> ` : nothing}${this.error.message}</p></div>` : nothing}
      ${this.strip()}
      <div class="it-body ${this.editing ? "is-editing" : ""}">${this.grid()}${this.editing ? this.editor() : nothing}</div>`;
  }

  form() {
    const { query } = this;
    const way = this.way();
    const set = (change) => { Object.assign(query, change); this.update(); };
    const isQuery = way.pk.every((_, at) => query.pk[at]);
    return html`<form class="lv-form" aria-label="What to read" @submit=${(event) => this.submit(event)}>
      <label>Of <select @change=${(event) => set({ index: event.target.value, pk: [], op: "", sk: "", to: "" })}>${this.ways.map((one) => html`<option value=${one.name} ?selected=${one.name === way.name}>${one.name || this.table}</option>`)}</select></label>
      ${way.pk.map((name, at) => html`<label>${name} <input .value=${query.pk[at] ?? ""} placeholder="any" @input=${(event) => { const pk = [...query.pk]; pk[at] = event.target.value; set({ pk }); }}></label>`)}
      ${way.sk.length > 0 && isQuery ? html`<label>${way.sk[0]} <select @change=${(event) => set({ op: event.target.value })}>${SORTS.map(([value, text]) => html`<option value=${value} ?selected=${value === query.op}>${text}</option>`)}</select></label>
        ${query.op ? html`<input aria-label="Value of ${way.sk[0]}" .value=${query.sk} @input=${(event) => set({ sk: event.target.value })}>` : nothing}
        ${query.op === "BETWEEN" ? html`<span>and</span><input aria-label="Last value of ${way.sk[0]}" .value=${query.to} @input=${(event) => set({ to: event.target.value })}>` : nothing}` : nothing}
      <details class="it-filter" ?open=${!!query.filter}><summary>Filter</summary><div class="mf-line">
        <label>Expression <input .value=${query.filter} placeholder="total > :t" @input=${(event) => { query.filter = event.target.value; }}></label>
        <label>Names <input .value=${query.names} placeholder='{"#n": "name"}' @input=${(event) => { query.names = event.target.value; }}></label>
        <label>Values <input .value=${query.values} placeholder='{":t": {"N": "5"}}' @input=${(event) => { query.values = event.target.value; }}></label></div></details>
      ${isQuery ? html`<label class="md-check"><input type="checkbox" .checked=${query.descending} @change=${(event) => set({ descending: event.target.checked })}> descending</label>` : nothing}
      <button class="md-button is-main" ?disabled=${this.busy}>${isQuery ? "Query" : "Scan: reads everything"}</button>
      ${this.readOnly ? nothing : html`<button class="md-button lv-by" type="button" @click=${() => this.create()}>New item</button>`}
    </form>`;
  }

  strip() {
    const { sums } = this;
    const thrown = sums.read > sums.returned ? Math.round((100 * (sums.read - sums.returned)) / sums.read) : 0;
    return html`<div class="kc-strip it-strip" role="status"><div class="kc-run">
      ${sums.requests > 0 ? html`<span>${sums.requests === 1 ? "1 request" : `${sums.requests} requests`}</span><span>read <b>${sums.read.toLocaleString("en")}</b></span><span>returned <b>${sums.returned.toLocaleString("en")}</b></span>
        ${thrown > 0 ? html`<span class=${thrown >= 50 ? "vd-bad" : ""}>${thrown} % thrown away${thrown >= 50 ? " (L003)" : ""}</span>` : nothing}
        <span><b>${sums.units}</b> RCU</span><span class="dim">${sums.ms.toFixed(1)} ms</span>` : nothing}</div>
      ${this.next ? html`<button class="md-button" ?disabled=${this.busy} @click=${() => this.ask(true)}>Next page</button>` : sums.requests > 0 ? html`<span class="dim">that is all</span>` : nothing}
    </div>`;
  }

  grid() {
    if (this.items.length === 0) return html`<div class="md-empty"><p>${this.busy ? "" : this.next ? "This page has no item that passes, but there is more to read." : this.sums.read > 0 ? `${this.sums.read} read, none passed the filter.` : "No items."}</p></div>`;
    const columns = this.columns.slice(0, COLUMNS);
    const from = Math.max(0, Math.floor(this.top / ROW) - OVER);
    const to = Math.min(this.items.length, from + 60 - OVER);
    const shown = this.items.slice(from, to);
    const keys = new Set([...this.way().pk, ...this.way().sk]);
    return html`<div class="it-grid" tabindex="0" role="grid" aria-label="Items" aria-rowcount=${this.items.length + 1} aria-colcount=${columns.length} aria-activedescendant=${`it-row-${this.chosen}`}
      @scroll=${(event) => { this.top = event.target.scrollTop; this.update(); }} @keydown=${(event) => this.keys(event)}>
      <div class="it-head" role="row" aria-rowindex="1">${columns.map((name) => html`<span role="columnheader" class=${classMap({ "it-cell": true, "is-key": keys.has(name) })}>${visible(name)}</span>`)}${this.columns.length > COLUMNS ? html`<span role="columnheader" class="it-more">+${this.columns.length - COLUMNS}</span>` : nothing}</div>
      ${gap(from)}
      ${repeat(shown, (_, at) => from + at, (item, at) => html`<div id=${`it-row-${from + at}`} class=${classMap({ "it-row": true, "is-chosen": from + at === this.chosen })} role="row" aria-rowindex=${from + at + 2} @click=${() => { this.chosen = from + at; this.update(); }} @dblclick=${() => this.open(item)}>
        ${columns.map((name, column) => html`<span role="gridcell" class=${classMap({ "it-cell": true, "is-key": keys.has(name), "is-number": typeOf(own(item, name)) === "N" })}>${own(item, name) === undefined ? nothing
          : column === 0 ? html`<button class="md-link it-open" tabindex="-1" @click=${() => this.open(item)}>${visible(keyText(item[name])) || "(empty)"}</button>` : shortText(item[name])}</span>`)}</div>`)}
      ${gap(this.items.length - to)}
    </div>`;
  }

  keys(event) {
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20, Home: -this.items.length, End: this.items.length };
    const step = steps[event.key];
    if (step !== undefined) {
      event.preventDefault();
      this.chosen = Math.min(this.items.length - 1, Math.max(0, this.chosen + step));
      const grid = event.currentTarget;
      const at = this.chosen * ROW;
      if (at < grid.scrollTop) grid.scrollTop = at;
      else if (at + 2 * ROW + 8 > grid.scrollTop + grid.clientHeight) grid.scrollTop = at + 2 * ROW + 8 - grid.clientHeight;
      this.update();
    } else if (event.key === "Enter") this.open(this.items[this.chosen]);
  }

  editor() {
    const editing = this.editing;
    let bytes = "";
    try { bytes = sizeText(itemSize(JSON.parse(editing.text))); } catch { bytes = ""; }
    return html`<section class="it-editor" aria-label=${editing.isNew ? "New item" : "Item"}>
      <div class="kc-chosen-head"><strong>${editing.isNew ? "New item" : Object.values(editing.key).map((value) => visible(keyText(value))).join(" / ")}</strong><span class="dim">DynamoDB JSON ${bytes}</span>
        <button class="kc-tool kc-close" aria-label="Close the item" @click=${() => { this.editing = null; this.update(); }}>✕</button></div>
      ${editing.faults.length > 0 ? html`<div class="md-error" role="alert">${editing.faults.map((fault) => html`<p>${fault}</p>`)}
        ${editing.gone ? html`<p>Another client deleted the item meanwhile. Nothing was written.</p>` : nothing}
        ${editing.theirs ? html`<p>Another client changed it meanwhile; nothing was written.</p>
          <table class="md-table"><thead><tr><th scope="col">attribute</th><th scope="col">you read</th><th scope="col">now there</th></tr></thead><tbody>${Object.keys({ ...editing.theirs, ...editing.read }).filter((name) => !same(editing.theirs[name], editing.read[name])).map((name) => html`<tr><th scope="row">${visible(name)}</th><td>${editing.read[name] ? shortText(editing.read[name]) : "—"}</td><td>${editing.theirs[name] ? shortText(editing.theirs[name]) : "—"}</td></tr>`)}</tbody></table>
          <button class="md-button" @click=${() => this.saveOnTheirs()}>Save mine on what is there now</button>
          <button class="md-button" @click=${() => { const theirs = editing.theirs; this.editing = { ...editing, read: theirs, text: JSON.stringify(theirs, null, 2), theirs: null, faults: [] }; this.update(); }}>Take theirs</button>` : nothing}</div>` : nothing}
      <kw-editor .language=${"json"} .label=${"Item as DynamoDB JSON"} .readonly=${this.readOnly} .value=${editing.text} @change=${(event) => { editing.text = event.detail.value; this.update(); }} @save=${() => this.save()}></kw-editor>
      ${this.readOnly ? nothing : html`<p class="mf-line it-actions"><button class="md-button is-main" @click=${() => this.save()}>Save</button>${editing.isNew ? nothing : html`<button class="md-button" @click=${() => this.erase()}>Delete the item</button>`}</p>`}
    </section>`;
  }
}

/** Rows that do not exist, as room. */
function gap(rows) {
  if (rows <= 0) return nothing;
  const made = document.createElement("div");
  made.setAttribute("role", "presentation");
  made.style.height = `${rows * ROW}px`;
  return made;
}

/** An attribute of an item by its name; never a member that every object has. */
const own = (item, name) => (Object.hasOwn(item, name) ? item[name] : undefined);

/** What is there now, with the attributes that differ between what was read and mine as they are in mine. */
function rebased(read, theirs, mine) {
  const merged = new Map(Object.entries(theirs));
  for (const name of new Set([...Object.keys(read), ...Object.keys(mine)])) {
    if (same(own(mine, name), own(read, name))) continue;
    if (Object.hasOwn(mine, name)) merged.set(name, mine[name]);
    else merged.delete(name);
  }
  return Object.fromEntries(merged);
}

/** Whether two typed values are written alike; the order of members does not count. */
function same(one, other) {
  if (one === undefined || other === undefined) return one === other;
  const sorted = (value) => (Array.isArray(value) ? value.map(sorted) : value && typeof value === "object"
    ? Object.fromEntries(Object.keys(value).sort().map((name) => [name, sorted(value[name])])) : value);
  return JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));
}

const none = () => ({ operation: "", requests: 0, read: 0, returned: 0, units: 0, ms: 0 });
const blank = () => ({ index: "", pk: /** @type {string[]} */ ([]), op: "", sk: "", to: "", descending: false, filter: "", names: "", values: "" });

function fromSearch(search) {
  const query = blank();
  query.index = search.get("index") ?? "";
  query.pk = search.getAll("pk");
  query.op = SORTS.some(([op]) => op === search.get("op")) ? search.get("op") ?? "" : "";
  query.sk = search.get("sk") ?? "";
  query.to = search.get("to") ?? "";
  query.descending = search.get("order") === "descending";
  query.filter = search.get("filter") ?? "";
  query.names = search.get("names") ?? "";
  query.values = search.get("values") ?? "";
  return query;
}

function toSearch(query) {
  const search = new URLSearchParams();
  if (query.index) search.set("index", query.index);
  if (query.pk.some(Boolean)) for (const one of query.pk) search.append("pk", one ?? "");
  if (query.op) { search.set("op", query.op); search.set("sk", query.sk); if (query.op === "BETWEEN") search.set("to", query.to); }
  if (query.descending) search.set("order", "descending");
  for (const name of ["filter", "names", "values"]) if (query[name]) search.set(name, query[name]);
  return search.size > 0 ? `?${search}` : "";
}

if (!customElements.get("kw-items")) customElements.define("kw-items", KwItems);
