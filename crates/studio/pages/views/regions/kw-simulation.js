// <kw-simulation>: the faults between regions that are simulated: what holds now and for how long, one more fault, an
// end of one or all. In the page of a table changes are delivered one by one too.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { keyText, visible } from "../collections/typed.js";
import { call, context } from "../model/api.js";
import { count } from "../model/words.js";
import { choice, Watching } from "../operate/watching.js";
import { ANY, endText, FAULTS, NUMBERS, regionText, rulesOf, withFault, withoutRule } from "./rules.js";

const SECOND = 1000;
const DAY_S = 86_400;

/** @typedef {{region: string, table: string|null, regions: string[], key: any}} Of the place, and in a table's page its members and the key of the item that is shown */

export class KwSimulation extends Watching {
  constructor() {
    super();
    this.info = /** @type {any} */ (null);
    this.simulation = /** @type {any} */ (null);
    this.place = /** @type {Of} */ ({ region: "", table: null, regions: [], key: null });
    this.adding = { fault: FAULTS[0][0], value: "", from: ANY, to: ANY, region: "", seconds: "" };
    this.delivery = { from: "", to: "" };
  }

  /** @param {Of} place */
  set of(place) {
    const isOther = place.table !== this.place.table || place.region !== this.place.region;
    if (JSON.stringify(place) === JSON.stringify(this.place)) return;
    this.place = place;
    if (isOther) { this.refused = ""; this.said = nothing; this.delivery = { from: "", to: "" }; }
    this.update();
  }

  connectedCallback() {
    super.connectedCallback();
    call("state", {}).then((info) => { this.info = info; this.update(); this.read(); }, (error) => { this.error = error; this.update(); });
  }

  get asks() { return this.info?.simulation === "on" && this.info.may.seeSimulation; }
  get changes() { return !this.info.readOnly && this.info.may.changeSimulation; }

  async look(still) {
    const simulation = await call("simulation/show", {});
    if (still()) this.simulation = simulation;
  }

  /** Replaces what is simulated by what comes of it as it is now, so that rules which others set meanwhile stay. */
  replace(change) {
    return this.send(async () => {
      this.simulation = await call("simulation/replace", change(await call("simulation/show", {})));
    });
  }

  end() { return this.send(async () => { this.simulation = await call("simulation/end", {}); return "Nothing is simulated any more."; }); }

  add(event) {
    event.preventDefault();
    const { fault, value, from, to, region, seconds } = this.adding;
    const kind = FAULTS.find(([id]) => id === fault)?.[2];
    const account = context.account ?? this.info.place.account;
    const subject = /** @type {Record<string, string>} */ (kind === "link" ? { from, to } : kind === "region" ? { region: region || this.place.region } : { table: this.place.table, account });
    const number = value === "" ? NUMBERS.get(fault)?.[3] ?? 0 : Number(value);
    this.replace((simulation) => withFault(simulation, { fault, value: number, subject, forMs: seconds === "" ? null : Number(seconds) * SECOND }));
  }

  deliver(key = null) {
    const { from, to } = this.route;
    return this.send(async () => {
      const { delivered } = await call("simulation/deliver", { table: this.place.table, from, to, ...(key ? { key } : { count: 1 }) });
      return delivered === 0 ? `No change ${key ? "of this item " : ""}waits on its way from ${from} to ${to}.` : `${count(delivered, "change")} delivered from ${from} to ${to}.`;
    });
  }

  /** From where to where changes are delivered. */
  get route() {
    const { regions, region } = this.place;
    const from = regions.includes(this.delivery.from) ? this.delivery.from : region;
    const others = regions.filter((one) => one !== from);
    return { from, to: others.includes(this.delivery.to) ? this.delivery.to : others[0] ?? "" };
  }

  /** Regions to choose from: those of the table, those that have tables, and those of the rules. */
  get known() {
    const ofRules = rulesOf(this.simulation).flatMap(({ rule }) => [rule.from, rule.to, rule.region]);
    const all = [...this.place.regions, this.place.region, ...(this.info.places ?? []).map((one) => one.region), ...ofRules];
    return [...new Set(all)].filter((one) => one && one !== ANY).toSorted();
  }

