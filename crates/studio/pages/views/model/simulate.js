// A model under the traffic of a profile: whether it throttles, where and when, what splits and scales, and what a
// month of it costs. Everything is what `keywright simulate` says of the same texts.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { save as download } from "../collections/exports.js";
import { visible } from "../collections/typed.js";
import { prose } from "./blocks.js";
import { count, money } from "./words.js";

const SECONDS = 60;
const HALVES = 2;
/** Resources that are drawn; tables and indexes without demand are not. */
const DRAWN = 24;
const DIRECTIONS = /** @type {["reads"|"writes", number][]} */ ([["reads", 0], ["writes", 1]]);

/** The pictures of answers, for as long as their answers live. @type {WeakMap<object, string>} */
const pictures = new WeakMap();

function picture(answer) {
  let url = pictures.get(answer);
  if (!url) {
    url = URL.createObjectURL(new Blob([answer.svg], { type: "image/svg+xml" }));
    pictures.set(answer, url);
  }
  return url;
}

const seconds = (time) => Date.parse(time) / 1000;
const place = (one) => (one.index ? `${one.table}.${one.index}` : one.table);
const nanos = (value) => money(`${value < 0 ? "-" : ""}${Math.floor(Math.abs(value) / 1e9)}.${String(Math.abs(value) % 1e9).padStart(9, "0")}`);
const rate = (halves) => halves / HALVES / SECONDS;
const refusals = (minute) => Object.values(minute.refused).reduce((sum, one) => sum + one, 0);

/**
 * @param {{name: string, profile: string, edit: (text: string) => void, reset: () => void, run: () => void, open: (file: File) => void,
 *   running: any, stop: () => void, answer: any, fresh: boolean, error: any, prices: string[], price: string, setPrice: (name: string) => void, marks: any[]}} input
 */
export function simulateView(input) {
  const { profile, edit, reset, run, running, answer, fresh, error, marks } = input;
  return html`<div class="md-page sl-page">
    <p class="md-about">Runs the requests of all patterns on a virtual clock against the limits of the service: provisioned units with burst, partitions that split, levels on demand, auto scaling. Nothing of your tables is touched.</p>
    <div class="sl-editor" @keydown=${(event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); event.stopPropagation(); run(); } }}
      @dragover=${(event) => event.preventDefault()} @drop=${(event) => { const file = event.dataTransfer?.files[0]; if (file) { event.preventDefault(); event.stopPropagation(); input.open(file); } }}>
      <kw-editor class="sl-profile" .value=${profile} .label=${"Traffic profile"} .diagnostics=${marks} @change=${(event) => { event.stopPropagation(); edit(event.detail.value); }} @save=${(event) => event.stopPropagation()}></kw-editor>
    </div>
    <div class="sl-actions">
      <button class="md-button is-main" ?disabled=${!!running} @click=${run}>${running ? "Simulating…" : answer ? "Simulate again" : "Simulate"}</button>
      ${running?.progress?.of ? html`<progress max=${running.progress.of} .value=${running.progress.done} aria-label=${running.progress.what}></progress><span class="dim">${running.progress.done.toLocaleString("en")} of ${running.progress.of.toLocaleString("en")} ${running.progress.what.split(" ").at(-1)}</span>` : nothing}
      ${running ? html`<button class="md-button" @click=${input.stop}>Stop</button>` : nothing}
      <label class="dim">Prices <select @change=${(event) => input.setPrice(event.target.value)}><option value="" ?selected=${!input.price}>the model's</option>${input.prices.map((name) => html`<option value=${name} ?selected=${name === input.price}>${name}</option>`)}</select></label>
      <label class="md-button mf-file">Open a profile<input class="kc-hidden" type="file" accept=".yaml,.yml" @change=${(event) => { const file = event.target.files[0]; if (file) input.open(file); event.target.value = ""; }}></label>
      <button class="md-button" @click=${() => download(`${input.name.replace(/\.yaml$/, "")}-profile.yaml`, "text/yaml", profile)}>Save as a file</button>
      <button class="md-link" @click=${reset}>Reset</button>
    </div>
    ${error ? html`<div class="md-error" role="alert">${error.faults?.length ? html`<p><b>${error.more?.of === "profile" ? "The profile does not read:" : "The model does not run:"}</b></p><ul>${error.faults.map((fault) => html`<li>line ${fault.line}: ${prose(fault.text)}</li>`)}</ul>` : html`<p>${visible(error.message)}</p>`}</div>` : nothing}
    ${answer ? html`${fresh ? nothing : html`<p class="md-stale">Of an older text or profile.</p>`}<div class=${fresh ? "" : "is-stale"}>${found(answer, input)}</div>` : nothing}
  </div>`;
}

