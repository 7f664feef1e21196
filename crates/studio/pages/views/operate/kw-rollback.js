// <kw-rollback>: how a table, a partition or an item differs from what it was at a second, and the way back to it.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { expressionFields, filterOf, filterRows } from "../collections/filter.js";
import { shortText, visible } from "../collections/typed.js";
import { confirmed } from "../confirm.js";
import { call } from "../model/api.js";
import { count } from "../model/words.js";
import { sideBySide, summary } from "./images.js";
import "./kw-jobs.js";
import { Watching } from "./watching.js";

const SECOND = 1000;
const EXAMPLES = 10;
/** Examples that are open from the beginning. */
const OPEN = 3;
const COUNTS = ["putBack", "overwritten", "removed", "unchanged", "expired", "writeUnits"];

/**
 * @typedef {object} Of
 * @property {string} region
 * @property {string} table
 * @property {number|null} second
 * @property {string} when the second in words
 * @property {any} key of the item that is looked at; null: none
 * @property {string[]} keys
 * @property {string[]} pk
 * @property {Map<string, string>} types of the key's attributes
 * @property {boolean} readOnly
 */

export class KwRollback extends Watching {
  constructor() {
    super();
    this.of_ = /** @type {Of|null} */ (null);
    this.scope = "table";
    /** The key as it is typed, by attribute. */ this.typed = /** @type {Record<string, string>} */ ({});
    this.filter = { where: /** @type {any[]} */ ([]), filter: "", names: "", values: "" };
    this.expired = false;
    /** What would change: the request, the sums, examples; `done` when all pages are read. */
    this.plan = /** @type {any} */ (null);
    this.job = /** @type {any} */ (null);
    this.previews = 0;
  }

  /** @param {Of} of */
  set of(of) {
    const told = (one) => JSON.stringify({ ...one, types: null });
    if (told(of) === told(this.of_)) return;
    // The key that is looked at stands in the form, until another one is typed.
    if (of.table !== this.of_?.table) { this.scope = "table"; this.typed = {}; this.filter = { where: [], filter: "", names: "", values: "" }; this.job = null; }
    if (of.key && JSON.stringify(of.key) !== JSON.stringify(this.of_?.key)) for (const name of of.keys) this.typed[name] = String(Object.values(of.key[name])[0]);
    this.of_ = of;
    this.drop();
  }

