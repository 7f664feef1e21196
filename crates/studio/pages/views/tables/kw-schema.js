// <kw-schema>: how a table is made, what changes it (indexes, capacity, class, stream, time to live, protection,
// tags), and the same table in the words of other tools.

import { html, nothing, render } from "../../vendor/lit-html/lit-html.js";
import { waysOf } from "../collections/live.js";
import { sizeText, visible } from "../collections/typed.js";
import { confirmed } from "../confirm.js";
import { call, dynamodb, go } from "../model/api.js";
import { count } from "../model/words.js";
import "./kw-changes.js";
import { usesOf } from "./uses.js";

const TYPES = [["S", "text"], ["N", "number"], ["B", "binary"]];
const CLASSES = [["STANDARD", "standard"], ["STANDARD_INFREQUENT_ACCESS", "standard, infrequent access"]];
const PROJECTIONS = [["ALL", "all attributes"], ["KEYS_ONLY", "keys only"], ["INCLUDE", "keys and…"]];
/** The words in which a table is shown. */
const FORMS = [["request", "CreateTable request"], ["cli", "AWS CLI"], ["cloudformation", "CloudFormation"], ["model", "Model"]];
const none = () => ({ name: "", pk: "", pkType: "S", sk: "", skType: "S", projection: "ALL", include: "" });

/** An answer that the rest of the view can do without: null if it is denied. The frame says why. */
const ifAllowed = (answer) => answer.catch((error) => {
  if (error.more?.explanation) return null;
  throw error;
});
/** What stands in place of a setting that the visitor may not see. */
const NOT_SHOWN = "not shown: denied";

export class KwSchema extends HTMLElement {
  constructor() {
    super();
    this.table = "";
    this.described = /** @type {any} */ (null);
    this.expiry = /** @type {any} */ (null);
    this.error = /** @type {any} */ (null);
    this.readOnly = false;
    /** Whether the visitor may not see time to live. */ this.expiryDenied = false;
    /** Whether the visitor may not see the tags. */ this.tagsDenied = false;
    this.attribute = "";
    this.adding = none();
    this.tags = /** @type {any[]|null} */ (null);
    this.tag = { key: "", value: "" };
    this.capacity = /** @type {any} */ (null);
    this.form = "request";
    /** @type {Map<string, {text: string, notes: string[]}>} */ this.forms = new Map();
    /** What the forms were made of. */
    this.formsOf = "";
    this.turn = 0;
    /** Reads under way. */ this.loads = 0;
    /** Whole reads that ended: changes are read again with each. */ this.reads = 0;
    this.timer = 0;
  }

  /** @param {{table: string}} route */
  set route({ table }) {
    if (table === this.table) return;
    this.table = table;
    this.described = null;
    this.tags = null;
    this.capacity = null;
    this.form = "request";
    this.formsOf = "";
    this.forms = new Map();
    this.load();
  }

  connectedCallback() {
    this.classList.add("mf", "sc");
    call("state", {}).then((state) => { this.readOnly = state.readOnly; this.update(); }, () => {});
    this.timer = window.setInterval(() => {
      const busy = this.described && (this.described.TableStatus !== "ACTIVE" || this.described.GlobalSecondaryIndexes?.some((one) => one.IndexStatus !== "ACTIVE"));
      if (busy && !document.hidden && this.loads === 0) this.load(false);
    }, 1000);
    this.update();
  }

  disconnectedCallback() { clearInterval(this.timer); }

