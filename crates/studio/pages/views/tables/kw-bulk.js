// <kw-bulk>: one change to all items that a request finds. First dry: how many, and five of them before and after. Then
// page by page; each write has the request's own conditions, so an item that no longer passes is left alone.

import { html, nothing, render } from "../../vendor/lit-html/lit-html.js";
import { itemSize, keyText, shortText, visible } from "../collections/typed.js";
import { confirmed } from "../confirm.js";
import { dynamodb } from "../model/api.js";
import { count } from "../model/words.js";
import { keyOf, own, refusedBy, same } from "./save.js";
import { stoppable } from "./stoppable.js";

/** Requests at a time: what a browser opens to one place. */
const LANES = 6;
const SHOWN = 5;
const PASSED_MAX = 100;
/** Of so many deleted items at most the page keeps what they had, to bring them back. */
const BACK_MAX = 1000;
const ACTIONS = [["set", "Set an attribute"], ["remove", "Remove an attribute"], ["rename", "Rename an attribute"], ["delete", "Delete the items"]];
const RATES = [["", "as fast as it goes"], ["10", "10 a second"], ["100", "100 a second"], ["1000", "1,000 a second"]];

export class KwBulk extends HTMLElement {
  constructor() {
    super();
    this.table = "";
    this.keys = /** @type {string[]} */ ([]);
    /** What is asked: `{operation, body}` without a limit. */ this.asked = /** @type {any} */ (null);
    this.form = { action: "set", name: "", to: "", type: "S", value: "", rate: "" };
    this.tried = /** @type {any} */ (null);
    this.work = /** @type {any} */ (null);
    this.error = "";
    this.stop = /** @type {AbortController|null} */ (null);
    this.consent = /** @type {object|null|undefined} */ (null);
  }

  connectedCallback() { this.update(); }
  disconnectedCallback() { this.stop?.abort(); }

  /** Another request: what was tried does not hold for it. */
  set request(asked) {
    if (JSON.stringify(asked) === JSON.stringify(this.asked)) return;
    this.asked = asked;
    this.tried = null;
    if (!this.stop) this.work = null;
    this.update();
  }

  value() {
    const { type, value } = this.form;
    if (type === "JSON") return JSON.parse(value);
    if (type === "BOOL") return { BOOL: value === "true" };
    return type === "NULL" ? { NULL: true } : { [type]: value };
  }

  /** The item afterwards: null if it goes, itself if nothing changes. */
  after(item) {
    const { action, name, to } = this.form;
    if (action === "delete") return null;
    const next = new Map(Object.entries(item));
    if (action === "set") {
      if (same(own(item, name), this.value())) return item;
      next.set(name, this.value());
    } else {
      if (!Object.hasOwn(item, name)) return item;
      if (action === "rename") { if (Object.hasOwn(item, to)) return item; next.set(to, item[name]); }
      next.delete(name);
    }
    return Object.fromEntries(next);
  }

  async *pages(start, signal) {
    let from = start;
    do {
      const page = await dynamodb(this.asked.operation, { ...this.asked.body, ...(from ? { ExclusiveStartKey: from } : {}) }, { signal });
      from = page.LastEvaluatedKey ?? null;
      yield { items: page.Items, next: from };
    } while (from && !signal.aborted);
  }

  begin(run) { return stoppable(this, run); }

  dry() {
    const tried = { count: 0, same: 0, lost: 0, units: 0, few: /** @type {any[]} */ ([]), whole: false };
    this.tried = tried;
    this.work = null;
    return this.begin(async (signal) => {
      for await (const { items, next } of this.pages(null, signal)) {
        for (const item of items) {
          const after = this.after(item);
          if (after === item) { tried.same += 1; continue; }
          tried.count += 1;
          // A value that another one takes the place of, or that goes.
          if (this.form.action !== "rename" && Object.hasOwn(item, this.form.name)) tried.lost += 1;
          tried.units += Math.ceil(Math.max(itemSize(item), after ? itemSize(after) : 0) / 1024);
          if (tried.few.length < SHOWN) tried.few.push({ item, after });
        }
        tried.whole = !next;
        this.update();
      }
    });
  }

  /** Asks before something is lost: undefined if nothing is. */
  async mayStart() {
    const { action, name } = this.form;
    const { count: items, lost } = this.tried;
    const verb = action === "delete" ? `Delete ${count(items, "item")}` : `Change ${count(items, "item")}`;
    const back = items > BACK_MAX ? "They cannot be brought back." : "They can be brought back for ten seconds.";
    if (action === "delete") return confirmed({ title: `${verb} of ${this.table}?`, verb, lost: [`All items that the request finds: ${count(items, "item")} when it was tried.`, back] });
    if (lost === 0) return undefined;
    return confirmed({ title: `${verb} of ${this.table}?`, verb, lost: [`The value of ${visible(name)} that ${count(lost, "item")} ${lost === 1 ? "has" : "have"} now. It cannot be brought back.`] });
  }

