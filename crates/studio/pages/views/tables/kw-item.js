// <kw-item>: one item as DynamoDB JSON, as plain JSON that keeps all digits, or as a tree of typed fields. A save writes
// what changed if that still is what was read; what is typed is not dropped without a question. Its header says what a
// save takes, as the engine counts it (`item/cost`).

import { html, nothing, render } from "../../vendor/lit-html/lit-html.js";
import { itemSize, keyText, sizeText, visible } from "../collections/typed.js";
import { confirmed } from "../confirm.js";
import { call, context, dynamodb } from "../model/api.js";
import { count } from "../model/words.js";
import { Units, changedNames, keyOf, kindOf, refusedBy, requestOf, writesOf } from "./save.js";
import * as staged from "./staged.js";
import { resolved, threeWay } from "./three.js";
import { tree } from "./tree.js";

const FORMS = [["typed", "DynamoDB JSON"], ["plain", "Plain JSON"], ["tree", "Fields"]];
const ITEM_BYTES_MAX = 400 << 10;
/** After the last key, so long until what a save would do is looked at. */
const JUDGE_MS = 250;
/** Below this width the item lies over the grid. */
const NARROW = "(max-width: 900px)";

/** A key as people read it. */
const keyWords = (keys, item) => Object.values(keyOf(keys, item)).map((value) => visible(keyText(value ?? { S: "" }))).join(" / ");

export class KwItem extends HTMLElement {
  constructor() {
    super();
    this.ofTable = "";
    this.keys = /** @type {string[]} */ ([]);
    this.readOnly = false;
    /** The address of an item in all regions, if the table has replicas. */ this.everywhere = /** @type {null|((item: any) => string)} */ (null);
    /** What is edited: `read` as it was read (null: new), `text` in `form`, `first` the text at the beginning. */
    this.editing = /** @type {any} */ (null);
    /** The form that was chosen last, in this browser. */ this.form = localStorage.getItem("kw-item-form") ?? "typed";
    /** The table and its indexes. */ this.ways = /** @type {import("../collections/live.js").Way[]} */ ([]);
    this.busy = false;
    this.judging = 0;
  }

  set table(name) {
    if (name === this.ofTable) return;
    this.ofTable = name;
    this.editing = null;
    // An edit that was left without a word, such as by the address, goes on.
    try {
      const kept = JSON.parse(sessionStorage.getItem(this.draft()) ?? "null");
      if (kept) { this.editing = { ...kept, faults: [], conflict: null, gone: false, kept: true }; this.form = kept.form; }
    } catch { /* Not ours. */ }
    this.update();
  }

  connectedCallback() {
    import("../model/kw-editor.js");
    this.update();
  }

  draft() { return `kw-draft:${context.account ?? ""}:${context.region ?? ""}:${this.ofTable}`; }
  get dirty() { return !!this.editing && this.editing.text !== this.editing.first && !this.readOnly; }

  /** Keeps what is typed over a way out of the page. */
  keep() {
    const { editing } = this;
    try {
      if (this.dirty) sessionStorage.setItem(this.draft(), JSON.stringify({ read: editing.read, text: editing.text, first: editing.first, form: this.form }));
      else sessionStorage.removeItem(this.draft());
    } catch { /* Larger than the browser keeps. */ }
  }

  /** Whether another item may be shown now; if not, it is asked, and `next` follows. */
  mayClose(next) {
    if (!this.dirty) { this.close(); return true; }
    const then = () => { this.close(); next(); };
    this.drop("Drop the changes?", { words: "Stage it", run: () => this.stage(next) }).then((consent) => { if (consent) then(); });
    return false;
  }

  /** Asks before what is typed goes. */
  drop(title, other = /** @type {{words: string, run: () => void}|undefined} */ (undefined)) {
    return confirmed({ title, lost: ["The item is changed and not saved."], verb: "Drop the changes", keep: "Keep editing", other });
  }

  close() {
    this.editing = null;
    this.keep();
    this.update();
    this.dispatchEvent(new CustomEvent("closed"));
  }

