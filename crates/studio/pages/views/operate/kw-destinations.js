// <kw-destinations>: the Kinesis streams that get the changes of a table, or of all tables of this place: state, lag,
// what was sent and what was not. Those of one table are enabled, changed and disabled here.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { visible } from "../collections/typed.js";
import { confirmed } from "../confirm.js";
import { call, dynamodb } from "../model/api.js";
import { choice, lagText, OfPlace } from "./watching.js";

const PRECISIONS = [["MILLISECOND", "milliseconds"], ["MICROSECOND", "microseconds"]];

export class KwDestinations extends OfPlace {
  constructor() {
    super();
    this.destinations = /** @type {any[]|null} */ (null);
    this.adding = { stream: "", precision: PRECISIONS[0][0] };
  }

  forget() { this.destinations = null; }

  async look(still) {
    const { destinations } = await call("keywright/destinations", {});
    if (still()) this.destinations = destinations.filter((one) => !this.table || one.table === this.table);
  }

  /** Changes a destination, and reads them again. */
  async change(operation, body, consent = /** @type {object|null} */ (null)) {
    await this.send(async () => { await dynamodb(`${operation}KinesisStreamingDestination`, body, { consent }); });
    this.read();
  }

  async enable(event) {
    event.preventDefault();
    const { stream, precision } = this.adding;
    await this.change("Enable", { TableName: this.table, StreamArn: stream.trim(), EnableKinesisStreamingConfiguration: { ApproximateCreationDateTimePrecision: precision } });
    if (!this.refused) { this.adding.stream = ""; this.update(); }
  }

  async disable({ table, stream }) {
    const consent = await confirmed({
      title: `Disable the Kinesis destination of ${table}?`, verb: "Disable destination",
      lost: [`Changes of ${table} from now on: ${visible(stream)} gets none of them, also when it is enabled again. What was changed before still arrives.`],
    });
    if (consent) await this.change("Disable", { TableName: table, StreamArn: stream }, consent);
  }

  view() {
    if (!this.destinations) return this.error ? this.fault : html`<div aria-busy="true"></div>`;
    return html`${this.fault}${this.outcome}
      ${this.destinations.length === 0 ? html`<p class="md-nothing">${this.table ? `${this.table} has no Kinesis destination` : "No table has a Kinesis destination"}. One sends every change of a table to a Kinesis stream, and needs no stream of the table.${this.table ? nothing : " Enable it in the table's tab Stream."}</p>`
        : html`<div class="md-table-room" tabindex="0" role="region" aria-label="Kinesis destinations"><table class="md-table mf-table"><thead><tr><th scope="col">stream</th><th scope="col">table</th><th scope="col">state</th><th scope="col">times in</th><th scope="col" class="is-number">lag</th><th scope="col" class="is-number">sent</th><th scope="col" class="is-number">too old</th><th scope="col" class="is-number">too large</th><th scope="col"><span class="kc-hidden">actions</span></th></tr></thead>
        <tbody>${this.destinations.map((one) => this.row(one))}</tbody></table></div>
        <p class="dim">Changes that wait for more than 24 hours are too old and are not sent; those over 1 MB are too large for a stream.</p>`}
      ${this.readOnly || !this.table ? nothing : html`<form class="sm-bar" aria-label="Enable a Kinesis destination" @submit=${(event) => this.enable(event)}>
        <label>Stream's ARN <input required size="44" placeholder="arn:aws:kinesis:…:stream/changes" autocomplete="off" spellcheck="false" .value=${this.adding.stream} @input=${(event) => { this.adding.stream = event.target.value; }}></label>
        ${choice("with times in", PRECISIONS, this.adding.precision, (to) => { this.adding.precision = to; })}<button class="md-button" ?disabled=${this.busy}>Enable destination</button></form>`}`;
  }

  row(one) {
    const isActive = one.status === "active";
    const isBad = one.status === "enable-failed" || one["waits-for"];
    const reason = one["waits-for"] ?? one.description;
    const of = `of ${one.table} to ${visible(one.stream.split("/").at(-1) ?? "")}`;
    return html`<tr data-destination=${one.stream}><th scope="row"><code>${visible(one.stream)}</code></th><td><a class="md-link" href=${`/${this.region}/t/${encodeURIComponent(one.table)}?tab=stream`}>${one.table}</a></td>
      <td>${isBad ? html`<b class="tl-bad">${one["waits-for"] ? "waiting, tried again" : "enabling failed"}</b>` : one.status}${reason ? html`<br>${visible(reason)}` : nothing}</td>
      <td>${isActive && !this.readOnly ? choice(html`<span class="kc-hidden">Times ${of}</span>`, PRECISIONS, one.precision ?? PRECISIONS[0][0], (precision) => this.change("Update", { TableName: one.table, StreamArn: one.stream, UpdateKinesisStreamingConfiguration: { ApproximateCreationDateTimePrecision: precision } }))
        : PRECISIONS.find(([id]) => id === one.precision)?.[1] ?? PRECISIONS[0][1]}</td>
      <td class="is-number">${one["lag-ms"] ? lagText(one["lag-ms"]) : "none"}</td><td class="is-number">${one.delivered.toLocaleString("en")}</td>
      ${[one.dropped, one.skipped].map((number) => html`<td class="is-number">${number > 0 ? html`<b class="tl-bad">${number.toLocaleString("en")}</b>` : "0"}</td>`)}
      <td>${isActive && !this.readOnly ? html`<button class="md-link" aria-label=${`Disable the destination ${of}`} ?disabled=${this.busy} @click=${() => this.disable(one)}>Disable…</button>` : nothing}</td></tr>`;
  }
}

if (!customElements.get("kw-destinations")) customElements.define("kw-destinations", KwDestinations);