  /** Reads the table; time to live and tags only as a `whole`: they do not change while an index is made. */
  async load(whole = true) {
    const turn = (this.turn += 1);
    const TableName = this.table;
    this.loads += 1;
    try {
      const describe = dynamodb("DescribeTable", { TableName });
      const expiry = whole ? ifAllowed(dynamodb("DescribeTimeToLive", { TableName })) : null;
      expiry?.catch(() => {});
      const { Table } = await describe;
      const tags = whole ? await ifAllowed(dynamodb("ListTagsOfResource", { ResourceArn: Table.TableArn })) : null;
      const expires = await expiry;
      if (turn !== this.turn) return;
      this.described = Table;
      if (whole) {
        this.expiry = expires?.TimeToLiveDescription ?? null;
        this.expiryDenied = expires === null;
        this.tags = tags?.Tags ?? [];
        this.tagsDenied = tags === null;
        this.reads += 1;
      }
      // While an index is being made this runs each second: what other tools need is made anew only if it differs.
      const now = JSON.stringify([this.request(), this.expiry, this.tags, Table.TableClassSummary]);
      if (now !== this.formsOf) {
        this.formsOf = now;
        this.forms = new Map();
        if (this.form !== "request") this.show(this.form);
      }
    } catch (error) {
      if (turn !== this.turn) return;
      this.error = error;
    } finally {
      this.loads -= 1;
    }
    this.update();
  }

  /**
   * @param {string} operation
   * @param {any} body with TableName unless it names the table itself
   * @param {import("../confirm.js").Question|null} question what is asked before, if something is lost
   */
  async change(operation, body, question = null) {
    const consent = question ? await confirmed(question) : null;
    if (question && !consent) return;
    this.error = null;
    try {
      await dynamodb(operation, body.ResourceArn ? body : { TableName: this.table, ...body }, { consent });
    } catch (error) {
      this.error = error;
    }
    await this.load();
  }

  addIndex(event) {
    event.preventDefault();
    const { name, pk, pkType, sk, skType, projection, include } = this.adding;
    const known = new Map(this.described.AttributeDefinitions.map((one) => [one.AttributeName, one.AttributeType]));
    const keys = [[pk, pkType], ...(sk ? [[sk, skType]] : [])];
    const names = include.split(",").map((one) => one.trim()).filter(Boolean);
    const { ReadCapacityUnits, WriteCapacityUnits } = this.described.ProvisionedThroughput ?? {};
    this.change("UpdateTable", {
      AttributeDefinitions: keys.map(([one, type]) => ({ AttributeName: one, AttributeType: known.get(one) ?? type })),
      GlobalSecondaryIndexUpdates: [{ Create: {
        IndexName: name, KeySchema: keys.map(([one], at) => ({ AttributeName: one, KeyType: at === 0 ? "HASH" : "RANGE" })),
        Projection: { ProjectionType: projection, ...(projection === "INCLUDE" ? { NonKeyAttributes: names } : {}) },
        ...(this.onDemand ? {} : { ProvisionedThroughput: { ReadCapacityUnits, WriteCapacityUnits } }),
      } }],
    });
    this.adding = none();
  }

  /** What the table and an index have, in numbers. */
  amount(part) { return `${count(part.ItemCount ?? 0, "item")}, ${sizeText(part.TableSizeBytes ?? part.IndexSizeBytes ?? 0)}`; }

  dropIndex(way, part) {
    return this.change("UpdateTable", { GlobalSecondaryIndexUpdates: [{ Delete: { IndexName: way.name } }] }, {
      title: `Drop the index ${way.name}?`, verb: "Drop index", more: usesOf(this.table, way.name),
      lost: [
        `Its entries: ${this.amount(part)}. The items stay in the table; an index made anew is filled again from them.`,
        `Its key: ${[...way.pk, ...way.sk].map(visible).join(" → ")}. Queries on it fail from now on.`,
        ...(this.described.DeletionProtectionEnabled ? ["Deletion protection covers the table alone, not its indexes."] : []),
      ],
    });
  }