  async edit({ read, item }) {
    const first = this.keys.filter((name) => Object.hasOwn(item, name));
    const text = JSON.stringify(Object.fromEntries([...first, ...Object.keys(item).filter((name) => !first.includes(name))].map((name) => [name, item[name]])), null, 2);
    this.editing = { read, text, first: text, faults: [], conflict: null, gone: false, kept: false, cost: null };
    const wanted = this.form;
    this.form = "typed";
    if (wanted !== "typed") await this.turn(wanted);
    this.editing.first = this.editing.text;
    // A staged change is not what was read: it is kept like one that is typed.
    if (read && changedNames(read, item).length > 0) this.editing.first = "";
    if (wanted === "typed") this.judge();
    this.update();
    if (matchMedia(NARROW).matches) /** @type {HTMLElement|null} */ (this.querySelector(".kc-close"))?.focus();
  }

  /**
   * What a save of the text would do: `editing.move` is the item under its new key, if it has one; `editing.cost` what
   * the save takes, null while that is not known.
   */
  async judge() {
    const { editing } = this;
    if (!editing) return;
    const { text } = editing;
    const isNow = () => this.editing === editing && editing.text === text;
    let item = null;
    try {
      item = this.form === "plain" ? (await call("item/plain", { plain: text, first: this.keys })).typed : JSON.parse(text);
    } catch { /* The text is no item yet. */ }
    if (!isNow()) return;
    const isWhole = !!item && this.keys.every((name) => item[name] && keyText(item[name]) !== "");
    const change = { before: editing.read, after: item };
    editing.move = isWhole && editing.read && kindOf(this.keys, change) === "move" ? item : null;
    editing.cost = null;
    this.update();
    if (!isWhole) return;
    try {
      const writes = writesOf(this.ofTable, this.keys, change);
      const answer = await call("item/cost", { table: this.ofTable, before: editing.read, key: keyOf(this.keys, item), ...(writes.length > 0 && !this.readOnly ? requestOf(writes) : {}) });
      if (!isNow()) return;
      editing.cost = { read: answer.readUnits, save: writes.length > 0 ? new Units().add(answer) : null };
    } catch { /* The save will say what is wrong. */ }
    this.update();
  }

  /** The header's words on capacity. */
  costWords({ read, save }) {
    return `${count(read, "read unit")}${this.readOnly ? "" : save ? ` · a save takes ${save}` : " · nothing to save"}`;
  }

  /** The item of the text, in any form. Faults are noted; null then. */
  async item(form = this.form) {
    const { editing } = this;
    editing.faults = [];
    editing.there = null;
    try {
      if (form === "plain") return (await call("item/plain", { plain: editing.text, first: this.keys })).typed;
      return JSON.parse(editing.text);
    } catch (error) {
      const faults = /** @type {any} */ (error).faults;
      editing.faults = faults ? faults.map((one) => `line ${one.line}: ${one.text}`) : [/** @type {Error} */ (error).message];
      this.update();
      return null;
    }
  }

  async turn(form) {
    const { editing } = this;
    const { text } = editing;
    const item = await this.item();
    if (!item) return;
    const clean = text === editing.first;
    try {
      const turned = form === "plain" ? (await call("item/plain", { typed: item, first: this.keys })).plain : JSON.stringify(item, null, 2);
      // Something was typed meanwhile, in the form that it still has.
      if (editing.text !== text) return;
      editing.text = turned;
      if (clean) editing.first = editing.text;
      this.form = form;
      this.judge();
    } catch (error) {
      editing.faults = [/** @type {Error} */ (error).message];
    }
    this.update();
  }

  typed(text) {
    this.editing.text = text;
    // A fault was one of the text as it was. A conflict stays until it is decided.
    if (!this.editing.conflict && !this.editing.gone) { this.editing.faults = []; this.editing.there = null; }
    this.keep();
    this.editing.cost = null;
    this.update();
    clearTimeout(this.judging);
    this.judging = window.setTimeout(() => this.judge(), JUDGE_MS);
  }

  async stage(next = () => {}) {
    if (this.readOnly) return;
    const item = await this.item();
    if (!item) return;
    try {
      staged.stage(this.ofTable, this.keys, this.editing.read, item);
      this.close();
      next();
      this.dispatchEvent(new CustomEvent("staged"));
    } catch (error) {
      this.editing.faults = [/** @type {Error} */ (error).message];
      this.update();
    }
  }

  async save() {
    const { editing } = this;
    const item = await this.item();
    if (!item) return;
    if (this.editing === editing) await this.commit(item);
  }

