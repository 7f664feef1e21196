// <kw-models>: the model files of this process, the examples, a new one, and what other tools' documents become.

import { html, nothing, render } from "../../vendor/lit-html/lit-html.js";
import { repeat } from "../../vendor/lit-html/directives/repeat.js";
import { oneLine, sizeText, visible } from "../collections/typed.js";
import { confirmed } from "../confirm.js";
import { call, go } from "./api.js";
import { exampleCards } from "./examples.js";
import { prose } from "./blocks.js";
import { count } from "./words.js";
import { forget, unsaved } from "./workspace.js";

const SOURCES = {
  workbench: "a NoSQL Workbench document", "create-table": "CreateTable JSON", cloudformation: "a CloudFormation template",
  model: "a model file", live: "the tables here",
};

export class KwModels extends HTMLElement {
  constructor() {
    super();
    /** @type {any[]|null} */ this.models = null;
    /** @type {any} */ this.examples = null;
    this.error = /** @type {any} */ (null);
    this.state = null;
    this.adding = /** @type {null|"new"|"import"} */ (null);
    this.name = "";
    this.pasted = "";
    this.found = /** @type {any} */ (null);
    this.over = false;
  }

  connectedCallback() {
    this.classList.add("mf");
    this.addEventListener("dragover", this.dragging);
    this.addEventListener("dragleave", this.leaving);
    this.addEventListener("drop", this.dropped);
    this.update();
    this.load();
  }

  disconnectedCallback() {
    this.removeEventListener("dragover", this.dragging);
    this.removeEventListener("dragleave", this.leaving);
    this.removeEventListener("drop", this.dropped);
  }

  dragging = (event) => { event.preventDefault(); if (!this.over) { this.over = true; this.update(); } };
  leaving = (event) => { if (event.target === this) { this.over = false; this.update(); } };
  dropped = async (event) => {
    event.preventDefault();
    this.over = false;
    const file = event.dataTransfer?.files[0];
    const text = file ? await file.text() : event.dataTransfer?.getData("text/plain");
    if (text) this.bring(text, file?.name);
  };

  async load() {
    try {
      const [models, examples, state] = await Promise.all([call("models/list", {}), call("examples/list", {}), call("state", {})]);
      this.models = models.models;
      this.examples = examples;
      this.state = state;
      this.error = null;
      this.describe(this.models);
    } catch (error) {
      this.error = error;
    }
    this.update();
  }

  /** Reads the models one by one, for what the list says about each: the list itself has no texts. */
  async describe(models) {
    for (const model of models) {
      const key = `${model.name} ${model.hash}`;
      if (!known.has(key)) {
        if (!this.isConnected || this.models !== models) return;
        try {
          const { text } = await call("models/read", { name: model.name });
          const { faults, outline } = await call("model/parse", { text });
          known.set(key, outline
            ? { title: outline.text ?? outline.name, tables: outline.tables.length, entities: outline.entities.length, patterns: outline.patterns.length, faults: 0 }
            : { faults: faults.length });
        } catch { continue; }
      }
      Object.assign(model, known.get(key));
      this.update();
    }
  }

  get writable() {
    return this.state && !this.state.readOnly && this.state.models?.writable !== false;
  }

  freeName(wish) {
    const taken = new Set((this.models ?? []).map((one) => one.name));
    const base = (wish || "model").toLowerCase().replace(/\.(ya?ml|json)$/i, "").replace(/[^a-z0-9._-]+/g, "-").replace(/^[-.]+|[-.]+$/g, "") || "model";
    let name = `${base}.yaml`;
    for (let at = 2; taken.has(name); at += 1) name = `${base}-${at}.yaml`;
    return name;
  }

  async write(name, text) {
    try {
      const file = name.endsWith(".yaml") ? name : `${name}.yaml`;
      await call("models/write", { name: file, text, hash: null });
      forget(file);
      go(`/models/${encodeURIComponent(file)}/patterns`);
    } catch (error) {
      this.error = error.kind === "changed" ? { message: `${name} is there already: choose another name.` } : error;
      this.update();
    }
  }

