// <kw-triggers>: the triggers of this place or of one table: where each sends changes, how far behind it is, what it
// sent, archived and passed over, and what failed last. They are enabled and disabled here.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { visible } from "../collections/typed.js";
import { confirmed } from "../confirm.js";
import { call } from "../model/api.js";
import { shell } from "../quote.js";
import { lagText, OfPlace, timeOf } from "./watching.js";

export class KwTriggers extends OfPlace {
  constructor() {
    super();
    this.triggers = /** @type {any[]|null} */ (null);
  }

  forget() { this.triggers = null; }

  async look(still) {
    const { triggers } = await call("keywright/triggers", {});
    if (still()) this.triggers = triggers.filter((one) => !this.table || one.table === this.table);
  }

  async enable(trigger, Enabled) {
    const consent = Enabled ? null : await confirmed({
      title: `Disable the trigger to ${visible(trigger.target)}?`, verb: "Disable trigger",
      lost: [`Deliveries of ${trigger.table} until it is enabled again. Then it goes on where it stopped, but changes leave the stream after 24 hours.`],
    });
    if (!Enabled && !consent) return;
    await this.send(async () => { await call(`event-sources/PUT/${trigger.id}`, { Enabled }, { consent }); });
    this.read();
  }

  view() {
    if (!this.triggers) return this.error ? this.fault : html`<div aria-busy="true" class="op-wait"></div>`;
    return html`${this.fault}${this.outcome}
      ${this.triggers.length === 0 ? html`<div class="md-empty"><h2>No trigger ${this.table ? `of ${this.table}` : `in ${this.region}`}</h2><p>A trigger sends each change of a table's stream to a function or a URL, or archives it in a bucket.</p></div>`
        : html`<div class="md-table-room" tabindex="0" role="region" aria-label="Triggers"><table class="md-table mf-table"><thead><tr><th scope="col">target</th><th scope="col">table</th><th scope="col">state</th><th scope="col" class="is-number">lag</th><th scope="col" class="is-number">delivered</th><th scope="col" class="is-number">filtered out</th><th scope="col" class="is-number">discarded</th><th scope="col" class="is-number">retries</th><th scope="col">last failure</th><th scope="col"><span class="kc-hidden">actions</span></th></tr></thead>
        <tbody>${this.triggers.map((one) => this.row(one))}</tbody></table></div>
        <p class="dim">Lag: the age of the oldest change that is not delivered. Discarded: failed too often, or too old.</p>`}
      ${this.readOnly ? nothing : this.creation()}`;
  }

  row(one) {
    const isOn = one.state !== "Disabled" && one.state !== "Disabling";
    const isArchive = one.target.startsWith("s3://");
    const { failure, call: underWay } = one;
    // A trigger without a stream says so as the reason for its state.
    const problem = one.streamEnd === one.reason && !isOn ? undefined : one.streamEnd;
    return html`<tr data-trigger=${one.id}><th scope="row"><code>${visible(one.target)}</code><br><code class="dim">${one.id}</code></th>
      <td><a class="md-link" href=${`/${this.region}/t/${encodeURIComponent(one.table)}?tab=stream`}>${one.table}</a></td>
      <td>${one.state.toLowerCase()}${one.section === undefined ? nothing : html`<br><span class="dim">section <code>${visible(one.section)}</code> of the settings file</span>`}${isOn || !one.reason ? nothing : html`<br><span class="dim">${visible(one.reason)}</span>`}
        ${problem === undefined ? nothing : html`<br><b class="tl-bad">problem</b>: ${visible(problem)}`}${one.warning === undefined ? nothing : html`<br><b class="tl-bad">warning</b>: ${visible(one.warning)}`}
        ${underWay === undefined ? nothing : html`<br><span class="dim">calls <code>${visible(underWay.target)}</code> since ${timeOf(underWay.since)}, for ${lagText(underWay.age)}${underWay.calls > 1 ? `; the oldest of ${underWay.calls} calls` : ""}</span>`}</td>
      <td class="is-number">${one.lag === undefined ? "none" : lagText(one.lag)}</td><td class="is-number">${one.delivered.toLocaleString("en")}${isArchive ? " archived" : ""}</td><td class="is-number">${one.filtered.toLocaleString("en")}</td>
      <td class="is-number">${one.discarded > 0 ? html`<b class="tl-bad">${one.discarded.toLocaleString("en")}</b>` : "0"}</td><td class="is-number">${one.retries.toLocaleString("en")}</td>
      <td>${failure ? html`${failure.present ? html`<b class="tl-bad">fails now</b>, ` : nothing}${timeOf(failure.at)}${failure.present ? "" : ", recovered"}<br>${visible(failure.text)}` : html`<span class="dim">none</span>`}</td>
      <td>${this.readOnly ? nothing : html`<button class="md-link" aria-label=${`${isOn ? "Disable" : "Enable"} the trigger to ${visible(one.target)}`} ?disabled=${this.busy} @click=${() => this.enable(one, !isOn)}>${isOn ? "Disable…" : "Enable"}</button>`}</td></tr>`;
  }

  /** The commands that make one. */
  creation() {
    const table = shell(this.table ?? "TABLE");
    return html`<details><summary>Create a trigger</summary><p>The table needs a stream. The target is <code>s3://bucket/prefix</code>, the name of a function, or <code>https://host/path</code>, if the server's settings allow it.</p>
      <pre class="md-code" tabindex="0">aws lambda create-event-source-mapping --function-name s3://BUCKET/PREFIX --starting-position TRIM_HORIZON \\\n  --event-source-arn "$(aws dynamodb describe-table --table-name ${table} --query Table.LatestStreamArn --output text)"</pre></details>`;
  }
}

if (!customElements.get("kw-triggers")) customElements.define("kw-triggers", KwTriggers);
