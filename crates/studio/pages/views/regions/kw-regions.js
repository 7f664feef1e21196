// <kw-regions>: a table in its regions: how each replica stands, how far changes have come, which have lost; one item
// in all regions side by side. Replicas are added, changed and removed here; faults between regions are simulated.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { sizeText, visible } from "../collections/typed.js";
import { confirmed } from "../confirm.js";
import { call, dynamodb, go, here } from "../model/api.js";
import { count } from "../model/words.js";
import { keyOf } from "../operate/kw-metrics.js";
import { metric, MINUTE, now, read } from "../operate/series.js";
import { choice, timeOf, Watching } from "../operate/watching.js";
import { conflictsView, idOf } from "./conflicts.js";
import { everywhereView, newestOf } from "./everywhere.js";
import "./kw-simulation.js";
import { classText, replicasView, wayTo } from "./replicas.js";

/** Latencies change seldom: they are read with the first of so many looks. */
const SELDOM = 5;
const LATENCY_S = 15 * MINUTE;
const CLASSES = ["STANDARD", "STANDARD_INFREQUENT_ACCESS"];
/** Regions that a form proposes next to those of the server. */
const PROPOSED = ["us-east-1", "us-east-2", "us-west-2", "eu-west-1", "eu-central-1", "ap-northeast-1", "ap-southeast-2", "sa-east-1"];

/** @typedef {import("./replicas.js").Member} Member */
/** @typedef {import("./everywhere.js").Here} Here */

/** What a page knows of a table that it has not looked at. */
const nothingKnown = () => ({
  facts: /** @type {any} */ (null),
  members: /** @type {Member[]} */ ([]),
  latency: /** @type {Map<string, {average: number, longest: number}|null>} */ (new Map()),
  conflicts: /** @type {any[]|null} */ (null),
  /** The counts that these conflicts were read for. */ counted: "",
  /** Lost changes that are open, with the item as it is now. */ open: /** @type {Map<string, any>} */ (new Map()),
  /** What the visitor may not, which is not asked for again, with the sentence of the API. */
  denied: /** @type {Map<string, string>} */ (new Map()),
  /** Why the visitor may not change the table; empty if it may, null while that is not known. */
  mayNot: /** @type {string|null} */ (null),
  /** The same of removing the replica in a region. */ mayNotDelete: /** @type {Map<string, string>} */ (new Map()),
  /** The item of the address in each region. */ here: /** @type {Map<string, Here>} */ (new Map()),
  /** The newest version at this look and at the one before, to tell a change that was just made. */ newest: ["", ""],
  /** The key as it is typed, by attribute. */ typed: /** @type {Record<string, string>} */ ({}),
  adding: { region: "", units: "", class: "" },
  /** The replica whose overrides are changed. */ editing: /** @type {any} */ (null),
});

export class KwRegions extends Watching {
  constructor() {
    super();
    this.info = /** @type {any} */ (null);
    this.region = "";
    this.table = "";
    this.inAddress = /** @type {string[]} */ ([]);
    const none = nothingKnown();
    this.facts = none.facts;
    this.members = none.members;
    this.latency = none.latency;
    this.conflicts = none.conflicts;
    this.counted = none.counted;
    this.open = none.open;
    this.denied = none.denied;
    this.mayNot = none.mayNot;
    this.mayNotDelete = none.mayNotDelete;
    this.here = none.here;
    this.newest = none.newest;
    this.typed = none.typed;
    this.adding = none.adding;
    this.editing = none.editing;
  }

  /** Drops what is known of another table. */
  forget() {
    Object.assign(this, nothingKnown());
    this.refused = "";
    this.said = nothing;
  }

  connectedCallback() {
    super.connectedCallback();
    call("state", {}).then((info) => { this.info = info; this.update(); }, () => {});
  }

