// <kw-transfer>: items of a table to a file and from one: DynamoDB JSON lines, plain JSON lines, CSV with types.

import { html, nothing, render } from "../../vendor/lit-html/lit-html.js";
import { save } from "../collections/exports.js";
import { keyText, sizeText, typeOf, visible } from "../collections/typed.js";
import { confirmed } from "../confirm.js";
import { dynamodb } from "../model/api.js";
import { count } from "../model/words.js";
import { forSpreadsheets, read, written } from "./lines.js";
import { keyOf, refusedBy } from "./save.js";
import { stoppable } from "./stoppable.js";

const DRY_LINES = 1000;
const FAULTS_MAX = 100;
const BATCH = 25;
const LANES = 6;
/** What one export holds in the page before it becomes a file. */
const EXPORT_ITEMS_MAX = 500_000;
const ROUNDS_MAX = 10;
const FORMS = [["dynamodb", "DynamoDB JSON lines", "jsonl"], ["kept", "plain JSON lines that keep types", "jsonl"], ["plain", "plain JSON lines for other programs", "jsonl"], ["csv", "CSV with types", "csv"], ["sheet", "CSV for spreadsheets", "csv"]];
const CLASHES = [["skip", "leave the item that is there"], ["overwrite", "overwrite it"], ["stop", "stop there"]];

export class KwTransfer extends HTMLElement {
  constructor() {
    super();
    this.mode = "export";
    this.table = "";
    /** `[{name, type}]` of the table's key. */ this.keys = /** @type {any[]} */ ([]);
    this.asked = /** @type {any} */ (null);
    this.loaded = /** @type {any[]} */ ([]);
    this.chosen = /** @type {any[]} */ ([]);
    this.form = { scope: "loaded", as: "dynamodb", from: "", clash: "skip", text: "" };
    this.file = /** @type {Blob|null} */ (null);
    this.fileName = "";
    this.dry = /** @type {any} */ (null);
    this.work = /** @type {any} */ (null);
    this.said = "";
    this.error = "";
    this.stop = /** @type {AbortController|null} */ (null);
    this.consent = /** @type {object|null} */ (null);
  }

  connectedCallback() { this.update(); }
  disconnectedCallback() { this.stop?.abort(); }

  /** The selected items: the last property that is given, and a new list each time. */
  set selected(list) {
    this.chosen = list;
    this.update();
  }

  begin(run) {
    this.said = "";
    return stoppable(this, run);
  }

  export() {
    return this.begin(async (signal) => {
      const { scope, as } = this.form;
      let items = scope === "selected" ? this.chosen : this.loaded;
      let whole = true;
      if (scope === "all") {
        items = [];
        let start = null;
        do {
          const page = await dynamodb(this.asked.operation, { ...this.asked.body, ...(start ? { ExclusiveStartKey: start } : {}) }, { signal }).catch((error) => { if (signal.aborted) return null; throw error; });
          if (!page) break;
          for (const item of page.Items) items.push(item);
          start = page.LastEvaluatedKey ?? null;
          this.said = `${items.length.toLocaleString("en")} items read…`;
          this.update();
        } while (start && !signal.aborted && items.length < EXPORT_ITEMS_MAX);
        whole = !start && !signal.aborted;
      }
      const [, , ending] = FORMS.find(([id]) => id === as) ?? FORMS[0];
      const parts = [];
      if (as === "sheet") parts.push(forSpreadsheets(this.keys, items));
      else for await (const part of written(as, this.keys, items)) parts.push(part);
      save(`${this.table}.${ending}`, "text/plain;charset=utf-8", new Blob(parts));
      this.said = `${items.length.toLocaleString("en")} items written to ${this.table}.${ending}.${whole ? "" : " It was stopped: what is written is whole, but not all."}`;
    });
  }

  blob() { return this.file ?? (this.form.text.trim() ? new Blob([this.form.text]) : null); }

