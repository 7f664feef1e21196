// <kw-model>: the workspace of one model: editor, what is wrong, and the views of the text as it stands.

import { html, nothing, render } from "../../vendor/lit-html/lit-html.js";
import { classMap } from "../../vendor/lit-html/directives/class-map.js";
import { keyed } from "../../vendor/lit-html/directives/keyed.js";
import "../collections/kw-collections.js";
import { entityMarks } from "../collections/entities.js";
import { runOf, sourceOf } from "../collections/from_api.js";
import { save as download } from "../collections/exports.js";
import { visible } from "../collections/typed.js";
import { confirmed } from "../confirm.js";
import { call, go, stream } from "./api.js";
import { pageView, prose } from "./blocks.js";
import { completer, hover } from "./complete.js";
import { costView } from "./cost.js";
import { designView } from "./design.js";
import { diffView } from "./diff.js";
import { entitiesView } from "./entities.js";
import { findingsView } from "./findings.js";
import { heatView } from "./heat.js";
import { patternsView } from "./patterns.js";
import { simulateView } from "./simulate.js";
import { clock, count, seconds } from "./words.js";
import { forget, workspace } from "./workspace.js";

/** The steps of modelling, each with its views: their names in the address, and the words on their tabs. */
export const STEPS = /** @type {[string, [string, string][]][]} */ ([
  ["Describe", [["edit", "Text"], ["patterns", "Patterns"], ["entities", "Entities"]]],
  ["Choose keys", [["design", "Design"], ["keys", "Keys"], ["indexes", "Indexes"], ["copies", "Copies"], ["collections", "Collections"]]],
  ["Check", [["validation", "Validation"], ["findings", "Findings"], ["advice", "Advice"], ["checklist", "Checklist"]]],
  ["Price and load", [["cost", "Cost"], ["heat", "Heat"], ["simulate", "Simulate"]]],
  ["Change", [["diff", "Diff"]]],
]);
/** The views of all steps. */
export const VIEWS = STEPS.flatMap(([, views]) => views);
const PAGE_OF = { copies: "denormalisation" };

/** Targets of an export, as the commands name them. */
const TARGETS = [
  ["workbench", "NoSQL Workbench document"], ["create-table", "CreateTable JSON"], ["cli", "AWS CLI script"],
  ["cloudformation", "CloudFormation (YAML)"], ["cloudformation-json", "CloudFormation (JSON)"],
];

/** What is the same for all models, read once. */
const shared = { schema: /** @type {any} */ (null), rules: /** @type {Map<string, any>|null} */ (null), state: /** @type {any} */ (null) };

async function schemaOf() {
  shared.schema ??= await call("model/schema", {});
  return shared.schema;
}

export class KwModel extends HTMLElement {
  constructor() {
    super();
    /** @type {import("./workspace.js").Workspace|null} */ this.ws = null;
    this.shown = "patterns";
    this.pattern = null;
    this.compare = null;
    this.open = new Set();
    this.why = new Set();
    this.by = "severity";
    this.settings = {};
    this.design = {};
    this.moved = new Map();
    this.rate = 1000;
    this.texts = false;
    this.sides = { before: "saved", after: "text" };
    this.others = new Map();
    this.heat = { writes: "5000", answer: null };
    /** @type {any} */ this.pictureOf = null;
    /** @type {{faults: any[], marks: any[]}} */ this.marked = { faults: [], marks: [] };
    /** The profile as it stands, and that of the answer that is shown. */
    this.traffic = { profile: /** @type {string|null} */ (null), price: "", shown: "" };
    this.note = /** @type {any} */ (null);
    this.conflict = null;
    this.naming = null;
    this.menu = false;
    this.withItems = true;
    this.taken = null;
    /** The proposed design, and the text it is of. */
    this.proposal = /** @type {any} */ (null);
    this.proposalOf = /** @type {string|null} */ (null);
    this.listening = () => { this.update(); };
    this.files = [];
    this.ticking = 0;
  }

  connectedCallback() {
    this.classList.add("md");
    import("./kw-editor.js").then(() => this.dress());
    window.addEventListener("keydown", this.keys);
    window.addEventListener("beforeunload", this.leaving);
    this.ticking = window.setInterval(() => { if (this.ws?.busy) this.update(); }, 500);
    this.update();
  }

  disconnectedCallback() {
    window.removeEventListener("keydown", this.keys);
    window.removeEventListener("beforeunload", this.leaving);
    clearInterval(this.ticking);
    this.ws?.removeEventListener("change", this.listening);
    this.ws = null;
  }

