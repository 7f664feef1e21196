// The busiest and the refused keys of a table or index, as contributor insights count them.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { dynamodb, monitoring } from "../model/api.js";
import { count } from "../model/words.js";
import { MINUTE, RANGES, figure } from "./series.js";

const KEYS_MAX = 25;
/** Throughput units of a partition's limit in a second: 3,000 read units, or 1,000 write units that count for three. */
const PARTITION_UNITS = 3000;
const ENDS = { ENABLING: true, DISABLING: true };

/** @typedef {{keys: string[], value: number, most: number}} Contributor */
/** @typedef {{rule: string, sum: number, keys: number, contributors: Contributor[]}} Report */

/** @returns {Promise<Report>} */
async function report(rule, from, to) {
  const answer = await monitoring("GetInsightRuleReport", { RuleName: rule, StartTime: from, EndTime: to, Period: MINUTE, MaxContributorCount: KEYS_MAX, OrderBy: "Sum" });
  return {
    rule, sum: answer.AggregateValue ?? 0, keys: answer.ApproximateUniqueCount ?? 0,
    contributors: (answer.Contributors ?? []).map((one) => ({
      keys: one.Keys, value: one.ApproximateAggregateValue, most: Math.max(0, ...(one.Datapoints ?? []).map((point) => point.ApproximateValue)),
    })),
  };
}

/**
 * Whether the keys are counted, and what was counted.
 * @param {{table: string, index: string|null, range: string}} of
 */
export async function readInsights({ table, index, range }) {
  const { ContributorInsightsStatus: status, ContributorInsightsRuleList: rules = [], FailureException: failure } = await dynamodb("DescribeContributorInsights", { TableName: table, ...(index ? { IndexName: index } : {}) });
  const minutes = RANGES.find(([id]) => id === range)?.[2] ?? 15;
  const to = (Math.floor(Date.now() / 60_000) + 1) * MINUTE;
  /** @type {Map<string, Report>} */ const reports = new Map();
  if (status === "ENABLED") {
    await Promise.all(rules.map(async (rule) => {
      const kind = /^DynamoDBContributorInsights-([PS]K[CT])-/.exec(rule)?.[1];
      if (kind) reports.set(kind, await report(rule, to - minutes * MINUTE, to));
    }));
  }
  return { status: status ?? "DISABLED", failure: failure?.ExceptionDescription ?? "", reports, minutes };
}

/** The switch of a table or index. @param {{insights: any, readOnly: boolean, change: (action: string) => void}} input */
export function insightsSwitch({ insights, readOnly, change }) {
  if (!insights) return nothing;
  const on = insights.status === "ENABLED" || insights.status === "ENABLING";
  return html`<span>Contributor insights: <b>${insights.status.toLowerCase()}</b></span>
    ${readOnly ? nothing : html`<button class="md-button" ?disabled=${ENDS[insights.status] ?? false} @click=${() => change(on ? "DISABLE" : "ENABLE")}>${on ? "Stop counting keys…" : "Count the keys"}</button>`}`;
}

function rows(found, unit, href) {
  const top = found.contributors[0]?.value || 1;
  return found.contributors.map((one) => {
    const share = found.sum > 0 ? one.value / found.sum : 0;
    const full = one.most / MINUTE / PARTITION_UNITS;
    const text = one.keys.join(" / ");
    const to = href(one.keys);
    return html`<tr><th scope="row">${to ? html`<a class="md-link" href=${to}><code>${text}</code></a>` : html`<code>${text}</code>`}</th>
      <td><svg class="hk-bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect x="0" y="1" height="8" width=${Math.max(0.6, (100 * one.value) / top)}></rect></svg></td>
      <td class="is-number"><b>${Math.round(share * 100)} %</b></td><td class="is-number">${figure(one.value)}</td>
      ${unit === "units" ? html`<td class="is-number">${figure(one.most / MINUTE)}</td><td class="is-number">${full >= 0.005 ? html`${full >= 1 ? html`<b class="hk-refused">${Math.round(full * 100)} %</b>` : `${Math.round(full * 100)} %`}` : "< 1 %"}</td>` : nothing}</tr>`;
  });
}

function part(label, found, unit, href) {
  if (!found) return nothing;
  if (found.contributors.length === 0) return html`<h2>${label}</h2><p class="md-nothing">${unit === "units" ? "No key was read or written in this time." : "No request was refused in this time."}</p>`;
  return html`<h2>${label}</h2><div class="md-table-room" tabindex="0" role="region" aria-label=${label}><table class="md-table hk-table"><thead><tr><th scope="col">key</th><th scope="col" class="hk-wide"><span class="kc-hidden">value as a bar</span></th>
      <th scope="col" class="is-number">share</th><th scope="col" class="is-number">${unit}</th>${unit === "units" ? html`<th scope="col" class="is-number">units a second, busiest minute</th><th scope="col" class="is-number">of a partition</th>` : nothing}</tr></thead>
    <tbody>${rows(found, unit, href)}</tbody></table></div>
    <p class="dim">${count(found.keys, "key")} in this time${found.keys > found.contributors.length ? html`, the first ${found.contributors.length} are shown` : nothing}.</p>`;
}

/**
 * @param {{insights: any, region: string, table: string, index: {name: string}|null, pk: string[], sk: string[]}} input
 *   `index` is null for the table; `pk` and `sk` are the attributes of the key.
 */
export function insightsView({ insights, region, table, index, pk, sk }) {
  if (insights.status === "FAILED") return html`<div class="md-error" role="alert"><p>${insights.failure}</p></div>`;
  if (insights.status !== "ENABLED") return nothing;
  // The key attributes of a rule come as one text: a link needs a key of one attribute.
  const href = (keys) => {
    if (pk.length !== 1 || (keys.length > 1 && sk.length !== 1)) return null;
    const search = new URLSearchParams({ ...(index ? { index: index.name } : {}), pk: keys[0] });
    return `/${region}/t/${encodeURIComponent(table)}/items?${search}`;
  };
  const of = (kind) => insights.reports.get(kind);
  return html`${part("Busiest partition keys", of("PKC"), "units", href)}${part("Busiest items", of("SKC"), "units", href)}
    ${part("Refused partition keys", of("PKT"), "refusals", href)}${part("Refused items", of("SKT"), "refusals", href)}
    <p class="dim">Units as contributor insights count them: a read unit once, a write unit three times. A partition serves ${PARTITION_UNITS.toLocaleString("en")} a second.</p>`;
}
