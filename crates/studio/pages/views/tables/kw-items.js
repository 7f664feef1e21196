// <kw-items>: asks a table or an index, and shows what the answer cost. Opening sends one Query page or one Scan of
// 50 items. Edits of cells and items are staged, and written under conditions (kw-item, kw-staged).

import { html, nothing, render } from "../../vendor/lit-html/lit-html.js";
import { classMap } from "../../vendor/lit-html/directives/class-map.js";
import { compareDecimals, waysOf } from "../collections/live.js";
import { keyText, shortText, typeOf, visible } from "../collections/typed.js";
import { call, context, dynamodb, go, here } from "../model/api.js";
import { expressionFields, filterRows } from "../collections/filter.js";
import { count } from "../model/words.js";
import { SORTS, blank, fromSearch, limitOf, requestOf, sortsOffered, textOf, toSearch } from "./ask.js";
import { copyMenu } from "./copy.js";
import { keepLayout, moved, ordered, readLayout, resized, stepped, widthOf } from "./layout.js";
import "./kw-item.js";
import "./kw-staged.js";
import { note, queriesList, words } from "./queries.js";
import { Units, keyOf, own, refusedBy, requestOf as writeOf, same, writesOf } from "./save.js";
import * as staged from "./staged.js";

const FIRST = 50;
const ROW = 28;
const OVER = 8;
const COLUMNS = 14;
const COLUMNS_LISTED = 200;
/** Keys of a table: so many columns stay while the grid moves sideways. */
const FIXED = 2;
/** Rows that exist at a time. */
const ROWS_MAX = 48;
/** The window of rows moves by so many at a time. */
const STRIDE = 4;
/** Rows that are kept; then the oldest go. */
const KEPT_MAX = 100_000;
/** "Load 100 more" ends at so many found, and before so many bytes are read. */
const FOUND_MAX = 100;
const LOAD_BYTES_MAX = 10 << 20;
/** The service's limit of one page. */
const PAGE_BYTES_MAX = 1 << 20;
/** So long what was deleted can be brought back. */
const BACK_MS = 10_000;
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;

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
    this.error = /** @type {any} */ (null);
    this.busy = false;
    this.reading = false;
    this.readOnly = false;
    this.endpoint = "";
    this.top = 0;
    this.chosen = 0;
    this.column = 0;
    this.dropped = 0;
    /** What stands below the form: "", "staged", "bulk", "export" or "import". */ this.panel = "";
    this.find = "";
    this.sort = { name: "", down: false };
    /** The name under which the query is to be saved. */ this.saving = "";
    /** @type {Set<string>} */ this.openMenus = new Set();
    this.layout = readLayout("");
    this.selected = /** @type {Set<any>} */ (new Set());
    /** The cell that is edited. */ this.cell = /** @type {any} */ (null);
    this.rowsOf = /** @type {any} */ ({ key: "", items: null, rows: [] });
    this.stop = /** @type {AbortController|null} */ (null);
    /** What the rows answer, and when they were read. */ this.answered = { search: "", at: 0 };
    /** What the last save wrote, until something else is asked. */ this.said = "";
    /** What was deleted and can be brought back. */ this.gone = /** @type {any[]} */ ([]);
    this.forgetting = 0;
    /** How "Load 100 more" ended before it had so many. */ this.ended = "";
    /** The rows that exist: their elements, what they show, and the first one's index. */
    this.made = { room: /** @type {Element|null} */ (null), from: 0, list: /** @type {any[]} */ ([]) };
    /** Whether the last request had no answer. */ this.failed = false;
    /** The first row that exists. */ this.from = 0;
    /** Why the visitor may not scan what the form names; empty if it may, or if nobody asked yet. */ this.denied = "";
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
      this.forget();
      this.panel = query.get("show") === "staged" ? "staged" : "";
      this.items = [];
      this.layout = readLayout(table);
      this.load();
    } else {
      if (query.get("show") === "staged") this.panel = "staged";
      if (asked && this.described) this.first();
      else this.update();
    }
  }

  connectedCallback() {
    this.classList.add("md", "it");
    this.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && event.shiftKey && (event.ctrlKey || event.metaKey)) { event.preventDefault(); this.panel = "staged"; this.update(); }
    });
    window.addEventListener("kw-staged", this.changed);
    document.addEventListener("pointerdown", this.outside);
    document.addEventListener("keydown", this.outside);
    call("state", {}).then((state) => { this.readOnly = state.readOnly; this.endpoint = state.endpoint; this.update(); }, () => {});
    this.update();
  }

  disconnectedCallback() {
    window.removeEventListener("kw-staged", this.changed);
    document.removeEventListener("pointerdown", this.outside);
    document.removeEventListener("keydown", this.outside);
    this.stop?.abort();
    this.forget();
  }

  changed = () => this.update();

  /** Offers for a while to bring back what was deleted. */
  offer(items) {
    if (items.length === 0) return;
    clearTimeout(this.forgetting);
    this.gone = [...this.gone, ...items];
    this.forgetting = window.setTimeout(() => this.expire(), BACK_MS);
    this.update();
  }

  /** The offer ends, but not under the pointer or the focus. */
  expire() {
    if (this.querySelector(".it-said:hover, .it-said:focus-within")) { this.forgetting = window.setTimeout(() => this.expire(), 1000); return; }
    this.forget();
    this.said = "";
    this.update();
  }

  forget() {
    clearTimeout(this.forgetting);
    this.gone = [];
  }

  /** Puts deleted items as they were, each only where no item has its key now. */
  async bringBack() {
    const left = this.gone;
    this.forget();
    const units = new Units();
    let [back, taken] = [0, 0];
    try {
      while (left.length > 0) {
        const { operation, body } = writeOf(writesOf(this.table, this.keys(), { before: null, after: left[0] }));
        await dynamodb(operation, body).then((answer) => { units.add(answer); back += 1; }, (error) => { if (!refusedBy(error)) throw error; taken += 1; });
        left.shift();
      }
    } catch (error) {
      // What is still gone can be brought back a little longer.
      this.offer(left);
      this.error = error;
      this.update();
      return;
    }
    this.said = `${count(back, "item")} brought back: ${units}.${taken > 0 ? ` Not ${count(taken, "item")}: another one has its key now.` : ""}`;
    this.ask();
  }

  /** Menus close when something else is pressed, or Escape in them. */
  outside = (event) => {
    // What is asked before something goes is answered in a dialog, not outside.
    if (event.target.closest?.("dialog")) return;
    for (const menu of this.querySelectorAll("details.it-columns[open]")) {
      const within = menu.contains(/** @type {Node} */ (event.target));
      if (event.type === "pointerdown" ? !within : within && event.key === "Escape") {
        menu.removeAttribute("open");
        if (event.type === "keydown") /** @type {HTMLElement|null} */ (menu.querySelector("summary"))?.focus();
      }
    }
  };

  async load() {
    this.error = null;
    this.update();
    try {
      this.described = (await dynamodb("DescribeTable", { TableName: this.table })).Table;
      this.ways = waysOf(this.described);
      await this.first();
    } catch (error) {
      this.error = error;
      this.update();
    }
  }

  way() { return this.ways.find((one) => one.name === this.query.index) ?? this.ways[0]; }
  typeOfKey = (name) => this.described.AttributeDefinitions.find((one) => one.AttributeName === name)?.AttributeType ?? "S";
  keys() { return [...this.ways[0].pk, ...this.ways[0].sk]; }
  keyTypes() { return this.keys().map((name) => ({ name, type: this.typeOfKey(name) })); }
  request() { return requestOf(this.table, this.way(), this.query, this.typeOfKey); }
  editor() { return /** @type {any} */ (this.querySelector("kw-item")); }

  /** One page, and of its items at most so many. @param {{more?: boolean, limit?: any, most?: number, signal: AbortSignal}} how */
  async page({ more = false, limit, most = Infinity, signal }) {
    const { operation, body } = this.request();
    const started = performance.now();
    const page = await dynamodb(operation, { ...body, ...limit, ...(more ? { ExclusiveStartKey: this.next } : {}) }, { signal });
    if (!more) { this.answered = { search: toSearch(this.query), at: Date.now() }; this.items = []; this.sums = none(); this.top = 0; this.chosen = 0; this.dropped = 0; this.selected = new Set(); this.cell = null; }
    const isCut = page.Items.length > most;
    const items = isCut ? page.Items.slice(0, most) : page.Items;
    this.items = this.items.concat(items);
    if (this.items.length > KEPT_MAX) { this.dropped += this.items.length - KEPT_MAX; this.items = this.items.slice(-KEPT_MAX); }
    // A page that has more than is wanted ends at its last item that is: any item's key is a place to read on from.
    this.next = isCut ? keyOf([...new Set([...this.keys(), ...this.way().pk, ...this.way().sk])], items[items.length - 1]) : page.LastEvaluatedKey ?? null;
    const { sums } = this;
    const used = page.ConsumedCapacity;
    const parts = new Map(sums.parts);
    const add = (name, units) => { if (units !== undefined) parts.set(name, (parts.get(name) ?? 0) + units); };
    add("the table", used?.Table?.CapacityUnits);
    for (const kind of ["GlobalSecondaryIndexes", "LocalSecondaryIndexes"]) for (const [name, one] of Object.entries(used?.[kind] ?? {})) add(name, one.CapacityUnits);
    this.sums = {
      operation, requests: sums.requests + 1, read: sums.read + page.ScannedCount, returned: sums.returned + items.length,
      units: sums.units + (used?.CapacityUnits ?? 0), parts, ms: sums.ms + performance.now() - started, last: page.Count,
    };
    this.order();
    return page;
  }

  async begin(run) {
    this.stop?.abort();
    const stop = new AbortController();
    this.stop = stop;
    this.busy = true;
    this.error = null;
    this.failed = false;
    this.ended = "";
    this.update();
    try {
      await run(stop.signal);
    } catch (error) {
      if (!stop.signal.aborted) { this.error = error; this.failed = true; }
    }
    if (this.stop === stop) { this.busy = false; this.reading = false; this.update(); }
  }

  /** What an address asks. One without a partition key is a Scan: who may not scan gets the form alone. */
  async first() {
    this.denied = "";
    if (context.token && this.request().operation === "Scan") {
      const asked = this.hrefOf(toSearch(this.query));
      const denied = await call("items/scan", { table: this.table, index: this.way().name }).then(() => "", (error) => (error.more?.explanation ? error.message : ""));
      if (asked !== this.hrefOf(toSearch(this.query))) return undefined;
      this.denied = denied;
    }
    if (this.denied === "") return this.ask();
    this.stop?.abort();
    this.items = [];
    this.next = null;
    this.sums = none();
    this.busy = false;
    this.update();
    return undefined;
  }

  ask(more = false) {
    return this.begin((signal) => this.page({ more, signal, limit: { ...(this.request().operation === "Scan" ? { Limit: FIRST } : {}), ...limitOf(this.query) } }));
  }

  /** Pages until so many are found, the next one could pass the bound of bytes, or it is stopped. */
  loadMore() {
    return this.begin(async (signal) => {
      this.reading = true;
      let found = 0;
      let bytes = 0;
      const isFiltered = !!this.request().body.FilterExpression;
      while (this.next && found < FOUND_MAX && bytes <= LOAD_BYTES_MAX - PAGE_BYTES_MAX && !signal.aborted) {
        const most = FOUND_MAX - found;
        const { Limit = Infinity } = limitOf(this.query);
        // Without a filter what is read is what is found.
        const limit = isFiltered ? Limit : Math.min(Limit, most);
        const before = this.items.length + this.dropped;
        const page = await this.page({ more: true, signal, most, limit: limit < Infinity ? { Limit: limit } : {} });
        found += this.items.length + this.dropped - before;
        // Half a unit for each 4 KB read; one for a strong read.
        bytes += (page.ConsumedCapacity?.CapacityUnits ?? 1) * (this.query.strong ? 4096 : 8192);
        this.update();
      }
      if (this.next && found < FOUND_MAX && !signal.aborted) this.ended = `${count(found, "item")} found, and the next page could pass ${LOAD_BYTES_MAX >> 20} MB.`;
    });
  }

  halt() {
    this.stop?.abort();
    this.stop = null;
    this.busy = this.reading = false;
    this.update();
  }

  /** Keys first, then attributes by how many items have them. */
  order() {
    const way = this.way();
    const keys = [...new Set([...this.keys(), ...way.pk, ...way.sk])];
    const counts = new Map();
    for (const item of this.items) for (const name of Object.keys(item)) counts.set(name, (counts.get(name) ?? 0) + 1);
    const rest = [...counts.keys()].filter((name) => !keys.includes(name)).sort((one, other) => counts.get(other) - counts.get(one));
    this.columns = [...keys, ...rest];
  }

  /** The address of an item in all regions. */
  everywhere = (item) => `/${this.region}/t/${encodeURIComponent(this.table)}?${new URLSearchParams([["tab", "regions"], ...this.keys().map((name) => ["key", keyText(item[name] ?? { S: "" })])])}`;

  hrefOf = (search) => `/${this.region}/t/${encodeURIComponent(this.table)}/items${search}`;

  submit(event) {
    event.preventDefault();
    const url = this.hrefOf(toSearch(this.query));
    note(this.table, toSearch(this.query));
    this.said = "";
    if (url === here()) this.ask();
    else { this.query = blank(); go(url); }
  }

  async open(item) {
    if (!item || !this.editor()?.mayClose(() => this.open(item))) return;
    this.error = null;
    this.said = "";
    try {
      const waits = staged.find(this.table, this.keys(), item);
      const read = (await dynamodb("GetItem", { TableName: this.table, Key: keyOf(this.keys(), item), ConsistentRead: true })).Item;
      if (!read && !waits) throw new Error("The item is not there any more.");
      this.editor().edit(waits?.before && waits.after ? { read: waits.before, item: waits.after } : { read, item: read });
    } catch (error) {
      this.error = error;
    }
    this.update();
  }

  create() {
    if (!this.editor()?.mayClose(() => this.create())) return;
    const item = Object.fromEntries(this.keyTypes().map(({ name, type }) => [name, { [type]: "" }]));
    this.editor().edit({ read: null, item });
    this.update();
  }

  show(panel) {
    this.panel = this.panel === panel ? "" : panel;
    this.update();
  }

  /** The selected items as deletions; an index that lacks attributes is no base for one, so these are read. */
  async stageDeletes() {
    try {
      const changes = [];
      for (const item of this.selected) {
        const whole = this.way().whole ? item : (await dynamodb("GetItem", { TableName: this.table, Key: keyOf(this.keys(), item), ConsistentRead: true })).Item;
        if (whole) changes.push({ before: whole, after: null });
      }
      staged.stageAll(this.table, this.keys(), changes);
      this.said = "";
      this.selected = new Set();
      this.panel = "staged";
    } catch (error) {
      this.error = error;
    }
    this.update();
  }

  editCell(item, name) {
    const value = own(item, name);
    if (this.readOnly || this.keys().includes(name) || !["S", "N", "BOOL"].includes(typeOf(value)) || /[\r\n]/.test(keyText(value))) { this.open(item); return; }
    this.cell = { item, name, text: keyText(value), type: typeOf(value), fault: "" };
    // What an earlier save said is not about this edit. It goes now: the grid must not move while the edit ends.
    this.said = "";
    this.update();
    const input = /** @type {HTMLInputElement|null} */ (this.querySelector(".it-input"));
    input?.focus();
    input?.select();
  }

  endCell(take) {
    const { cell } = this;
    if (!cell) return;
    if (take) {
      if (cell.type === "N" && !NUMBER.test(cell.text)) { cell.fault = "This is no number."; this.update(); return; }
      if (cell.type === "BOOL" && !["true", "false"].includes(cell.text)) { cell.fault = "Write true or false."; this.update(); return; }
      const waits = staged.find(this.table, this.keys(), cell.item);
      const value = cell.type === "BOOL" ? { BOOL: cell.text === "true" } : { [cell.type]: cell.text };
      const after = Object.fromEntries([...Object.entries(waits?.after ?? cell.item).filter(([name]) => name !== cell.name), [cell.name, value]]);
      try {
        staged.stage(this.table, this.keys(), waits?.before ?? cell.item, after);
      } catch (error) {
        this.error = error;
      }
    }
    this.cell = null;
    this.update();
    /** @type {HTMLElement|null} */ (this.querySelector(".it-grid"))?.focus();
  }

  /** Whether the rows are those of an earlier request than the one that failed. */
  get isOld() { return this.failed && this.items.length > 0; }

  update() {
    if (!this.isConnected) return;
    render(this.view(), this);
    if (!this.described) return;
    this.draw();
    if (this.items.length > 0) this.measure(this.shownColumns());
  }

  /** The grid alone: it is drawn by itself when it is scrolled. */
  draw() {
    const room = /** @type {HTMLElement|null} */ (this.querySelector(".it-left"));
    if (!room) return;
    render(this.grid(), room);
    const rows = room.querySelector(".it-rows");
    if (rows) this.drawRows(rows);
  }

  /** The first row that exists while the grid stands here. A short way keeps the rows that there are. */
  firstRow() {
    const first = Math.floor(this.top / ROW) - OVER;
    return Math.max(0, Math.min(first - (first % STRIDE), this.rows().length - ROWS_MAX));
  }

  scrolled(top) {
    this.top = top;
    if (this.firstRow() !== this.from) this.draw();
  }

  view() {
    if (!this.described) return this.error
      ? html`<div class="md-error" role="alert"><p>${this.error.message}</p><button class="md-button" @click=${() => this.load()}>Retry</button></div>`
      : html`<div aria-busy="true"></div>`;
    return html`
      ${this.form()}
      ${this.error ? html`<div class="md-error" role="alert"><p>${this.error.more?.__type ? html`<b>${this.error.more.__type.split("#").at(-1)}</b> ` : nothing}${this.error.message}</p></div>` : nothing}
      ${this.said || this.gone.length > 0 ? html`<div class="it-said" role="status"><p>✓ ${this.said || `${count(this.gone.length, "item")} deleted.`}</p>
        ${this.gone.length > 0 ? html`<button class="md-button" @click=${() => this.bringBack()}>Bring ${this.gone.length === 1 ? "it" : "them"} back</button>` : nothing}
        <button class="md-close" aria-label="Close the message" @click=${() => { this.forget(); this.said = ""; this.update(); }}>✕</button></div>` : nothing}
      ${this.isOld ? html`<p class="it-old" role="status">The request was not answered. The rows below are those of <code>${words(this.answered.search)}</code>, read at ${new Date(this.answered.at).toLocaleTimeString()}.</p>` : nothing}
      ${this.strip()}${this.tools()}${this.below()}
      <div class=${`it-body${this.isOld ? " is-old" : ""}`}><div class="it-left"></div>
        <kw-item .everywhere=${this.described.Replicas ? this.everywhere : null} .keys=${this.keys()} .ways=${this.ways} .table=${this.table} .readOnly=${this.readOnly} @saved=${(event) => { this.said = event.detail.text; this.offer(event.detail.gone); if (event.detail.wrote) this.ask(); else this.update(); }} @staged=${() => { this.said = ""; this.update(); }} @there=${(event) => this.open(event.detail)} @closed=${() => this.update()}></kw-item></div>`;
  }

  form() {
    const { query } = this;
    const way = this.way();
    const set = (change) => { Object.assign(query, change); this.update(); };
    const isQuery = way.pk.every((_, at) => query.pk[at]);
    const at = (list, place, value) => { const next = [...list]; next[place] = value; return Array.from(next, (one) => one ?? ""); };
    const sorts = way.sk.length > 0 && isQuery ? sortsOffered(way, query) : [];
    return html`<form class="lv-form" aria-label="What to read" @input=${() => { if (this.error) { this.error = null; this.update(); } }} @submit=${(event) => this.submit(event)} @keydown=${(event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.submit(event); }}>
      <label>Table or index <select @change=${(event) => set({ index: event.target.value, pk: [], ops: [], sks: [], to: "", strong: false })}>${this.ways.map((one) => html`<option value=${one.name} ?selected=${one.name === way.name}>${one.name || this.table}</option>`)}</select></label>
      ${way.pk.map((name, place) => html`<label>${name} <input .value=${query.pk[place] ?? ""} placeholder="any" @input=${(event) => set({ pk: at(query.pk, place, event.target.value) })}></label>`)}
      ${sorts.map((name, place) => html`<label>${name} <select @change=${(event) => set({ ops: at(query.ops, place, event.target.value).slice(0, place + 1), sks: query.sks.slice(0, place + 1) })}>${SORTS.map(([value, text]) => html`<option value=${value} ?selected=${value === (query.ops[place] ?? "")}>${text}</option>`)}</select></label>
        ${query.ops[place] ? html`<input aria-label="Value of ${name}" .value=${query.sks[place] ?? ""} @input=${(event) => set({ sks: at(query.sks, place, event.target.value) })}>` : nothing}
        ${query.ops[place] === "BETWEEN" ? html`<span>and</span><input aria-label="Last value of ${name}" .value=${query.to} @input=${(event) => set({ to: event.target.value })}>` : nothing}`)}
      ${filterRows(query.where, (where) => set({ where }))}
      ${expressionFields(query)}
      ${isQuery ? html`<label class="md-check"><input type="checkbox" .checked=${query.descending} @change=${(event) => set({ descending: event.target.checked })}> descending</label>` : nothing}
      ${way.kind === "global" ? nothing : html`<label class="md-check"><input type="checkbox" .checked=${query.strong} @change=${(event) => set({ strong: event.target.checked })}> strongly consistent</label>`}
      <label>limit <input class="it-limit" inputmode="numeric" pattern="[1-9][0-9]{0,6}" .value=${query.limit} placeholder=${isQuery ? "none" : String(FIRST)} @input=${(event) => { query.limit = event.target.value; }}></label>
      <button class="md-button is-main" ?disabled=${this.busy}>${isQuery ? "Query" : "Scan: reads everything"}</button>
      ${this.endpoint ? copyMenu(() => ({ operation: this.request().operation, body: { ...this.request().body, ...limitOf(query), ...(isQuery || query.limit ? {} : { Limit: FIRST }) }, endpoint: this.endpoint, region: context.region ?? this.region })) : nothing}
    </form>`;
  }

  strip() {
    const { sums } = this;
    const thrown = sums.read > sums.returned ? Math.round((100 * (sums.read - sums.returned)) / sums.read) : 0;
    const parts = [...sums.parts].filter(([, units]) => units > 0);
    return html`<div class="kc-strip it-strip" role="status"><div class="kc-run">
      ${sums.requests > 0 ? html`<span>${sums.requests === 1 ? "1 request" : `${sums.requests} requests`}</span><span>read <b>${sums.read.toLocaleString("en")}</b></span><span>returned <b>${sums.returned.toLocaleString("en")}</b></span>
        ${thrown > 0 ? html`<span class=${thrown >= 50 ? "vd-bad" : ""}>${thrown} % thrown away${thrown >= 50 ? " (L003)" : ""}</span>` : nothing}
        <span><b>${sums.units}</b> RCU${parts.length === 1 && parts[0][0] === "the table" ? nothing : html` <span class="dim">${parts.map(([name, units]) => `${units} on ${name}`).join(", ")}</span>`}</span><span class="dim">${sums.ms.toFixed(1)} ms</span>` : nothing}</div>
      ${this.busy && sums.requests > 0 ? html`<button class="md-button" @click=${() => this.halt()}>Stop</button>` : this.next
        ? html`<button class="md-button" @click=${() => this.ask(true)}>Next page</button><button class="md-button" @click=${() => this.loadMore()}>Load ${FOUND_MAX} more</button><span class="dim">${this.ended || `reads at most ${LOAD_BYTES_MAX >> 20} MB`}</span>`
        : sums.requests > 0 ? html`<span class="dim">that is all</span>` : nothing}
    </div>`;
  }

  /** What is done with what is loaded. */
  tools() {
    const waiting = staged.ofTable(this.table).length;
    const rows = this.rows();
    const press = (panel, words) => html`<button class="md-button" aria-expanded=${this.panel === panel} @click=${() => this.show(panel)}>${words}</button>`;
    return html`<div class="it-tools">
      ${this.menu("Queries", () => queriesList({ table: this.table, search: toSearch(this.query), hrefOf: this.hrefOf, name: this.saving, setName: (name) => { this.saving = name; this.update(); }, update: () => this.update() }))}
      ${this.items.length > 0 ? html`<input class="it-find" type="search" aria-label="Find in what is loaded" placeholder="Find in what is loaded" .value=${this.find} @input=${(event) => { this.find = event.target.value; this.top = 0; this.chosen = 0; this.update(); }}>
        ${this.find || this.sort.name || this.dropped > 0 ? html`<span class="dim" role="status">${this.find ? `${rows.length.toLocaleString("en")} of ` : ""}${this.items.length.toLocaleString("en")} loaded${this.sort.name ? `, these sorted by ${visible(this.sort.name)}` : ""}${this.dropped > 0 ? `, ${this.dropped.toLocaleString("en")} earlier ones no longer kept` : ""}</span>` : nothing}
        ${this.menu("Columns", () => this.columnsList())}` : nothing}
      ${this.selected.size > 0 ? html`<b role="status">${this.selected.size} selected</b>${this.readOnly ? nothing : html`<button class="md-button" @click=${() => this.stageDeletes()}>Stage their deletion</button>`}` : nothing}
      <span class="md-actions">${waiting > 0 ? html`<span role="status">${waiting.toLocaleString("en")} staged, not written yet:</span> <button class="md-button it-waiting" aria-expanded=${this.panel === "staged"} @click=${() => this.show("staged")}>Commit…</button>` : nothing}
        ${this.readOnly ? nothing : html`<button class="md-button" @click=${() => this.create()}>New item</button>${press("bulk", "Change all…")}${press("import", "Import")}`}${press("export", "Export")}</span></div>`;
  }

  /** A list behind a name; it is made only while it is open, as the page is drawn with each step of scrolling. */
  menu(name, list) {
    const isOpen = this.openMenus.has(name);
    const toggled = (event) => {
      if (event.target.open === isOpen) return;
      if (event.target.open) this.openMenus.add(name);
      else this.openMenus.delete(name);
      this.update();
    };
    return html`<details class=${`it-columns ${name === "Queries" ? "qs" : ""}`} @toggle=${toggled}><summary>${name}</summary><div class=${`it-columns-list ${name === "Queries" ? "qs-list" : ""}`}>${isOpen ? list() : nothing}</div></details>`;
  }

  /** A new layout of the columns, kept for this table. */
  lay(layout) {
    this.layout = layout;
    keepLayout(this.table, layout);
    this.update();
  }

  hide(name) {
    const away = new Set(this.layout.away);
    if (!away.delete(name)) away.add(name);
    this.lay({ ...this.layout, away });
  }

  /** The columns that may be moved: all but the keys. */
  free() {
    const keys = new Set(this.keys());
    return ordered(this.columns.filter((name) => !keys.has(name)), this.layout);
  }

  move(name, to) { this.lay(moved(this.layout, this.free(), name, to)); }

  /** Moves a column by its button; the focus stays with the column. */
  shift(name, to, words) {
    this.move(name, to);
    const buttons = [...this.querySelectorAll(".it-columns-list .it-tiny:not(:disabled)")].filter((one) => one.getAttribute("aria-label")?.endsWith(`: ${visible(name)}`));
    /** @type {HTMLElement|undefined} */ (buttons.find((one) => one.getAttribute("aria-label")?.startsWith(words)) ?? buttons[0])?.focus();
  }

  columnsList() {
    const { layout } = this;
    const free = this.free().slice(0, COLUMNS_LISTED);
    const small = (words, sign, press, off = false) => html`<button type="button" class="it-tiny" aria-label=${words} title=${words} ?disabled=${off} @click=${press}>${sign}</button>`;
    const of = (name) => visible(name);
    const sizes = (name) => html`${small(`Narrower: ${of(name)}`, "−", () => this.lay(stepped(layout, name, -1)))}${small(`Wider: ${of(name)}`, "+", () => this.lay(stepped(layout, name, 1)))}`;
    const isOwn = layout.order.length + layout.widths.size + layout.away.size > 0;
    return html`<ul>
      ${this.keys().map((name) => html`<li><span class="md-check">${of(name)}</span><span class="dim">key</span>${sizes(name)}</li>`)}
      ${free.map((name, at) => html`<li><label class="md-check"><input type="checkbox" aria-label=${`Column ${of(name)}`} .checked=${!layout.away.has(name)} @change=${() => this.hide(name)}> ${of(name)}</label>
        ${small(`Move to the left: ${of(name)}`, "◂", () => this.shift(name, at - 1, "Move to the left"), at === 0)}${small(`Move to the right: ${of(name)}`, "▸", () => this.shift(name, at + 1, "Move to the right"), at === free.length - 1)}${sizes(name)}</li>`)}</ul>
      ${isOwn ? html`<button type="button" class="md-link" @click=${() => this.lay({ order: [], widths: new Map(), away: new Set() })}>As they come</button>` : nothing}`;
  }

  /** A column's edge, dragged. */
  pull(event, name) {
    event.preventDefault();
    event.stopPropagation();
    const handle = event.currentTarget;
    const [from, width] = [event.clientX, widthOf(this.layout, name)];
    handle.setPointerCapture(event.pointerId);
    const follow = (moving) => { this.layout = resized(this.layout, name, width + moving.clientX - from); this.update(); };
    const end = () => { handle.removeEventListener("pointermove", follow); keepLayout(this.table, this.layout); };
    handle.addEventListener("pointermove", follow);
    handle.addEventListener("lostpointercapture", end, { once: true });
  }

  /** Widths, and where the keys stand while the grid moves sideways. */
  measure(columns) {
    const grid = /** @type {HTMLElement|null} */ (this.querySelector(".it-grid"));
    if (!grid) return;
    const keys = this.keys();
    let left = 0;
    for (const [at, name] of columns.entries()) {
      const width = widthOf(this.layout, name);
      grid.style.setProperty(`--w${at}`, `${width}px`);
      if (at < keys.length) grid.style.setProperty(`--l${at}`, `${left}px`);
      left += width;
      if (at === Math.min(keys.length, FIXED) - 1) grid.style.setProperty("--fixed", `${left}px`);
    }
  }

  below() {
    let asked;
    try { asked = this.request(); } catch { asked = null; }
    const done = () => { this.panel = ""; this.update(); };
    const committed = (event) => { this.said = ""; this.offer(event.detail?.gone ?? []); this.ask(); };
    switch (this.panel) {
      case "staged": return html`<kw-staged .table=${this.table} .readOnly=${this.readOnly} @done=${done} @committed=${committed}></kw-staged>`;
      case "bulk": return asked ? html`<kw-bulk .table=${this.table} .keys=${this.keys()} .request=${asked} @done=${done} @committed=${committed}></kw-bulk>` : nothing;
      case "export": case "import":
        return html`<kw-transfer .mode=${this.panel} .table=${this.table} .keys=${this.keyTypes()} .asked=${asked} .loaded=${this.items} .selected=${[...this.selected]} @done=${done} @committed=${() => this.ask()}></kw-transfer>`;
      default: return nothing;
    }
  }

  /** What is loaded, as it is found and sorted. */
  rows() {
    const key = `${this.find} ${this.sort.name} ${this.sort.down}`;
    if (this.rowsOf.items === this.items && this.rowsOf.key === key) return this.rowsOf.rows;
    const words = this.find.toLowerCase();
    let rows = words ? this.items.filter((item) => textOf(item).includes(words)) : this.items;
    const { name, down } = this.sort;
    if (name) rows = [...rows].sort((one, other) => compare(own(one, name), own(other, name)) * (down ? -1 : 1));
    this.rowsOf = { items: this.items, key, rows };
    return rows;
  }

  /** The keys, which stay at the left, then the others. */
  shownColumns() { return [...this.keys(), ...this.free().filter((name) => !this.layout.away.has(name))].slice(0, COLUMNS); }

  /** Why there is no row, and the next step. */
  nothing() {
    const { sums } = this;
    if (this.denied && sums.requests === 0) return html`<div class="md-empty" role="status"><p>Not read: you may not scan ${this.query.index ? "this index" : "this table"}. Query it: write a value of ${this.way().pk.map((name) => html`<code>${visible(name)}</code> `)}above.</p><p class="dim">${visible(this.denied)}</p></div>`;
    if (this.busy || this.error || sums.requests === 0) return html`<div class="md-empty" aria-busy=${this.busy}></div>`;
    if (this.next) return html`<div class="md-empty"><p>This page has no item that passes, but there is more to read.</p></div>`;
    if (sums.read > 0) return html`<div class="md-empty"><p>${sums.read.toLocaleString("en")} read, none passed the filter.</p></div>`;
    if (sums.operation === "Query") return html`<div class="md-empty"><p>No items with this key.</p></div>`;
    return html`<div class="md-empty"><p>No items.${this.query.index ? " An index holds the items that have all attributes of its key." : ""}</p>
      ${this.readOnly ? nothing : html`<p><button class="md-button is-main" @click=${() => this.create()}>Put the first item</button> <button class="md-button" @click=${() => this.show("import")}>Import items</button></p>`}</div>`;
  }

  grid() {
    if (this.items.length === 0) return this.nothing();
    const rows = this.rows();
    const columns = this.shownColumns();
    const hidden = this.columns.length - columns.length;
    const from = this.firstRow();
    this.from = from;
    const to = Math.min(rows.length, from + ROWS_MAX);
    const keys = new Set([...this.way().pk, ...this.way().sk]);
    const base = this.keys();
    const fixed = Math.min(base.length, FIXED);
    return html`<div class="it-grid" tabindex="0" role="grid" aria-label="Items" aria-multiselectable="true" aria-rowcount=${rows.length + 1} aria-colcount=${columns.length} aria-activedescendant=${`it-cell-${this.chosen}-${this.column}`}
      @scroll=${(event) => this.scrolled(event.target.scrollTop)} @keydown=${(event) => this.pressed(event)}>
      <div class="it-head" role="row" aria-rowindex="1">${columns.map((name, at) => html`<span role="columnheader" aria-colindex=${at + 1} aria-sort=${this.sort.name === name ? (this.sort.down ? "descending" : "ascending") : "none"} class=${classMap({ "it-cell": true, [`w${at}`]: true, "is-fixed": at < fixed, "is-key": keys.has(name), "is-number": typeOf(own(rows[0] ?? {}, name)) === "N", "is-over": this.over === name })}
          @dragover=${(event) => { if (this.dragged && at >= fixed) { event.preventDefault(); if (this.over !== name) { this.over = name; this.update(); } } }}
          @drop=${(event) => { event.preventDefault(); const name_ = this.dragged; this.dragged = this.over = ""; if (name_ && name_ !== name) this.move(name_, this.free().filter((one) => one !== name_).indexOf(name) + (columns.indexOf(name_) < at ? 1 : 0)); else this.update(); }}>
        <button class="it-sort" tabindex="-1" title="Sort what is loaded" draggable=${at < fixed ? "false" : "true"} @dragstart=${(event) => { this.dragged = name; event.dataTransfer.effectAllowed = "move"; event.dataTransfer.setData("text/plain", name); }} @dragend=${() => { this.dragged = this.over = ""; this.update(); }} @click=${() => { this.sort = this.sort.name !== name ? { name, down: false } : this.sort.down ? { name: "", down: false } : { name, down: true }; this.update(); }}>${visible(name)}${this.sort.name === name ? (this.sort.down ? " ▾" : " ▴") : ""}</button><span class="it-edge" aria-hidden="true" title="Drag to change the width" @pointerdown=${(event) => this.pull(event, name)} @dblclick=${(event) => { event.stopPropagation(); const widths = new Map(this.layout.widths); widths.delete(name); this.lay({ ...this.layout, widths }); }}></span></span>`)}${hidden > 0 ? html`<span role="columnheader" class="it-more">+${hidden}</span>` : nothing}</div>
      ${gap(from)}
      <div class="it-rows" role="rowgroup" @click=${(event) => this.rowPressed(event)} @dblclick=${(event) => this.rowPressed(event)}></div>
      ${gap(rows.length - to)}
    </div>`;
  }

  /**
   * The rows of the window. Those that it left are used again for those that it reached, and a row that looks as it
   * did is not drawn: a step of scrolling changes as many rows as it passes.
   */
  drawRows(room) {
    const rows = this.rows();
    const columns = this.shownColumns();
    const keys = new Set([...this.way().pk, ...this.way().sk]);
    const changes = staged.ofTable(this.table).filter((one) => one.before);
    const waiting = new Map(changes.map((one) => [idOf(one.keys, one.before), one]));
    const base = this.keys();
    const { from } = this;
    const count = Math.min(rows.length - from, ROWS_MAX);
    const shape = JSON.stringify([columns, [...keys]]);
    if (this.made.room !== room) this.made = { room, from, list: [] };
    const { list } = this.made;
    while (list.length > count) list.pop().element.remove();
    const passed = from - this.made.from;
    if (passed > 0 && passed < list.length) {
      const left = list.splice(0, passed);
      list.push(...left);
      room.append(...left.map((one) => one.element));
    } else if (passed < 0 && -passed < list.length) {
      const left = list.splice(passed);
      list.unshift(...left);
      room.prepend(...left.map((one) => one.element));
    }
    this.made.from = from;
    while (list.length < count) {
      const element = document.createElement("div");
      element.setAttribute("role", "row");
      room.append(element);
      list.push({ element, looks: [], item: null, at: 0 });
    }
    for (const [place, one] of list.entries()) {
      const at = from + place;
      const item = rows[at];
      const waits = waiting.size > 0 ? waiting.get(idOf(base, item)) : undefined;
      const edited = this.cell?.item === item ? this.cell : null;
      const looks = [item, at, at === this.chosen ? this.column : -1, this.selected.has(item), waits, edited, edited?.fault, shape];
      if (looks.length === one.looks.length && looks.every((look, index) => look === one.looks[index])) continue;
      Object.assign(one, { looks, item, at });
      this.drawRow(one, columns, keys, waits);
    }
  }

  /** A press on a row chooses it; twice on a cell changes its value. */
  rowPressed(event) {
    const element = event.target.closest(".it-row");
    const one = this.made.list.find((other) => other.element === element);
    if (!one) return;
    if (event.type === "dblclick") {
      const name = this.shownColumns()[Number(event.target.closest("[aria-colindex]")?.getAttribute("aria-colindex")) - 1];
      if (name !== undefined && !event.target.closest("input")) this.editCell(one.item, name);
      return;
    }
    this.chosen = one.at;
    if (event.ctrlKey || event.metaKey) this.select(one.item);
    else this.update();
  }

  drawRow({ element, item, at }, columns, keys, waits) {
    const chosen = at === this.chosen;
    const fixed = Math.min(this.keys().length, FIXED);
    const isSelected = this.selected.has(item);
    element.className = `it-row${chosen ? " is-chosen" : ""}${isSelected ? " is-selected" : ""}${waits && !waits.after ? " is-gone" : ""}`;
    element.setAttribute("aria-rowindex", String(at + 2));
    element.setAttribute("aria-selected", String(isSelected));
    render(html`${columns.map((name, column) => {
      const before = own(item, name);
      const value = waits?.after ? own(waits.after, name) : before;
      const changed = !!waits?.after && !same(before, value);
      const editing = this.cell?.item === item && this.cell.name === name;
      return html`<span role="gridcell" id=${chosen && column === this.column ? `it-cell-${at}-${column}` : nothing} aria-colindex=${column + 1} class=${`it-cell w${column}${column < fixed ? " is-fixed" : ""}${keys.has(name) ? " is-key" : ""}${value && Object.hasOwn(value, "N") ? " is-number" : ""}${changed ? " is-staged" : ""}${chosen && column === this.column ? " is-at" : ""}`}>${
        editing ? this.input()
        : value === undefined ? (changed ? html`<span class="dim">removed</span>` : nothing)
        : column === 0 ? html`<button class="md-link it-open" tabindex="-1" @click=${() => this.open(item)}>${visible(keyText(value)) || "(empty)"}</button>`
        : html`${changed ? html`<span class="kc-hidden">staged: </span>` : nothing}${mark(value)}${shortText(value)}`}</span>`;
    })}`, element);
  }

  input() {
    const { cell } = this;
    return html`<input class="it-input" aria-label="New value of ${visible(cell.name)}" aria-invalid=${!!cell.fault} title=${cell.fault} .value=${cell.text} @input=${(event) => { cell.text = event.target.value; cell.fault = ""; }}
      @keydown=${(event) => { event.stopPropagation(); if (event.key === "Enter") { event.preventDefault(); this.endCell(true); } if (event.key === "Escape") this.endCell(false); }} @blur=${() => { if (this.cell === cell && !cell.fault) this.endCell(true); }}>`;
  }

  select(item) {
    if (this.selected.has(item)) this.selected.delete(item);
    else this.selected.add(item);
    this.update();
  }

  pressed(event) {
    const rows = this.rows();
    const columns = this.shownColumns();
    const item = rows[this.chosen];
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20 };
    const ctrl = event.ctrlKey || event.metaKey;
    let to = this.chosen + (steps[event.key] ?? 0);
    if (event.key === "ArrowRight") this.column = Math.min(columns.length - 1, this.column + 1);
    else if (event.key === "ArrowLeft") this.column = Math.max(0, this.column - 1);
    else if (event.key === "Home") { if (ctrl) to = 0; else this.column = 0; } else if (event.key === "End") { if (ctrl) to = rows.length - 1; else this.column = columns.length - 1; } else if (event.key === " ") this.select(item);
    else if (event.key === "a" && ctrl) this.selected = this.selected.size === rows.length ? new Set() : new Set(rows);
    else if (event.key === "Enter") { event.preventDefault(); this.open(item); return; } else if (event.key === "F2" && item && columns[this.column] !== undefined) { event.preventDefault(); this.editCell(item, columns[this.column]); return; } else if (event.key === "c" && ctrl && item && !String(getSelection())) {
      const value = own(item, columns[this.column]);
      if (value !== undefined) navigator.clipboard?.writeText(["S", "N", "B"].includes(typeOf(value)) ? keyText(value) : JSON.stringify(value)).catch(() => {});
    } else if (steps[event.key] === undefined) return;
    event.preventDefault();
    this.chosen = Math.min(rows.length - 1, Math.max(0, to));
    const grid = event.currentTarget;
    const y = this.chosen * ROW;
    if (y < grid.scrollTop) grid.scrollTop = y;
    else if (y + 2 * ROW + 8 > grid.scrollTop + grid.clientHeight) grid.scrollTop = y + 2 * ROW + 8 - grid.clientHeight;
    this.top = grid.scrollTop;
    this.update();
    this.querySelector(`#it-cell-${this.chosen}-${this.column}`)?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
}

