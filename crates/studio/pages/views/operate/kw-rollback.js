// <kw-rollback>: brings a table, a partition or an item back to a second. First it shows what would change.

import { html, nothing, render } from "../../vendor/lit-html/lit-html.js";
import { shortText } from "../collections/typed.js";
import { confirmed } from "../confirm.js";
import { call } from "../model/api.js";
import { count } from "../model/words.js";
import { sideBySide, summary } from "./images.js";

const SECOND = 1000;
const EXAMPLES = 10;
const COUNTS = ["putBack", "overwritten", "removed", "unchanged", "expired", "writeUnits"];

/** @typedef {{region: string, table: string, second: number|null, when: string, key: any, keys: string[], pk: string[]}} Of `key` is null while none is typed */

export class KwRollback extends HTMLElement {
  constructor() {
    super();
    this.of_ = /** @type {Of|null} */ (null);
    this.scope = "table";
    this.expired = false;
    /** What would change: the request, the sums, examples; `done` when all pages are read. */
    this.plan = /** @type {any} */ (null);
    this.busy = false;
    this.refused = "";
    this.said = /** @type {any} */ (nothing);
    this.turn = 0;
  }

  /** @param {Of} of */
  set of(of) {
    const changed = JSON.stringify(of) !== JSON.stringify(this.of_);
    this.of_ = of;
    if (!changed) return;
    this.drop();
    this.update();
  }

  connectedCallback() { this.update(); }
  disconnectedCallback() { this.turn += 1; }

  /** Forgets the preview: it is of something else. */
  drop() {
    this.turn += 1;
    this.plan = null;
    this.refused = "";
  }

  /** The request that the form makes. @param {Of} of */
  request({ table, second, key, pk }) {
    const part = this.scope === "item" ? key : Object.fromEntries(pk.map((name) => [name, key?.[name]]));
    return { table, to: (second ?? 0) * SECOND, ...(this.scope === "table" ? {} : { key: part }), ...(this.expired ? { withExpired: true } : {}) };
  }

  /** Reads all pages of the preview, so that the sums are those of the whole rollback. */
  async preview() {
    if (!this.of_) return;
    this.drop();
    const turn = this.turn;
    const plan = { request: this.request(this.of_), counts: Object.fromEntries(COUNTS.map((name) => [name, 0])), examples: /** @type {any[]} */ ([]), done: false };
    this.plan = plan;
    this.said = nothing;
    let from;
    try {
      do {
        this.update();
        const page = await call("keywright/rollback", { ...plan.request, preview: true, ...(from ? { from } : {}) });
        if (turn !== this.turn) return;
        for (const name of COUNTS) plan.counts[name] += page.counts[name];
        plan.examples = [...plan.examples, ...page.examples].slice(0, EXAMPLES);
        from = page.next;
      } while (from);
      plan.done = true;
    } catch (error) {
      if (turn !== this.turn) return;
      this.plan = null;
      this.refused = /** @type {Error} */ (error).message;
    }
    this.update();
  }

  async begin() {
    const { plan } = this;
    const of = this.of_;
    if (!of) return;
    const { putBack, overwritten, removed, writeUnits } = plan.counts;
    const consent = await confirmed({
      title: `Roll ${this.words(of)} back to ${of.when}?`, verb: "Roll back",
      lost: [
        ...(overwritten > 0 ? [`What ${count(overwritten, "item")} became since: the old values overwrite them.`] : []),
        ...(removed > 0 ? [`${count(removed, "item")} that came since: deleted.`] : []),
        ...(putBack > 0 ? [`${count(putBack, "item")} deleted since: put back.`] : []),
        `About ${count(writeUnits, "write unit")}. Streams and indexes see each write; a rollback can be rolled back in turn.`,
      ],
    });
    if (!consent || this.plan !== plan) return;
    this.busy = true;
    this.update();
    try {
      const job = await call("keywright/rollback", plan.request, { consent });
      this.drop();
      this.said = html`Rolling back: job <code>${job.id}</code>. <a class="md-link" href=${`/${of.region}/operate/jobs`}>See the job</a>`;
    } catch (error) {
      this.refused = /** @type {Error} */ (error).message;
    }
    this.busy = false;
    this.update();
  }

