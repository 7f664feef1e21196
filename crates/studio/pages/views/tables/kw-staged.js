// <kw-staged>: the changes of one table that wait. Each is shown as a diff; they are written as one transaction or one
// by one, every write under the condition that what it changes is still what was read.

import { html, nothing, render } from "../../vendor/lit-html/lit-html.js";
import { keyText, shortText, visible } from "../collections/typed.js";
import { confirmed } from "../confirm.js";
import { dynamodb } from "../model/api.js";
import { count } from "../model/words.js";
import { Units, changedNames, kindOf, own, refusedBy, requestOf, writesOf } from "./save.js";
import * as staged from "./staged.js";
import { resolved, threeWay } from "./three.js";

/** The service's limit of one transaction. */
const TRANSACTION_MAX = 100;
/** Items that a question names. */
const NAMED_MAX = 5;
const WORDS = { new: "new item", change: "changed", delete: "deleted", move: "move to a new key" };

export class KwStaged extends HTMLElement {
  constructor() {
    super();
    this.ofTable = "";
    this.readOnly = false;
    this.said = "";
    this.failed = "";
    this.busy = false;
    /** Choices of conflicts. @type {Map<number, Map<string, string>>} */ this.takes = new Map();
  }

  connectedCallback() {
    window.addEventListener("kw-staged", this.changed);
    this.update();
  }

  disconnectedCallback() { window.removeEventListener("kw-staged", this.changed); }

  changed = () => this.update();
  list() { return staged.ofTable(this.ofTable); }

  set table(name) {
    if (name === this.ofTable) return;
    this.ofTable = name;
    this.said = this.failed = "";
    this.update();
  }

  /** Marks a change as refused: what is there now stands next to it. */
  refuse(one, theirs) {
    staged.change(one.id, one.before && theirs
      ? { theirs, refused: "Another client changed it meanwhile." }
      : { theirs: null, refused: one.before ? "Another client deleted the item meanwhile." : "An item with this key is there already." });
  }

  /** Asks before items go, or take another key: null if they may not, undefined if none does. */
  async asked(list) {
    const of = (kind) => list.filter((one) => kindOf(one.keys, one) === kind);
    const lines = [["delete", "deleted"], ["move", "moved to another key"]].flatMap(([kind, words]) => {
      const found = of(kind);
      const more = found.length > NAMED_MAX ? ` and ${count(found.length - NAMED_MAX, "more", "more")}` : "";
      return found.length > 0 ? [`${count(found.length, "item")} ${words}: ${found.slice(0, NAMED_MAX).map(keyWords).join(", ")}${more}`] : [];
    });
    if (lines.length === 0) return undefined;
    const deletes = of("delete").length;
    const verb = deletes === list.length ? `Delete ${count(deletes, "item")}` : `Write ${count(list.length, "change")}`;
    return confirmed({ title: `${verb} of ${this.ofTable}?`, verb, lost: deletes > 0 ? [...lines, "What is deleted can be brought back for ten seconds."] : lines });
  }

  /** Asks before staged changes, which are not written, go. */
  async reject(list) {
    if (await confirmed({ title: `Reject ${count(list.length, "staged change")}?`, verb: "Reject", lost: [`${list.slice(0, NAMED_MAX).map(keyWords).join(", ")}${list.length > NAMED_MAX ? ` and ${list.length - NAMED_MAX} more` : ""}: the table keeps what it has.`] })) staged.reject(new Set(list.map((one) => one.id)));
  }

  async commit(asOne) {
    const list = this.list();
    const consent = await this.asked(list.filter((one) => asOne || !one.refused));
    if (consent === null) return;
    /** What is deleted, to be brought back. */
    const gone = [];
    this.busy = true;
    this.said = this.failed = "";
    this.update();
    try {
      if (asOne) await this.together(list, consent, gone);
      else await this.oneByOne(list, consent, gone);
    } catch (error) {
      this.failed = /** @type {Error} */ (error).message;
    }
    this.busy = false;
    this.update();
    this.dispatchEvent(new CustomEvent("committed", { bubbles: true, detail: { gone } }));
  }

  async together(list, consent, gone) {
    const writes = list.map((one) => writesOf(one.table, one.keys, one));
    const owners = writes.flatMap((own, at) => own.map(() => list[at]));
    const { operation, body } = requestOf(writes.flat());
    const units = new Units();
    try {
      units.add(await dynamodb(operation, body, { consent }));
    } catch (error) {
      const refused = refusedBy(error);
      if (!refused) throw error;
      for (const [at, theirs] of refused) this.refuse(owners[at], theirs);
      const count = new Set([...refused.keys()].map((at) => owners[at])).size;
      this.failed = list.length === 1 ? "Nothing was written: the change is refused." : `Nothing was written: ${count} of ${list.length} changes ${count === 1 ? "is" : "are"} refused.`;
      return;
    }
    staged.reject(new Set(list.map((one) => one.id)));
    gone.push(...list.filter((one) => !one.after).map((one) => one.before));
    this.said = list.length === 1 ? `1 change written: ${units}.` : `${list.length} changes written as one transaction: ${units}.`;
  }

