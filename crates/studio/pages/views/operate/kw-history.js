// <kw-history>: the timeline of a table that has point-in-time recovery. A second is picked; an item is seen as it was
// then, next to what it is now or was at another second, and with all its versions; the table is restored to that
// second as a new one, or rolled back to it.

import { html, nothing, svg } from "../../vendor/lit-html/lit-html.js";
import { sizeText, visible } from "../collections/typed.js";
import { confirmed } from "../confirm.js";
import { call, dynamodb, go, here } from "../model/api.js";
import { count } from "../model/words.js";
import { sameItems, sideBySide, summary } from "./images.js";
import { keyOf } from "./kw-metrics.js";
import "./kw-rollback.js";
import { nameField, timeOf, Watching } from "./watching.js";

const DAYS_MAX = 35;
const VERSIONS = 50;
const SECOND = 1000;
/** Width of the picture of an item's changes, in its own units. */
const WIDE = 1000;

/** @typedef {{at?: number, stamp?: string, by?: string, item: any}} Version the change that made an item what it is */

export class KwHistory extends Watching {
  constructor() {
    super();
    this.region = "";
    this.table = "";
    this.readOnly = true;
    this.facts = /** @type {any} */ (null);
    this.recovery = /** @type {any} */ (null);
    this.span = /** @type {{earliestMs: number, latestMs: number, bytes: number}|null} */ (null);
    /** The second that was chosen; null: the latest one. */ this.chosen = /** @type {number|null} */ (null);
    /** The second that it is compared with; null: now. */ this.other = /** @type {number|null} */ (null);
    /** The key as it is typed, by attribute. */ this.typed = /** @type {Record<string, string>} */ ({});
    /** The key in the address. */ this.inAddress = /** @type {string[]} */ ([]);
    this.versions = /** @type {Version[]|null} */ (null);
    /** The key of these versions, as the API has it. */ this.shown = /** @type {any} */ (null);
    /** Before it come older versions. */ this.beyond = /** @type {string|null} */ (null);
    /** The item at seconds before all versions that are loaded. */ this.older = /** @type {Map<number, any>} */ (new Map());
    this.open = new Set();
    this.days = "";
    this.target = "";
    /** The restore that was begun last. */ this.job = /** @type {any} */ (null);
  }

  connectedCallback() {
    super.connectedCallback();
    call("state", {}).then((state) => { this.readOnly = state.readOnly; this.update(); }, () => {});
  }

  /** @param {{region: string, table: string, query: URLSearchParams}} route */
  set route({ region, table, query }) {
    const at = Number(query.get("at")) || null;
    const other = Number(query.get("with")) || null;
    const keys = query.getAll("key");
    const isNew = table !== this.table || region !== this.region;
    const isSame = at === this.chosen && other === this.other && JSON.stringify(keys) === JSON.stringify(this.inAddress);
    if (!isNew && isSame) return;
    this.chosen = at;
    this.other = other;
    this.inAddress = keys;
    if (!isNew) { this.takeKey(); this.update(); return; }
    this.region = region;
    this.table = table;
    this.facts = null;
    this.span = null;
    this.recovery = null;
    this.versions = null;
    this.said = nothing;
    this.refused = "";
    this.typed = {};
    this.target = "";
    this.job = null;
    this.restart();
  }

  get asks() { return this.table !== ""; }
  get isOn() { return this.recovery?.PointInTimeRecoveryStatus === "ENABLED"; }
  /** The attributes of the key. @returns {string[]} */
  get keys() { const { pk, sk } = keyOf(this.facts); return [...pk, ...sk]; }
  get latest() { return Math.floor((this.span?.latestMs ?? 0) / SECOND); }
  get earliest() { return Math.min(this.latest, Math.ceil((this.span?.earliestMs ?? 0) / SECOND)); }
  /** The second that is shown. */
  get picked() { return this.chosen ?? this.latest; }

