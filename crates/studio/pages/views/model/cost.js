// What a model costs a month: by table and index, by pattern, the billing modes from the cheapest, and settings.

import { html, nothing, svg } from "../../vendor/lit-html/lit-html.js";
import { dollarsOf, nanosOf } from "./patterns.js";
import { exactMoney, megabytes, money, percent, rate } from "./words.js";

const whole = (nanos, most) => (most === 0n ? 0 : Number((nanos * 10_000n) / most) / 100);

/** A bar of up to three parts: reads, writes, storage and the rest. */
function stack(parts, most) {
  let x = 0;
  return html`<svg class="ct-bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
    ${parts.map(([name, nanos]) => {
      const width = whole(nanos, most);
      const at = x;
      x += width;
      return nanos > 0n ? svgRect(name, at, width) : nothing;
    })}</svg>`;
}


const svgRect = (name, x, width) => svg`<rect class="ct-${name}" x=${x} y="1" width=${Math.max(0.3, width)} height="8"></rect>`;

const placeName = (line) => (line.index ? `${line.table}.${line.index}` : line.table);

function totals(cost) {
  return cost.totals.map((total) => {
    const same = (line) => line.table === total.table && (line.index ?? null) === total.index;
    const sum = (lines, pick) => lines.filter(same).reduce((nanos, line) => nanos + nanosOf(pick(line).dollars), 0n);
    const reads = sum(cost.patterns, (line) => line.reads);
    const writes = sum(cost.patterns, (line) => line.writes);
    const storage = sum(cost.storage, (line) => line.monthly);
    const all = nanosOf(total.monthly.dollars);
    const rest = all - reads - writes - storage;
    return { name: placeName(total), reads, writes, storage, rest: rest > 0n ? rest : 0n, all };
  });
}

/**
 * @param {{cost: any, texts: Map<string, string>, settings: Record<string, any>, prices: string[],
 *   set: (name: string, value: any) => void, goto: (id: string) => void}} input
 */