  async bring(text, fileName) {
    this.adding = "import";
    this.found = null;
    this.error = null;
    this.pasted = text;
    this.update();
    try {
      const wish = (fileName ?? "").replace(/\.[^.]*$/, "");
      this.found = await call("models/import", wish ? { text, name: wish } : { text });
      this.name = this.freeName(wish || /^model: *["']?([\w .-]+)/m.exec(this.found.text)?.[1] || "imported");
    } catch (error) {
      this.error = error;
    }
    this.update();
  }

  async bringLive() {
    this.adding = "import";
    this.found = null;
    this.error = null;
    this.update();
    try {
      this.found = await call("models/import", { live: { tables: null, sample: 500 } });
      this.name = this.freeName("tables");
    } catch (error) {
      this.error = error;
    }
    this.update();
  }

  async erase(model) {
    const parts = [["tables", "table"], ["entities", "entity", "entities"], ["patterns", "pattern"]].filter(([member]) => typeof model[member] === "number");
    const consent = await confirmed({
      title: `Delete ${model.name}?`, verb: "Delete file",
      lost: [
        `The file${model.bytes ? `, ${sizeText(model.bytes)}` : ""}${parts.map(([member, one, many]) => `, ${count(model[member], one, many)}`).join("")}. It cannot be brought back.`,
        ...(unsaved().includes(model.name) ? ["What you typed in it and did not save"] : []),
      ],
    });
    if (!consent) return;
    try {
      await call("models/delete", { name: model.name, hash: model.hash }, { consent });
      forget(model.name);
    } catch (error) {
      this.error = error.kind === "changed" ? { message: `${model.name} changed since the list was read; nothing was deleted.` } : error;
    }
    await this.load();
  }

  update() {
    if (this.isConnected) render(this.view(), this);
  }

  view() {
    const drafts = new Set(unsaved());
    return html`<div class=${this.over ? "mf-room is-over" : "mf-room"}>
      <header class="mf-head">
        <h1>Models</h1>
        ${this.writable ? html`<span class="md-actions">
          <button class="md-button is-main" aria-expanded=${this.adding === "new"} @click=${() => { this.adding = this.adding === "new" ? null : "new"; this.name = this.freeName("model"); this.found = null; this.update(); this.focusSoon("[data-name]"); }}>New model</button>
          <button class="md-button" aria-expanded=${this.adding === "import"} @click=${() => { this.adding = this.adding === "import" ? null : "import"; this.found = null; this.pasted = ""; this.update(); this.focusSoon("textarea"); }}>Import</button>
        </span>` : this.state ? html`<span class="dim md-actions">${this.state.readOnly ? "read-only" : "Start with --models DIR to save model files."}</span>` : nothing}
      </header>
      ${this.error ? html`<div class="md-error" role="alert"><p>${this.error.message}</p>${this.error.faults?.length ? html`<ul>${this.error.faults.map((fault) => html`<li>${fault.line ? `line ${fault.line}: ` : ""}${visible(fault.text)}</li>`)}</ul>` : nothing}
        ${this.models === null ? html`<button class="md-button" @click=${() => this.load()}>Retry</button>` : nothing}</div>` : nothing}
      ${this.adding === "new" ? html`<form class="mf-form" @submit=${(event) => { event.preventDefault(); this.write(this.name, this.examples?.starter ?? "format: 1\nmodel: model\n"); }}>
        <p>A commented model that passes its check, to change into yours.</p>
        <label>Name of the file <input data-name required pattern="[a-z0-9._\\-]+" .value=${this.name} @input=${(event) => { this.name = event.target.value; }}></label>
        <button class="md-button is-main">Create</button></form>` : nothing}
      ${this.adding === "import" ? this.importForm() : nothing}
      ${this.state?.signIn.needed ? html`<p class="dim">All accounts of this server share the model files: each may read, change and delete them.</p>` : nothing}
      ${this.models && this.models.length > 0 ? html`
        <h2 class="kc-hidden">Your models</h2>
        <div class="md-table-room" tabindex="0" role="region" aria-label="Model files"><table class="md-table mf-table">
        <thead><tr><th scope="col">file</th><th scope="col">what</th><th scope="col" class="is-number">tables</th><th scope="col" class="is-number">entities</th><th scope="col" class="is-number">patterns</th><th scope="col">changed</th><th scope="col"><span class="kc-hidden">actions</span></th></tr></thead>
        <tbody>${repeat(this.models, (model) => model.name, (model) => html`<tr>
          <th scope="row"><a class="md-link" href=${`/models/${encodeURIComponent(model.name)}/patterns`}>${model.name}</a>${drafts.has(model.name) ? html` <span class="mf-draft">unsaved changes</span>` : nothing}</th>
          <td>${model.faults > 0 ? html`<span class="vd-bad">✗ ${count(model.faults, "fault")}</span>` : oneLine(String(model.title ?? ""))}</td>
          <td class="is-number">${names(model.tables)}</td><td class="is-number">${names(model.entities)}</td><td class="is-number">${names(model.patterns)}</td>
          <td>${new Date(model.changedMs).toLocaleString([], { dateStyle: "medium", timeStyle: "short" })}</td>
          <td>${this.writable ? html`<button class="md-link" aria-label="Delete ${model.name}" @click=${() => this.erase(model)}>Delete…</button>` : nothing}</td></tr>`)}</tbody></table></div>`
        : this.models ? html`<p class="md-nothing">No model file yet. Start with an example, with the starter, or drop a document of another tool here.</p>` : nothing}
      ${this.examples ? html`<h2>Examples</h2>${exampleCards(this.examples.examples)}` : nothing}
    </div>`;
  }

  focusSoon(selector) {
    requestAnimationFrame(() => /** @type {HTMLElement|null} */ (this.querySelector(selector))?.focus());
  }

  importForm() {
    return html`<section class="mf-form" aria-label="Import">
      ${this.found ? html`
        <p>Read as ${SOURCES[this.found.source] ?? this.found.source}.</p>
        ${this.found.notes?.length > 0 ? html`<ul class="mf-notes">${this.found.notes.map((note) => html`<li>${prose(String(note))}</li>`)}</ul>` : html`<p class="dim">Nothing was lost or guessed.</p>`}
        <form class="mf-line" @submit=${(event) => { event.preventDefault(); this.write(this.name, this.found.text); }}>
          <label>Name of the file <input data-name required pattern="[a-z0-9._\\-]+" .value=${this.name} @input=${(event) => { this.name = event.target.value; }}></label>
          <button class="md-button is-main">Save and open</button>
          <button class="md-button" type="button" @click=${() => { this.found = null; this.update(); }}>Back</button></form>`
      : html`
        <p>A model file, a NoSQL Workbench document, CreateTable JSON, a CloudFormation template or an AWS CLI script: drop the file anywhere on this page, or paste its text.</p>
        <textarea rows="7" aria-label="Text to bring in" spellcheck="false" .value=${this.pasted} @input=${(event) => { this.pasted = event.target.value; }}></textarea>
        <p class="mf-line"><button class="md-button is-main" @click=${() => this.bring(this.pasted, undefined)}>Read it</button>
          <label class="md-button mf-file">Choose a file<input type="file" class="kc-hidden" @change=${async (event) => { const file = event.target.files[0]; if (file) this.bring(await file.text(), file.name); }}></label>
          <button class="md-button" @click=${() => this.bringLive()}>From the tables here</button></p>`}
    </section>`;
  }
}

const names = (value) => (Array.isArray(value) ? value.length : value ?? "");
/** What was read of a file with a hash, by both. @type {Map<string, any>} */
const known = new Map();

if (!customElements.get("kw-models")) customElements.define("kw-models", KwModels);