  async look(still) {
    const { table } = this;
    const [facts, backups, history] = await Promise.all([
      this.facts ?? dynamodb("DescribeTable", { TableName: table }).then((one) => one.Table),
      dynamodb("DescribeContinuousBackups", { TableName: table }), call("history/span", { table }),
    ]);
    if (!still()) return;
    const isNew = !this.facts;
    this.facts = facts;
    this.recovery = backups.ContinuousBackupsDescription.PointInTimeRecoveryDescription;
    this.span = history.span;
    if (isNew) this.takeKey();
  }

  /** The item that the address names is shown. */
  takeKey() {
    const values = this.inAddress;
    if (!this.facts || values.length !== this.keys.length) return;
    this.typed = Object.fromEntries(this.keys.map((name, at) => [name, values[at]]));
    if (this.isOn) this.ask();
  }

  /** Keeps in the address what is shown. */
  keepAddress() {
    const url = new URL(here(), location.href);
    url.searchParams.delete("key");
    for (const [name, second] of /** @type {[string, number|null][]} */ ([["at", this.chosen], ["with", this.other]])) {
      if (second === null) url.searchParams.delete(name); else url.searchParams.set(name, String(second));
    }
    for (const value of this.inAddress) url.searchParams.append("key", value);
    go(url.pathname + url.search, true);
  }

  /** A second within the timeline; null: the latest one. */
  within(at) { return at === null || at >= this.latest ? null : Math.max(this.earliest, at); }

  pick(at, isFinal = true) {
    this.chosen = this.within(at);
    if (isFinal) this.moved(); else this.update();
  }

  compare(at) {
    this.other = this.within(at);
    this.moved();
  }

  /** Another second is chosen: the address keeps it, and the items as they were are asked for. */
  moved() {
    this.keepAddress();
    this.send(() => this.lookBack());
  }

  /** The key as the API has it. */
  get key() {
    return Object.fromEntries(this.keys.map((name) => [name, { [this.types.get(name) ?? "S"]: this.typed[name] ?? "" }]));
  }

  /** The types of the key's attributes. @returns {Map<string, string>} */
  get types() { return new Map(this.facts.AttributeDefinitions.map((one) => [one.AttributeName, one.AttributeType])); }

  /** Reads the newest versions of the item, or older ones. */
  ask(before = /** @type {string|null} */ (null)) {
    const { table } = this;
    return this.send(async () => {
      if (!before) { this.shown = this.key; this.versions = null; this.open = new Set(); this.older.clear(); }
      const answer = await call("keywright/history", { table, key: this.shown, limit: VERSIONS, ...(before ? { before } : {}) });
      if (table !== this.table) return;
      this.versions = [...(before ? this.versions ?? [] : []), ...answer.versions];
      this.beyond = answer.before ?? null;
      await this.lookBack();
    });
  }

  /** The item at the chosen seconds is asked for, where they are before all loaded versions. */
  async lookBack() {
    const { table, shown } = this;
    for (const second of [this.chosen, this.other]) {
      if (second === null || !this.versions || !this.beyond || this.versionAt(second) || this.older.has(second)) continue;
      const { item } = await call("keywright/history", { table, key: shown, at: second * SECOND });
      if (table !== this.table || shown !== this.shown) return;
      this.older.set(second, item);
      this.update();
    }
  }

  /** The item at a second, or now; undefined while it is not known. @param {number|null} second */
  itemAt(second) {
    const versions = this.versions ?? [];
    // The latest second is now, and not its beginning.
    const version = second === null ? versions[0] : this.versionAt(second);
    return version ? version.item : second !== null && this.beyond ? this.older.get(second) : null;
  }

  /** The version that stood at a second: the newest change before it. */
  versionAt(second) {
    return this.versions?.find((one) => one.at === undefined || one.at < second * SECOND) ?? null;
  }

  async enable(days) {
    const now = this.recovery?.RecoveryPeriodInDays ?? DAYS_MAX;
    const isLess = this.isOn && days < now;
    const consent = isLess ? await confirmed({
      title: `Keep ${count(days, "day")} instead of ${now}?`, verb: "Shorten the period",
      lost: [`The history of ${this.table} that is older than ${count(days, "day")}: it cannot be brought back.`],
    }) : null;
    if (isLess && !consent) return;
    await this.set({ PointInTimeRecoveryEnabled: true, RecoveryPeriodInDays: days }, consent);
  }