  setStream(on) {
    const { StreamViewType } = this.described.StreamSpecification ?? {};
    return this.change("UpdateTable", { StreamSpecification: on ? { StreamEnabled: true, StreamViewType: "NEW_AND_OLD_IMAGES" } : { StreamEnabled: false } }, on ? null : {
      title: `Disable the stream of ${this.table}?`, verb: "Disable stream",
      lost: [`Changes from now on: they are not recorded (${String(StreamViewType).toLowerCase().replaceAll("_", " ")}), and what reads the stream gets none.`, "The stream cannot be continued: enabling it again makes a new one."],
    });
  }

  setExpiry(on) {
    const { attribute } = this;
    const past = `items of ${this.table} whose time in ${visible(on ? attribute : this.expiry.AttributeName)} is past`;
    return this.change("UpdateTimeToLive", { TimeToLiveSpecification: { Enabled: on, AttributeName: on ? attribute : this.expiry.AttributeName } }, on
      ? { title: `Enable time to live on ${attribute}?`, verb: "Enable time to live", lost: [`All ${past}, now and later: the database deletes them. The table has ${this.amount(this.described)}.`] }
      : { title: "Disable time to live?", verb: "Disable time to live", lost: [`The clean-up: ${past} stay, and cost storage, until something else deletes them.`] });
  }

  setProtection(on) {
    return this.change("UpdateTable", { DeletionProtectionEnabled: on }, on ? null : {
      title: `Disable the deletion protection of ${this.table}?`, verb: "Disable deletion protection",
      lost: [`The protection of ${this.amount(this.described)}: any client may then delete the table with one request.`],
    });
  }

  get onDemand() { return this.described?.BillingModeSummary?.BillingMode === "PAY_PER_REQUEST"; }

  /** Capacity as the form has it: on demand, or units for the table and, where a mode changes, each index. */
  setCapacity(event) {
    event.preventDefault();
    const { mode, read, write } = this.capacity;
    const units = { ProvisionedThroughput: { ReadCapacityUnits: Number(read), WriteCapacityUnits: Number(write) } };
    const indexes = this.onDemand ? (this.described.GlobalSecondaryIndexes ?? []).map((one) => ({ Update: { IndexName: one.IndexName, ...units } })) : [];
    this.capacity = null;
    this.change("UpdateTable", mode === "PAY_PER_REQUEST" ? { BillingMode: mode } : { ...(this.onDemand ? { BillingMode: mode } : {}), ...units, ...(indexes.length > 0 ? { GlobalSecondaryIndexUpdates: indexes } : {}) });
  }

  /** The table in the words of a tool, made by the same code as `keywright model export`. */
  async show(form) {
    this.form = form;
    this.update();
    const { forms } = this;
    if (form === "request" || forms.has(form)) return;
    try {
      const model = await call("models/import", { name: fileOf(this.table), live: { tables: [this.table], sample: form === "model" ? 500 : 0 } });
      const made = form === "model" ? model : await call("models/export", { text: model.text, target: form });
      forms.set(form, { text: made.text, notes: made.notes ?? [] });
    } catch (error) {
      forms.set(form, { text: "", notes: [/** @type {Error} */ (error).message] });
    }
    this.update();
  }

  async takeModel() {
    const file = `${fileOf(this.table)}.yaml`;
    try {
      await call("models/write", { name: file, text: this.forms.get("model")?.text, hash: null });
      go(`/models/${encodeURIComponent(file)}/patterns`);
    } catch (error) {
      const { kind, message } = /** @type {any} */ (error);
      this.error = kind === "changed" ? new Error(`There is a model file ${file} already.`) : new Error(message);
      this.update();
    }
  }