  /** Writes what became of the item. That it takes another key is said before. */
  async commit(after) {
    const { editing } = this;
    const isMove = editing.read && kindOf(this.keys, { before: editing.read, after }) === "move";
    const consent = isMove ? await confirmed({
      title: "Move the item to another key?", verb: "Move item",
      lost: [`${keyWords(this.keys, editing.read)} is deleted and ${keyWords(this.keys, after)} is put: both or neither, in one transaction of twice the write units.`],
    }) : null;
    if (this.editing === editing && (consent || !isMove)) await this.write(after, consent);
  }

  /** Deletes the item as it was read, once it is confirmed. */
  async erase() {
    const { editing } = this;
    const { read } = editing;
    const names = Object.keys(read).filter((name) => !this.keys.includes(name)).map(visible);
    const inIt = this.ways.filter((way) => way.kind !== "table" && [...way.pk, ...way.sk].every((name) => read[name])).map((way) => visible(way.name));
    const consent = await confirmed({
      title: `Delete ${keyWords(this.keys, read)}?`, verb: "Delete item",
      lost: [
        `${sizeText(itemSize(read))} with ${count(names.length, "attribute")} and the key${names.length > 0 ? `: ${names.slice(0, 8).join(", ")}${names.length > 8 ? ` and ${names.length - 8} more` : ""}` : ""}`,
        ...(inIt.length > 0 ? [`Its entries in ${inIt.join(", ")}`] : []),
        ...(this.dirty ? ["What you typed and did not save"] : []),
        "It can be brought back for ten seconds.",
      ],
    });
    if (consent && this.editing === editing) await this.write(null, consent);
  }

  /** What was written, in words. */
  wrote(kind, before, after, units) {
    const of = (item) => keyWords(this.keys, item);
    switch (kind) {
      case "new": return `Put ${of(after)}: ${units}.`;
      case "delete": return `Deleted ${of(before)}: ${units}.`;
      case "move": return `Moved ${of(before)} to ${of(after)}: one transaction put the new item and deleted the old one. ${units}.`;
      default: {
        const names = changedNames(before, after).map(visible);
        return `Changed ${names.slice(0, 6).join(", ")}${names.length > 6 ? ` and ${names.length - 6} more attributes` : ""} of ${of(before)}: ${units}.`;
      }
    }
  }

  /** Writes a change of what was read; null deletes it. */
  async write(after, consent = /** @type {object|null} */ (null)) {
    const { editing } = this;
    editing.conflict = null;
    editing.gone = false;
    editing.there = null;
    editing.faults = [];
    this.busy = true;
    this.update();
    try {
      const writes = writesOf(this.ofTable, this.keys, { before: editing.read, after });
      const waits = staged.find(this.ofTable, this.keys, editing.read ?? after);
      let text = "The item was as it is: nothing was written.";
      if (writes.length > 0) {
        const { operation, body } = requestOf(writes);
        const units = new Units().add(await dynamodb(operation, body, { consent }));
        text = this.wrote(kindOf(this.keys, { before: editing.read, after }), editing.read, after, units);
      }
      if (waits) staged.reject(new Set([waits.id]));
      this.busy = false;
      this.close();
      this.dispatchEvent(new CustomEvent("saved", { detail: { text, wrote: writes.length > 0, gone: after ? [] : [editing.read] } }));
      return;
    } catch (error) {
      editing.faults = [/** @type {Error} */ (error).message];
      const refused = refusedBy(error);
      if (refused && !editing.read) {
        editing.there = { item: after, detail: editing.faults[0] };
        editing.faults = ["An item with this key exists already."];
      }
      if (refused && editing.read) {
        const theirs = [...refused.values()].find((item) => item && this.keys.every((name) => JSON.stringify(item[name]) === JSON.stringify(editing.read[name]))) ?? null;
        if (theirs && after) editing.conflict = { before: editing.read, theirs, after, take: new Map() };
        else if (theirs) editing.faults = ["Another client changed it meanwhile; nothing was deleted. Open it again to see it."];
        else if (refused.has(0) && [...refused.values()][0]) editing.faults = ["An item with the new key is there already; nothing was written."];
        else editing.gone = true;
      }
    }
    this.busy = false;
    this.update();
  }