  /** The form of the file: chosen, else by its name and first letter. */
  async sort(blob) {
    if (this.form.from) return this.form.from;
    if (this.fileName.endsWith(".csv")) return "csv";
    return (await blob.slice(0, 200).text()).trimStart().startsWith("{") ? null : "csv";
  }

  /** Why an item cannot be put: null if it can. */
  lacks(item) {
    for (const { name, type } of this.keys) {
      if (!Object.hasOwn(item, name)) return `the key attribute ${name} is missing`;
      if (typeOf(item[name]) !== type) return `the key attribute ${name} is not of type ${type}`;
      if (keyText(item[name]) === "") return `the key attribute ${name} is empty`;
    }
    return null;
  }

  try() {
    const blob = this.blob();
    if (!blob) return undefined;
    return this.begin(async () => {
      const dry = { items: 0, lines: 0, faults: /** @type {any[]} */ ([]), attributes: new Set() };
      for await (const { items, faults, last } of read(blob, { form: await this.sort(blob), keys: this.keys, most: DRY_LINES })) {
        dry.faults.push(...faults);
        for (const { line, item } of items) {
          const why = this.lacks(item);
          if (why) { dry.faults.push({ line, text: why }); continue; }
          dry.items += 1;
          for (const name of Object.keys(item)) dry.attributes.add(name);
        }
        dry.lines = last - 1;
        if (dry.lines >= DRY_LINES) break;
      }
      dry.faults.sort((one, other) => one.line - other.line);
      this.dry = dry;
      this.work = null;
    });
  }

  /** Starts the import; that it overwrites is confirmed before. A resume goes on with that. */
  async start() {
    const { dry, table } = this;
    if (this.form.clash === "overwrite" && !this.work) {
      this.consent = await confirmed({
        title: `Overwrite items of ${table}?`, verb: "Overwrite items",
        lost: [`What items of ${table} have now whose keys are in the ${this.file ? "file" : "text"}: ${dry.lines >= DRY_LINES ? `of its first ${DRY_LINES.toLocaleString("en")} lines ` : ""}at most ${count(dry.items, "item")}${dry.lines >= DRY_LINES ? ", and more of the rest" : ""}. It cannot be brought back.`],
      });
      if (!this.consent) return;
    }
    await this.import();
  }

  import() {
    const blob = this.blob();
    if (!blob) return undefined;
    const work = this.work ?? { put: 0, skipped: 0, faults: /** @type {any[]} */ ([]), faultsCount: 0, line: 1, bytes: 0, of: blob.size, done: false };
    this.work = work;
    return this.begin(async (signal) => {
      const note = (line, text) => { work.faultsCount += 1; if (work.faults.length < FAULTS_MAX) work.faults.push({ line, text }); };
      for await (const { items, faults, last, bytes } of read(blob, { form: await this.sort(blob), keys: this.keys, from: work.line })) {
        for (const { line, text } of faults) note(line, text);
        const good = items.filter(({ line, item }) => { const why = this.lacks(item); if (why) note(line, why); return !why; });
        if (this.form.clash === "overwrite") await this.overwrite(good, work, note, signal);
        else await this.putNew(good, work, note, signal);
        if (signal.aborted) return;
        work.line = last;
        work.bytes = bytes;
        this.update();
      }
      work.done = true;
    }).then(() => {
      if (work.put > 0) this.dispatchEvent(new CustomEvent("committed", { bubbles: true }));
    });
  }

