// <kw-transfers>: exports of tables to buckets and imports from them: begin one, see how far each has come, where its
// manifest is, and why it failed; of an import also what was wrong with its objects. Bulk puts follow them.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { expressionFields, filterOf, filterRows } from "../collections/filter.js";
import { sizeText, visible } from "../collections/typed.js";
import { call, dynamodb, tableNames } from "../model/api.js";
import { count } from "../model/words.js";
import { shell } from "../quote.js";
import "./kw-bulk-puts.js";
import { COMPRESSIONS, field, FORMATS, idOf, linkTo, place, placeOf, transferState } from "./transfers.js";
import { choice, nameField, OfPlace, timeOf } from "./watching.js";

/** Of each kind: the newest, as many as a page of the API has. */
const LISTED = 25;
const JOBS = 200;
const TABLES = 300;
/** Errors of an import that are shown. */
const ERRORS = 20;
const SECOND = 1000;
const TYPES = [["S", "text"], ["N", "number"], ["B", "binary"]];
const SPANS = [["now", "all items now"], ["then", "all items as of a time"], ["changes", "changes between two times"]];
const VIEWS = [["NEW_AND_OLD_IMAGES", "the items before and after"], ["NEW_IMAGE", "the items after"]];

export class KwTransfers extends OfPlace {
  constructor() {
    super();
    this.names = /** @type {string[]} */ ([]);
    this.exports = /** @type {any[]|null} */ (null);
    this.imports = /** @type {any[]} */ ([]);
    /** Whether there are more of either. */ this.isCut = false;
    /** Descriptions that no longer change, by ARN. @type {Map<string, any>} */ this.ended = new Map();
    /** Jobs by id. @type {Map<string, any>} */ this.jobs = new Map();
    /** Errors of imports that are shown, by ARN. @type {Map<string, any>} */ this.errors = new Map();
    this.out = { table: "", to: "", span: "now", from: "", until: "", view: VIEWS[0][0], format: FORMATS[0][0], filter: { where: /** @type {any[]} */ ([]), filter: "", names: "", values: "" } };
    this.in_ = { from: "", name: "", like: "", pk: "", pkType: "S", sk: "", skType: "S", format: FORMATS[0][0], compression: "NONE", delimiter: "", header: "" };
    /** What was begun last, and by which form. */ this.job = /** @type {any} */ (null);
    this.form = "";
  }

  /** The second that an export is to be of. @param {number|null} second */
  set second(second) { if (second) Object.assign(this.out, { span: "then", until: localText(second) }); }

  forget() {
    if (this.table) this.out.table = this.table;
    this.exports = null;
    this.job = null;
  }

  async look(still) {
    const names = this.reads % 10 === 0 ? await tableNames(TABLES) : this.names;
    const of = this.table && names.includes(this.table) ? { TableArn: await arnOf(this.table) } : {};
    const [exports, imports, { jobs }] = await Promise.all([
      dynamodb("ListExports", { MaxResults: LISTED, ...of }), dynamodb("ListImports", { PageSize: LISTED, ...of }), call("keywright/jobs", { limit: JOBS }),
    ]);
    const all = await Promise.all([
      ...exports.ExportSummaries.map((one) => this.describe("Export", one.ExportArn)), ...imports.ImportSummaryList.map((one) => this.describe("Import", one.ImportArn)),
    ]);
    if (!still()) return;
    const mine = all.filter((one) => !this.table || tableOf(one) === this.table);
    this.names = names;
    this.jobs = new Map(jobs.map((one) => [one.id, one]));
    this.exports = mine.filter((one) => one.ExportArn);
    this.imports = mine.filter((one) => one.ImportArn);
    this.isCut = !!exports.NextToken || !!imports.NextToken;
  }

  /** An export or import; one that has ended is asked for once. */
  async describe(kind, arn) {
    const known = this.ended.get(arn);
    if (known) return known;
    const answer = await dynamodb(`Describe${kind}`, { [`${kind}Arn`]: arn });
    const described = answer.ExportDescription ?? answer.ImportTableDescription;
    if (described.EndTime) this.ended.set(arn, described);
    return described;
  }

  /** Begins what a form asks for, and reads the lists again. @param {Event} event @param {string} form @param {() => Promise<any>} run */
  async begin(event, form, run) {
    event.preventDefault();
    this.form = form;
    this.job = null;
    await this.send(async () => { this.job = await run(); });
    this.read();
  }

