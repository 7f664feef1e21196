// <kw-bulk-puts>: puts of the records of a bucket's objects into tables that exist: begin one, see how far each has
// come and where its reports are, cancel it.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { sizeText, visible } from "../collections/typed.js";
import { confirmed } from "../confirm.js";
import { call, dynamodb, tableNames } from "../model/api.js";
import { COMPRESSIONS, field, FORMATS, idOf, linkTo, place, placeOf, transferState } from "./transfers.js";
import { choice, OfPlace, timeOf } from "./watching.js";

/** The newest, as many as a page of the API has. */
const LISTED = 25;
const JOBS = 200;
const TABLES = 300;
const SECOND = 1000;
/** The lowest rate of the API. */
const UNITS_MIN = 1024;
const REPORTS = ["ERROR", "CONDITION_CHECK_FAILURE"];

export class KwBulkPuts extends OfPlace {
  constructor() {
    super();
    this.names = /** @type {string[]} */ ([]);
    this.list = /** @type {any[]|null} */ (null);
    this.isCut = false;
    /** Descriptions that no longer change, by ARN. @type {Map<string, any>} */ this.ended = new Map();
    /** Jobs by id. @type {Map<string, any>} */ this.jobs = new Map();
    this.of = { table: "", from: "", format: FORMATS[0][0], compression: COMPRESSIONS[0][0], to: "", units: "" };
    /** What was begun last. */ this.job = /** @type {any} */ (null);
  }

  forget() {
    if (this.table) this.of.table = this.table;
    this.list = null;
    this.job = null;
  }

  async look(still) {
    const names = this.reads % 10 === 0 ? await tableNames(TABLES) : this.names;
    const [page, { jobs }] = await Promise.all([dynamodb("ListBulkOperations", { MaxResults: LISTED }), call("keywright/jobs", { limit: JOBS })]);
    const all = await Promise.all(page.BulkOperationsSummaryList.map((one) => this.describe(one.BulkOperationArn)));
    if (!still()) return;
    this.names = names;
    this.jobs = new Map(jobs.map((one) => [one.id, one]));
    this.list = all.filter((one) => !this.table || tableOf(one) === this.table);
    this.isCut = !!page.NextToken;
  }

  /** One that has ended is asked for once. */
  async describe(arn) {
    const known = this.ended.get(arn);
    if (known) return known;
    const { BulkOperationDescription: described } = await dynamodb("DescribeBulkOperation", { BulkOperationArn: arn });
    if (described.EndTime) this.ended.set(arn, described);
    return described;
  }

  /** The table that items are put into. */
  get chosen() { return this.names.includes(this.of.table) ? this.of.table : this.names[0] ?? ""; }

  /** @param {Event} event */
  async begin(event) {
    event.preventDefault();
    const { of, region, chosen: table } = this;
    const consent = await confirmed({
      title: `Put the items of ${of.from} into ${table}?`, verb: "Put items",
      lost: ["Items of the table that have the same keys now, unless a record's condition protects them"],
    });
    if (!consent) return;
    this.job = null;
    await this.send(async () => {
      const [from, to] = [placeOf(of.from), placeOf(of.to)];
      const { BulkOperationDescription: begun } = await dynamodb("StartBulkPutItems", {
        TableName: table, InputS3Configuration: { S3Bucket: from.bucket, ...(from.prefix ? { S3KeyPrefix: from.prefix } : {}), InputFormat: of.format, InputCompressionType: of.compression },
        OutputS3Configuration: { S3Bucket: to.bucket, ...(to.prefix ? { S3KeyPrefix: to.prefix.replace(/\/+$/, "") } : {}), OutputType: REPORTS },
        ...(of.units ? { MaxWriteRequestUnits: Number(of.units) } : {}),
      }, { consent });
      this.job = { region, table, id: idOf(begun.BulkOperationArn), words: html`Putting ${of.from} into ${linkTo(region, table)}` };
    });
    this.read();
  }

  async cancel(one) {
    const consent = await confirmed({
      title: `Cancel the bulk put into ${tableOf(one)}?`, verb: "Cancel bulk put", lost: [`The rest of the records: the ${one.ProcessedItemCount.toLocaleString("en")} done so far stay`],
    });
    if (!consent) return;
    await this.send(async () => { await dynamodb("CancelBulkOperation", { BulkOperationArn: one.BulkOperationArn }, { consent }); });
    this.read();
  }

