// <kw-backups>: the backups of this place: make one, restore one to a new table, verify its copy, delete one. Below
// them what else stands in the backup store, with the chains of increments.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { sizeText } from "../collections/typed.js";
import { confirmed } from "../confirm.js";
import { call, dynamodb, tableNames } from "../model/api.js";
import { count } from "../model/words.js";
import { shell } from "../quote.js";
import { stateOf } from "./kw-jobs.js";
import { nameField, timeOf, Watching } from "./watching.js";

const LISTED = 1000;
const TABLES = 300;
const KINDS = { USER: "on demand", SYSTEM: "of a deleted table", AWS_BACKUP: "AWS Backup" };

export class KwBackups extends Watching {
  constructor() {
    super();
    this.region = "";
    this.table = /** @type {string|null} */ (null);
    this.readOnly = true;
    this.names = /** @type {string[]} */ ([]);
    this.backups = /** @type {any[]|null} */ (null);
    this.making = { table: "", name: "" };
    /** The backup that is to be restored. */ this.restoring = /** @type {any} */ (null);
    this.target = "";
    /** The restore that was begun last. */ this.job = /** @type {any} */ (null);
    /** What stands in the backup store. */ this.stored = /** @type {any} */ (null);
  }

  /** @param {{region: string, table: string|null, readOnly: boolean}} route */
  set route({ region, table, readOnly }) {
    if (region === this.region && table === this.table && readOnly === this.readOnly) return;
    const other = region !== this.region || table !== this.table;
    this.region = region;
    this.table = table;
    this.readOnly = readOnly;
    if (!other) { this.update(); return; }
    this.backups = null;
    this.restoring = null;
    this.refused = "";
    this.said = nothing;
    this.job = null;
    this.restart();
  }

  get asks() { return this.region !== ""; }

  async look(still) {
    const names = this.reads % 10 === 0 ? await tableNames(TABLES) : this.names;
    const found = [];
    let start;
    do {
      const page = await dynamodb("ListBackups", { BackupType: "ALL", ...(this.table ? { TableName: this.table } : {}), ...(start ? { ExclusiveStartBackupArn: start } : {}) });
      found.push(...page.BackupSummaries);
      start = page.LastEvaluatedBackupArn;
    } while (start && found.length < LISTED);
    const { backups, store } = await call("keywright/backups", {});
    if (!still()) return;
    const known = new Map(backups.map((one) => [`${one.table}/backup/${one.id}`, one]));
    this.names = names;
    this.backups = found.toReversed().map((one) => ({ ...one, known: known.get(one.BackupArn.split(":table/")[1]) ?? null }));
    if (store && !this.stored) this.lookInStore();
  }

  /** Reads what stands in the backup store: each manifest, so not again and again. */
  async lookInStore() {
    const none = { backups: [], sets: [] };
    this.stored ??= none;
    const stored = await call("keywright/backups", { stored: true }).catch((error) => ({ ...this.stored, error: error.message }));
    this.stored = { ...none, ...stored };
    this.update();
  }

  /** Sends what a form asks for, and reads the backups again. @param {() => Promise<any>} run */
  async change(run) {
    this.job = null;
    await this.send(run);
    this.read();
  }

  make(event) {
    event.preventDefault();
    const TableName = this.chosen;
    const BackupName = this.making.name.trim();
    return this.change(async () => {
      await dynamodb("CreateBackup", { TableName, BackupName });
      this.making.name = "";
      return html`Created the backup ${BackupName} of ${TableName}.`;
    });
  }

  restore(event) {
    event.preventDefault();
    const { restoring } = this;
    const target = this.target.trim();
    const { region } = this;
    return this.change(async () => {
      await dynamodb("RestoreTableFromBackup", { BackupArn: restoring.BackupArn, TargetTableName: target });
      this.restoring = null;
      this.target = "";
      window.dispatchEvent(new CustomEvent("kw-tables"));
      this.job = { region, table: target, total: restoring.known?.items, words: html`Restoring ${restoring.BackupName} to <a class="md-link" href=${`/${region}/t/${encodeURIComponent(target)}/items`}>${target}</a>` };
    });
  }

  verify({ table, id }) {
    return this.change(async () => { await call("keywright/backups", { verify: { table, id } }); });
  }

  async erase(backup) {
    const consent = await confirmed({
      title: `Delete the backup ${backup.BackupName}?`, verb: "Delete backup",
      lost: [
        `${backup.known ? count(backup.known.items, "item") : "The items"} of ${backup.TableName} as of ${new Date(backup.BackupCreationDateTime * 1000).toLocaleString()}: ${sizeText(backup.BackupSizeBytes ?? 0)}`,
        ...(this.names.includes(backup.TableName) ? [] : ["The table is gone: this may be the last copy of its items."]),
      ],
    });
    if (!consent) return;
    await this.change(async () => {
      await dynamodb("DeleteBackup", { BackupArn: backup.BackupArn }, { consent });
      return html`Deleted the backup ${backup.BackupName}.`;
    });
  }