  async export() {
    const { out, region, chosen: table } = this;
    const { bucket, prefix } = placeOf(out.to);
    const { Table } = await dynamodb("DescribeTable", { TableName: table });
    const FilterSpecification = filterOf(out.filter);
    const isWhole = out.span !== "changes" && !FilterSpecification.FilterExpression;
    const { ExportDescription } = await dynamodb("ExportTableToPointInTime", {
      TableArn: Table.TableArn, S3Bucket: bucket, ...(prefix ? { S3Prefix: prefix.replace(/\/+$/, "") } : {}), ExportFormat: out.format,
      ...(out.span === "then" ? { ExportTime: secondsOf(out.until) } : {}),
      ...(out.span === "changes" ? { ExportType: "INCREMENTAL_EXPORT", IncrementalExportSpecification: { ExportFromTime: secondsOf(out.from), ...(out.until ? { ExportToTime: secondsOf(out.until) } : {}), ExportViewType: out.view } } : {}),
      ...(FilterSpecification.FilterExpression ? { FilterSpecification } : {}),
    });
    return { region, table, id: idOf(ExportDescription.ExportArn), words: `Exporting ${table} to ${out.to}`, ...(isWhole ? { total: Table.ItemCount } : {}) };
  }

  async import() {
    const { in_: of, region } = this;
    const { bucket, prefix } = placeOf(of.from);
    const table = of.name.trim();
    const keys = [[of.pk, of.pkType], ...(of.sk ? [[of.sk, of.skType]] : [])];
    const made = of.like ? likeOf((await dynamodb("DescribeTable", { TableName: of.like })).Table) : {
      AttributeDefinitions: keys.map(([AttributeName, AttributeType]) => ({ AttributeName, AttributeType })),
      KeySchema: keys.map(([AttributeName], at) => ({ AttributeName, KeyType: at === 0 ? "HASH" : "RANGE" })), BillingMode: "PAY_PER_REQUEST",
    };
    const header = of.header.split(",").map((one) => one.trim()).filter(Boolean);
    const csv = { ...(of.delimiter ? { Delimiter: of.delimiter } : {}), ...(header.length > 0 ? { HeaderList: header } : {}) };
    const { ImportTableDescription } = await dynamodb("ImportTable", {
      S3BucketSource: { S3Bucket: bucket, ...(prefix ? { S3KeyPrefix: prefix } : {}) }, InputFormat: of.format, InputCompressionType: of.compression,
      ...(of.format === "CSV" && Object.keys(csv).length > 0 ? { InputFormatOptions: { Csv: csv } } : {}), TableCreationParameters: { TableName: table, ...made },
    });
    window.dispatchEvent(new CustomEvent("kw-tables"));
    return { region, table, id: idOf(ImportTableDescription.ImportArn), words: html`Importing ${of.from} to ${linkTo(region, table)}` };
  }

  /** Shows the errors of an import, or no longer. */
  async showErrors(arn) {
    if (this.errors.delete(arn)) { this.update(); return; }
    this.errors.set(arn, null);
    this.update();
    const found = await call("keywright/import-errors", { arn }).catch((error) => ({ refused: error.message }));
    if (this.errors.has(arn)) this.errors.set(arn, found);
    this.update();
  }

  /** The table that an export is of. */
  get chosen() { return this.names.includes(this.out.table) ? this.out.table : this.names[0] ?? ""; }

  view() {
    if (!this.exports) return this.error ? this.fault : html`<div aria-busy="true" class="op-wait"></div>`;
    const where = this.table ? `of ${this.table}` : `in ${this.region}`;
    return html`${this.fault}
      <h2>Exports</h2>
      ${this.readOnly || this.names.length === 0 ? nothing : this.exportForm()}${this.begun("Export")}
      ${this.exports.length > 0 ? this.exportList(this.exports) : html`<p class="md-nothing">No export ${where}. An export writes a table, or what changed in it, to a bucket, as DynamoDB does. The server names the buckets: <code>--s3-folder</code> or <code>--s3-endpoint</code>.</p>`}
      <h2>Imports</h2>
      ${this.readOnly ? nothing : this.importForm()}${this.begun("Import")}
      ${this.imports.length > 0 ? this.importList(this.imports) : html`<p class="md-nothing">No import ${where}. An import makes a new table of files in a bucket: exports, JSON lines, Amazon Ion or CSV.</p>`}
      ${this.isCut ? html`<p class="dim">The newest ${LISTED} of each; <code>aws dynamodb list-exports</code> and <code>list-imports</code> list all.</p>` : nothing}
      <h2>Bulk puts</h2>
      <kw-bulk-puts .route=${{ region: this.region, table: this.table, readOnly: this.readOnly }}></kw-bulk-puts>
      ${this.table ? html`<p><a class="md-link" href=${`/${this.region}/operate/transfers`}>Exports and imports of all tables</a></p>` : nothing}`;
  }

  /** What the last press of this form's button came to. */
  begun(form) { return form === this.form ? html`${this.outcome}${this.job ? html`<kw-job .of=${this.job}></kw-job>` : nothing}` : nothing; }

