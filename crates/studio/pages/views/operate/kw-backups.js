// <kw-backups>: the backups of this place: make one, restore one to a new table, delete one.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { sizeText } from "../collections/typed.js";
import { confirmed } from "../confirm.js";
import { call, dynamodb, tableNames } from "../model/api.js";
import { count } from "../model/words.js";
import { Watching } from "./watching.js";

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
    this.busy = false;
    this.refused = "";
    this.said = /** @type {any} */ (nothing);
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
    const { backups } = await call("backups/places", {});
    if (!still()) return;
    const places = new Map(backups.map((one) => [`${one.table}/backup/${one.id}`, one]));
    this.names = names;
    this.backups = found.toReversed().map((one) => ({ ...one, place: places.get(one.BackupArn.split(":table/")[1]) ?? null }));
  }

  /** Sends what is asked for; its fault is shown with the forms. */
  async send(run) {
    this.busy = true;
    this.refused = "";
    this.said = nothing;
    this.update();
    try {
      this.said = await run();
      this.restart();
    } catch (error) {
      this.refused = /** @type {Error} */ (error).message;
    }
    this.busy = false;
    this.update();
  }

  make(event) {
    event.preventDefault();
    const TableName = this.chosen;
    const BackupName = this.making.name.trim();
    return this.send(async () => {
      await dynamodb("CreateBackup", { TableName, BackupName });
      this.making.name = "";
      return html`Created the backup ${BackupName} of ${TableName}.`;
    });
  }

  restore(event) {
    event.preventDefault();
    const { restoring } = this;
    const target = this.target.trim();
    return this.send(async () => {
      await dynamodb("RestoreTableFromBackup", { BackupArn: restoring.BackupArn, TargetTableName: target });
      this.restoring = null;
      this.target = "";
      window.dispatchEvent(new CustomEvent("kw-tables"));
      return html`Restoring ${restoring.BackupName} to <a class="md-link" href=${`/${this.region}/t/${encodeURIComponent(target)}/items`}>${target}</a>. <a class="md-link" href=${`/${this.region}/operate/jobs`}>See the job</a>`;
    });
  }

  async erase(backup) {
    const consent = await confirmed({
      title: `Delete the backup ${backup.BackupName}?`, verb: "Delete backup",
      lost: [
        `${backup.place ? count(backup.place.items, "item") : "The items"} of ${backup.TableName} as of ${new Date(backup.BackupCreationDateTime * 1000).toLocaleString()}: ${sizeText(backup.BackupSizeBytes ?? 0)}`,
        ...(this.names.includes(backup.TableName) ? [] : ["The table is gone: this may be the last copy of its items."]),
      ],
    });
    if (!consent) return;
    await this.send(async () => {
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
        <label>Name of the backup <input required pattern="[A-Za-z0-9_.\\-]{3,255}" title="3 to 255 letters, digits, _ . -" .value=${this.making.name} @input=${(event) => { this.making.name = event.target.value; }}></label>
        <button class="md-button" ?disabled=${this.busy}>Create backup</button></form>`}
      ${this.refused ? html`<div class="md-error" role="alert"><p>${this.refused}</p></div>` : nothing}
      <div role="status">${this.said === nothing ? nothing : html`<p>${this.said}</p>`}</div>
      ${this.restoring ? this.restoreForm(this.restoring) : nothing}
      ${this.backups.length === 0 ? html`<div class="md-empty"><h2>No backup ${this.table ? `of ${this.table}` : `in ${this.region}`}</h2><p>A backup keeps a table as it is at one moment, until it is deleted: also when the table is gone.</p></div>` : this.list(this.backups)}
      ${this.table ? html`<p><a class="md-link" href=${`/${this.region}/operate/backups`}>Backups of all tables</a></p>` : nothing}`;
  }

  list(backups) {
    return html`<div class="md-table-room" tabindex="0" role="region" aria-label="Backups"><table class="md-table mf-table"><thead><tr><th scope="col">backup</th><th scope="col">table</th><th scope="col">kind</th><th scope="col">created</th><th scope="col">expires</th><th scope="col" class="is-number">items</th><th scope="col" class="is-number">size</th><th scope="col">kept in</th><th scope="col"><span class="kc-hidden">actions</span></th></tr></thead>
      <tbody>${backups.map((one) => html`<tr data-backup=${one.BackupArn}><th scope="row">${one.BackupName}</th><td>${one.TableName}</td><td>${KINDS[one.BackupType] ?? one.BackupType}</td>
        <td>${time(one.BackupCreationDateTime)}</td><td>${one.BackupExpiryDateTime ? time(one.BackupExpiryDateTime) : html`<span class="dim">never</span>`}</td><td class="is-number">${one.place ? one.place.items.toLocaleString("en") : ""}</td><td class="is-number">${sizeText(one.BackupSizeBytes ?? 0)}</td><td>${keptIn(one.place)}</td>
        <td>${this.readOnly ? nothing : html`<button class="md-link" aria-label=${`Restore ${one.BackupName}`} @click=${() => { this.restoring = one; this.said = nothing; this.update(); /** @type {HTMLElement|null} */ (this.querySelector("[data-target]"))?.focus(); }}>Restore…</button>
          ${one.BackupType === "USER" ? html`<button class="md-link" aria-label=${`Delete ${one.BackupName}`} @click=${() => this.erase(one)}>Delete…</button>` : nothing}`}</td></tr>`)}</tbody></table></div>
      ${backups.length >= LISTED ? html`<p class="dim">The newest ones of more than ${LISTED.toLocaleString("en")}.</p>` : nothing}`;
  }

  restoreForm(backup) {
    return html`<form class="sm-bar" aria-label="Restore" @submit=${(event) => this.restore(event)}><span>Restore <b>${backup.BackupName}</b> of ${backup.TableName}</span>
      <label>to the new table <input data-target required pattern="[A-Za-z0-9_.\\-]{3,255}" title="3 to 255 letters, digits, _ . -" .value=${this.target} placeholder=${`${backup.TableName}-restored`} @input=${(event) => { this.target = event.target.value; }}></label>
      <button class="md-button is-main" ?disabled=${this.busy}>Restore table</button><button type="button" class="md-button" @click=${() => { this.restoring = null; this.update(); }}>Cancel</button></form>`;
  }
}

/** Where the items of a backup are. */
const keptIn = (place) => (!place ? "" : place.sealed ? "the backup store" : place.sealing ? "the table's history, being copied" : "the table's history");

const time = (seconds) => html`<time datetime=${new Date(seconds * 1000).toISOString()}>${new Date(seconds * 1000).toLocaleString()}</time>`;

if (!customElements.get("kw-backups")) customElements.define("kw-backups", KwBackups);