  keys = (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.shiftKey && event.key === "s" && this.contains(document.activeElement)) {
      event.preventDefault();
      this.save();
    }
    if (event.key === "Escape" && (this.menu || this.naming !== null)) {
      this.menu = false;
      this.naming = null;
      this.update();
    }
  };

  leaving = (event) => {
    if (this.ws?.dirty && !this.ws.example) event.preventDefault();
  };

  /** @param {{name: string, view: string, pattern: string|null, compare: string|null}} route */
  set route(route) {
    const view = VIEWS.some(([id]) => id === route.view) ? route.view : "patterns";
    const ws = workspace(route.name);
    if (ws !== this.ws) {
      this.ws?.removeEventListener("change", this.listening);
      this.ws = ws;
      ws.addEventListener("change", this.listening);
      ws.wants = () => this.wants();
      this.note = null;
      this.conflict = null;
      this.moved = new Map();
      this.open = new Set();
      this.settings = {};
      this.taken = null;
      this.proposal = null;
      this.traffic = { profile: localStorage.getItem(`kw-profile:${route.name}`), price: "", shown: "" };
      ws.read().then(() => { this.wants(); this.update(); });
      schemaOf().then(() => this.dress()).catch(() => {});
      call("state", {}).then((state) => { shared.state = state; this.update(); }).catch(() => {});
    }
    ws.wants = () => this.wants();
    this.shown = view;
    this.pattern = route.pattern;
    if (route.compare) { this.sides = { before: route.compare, after: "text" }; }
    this.update();
    this.wants();
  }

  dress() {
    const editor = /** @type {any} */ (this.querySelector("kw-editor"));
    if (!editor || !shared.schema || editor.completer) return;
    editor.completer = completer(shared.schema, () => this.ws?.outline);
    editor.hover = hover(shared.schema);
  }

  get marks() {
    const places = new Map();
    for (const pattern of this.ws?.outline?.patterns ?? []) places.set(pattern.id, pattern);
    return {
      entities: entityMarks((this.ws?.outline?.entities ?? []).map((entity) => entity.name)),
      places,
      goto: (line, column) => this.goto(line, column),
    };
  }

  goto(line, column) {
    if (window.innerWidth < 900 && this.shown !== "edit") this.show("edit");
    requestAnimationFrame(() => requestAnimationFrame(() => /** @type {any} */ (this.querySelector("kw-editor"))?.goto(line, column)));
  }

  href(view, more = "") {
    return `/models/${encodeURIComponent(this.ws?.name ?? "")}/${view}${more}`;
  }

  show(view, more = "") {
    go(this.href(view, more));
  }

  // What the shown view needs, one call after another; each is kept with the text it is of.

  async wants() {
    const ws = this.ws;
    if (!ws || ws.text === null) return;
    if (ws.faults.length > 0 && ws.parsed === ws.text) return;
    const turn = ++ws.turn;
    const still = () => turn === ws.turn && ws === this.ws;
    await ws.need("check", "model/check", {});
    if (!still() || ws.error("check")) return;
    const view = this.shown;
    if (view === "findings") { this.learnRules(); return; }
    if (view === "collections") {
      await ws.need(this.collectionsKey(), "model/collections", this.pattern ? { pattern: this.pattern } : {});
      return;
    }
    if (view === "heat") { await ws.need("heat", "model/heat", {}); if (!this.heat.answer) this.ask(this.heat.writes); return; }
    if (view === "simulate") { await this.wantProfile(ws); return; }
    if (view === "cost") { await ws.need(this.costKey(), "model/cost", { settings: this.settings }); return; }
    if (view === "design" || view === "diff") {
      if (view === "diff") await this.wantDiff();
      return;
    }
    await ws.need("view", "model/view", {});
    if (!still()) return;
    if (view === "patterns") await ws.need("cost:{}", "model/cost", { settings: {} });
  }

  collectionsKey() { return `collections:${this.pattern ?? ""}`; }
  costKey() { return `cost:${JSON.stringify(this.settings)}`; }

  async learnRules() {
    if (shared.rules) return;
    const answer = await call("model/explain", {});
    shared.rules = new Map(answer.rules.map((rule) => [rule.id, rule]));
    this.update();
  }

  async ask(writes) {
    this.heat = { writes, answer: null };
    this.update();
    if (!/^[1-9]\d{0,8}$/.test(writes)) return;
    const answer = await stream("model/heat", { writes: Number(writes) }, {}).catch(() => null);
    if (this.heat.writes === writes) { this.heat = { writes, answer }; this.update(); }
  }

  // Files

  async save() {
    const ws = this.ws;
    if (!ws || ws.text === null) return;
    if (ws.saved === null) { this.naming = ws.name.endsWith(".yaml") ? ws.name : `${ws.name}.yaml`; this.update(); this.focusSoon("[data-naming] input"); return; }
    if (!ws.dirty) return;
    try {
      await ws.save();
      this.conflict = null;
      this.say("good", "Saved.");
    } catch (error) {
      if (error.kind === "changed") { this.conflict = error.more.theirs ?? { text: "", hash: null }; this.update(); }
      else this.say("bad", error.message);
    }
  }

  async saveAs(name, text = this.ws?.text) {
    const file = name.endsWith(".yaml") ? name : `${name}.yaml`;
    try {
      await call("models/write", { name: file, text, hash: null });
    } catch (error) {
      this.say("bad", error.kind === "changed" ? `${file} is there already: choose another name.` : error.message);
      return false;
    }
    this.naming = null;
    forget(file);
    return file;
  }

  say(kind, text) {
    this.note = { kind, text, of: this.ws?.text };
    this.update();
  }

  focusSoon(selector) {
    requestAnimationFrame(() => /** @type {HTMLElement|null} */ (this.querySelector(selector))?.focus());
  }

  async create() {
    const ws = this.ws;
    if (!ws) return;
    this.note = { kind: "busy", text: "Making the tables…" };
    this.update();
    const { text } = ws;
    try {
      const made = await stream("model/create", { text, items: this.withItems }, {});
      this.note = { kind: "good", of: text, text: `Made ${count(made.tables.length, "table")}, ${count(made.items, "item")}.`, tables: made.tables, notes: made.notes };
      for (const table of made.tables) localStorage.setItem(`kw-model-of:${nameIn(table)}`, ws.name);
      window.dispatchEvent(new CustomEvent("kw-tables"));
    } catch (error) {
      const part = error.more?.made;
      this.note = { kind: "bad", text: error.faults?.length ? error.faults.map((fault) => fault.text).join("\n") : error.message, notes: part && part.tables?.length > 0 ? [`Made before that: ${part.tables.join(", ")}, ${count(part.items ?? 0, "item")}.`] : [] };
    }
    this.update();
  }

  async take(target) {
    this.menu = false;
    const text = this.ws?.text;
    try {
      const answer = await call("models/export", { text, target });
      download(answer.file, "text/plain", answer.text);
      this.note = { kind: "good", of: text, text: `${answer.file} made.`, notes: answer.notes };
    } catch (error) {
      this.note = { kind: "bad", text: error.message };
    }
    this.update();
  }

  // Design and diff

  async runDesign() {
    const ws = this.ws;
    if (!ws) return;
    const settings = JSON.stringify(this.design);
    this.taken = null;
    ws.errors.delete(`design:${settings}`);
    const { multiAttributeKeys, ...options } = this.design;
    await ws.need(`design:${settings}`, "model/design", { ...options, ...(multiAttributeKeys === false ? { noMultiAttributeKeys: true } : {}), explain: true });
    const answer = ws.last(`design:${settings}`);
    if (answer && ws.fresh(`design:${settings}`)) {
      this.proposal = answer;
      this.proposalOf = ws.text;
      this.update();
      await this.judge(answer);
    }
  }

  /** The proposal as the views see it: its keys and its bill, next to those of the text. */
  async judge(answer) {
    const ws = this.ws;
    if (!ws) return;
    try {
      const keys = await stream("model/view", { text: answer.model, views: ["keys", "indexes"] }, {});
      await ws.need("view", "model/view", {});
      await ws.need("cost:{}", "model/cost", { settings: {} });
      answer.shown = { keys, cost: answer.bill };
    } catch {
      // The words of the design stand without the comparison.
    }
    this.update();
  }

  async takeDesign() {
    const base = (this.ws?.name ?? "model").replace(/\.yaml$/, "");
    const names = new Set((await call("models/list", {})).models.map((one) => one.name));
    let file = `${base}-design.yaml`;
    for (let at = 2; names.has(file); at += 1) file = `${base}-design-${at}.yaml`;
    const taken = await this.saveAs(file, this.proposal.model);
    if (taken) { this.taken = taken; this.update(); }
  }

  // Simulation

  /** A model without a profile gets one to begin with; the charts come with the view. */
  async wantProfile(ws) {
    import("../operate/kw-chart.js");
    if (this.traffic.profile !== null) return;
    const { profile } = await call("model/simulate/starter", { text: ws.text }).catch(() => ({ profile: "" }));
    if (ws === this.ws && this.traffic.profile === null) { this.traffic = { ...this.traffic, profile }; this.update(); }
  }

  setProfile(profile) {
    if (profile === this.traffic.profile) return;
    this.traffic = { ...this.traffic, profile };
    localStorage.setItem(`kw-profile:${this.ws?.name}`, profile);
    this.update();
  }

  /** Asks before a profile that was typed goes. */
  mayDropProfile(title, verb) {
    if (localStorage.getItem(`kw-profile:${this.ws?.name}`) === null) return Promise.resolve(true);
    return confirmed({ title, verb, lost: [`The profile as you typed it: ${count((this.traffic.profile ?? "").trimEnd().split("\n").length, "line")}. “Save as a file” keeps it.`] });
  }

  async resetProfile() {
    if (!await this.mayDropProfile("Reset the traffic profile?", "Reset profile")) return;
    localStorage.removeItem(`kw-profile:${this.ws?.name}`);
    this.traffic = { ...this.traffic, profile: null };
    if (this.ws) this.wantProfile(this.ws);
  }

  simulateKey() { return `simulate:${this.traffic.price}:${this.traffic.profile}`; }

  async runSimulation() {
    const ws = this.ws;
    if (!ws || this.traffic.profile === null) return;
    const key = this.simulateKey();
    const { profile, price } = this.traffic;
    ws.errors.delete(key);
    await ws.need(key, "model/simulate", { profile, ...(price ? { prices: price } : {}) });
    if (ws.fresh(key)) {
      // One answer is kept: it has every minute of every table.
      for (const other of [...ws.kept.keys()]) if (other.startsWith("simulate:") && other !== key) ws.kept.delete(other);
      this.traffic = { ...this.traffic, shown: key };
    }
    this.update();
  }

  simulation(ws) {
    const { profile, price, shown } = this.traffic;
    if (profile === null) return html`<div aria-busy="true" class="op-wait"></div>`;
    const key = this.simulateKey();
    const error = ws.error(key);
    const faults = error?.more?.of === "profile" ? error.faults ?? [] : [];
    return simulateView({
      name: ws.name, profile, edit: (text) => this.setProfile(text), run: () => this.runSimulation(),
      reset: () => this.resetProfile(),
      open: async (file) => { if (await this.mayDropProfile(`Open ${visible(file.name)} in the place of the profile?`, "Open profile")) this.setProfile(await file.text()); },
      running: ws.busy?.key.startsWith("simulate:") ? ws.busy : null, stop: () => ws.busy?.stop(),
      answer: shown ? ws.last(shown) : null, fresh: shown === key && ws.fresh(shown), error,
      prices: shared.state?.prices ?? [], price, setPrice: (name) => { this.traffic = { ...this.traffic, price: name }; this.update(); },
      marks: this.profileMarks(faults),
    });
  }

  /** The same list while the faults are the same, so that the editor keeps its marks. */
  profileMarks(faults) {
    if (this.marked.faults !== faults && !(faults.length === 0 && this.marked.faults.length === 0)) {
      this.marked = { faults, marks: faults.map((fault) => ({ line: fault.line, column: fault.column, severity: "error", message: fault.text })) };
    }
    return this.marked.marks;
  }

  sidesOf() {
    const ws = this.ws;
    const list = [];
    if (ws?.saved) list.push({ id: "saved", label: "as saved" });
    else if (ws?.example) list.push({ id: "saved", label: "the example" });
    list.push({ id: "text", label: "as edited" });
    if (this.proposal) list.push({ id: "proposal", label: "the proposal" });
    list.push({ id: "live", label: "the tables here" });
    for (const name of this.files) if (name !== ws?.name) list.push({ id: `file:${name}`, label: name });
    for (const name of this.examples ?? []) list.push({ id: `example:${name}`, label: `example ${name}` });
    return list;
  }

  async sideOf(id) {
    const ws = this.ws;
    if (id === "text") return { text: ws?.text };
    if (id === "saved") return { text: ws?.saved ? ws.saved.text : ws?.original };
    if (id === "proposal") return { text: this.proposal?.model };
    if (id === "live") return { live: { tables: null } };
    if (!this.others.has(id)) {
      const [kind, name] = id.split(/:(.*)/);
      const read = await call(kind === "file" ? "models/read" : "examples/read", { name });
      this.others.set(id, read.text);
    }
    return { text: this.others.get(id) };
  }

  diffKey() { return `diff:${this.sides.before}:${this.sides.after}:${this.rate}`; }

  async wantDiff() {
    const ws = this.ws;
    if (!ws) return;
    if (this.files.length === 0 && !this.examples) {
      const [models, examples] = await Promise.all([call("models/list", {}), call("examples/list", {})]);
      this.files = models.models.map((one) => one.name);
      this.examples = examples.examples.map((one) => one.name);
      this.update();
    }
    const known = new Set(this.sidesOf().map((side) => side.id));
    if (!known.has(this.sides.before)) {
      const named = [`file:${this.sides.before}`, `file:${this.sides.before}.yaml`, `example:${this.sides.before}`, `example:${this.sides.before}.yaml`].find((id) => known.has(id));
      this.sides = { ...this.sides, before: named ?? this.sidesOf()[0].id };
    }
    if (!known.has(this.sides.after)) this.sides = { ...this.sides, after: "text" };
    try {
      const [before, after] = await Promise.all([this.sideOf(this.sides.before), this.sideOf(this.sides.after)]);
      this.pair = before.text !== undefined && after.text !== undefined ? { a: before.text, b: after.text } : null;
      await ws.need(this.diffKey(), "model/diff", {}, () => ({ before, after, rate: this.rate }));
    } catch (error) {
      ws.errors.set(this.diffKey(), { error, of: /** @type {string} */ (ws.text) });
    }
    this.update();
  }

  update() {
    if (!this.isConnected) return;
    render(this.view(), this);
    this.dress();
  }

  view() {
    const ws = this.ws;
    if (!ws) return nothing;
    if (ws.missing) {
      return html`<div class="md-empty"><h1>${ws.name}</h1><p>There is no model file and no example of that name.</p>
        <p><a class="md-button is-main" href="/models">To the models</a></p></div>`;
    }
    if (ws.failed && ws.text === null) {
      return html`<div class="md-empty"><h1>${ws.name}</h1><p role="alert">${ws.failed.message}</p>
        <p><button class="md-button is-main" @click=${() => { ws.failed = null; ws.read(); }}>Retry</button></p></div>`;
    }
    if (ws.text === null) return html`<div class="md-empty" aria-busy="true"></div>`;
    const wide = this.shown === "edit";
    return html`
      ${this.head(ws)}
      ${this.note ? this.noteView() : nothing}
      ${this.conflict ? this.conflictView(ws) : nothing}
      <div class=${classMap({ "md-body": true, "is-edit": wide })}>
        <section class="md-left" aria-label="Text of the model">
          ${keyed(ws, html`<kw-editor .value=${ws.text} .label=${`Text of ${ws.name}`} .diagnostics=${this.diagnostics(ws)}
            @change=${(event) => ws.edit(event.detail.value)} @save=${() => this.save()}></kw-editor>`)}
          ${this.faultStrip(ws)}
        </section>
        <section class="md-right">
          <nav class="md-tabs" aria-label="Views of the model">${STEPS.map(([step, views]) => html`<div class="md-step" role="group" aria-label=${step}><span class="md-step-name" aria-hidden="true">${step}</span><div>${views.map(([id, text]) => html`
            <a href=${this.href(id)} class="md-tab" aria-current=${this.shown === id ? "page" : "false"}>${text}${this.badge(id, ws)}</a>`)}</div></div>`)}</nav>
          ${this.stage(ws)}
        </section>
      </div>`;
  }

  /** The same list while nothing it shows changed, so that the editor keeps its marks. */
  diagnostics(ws) {
    const marks = ws.marks();
    const key = JSON.stringify(marks);
    if (this.lastMarks?.key !== key) this.lastMarks = { key, marks };
    return this.lastMarks.marks;
  }

  badge(id, ws) {
    const check = ws.last("check");
    const { kind, faults } = ws.standing;
    if (id === "findings" && kind === "faults") return html`<span class="md-badge is-bad">${faults}</span>`;
    if (!check) return nothing;
    if (id === "findings") {
      const errors = check.findings.filter((one) => one.severity === "error").length;
      return check.findings.length > 0 ? html`<span class=${errors > 0 ? "md-badge is-bad" : "md-badge"}>${check.findings.length}</span>` : nothing;
    }
    if (id === "patterns") {
      const failed = check.patterns.filter((one) => one.complaints.length > 0).length;
      return failed > 0 ? html`<span class="md-badge is-bad">${failed}</span>` : nothing;
    }
    return nothing;
  }

  head(ws) {
    const readOnly = shared.state && (shared.state.readOnly || shared.state.models?.writable === false);
    const status = ws.saved === null
      ? ws.example ? (ws.touched ? "example, changed, not saved" : "example, not a file yet") : "not saved"
      : ws.dirty ? "changed" : `saved ${ws.savedAt ? clock(ws.savedAt) : ""}`;
    return html`<header class="md-head">
      <a class="md-back" href="/models">Models</a><span class="md-slash" aria-hidden="true">/</span>
      <h1>${ws.name}</h1>
      <span class=${classMap({ "md-status": true, "is-dirty": ws.dirty })} role="status">${status}</span>
      ${this.naming === null ? html`
        <span class="md-actions">
          ${readOnly ? nothing : html`<button class="md-button" ?disabled=${ws.saved !== null && !ws.dirty} @click=${() => this.save()}>${ws.saved === null ? "Save as a file" : "Save"}</button>`}
          <span class="md-menu-room">
            <button class="md-button" aria-expanded=${this.menu} aria-haspopup="true" @click=${() => { this.menu = !this.menu; this.update(); if (this.menu) this.focusSoon(".md-menu button"); }}>Export ▾</button>
            ${this.menu ? html`<div class="md-menu" role="group" aria-label="Export as">
              <button @click=${() => { this.menu = false; download(ws.name.endsWith(".yaml") ? ws.name : `${ws.name}.yaml`, "text/yaml", ws.text ?? ""); this.update(); }}>Model file</button>
              ${TARGETS.map(([id, text]) => html`<button @click=${() => this.take(id)}>${text}</button>`)}</div>` : nothing}
          </span>
          ${shared.state?.readOnly ? nothing : html`
            <label class="md-check"><input type="checkbox" .checked=${this.withItems} @change=${(event) => { this.withItems = event.target.checked; }}> with items</label>
            <button class="md-button is-main" @click=${() => this.create()}>Create these tables here</button>`}
        </span>`
      : html`<form class="md-actions" data-naming @submit=${async (event) => {
          event.preventDefault();
          const file = await this.saveAs(this.naming);
          if (file) { const view = this.shown; forget(ws.name); go(`/models/${encodeURIComponent(file)}/${view}`); }
        }}>
          <label>Name of the file <input required pattern="[a-z0-9._\\-]+" .value=${this.naming} @input=${(event) => { this.naming = event.target.value; }}></label>
          <button class="md-button is-main">Save</button>
          <button class="md-button" type="button" @click=${() => { this.naming = null; this.update(); }}>Cancel</button>
        </form>`}
    </header>`;
  }

  noteView() {
    const note = this.note;
    const isOld = note.kind === "good" && note.of !== this.ws?.text;
    return html`<div class="md-note is-${isOld ? "old" : note.kind}" role=${note.kind === "bad" ? "alert" : "status"}>
      <div><p>${note.text}${note.tables ? html` ${note.tables.map((name, at) => html`${at > 0 ? ", " : ""}<a class="md-link" href=${this.tableHref(nameIn(name))}>${nameIn(name)}</a>`)}` : nothing}</p>
      ${note.notes?.length > 0 ? html`<ul>${note.notes.map((line) => html`<li>${prose(String(line))}</li>`)}</ul>` : nothing}</div>
      <button class="md-close" aria-label="Close the message" @click=${() => { this.note = null; this.update(); }}>✕</button></div>`;
  }

  tableHref(name) {
    const region = document.documentElement.dataset.region ?? shared.state?.place?.region ?? "us-east-1";
    return `/${region}/t/${encodeURIComponent(name)}/items`;
  }

  conflictView(ws) {
    return html`<section class="md-conflict" aria-label="The file changed on disk" role="alertdialog">
      <p><b>The file changed on disk since it was read.</b> Nothing was overwritten: on the left the file, on the right your text.</p>
      <kw-merge .a=${this.conflict.text} .b=${ws.text}></kw-merge>
      <p class="md-actions">
        <button class="md-button" @click=${async () => { if (await this.replaces("Take the file?", "Take the file", "Your text, the right one", ws.text)) { ws.saved = { ...this.conflict }; this.conflict = null; ws.take(ws.saved.text); } }}>Take the file…</button>
        <button class="md-button" @click=${async () => { if (await this.replaces(`Overwrite ${ws.name}?`, "Overwrite file", "The text of the file, the left one", this.conflict.text)) { ws.saved = { ...this.conflict }; this.conflict = null; await this.save(); } }}>Save mine over it…</button>
        <button class="md-button" @click=${() => { this.conflict = null; this.update(); }}>Go on editing</button></p></section>`;
  }

  /** Asks before one of two texts goes. */
  replaces(title, verb, which, text) {
    return confirmed({ title, verb, lost: [`${which}: ${count(text.trimEnd().split("\n").length, "line")}. It cannot be brought back.`] });
  }

  faultStrip(ws) {
    const marks = this.diagnostics(ws);
    const errors = marks.filter((mark) => mark.severity === "error");
    const check = ws.last("check");
    const kept = ws.kept.get("check");
    const busy = ws.busy;
    return html`<div class="md-strip" aria-live="polite">
      ${errors.slice(0, 3).map((mark) => html`<button class="md-fault" @click=${() => this.goto(mark.line, mark.column)}>
        <span class="md-fault-line">${mark.line}</span><span>${mark.message.split("\n")[0]}</span></button>`)}
      ${errors.length > 3 ? html`<a class="md-fault" href=${this.href("findings")}>and ${errors.length - 3} more</a>` : nothing}
      <div class="md-strip-line">
        ${busy && Date.now() - busy.since > 1000
          ? html`<span>${busy.progress ? `${busy.progress.what}${busy.progress.of ? ` ${busy.progress.done.toLocaleString("en")} of ${busy.progress.of.toLocaleString("en")}` : ""}` : busy.what}…</span>
            ${busy.progress?.of ? html`<progress max=${busy.progress.of} .value=${busy.progress.done} aria-label=${busy.what}></progress>` : nothing}
            ${Date.now() - busy.since > 3000 ? html`<button class="md-link" @click=${() => busy.stop()}>Cancel</button>` : nothing}`
          : check
            ? ws.fresh("check") ? html`<span>${summary(check)}</span><span class="md-took">check took ${seconds(kept.took)}</span>`
              : html`<span>${WORDS[ws.standing.kind](ws.standing)}</span><span class="md-took is-stale">an older text, at ${clock(kept.at)}: ${summary(check)}</span>`
            : html`<span>${errors.length > 0 ? count(errors.length, "fault") : ""}</span>`}
      </div></div>`;
  }

  /** The stage: the view of this text; of an older one, greyed and dated, while there is none. */
  stage(ws) {
    const key = this.keyOf();
    const error = key ? ws.error(key) ?? ws.error("check") : null;
    // Where there is no answer yet to what is asked, that to a simpler question is shown.
    const shown = key === null ? null : [key, ...(FALLBACKS[this.shown] ?? [])].find((one) => ws.last(one) !== null) ?? null;
    const has = key === null || shown !== null;
    const stale = shown !== null && !ws.fresh(shown);
    const kept = shown === null ? null : ws.kept.get(shown);
    const broken = ws.faults.length > 0 && ws.parsed === ws.text;
    return html`
      ${stale && (broken || error) ? html`<p class="md-stale">${broken ? html`The text has ${count(ws.faults.length, "fault")}.` : "The text could not be run."} What you see is of an older text, at ${clock(/** @type {any} */ (kept).at)}.</p>` : nothing}
      ${error && !broken ? html`<div class="md-error" role="alert"><p>${error.faults?.length ? html`<b>The model does not run:</b>` : html`<b>${error.kind}:</b> ${error.message}`}</p>
        ${error.faults?.length ? html`<ul>${error.faults.map((fault) => html`<li><button class="md-link" @click=${() => this.goto(fault.line, fault.column)}>line ${fault.line}</button> ${prose(fault.text)}</li>`)}</ul>` : nothing}
        <button class="md-button" @click=${() => { ws.errors.clear(); this.wants(); }}>Retry</button></div>` : nothing}
      ${!has && broken && this.shown !== "findings" && this.shown !== "edit" ? html`<div class="md-empty"><p>The text does not read yet.</p><ul>${ws.faults.slice(0, 5).map((fault) => html`<li><button class="md-link" @click=${() => this.goto(fault.line, fault.column)}>line ${fault.line}</button> ${prose(fault.text)}</li>`)}</ul></div>` : nothing}
      <div class=${classMap({ "md-stage": true, "is-stale": stale, "is-full": this.shown === "collections" })} aria-busy=${!!ws.busy} tabindex="0" role="region" aria-label=${VIEWS.find(([id]) => id === this.shown)?.[1] ?? "View"}>
        ${!has && !broken && !error && ws.busy && Date.now() - ws.busy.since > 1000 ? html`<p class="dim" role="status">Running the model…</p>` : nothing}
        ${keyed(this.shown, this.content(ws))}
      </div>`;
  }

  keyOf() {
    switch (this.shown) {
      case "edit": return null;
      case "findings": return "check";
      case "patterns": return "check";
      case "collections": return this.collectionsKey();
      case "cost": return this.costKey();
      case "heat": return "heat";
      case "simulate": return null;
      case "design": return null;
      case "diff": return null;
      default: return "view";
    }
  }

  pageOf(name) {
    return this.ws?.last("view")?.views.find((view) => view.name === name) ?? null;
  }

  content(ws) {
    const marks = this.marks;
    const toggle = (set) => (id) => { if (set.has(id)) set.delete(id); else set.add(id); this.update(); };
    switch (this.shown) {
      case "edit": return this.editSide(ws);
      case "patterns":
        return patternsView({
          page: this.pageOf("patterns"), check: ws.last("check"), cost: ws.last("cost:{}"), marks, open: this.open,
          toggle: toggle(this.open), stale: !ws.fresh("check"),
          draw: (id) => this.show("collections", `?pattern=${encodeURIComponent(id)}`),
        });
      case "entities": {
        const page = this.pageOf("entities");
        return page ? html`${entitiesView({
          page, relations: ws.last("view").relations ?? [], marks, moved: this.moved,
          move: (name, x, y) => { this.moved = new Map(this.moved).set(name, { x, y }); this.update(); },
          reset: () => { this.moved = new Map(); this.update(); },
          open: (name) => { const entity = ws.outline?.entities.find((one) => one.name === name); if (entity) this.goto(entity.line, entity.column); },
        })}${pageView(page, marks, { drawings: (ws.last("view").relations ?? []).length === 0 })}` : nothing;
      }
      case "collections": return this.collectionsView(ws);
      case "findings":
        return findingsView({
          check: ws.last("check"), faults: ws.parsed === ws.text ? ws.faults : [], rules: shared.rules, open: this.why, toggle: toggle(this.why),
          goto: marks.goto, by: this.by, sort: (by) => { this.by = by; this.update(); },
        });
      case "cost":
        return costView({
          cost: ws.last(this.costKey()) ?? ws.last("cost:{}"),
          texts: new Map((ws.outline?.patterns ?? []).map((pattern) => [pattern.id, pattern.text])),
          settings: this.settings, prices: shared.state?.prices ?? [],
          set: (name, value) => {
            const next = { ...this.settings, [name]: value };
            if (value === undefined || value === false) delete next[name];
            this.settings = next;
            this.update();
            this.wants();
          },
          goto: (id) => { const place = marks.places.get(id); if (place) marks.goto(place.line, place.column); },
        });
      case "simulate": return this.simulation(ws);
      case "heat":
        return heatView({ heat: ws.last("heat"), marks, calculator: { ...this.heat, ask: (writes) => this.ask(writes) } });
      case "design":
        return designView({
          answer: this.proposal, fresh: this.proposalOf === ws.text, settings: this.design, running: !!ws.busy && ws.busy.what.startsWith("design"),
          set: (name, value) => { this.design = { ...this.design, [name]: value }; this.update(); },
          run: () => this.runDesign(), take: () => this.takeDesign(), taken: this.taken, marks,
          now: { keys: ws.last("view"), cost: ws.last("cost:{}"), passes: ws.fresh("check") ? ws.last("check").passes : null, unanswered: (ws.last("check")?.patterns ?? []).filter((one) => one.complaints.length > 0).length },
          compare: () => { this.sides = { before: "text", after: "proposal" }; this.show("diff"); },
          tables: (ws.outline?.tables ?? []).map((table) => table.name),
          error: ws.error(`design:${JSON.stringify(this.design)}`),
        });
      case "diff":
        return diffView({
          answer: ws.fresh(this.diffKey()) ? ws.last(this.diffKey()) : null, error: ws.error(this.diffKey()),
          before: this.sides.before, after: this.sides.after, sides: this.sidesOf(),
          choose: (side, id) => { this.sides = { ...this.sides, [side]: id }; ws.errors.delete(this.diffKey()); this.update(); this.wants(); },
          rate: this.rate, setRate: (rate) => { this.rate = rate; this.update(); this.wants(); },
          texts: this.texts, showTexts: (texts) => { this.texts = texts; this.update(); }, pair: this.pair ?? null,
        });
      default: {
        const page = this.pageOf(PAGE_OF[this.shown] ?? this.shown);
        if (!page) return nothing;
        const design = `/models/${encodeURIComponent(this.ws?.name ?? "")}/design`;
        return html`${pageView(page, marks)}${this.shown === "keys" ? html`<p>Whether other keys are cheaper, and by how much: <a class="md-link" href=${design}>Design</a>.</p>` : nothing}`;
      }
    }
  }

  /** Next to the text alone: what the check says in short of the text as it stands. */
  editSide(ws) {
    const check = ws.last("check");
    const { standing } = ws;
    return check || standing.kind !== "checking" ? html`<div class="md-page">
      <h2 class=${standing.kind === "passes" ? "md-pass" : standing.kind === "checking" ? "" : "md-fail"}>${WORDS[standing.kind](standing)}</h2>
      ${ws.fresh("check") ? html`<p>${summary(check)}</p>` : check ? html`<p class="dim">The last check was of an older text, at ${clock(ws.kept.get("check")?.at)}: ${summary(check)}</p>` : nothing}
      <p class="dim">Ctrl+S saves, F8 goes to the next fault, Ctrl+Space completes, Ctrl+F finds. Escape, then Tab leaves the editor.</p>
    </div>` : nothing;
  }

  collectionsView(ws) {
    const answer = ws.last(this.collectionsKey()) ?? ws.last("collections:");
    if (!answer) return nothing;
    if (this.pictureOf?.answer !== answer) {
      const source = sourceOf(answer, ws.name);
      const made = runOf(answer.pattern, source);
      this.pictureOf = { answer, source: made.source, run: made.run };
    }
    const { source, run } = this.pictureOf;
    const pattern = answer.pattern;
    const strip = html`<div class="kc-strip">
      <label class="kc-pattern">Pattern <select @change=${(event) => this.show("collections", event.target.value ? `?pattern=${encodeURIComponent(event.target.value)}` : "")}>
        <option value="" ?selected=${!this.pattern}>none: just the items</option>
        ${answer.patterns.map((one) => html`<option value=${one.id} ?selected=${one.id === this.pattern}>${one.id} ${one.text ?? ""}</option>`)}</select></label>
      ${pattern ? patternStrip(pattern) : nothing}
    </div>`;
    if (source.items.length === 0) {
      return html`${strip}<div class="md-empty"><p>The model has no items to draw. Let it make some:</p>
        <pre class="md-code">data:\n  generate: {seed: 1, sample: 20}</pre>
        <button class="md-button is-main" @click=${() => {
          const editor = /** @type {any} */ (this.querySelector("kw-editor"));
          editor?.insertAfter(ws.text?.split("\n").length ?? 1, "data:\n  generate: {seed: 1, sample: 20}");
        }}>Put it in</button></div>`;
    }
    return html`<kw-collections .source=${source} .result=${run} .controls=${strip}></kw-collections>`;
  }
}