  /** @param {{region: string, table: string, query: URLSearchParams}} route */
  set route({ region, table, query }) {
    const keys = query.getAll("key");
    const isNew = table !== this.table || region !== this.region;
    if (!isNew && JSON.stringify(keys) === JSON.stringify(this.inAddress)) return;
    this.inAddress = keys;
    if (isNew) {
      this.region = region;
      this.table = table;
      this.forget();
    } else this.takeKey();
    this.restart();
  }

  get asks() { return this.table !== ""; }
  get readOnly() { return this.info?.readOnly !== false; }
  /** The attributes of the key. @returns {string[]} */
  get keys() { const { pk, sk } = keyOf(this.facts); return [...pk, ...sk]; }
  get isGlobal() { return this.facts?.Replicas !== undefined; }
  get isProvisioned() { return this.facts.BillingModeSummary?.BillingMode !== "PAY_PER_REQUEST"; }
  /** Members that this server keeps. */
  get local() { return this.members.filter((one) => !one.peer); }

  /** The key of the item that is shown, as the API has it; null if none is. */
  get key() {
    if (!this.facts || this.inAddress.length !== this.keys.length) return null;
    const types = new Map(this.facts.AttributeDefinitions.map((one) => [one.AttributeName, one.AttributeType]));
    return Object.fromEntries(this.keys.map((name, at) => [name, { [types.get(name) ?? "S"]: this.inAddress[at] }]));
  }

  takeKey() {
    this.here = new Map();
    this.newest = ["", ""];
    if (this.key) this.typed = Object.fromEntries(this.keys.map((name, at) => [name, this.inAddress[at]]));
  }

  /** An answer that the rest of the view can do without: null if it is denied, or was before. The frame says why. */
  async allowed(id, ask) {
    if (this.denied.has(id)) return null;
    try {
      return await ask();
    } catch (error) {
      if (!error.more?.explanation) throw error;
      this.denied.set(id, error.message);
      return null;
    }
  }

  async look(still) {
    const isFirst = !this.facts;
    const { Table } = await dynamodb("DescribeTable", { TableName: this.table });
    if (!still()) return;
    this.facts = Table;
    if (isFirst) this.takeKey();
    if (this.mayNot === null) {
      const mayNot = await this.right({});
      if (!still()) return;
      this.mayNot = mayNot;
    }
    if (!this.isGlobal) { this.members = []; return; }
    // Items are read before what is on its way: what arrives in between is not taken for lost.
    const found = this.key ? await this.lookEverywhere() : null;
    const own = await this.member(this.region, null, Table);
    const others = await Promise.all((Table.Replicas ?? []).map((entry) => this.member(entry.RegionName, entry, null, own)));
    if (!still()) return;
    this.members = [own, ...others];
    if (found) {
      this.here = found;
      this.newest = [JSON.stringify(newestOf(found)), this.newest[0]];
    }
    for (const { region } of others) {
      if (!this.mayNotDelete.has(region)) this.mayNotDelete.set(region, await this.right({ delete: region }));
    }
    if (this.reads % SELDOM === 0) await this.lookAtLatency(still);
    await this.lookAtConflicts(still);
  }

  /** Why the visitor does not have a right; empty if it has. */
  async right(what) {
    return call("replicas/may", { table: this.table, ...what }).then(() => "", (error) => { if (!error.more?.explanation) throw error; return error.message; });
  }

  /** What is known of a member. @returns {Promise<Member>} */
  async member(region, entry, facts, own = /** @type {Member|null} */ (null)) {
    const peer = wayTo(own?.status, region)?.peer ?? null;
    const member = { region, isOwn: !entry, entry, facts, status: null, unknown: "", peer };
    if (peer) return member;
    const TableName = this.table;
    try {
      member.facts ??= (await this.allowed(`describe ${region}`, () => dynamodb("DescribeTable", { TableName }, { region })))?.Table ?? null;
      const answer = await this.allowed(`status ${region}`, () => call("keywright/global-tables", { table: TableName }, { region }));
      member.status = answer?.tables[0] ?? null;
    } catch (error) {
      // A replica that is made, or goes, cannot be asked everything.
      if (error.kind === "gone" || !entry) throw error;
      member.unknown = error.message;
    }
    if (this.denied.has(`describe ${region}`) || this.denied.has(`status ${region}`)) member.unknown = "not shown in full: denied";
    return member;
  }

