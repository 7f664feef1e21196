// What exports, imports and bulk puts have in common: places, ids, formats, how one stands.

import { html } from "../../vendor/lit-html/lit-html.js";
import { visible } from "../collections/typed.js";
import { stateOf } from "./kw-jobs.js";

export const FORMATS = [["DYNAMODB_JSON", "DynamoDB JSON"], ["ION", "Amazon Ion"]];
export const COMPRESSIONS = [["NONE", "nothing"], ["GZIP", "gzip"], ["ZSTD", "zstd"]];

/** The last part of an ARN: the id of its job too. */
export const idOf = (arn) => arn.split("/").at(-1);
export const linkTo = (region, table) => html`<a class="md-link" href=${`/${region}/t/${encodeURIComponent(table)}/items`}>${table}</a>`;

/** A place such as `s3://bucket/prefix`. */
export function placeOf(text) {
  const [, bucket = "", prefix = ""] = /^s3:\/\/([^/]+)\/?(.*)$/.exec(text.trim()) ?? [];
  return { bucket, prefix };
}

/** How one stands. Until its end its job knows more. */
export function transferState(one, status, job) {
  const words = status.toLowerCase().replaceAll("_", " ");
  if (one.FailureCode || one.FailureMessage) return html`<b class="tl-bad">${status === "CANCELLED" ? words : `failed: ${one.FailureCode}`}</b><br>${visible(one.FailureCode === "ItemValidationError" ? "some records were not imported" : one.FailureMessage ?? "")}`;
  return !one.EndTime && job && status !== "CANCELLING" ? stateOf(job) : words;
}

/** A field of a form, whose value is kept in `of`. */
export function field(of, name, words, more = {}) {
  return html`<label>${words} <input type=${more.type ?? "text"} step="1" min=${more.min ?? ""} ?required=${!more.optional} pattern=${more.pattern ?? ".*"} title=${more.title ?? ""} size=${more.size ?? 14} placeholder=${more.example ?? ""} autocomplete="off" spellcheck="false" .value=${of[name]} @input=${(event) => { of[name] = event.target.value; more.changed?.(); }}></label>`;
}

/** A field of a form for a place. */
export const place = (of, name, words, example) => field(of, name, words, { pattern: "s3://[^\\/]+(/.*)?", title: "s3://bucket or s3://bucket/prefix", size: 28, example });