  async oneByOne(list, consent, gone) {
    const written = new Set();
    const units = new Units();
    let refusals = list.filter((one) => one.refused).length;
    try {
      for (const one of list.filter((other) => !other.refused)) {
        const { operation, body } = requestOf(writesOf(one.table, one.keys, one));
        try {
          units.add(await dynamodb(operation, body, { consent }));
          written.add(one.id);
          if (!one.after) gone.push(one.before);
        } catch (error) {
          const refused = refusedBy(error);
          if (!refused) throw error;
          refusals += 1;
          this.refuse(one, [...refused.values()].find(Boolean) ?? null);
        }
      }
    } finally {
      staged.reject(written);
      this.said = written.size > 0 ? `${written.size} ${written.size === 1 ? "change" : "changes"} written: ${units}.` : "";
      this.failed = refusals > 0 ? `${refusals} refused: nothing of ${refusals === 1 ? "it" : "them"} was written.` : "";
    }
  }

  async rejectAttribute(one, name) {
    if (!await confirmed({ title: `Reject ${visible(name)} of ${keyWords(one)}?`, verb: "Reject", lost: [`Its new value: ${shortText(own(one.after, name) ?? { S: "removed" })}`] })) return;
    const after = new Map(Object.entries(one.after));
    const before = own(one.before, name);
    if (before === undefined) after.delete(name);
    else after.set(name, before);
    const item = Object.fromEntries(after);
    if (changedNames(one.before, item).length === 0) staged.reject(new Set([one.id]));
    else staged.change(one.id, { after: item });
  }

  update() { if (this.isConnected) render(this.view(), this); }

  view() {
    const list = this.list();
    const writes = list.reduce((sum, one) => sum + (kindOf(one.keys, one) === "move" ? 2 : 1), 0);
    const refused = list.some((one) => one.refused);
    return html`<section class="sg" aria-label="Staged changes">
      <header class="sg-head"><h2>${list.length === 0 ? "Nothing is staged" : `${list.length} staged`}</h2>
        ${list.length > 0 && !this.readOnly ? html`
          <button class="md-button is-main" ?disabled=${this.busy || refused || writes > TRANSACTION_MAX} @click=${() => this.commit(true)}>${list.length === 1 ? "Commit" : "Commit as one transaction"}</button>
          ${list.length === 1 ? nothing : html`<button class="md-button" ?disabled=${this.busy || list.every((one) => one.refused)} @click=${() => this.commit(false)}>Commit one by one</button>`}
          <button class="md-button" ?disabled=${this.busy} @click=${() => this.reject(list)}>Reject all…</button>
          <span class="dim">${writes > TRANSACTION_MAX ? `A transaction has at most ${TRANSACTION_MAX} writes.` : writes > 1 ? "A transaction takes twice the units: all or nothing." : ""}</span>` : nothing}
        <button class="kc-tool kc-close" aria-label="Close the staged changes" @click=${() => this.dispatchEvent(new CustomEvent("done", { bubbles: true }))}>✕</button></header>
      <div role="status">${this.said ? html`<p class="sg-said vd-good">${this.said}</p>` : nothing}</div>
      ${this.failed ? html`<p class="sg-said vd-bad" role="alert">${this.failed}</p>` : nothing}
      <ol class="sg-list">${list.slice(0, 200).map((one) => this.one(one))}</ol>
      ${list.length > 200 ? html`<p class="dim">and ${list.length - 200} more</p>` : nothing}</section>`;
  }

  one(one) {
    const kind = kindOf(one.keys, one);
    const cell = (value) => (value === undefined ? html`<span class="dim">—</span>` : shortText(value));
    if (one.theirs && !this.takes.has(one.id)) this.takes.set(one.id, new Map());
    const conflict = one.theirs && one.after ? { before: one.before, theirs: one.theirs, after: one.after, take: /** @type {Map<string, string>} */ (this.takes.get(one.id)) } : null;
    return html`<li class="sg-one is-${kind} ${one.refused ? "is-refused" : ""}">
      <div class="sg-title"><span class="sg-kind">${WORDS[kind]}</span><code>${keyWords(one)}</code>
        <button class="md-link" aria-label="Reject ${keyWords(one)}" @click=${() => this.reject([one])}>Reject…</button></div>
      ${one.refused ? html`<p class="vd-bad">${one.refused} Nothing was written.</p>` : nothing}
      ${conflict ? html`${threeWay(conflict, () => this.update())}
        <button class="md-button" @click=${() => { const after = resolved(conflict); this.takes.delete(one.id); staged.change(one.id, { before: one.theirs, after, theirs: undefined, refused: undefined }); }}>Stage this on what is there now</button>`
      : one.refused && one.theirs ? html`<button class="md-button" @click=${() => staged.change(one.id, { before: one.theirs, theirs: undefined, refused: undefined })}>Stage the deletion of what is there now</button>`
      : kind === "delete" ? nothing
      : html`<table class="md-table sg-diff"><thead class="kc-hidden"><tr><th scope="col">attribute</th><th scope="col">before</th><th scope="col">after</th><th scope="col">action</th></tr></thead>
        <tbody>${changedNames(one.before, one.after).map((name) => html`<tr><th scope="row">${visible(name)}</th><td class="sg-old">${one.before ? cell(own(one.before, name)) : nothing}</td><td class="sg-new">${cell(own(one.after, name))}</td>
          <td>${kind === "change" ? html`<button class="md-link" aria-label="Reject ${visible(name)}" @click=${() => this.rejectAttribute(one, name)}>Reject…</button>` : nothing}</td></tr>`)}</tbody></table>`}</li>`;
  }
}

const keyWords = (one) => staged.title(one).map((value) => visible(keyText(value))).join(" / ");

if (!customElements.get("kw-staged")) customElements.define("kw-staged", KwStaged);