  async lookAtLatency(still) {
    const others = this.members.filter((one) => !one.isOwn);
    const queries = others.flatMap(({ region }, at) => [["a", "Average"], ["m", "Maximum"]].map(([id, stat]) => metric(`${id}${at}`, "ReplicationLatency", { TableName: this.table, ReceivingRegion: region }, { stat, period: LATENCY_S })));
    const to = (Math.floor((await now()) / MINUTE) + 1) * MINUTE;
    const found = await this.allowed("latency", () => read(queries, to - LATENCY_S, to));
    if (!still()) return;
    const value = (id) => [...(found?.get(id)?.values() ?? [])].at(-1);
    this.latency = new Map();
    for (const [at, { region }] of others.entries()) {
      const [average, longest] = [value(`a${at}`), value(`m${at}`)];
      if (!found) this.latency.set(region, null);
      else if (average !== undefined && longest !== undefined) this.latency.set(region, { average, longest });
    }
  }

  /** Reads conflicts again when there are more of them. Each region lists its own changes that lost. */
  async lookAtConflicts(still) {
    const counted = JSON.stringify(this.local.map((one) => [one.region, one.status?.conflicts]));
    if (counted === this.counted) return;
    const lists = await Promise.all(this.local.map(async ({ region, status }) => {
      if (status && status.conflicts === 0) return [];
      const answer = await this.allowed(`conflicts ${region}`, () => call("keywright/global-tables", { conflicts: this.table }, { region })).catch((error) => { if (error.kind === "gone") throw error; return null; });
      return (answer?.conflicts ?? []).map((one) => ({ ...one, in: region }));
    }));
    if (!still()) return;
    this.counted = counted;
    this.conflicts = lists.flat().toSorted((one, other) => other.at - one.at);
  }

  /** The item in each region. @returns {Promise<Map<string, Here>>} */
  async lookEverywhere() {
    const { key } = this;
    const regions = [this.region, ...(this.facts.Replicas ?? []).map((entry) => entry.RegionName)];
    const found = await Promise.all(regions.map(async (region) => {
      if (this.members.find((one) => one.region === region)?.peer) return [region, { text: "kept by another server" }];
      const here = await this.allowed(`item ${region}`, () => call("keywright/global-tables", { item: { table: this.table, key } }, { region }))
        .then((answer) => (answer ? { found: answer } : { text: "not shown: denied" }), (error) => { if (error.kind === "gone") throw error; return { text: error.message }; });
      return [region, here];
    }));
    return new Map(/** @type {[string, Here][]} */ (found));
  }

  /** Whether changes of a region are on their way to another one, as far as that is known. */
  isOnWay(region, origin) {
    const way = wayTo(this.members.find((one) => one.region === origin)?.status, region);
    const [newest, before] = this.newest;
    return way?.filling || way?.backlog > 0 || newest !== before;
  }

  hrefOf = (key) => `/${this.region}/t/${encodeURIComponent(this.table)}?${new URLSearchParams([["tab", "regions"], ...this.keys.map((name) => ["key", String(Object.values(key[name] ?? {})[0] ?? "")])])}`;

  /** Opens a lost change, with the item as its region has it now; or closes it. */
  async toggle(one) {
    const id = idOf(one);
    if (this.open.delete(id)) { this.update(); return; }
    this.open.set(id, undefined);
    this.update();
    const isOpen = () => this.open.has(id);
    const now = await call("keywright/global-tables", { item: { table: this.table, key: one.key } }, { region: one.in }).then((answer) => answer.item, (error) => ({ error: error.message }));
    if (isOpen()) this.open.set(id, now);
    this.update();
  }

