// <kw-tables>: the tables of this place: how they are keyed, how large they are; create one, delete one.

import { html, nothing, render } from "../../vendor/lit-html/lit-html.js";
import { repeat } from "../../vendor/lit-html/directives/repeat.js";
import { sizeText, visible } from "../collections/typed.js";
import { confirmed } from "../confirm.js";
import { count } from "../model/words.js";
import { call, dynamodb, go, tableNames } from "../model/api.js";

/** Rows beyond the window are described when they come near it. */
const ROW = 40;
const OVER = 10;
const TYPES = [["S", "text"], ["N", "number"], ["B", "binary"]];

export class KwTables extends HTMLElement {
  constructor() {
    super();
    this.region = "us-east-1";
    this.names = /** @type {string[]|null} */ (null);
    /** @type {Map<string, any>} */ this.facts = new Map();
    this.find = "";
    this.error = /** @type {any} */ (null);
    this.adding = false;
    this.form = { name: "", pk: "pk", pkType: "S", sk: "", skType: "S", json: "", by: "form" };
    this.readOnly = false;
    this.top = 0;
    this.height = 800;
    this.asking = new Set();
  }

  set route({ region }) {
    const other = region !== this.region;
    this.region = region;
    if (other) { this.facts = new Map(); this.load(); }
  }

  connectedCallback() {
    this.classList.add("mf");
    this.addEventListener("scroll", this.scrolled, { passive: true });
    window.addEventListener("kw-tables", this.changed);
    call("state", {}).then((state) => { this.readOnly = state.readOnly; this.update(); }, () => {});
    this.update();
    this.load();
  }

  disconnectedCallback() {
    this.removeEventListener("scroll", this.scrolled);
    window.removeEventListener("kw-tables", this.changed);
  }

  changed = () => { this.load(); };
  scrolled = () => {
    this.top = this.scrollTop;
    this.height = this.clientHeight;
    this.update();
  };

  async load() {
    try {
      this.names = await tableNames();
      this.error = null;
    } catch (error) {
      this.error = error;
    }
    this.height = this.clientHeight || 800;
    this.update();
  }

  async describe(name) {
    if (this.facts.has(name) || this.asking.has(name)) return;
    this.asking.add(name);
    try {
      this.facts.set(name, (await dynamodb("DescribeTable", { TableName: name })).Table);
    } catch (error) {
      this.facts.set(name, { error });
    }
    this.asking.delete(name);
    this.update();
  }

  async create() {
    const { form } = this;
    try {
      let body;
      if (form.by === "json") body = JSON.parse(form.json);
      else {
        const keys = [[form.pk, form.pkType, "HASH"], ...(form.sk ? [[form.sk, form.skType, "RANGE"]] : [])];
        body = {
          TableName: form.name, BillingMode: "PAY_PER_REQUEST",
          AttributeDefinitions: keys.map(([AttributeName, AttributeType]) => ({ AttributeName, AttributeType })),
          KeySchema: keys.map(([AttributeName, , KeyType]) => ({ AttributeName, KeyType })),
        };
      }
      await dynamodb("CreateTable", body);
      this.adding = false;
      this.error = null;
      this.facts.delete(body.TableName);
      window.dispatchEvent(new CustomEvent("kw-tables"));
      go(`/${this.region}/t/${encodeURIComponent(body.TableName)}/items`);
    } catch (error) {
      this.error = error;
    }
    this.update();
  }

  async drop(name) {
    try {
      const { Table } = await dynamodb("DescribeTable", { TableName: name });
      const indexes = [...(Table.GlobalSecondaryIndexes ?? []), ...(Table.LocalSecondaryIndexes ?? [])].map((one) => one.IndexName);
      const consent = await confirmed({
        title: `Delete the table ${name}?`, typed: name, verb: "Delete table",
        lost: [
          `${count(Table.ItemCount ?? 0, "item")}, ${sizeText(Table.TableSizeBytes ?? 0)}. They cannot be brought back.`,
          ...(indexes.length > 0 ? [`${count(indexes.length, "index", "indexes")}: ${indexes.join(", ")}`] : []),
          ...(Table.StreamSpecification?.StreamEnabled ? ["its stream of changes"] : []),
          ...(Table.DeletionProtectionEnabled ? ["Deletion protection is on: the request will be refused until it is off."] : []),
        ],
      });
      if (!consent) return;
      await dynamodb("DeleteTable", { TableName: name }, { consent });
      this.error = null;
      this.facts.delete(name);
      window.dispatchEvent(new CustomEvent("kw-tables"));
    } catch (error) {
      this.error = error;
    }
    this.update();
  }

  update() {
    if (this.isConnected) render(this.view(), this);
  }