/** Rows that do not exist, as room. */
const gap = (rows) => html`<div role="presentation" .style=${`height: ${rows * ROW}px`}></div>`;

/** What a type that looks like another is marked with. */
const MARKS = { BOOL: "?", B: "b", M: "{}", L: "[]", SS: "S…", NS: "N…", BS: "b…", NULL: "∅" };
const mark = (value) => (MARKS[typeOf(value)] ? html`<span class="it-type" aria-hidden="true">${MARKS[typeOf(value)]}</span>` : nothing);

const idOf = (keys, item) => keys.map((name) => `${typeOf(item[name])}:${keyText(item[name])}`).join("\u0000");

/** Absent last, numbers by value, all else by its text. */
function compare(one, other) {
  if (one === undefined || other === undefined) return one === other ? 0 : one === undefined ? 1 : -1;
  if (typeOf(one) === "N" && typeOf(other) === "N") return compareDecimals(one.N, other.N);
  const [a, b] = [shortText(one), shortText(other)];
  return a < b ? -1 : a > b ? 1 : 0;
}

const none = () => ({ operation: "", requests: 0, read: 0, returned: 0, units: 0, parts: /** @type {Map<string, number>} */ (new Map()), ms: 0, last: 0 });

if (!customElements.get("kw-items")) customElements.define("kw-items", KwItems);