  async disable() {
    const consent = await confirmed({
      title: `Disable point-in-time recovery of ${this.table}?`, verb: "Disable recovery",
      lost: [
        `The history since ${timeText(this.earliest)}: ${sizeText(this.span?.bytes ?? 0)} on disk. It cannot be brought back.`,
        "The way to see items as they were, and to restore the table to a second. Backups stay.",
      ],
    });
    if (consent) await this.set({ PointInTimeRecoveryEnabled: false }, consent);
  }

  set(PointInTimeRecoverySpecification, consent) {
    return this.send(async () => {
      await dynamodb("UpdateContinuousBackups", { TableName: this.table, PointInTimeRecoverySpecification }, { consent });
      this.days = "";
      this.chosen = null;
      if (!PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled) this.versions = null;
      this.restart();
    });
  }

  restore(event) {
    event.preventDefault();
    const target = this.target.trim();
    const { region, table, chosen } = this;
    this.job = null;
    return this.send(async () => {
      await dynamodb("RestoreTableToPointInTime", { SourceTableName: table, TargetTableName: target, ...(chosen === null ? { UseLatestRestorableTime: true } : { RestoreDateTime: chosen }) });
      const words = html`Restoring ${table} as of ${asOf(chosen)} to <a class="md-link" href=${`/${region}/t/${encodeURIComponent(target)}/items`}>${target}</a>`;
      this.job = { region, table: target, words };
      this.target = "";
      window.dispatchEvent(new CustomEvent("kw-tables"));
    });
  }

  view() {
    if (!this.recovery) return this.error ? this.fault : html`<div aria-busy="true" class="op-wait"></div>`;
    return html`${this.fault}
      ${this.isOn ? this.settings() : this.offView()}
      ${this.outcome}
      ${this.isOn && this.span ? html`${this.timeline()}${this.itemView()}${this.restoreView()}` : nothing}`;
  }

  offView() {
    return html`<div class="md-empty"><h2>${this.table} keeps no history</h2>
      <p>With point-in-time recovery the table keeps what each change replaces: you see any item as it was, and restore the table to any second of the period. Each change costs one more row of the old item's size on disk, until the period has passed.</p>
      ${this.readOnly ? html`<p>This studio is read-only: a program can enable it with UpdateContinuousBackups.</p>` : this.periodForm("Enable point-in-time recovery", true)}</div>`;
  }

  /** @param {string} verb @param {boolean} isMain */
  periodForm(verb, isMain) {
    const value = this.days || String(this.recovery?.RecoveryPeriodInDays ?? DAYS_MAX);
    return html`<form class="sm-bar" @submit=${(event) => { event.preventDefault(); this.enable(Number(event.target.elements.days.value)); }}>
      <label>Keep <input name="days" required type="number" min="1" max=${DAYS_MAX} .value=${value} @input=${(event) => { this.days = event.target.value; }}> days</label>
      <button class=${isMain ? "md-button is-main" : "md-button"} ?disabled=${this.busy}>${verb}</button></form>`;
  }

  settings() {
    return html`<div class="sm-bar"><span>Point-in-time recovery: <b>enabled</b>, ${count(this.recovery.RecoveryPeriodInDays ?? DAYS_MAX, "day")}</span>
      <span>History on disk: <b data-history-bytes>${sizeText(this.span?.bytes ?? 0)}</b></span>
      ${this.readOnly ? nothing : html`${this.periodForm("Save period", false)}<button class="md-button" ?disabled=${this.busy} @click=${() => this.disable()}>Disable…</button>`}
</div>`;
  }