  /** The table that a new backup is of. */
  get chosen() {
    return this.names.includes(this.making.table) ? this.making.table : this.table && this.names.includes(this.table) ? this.table : this.names[0] ?? "";
  }

  view() {
    if (!this.backups) return this.error ? this.fault : html`<div aria-busy="true" class="op-wait"></div>`;
    return html`${this.fault}
      ${this.readOnly || this.names.length === 0 ? nothing : html`<form class="sm-bar" @submit=${(event) => this.make(event)}>
        <label>Table <select @change=${(event) => { this.making.table = event.target.value; }}>${this.names.map((name) => html`<option value=${name} ?selected=${name === this.chosen}>${name}</option>`)}</select></label>
        ${nameField("Name of the backup", this.making.name, (text) => { this.making.name = text; })}
        <button class="md-button" ?disabled=${this.busy}>Create backup</button></form>`}
      ${this.outcome}
      ${this.job ? html`<kw-job .of=${this.job}></kw-job>` : nothing}
      ${this.restoring ? this.restoreForm(this.restoring) : nothing}
      ${this.backups.length === 0 ? html`<div class="md-empty"><h2>No backup ${this.table ? `of ${this.table}` : `in ${this.region}`}</h2><p>A backup keeps a table as it is at one moment, until it is deleted: also when the table is gone.</p></div>` : this.list(this.backups)}
      ${this.table ? html`<p><a class="md-link" href=${`/${this.region}/operate/backups`}>Backups of all tables</a></p>` : nothing}
      ${this.stored?.store ? this.storeView(this.stored) : nothing}`;
  }

  list(backups) {
    return html`<div class="md-table-room" tabindex="0" role="region" aria-label="Backups"><table class="md-table mf-table"><thead><tr><th scope="col">backup</th><th scope="col">table</th><th scope="col">kind</th><th scope="col">created</th><th scope="col">expires</th><th scope="col" class="is-number">items</th><th scope="col" class="is-number">size</th><th scope="col">copy</th><th scope="col"><span class="kc-hidden">actions</span></th></tr></thead>
      <tbody>${backups.map((one) => html`<tr data-backup=${one.BackupArn}><th scope="row">${one.BackupName}</th><td>${one.TableName}</td><td>${KINDS[one.BackupType] ?? one.BackupType}</td>
        <td>${timeOf(one.BackupCreationDateTime * 1000)}</td><td>${one.BackupExpiryDateTime ? timeOf(one.BackupExpiryDateTime * 1000) : html`<span class="dim">never</span>`}</td><td class="is-number">${one.known ? one.known.items.toLocaleString("en") : ""}</td><td class="is-number">${sizeText(one.BackupSizeBytes ?? 0)}</td><td data-copy>${one.known ? this.copyView(one.known) : ""}</td>
        <td>${this.readOnly ? nothing : html`<div class="mf-line"><button class="md-link" aria-label=${`Restore ${one.BackupName}`} @click=${() => { this.restoring = one; this.said = nothing; this.update(); /** @type {HTMLElement|null} */ (this.querySelector("[aria-label=Restore] [data-name]"))?.focus(); }}>Restore…</button>
          ${one.known?.copy ? html`<button class="md-link" aria-label=${`Verify the copy of ${one.BackupName}`} ?disabled=${this.busy || isAtWork(one.known.verify)} @click=${() => this.verify(one.known)}>Verify</button>` : nothing}
          ${one.BackupType === "USER" ? html`<button class="md-link" aria-label=${`Delete ${one.BackupName}`} @click=${() => this.erase(one)}>Delete…</button>` : nothing}</div>`}</td></tr>`)}</tbody></table></div>
      ${backups.length >= LISTED ? html`<p class="dim">The newest ones of more than ${LISTED.toLocaleString("en")}.</p>` : nothing}`;
  }

