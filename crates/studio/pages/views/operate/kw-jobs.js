// <kw-jobs>: the jobs of this place (restores, rollbacks, copies of backups, exports, imports): how far each has come, and how it ended.
// <kw-job>: one of them, next to the form that began it.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { sizeText } from "../collections/typed.js";
import { call } from "../model/api.js";
import { count } from "../model/words.js";
import { timeOf, Watching } from "./watching.js";

const LISTED = 200;
const WORDS = { restore: "restore a table", seal: "copy a backup", "delete-objects": "remove a deleted backup", rollback: "roll back", verify: "verify a copy", export: "export a table", import: "import a table", "bulk-put": "put items of a bucket" };

/** How a job stands, and why it failed or waits. */
export const stateOf = ({ state, error, "waits-for": reason }) => (!error && !reason ? state : html`<b class="tl-bad">${error ? `failed: ${error.code}` : "waiting, tried again"}</b><br>${error?.message ?? reason}`);

export class KwJobs extends Watching {
  constructor() {
    super();
    this.region = "";
    this.jobs = /** @type {any[]|null} */ (null);
  }

  /** @param {{region: string}} route */
  set route({ region }) {
    if (region === this.region) return;
    this.region = region;
    this.jobs = null;
    this.restart();
  }

  get asks() { return this.region !== ""; }

  async look(still) {
    const { jobs } = await call("keywright/jobs", { limit: LISTED });
    if (still()) this.jobs = jobs;
  }

  view() {
    if (!this.jobs) return this.error ? this.fault : html`<div aria-busy="true" class="op-wait"></div>`;
    if (this.jobs.length === 0) return html`${this.fault}<div class="md-empty"><h2>No job in ${this.region}</h2><p>Restores, rollbacks, exports, imports, and copies of backups with their verification run as jobs: they go on after a restart of the server, and are listed for 35 days after their end.</p></div>`;
    return html`${this.fault}<p class="sm-bar"><span>${this.jobs.filter((one) => one.ended === undefined).length.toLocaleString("en")} at work or waiting</span>${this.at}</p>
      <div class="md-table-room" tabindex="0" role="region" aria-label="Jobs"><table class="md-table mf-table"><thead><tr><th scope="col">job</th><th scope="col">table</th><th scope="col">state</th><th scope="col" class="is-number">items done</th><th scope="col" class="is-number">bytes</th><th scope="col">began</th><th scope="col" class="is-number">took</th></tr></thead>
      <tbody>${this.jobs.map((job) => this.row(job))}</tbody></table></div>
      ${this.jobs.length >= LISTED ? html`<p class="dim">The newest ${LISTED}.</p>` : nothing}`;
  }

  row(job) {
    const began = job.started ?? job.created;
    return html`<tr data-job=${job.id}><th scope="row">${WORDS[job.kind] ?? job.kind}<br><code class="dim">${job.id}</code></th>
      <td><a class="md-link" href=${`/${this.region}/t/${encodeURIComponent(job.table)}/items`}>${job.table}</a></td>
      <td>${stateOf(job)}${job.rollback ? html`<br><span class="dim">${rolledBack(job.rollback)}</span>` : nothing}</td>
      <td class="is-number">${job.items.toLocaleString("en")}</td><td class="is-number">${sizeText(job.bytes)}</td>
      <td>${timeOf(began)}</td><td class="is-number">${job.ended === undefined ? "" : took(job.ended - began)}</td></tr>`;
  }
}

/**
 * @typedef {object} One
 * @property {string} region
 * @property {string} [id] of a job that is known
 * @property {string} table of a restore: the new one
 * @property {number} [total] items that it does, if they are known
 * @property {unknown} words what it does, with the table
 */

export class KwJob extends Watching {
  constructor() {
    super();
    this.one = /** @type {One|null} */ (null);
    this.job = /** @type {any} */ (null);
  }

  /** @param {One} one */
  set of(one) {
    if (one === this.one) return;
    this.one = one;
    this.job = null;
    this.restart();
  }

  get asks() { return !!this.one && this.job?.ended === undefined; }

  async look(still) {
    const { id, table } = /** @type {One} */ (this.one);
    const { jobs } = await call("keywright/jobs", id ? { id } : { limit: LISTED });
    const job = id ? jobs[0] : jobs.find((one) => one.kind === "restore" && one.table === table);
    if (!still()) return;
    this.job = job ?? null;
    if (job?.ended !== undefined) window.dispatchEvent(new CustomEvent("kw-tables"));
  }

  view() {
    const { one, job } = this;
    if (!one) return nothing;
    const done = job ? job.items : 0;
    const total = Math.max(one.total ?? 0, done);
    const link = html`<a class="md-link" href=${`/${one.region}/operate/jobs`}>See the job</a>`;
    if (job?.state === "failed") return html`<div class="md-error" role="alert"><p>${one.words}: ${stateOf(job)}</p><p>${link}</p></div>`;
    return html`${this.fault}<p class="sm-bar" role="status"><span>${one.words}:</span>
      ${job?.ended !== undefined ? html`<b>done</b> <span>${count(done, "item")} in ${took(job.ended - (job.started ?? job.created))}${job.rollback ? `: ${rolledBack(job.rollback)}` : ""}</span>`
        : html`${one.total ? html`<progress aria-label="Items done" max=${total} .value=${done}></progress>` : nothing} <span>${done.toLocaleString("en")}${one.total ? ` of ${total.toLocaleString("en")}` : ""} items</span> <span>${job ? stateOf(job) : ""}</span>`}
      <span>${link}</span></p>`;
  }
}

/** What a rollback has done so far. */
function rolledBack({ putBack, overwritten, removed, unchanged, expired, changedMeanwhile, refused }) {
  const parts = [[putBack, "put back"], [overwritten, "overwritten"], [removed, "removed"], [unchanged, "as they were"], [expired, "expired"], [changedMeanwhile, "changed meanwhile and left alone"], [refused, "refused"]];
  return parts.filter(([number]) => number > 0).map(([number, words]) => `${number.toLocaleString("en")} ${words}`).join(", ");
}

function took(ms) {
  const seconds = Math.max(0, ms) / 1000;
  return seconds < 120 ? `${seconds.toFixed(seconds < 10 ? 1 : 0)} s` : `${Math.round(seconds / 60).toLocaleString("en")} min`;
}

if (!customElements.get("kw-jobs")) customElements.define("kw-jobs", KwJobs);
if (!customElements.get("kw-job")) customElements.define("kw-job", KwJob);