  select(of, name, words, options, value = of[name]) { return choice(words, options, value, (to) => { of[name] = to; this.update(); }); }

  exportForm() {
    const { out, region, chosen } = this;
    const day = { type: "datetime-local" };
    return html`<form aria-label="Export" @submit=${(event) => this.begin(event, "Export", () => this.export())}><div class="sm-bar">
        ${this.select(out, "table", "Table", this.names.map((name) => [name, name]), chosen)}${this.select(out, "span", "what", SPANS)}
        ${out.span === "changes" ? html`${field(out, "from", "from", day)}${field(out, "until", "to", { ...day, optional: true })}${this.select(out, "view", "with", VIEWS)}` : out.span === "then" ? field(out, "until", "time", day) : nothing}
        ${place(out, "to", "to", "s3://bucket/prefix")}${this.select(out, "format", "in", FORMATS)}</div>
      <div class="sm-bar">${filterRows(out.filter.where, (where) => { out.filter.where = where; this.update(); })}${expressionFields(out.filter)}
        <button class="md-button" ?disabled=${this.busy}>Export table</button></div>
      <p class="dim">The table needs point-in-time recovery: its <a class="md-link" href=${`/${region}/t/${encodeURIComponent(chosen)}?tab=history`}>History</a> enables it.</p></form>`;
  }

  importForm() {
    const { in_: of } = this;
    const isCsv = of.format === "CSV";
    return html`<form aria-label="Import" @submit=${(event) => this.begin(event, "Import", () => this.import())}><div class="sm-bar">
        ${nameField("New table", of.name, (text) => { of.name = text; })}${place(of, "from", "from", "s3://bucket/prefix/data/")}
        ${this.select(of, "format", "in", [...FORMATS, ["CSV", "CSV"]])}${this.select(of, "compression", "compressed with", COMPRESSIONS)}
        ${isCsv ? html`${field(of, "delimiter", "delimiter", { optional: true, size: 2, example: "," })}${field(of, "header", "columns", { optional: true, example: "those of the first line" })}` : nothing}</div>
      <div class="sm-bar">${this.select(of, "like", "Keys", [["", "as follows"], ...this.names.map((name) => [name, `and indexes of ${name}`])])}
        ${of.like ? nothing : html`${field(of, "pk", "partition key")}${this.select(of, "pkType", "type", TYPES)}${field(of, "sk", "sort key", { optional: true, example: "none", changed: () => this.update() })}${of.sk ? this.select(of, "skType", "sort key's type", TYPES) : nothing}`}
        <button class="md-button" ?disabled=${this.busy}>Import table</button></div>
      <p class="dim">Of an export, name its <code>data/</code>: the manifests next to it have no items.</p></form>`;
  }

  exportList(list) {
    return html`<div class="md-table-room" tabindex="0" role="region" aria-label="Exports"><table class="md-table mf-table"><thead><tr><th scope="col">export</th><th scope="col">table</th><th scope="col">what</th><th scope="col">state</th><th scope="col" class="is-number">items</th><th scope="col" class="is-number">size</th><th scope="col">began</th><th scope="col">manifest</th></tr></thead>
      <tbody>${list.map((one) => {
        const job = this.jobs.get(idOf(one.ExportArn));
        const { ExportFromTime: from, ExportToTime: to } = one.IncrementalExportSpecification ?? {};
        return html`<tr data-export=${idOf(one.ExportArn)}><th scope="row"><code>s3://${visible([one.S3Bucket, one.S3Prefix].filter(Boolean).join("/"))}</code><br><code class="dim">${idOf(one.ExportArn)}</code></th><td>${linkTo(this.region, tableOf(one))}</td>
          <td>${from === undefined ? html`as of ${timeOf(one.ExportTime * SECOND)}` : html`changes from ${timeOf(from * SECOND)} to ${timeOf(to * SECOND)}`}${one.FilterSpecification ? html`<br><span class="dim">filtered</span>` : nothing}</td>
          <td>${transferState(one, one.ExportStatus, job)}</td><td class="is-number">${(one.ItemCount ?? job?.items ?? 0).toLocaleString("en")}</td><td class="is-number">${sizeText(one.BilledSizeBytes ?? job?.bytes ?? 0)}</td>
          <td>${timeOf(one.StartTime * SECOND)}</td><td>${one.ExportManifest ? html`<code>${visible(one.ExportManifest)}</code>` : html`<span class="dim">${one.EndTime ? "none" : "comes last"}</span>`}</td></tr>`;
      })}</tbody></table></div>`;
  }