  view() {
    const { info } = this;
    if (!info) return this.error ? this.fault : html`<div aria-busy="true"></div>`;
    if (info.simulation !== "on") {
      return html`<p class="md-nothing">${info.simulation === "off" ? html`Faults between regions are not simulated here: start the server with <code>--simulate</code> to delay, hold and repeat what regions send each other.`
        : "Faults between regions are simulated from the server's own machine only: open the studio there."}</p>`;
    }
    if (!info.may.seeSimulation) return html`<p class="md-nothing">Not shown: you may not see what is simulated. It needs <code>keywright:GetSimulation</code>.</p>`;
    if (!this.simulation) return this.error ? this.fault : html`<div aria-busy="true" class="op-wait"></div>`;
    const rules = rulesOf(this.simulation);
    return html`${this.fault}${this.outcome}
      ${rules.length === 0 ? html`<p class="md-nothing">Nothing is simulated: changes go to the other regions at once.</p>`
        : html`<div class="md-table-room" tabindex="0" role="region" aria-label="What is simulated"><table class="md-table mf-table"><thead><tr><th scope="col">for</th><th scope="col">what happens</th><th scope="col">how long</th><th scope="col"><span class="kc-hidden">actions</span></th></tr></thead>
          <tbody>${rules.map((one) => html`<tr><th scope="row">${one.subject}</th><td>${one.effect}</td><td>${endText(one.rule)}</td><td>${this.changes ? html`<button class="md-link" ?disabled=${this.busy} aria-label=${`Remove the rule for ${one.subject}`} @click=${() => this.replace((simulation) => withoutRule(simulation, one))}>Remove</button>` : nothing}</td></tr>`)}</tbody></table></div>`}
      ${this.changes ? html`${this.addition()}${rules.length > 0 ? html`<p><button class="md-button" ?disabled=${this.busy} @click=${() => this.end()}>End simulation</button></p>` : nothing}${this.deliveries()}`
        : html`<p class="dim">${info.readOnly ? "The studio is read-only." : html`You may not change it: that needs <code>keywright:ChangeSimulation</code>.`}</p>`}`;
  }

  addition() {
    const { adding, place, known } = this;
    const offered = FAULTS.filter(([, , kind]) => kind !== "table" || place.table);
    const kind = FAULTS.find(([id]) => id === adding.fault)?.[2];
    const number = NUMBERS.get(adding.fault);
    const set = (change) => { Object.assign(adding, change); this.update(); };
    const any = /** @type {[string, string][]} */ ([ANY, ...known].map((one) => [one, regionText(one)]));
    return html`<form class="sm-bar" aria-label="Add a fault" @submit=${(event) => this.add(event)}>
      ${choice("Fault", offered.map(([id, words]) => [id, words]), adding.fault, (fault) => set({ fault, value: "" }))}
      ${kind === "link" ? html`${choice("from", any, adding.from, (from) => set({ from }))}${choice("to", any, adding.to, (to) => set({ to }))}` : nothing}
      ${kind === "region" ? choice("in", known.map((one) => [one, regionText(one)]), adding.region || place.region, (region) => set({ region })) : nothing}
      ${number ? html`<label>${number[0]} <input type="number" required min=${number[1]} max=${number[2]} .value=${adding.value === "" ? String(number[3]) : adding.value} @input=${(event) => { adding.value = event.target.value; }}></label>` : nothing}
      <label>for seconds <input type="number" min="1" max=${DAY_S} placeholder="no end" .value=${adding.seconds} @input=${(event) => { adding.seconds = event.target.value; }}></label>
      <button class="md-button" ?disabled=${this.busy}>Add fault</button></form>`;
  }

  deliveries() {
    const { table, regions, key } = this.place;
    if (!table || regions.length < 2) return nothing;
    const { from, to } = this.route;
    const list = (names) => names.map((one) => [one, regionText(one)]);
    const set = (change) => { Object.assign(this.delivery, change); this.update(); };
    return html`<form class="sm-bar" aria-label="Deliver a change" @submit=${(event) => { event.preventDefault(); this.deliver(); }}>
      ${choice("Changes from", list(regions), from, (one) => set({ from: one }))}${choice("to", list(regions.filter((one) => one !== from)), to, (one) => set({ to: one }))}
      <button class="md-button" ?disabled=${this.busy}>Deliver next change</button>
      ${key ? html`<button type="button" class="md-button" ?disabled=${this.busy} @click=${() => this.deliver(key)}>Deliver next change of ${Object.values(key).map((value) => visible(keyText(value))).join(" / ")}</button>` : nothing}
      <span>Also changes that a fault holds.</span></form>`;
  }
}

if (!customElements.get("kw-simulation")) customElements.define("kw-simulation", KwSimulation);