  /** The request that makes an equal table. */
  request() {
    const table = this.described;
    const index = (one) => ({ IndexName: one.IndexName, KeySchema: one.KeySchema, Projection: one.Projection });
    const demand = table.BillingModeSummary?.BillingMode === "PAY_PER_REQUEST";
    const units = (from) => (demand ? {} : { ProvisionedThroughput: { ReadCapacityUnits: from.ProvisionedThroughput.ReadCapacityUnits, WriteCapacityUnits: from.ProvisionedThroughput.WriteCapacityUnits } });
    return {
      TableName: table.TableName, AttributeDefinitions: table.AttributeDefinitions, KeySchema: table.KeySchema,
      ...(demand ? { BillingMode: "PAY_PER_REQUEST" } : units(table)),
      ...(table.GlobalSecondaryIndexes ? { GlobalSecondaryIndexes: table.GlobalSecondaryIndexes.map((one) => ({ ...index(one), ...units(one) })) } : {}),
      ...(table.LocalSecondaryIndexes ? { LocalSecondaryIndexes: table.LocalSecondaryIndexes.map(index) } : {}),
      ...(table.StreamSpecification ? { StreamSpecification: table.StreamSpecification } : {}),
      ...(table.DeletionProtectionEnabled ? { DeletionProtectionEnabled: true } : {}),
    };
  }

  update() { if (this.isConnected) render(this.view(), this); }

