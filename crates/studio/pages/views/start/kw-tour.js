// <kw-tour>: six steps on one example. Each says what to look at, offers one change to try, and shows what changed.

import { html, nothing, render } from "../../vendor/lit-html/lit-html.js";
import { entityMarks } from "../collections/entities.js";
import { call, go, stream } from "../model/api.js";
import { pageView } from "../model/blocks.js";
import { entitiesView } from "../model/entities.js";
import { STEPS } from "./steps.js";

const CHOSEN = "ecommerce";

export class KwTour extends HTMLElement {
  constructor() {
    super();
    this.step = 1;
    this.model = CHOSEN;
    this.text = null;
    this.outline = null;
    this.pages = new Map();
    this.tried = /** @type {any} */ (null);
    this.error = /** @type {any} */ (null);
    this.busy = false;
    this.examples = [];
  }

  /** @param {{step: number, model: string|null}} route */
  set route({ step, model }) {
    const wanted = Math.min(STEPS.length, Math.max(1, Math.floor(step) || 1));
    const other = (model ?? CHOSEN) !== this.model || this.text === null;
    const moved = wanted !== this.step;
    this.step = wanted;
    if (other) { this.model = model ?? CHOSEN; this.text = null; this.pages = new Map(); }
    if (other || moved) { this.tried = null; this.error = null; }
    this.update();
    if (other || moved) this.load();
  }

  connectedCallback() {
    this.classList.add("st");
    window.addEventListener("keydown", this.keys);
    this.update();
    if (this.text === null && !this.busy) this.load();
  }

  disconnectedCallback() {
    window.removeEventListener("keydown", this.keys);
  }

  keys = (event) => {
    if (event.key === "Escape" && !event.defaultPrevented && !document.querySelector("dialog[open]")) {
      event.preventDefault();
      this.end();
    }
  };

  end() {
    go(`/models/${encodeURIComponent(this.model)}/patterns`);
  }

  href(step) {
    return `/start?step=${step}${this.model === CHOSEN ? "" : `&model=${encodeURIComponent(this.model)}`}`;
  }

  get name() { return STEPS[this.step - 1].view; }

  async load() {
    const { model, step } = this;
    this.busy = true;
    this.update();
    try {
      if (this.text === null) {
        const [example, list] = await Promise.all([call("examples/read", { name: `${model}.yaml` }), call("examples/list", {})]);
        this.examples = list.examples;
        if (model !== this.model) return;
        this.text = example.text;
        const parsed = await call("model/parse", { text: example.text });
        this.outline = parsed.outline;
      }
      if (!this.pages.has(this.name)) {
        const name = this.name;
        const answer = await stream("model/view", { text: this.text, views: [name] }, {});
        if (model !== this.model) return;
        this.pages.set(name, answer);
      }
      this.error = null;
    } catch (error) {
      if (error.kind !== "cancelled") this.error = error;
    } finally {
      if (model === this.model && step === this.step) this.busy = false;
    }
    this.update();
    requestAnimationFrame(() => /** @type {HTMLElement|null} */ (this.querySelector("h1"))?.focus());
  }

  /** Applies the first change that the example reads with and that shows in this view. */
  async try() {
    const step = this.step;
    const { tries, view } = STEPS[step - 1];
    this.busy = true;
    this.update();
    const was = this.pages.get(view);
    for (const one of tries) {
      const text = one.edit(/** @type {any} */ (this.text), this.outline);
      if (!text || text === this.text) continue;
      try {
        const now = await stream("model/view", { text, views: [view] }, {});
        if (step !== this.step) return;
        const changes = changed(was.views[0], now.views[0]);
        if (changes.length === 0) continue;
        this.tried = { text, words: one.text, answer: now, changes, lines: changedLines(/** @type {any} */ (this.text), text) };
        break;
      } catch {
        // This example does not read with the change: the next one.
      }
    }
    this.busy = false;
    if (!this.tried) this.tried = { none: true };
    this.update();
    requestAnimationFrame(() => /** @type {HTMLElement|null} */ (this.querySelector("[data-undo]"))?.focus());
  }

  update() {
    if (this.isConnected) render(this.view(), this);
  }