  /** Starts the change, once it is confirmed; a resume goes on with that. */
  async start() {
    if (!this.work) {
      const consent = await this.mayStart();
      if (consent === null) return;
      this.consent = consent;
    }
    await this.run();
  }

  write(item) {
    const { action, name, to } = this.form;
    const { body } = this.asked;
    const names = { ...body.ExpressionAttributeNames, "#bk": this.keys[0] };
    const values = { ...body.ExpressionAttributeValues };
    const conditions = ["attribute_exists(#bk)", body.KeyConditionExpression, body.FilterExpression].filter(Boolean);
    let update = "";
    if (action !== "delete") names["#ba"] = name;
    if (action === "set") { update = "SET #ba = :bv"; values[":bv"] = this.value(); }
    if (action === "remove") { update = "REMOVE #ba"; conditions.push("attribute_exists(#ba)"); }
    if (action === "rename") {
      names["#bn"] = to;
      update = "SET #bn = #ba REMOVE #ba";
      conditions.push("attribute_exists(#ba)", "attribute_not_exists(#bn)");
    }
    return dynamodb(action === "delete" ? "DeleteItem" : "UpdateItem", {
      TableName: this.table, Key: keyOf(this.keys, item), ConditionExpression: conditions.map((one) => `(${one})`).join(" AND "), ExpressionAttributeNames: names,
      ...(Object.keys(values).length > 0 ? { ExpressionAttributeValues: values } : {}), ...(update ? { UpdateExpression: update } : { ReturnValues: "ALL_OLD" }),
    }, { consent: this.consent });
  }

  /** Writes until all is done or it is stopped; what was begun is finished, and a resume goes on behind it. */
  run() {
    const work = this.work ?? { written: 0, same: 0, passed: /** @type {any[]} */ ([]), passedCount: 0, left: /** @type {any[]} */ ([]), gone: /** @type {any[]} */ ([]), next: null, started: false, done: false, ms: 0 };
    this.work = work;
    return this.begin(async (signal) => {
      const begun = performance.now();
      let sent = 0;
      const drain = async () => {
        const lanes = Array.from({ length: LANES }, async () => {
          while (work.left.length > 0 && !signal.aborted) {
            const item = work.left.shift();
            if (this.after(item) === item) { work.same += 1; continue; }
            const rate = Number(this.form.rate);
            sent += 1;
            if (rate > 0) await pause(begun + (sent * 1000) / rate - performance.now(), signal);
            if (signal.aborted) { work.left.unshift(item); return; }
            try {
              const { Attributes } = await this.write(item);
              work.written += 1;
              if (this.form.action === "delete" && work.gone.length <= BACK_MAX) work.gone.push(Attributes);
            } catch (error) {
              if (!refusedBy(error)) { work.left.unshift(item); this.stop?.abort(); throw error; }
              work.passedCount += 1;
              if (work.passed.length < PASSED_MAX) work.passed.push(keyOf(this.keys, item));
            }
            if ((work.written + work.passedCount) % 50 === 0) this.update();
          }
        });
        const failed = (await Promise.allSettled(lanes)).find((one) => one.status === "rejected");
        if (failed) { this.error = failed.reason.message; throw failed.reason; }
      };
      await drain();
      if (signal.aborted || (work.started && !work.next)) { work.done = !signal.aborted; return; }
      for await (const { items, next } of this.pages(work.next, signal)) {
        work.started = true;
        work.left = items;
        work.next = next;
        await drain();
        if (signal.aborted) return;
      }
      work.done = true;
    }).then(() => {
      if (work.done && work.left.length === 0) this.dispatchEvent(new CustomEvent("committed", { bubbles: true, detail: { gone: work.gone.length > BACK_MAX ? [] : work.gone } }));
    });
  }

  update() { if (this.isConnected) render(this.view(), this); }