  view() {
    const table = this.described;
    if (!table) return this.error ? html`<div class="md-error" role="alert"><p>${this.error.message}</p></div>` : html`<div aria-busy="true"></div>`;
    const type = new Map(table.AttributeDefinitions.map((one) => [one.AttributeName, one.AttributeType]));
    const parts = new Map([["", table], ...(table.GlobalSecondaryIndexes ?? []).map((one) => [one.IndexName, one]), ...(table.LocalSecondaryIndexes ?? []).map((one) => [one.IndexName, one])]);
    const streams = !!table.StreamSpecification?.StreamEnabled;
    const expires = this.expiry?.TimeToLiveStatus === "ENABLED" || this.expiry?.TimeToLiveStatus === "ENABLING";
    return html`<div class="mf-room">
      ${this.error ? html`<div class="md-error" role="alert"><p>${this.error.message}</p></div>` : nothing}
      <h2>Keys and indexes</h2>
      <div class="md-table-room" tabindex="0" role="region" aria-label="Keys and indexes"><table class="md-table mf-table"><thead><tr><th scope="col">name</th><th scope="col">kind</th><th scope="col">key</th><th scope="col">projection</th><th scope="col" class="is-number">items</th><th scope="col" class="is-number">size</th><th scope="col">status</th><th scope="col"><span class="kc-hidden">actions</span></th></tr></thead>
        <tbody>${waysOf(table).map((way) => {
          const part = parts.get(way.name);
          return html`<tr><th scope="row">${way.name || table.TableName}</th><td>${way.kind}</td><td><code>${[...way.pk, ...way.sk].map((name) => `${name}: ${type.get(name)}`).join(" → ")}</code></td>
          <td>${way.kind === "table" ? "" : part.Projection.ProjectionType.toLowerCase().replace("_", " ")}${part.Projection?.NonKeyAttributes ? html` <code>${part.Projection.NonKeyAttributes.join(", ")}</code>` : nothing}</td>
          <td class="is-number">${(part.ItemCount ?? 0).toLocaleString("en")}</td><td class="is-number">${sizeText(part.TableSizeBytes ?? part.IndexSizeBytes ?? 0)}</td><td>${(part.TableStatus ?? part.IndexStatus ?? "ACTIVE").toLowerCase()}${part.Backfilling ? ", backfilling" : ""}</td>
          <td>${way.kind === "global" && !this.readOnly ? html`<button class="md-link" aria-label="Drop ${way.name}" @click=${() => this.dropIndex(way, part)}>Drop…</button>` : nothing}</td></tr>`;
        })}</tbody></table></div>
      ${this.readOnly ? nothing : html`
      <form class="mf-form mf-line sc-form" @submit=${(event) => this.addIndex(event)}>
        <label>New index <input required .value=${this.adding.name} placeholder="name" @input=${(event) => { this.adding.name = event.target.value; }}></label>
        <label>partition key <input required .value=${this.adding.pk} @input=${(event) => { this.adding.pk = event.target.value; this.update(); }}></label>${this.typeOf("pk", type)}
        <label>sort key <input .value=${this.adding.sk} placeholder="none" @input=${(event) => { this.adding.sk = event.target.value; this.update(); }}></label>${this.adding.sk ? this.typeOf("sk", type) : nothing}
        <label>with <select @change=${(event) => { this.adding.projection = event.target.value; this.update(); }}>${PROJECTIONS.map(([value, text]) => html`<option value=${value} ?selected=${value === this.adding.projection}>${text}</option>`)}</select></label>
        ${this.adding.projection === "INCLUDE" ? html`<label>these attributes <input required placeholder="name, total" .value=${this.adding.include} @input=${(event) => { this.adding.include = event.target.value; }}></label>` : nothing}
        <button class="md-button">Add index</button> <span class="dim">One index is made or dropped at a time.</span></form>
      <h2>Settings</h2>
      <div class="mf-form">${this.capacityForm(table)}
      <form class="mf-line" @submit=${(event) => { event.preventDefault(); this.change("UpdateTable", { TableClass: event.target.elements.class.value }); }}>Class: <select name="class" aria-label="Class">${CLASSES.map(([value, text]) => html`<option value=${value} .selected=${value === (table.TableClassSummary?.TableClass ?? "STANDARD")}>${text}</option>`)}</select> <button class="md-button">Change class</button></form>
      <p class="mf-line">Stream: <b>${streams ? table.StreamSpecification.StreamViewType.toLowerCase().replaceAll("_", " ") : "off"}</b>
        <button class="md-button" @click=${() => this.setStream(!streams)}>${streams ? "Disable stream…" : "Enable stream"}</button></p>
      ${this.expiryDenied ? html`<p class="mf-line">Time to live: <span class="dim">${NOT_SHOWN}</span></p>` : html`<form class="mf-line" @submit=${(event) => { event.preventDefault(); this.setExpiry(!expires); }}>
        Time to live: <b>${expires ? this.expiry.AttributeName : "off"}</b>${expires ? nothing : html`<label><span class="kc-hidden">Attribute with the time</span><input required placeholder="attribute" .value=${this.attribute} @input=${(event) => { this.attribute = event.target.value; }}></label>`}
        <button class="md-button">${expires ? "Disable time to live…" : "Enable time to live…"}</button></form>`}
      <p class="mf-line">Deletion protection: <b>${table.DeletionProtectionEnabled ? "on" : "off"}</b>
        <button class="md-button" @click=${() => this.setProtection(!table.DeletionProtectionEnabled)}>${table.DeletionProtectionEnabled ? "Disable deletion protection…" : "Enable deletion protection"}</button></p></div>`}
      <h2>Tags</h2>${this.tagsView(table)}
      <h2>Who changed it</h2><kw-changes .route=${{ table: this.table, reads: this.reads }}></kw-changes>
      <h2>Export definition</h2>
      <p class="mf-line"><label>As <select @change=${(event) => this.show(event.target.value)}>${FORMS.map(([value, text]) => html`<option value=${value} ?selected=${value === this.form}>${text}</option>`)}</select></label>
        <button class="md-button" @click=${() => navigator.clipboard?.writeText(this.words()).catch(() => {})}>Copy</button>
        ${this.form === "model" && !this.readOnly && this.forms.has("model") ? html`<button class="md-button is-main" @click=${() => this.takeModel()}>Save as new model</button>` : nothing}</p>
      ${this.forms.get(this.form)?.notes.length ? html`<ul class="mf-notes">${this.forms.get(this.form)?.notes.map((note) => html`<li>${visible(note)}</li>`)}</ul>` : nothing}
      <pre class="md-drawing" tabindex="0" role="region" aria-label=${FORMS.find(([value]) => value === this.form)?.[1] ?? ""}>${this.words()}</pre>
    </div>`;
  }