  view() {
    const step = STEPS[this.step - 1];
    const answer = this.tried?.answer ?? this.pages.get(step.view) ?? null;
    const page = answer?.views[0] ?? null;
    const marks = { entities: entityMarks((this.outline?.entities ?? []).map((entity) => entity.name)), places: new Map(), goto: null };
    return html`<div class="tr">
      <section class="tr-words" aria-label="Step ${this.step} of ${STEPS.length}">
        <ol class="tr-dots">${STEPS.map((one, at) => html`<li><a href=${this.href(at + 1)} aria-current=${at + 1 === this.step ? "step" : "false"} class=${at + 1 < this.step ? "is-past" : ""}><span class="kc-hidden">Step ${at + 1}: ${one.title}</span><span aria-hidden="true">${at + 1}</span></a></li>`)}</ol>
        <p class="tr-of">Step ${this.step} of ${STEPS.length} on
          <label><span class="kc-hidden">The example</span><select @change=${(event) => go(`/start?step=${this.step}&model=${encodeURIComponent(event.target.value)}`)}>
          ${this.examples.map((one) => one.name.replace(/\.yaml$/, "")).map((name) => html`<option value=${name} ?selected=${name === this.model}>${name}</option>`)}</select></label></p>
        <h1 tabindex="-1">${step.title}</h1>
        <p class="tr-look">${step.look}</p>
        <div class="tr-try">
          ${this.tried?.none ? html`<p>Nothing to try here on this example: choose another one above.</p>`
          : this.tried ? html`
            <p><b>${this.tried.words}</b></p>
            <p class="dim">In the text:</p>
            <pre class="tr-lines">${this.tried.lines.map(([sign, line]) => html`<span class=${sign === "+" ? "is-new" : "is-old"}>${sign} ${line}\n</span>`)}</pre>
            <p class="dim">What changed in this view:</p>
            <ul class="tr-changes" role="status">${this.tried.changes.slice(0, 8).map((line) => html`<li>${line}</li>`)}${this.tried.changes.length > 8 ? html`<li>and ${this.tried.changes.length - 8} more</li>` : nothing}</ul>
            <button class="md-button" data-undo @click=${() => { this.tried = null; this.update(); }}>Take it back</button>`
          : html`<button class="md-button" ?disabled=${this.busy || !answer} @click=${() => this.try()}>Try a change</button>`}
        </div>
        <nav class="tr-nav" aria-label="Tour">
          ${this.step > 1 ? html`<a class="md-button" href=${this.href(this.step - 1)}>Back</a>` : nothing}
          ${this.step < STEPS.length ? html`<a class="md-button is-main" href=${this.href(this.step + 1)}>Next: ${STEPS[this.step].title.toLowerCase()}</a>`
            : html`<a class="md-button is-main" href=${`/models/${encodeURIComponent(this.model)}/patterns`}>Open ${this.model}</a>`}
          <button class="md-button" @click=${() => this.end()}>End <kbd>Esc</kbd></button>
        </nav>
      </section>
      <section class="tr-view" aria-busy=${this.busy} aria-label=${step.title} tabindex="0">
        ${this.error ? html`<div class="md-error" role="alert"><p>${this.error.message}</p><button class="md-button" @click=${() => this.load()}>Retry</button></div>` : nothing}
        ${page ? html`
          ${step.view === "entities" ? entitiesView({ page, relations: answer.relations ?? [], marks, moved: new Map(), move: () => {}, reset: () => {}, open: () => {} }) : nothing}
          ${pageView(page, marks, { drawings: step.view !== "entities" })}` : nothing}
      </section>
    </div>`;
  }
}

/** Cells that differ between two pages of one view, as sentences. */
function changed(was, now) {
  const lines = [];
  const tables = (page) => page.blocks.filter((block) => block.table).map((block) => block.table);
  const texts = (page) => page.blocks.filter((block) => block.text || block.list).flatMap((block) => block.list ?? [block.text]);
  const before = tables(was);
  tables(now).forEach((table, at) => {
    const old = before[at];
    if (!old) { for (const row of table.rows) lines.push(`new: ${row.join(", ")}`); return; }
    const rows = new Map(old.rows.map((row) => [row[0], row]));
    for (const row of table.rows) {
      const other = rows.get(row[0]);
      if (!other) { lines.push(`${row[0]} is new: ${row.slice(1).filter((cell) => cell !== "-").join(", ")}`); continue; }
      row.forEach((cell, column) => {
        const from = other[old.headers.indexOf(table.headers[column])];
        if (from !== cell) lines.push(`${row[0]}, ${table.headers[column]}: ${from ?? "-"} → ${cell}`);
      });
      rows.delete(row[0]);
    }
    for (const [name] of rows) lines.push(`${name} is gone`);
  });
  const old = new Set(texts(was));
  for (const text of texts(now)) if (!old.has(text)) lines.push(text);
  return lines;
}

/** The lines of the text that differ. */
function changedLines(was, now) {
  const a = was.split("\n");
  const b = now.split("\n");
  let from = 0;
  while (from < a.length && from < b.length && a[from] === b[from]) from += 1;
  let endA = a.length;
  let endB = b.length;
  while (endA > from && endB > from && a[endA - 1] === b[endB - 1]) { endA -= 1; endB -= 1; }
  return [...a.slice(from, endA).map((line) => ["−", line.trim()]), ...b.slice(from, endB).map((line) => ["+", line.trim()])];
}

if (!customElements.get("kw-tour")) customElements.define("kw-tour", KwTour);