  /** Changes replicas. @param {any} update @param {object|null} consent */
  change(update, consent = null) {
    return this.send(async () => {
      await dynamodb("UpdateTable", { TableName: this.table, ReplicaUpdates: [update] }, { consent }).catch((error) => {
        const type = error.more?.__type?.split("#").at(-1);
        throw new Error(type ? `${type}: ${error.message}` : error.message);
      });
    }).then(() => this.read());
  }

  async add(event) {
    event.preventDefault();
    const { region, units, class: TableClassOverride } = this.adding;
    await this.change({ Create: { RegionName: region.trim(), ...this.unitsOf(units), ...(TableClassOverride ? { TableClassOverride } : {}) } });
    if (!this.refused) { this.adding = { region: "", units: "", class: "" }; this.update(); }
  }

  /** The override of read units in the form of the table's billing mode; none for an empty field. */
  unitsOf(text) {
    if (text === "") return {};
    return this.isProvisioned ? { ProvisionedThroughputOverride: { ReadCapacityUnits: Number(text) } } : { OnDemandThroughputOverride: { MaxReadRequestUnits: Number(text) } };
  }

  async saveOverrides(event) {
    event.preventDefault();
    const { region, of, units, class: TableClassOverride, before } = this.editing;
    // An empty ceiling ends the override.
    const asked = units === before.units ? {} : this.unitsOf(units === "" && !this.isProvisioned ? "-1" : units);
    const content = of === "" ? { ...asked, ...(TableClassOverride === before.class ? {} : { TableClassOverride }) } : { GlobalSecondaryIndexes: [{ IndexName: of, ...asked }] };
    await this.change({ Update: { RegionName: region, ...content } });
    if (!this.refused) { this.editing = null; this.update(); }
  }

  /** Begins to change what a replica sets differently: for the table, or one of its indexes. */
  edit(region, of = "") {
    const entry = this.facts.Replicas.find((one) => one.RegionName === region);
    const own = of === "" ? entry : entry?.GlobalSecondaryIndexes?.find((one) => one.IndexName === of);
    const shared = of === "" ? this.facts : this.facts.GlobalSecondaryIndexes?.find((one) => one.IndexName === of);
    const units = this.isProvisioned ? own?.ProvisionedThroughputOverride?.ReadCapacityUnits ?? shared?.ProvisionedThroughput?.ReadCapacityUnits ?? "" : own?.OnDemandThroughputOverride?.MaxReadRequestUnits ?? "";
    const before = { units: String(units), class: entry?.ReplicaTableClassSummary?.TableClass ?? this.facts.TableClassSummary?.TableClass ?? "STANDARD" };
    this.editing = { region, of, ...before, before };
    this.update();
  }

  /** @param {Member} member */
  async removeReplica({ region, facts, status }) {
    const unsent = (status?.replicas ?? []).filter((one) => one.backlog > 0);
    const indexes = facts?.GlobalSecondaryIndexes?.length ?? 0;
    const left = this.facts.Replicas.length;
    const consent = await confirmed({
      title: `Remove the replica of ${this.table} in ${region}?`, verb: "Remove replica",
      lost: [
        facts ? `The table in ${region}: ${count(facts.ItemCount ?? 0, "item")}, ${sizeText(facts.TableSizeBytes ?? 0)}${indexes > 0 ? `, ${count(indexes, "index", "indexes")}` : ""}. The items stay in the other regions.` : `The table in ${region}. Its items stay in the other regions.`,
        "Its stream, its history, its tags, and the policies and triggers that it has there",
        ...unsent.map((one) => `Not lost: ${count(one.backlog, "change")} of ${region} that ${one.region} lacks. The replica stays until they have arrived.`),
        ...(left === 1 ? [`The last replica: ${this.table} is then an ordinary table in ${this.region}.`] : []),
        ...(facts?.DeletionProtectionEnabled ? [`Deletion protection is on in ${region}: the request will be refused until it is off.`] : []),
      ],
    });
    if (consent) await this.change({ Delete: { RegionName: region } }, consent);
  }