  /** Batches in the order of the file; of several items with one key the last one stays. */
  async overwrite(items, work, note, signal) {
    let batch = [];
    const taken = new Set();
    const flush = async () => {
      let left = batch.map(({ item }) => ({ PutRequest: { Item: item } }));
      const own = batch;
      batch = [];
      taken.clear();
      try {
        for (let round = 0; left.length > 0 && round < ROUNDS_MAX; round += 1) {
          if (round > 0) await new Promise((done) => setTimeout(done, 50 * 2 ** round));
          const answer = await dynamodb("BatchWriteItem", { RequestItems: { [this.table]: left } }, { signal, consent: this.consent });
          left = answer.UnprocessedItems?.[this.table] ?? [];
        }
        if (left.length > 0) throw new Error(`${this.table} does not take more items now.`);
        work.put += own.length;
      } catch (error) {
        if (signal.aborted || !/ValidationException/.test(String(/** @type {any} */ (error).more?.__type ?? ""))) throw error;
        // One of them is refused: each by itself says which.
        for (const { line, item } of own) {
          try {
            await dynamodb("PutItem", { TableName: this.table, Item: item }, { signal, consent: this.consent });
            work.put += 1;
          } catch (single) {
            if (signal.aborted) throw single;
            note(line, /** @type {Error} */ (single).message);
          }
        }
      }
    };
    for (const one of items) {
      const key = JSON.stringify(keyOf(this.keys.map((own) => own.name), one.item));
      if (batch.length === BATCH || taken.has(key)) {
        await flush();
        if (signal.aborted) return;
        work.line = one.line;
      }
      taken.add(key);
      batch.push(one);
    }
    if (batch.length > 0) await flush();
  }

  /** One by one, only where no item has the key. What was begun is finished; a resume goes on behind it. */
  async putNew(items, work, note, signal) {
    const left = [...items];
    const stopping = this.form.clash === "stop";
    let failed = /** @type {any} */ (null);
    const lane = async () => {
      while (left.length > 0 && !signal.aborted && !failed) {
        const { line, item } = left.shift();
        try {
          await dynamodb("PutItem", { TableName: this.table, Item: item, ConditionExpression: "attribute_not_exists(#k)", ExpressionAttributeNames: { "#k": this.keys[0].name } });
          work.put += 1;
        } catch (error) {
          if (!refusedBy(error)) {
            if (!/ValidationException/.test(String(/** @type {any} */ (error).more?.__type ?? ""))) { left.unshift({ line, item }); failed = error; return; }
            note(line, /** @type {Error} */ (error).message);
          } else if (stopping) { left.unshift({ line, item }); failed = new Error(`Line ${line}: an item with this key is there already.`); return; } else work.skipped += 1;
        }
        if ((work.put + work.skipped) % 100 === 0) this.update();
      }
    };
    await Promise.all(Array.from({ length: stopping ? 1 : LANES }, lane));
    if (left.length > 0) work.line = Math.min(...left.map((one) => one.line));
    if (failed) throw failed;
  }

  update() { if (this.isConnected) render(this.view(), this); }

  view() {
    const exporting = this.mode === "export";
    return html`<section class="sg" aria-label=${exporting ? "Export" : "Import"}><header class="sg-head"><h2>${exporting ? "Export items" : "Import items"}</h2>
        <button class="kc-tool kc-close" aria-label="Close" @click=${() => this.dispatchEvent(new CustomEvent("done", { bubbles: true }))}>✕</button></header>
      ${exporting ? this.exporting() : this.importing()}
      ${this.error ? html`<p class="sg-said vd-bad" role="alert">${this.error}</p>` : nothing}</section>`;
  }

  select(name, list, label) {
    return html`<label>${label} <select ?disabled=${!!this.stop} @change=${(event) => { this.form[name] = event.target.value; this.dry = null; this.update(); }}>${list.map(([value, text]) => html`<option value=${value} ?selected=${value === this.form[name]}>${text}</option>`)}</select></label>`;
  }