function found(answer, { name, fresh }) {
  const report = answer.report;
  const throttled = report["throttled-per-minute"];
  const minutes = throttled.filter((one) => one > 0).length;
  const most = Math.max(0, ...throttled);
  const tile = (what, value, more, bad = false) => html`<li class=${`op-tile${bad ? " is-bad" : ""}`}><span class="op-name">${what}</span><span class="op-value">${value}</span><span class="op-unit">${more}</span></li>`;
  const good = minutes === 0;
  return html`
    <div class=${`dg-verdict ${!good ? "is-bad" : fresh ? "is-good" : ""}`} role="status"><span aria-hidden="true">${!good ? "✗" : fresh ? "✓" : "·"}</span><span><b>${visible(report.answer)}</b></span></div>
    ${report.broken.length > 0 ? html`<div class="md-error"><p><b>Not as the profile expects:</b></p><ul>${report.broken.map((line) => html`<li>${visible(line)}</li>`)}</ul></div>` : nothing}
    <ul class="op-tiles" aria-label="In short">
      ${tile("Requests", report.requests.toLocaleString("en"), `in ${Math.round(report["length-seconds"] / SECONDS).toLocaleString("en")} minutes`)}
      ${tile("Refused", throttled.reduce((sum, one) => sum + one, 0).toLocaleString("en"), minutes > 0 ? `in ${count(minutes, "minute")}, at most ${most.toLocaleString("en")} in one` : "at no attempt", minutes > 0)}
      ${tile("Lost", report.lost.toLocaleString("en"), `after ${count(report.retries, "further attempt")}`, report.lost > 0)}
      ${tile("A month", money(answer.total.replace("$", "").replaceAll(",", "")), `of this traffic, at ${report.prices}`)}</ul>
    <h3>Demand, capacity and refusals</h3>
    <div class="op-charts op">${charts(report)}</div>
    ${heaviest(report)}
    <h3>Splits and scaling</h3>
    ${report.events.length === 0 ? html`<p class="md-nothing">No partition split, and no capacity changed.</p>` : html`<div class="md-table-room sl-events" tabindex="0" role="region" aria-label="Splits and scaling"><table class="md-table"><thead><tr><th scope="col">minute</th><th scope="col">table or index</th><th scope="col">what</th></tr></thead>
      <tbody>${report.events.map((one) => html`<tr><th scope="row">${clock(one.minute)}</th><td>${place(one)}</td><td>${visible(one.text)}</td></tr>`)}</tbody></table></div>`}
    <h3>Bill of a month</h3>
    <table class="md-table"><thead><tr><th scope="col">table</th><th scope="col">mode</th><th scope="col" class="is-number">a month</th></tr></thead><tbody>
      ${report.bill.map((own) => html`<tr><th scope="row">${own.table}</th><td>${own.mode} <span class="dim">as simulated</span></td><td class="is-number"><b>${nanos(own["monthly-nano-dollars"])}</b></td></tr>
        ${own.others.map((other) => html`<tr><td></td><td>${other.mode}</td><td class="is-number">${nanos(other["monthly-nano-dollars"])}</td></tr>`)}`)}</tbody></table>
    ${report["left-out"].length > 0 ? html`<p class="ct-unknown"><b>Not run:</b> ${report["left-out"].map((one, at) => html`${at > 0 ? "; " : ""}${one.pattern}, ${visible(one.reason)}`)}</p>` : nothing}
    ${report.assumptions.length > 0 ? html`<h3>Assumptions of ours</h3><ul>${report.assumptions.map((line) => html`<li>${visible(line)}</li>`)}</ul>` : nothing}
    <h3>Take it along</h3>
    <p class="sl-actions"><button class="md-button" @click=${() => download(`${base(name)}.svg`, "image/svg+xml", answer.svg)}>Picture (SVG)</button>
      <button class="md-button" @click=${() => download(`${base(name)}.csv`, "text/csv", answer.csv)}>Minutes (CSV)</button>
      <button class="md-button" @click=${() => download(`${base(name)}.txt`, "text/plain", answer.text)}>Text</button></p>
    <details class="ct-prices"><summary>The picture, for people who do not read tables</summary><img class="sl-picture" src=${picture(answer)} alt=${report.answer}></details>
    <details class="ct-prices"><summary>The words of <code>keywright simulate</code></summary><pre class="md-drawing" tabindex="0" role="region" aria-label="Words of the command">${visibleLines(answer.text)}</pre></details>`;
}