  timeline() {
    const { earliest, latest, picked } = this;
    const field = (words, second, none, pick) => html`<label>${words} <input type="datetime-local" step="1" min=${localText(earliest)} max=${localText(latest)} .value=${localText(second ?? latest)} @change=${(event) => { const ms = new Date(event.target.value).getTime(); if (!Number.isNaN(ms)) pick(Math.floor(ms / SECOND)); }}></label>
        <button class="md-button" ?disabled=${second === null} @click=${() => pick(null)}>${none}</button>`;
    return html`<section class="ch" aria-label="Timeline"><p class="sm-bar">${field("As of", this.chosen, "Latest", (at) => this.pick(at))}<code>${utcText(picked)}</code></p>
      ${this.marks()}
      <input class="hi-range" type="range" aria-label="Second" min=${earliest} max=${latest} step="1" .value=${String(picked)} aria-valuetext=${timeText(picked)}
        @input=${(event) => this.pick(Number(event.target.value), false)} @change=${(event) => this.pick(Number(event.target.value))}>
      <p class="sm-bar"><span>from ${timeText(earliest)}</span><span class="op-at">to ${timeText(latest)}</span></p>
      ${this.versions ? html`<p class="sm-bar">${field("Compared with", this.other, "Now", (at) => this.compare(at))}</p>` : nothing}</section>`;
  }

  /** The changes of the item on the line of time. */
  marks() {
    const { earliest, latest } = this;
    const times = (this.versions ?? []).flatMap((one) => (one.at === undefined ? [] : [one.at / SECOND])).filter((time) => time >= earliest);
    const x = (time) => ((time - earliest) / Math.max(1, latest - earliest)) * (WIDE - 4);
    return html`<svg class="hk-bar" viewBox="0 0 ${WIDE} 10" preserveAspectRatio="none" aria-hidden="true">${times.map((time) => svg`<rect x=${Math.min(WIDE - 4, x(time))} y="1" width="4" height="8"></rect>`)}</svg>`;
  }

  itemView() {
    const { keys } = this;
    return html`<h2>An item as it was</h2>
      <form class="sm-bar" @submit=${(event) => { event.preventDefault(); this.inAddress = keys.map((name) => this.typed[name] ?? ""); this.keepAddress(); this.ask(); }}>
        ${keys.map((name) => html`<label>${visible(name)} <input required autocomplete="off" spellcheck="false" .value=${this.typed[name] ?? ""} @input=${(event) => { this.typed[name] = event.target.value; }}></label>`)}
        <button class="md-button" ?disabled=${this.busy}>Show versions</button></form>
      ${this.versions ? this.versionsView(this.versions) : html`<p class="md-nothing">Type the key of an item to see its versions, and what it was at the second above.</p>`}`;
  }

  /** @param {Version[]} versions */
  versionsView(versions) {
    const { chosen, other } = this;
    const [then, now] = [this.itemAt(chosen), this.itemAt(other)];
    const version = chosen === null ? versions[0] : this.versionAt(chosen);
    return html`${then === undefined || now === undefined ? html`<div aria-busy="true" class="op-wait"></div>` : !then && !now ? html`<p class="md-nothing">There was no item with this key as of ${asOf(chosen)}, and there ${other === null ? "is none now" : `was none as of ${asOf(other)}`}.</p>`
      : html`<p role="status">${this.comparison(then, now)}</p>
        <div class="md-table-room" tabindex="0" role="region" aria-label="Then and now">${sideBySide(then, now, [`as of ${asOf(chosen)}`, other === null ? "now" : `as of ${asOf(other)}`])}</div>`}
      <h3>Versions, the newest first</h3>
      <ol class="sm-list" aria-label="Versions, the newest first">${versions.map((one, place) => this.version(one, place, version))}</ol>
      ${this.beyond ? html`<p><button class="md-button" ?disabled=${this.busy} @click=${() => this.ask(this.beyond)}>Load older versions</button></p>` : nothing}`;
  }