  words() { return this.form === "request" ? JSON.stringify(this.request(), null, 2) : this.forms.get(this.form)?.text ?? ""; }

  /** The type of a key attribute that the table does not know yet. */
  typeOf(key, known) {
    const name = this.adding[key];
    const has = known.get(name);
    return html`<select aria-label=${`Type of the ${key === "pk" ? "partition" : "sort"} key`} ?disabled=${!!has} @change=${(event) => { this.adding[`${key}Type`] = event.target.value; }}>${TYPES.map(([value, text]) => html`<option value=${value} ?selected=${value === (has ?? this.adding[`${key}Type`])}>${text}</option>`)}</select>`;
  }

  capacityForm(table) {
    const units = table.ProvisionedThroughput ?? {};
    const now = { mode: this.onDemand ? "PAY_PER_REQUEST" : "PROVISIONED", read: String(units.ReadCapacityUnits || 5), write: String(units.WriteCapacityUnits || 5) };
    const own = this.capacity ?? now;
    const set = (change) => { this.capacity = { ...own, ...change }; this.update(); };
    const number = (label, name) => html`<label>${label} <input type="number" min="1" required .value=${own[name]} @input=${(event) => set({ [name]: event.target.value })}></label>`;
    return html`<form class="mf-line" @submit=${(event) => this.setCapacity(event)}>Capacity:
      <select aria-label="Capacity" @change=${(event) => set({ mode: event.target.value })}><option value="PAY_PER_REQUEST" ?selected=${own.mode === "PAY_PER_REQUEST"}>on demand</option><option value="PROVISIONED" ?selected=${own.mode === "PROVISIONED"}>provisioned</option></select>
      ${own.mode === "PROVISIONED" ? html`${number("read units", "read")}${number("write units", "write")}` : nothing}
      <button class="md-button" ?disabled=${JSON.stringify(own) === JSON.stringify(now)}>Save</button></form>`;
  }

  async setTag({ key, value }) {
    const older = this.tags?.find((one) => one.Key === key && one.Value !== value);
    const question = older ? { title: `Replace the tag ${visible(key)}?`, lost: [`Its value: ${visible(older.Value)}`], verb: "Replace tag" } : null;
    await this.change("TagResource", { ResourceArn: this.described.TableArn, Tags: [{ Key: key, Value: value }] }, question);
    this.tag = { key: "", value: "" };
    this.update();
  }

  tagsView(table) {
    const { tag } = this;
    return html`<div class="mf-form">${this.tags?.length ? html`<ul class="sc-tags">${this.tags.map((one) => html`<li><code>${visible(one.Key)}</code> ${visible(one.Value)}
        ${this.readOnly ? nothing : html`<button class="md-link" aria-label=${`Remove the tag ${visible(one.Key)}`} @click=${() => this.change("UntagResource", { ResourceArn: table.TableArn, TagKeys: [one.Key] }, { title: `Remove the tag ${visible(one.Key)}?`, lost: [`Its value: ${visible(one.Value)}`], verb: "Remove tag" })}>Remove…</button>`}</li>`)}</ul>` : html`<p class="dim">${this.tagsDenied ? `Tags: ${NOT_SHOWN}` : "No tag."}</p>`}
      ${this.readOnly ? nothing : html`<form class="mf-line" @submit=${(event) => { event.preventDefault(); this.setTag(tag); }}>
        <label>Key <input required .value=${tag.key} @input=${(event) => { tag.key = event.target.value; }}></label><label>Value <input .value=${tag.value} @input=${(event) => { tag.value = event.target.value; }}></label><button class="md-button">Add tag</button></form>`}</div>`;
  }
}

/** A name that a model file may have. */
const fileOf = (table) => table.toLowerCase().replace(/[^a-z0-9._-]+/g, "-");

if (!customElements.get("kw-schema")) customElements.define("kw-schema", KwSchema);