  view() {
    if (!this.list) return this.error ? this.fault : html`<div aria-busy="true" class="op-wait"></div>`;
    const where = this.table ? `into ${this.table}` : `in ${this.region}`;
    return html`${this.fault}
      ${this.readOnly || this.names.length === 0 ? nothing : this.form()}${this.outcome}${this.job ? html`<kw-job .of=${this.job}></kw-job>` : nothing}
      ${this.list.length > 0 ? this.table_(this.list) : html`<p class="md-nothing">No bulk put ${where}. A bulk put writes the records of a bucket's objects into a table that exists, each under its own condition.</p>`}
      ${this.isCut ? html`<p class="dim">The newest ${LISTED}; <code>aws dynamodb list-bulk-operations</code> lists all.</p>` : nothing}`;
  }

  form() {
    const { of, chosen } = this;
    const select = (name, words, options, value = of[name]) => choice(words, options, value, (to) => { of[name] = to; this.update(); });
    return html`<form aria-label="Bulk put" @submit=${(event) => this.begin(event)}><div class="sm-bar">
        ${select("table", "Into table", this.names.map((name) => [name, name]), chosen)}${place(of, "from", "from", "s3://bucket/prefix/")}
        ${select("format", "in", FORMATS)}${select("compression", "compressed with", COMPRESSIONS)}</div>
      <div class="sm-bar">${place(of, "to", "reports to", "s3://bucket/prefix")}${field(of, "units", "write units a second", { type: "number", min: UNITS_MIN, optional: true, size: 8, example: "no bound" })}
        <button class="md-button" ?disabled=${this.busy}>Put items</button></div></form>`;
  }

  table_(list) {
    return html`<div class="md-table-room" tabindex="0" role="region" aria-label="Bulk puts"><table class="md-table mf-table"><thead><tr><th scope="col">bulk put</th><th scope="col">table</th><th scope="col">state</th><th scope="col" class="is-number">records</th><th scope="col" class="is-number">errors</th><th scope="col" class="is-number">read</th><th scope="col" class="is-number">written</th><th scope="col">began</th><th scope="col">reports</th><th scope="col"></th></tr></thead>
      <tbody>${list.map((one) => {
        const id = idOf(one.BulkOperationArn);
        const { S3Bucket, S3KeyPrefix = "" } = one.InputS3Configuration;
        const { S3Bucket: out, S3KeyPrefix: prefix } = one.OutputS3Configuration;
        const written = one.BulkOperationUsage.reduce((sum, { BulkPutBytes }) => sum + BulkPutBytes, 0);
        const isAtWork = one.BulkOperationStatus === "IN_PROGRESS";
        return html`<tr data-bulk-put=${id}><th scope="row"><code>s3://${visible(`${S3Bucket}/${S3KeyPrefix}`)}</code><br><code class="dim">${id}</code></th><td>${linkTo(this.region, tableOf(one))}</td>
          <td>${transferState(one, one.BulkOperationStatus, this.jobs.get(id))}</td><td class="is-number">${one.ProcessedItemCount.toLocaleString("en")}</td><td class="is-number">${one.FailedItemCount.toLocaleString("en")}</td>
          <td class="is-number">${sizeText(one.ProcessedInputBytes)}${one.TotalInputBytes === undefined ? nothing : html`<br><span class="dim">of ${sizeText(one.TotalInputBytes)}</span>`}</td><td class="is-number">${sizeText(written)}</td>
          <td>${timeOf(one.StartTime * SECOND)}</td><td>${one.EndTime ? html`<code>s3://${visible([out, prefix, "AWSDynamoDB", id, ""].filter((part) => part !== undefined).join("/"))}</code>` : html`<span class="dim">come last</span>`}</td>
          <td>${isAtWork && !this.readOnly ? html`<button class="md-link" ?disabled=${this.busy} aria-label=${`Cancel the bulk put into ${tableOf(one)}`} @click=${() => this.cancel(one)}>Cancel</button>` : nothing}</td></tr>`;
      })}</tbody></table></div>`;
  }
}

const tableOf = (one) => one.TableDetails[0]?.TableName ?? "";

if (!customElements.get("kw-bulk-puts")) customElements.define("kw-bulk-puts", KwBulkPuts);