const base = (name) => `${name.replace(/\.yaml$/, "")}-simulated`;
const visibleLines = (text) => text.split("\n").map(visible).join("\n");
const clock = (time) => time.replace(/^.*T/, "").replace(/Z$/, "");

function charts(report) {
  const all = report.resources.flatMap((own) => DIRECTIONS.filter(([, at]) => own.minutes.some((minute) => minute["demanded-half-units"][at] > 0)).map(([tone, at]) => ({ own, tone, at })));
  return all.slice(0, DRAWN).map(({ own, tone, at }) => {
    const asked = own.minutes.map((minute) => rate(minute["demanded-half-units"][at]));
    const limit = own.minutes.map((minute) => minute["limit-units-per-second"][at]);
    const refused = own.minutes.map(refusals);
    const sum = refused.reduce((total, one) => total + one, 0);
    const reasons = new Map();
    for (const minute of own.minutes) for (const [reason, times] of Object.entries(minute.refused)) if (reason.includes(tone === "reads" ? "Read" : "Write")) reasons.set(reason, (reasons.get(reason) ?? 0) + times);
    const partitions = [own.minutes[0].partitions, own.minutes[own.minutes.length - 1].partitions];
    const chart = {
      title: `${own.index ? `Index ${own.index} of ${own.table}` : own.table}: ${tone}`, unit: "units a second", times: own.minutes.map((minute) => seconds(minute.minute)), zone: "UTC",
      lines: [
        { name: "asked for", tone: reasons.size > 0 ? "bad" : "plain", kind: "bars", values: asked },
        { name: "served", tone, kind: "bars", values: own.minutes.map((minute) => rate(minute["consumed-half-units"][at])) },
        { name: "limit", tone: "limit", kind: "limit", values: limit },
      ],
      note: html`${partitions[0] === partitions[1] ? count(partitions[0], "partition") : `${partitions[0]} → ${partitions[1]} partitions`}.
        ${reasons.size > 0 ? html`<span class="tl-bad">Refused:</span> ${[...reasons].map(([reason, times], place) => html`${place > 0 ? ", " : ""}${times.toLocaleString("en")} × ${reason}`)}.` : sum > 0 ? nothing : "Nothing refused."}`,
    };
    return html`<kw-chart .chart=${chart}></kw-chart>`;
  });
}

/** The partition and key that were asked for most in the worst minute of each table and index. */
function heaviest(report) {
  const rows = report.resources.flatMap((own) => {
    const worst = own.minutes.filter((minute) => minute.heaviest).toSorted((one, other) => refusals(other) - refusals(one) || load(other) - load(one))[0];
    return worst ? [{ own, worst }] : [];
  });
  if (rows.length === 0) return nothing;
  return html`<h3>The busiest partition, in the worst minute</h3><div class="md-table-room" tabindex="0" role="region" aria-label="The busiest partitions"><table class="md-table"><thead><tr><th scope="col">table or index</th><th scope="col">minute</th><th scope="col" class="is-number">partition</th><th scope="col" class="is-number">units a second</th><th scope="col">its busiest key</th><th scope="col" class="is-number">of that</th><th scope="col" class="is-number">refused</th></tr></thead>
    <tbody>${rows.map(({ own, worst }) => {
      const { heaviest: one } = worst;
      const refused = refusals(worst);
      return html`<tr><th scope="row">${place(own)}</th><td>${clock(worst.minute)}</td><td class="is-number">${one.partition} of ${worst.partitions}</td><td class="is-number">${Math.round(rate(load(worst))).toLocaleString("en")}</td>
        <td>${one.key === null ? html`<span class="dim">–</span>` : html`<code>${visible(one.key)}</code>`}</td><td class="is-number">${one.key === null || load(worst) === 0 ? "" : `${Math.round((100 * one["key-half-units"]) / load(worst))} %`}</td>
        <td class="is-number">${refused > 0 ? html`<span class="tl-bad">${refused.toLocaleString("en")}</span>` : "0"}</td></tr>`;
    })}</tbody></table></div>`;
}

const load = (minute) => minute.heaviest["asked-half-units"][0] + minute.heaviest["asked-half-units"][1];