  /** What is rolled back. @param {Of} of */
  words({ table, key, keys, pk }) {
    const values = (names) => names.map((name) => shortText(key?.[name] ?? { S: "" }, 60)).join(" / ");
    return this.scope === "item" ? `the item ${values(keys)}` : this.scope === "partition" ? `the partition ${values(pk)}` : table;
  }

  update() { if (this.isConnected) render(this.view(), this); }

  view() {
    const of = this.of_;
    if (!of) return nothing;
    const scopes = [["table", "the whole table"], ...(of.key ? [...(of.keys.length > of.pk.length ? [["partition", "the partition of the item above"]] : []), ["item", "the item above"]] : [])];
    if (!scopes.some(([id]) => id === this.scope)) this.scope = "table";
    return html`<form class="sm-bar" @submit=${(event) => { event.preventDefault(); this.preview(); }}>
        <label>Roll back <select @change=${(event) => { this.scope = event.target.value; this.drop(); this.update(); }}>${scopes.map(([id, words]) => html`<option value=${id} ?selected=${id === this.scope}>${words}</option>`)}</select></label>
        <label><input type="checkbox" .checked=${this.expired} @change=${(event) => { this.expired = event.target.checked; this.drop(); this.update(); }}> with expired items</label>
        <button class="md-button" ?disabled=${of.second === null || this.busy}>Preview rollback</button>${of.second === null ? html`<span>Pick an earlier second first.</span>` : nothing}</form>
      ${this.refused ? html`<div class="md-error" role="alert"><p>${this.refused}</p></div>` : nothing}
      <div role="status">${this.said === nothing ? nothing : html`<p>${this.said}</p>`}${this.plan ? this.sums(this.plan) : nothing}</div>
      ${this.plan?.done ? this.planView(this.plan) : nothing}`;
  }

  sums({ counts, done }) {
    const { putBack, overwritten, removed, unchanged, expired, writeUnits } = counts;
    const all = putBack + overwritten + removed;
    if (done && all === 0) return html`<p>Nothing would change${expired > 0 ? html`: ${count(expired, "item")} expired meanwhile and would stay away` : nothing}.</p>`;
    return html`<p>${done ? nothing : "So far: "}${count(all, "item")} would change: ${putBack.toLocaleString("en")} put back, ${overwritten.toLocaleString("en")} overwritten, ${removed.toLocaleString("en")} removed; about ${count(writeUnits, "write unit")}.
      ${unchanged > 0 ? html` ${unchanged.toLocaleString("en")} changed since and are as they were.` : nothing}${expired > 0 ? html` ${expired.toLocaleString("en")} expired meanwhile and would stay away.` : nothing}</p>`;
  }

  planView({ counts, examples }) {
    if (counts.putBack + counts.overwritten + counts.removed === 0) return nothing;
    const { keys } = /** @type {Of} */ (this.of_);
    return html`<ol class="sm-list" aria-label="Examples of what would change">${examples.map(({ before, after }) => {
        const [kind, sign, word] = !before ? ["insert", "+", "PUT BACK"] : !after ? ["remove", "−", "REMOVE"] : ["modify", "~", "OVERWRITE"];
        return html`<li class="sm-item is-${kind}"><details><summary class="sm-head"><span class="sm-event"><span aria-hidden="true">${sign}</span> ${word}</span>
          <code class="sm-key">${keys.map((name) => shortText((before ?? after)[name], 80)).join(" / ")}</code><span class="sm-what">${summary(before, after, keys)}</span></summary>${sideBySide(before, after, ["now", "after the rollback"])}</details></li>`;
      })}</ol>
      <p><button class="md-button is-danger" ?disabled=${this.busy} @click=${() => this.begin()}>Roll back…</button></p>`;
  }
}

if (!customElements.get("kw-rollback")) customElements.define("kw-rollback", KwRollback);