  view() {
    const wanted = this.find.toLowerCase();
    const list = (this.names ?? []).filter((name) => name.toLowerCase().includes(wanted));
    const from = Math.max(0, Math.floor((this.top - 200) / ROW) - OVER);
    const to = Math.min(list.length, Math.ceil((this.top + this.height - 120) / ROW) + OVER);
    const shown = list.slice(from, to);
    for (const name of shown) this.describe(name);
    return html`<div class="mf-room">
      <header class="mf-head"><h1>Tables</h1>
        ${this.names && this.names.length > 0 ? html`<input class="tb-find" type="search" aria-label="Find a table" placeholder="Find a table" .value=${this.find} @input=${(event) => { this.find = event.target.value; this.scrollTop = 0; this.top = 0; this.update(); }}>` : nothing}
        <span class="dim" role="status">${this.names ? `${list.length.toLocaleString("en")} ${list.length === 1 ? "table" : "tables"}` : ""}</span>
        ${this.readOnly ? nothing : html`<span class="md-actions"><button class="md-button is-main" aria-expanded=${this.adding} @click=${() => { this.adding = !this.adding; this.error = null; this.update(); }}>Create a table</button></span>`}
      </header>
      ${this.error ? html`<div class="md-error" role="alert"><p>${this.error.message}</p><button class="md-button" @click=${() => { this.error = null; this.load(); }}>Close</button></div>` : nothing}
      ${this.adding ? this.creation() : nothing}
      ${this.names && this.names.length === 0 && !this.adding ? html`<div class="md-nothing"><p>No table in ${this.region} yet.</p><p><a class="md-button is-main" href="/start">Start with an example</a></p></div>` : nothing}
      ${list.length > 0 ? html`<div class="md-table-room" tabindex="0" role="region" aria-label="Tables"><table class="md-table mf-table tb-table" aria-rowcount=${list.length + 1}>
        <thead><tr aria-rowindex="1"><th scope="col">name</th><th scope="col">key</th><th scope="col" class="is-number">indexes</th><th scope="col" class="is-number">items</th><th scope="col" class="is-number">size</th><th scope="col">billing</th><th scope="col">stream</th><th scope="col"><span class="kc-hidden">actions</span></th></tr></thead>
        <tbody>${spacer(from)}${repeat(shown, (name) => name, (name, at) => this.row(name, from + at + 2))}${spacer(list.length - to)}</tbody></table></div>` : nothing}
    </div>`;
  }

  row(name, index) {
    const table = this.facts.get(name);
    const keys = table?.KeySchema ? table.KeySchema.map((one) => one.AttributeName).join(" → ") : "";
    const indexes = table?.KeySchema ? (table.GlobalSecondaryIndexes?.length ?? 0) + (table.LocalSecondaryIndexes?.length ?? 0) : "";
    return html`<tr class="tb-row" aria-rowindex=${index}><th scope="row"><a class="md-link" href=${`/${this.region}/t/${encodeURIComponent(name)}/items`}>${name}</a></th>
      <td><code>${keys}</code></td><td class="is-number">${indexes}</td>
      <td class="is-number">${table?.ItemCount !== undefined ? table.ItemCount.toLocaleString("en") : ""}</td><td class="is-number">${table?.TableSizeBytes !== undefined ? sizeText(table.TableSizeBytes) : ""}</td>
      <td>${table?.KeySchema ? (table.BillingModeSummary?.BillingMode === "PAY_PER_REQUEST" ? "on demand" : "provisioned") : table?.error ? visible(table.error.message) : ""}</td>
      <td>${table?.StreamSpecification?.StreamEnabled ? "on" : ""}${table?.DeletionProtectionEnabled ? html` <span class="dim">protected</span>` : nothing}</td>
      <td>${this.readOnly ? nothing : html`<button class="md-link" aria-label="Delete ${name}" @click=${() => this.drop(name)}>Delete…</button>`}</td></tr>`;
  }

  creation() {
    const { form } = this;
    const set = (change) => { Object.assign(form, change); this.update(); };
    const types = (chosen, name, label) => html`<select aria-label=${label} @change=${(event) => set({ [name]: event.target.value })}>${TYPES.map(([value, text]) => html`<option value=${value} ?selected=${value === chosen}>${text}</option>`)}</select>`;
    return html`<form class="mf-form" @submit=${(event) => { event.preventDefault(); this.create(); }}>
      <p class="mf-line"><label>By <select @change=${(event) => set({ by: event.target.value })}><option value="form" ?selected=${form.by === "form"}>form</option><option value="json" ?selected=${form.by === "json"}>CreateTable JSON</option></select></label></p>
      ${form.by === "json"
        ? html`<textarea rows="9" aria-label="CreateTable JSON" spellcheck="false" .value=${form.json} @input=${(event) => { form.json = event.target.value; }}></textarea>`
        : html`<p class="mf-line mf-keys"><label>Name <input required .value=${form.name} @input=${(event) => { form.name = event.target.value; }}></label>
          <label>Partition key <input required .value=${form.pk} @input=${(event) => { form.pk = event.target.value; }}></label>${types(form.pkType, "pkType", "Type of the partition key")}
          <label>Sort key <input placeholder="none" .value=${form.sk} @input=${(event) => { form.sk = event.target.value; }}></label>${types(form.skType, "skType", "Type of the sort key")}</p>`}
      <p class="mf-line"><button class="md-button is-main">Create</button><button class="md-button" type="button" @click=${() => { this.adding = false; this.update(); }}>Cancel</button></p></form>`;
  }
}

/** The room of rows that do not exist. */
function spacer(rows) {
  if (rows <= 0) return nothing;
  const blocks = [];
  for (let left = rows; left > 0; left -= 25) blocks.push(Math.min(25, left));
  return blocks.map((count) => html`<tr class=${count === 25 ? "tb-gap is-25" : "tb-gap"} aria-hidden="true"><td colspan="8"></td></tr>`);
}

if (!customElements.get("kw-tables")) customElements.define("kw-tables", KwTables);