  get asks() { return false; }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.previews += 1;
  }

  /** Forgets the preview: it is of something else. */
  drop() {
    this.previews += 1;
    this.plan = null;
    this.refused = "";
    this.update();
  }

  /** The attributes of the key that the form asks for. @param {Of} of */
  names({ keys, pk }) { return this.scope === "item" ? keys : this.scope === "partition" ? pk : []; }

  /** The request that the form makes. @param {Of} of */
  request(of) {
    const names = this.names(of);
    for (const name of names) if (of.types.get(name) === "N" && !/^[-+.\deE]+$/.test(this.typed[name] ?? "")) throw new Error(`${visible(name)} is a number: ${visible(this.typed[name] ?? "")} is none.`);
    const { FilterExpression: expression, ExpressionAttributeNames, ExpressionAttributeValues } = filterOf(this.filter);
    const filter = { expression, ...(ExpressionAttributeNames ? { names: ExpressionAttributeNames } : {}), ...(ExpressionAttributeValues ? { values: ExpressionAttributeValues } : {}) };
    return {
      table: of.table, to: (of.second ?? 0) * SECOND,
      ...(names.length > 0 ? { key: Object.fromEntries(names.map((name) => [name, { [of.types.get(name) ?? "S"]: this.typed[name] ?? "" }])) } : {}),
      ...(expression ? { filter } : {}), ...(this.expired ? { withExpired: true } : {}),
    };
  }

  /** Reads all pages of the preview, so that the sums are those of the whole rollback. */
  async preview() {
    const of = this.of_;
    if (!of) return;
    this.drop();
    this.job = null;
    const turn = this.previews;
    let from;
    try {
      const plan = this.plan = { request: this.request(of), counts: Object.fromEntries(COUNTS.map((name) => [name, 0])), examples: /** @type {any[]} */ ([]), away: /** @type {any[]} */ ([]), done: false };
      do {
        this.update();
        const page = await call("keywright/rollback", { ...plan.request, preview: true, ...(from ? { from } : {}) });
        if (turn !== this.previews) return;
        for (const name of COUNTS) plan.counts[name] += page.counts[name];
        plan.examples = [...plan.examples, ...page.examples].slice(0, EXAMPLES);
        plan.away = [...plan.away, ...page.expired].slice(0, EXAMPLES);
        from = page.next;
      } while (from);
      plan.done = true;
    } catch (error) {
      if (turn !== this.previews) return;
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
    await this.send(async () => {
      const { id } = await call("keywright/rollback", plan.request, { consent });
      this.job = { region: of.region, table: of.table, id, total: putBack + overwritten + removed, words: `Rolling ${this.words(of)} back to ${of.when}` };
      this.drop();
    });
  }

  /** What is rolled back. @param {Of} of */
  words(of) {
    const key = this.names(of).map((name) => shortText({ S: this.typed[name] ?? "" }, 60)).join(" / ");
    const whole = this.scope === "table" ? of.table : `the ${this.scope} ${key}`;
    return this.plan?.request.filter ? `what matches the filter in ${whole}` : whole;
  }

  view() {
    const of = this.of_;
    if (!of) return nothing;
    const scopes = [["table", "the whole table"], ...(of.keys.length > of.pk.length ? [["partition", "one partition"]] : []), ["item", "one item"]];
    const changed = () => this.drop();
    return html`<form @submit=${(event) => { event.preventDefault(); this.preview(); }}>
        <div class="sm-bar"><label>Roll back <select @change=${(event) => { this.scope = event.target.value; changed(); }}>${scopes.map(([id, words]) => html`<option value=${id} ?selected=${id === this.scope}>${words}</option>`)}</select></label>
          ${this.names(of).map((name) => html`<label>${visible(name)} <input aria-label=${`${visible(name)} of the rollback`} required autocomplete="off" spellcheck="false" .value=${this.typed[name] ?? ""} @input=${(event) => { this.typed[name] = event.target.value; changed(); }}></label>`)}
          <label><input type="checkbox" .checked=${this.expired} @change=${(event) => { this.expired = event.target.checked; changed(); }}> with expired items</label></div>
        <div class="sm-bar">${filterRows(this.filter.where, (where) => { this.filter.where = where; changed(); })}${expressionFields(this.filter, changed)}
          <button class="md-button" ?disabled=${of.second === null || this.busy}>Preview rollback</button>${of.second === null ? html`<span>Pick an earlier second first.</span>` : nothing}</div>
        ${this.filter.filter || this.filter.where.some((row) => row.name) ? html`<p class="dim">The filter is judged on each item as it was then; on the present one, if there was none.</p>` : nothing}</form>
      ${this.outcome}<div role="status">${this.plan ? this.sums(this.plan) : nothing}</div>
      ${this.plan?.done ? this.planView(this.plan, of) : nothing}
      ${this.job ? html`<kw-job .of=${this.job}></kw-job>` : nothing}`;
  }

  sums({ counts, done }) {
    const { putBack, overwritten, removed, unchanged, expired, writeUnits } = counts;
    const all = putBack + overwritten + removed;
    if (done && all === 0) return html`<p>Nothing would change${expired > 0 ? html`: ${count(expired, "item")} expired meanwhile and would stay away` : nothing}.</p>`;
    return html`<p>${done ? nothing : "So far: "}${count(all, "item")} would change: ${putBack.toLocaleString("en")} put back, ${overwritten.toLocaleString("en")} overwritten, ${removed.toLocaleString("en")} removed; about ${count(writeUnits, "write unit")}.
      ${unchanged > 0 ? html` ${unchanged.toLocaleString("en")} changed since and are as they were.` : nothing}${expired > 0 ? html` ${expired.toLocaleString("en")} expired meanwhile and would stay away.` : nothing}</p>`;
  }

  /** @param {any} plan @param {Of} of */
  planView({ counts, examples, away }, { keys, readOnly }) {
    const keyText = (item) => html`<code class="sm-key">${keys.map((name) => shortText(item[name], 80)).join(" / ")}</code>`;
    const all = counts.putBack + counts.overwritten + counts.removed;
    return html`${all === 0 ? nothing : html`<ol class="sm-list" aria-label="Examples of what would change">${examples.map(({ before, after }, at) => {
        const [kind, sign, word] = !before ? ["insert", "+", "PUT BACK"] : !after ? ["remove", "−", "REMOVE"] : ["modify", "~", "OVERWRITE"];
        return html`<li class="sm-item is-${kind}"><details ?open=${at < OPEN}><summary class="sm-head"><span class="sm-event"><span aria-hidden="true">${sign}</span> ${word}</span>
          ${keyText(before ?? after)}<span class="sm-what">${summary(before, after, keys)}</span></summary>${sideBySide(before, after, ["now", "after the rollback"])}</details></li>`;
      })}</ol>${all > examples.length ? html`<p class="dim">${(all - examples.length).toLocaleString("en")} more.</p>` : nothing}`}
      ${away.length > 0 ? html`<p>Expired, not put back:</p><ul aria-label="Expired items">${away.map((item) => html`<li>${keyText(item)}</li>`)}</ul>` : nothing}
      ${all === 0 || readOnly ? nothing : html`<p><button class="md-button is-danger" ?disabled=${this.busy} @click=${() => this.begin()}>Roll back…</button></p>`}`;
  }
}

if (!customElements.get("kw-rollback")) customElements.define("kw-rollback", KwRollback);
