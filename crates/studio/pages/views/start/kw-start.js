// <kw-start>: the first run. The examples, an empty table, the lines that connect a program; it notices the first
// table by itself. With a step it is the tour.

import { html, nothing, render } from "../../vendor/lit-html/lit-html.js";
import { call, context, dynamodb } from "../model/api.js";
import { exampleCards } from "../model/examples.js";
import { literal, python, shell } from "../quote.js";

/** How often a fresh server is asked whether it has a table now. */
const LOOK_EVERY_MS = 2000;

/** @type {[string, (endpoint: string, region: string) => string][]} */
const LINES = [
  ["AWS CLI", (endpoint, region) => `aws dynamodb list-tables --endpoint-url ${shell(endpoint)} --region ${shell(region)}`],
  ["Python", (endpoint, region) => `boto3.client("dynamodb", endpoint_url=${python(endpoint)}, region_name=${python(region)})`],
  ["JavaScript", (endpoint, region) => `new DynamoDBClient({ endpoint: ${literal(endpoint)}, region: ${literal(region)} })`],
  ["Environment", (endpoint) => `export AWS_ENDPOINT_URL_DYNAMODB=${shell(endpoint)}`],
];

export class KwStart extends HTMLElement {
  constructor() {
    super();
    this.step = 0;
    this.model = null;
    this.examples = null;
    this.state = null;
    this.error = /** @type {any} */ (null);
    this.tables = /** @type {string[]|null} */ (null);
    this.copied = "";
    this.timer = 0;
  }

  /** @param {{step: number, model: string|null}} route */
  set route({ step, model }) {
    this.step = step;
    this.model = model;
    // Most visits never open the tour.
    this.update();
  }

  connectedCallback() {
    this.classList.add("st");
    this.update();
    this.load();
    this.timer = window.setInterval(() => { if (!document.hidden && this.step === 0) this.look(); }, LOOK_EVERY_MS);
  }

  disconnectedCallback() {
    clearInterval(this.timer);
  }

  async load() {
    try {
      [this.examples, this.state] = await Promise.all([call("examples/list", {}), call("state", {})]);
      this.error = null;
    } catch (error) {
      this.error = error;
    }
    this.update();
    this.look();
  }

  async look() {
    // Who may not list tables need not ask every two seconds.
    if (this.state?.may?.listTables === false) return;
    try {
      const answer = await dynamodb("ListTables", { Limit: 5 });
      const tables = answer.TableNames ?? [];
      if (this.tables === null || tables.join() !== this.tables.join()) {
        const first = this.tables !== null && this.tables.length === 0 && tables.length > 0;
        this.tables = tables;
        if (first) window.dispatchEvent(new CustomEvent("kw-tables"));
        this.update();
      }
    } catch {
      // The shell says that the process is gone.
    }
  }

  update() {
    if (this.isConnected) render(this.view(), this);
  }

  /** Whether the visitor may use models, which the tour and the examples are. */
  get mayModels() { return this.state?.may?.models !== false; }

  /** What stands in place of the examples for who may not use models. */
  notModels() {
    return html`<p class="dim">Models, examples and the tour are not shown: denied. They need the right <code>keywright:UseModels</code>.</p>`;
  }

  view() {
    if (this.step > 0 && !this.mayModels) return html`<div class="mf-room">${this.notModels()}</div>`;
    if (this.step > 0) return html`<kw-tour .route=${{ step: this.step, model: this.model }}></kw-tour>`;
    if (this.error) return html`<div class="mf-room"><div class="md-error" role="alert"><p>${this.error.message}</p><button class="md-button" @click=${() => this.load()}>Retry</button></div></div>`;
    const region = context.region ?? this.state?.place?.region ?? "us-east-1";
    const endpoint = this.state?.endpoint ?? "";
    return html`<div class="mf-room">
      <header class="st-head">
        <h1>${this.tables === null ? "Keywright" : this.tables.length === 0 ? "Keywright is ready, and empty" : "Keywright is ready"}</h1>
        <p class="st-lead">A database that speaks DynamoDB, and a workbench for its data models.${this.mayModels ? " Open an example, look at its patterns and keys, and make its tables here: two clicks." : ""}</p>
        ${this.tables && this.tables.length > 0 ? html`<p class="st-found" role="status"><span aria-hidden="true">✓</span> ${this.tables.length === 1 ? "One table is here:" : "Tables are here:"}
          ${this.tables.map((name, at) => html`${at > 0 ? ", " : ""}<a class="md-link" href=${`/${region}/t/${encodeURIComponent(name)}/items`}>${name}</a>`)}</p>` : nothing}
        <p class="st-ways">
          ${this.mayModels ? html`<a class="md-button is-main" href="/start?step=1">Take the six-step tour</a>` : nothing}
          <a class="md-button" href=${`/${region}/tables`}>Tables</a>
          ${this.mayModels ? html`<a class="md-button" href="/models">Import a model</a>` : nothing}</p>
      </header>
      ${this.mayModels ? html`<h2>Start with an example</h2>
      ${this.examples ? exampleCards(this.examples.examples) : html`<div aria-busy="true" class="st-wait"></div>`}` : this.notModels()}
      <h2>Or connect your program</h2>
      <p class="dim">Any key and secret will do unless the server has credentials. The first table that a program makes appears above by itself.</p>
      <dl class="st-lines">${LINES.map(([name, line]) => {
        const text = line(endpoint, region);
        return html`<div><dt>${name}</dt><dd><code>${text}</code><button class="md-button" aria-label="Copy the line for ${name}" @click=${async () => {
          await navigator.clipboard.writeText(text);
          this.copied = name;
          this.update();
        }}>${this.copied === name ? "Copied" : "Copy"}</button></dd></div>`;
      })}</dl>
    </div>`;
  }
}

if (!customElements.get("kw-start")) customElements.define("kw-start", KwStart);