  view() {
    const { facts } = this;
    if (!facts) return this.error ? this.fault : html`<div aria-busy="true" class="op-wait"></div>`;
    return html`<div class="op-bar">${this.isGlobal ? html`<span>${count(this.members.length, "region")}${facts.MultiRegionConsistency === "STRONG" ? ", strongly consistent" : ""}${facts.GlobalTableVersion ? `, version ${facts.GlobalTableVersion}` : ""}</span>${this.verified}` : nothing}${this.at}</div>
      ${this.fault}${this.outcome}
      ${this.isGlobal ? this.replicas() : html`<div class="md-nothing"><p>A global table has a replica in each of several regions: clients write to any of them, and the others follow. Of two concurrent writes of one item the later one stays everywhere.</p><p>${this.table} is in ${this.region} alone.</p></div>`}
      ${this.addition()}
      ${this.isGlobal ? html`${this.everywhere()}${this.lost()}` : nothing}
      <h2>Simulation</h2><kw-simulation .of=${{ region: this.region, table: this.table, regions: this.local.map((one) => one.region), key: this.key }}></kw-simulation>`;
  }

  /** How the last comparison of the replicas ended, if there was one. */
  get verified() {
    const last = this.members[0]?.status?.verified;
    if (!last) return nothing;
    const found = [
      last.differences > 0 && count(last.differences, "difference"),
      last.undecided > 0 && `${count(last.undecided, "item")} not compared`,
      last.uncompared > 0 && `${count(last.uncompared, "replica")} not compared`,
    ].filter(Boolean).join(", ");
    return html`<span>compared at ${timeOf(last.at)}: ${found ? html`<b class="tl-bad">${found}</b>` : "equal"}</span>`;
  }

  replicas() {
    if (this.members.length === 0) return html`<div aria-busy="true" class="op-wait"></div>`;
    const button = (member, words, label, press) => html`<button class="md-link" ?disabled=${this.busy} aria-label=${`${label} in ${member.region}`} @click=${press}>${words}</button>`;
    const actions = (member) => (this.readOnly || this.mayNot !== "" ? nothing : html`${button(member, "Change overrides", "Change overrides", () => this.edit(member.region))}
      ${this.mayNotDelete.get(member.region) ? html`<span class="dim">no right to remove it</span>` : button(member, "Remove…", "Remove the replica", () => this.removeReplica(member))}`);
    const status = this.denied.get(`status ${this.region}`);
    return html`${replicasView({ table: this.table, members: this.members, witnesses: this.facts.GlobalTableWitnesses ?? [], latency: this.latency, actions })}
      ${status ? html`<p class="dim">How far changes have come is not shown: ${visible(status)}</p>` : nothing}${this.editing ? this.overrides() : nothing}`;
  }

  overrides() {
    const { editing } = this;
    const indexes = (this.facts.GlobalSecondaryIndexes ?? []).map((one) => one.IndexName);
    const set = (change) => { Object.assign(editing, change); this.update(); };
    const isSame = editing.units === editing.before.units && editing.class === editing.before.class;
    return html`<form class="sm-bar" aria-label=${`Overrides in ${editing.region}`} @submit=${(event) => this.saveOverrides(event)}><b>${editing.region}</b>
      ${indexes.length > 0 ? choice("of", [["", "the table"], ...indexes.map((name) => [name, visible(name)])], editing.of, (of) => this.edit(editing.region, of)) : nothing}
      ${this.unitsField(editing.units, (units) => set({ units }), this.isProvisioned)}
      ${editing.of === "" ? choice("class", CLASSES.map((name) => [name, classText(name)]), editing.class, (name) => set({ class: name })) : nothing}
      <button class="md-button" ?disabled=${this.busy || isSame}>Save overrides</button><button class="md-button" type="button" @click=${() => { this.editing = null; this.update(); }}>Cancel</button>
      <span>What equals the table's own setting is no override.</span></form>`;
  }