  importList(list) {
    return html`<div class="md-table-room" tabindex="0" role="region" aria-label="Imports"><table class="md-table mf-table"><thead><tr><th scope="col">import</th><th scope="col">table</th><th scope="col">state</th><th scope="col" class="is-number">records read</th><th scope="col" class="is-number">items imported</th><th scope="col" class="is-number">size</th><th scope="col" class="is-number">errors</th><th scope="col">began</th></tr></thead>
      <tbody>${list.map((one) => {
        const arn = one.ImportArn;
        const { S3Bucket, S3KeyPrefix = "" } = one.S3BucketSource;
        const isOpen = this.errors.has(arn);
        return html`<tr data-import=${idOf(arn)}><th scope="row"><code>s3://${visible(`${S3Bucket}/${S3KeyPrefix}`)}</code><br><code class="dim">${idOf(arn)}</code></th><td>${linkTo(this.region, tableOf(one))}</td>
          <td>${transferState(one, one.ImportStatus, this.jobs.get(idOf(arn)))}</td><td class="is-number">${(one.ProcessedItemCount ?? 0).toLocaleString("en")}</td><td class="is-number">${(one.ImportedItemCount ?? 0).toLocaleString("en")}</td><td class="is-number">${sizeText(one.ProcessedSizeBytes ?? 0)}</td>
          <td class="is-number">${one.ErrorCount > 0 ? html`<button class="md-link" aria-expanded=${isOpen} aria-label=${`Errors of the import of ${tableOf(one)}: ${one.ErrorCount}`} @click=${() => this.showErrors(arn)}>${one.ErrorCount.toLocaleString("en")}</button>` : "0"}</td><td>${timeOf(one.StartTime * SECOND)}</td></tr>
          ${isOpen ? html`<tr><td colspan="8">${errorsView(this.errors.get(arn), arn)}</td></tr>` : nothing}`;
      })}</tbody></table></div>`;
  }
}

/** The first errors of an import, each with its object and record. */
function errorsView(found, arn) {
  if (!found) return html`<div aria-busy="true"></div>`;
  if (found.refused) return html`<div class="md-error" role="alert"><p>${found.refused}</p></div>`;
  const lines = found.lines.slice(0, ERRORS).map((line) => JSON.parse(line));
  return html`<table class="md-table" aria-label="Errors"><thead><tr><th scope="col">object</th><th scope="col" class="is-number">record</th><th scope="col">what is wrong</th></tr></thead>
      <tbody>${lines.map(({ itemS3Pointer: { key, itemIndex }, errorMessages }) => html`<tr><td><code>${visible(key)}</code></td><td class="is-number">${itemIndex === undefined ? "" : itemIndex.toLocaleString("en")}</td><td>${visible(errorMessages.join(" "))}</td></tr>`)}</tbody></table>
    <p class="dim">Records of an object are counted from 0.${found.count > lines.length ? html` These are the first ${lines.length} of ${count(found.count, "error")}. The first 1,000:` : nothing}</p>
    ${found.count > lines.length ? html`<pre class="md-code">keywright import errors ${shell(arn)}</pre>` : nothing}`;
}

const tableOf = (one) => one.TableArn.split("/")[1] ?? "";
const arnOf = async (TableName) => (await dynamodb("DescribeTable", { TableName })).Table.TableArn;

/** What a new table with the keys, global indexes and capacity of another one is made of. */
function likeOf(table) {
  const isOnDemand = table.BillingModeSummary?.BillingMode === "PAY_PER_REQUEST";
  const units = ({ ProvisionedThroughput: { ReadCapacityUnits, WriteCapacityUnits } }) => (isOnDemand ? {} : { ProvisionedThroughput: { ReadCapacityUnits, WriteCapacityUnits } });
  const indexes = (table.GlobalSecondaryIndexes ?? []).map((one) => ({ IndexName: one.IndexName, KeySchema: one.KeySchema, Projection: one.Projection, ...units(one) }));
  const used = new Set([table, ...indexes].flatMap((one) => one.KeySchema.map((key) => key.AttributeName)));
  return {
    AttributeDefinitions: table.AttributeDefinitions.filter((one) => used.has(one.AttributeName)), KeySchema: table.KeySchema,
    BillingMode: isOnDemand ? "PAY_PER_REQUEST" : "PROVISIONED", ...(isOnDemand ? {} : units(table)), ...(indexes.length > 0 ? { GlobalSecondaryIndexes: indexes } : {}),
  };
}

/** The seconds of a field for times, which has them in the browser's zone. */
const secondsOf = (text) => new Date(text).getTime() / SECOND;

/** A second as such a field has it. */
function localText(second) {
  const date = new Date(second * SECOND);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

if (!customElements.get("kw-transfers")) customElements.define("kw-transfers", KwTransfers);
