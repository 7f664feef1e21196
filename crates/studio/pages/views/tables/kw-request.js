// <kw-request>: any operation of the database as its own API has it, and statements of PartiQL. Nothing is sent before a
// press of the button.

import { html, nothing, render } from "../../vendor/lit-html/lit-html.js";
import { confirmed } from "../confirm.js";
import { call, raw, rawLosses } from "../model/api.js";
import { copyMenu } from "./copy.js";

const STREAMS = new Set(["ListStreams", "DescribeStream", "GetShardIterator", "GetRecords"]);

/** What a new request of an operation starts with. */
function template(operation, table) {
  switch (operation) {
    case "ExecuteStatement": return { Statement: `SELECT * FROM "${table}"`, Limit: 50, ReturnConsumedCapacity: "INDEXES" };
    case "ListTables": case "ListStreams": case "DescribeLimits": case "DescribeEndpoints": return {};
    case "Query": return { TableName: table, KeyConditionExpression: "#k = :k", ExpressionAttributeNames: { "#k": "" }, ExpressionAttributeValues: { ":k": { S: "" } }, ReturnConsumedCapacity: "INDEXES" };
    case "Scan": return { TableName: table, Limit: 50, ReturnConsumedCapacity: "INDEXES" };
    case "GetItem": case "DeleteItem": return { TableName: table, Key: {} };
    default: return { TableName: table };
  }
}

export class KwRequest extends HTMLElement {
  constructor() {
    super();
    this.table = "";
    this.region = "";
    this.operation = "ExecuteStatement";
    this.operations = /** @type {string[]} */ (["ExecuteStatement"]);
    this.text = "";
    this.answer = /** @type {any} */ (null);
    this.busy = false;
    this.endpoint = "";
    this.fault = "";
  }

  /** @param {{table: string, region: string}} route */
  set route({ table, region }) {
    this.region = region;
    if (table === this.table) return;
    this.table = table;
    this.text = JSON.stringify(template(this.operation, table), null, 2);
    this.answer = null;
    this.update();
  }

  connectedCallback() {
    this.classList.add("md", "rq");
    import("../model/kw-editor.js");
    call("state", {}).then((state) => { this.operations = state.operations; this.endpoint = state.endpoint; this.update(); }, () => {});
    this.update();
  }

  choose(operation) {
    const untouched = this.text === JSON.stringify(template(this.operation, this.table), null, 2);
    this.operation = operation;
    if (untouched) this.text = JSON.stringify(template(operation, this.table), null, 2);
    this.update();
  }

  async run() {
    const { operation, text } = this;
    const lost = rawLosses(operation, text);
    const consent = lost.length > 0 ? await confirmed({ title: `Send ${operation}?`, lost, verb: `Send ${operation}` }) : null;
    if (lost.length > 0 && !consent) return;
    this.busy = true;
    this.fault = "";
    this.update();
    try {
      this.answer = await raw(operation, text, consent);
    } catch (error) {
      this.fault = /** @type {Error} */ (error).message;
    }
    this.busy = false;
    this.update();
  }

  /** The body, if it is JSON: only that can be copied as code. */
  body() {
    try { return JSON.parse(this.text); } catch { return null; }
  }

  update() { if (this.isConnected) render(this.view(), this); }

  view() {
    const { answer } = this;
    const body = this.body();
    return html`<form class="lv-form" aria-label="Request" @submit=${(event) => { event.preventDefault(); this.run(); }} @keydown=${(event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); this.run(); } }}>
        <label>Operation <select @change=${(event) => this.choose(event.target.value)}>${this.operations.map((one) => html`<option value=${one} ?selected=${one === this.operation}>${one === "ExecuteStatement" ? "ExecuteStatement (PartiQL)" : one}</option>`)}</select></label>
        <button class="md-button is-main" ?disabled=${this.busy}>Send</button>
        <span class="dim">Ctrl+Enter</span>
        ${body && this.endpoint && !STREAMS.has(this.operation) ? copyMenu(() => ({ operation: this.operation, body, endpoint: this.endpoint, region: this.region })) : nothing}</form>
      <div class="rq-body">
        <div class="rq-side" @keydown=${(event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); event.stopPropagation(); this.run(); } }}><kw-editor .language=${"json"} .label=${"Request body"} .value=${this.text} @change=${(event) => { this.text = event.detail.value; this.update(); }}></kw-editor></div>
        <div class="rq-side rq-answer" role="region" aria-label="Answer" tabindex="0">
          ${this.fault ? html`<p class="vd-bad" role="alert">${this.fault}</p>` : nothing}
          ${answer ? html`<p role="status"><b class=${answer.status < 300 ? "vd-good" : "vd-bad"}>${answer.status}</b> ${answer.type ? html`<b>${answer.type}</b>` : nothing} ${answer.micros ? html`<span class="dim">${(answer.micros / 1000).toFixed(1)} ms in the process</span>` : nothing}</p>
            ${answer.message ? html`<p class="vd-bad" role="alert">${answer.message}</p>` : nothing}<pre>${answer.text}</pre>` : html`<p class="dim">The answer comes here. Nothing is sent before you press Send.</p>`}</div></div>`;
  }
}

if (!customElements.get("kw-request")) customElements.define("kw-request", KwRequest);