  unitsField(value, input, isRequired = false) {
    return html`<label>${this.isProvisioned ? "read units" : "most read units a second"} <input type="number" min="1" ?required=${isRequired} placeholder="as the table" .value=${value} @input=${(event) => input(event.target.value)}></label>`;
  }

  addition() {
    if (this.readOnly) return nothing;
    if (this.mayNot !== "") return html`<p class="dim">You may not change replicas: ${visible(this.mayNot ?? "")}</p>`;
    if (this.facts.MultiRegionConsistency === "STRONG") return html`<p class="dim">The regions of a strongly consistent table stay as they are: remove all replicas and the witness together.</p>`;
    const { adding } = this;
    const taken = [this.region, ...(this.facts.Replicas ?? []).map((one) => one.RegionName)];
    const proposed = [...new Set([...(this.info?.places ?? []).map((one) => one.region), ...PROPOSED])].filter((one) => !taken.includes(one));
    return html`<form class="sm-bar" aria-label="Add a replica" @submit=${(event) => this.add(event)}>
      <label>Region <input data-name required list="rg-regions" pattern="[A-Za-z0-9_\\-]{1,64}" title="such as eu-west-1" autocomplete="off" spellcheck="false" .value=${adding.region} @input=${(event) => { adding.region = event.target.value; }}></label>
      <datalist id="rg-regions">${proposed.map((one) => html`<option value=${one}></option>`)}</datalist>
      ${this.unitsField(adding.units, (units) => { adding.units = units; })}
      ${choice("class", [["", "as the table"], ...CLASSES.map((name) => [name, classText(name)])], adding.class, (name) => { adding.class = name; this.update(); })}
      <button class="md-button is-main" ?disabled=${this.busy}>Add a replica</button></form>`;
  }

  everywhere() {
    const { keys } = this;
    return html`<h2>An item in all regions</h2>
      <form class="sm-bar" aria-label="An item in all regions" @submit=${(event) => { event.preventDefault(); this.show(); }}>
        ${keys.map((name) => html`<label>${visible(name)} <input required autocomplete="off" spellcheck="false" .value=${this.typed[name] ?? ""} @input=${(event) => { this.typed[name] = event.target.value; }}></label>`)}
        <button class="md-button">Show item</button></form>
      ${!this.key ? nothing : this.here.size === 0 ? html`<div aria-busy="true" class="op-wait"></div>` : everywhereView({ own: this.region, here: this.here, isOnWay: (region, origin) => this.isOnWay(region, origin) })}`;
  }

  /** The item whose key is typed: its key stands in the address. */
  show() {
    const url = new URL(here(), location.href);
    url.searchParams.delete("key");
    for (const name of this.keys) url.searchParams.append("key", this.typed[name] ?? "");
    go(url.pathname + url.search, true);
  }

  lost() {
    const denied = this.local.map(({ region }) => region).filter((region) => this.denied.has(`conflicts ${region}`));
    return html`<h2>Lost changes</h2><p class="dim">Changes that a later, concurrent one of another region has overwritten, since the server started.</p>
      ${denied.length > 0 ? html`<p class="dim">Those of ${denied.join(", ")}: not shown: denied</p>` : nothing}
      ${denied.length > 0 && denied.length === this.local.length ? nothing : conflictsView({ conflicts: this.conflicts, keys: this.keys, open: this.open, toggle: (one) => this.toggle(one), hrefOf: this.hrefOf })}`;
  }
}

if (!customElements.get("kw-regions")) customElements.define("kw-regions", KwRegions);