  exporting() {
    const scopes = [["loaded", `the ${this.loaded.length.toLocaleString("en")} items read so far`], ...(this.chosen.length > 0 ? [["selected", `the ${this.chosen.length} selected`]] : []), ["all", `all that the ${this.asked?.operation === "Query" ? "query" : "scan"} finds`]];
    return html`<form class="lv-form" aria-label="What to export" @submit=${(event) => { event.preventDefault(); this.export(); }}>
        ${this.select("scope", scopes, "Items")}${this.select("as", FORMS, "as")}
        ${this.stop ? html`<button class="md-button" type="button" @click=${() => this.stop?.abort()}>Stop</button>` : html`<button class="md-button is-main">Export</button>`}</form>
      <p class="sg-said dim">${this.form.as === "sheet" ? "Formulas are defused with an apostrophe. This form does not come back by an import." : this.form.as === "kept" ? "What JSON has no word for, such as sets, stays typed. Import takes it back as this form." : this.form.as === "plain" ? "Sets become lists and binary values become texts: an import of it is not the same." : "Import takes it back as it is."}</p>
      <p class="sg-said" role="status">${this.said}</p>`;
  }

  importing() {
    const { dry, work } = this;
    const busy = !!this.stop;
    return html`<form class="lv-form" aria-label="What to import" @submit=${(event) => { event.preventDefault(); this.try(); }}>
        <label>File <input type="file" ?disabled=${busy} @change=${(event) => { this.file = event.target.files[0] ?? null; this.fileName = this.file ? event.target.files[0].name : ""; this.dry = this.work = null; if (this.file) this.try(); else this.update(); }}></label>
        ${this.select("from", [["", "as it looks"], ["dynamodb", "DynamoDB JSON lines"], ["kept", "plain JSON that keeps types"], ["plain", "plain JSON"], ["csv", "CSV"]], "Form")}
        ${this.select("clash", CLASHES, "If the key is there")}
        <button class="md-button" ?disabled=${busy || !this.blob()}>Dry run</button></form>
      ${this.file ? nothing : html`<label class="tf-text"><span class="dim">or paste lines</span><textarea rows="4" spellcheck="false" .value=${this.form.text} ?disabled=${busy} @input=${(event) => { this.form.text = event.target.value; this.dry = this.work = null; this.update(); }}></textarea></label>`}
      <div class="bk-body" role="status">
        ${dry ? html`<p>${dry.lines >= DRY_LINES ? `The first ${DRY_LINES.toLocaleString("en")} lines` : "The text"}: <b>${dry.items.toLocaleString("en")}</b> items with ${dry.attributes.size} ${dry.attributes.size === 1 ? "attribute" : "attributes"}${dry.faults.length > 0 ? html`, <b class="vd-bad">${dry.faults.length} faults</b>` : ", no faults"}.</p>` : nothing}
        ${dry && !work ? this.faults(dry.faults) : nothing}
        ${work ? html`<p><b>${work.put.toLocaleString("en")}</b> put${work.skipped > 0 ? html`, <b>${work.skipped.toLocaleString("en")}</b> were there` : nothing}${work.faultsCount > 0 ? html`, <b class="vd-bad">${work.faultsCount.toLocaleString("en")} faults</b>` : nothing}${work.done ? ". Done." : busy ? html` · ${sizeText(work.bytes)} of ${sizeText(work.of)}` : ` · stopped at line ${work.line}.`}</p>${this.faults(work.faults)}` : nothing}</div>
      <p class="mf-line bk-actions">${busy ? html`<button class="md-button" type="button" @click=${() => this.stop?.abort()}>Stop</button>`
        : dry && dry.items > 0 && !work?.done ? html`<button class="md-button is-main" type="button" @click=${() => this.start()}>${work ? `Resume at line ${work.line}` : "Import"}</button>` : nothing}</p>`;
  }

  faults(list) {
    return list.length === 0 ? nothing : html`<ul class="tf-faults">${list.slice(0, FAULTS_MAX).map(({ line, text }) => html`<li>line ${line}: ${visible(text)}</li>`)}</ul>`;
  }
}

if (!customElements.get("kw-transfer")) customElements.define("kw-transfer", KwTransfer);