  /** Saves on what is there now, with the choices made. */
  saveOnTheirs() {
    const { editing } = this;
    const merged = resolved(editing.conflict);
    editing.read = editing.conflict.theirs;
    return this.commit(merged);
  }

  update() { if (this.isConnected) render(this.view(), this); }

  view() {
    const { editing } = this;
    if (!editing) return nothing;
    const isNew = !editing.read;
    let item = null;
    if (this.form !== "plain") { try { item = JSON.parse(editing.text); } catch { item = null; } }
    let bytes = 0;
    try { bytes = itemSize(item ?? {}); } catch { bytes = 0; }
    const name = isNew ? "New item" : keyWords(this.keys, editing.read);
    return html`<section class="it-editor" aria-label=${isNew ? "New item" : "Item"} @keydown=${(event) => { if (event.key === "s" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); this.stage(); } }}>
      <div class="kc-chosen-head"><strong>${name}</strong><span class="dim">${bytes > 0 ? `${sizeText(bytes)} of ${sizeText(ITEM_BYTES_MAX)} · ` : nothing}${editing.cost ? html`<span class="it-cost">${this.costWords(editing.cost)}</span>` : nothing}</span>
        <button class="kc-tool kc-close" aria-label="Close the item" @click=${() => this.mayClose(() => {})}>✕</button></div>
      <div class="it-forms" role="group" aria-label="Form of the item">${FORMS.map(([id, words]) => html`<button class="md-button" aria-pressed=${id === this.form} @click=${() => { localStorage.setItem("kw-item-form", id); this.turn(id); }}>${words}</button>`)}${this.everywhere && !isNew ? html`<a class="md-link" href=${this.everywhere(editing.read)}>In all regions</a>` : nothing}</div>
      ${editing.kept ? html`<p class="it-note">This edit was left unsaved, and is kept.</p>` : nothing}
      ${editing.faults.length > 0 || editing.gone ? html`<div class="md-error" role="alert">${editing.faults.map((fault) => html`<p>${fault}</p>`)}
        ${editing.there ? html`<p><button class="md-button" @click=${() => this.dispatchEvent(new CustomEvent("there", { detail: editing.there.item }))}>Open that item</button></p>
          <details><summary>What the service says</summary><p>${editing.there.detail}</p></details>` : nothing}
        ${editing.gone ? html`<p>Another client deleted the item meanwhile. Nothing was written.</p>` : nothing}
        ${editing.conflict ? html`<p>Another client changed it meanwhile; nothing was written.</p>${threeWay(editing.conflict, () => this.update())}
          <button class="md-button" @click=${() => this.saveOnTheirs()}>Save my choices</button>
          <button class="md-button" @click=${async () => { const { theirs } = editing.conflict; if (await this.drop("Take what is there now?")) this.edit({ read: theirs, item: theirs }); }}>Take theirs</button>` : nothing}</div>` : nothing}
      ${this.form === "tree"
        ? item ? html`<div class="tr" role="region" aria-label="Fields" tabindex="0">${tree(item, { locked: new Set(this.keys), readOnly: this.readOnly }, (next) => this.typed(JSON.stringify(next, null, 2)))}</div>` : html`<p class="it-note vd-bad">The text is no item.</p>`
        : html`<kw-editor .language=${"json"} .label=${this.form === "plain" ? "Item as plain JSON" : "Item as DynamoDB JSON"} .readonly=${this.readOnly} .value=${editing.text} @change=${(event) => this.typed(event.detail.value)} @save=${() => this.stage()}></kw-editor>`}
      <div role="status">${editing.move ? html`<p class="it-move"><b>The key is changed: this is a move.</b> It puts <code>${keyWords(this.keys, editing.move)}</code> and deletes <code>${keyWords(this.keys, editing.read)}</code>, both or neither, in one transaction of twice the write units.</p>` : nothing}</div>
      ${this.readOnly ? nothing : html`<p class="mf-line it-actions"><button class="md-button is-main" ?disabled=${this.busy} @click=${() => this.save()}>Save</button><button class="md-button" ?disabled=${this.busy} title="Ctrl+S" @click=${() => this.stage()}>Stage</button>${isNew ? nothing : html`<button class="md-button" ?disabled=${this.busy} @click=${() => this.erase()}>Delete item…</button>`}</p>`}
    </section>`;
  }
}

if (!customElements.get("kw-item")) customElements.define("kw-item", KwItem);