export function costView({ cost, texts, settings, prices, set, goto }) {
  const form = settingsForm(settings, prices, set, cost);
  if (!cost) return html`<div class="md-page">${form}</div>`;
  const places = totals(cost);
  const mostPlace = places.reduce((most, place) => (place.all > most ? place.all : most), 0n);
  const byPattern = new Map();
  for (const line of cost.patterns) {
    const found = byPattern.get(line.pattern) ?? { reads: 0n, writes: 0n, rate: line.ratePerSecondMicro, places: [] };
    found.reads += nanosOf(line.reads.dollars);
    found.writes += nanosOf(line.writes.dollars);
    found.places.push(line);
    byPattern.set(line.pattern, found);
  }
  const patterns = [...byPattern].sort((one, other) => Number(other[1].reads + other[1].writes - one[1].reads - one[1].writes));
  const mostPattern = patterns.reduce((most, [, one]) => (one.reads + one.writes > most ? one.reads + one.writes : most), 0n);
  return html`<div class="md-page ct">
    <div class="ct-total">
      <span class="ct-sum">${money(cost.total.dollars)}</span>
      <span>a month ${cost.whole ? "" : html`<b>at least: some patterns have no rate</b>`}<br><span class="dim">at ${cost.prices.name}, ${cost.monthHours} hours${cost.freeTier ? ", less the free tier" : ""}</span></span>
      <span class="ct-keys"><span class="ct-k ct-k-reads">reads</span><span class="ct-k ct-k-writes">writes</span><span class="ct-k ct-k-storage">storage</span><span class="ct-k ct-k-rest">features</span></span>
    </div>
    ${form}
    <h3>By table and index</h3>
    <table class="md-table ct-table"><thead><tr><th scope="col">table or index</th><th scope="col" class="ct-wide"><span class="kc-hidden">bar</span></th>
      <th scope="col" class="is-number">reads</th><th scope="col" class="is-number">writes</th><th scope="col" class="is-number">storage</th><th scope="col" class="is-number">a month</th></tr></thead>
      <tbody>${places.map((place) => html`<tr><th scope="row">${place.name}</th>
        <td>${stack([["reads", place.reads], ["writes", place.writes], ["storage", place.storage], ["rest", place.rest]], mostPlace)}</td>
        <td class="is-number">${money(dollarsOf(place.reads))}</td><td class="is-number">${money(dollarsOf(place.writes))}</td>
        <td class="is-number">${money(dollarsOf(place.storage))}</td><td class="is-number"><b>${money(dollarsOf(place.all))}</b></td></tr>`)}</tbody></table>
    <h3>By pattern</h3>
    ${patterns.length === 0 ? html`<p class="md-nothing">No pattern has a rate.</p>` : html`
    <table class="md-table ct-table"><thead><tr><th scope="col">pattern</th><th scope="col" class="ct-wide"><span class="kc-hidden">bar</span></th>
      <th scope="col">rate</th><th scope="col">where</th><th scope="col" class="is-number">units of one</th><th scope="col" class="is-number">a month</th></tr></thead>
      <tbody>${patterns.map(([id, one]) => html`<tr><th scope="row"><button class="md-link" @click=${() => goto(id)}>${id}</button> <span class="ct-text">${texts.get(id) ?? ""}</span></th>
        <td>${stack([["reads", one.reads], ["writes", one.writes]], mostPattern)}</td>
        <td>${rate(one.rate)}</td>
        <td>${[...new Set(one.places.map(placeName))].join(", ")}</td>
        <td class="is-number">${one.places.map((line) => (line.writeUnits > 0 ? `${line.writeUnits} W` : `${line.readUnits} R`)).join(" + ")}</td>
        <td class="is-number">${money(dollarsOf(one.reads + one.writes))}</td></tr>`)}</tbody></table>`}
    ${cost.withoutRate.length > 0 ? html`<p class="ct-unknown"><b>Unknown, not zero:</b> ${cost.withoutRate.map((one) => (typeof one === "string" ? one : one.pattern ?? one.name ?? "")).join(", ")} ${cost.withoutRate.length === 1 ? "has" : "have"} no rate.</p>` : nothing}
    <h3>Storage and features</h3>
    <table class="md-table ct-table"><thead><tr><th scope="col">of</th><th scope="col">what</th><th scope="col" class="is-number">a month</th></tr></thead><tbody>
      ${cost.storage.map((line) => html`<tr><th scope="row">${placeName(line)}</th><td>storage, ${megabytes(line.bytes)}</td><td class="is-number">${money(line.monthly.dollars)}</td></tr>`)}
      ${cost.features.map((line) => html`<tr><th scope="row">${line.table}</th><td>${line.name}</td><td class="is-number">${money(line.monthly.dollars)}</td></tr>`)}
      ${cost.capacity.map((line) => html`<tr><th scope="row">${placeName(line)}</th><td>provisioned capacity</td><td class="is-number">${line.monthly ? money(line.monthly.dollars) : ""}</td></tr>`)}
    </tbody></table>
    ${cost.entities.some((entity) => entity.writesOfOne > 1) ? html`
      <h3>Writes of one write</h3>
      <ul class="ct-amplify">${cost.entities.filter((entity) => entity.writesOfOne > 1).map((entity) =>
        html`<li>A write of <b>${entity.name}</b> is <b>${entity.writesOfOne}</b> writes: one to its table, ${entity.writesOfOne - 1} to indexes.</li>`)}</ul>` : nothing}
    ${cost.tables.map((table) => {
      const cheapest = nanosOf(table.modes[0]?.monthly.dollars ?? "0");
      const most = table.modes.reduce((nanos, mode) => (nanosOf(mode.monthly.dollars) > nanos ? nanosOf(mode.monthly.dollars) : nanos), cheapest);
      return table.modes.length === 0 ? nothing : html`<h3>Ways to pay for ${table.name}, from the cheapest</h3>
      <table class="md-table ct-table"><tbody>${table.modes.map((mode) => html`<tr><th scope="row">${mode.class}, ${mode.mode}</th>
        <td class="ct-wide">${stack([["mode", nanosOf(mode.monthly.dollars)]], most)}</td><td class="is-number">${money(mode.monthly.dollars)}</td></tr>`)}</tbody></table>
      <p class="dim">On-demand costs as much as units of which ${percent(table.breakEvens.provisionedPpm)} are used${table.breakEvens.reservedOneYearPpm ? html` (reserved for 1 year ${percent(table.breakEvens.reservedOneYearPpm)}, 3 years ${percent(table.breakEvens.reservedThreeYearsPpm)})` : nothing}${table.breakEvens.infrequentAccessGigabytes ? html`; Standard-IA pays from ${table.breakEvens.infrequentAccessGigabytes.toLocaleString("en")} GB` : nothing}.</p>`;
    })}
    ${cost.notes?.length > 0 ? html`<ul>${cost.notes.map((note) => html`<li>${note}</li>`)}</ul>` : nothing}
    <details class="ct-prices"><summary>Prices used, of ${cost.prices.name}</summary>
      <table class="md-table"><thead><tr><th scope="col">price</th><th scope="col" class="is-number">each</th><th scope="col">date</th><th scope="col">source</th></tr></thead>
        <tbody>${cost.prices.used.map((price) => html`<tr><td>${price.item}</td><td class="is-number">${exactMoney(price.each.dollars)}</td><td>${price.date}</td><td>${price.source}</td></tr>`)}</tbody></table></details>
  </div>`;
}

function settingsForm(settings, prices, set, cost) {
  const number = (name, label, suffix, fallback) => html`<label class="ct-setting"><span>${label}</span>
    <span class="ct-field"><input type="number" min="0" .value=${String(settings[name] ?? fallback)} @change=${(event) => set(name, event.target.value === "" ? undefined : Number(event.target.value))}>${suffix}</span></label>`;
  const flag = (name, label) => html`<label class="ct-setting is-flag"><input type="checkbox" .checked=${!!settings[name]} @change=${(event) => set(name, event.target.checked)}> <span>${label}</span></label>`;
  return html`<fieldset class="ct-settings"><legend>Settings</legend>
    <label class="ct-setting"><span>Prices of</span><select @change=${(event) => set("prices", event.target.value || undefined)}>
      <option value="" ?selected=${!settings.prices}>the model's${cost && !settings.prices ? ` (${cost.prices.name})` : ""}</option>
      ${prices.map((name) => html`<option value=${name} ?selected=${settings.prices === name}>${name}</option>`)}</select></label>
    ${number("monthHours", "A month is", "hours", 730)}
    ${number("usedPercent", "Provisioned units used", "%", 70)}
    ${number("streamReads", "GetRecords a second", "", 0)}
    ${number("backups", "Full backups kept", "", 0)}
    ${number("restores", "Restores a month", "", 0)}
    ${number("exports", "Exports a month", "", 0)}
    ${flag("freeTier", "Less the free tier")}
    ${flag("decimalGigabytes", "A gigabyte is 10⁹ bytes")}
    ${flag("changeCapture", "Changes to Kinesis")}
  </fieldset>`;
}