/** What is said of the text as it stands. @type {Record<string, (standing: {faults: number}) => string>} */
const WORDS = {
  passes: () => "The check passes", fails: () => "The check fails", checking: () => "Not checked yet", failed: () => "The check did not run",
  faults: ({ faults }) => `The text has ${count(faults, "fault")} and is not checked`,
};

/** Answers that a view shows until it has its own. */
const FALLBACKS = { cost: ["cost:{}"], collections: ["collections:"] };

const nameIn = (table) => (typeof table === "string" ? table : table.name);

function patternStrip(pattern) {
  const failed = (pattern.refusals?.length ?? 0) > 0 || (pattern.complaints?.length ?? 0) > 0;
  return html`<div class="kc-run" role="status">
    ${pattern.operation ? html`<span><b>${pattern.operation}</b> on ${pattern.index ?? pattern.table}</span>` : nothing}
    ${pattern.key ? html`<code>${pattern.key}</code>` : nothing}
    ${pattern.filter ? html`<span>filter <code>${pattern.filter}</code></span>` : nothing}
    ${pattern.operation && !(pattern.changes?.length > 0) ? html`<span>read <b>${pattern.itemsRead.toLocaleString("en")}</b></span><span>returned <b>${pattern.itemsReturned.toLocaleString("en")}</b></span>` : nothing}
    ${pattern.requests > 1 ? html`<span>${pattern.requests} requests</span>` : nothing}
    ${(pattern.capacity ?? []).filter((one) => one.readUnits + one.writeUnits > 0).map((one) => html`<span class="kc-units">${one.index ?? one.table}
      ${one.readUnits > 0 ? html`<b>${one.readUnits}</b> RCU` : nothing} ${one.writeUnits > 0 ? html`<b>${one.writeUnits}</b> WCU` : nothing}</span>`)}
    ${failed ? html`<div class="kc-refused">
      ${(pattern.complaints ?? []).map((line) => html`<p>✗ ${line}</p>`)}
      ${(pattern.refusals ?? []).map((one) => html`<p><b>${one.place}</b>: ${one.text}</p>`)}</div>` : nothing}
    ${pattern.changes?.length > 0 ? html`<ul class="kc-changes">${pattern.changes.map((change) => html`<li>
      <b>${change.entity ?? change.table}</b> ${change.what === "none" ? "unchanged" : change.what}:
      ${change.places.map((one, at) => html`${at > 0 ? ", " : ""}${one.what === "entered" ? "enters" : one.what === "left" ? "leaves" : one.what === "moved" ? "moves in" : one.what === "rewritten" ? "is rewritten in" : "stays as it is in"} ${one.index ?? one.table}`)}</li>`)}</ul>` : nothing}
  </div>`;
}

function summary(check) {
  const met = check.patterns.filter((one) => one.result === "met").length;
  const failed = check.patterns.filter((one) => one.complaints.length > 0).length;
  const ran = check.patterns.length - met - failed;
  const of = (severity) => check.findings.filter((one) => one.severity === severity).length;
  return [
    `${met} met`, ran > 0 ? `${ran} ran` : "", `${failed} failed`, count(of("error"), "error"),
    count(of("warning"), "warning"), count(of("note"), "note"),
  ].filter(Boolean).join(" · ");
}

if (!customElements.get("kw-model")) customElements.define("kw-model", KwModel);