  view() {
    const { form, tried, work } = this;
    const busy = !!this.stop;
    const set = (change) => { Object.assign(form, change); this.tried = null; this.work = null; this.update(); };
    const select = (name, list, label) => html`<select aria-label=${label} ?disabled=${busy} @change=${(event) => set({ [name]: event.target.value })}>${list.map(([value, text]) => html`<option value=${value} ?selected=${value === form[name]}>${text}</option>`)}</select>`;
    return html`<section class="sg" aria-label="Change many items"><header class="sg-head"><h2>Change all that the request finds</h2>
        <button class="kc-tool kc-close" aria-label="Close" @click=${() => this.dispatchEvent(new CustomEvent("done", { bubbles: true }))}>✕</button></header>
      <form class="lv-form" aria-label="The change" @submit=${(event) => { event.preventDefault(); this.dry(); }}>
        ${select("action", ACTIONS, "What to do")}
        ${form.action === "delete" ? nothing : html`<label>attribute <input required ?disabled=${busy} .value=${form.name} @input=${(event) => set({ name: event.target.value })}></label>`}
        ${form.action === "rename" ? html`<label>new name <input required ?disabled=${busy} .value=${form.to} @input=${(event) => set({ to: event.target.value })}></label>` : nothing}
        ${form.action === "set" ? html`${select("type", [["S", "text"], ["N", "number"], ["BOOL", "boolean"], ["NULL", "null"], ["JSON", "DynamoDB JSON"]], "Type of the value")}
          ${form.type === "NULL" ? nothing : html`<label>value <input ?disabled=${busy} .value=${form.value} @input=${(event) => set({ value: event.target.value })}></label>`}` : nothing}
        <button class="md-button ${tried?.whole ? "" : "is-main"}" ?disabled=${busy}>Dry run</button>
      </form>
      <div class="bk-body" role="status">
      ${tried ? html`<p><b>${tried.count.toLocaleString("en")}</b> ${tried.count === 1 ? "item" : "items"} would change${tried.same > 0 ? html`, ${tried.same.toLocaleString("en")} stay as they are` : nothing}${tried.whole ? "." : busy ? "…" : ", and there are more: this count was stopped."}
        ${tried.count > 0 ? html` <span class="dim">At least ${tried.units.toLocaleString("en")} write units, indexes not counted.</span>` : nothing}</p>
        ${tried.few.length > 0 ? html`<table class="md-table"><thead><tr><th scope="col">item</th><th scope="col">before</th><th scope="col">after</th></tr></thead><tbody>${tried.few.map(({ item, after }) => html`<tr><th scope="row"><code>${Object.values(keyOf(this.keys, item)).map((one) => visible(keyText(one))).join(" / ")}</code></th>
          <td class="sg-old">${this.shown(item)}</td><td class="sg-new">${after ? this.shown(after) : "deleted"}</td></tr>`)}</tbody></table>` : nothing}` : nothing}
      ${work ? html`<p><b>${work.written.toLocaleString("en")}</b> written${work.passedCount > 0 ? html`, <b>${work.passedCount.toLocaleString("en")}</b> passed over, as they changed meanwhile` : nothing}${work.done ? ". Done." : busy ? "…" : ". Stopped."}</p>
        ${work.passed.length > 0 ? html`<details><summary>Passed over</summary><ul class="bk-passed">${work.passed.map((key) => html`<li><code>${Object.values(key).map((one) => visible(keyText(one))).join(" / ")}</code></li>`)}</ul></details>` : nothing}` : nothing}
      ${this.error ? html`<p class="vd-bad" role="alert">${this.error}</p>` : nothing}</div>
      <p class="mf-line bk-actions">${busy ? html`<button class="md-button" type="button" @click=${() => this.stop?.abort()}>Stop</button>`
        : (tried?.count > 0 && tried.whole && !work) || (work && !work.done) ? html`<button class="md-button is-main" type="button" @click=${() => this.start()}>${work ? "Resume" : `${form.action === "delete" ? "Delete" : "Change"} ${count(tried.count, "item")}`}</button>
          <label>at a rate of ${select2(RATES, form.rate, (rate) => { form.rate = rate; this.update(); })}</label>` : nothing}</p></section>`;
  }

  shown(item) {
    const { action, name, to } = this.form;
    const names = action === "delete" ? Object.keys(item).slice(0, 3) : action === "rename" ? [name, to] : [name];
    const parts = names.filter((one) => Object.hasOwn(item, one)).map((one) => `${visible(one)}: ${shortText(item[one], 60)}`);
    return parts.length > 0 ? parts.join(", ") : "—";
  }
}

const select2 = (list, chosen, changed) => html`<select aria-label="Rate" @change=${(event) => changed(event.target.value)}>${list.map(([value, text]) => html`<option value=${value} ?selected=${value === chosen}>${text}</option>`)}</select>`;

const pause = (ms, signal) => (ms <= 0 ? Promise.resolve() : new Promise((done) => {
  const timer = setTimeout(done, ms);
  signal.addEventListener("abort", () => { clearTimeout(timer); done(undefined); }, { once: true });
}));

if (!customElements.get("kw-bulk")) customElements.define("kw-bulk", KwBulk);