  /** How the item differs between the two times. */
  comparison(then, now) {
    const isNow = this.other === null;
    if (sameItems(then, now)) return isNow ? "The item is now as it was then." : "The item was the same at both times.";
    if (!then) return `There was no such item ${isNow ? "then" : `as of ${asOf(this.chosen)}`}.`;
    return !now ? (isNow ? "The item is gone now." : `There was no such item as of ${asOf(this.other)}.`) : html`Differs in ${summary(then, now, this.keys)}`;
  }

  /** One version with its difference to the one before it. */
  version(one, place, shown) {
    const versions = this.versions ?? [];
    const last = place === versions.length - 1;
    const before = last ? null : versions[place + 1].item;
    const isFirst = one.at === undefined;
    const [sign, word] = isFirst ? ["·", "as the history began"] : !one.item ? ["−", one.by === "time to live" ? "REMOVE by time to live" : "REMOVE"] : before ? ["~", "MODIFY"] : last ? ["·", "WRITE"] : ["+", "INSERT"];
    const kind = { "−": "remove", "~": "modify", "+": "insert" }[sign] ?? "";
    const id = one.stamp ?? "first";
    const open = this.open.has(id);
    const since = one.at === undefined ? this.earliest : Math.floor(one.at / SECOND) + 1;
    return html`<li class="sm-item is-${kind}" data-version=${id}>
      <button class="sm-head" aria-expanded=${open} @click=${() => { if (open) this.open.delete(id); else this.open.add(id); this.update(); }}>
        <span class="sm-event"><span aria-hidden="true">${sign}</span> ${word}${one === shown ? html` <b class="mf-draft">picked</b>` : nothing}</span>
        <span class="sm-what">${isFirst && !one.item ? "no item" : isFirst || last ? summary(null, one.item, this.keys) : summary(before, one.item, this.keys)}</span>
        ${one.at === undefined ? nothing : html`<span class="dim">by ${one.by}</span><span class="dim">${timeOf(one.at)}</span>`}
      </button>
      ${open ? html`${sideBySide(last ? null : before, one.item)}<p class="sm-bar"><button class="md-button" @click=${() => this.pick(since)}>Go to this version</button><button class="md-button" @click=${() => this.compare(since)}>Compare with this version</button></p>` : nothing}</li>`;
  }

  restoreView() {
    const { region, table, chosen, readOnly } = this;
    return html`${readOnly ? nothing : html`<h2>Restore</h2><p class="dim">The table as of ${asOf(chosen)} becomes a new table; ${table} stays as it is. Stream, time to live, tags and point-in-time recovery are not taken along.</p>
      <form class="sm-bar" @submit=${(event) => this.restore(event)}>${nameField("New table", this.target, (text) => { this.target = text; }, `${table}-restored`)}
        <button class="md-button" ?disabled=${this.busy}>Restore table</button></form>
      ${this.job ? html`<kw-job .of=${this.job}></kw-job>` : nothing}
      <p><a class="md-link" href=${`/${region}/operate/transfers?table=${encodeURIComponent(table)}${chosen === null ? "" : `&at=${chosen}`}`}>Export the table as of ${asOf(chosen)}</a></p>`}
      <h2>${readOnly ? "Changes since that second" : "Roll back"}</h2><p class="dim">${readOnly ? `What a rollback of ${table} to that second would change.` : `Changes since that second are undone in ${table} itself, by ordinary writes. What would change is shown first.`}</p>
      <kw-rollback .of=${{ region, table, second: chosen, when: timeText(this.picked), key: this.versions ? this.shown : null, keys: this.keys, pk: keyOf(this.facts).pk, types: this.types, readOnly }}></kw-rollback>`;
  }
}

/** The second that is shown, in words. @param {number|null} second */
const asOf = (second) => (second === null ? "the latest second" : timeText(second));

/** A second in the browser's zone. */
const timeText = (second) => new Date(second * SECOND).toLocaleString();

/** A second as programs write it. */
const utcText = (second) => new Date(second * SECOND).toISOString().replace(".000", "");

/** A second as a field for times has it, in the browser's zone. */
function localText(second) {
  const date = new Date(second * SECOND);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

if (!customElements.get("kw-history")) customElements.define("kw-history", KwHistory);