  /** Where the items of a backup are, and whether their copy is whole. */
  copyView({ table, id, copy, seal, verify, items }) {
    const progress = (words, job) => html`${words}, ${job.items.toLocaleString("en")} of ${count(items, "item")}${job["waits-for"] ? html`<br>${stateOf(job)}` : nothing}`;
    if (!copy) return isAtWork(seal) ? progress("being copied", seal) : seal?.error ? html`<b class="tl-bad">copy failed</b><br>${seal.error.message}` : html`<span class="dim">none: in the table's history</span>`;
    const broken = this.stored?.backups.find((one) => one.table === table && one.id === id)?.error;
    const found = copy.verified;
    return html`${copy.sealed ? html`complete ${timeOf(copy.sealed)}<br><span class="dim">${sizeText(copy.bytes)} in ${count(copy.chunks, "chunk")}, full</span>` : "complete"}<br>
      ${isAtWork(verify) ? progress("being verified", verify) : found?.damage ? html`<b class="tl-bad">damaged</b>, verified ${timeOf(found.at)}: ${found.damage}` : broken ? html`<b class="tl-bad">damaged</b>: ${broken}`
        : html`${found ? html`whole, verified ${timeOf(found.at)}` : html`<span class="dim">not verified</span>`}${verify?.error && !(found?.at >= verify.ended) ? html`<br>the last verification ended: ${verify.error.message}` : nothing}`}`;
  }

  restoreForm(backup) {
    return html`<form class="sm-bar" aria-label="Restore" @submit=${(event) => this.restore(event)}><span>Restore <b>${backup.BackupName}</b> of ${backup.TableName}</span>
      ${nameField("to the new table", this.target, (text) => { this.target = text; }, `${backup.TableName}-restored`)}
      <button class="md-button is-main" ?disabled=${this.busy}>Restore table</button><button type="button" class="md-button" @click=${() => { this.restoring = null; this.update(); }}>Cancel</button></form>`;
  }

  /** What the backup store has that is no backup of this server: those of whole databases. */
  storeView({ store, backups, sets, error }) {
    const own = new Set((this.backups ?? []).flatMap((one) => (one.known ? [`${one.known.table}/${one.known.id}`] : [])));
    const others = backups.filter((one) => !own.has(`${one.table}/${one.id}`) && (!this.table || one.table === this.table));
    const byId = new Map(others.map((one) => [one.id, others.filter((other) => other.id === one.id)]));
    const find = (table, id) => backups.find((one) => one.table === table && one.id === id);
    const chain = (one) => { const links = [one]; while (links[0].parent && links.length < 100) { const parent = find(one.table, links[0].parent); if (!parent || links.includes(parent)) break; links.unshift(parent); } return links; };
    const chainView = (one) => (one.created === undefined ? "" : !one.parent ? "full" : html`increment: ${chain(one).slice(0, -1).map((link) => html`${link.parent ? "" : "full "}${timeOf(idMs(link.id))} ← `)}this one`);
    return html`<h2>Other backups in the store</h2>
      <p class="sm-bar"><code>${store}</code><button class="md-button" @click=${() => this.lookInStore()}>Read again</button></p>
      ${error ? html`<div class="md-error" role="alert"><p>The backup store cannot be listed: ${error}</p></div>` : byId.size === 0 ? html`<p class="md-nothing">No other. <code>keywright backup --to ${shell(store ?? "")}</code> puts backups of all tables here, each a full one or an increment.</p>`
        : html`<div class="md-table-room" tabindex="0" role="region" aria-label="Other backups in the store"><table class="md-table mf-table"><thead><tr><th scope="col">backup</th><th scope="col">table</th><th scope="col">chain</th><th scope="col" class="is-number">rows</th><th scope="col" class="is-number">size</th><th scope="col" class="is-number">chunks</th><th scope="col">state</th></tr></thead>
        ${[...byId].map(([id, members]) => html`<tbody>${members.map((one, at) => html`<tr data-stored=${id}>${at === 0 ? html`<th scope="rowgroup" rowspan=${members.length}>${timeOf(idMs(id))}<br>${setView(sets.find((set) => set.id === id))}<code class="dim">${id}</code></th>` : nothing}
          <td>${one.table}</td><td>${chainView(one)}</td><td class="is-number">${(one.rows ?? 0).toLocaleString("en")}</td><td class="is-number">${sizeText(one.bytes ?? 0)}</td><td class="is-number">${one.chunks ?? ""}</td><td>${one.error ? html`<b class="tl-bad">damaged</b><br>${one.error}` : one.state}</td></tr>`)}</tbody>`)}</table></div>
        <p class="dim">States are those of manifests and lengths. This reads every chunk:</p><pre class="md-code">keywright backup verify ${shell(store ?? "")}</pre>`}`;
  }
}

/** The milliseconds with which an id begins. */
const idMs = (id) => Number(id.slice(0, 14)) || 0;

const isAtWork = (job) => !!job && job.ended === undefined;

/** Backups of several tables as of one moment. */
const setView = (set) => (!set ? nothing : html`${set.state === "complete" ? `whole backup, ${count(set.tables, "table")}` : html`<b class="tl-bad">${set.state}</b>: ${set.error ?? "other tables may be missing"}`}<br>`);

if (!customElements.get("kw-backups")) customElements.define("kw-backups", KwBackups);
