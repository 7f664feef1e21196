// <kw-schema>: how a table is made, and the switches that change it: stream, time to live, protection, indexes.

import { html, nothing, render } from "../../vendor/lit-html/lit-html.js";
import { waysOf } from "../collections/live.js";
import { sizeText } from "../collections/typed.js";
import { call, dynamodb } from "../model/api.js";
import { styles } from "../model/styles.js";

styles();

export class KwSchema extends HTMLElement {
  constructor() {
    super();
    this.table = "";
    this.described = /** @type {any} */ (null);
    this.expiry = /** @type {any} */ (null);
    this.error = null;
    this.readOnly = false;
    this.attribute = "";
    this.adding = { name: "", pk: "", sk: "" };
    this.timer = 0;
  }

  /** @param {{table: string}} route */
  set route({ table }) {
    if (table === this.table) return;
    this.table = table;
    this.described = null;
    this.load();
  }

  connectedCallback() {
    this.classList.add("mf", "sc");
    call("state", {}).then((state) => { this.readOnly = state.readOnly; this.update(); }, () => {});
    this.timer = window.setInterval(() => {
      const busy = this.described && (this.described.TableStatus !== "ACTIVE" || this.described.GlobalSecondaryIndexes?.some((one) => one.IndexStatus !== "ACTIVE"));
      if (busy && !document.hidden) this.load();
    }, 1000);
    this.update();
  }

  disconnectedCallback() { clearInterval(this.timer); }

  async load() {
    try {
      const [{ Table }, expiry] = await Promise.all([dynamodb("DescribeTable", { TableName: this.table }), dynamodb("DescribeTimeToLive", { TableName: this.table })]);
      this.described = Table;
      this.expiry = expiry.TimeToLiveDescription;
    } catch (error) {
      this.error = error;
    }
    this.update();
  }

  async change(operation, body) {
    this.error = null;
    try {
      await dynamodb(operation, { TableName: this.table, ...body });
    } catch (error) {
      this.error = error;
    }
    await this.load();
  }

  addIndex(event) {
    event.preventDefault();
    const { name, pk, sk } = this.adding;
    const known = new Map(this.described.AttributeDefinitions.map((one) => [one.AttributeName, one.AttributeType]));
    const keys = [pk, ...(sk ? [sk] : [])];
    this.change("UpdateTable", {
      AttributeDefinitions: keys.map((one) => ({ AttributeName: one, AttributeType: known.get(one) ?? "S" })),
      GlobalSecondaryIndexUpdates: [{ Create: { IndexName: name, KeySchema: keys.map((one, at) => ({ AttributeName: one, KeyType: at === 0 ? "HASH" : "RANGE" })), Projection: { ProjectionType: "ALL" } } }],
    });
    this.adding = { name: "", pk: "", sk: "" };
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
          <td>${way.kind === "global" && !this.readOnly ? html`<button class="md-link" aria-label="Drop ${way.name}" @click=${() => this.change("UpdateTable", { GlobalSecondaryIndexUpdates: [{ Delete: { IndexName: way.name } }] })}>Drop</button>` : nothing}</td></tr>`;
        })}</tbody></table></div>
      ${this.readOnly ? nothing : html`
      <form class="mf-form mf-line sc-form" @submit=${(event) => this.addIndex(event)}>
        <label>New index <input required .value=${this.adding.name} placeholder="name" @input=${(event) => { this.adding.name = event.target.value; }}></label>
        <label>partition key <input required .value=${this.adding.pk} @input=${(event) => { this.adding.pk = event.target.value; }}></label>
        <label>sort key <input .value=${this.adding.sk} placeholder="none" @input=${(event) => { this.adding.sk = event.target.value; }}></label>
        <button class="md-button">Add it</button></form>
      <h2>Switches</h2>
      <div class="mf-form"><p class="mf-line">Stream: <b>${streams ? table.StreamSpecification.StreamViewType.toLowerCase().replaceAll("_", " ") : "off"}</b>
        <button class="md-button" @click=${() => this.change("UpdateTable", { StreamSpecification: streams ? { StreamEnabled: false } : { StreamEnabled: true, StreamViewType: "NEW_AND_OLD_IMAGES" } })}>${streams ? "Switch it off" : "Switch it on"}</button></p>
      <form class="mf-line" @submit=${(event) => { event.preventDefault(); this.change("UpdateTimeToLive", { TimeToLiveSpecification: { Enabled: !expires, AttributeName: expires ? this.expiry.AttributeName : this.attribute } }); }}>
        Time to live: <b>${expires ? this.expiry.AttributeName : "off"}</b>${expires ? nothing : html`<label><span class="kc-hidden">Attribute with the time</span><input required placeholder="attribute" .value=${this.attribute} @input=${(event) => { this.attribute = event.target.value; }}></label>`}
        <button class="md-button">${expires ? "Switch it off" : "Switch it on"}</button></form>
      <p class="mf-line">Deletion protection: <b>${table.DeletionProtectionEnabled ? "on" : "off"}</b>
        <button class="md-button" @click=${() => this.change("UpdateTable", { DeletionProtectionEnabled: !table.DeletionProtectionEnabled })}>${table.DeletionProtectionEnabled ? "Switch it off" : "Switch it on"}</button></p></div>`}
      <h2>As CreateTable</h2>
      <pre class="md-drawing" tabindex="0" role="region" aria-label="CreateTable request">${JSON.stringify(this.request(), null, 2)}</pre>
    </div>`;
  }
}

if (!customElements.get("kw-schema")) customElements.define("kw-schema", KwSchema);
