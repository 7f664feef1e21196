// <kw-chart>: figures over time, drawn by uPlot, and the same figures as a table. Bars are what happened in a
// minute, a dashed line is a limit. Gaps stay gaps.

import { html, nothing, render } from "../../vendor/lit-html/lit-html.js";
import uPlot from "../../vendor/uplot/uplot.js";
import { build } from "../model/api.js";
import { MINUTE, figure, timeOf } from "./series.js";

/**
 * @typedef {{name: string, tone: "reads"|"writes"|"limit"|"bad"|"warn"|"plain", kind: "bars"|"thin"|"line"|"limit", values: (number|null)[]}} Line
 * @typedef {{title: string, unit: string, times: number[], lines: Line[], note?: unknown, zone?: "UTC"}} Chart
 */

const HEIGHT = 168;
const NARROW = 480;
/** A limit so many times above what is drawn would flatten it: it is named and not drawn. */
const FAR = 8;

const href = `/assets/${build}/vendor/uplot/uplot.css`;
if (!document.querySelector(`link[href="${href}"]`)) {
  const link = document.createElement("link");
  link.rel = "stylesheet";
  link.href = href;
  document.head.append(link);
}

export class KwChart extends HTMLElement {
  constructor() {
    super();
    /** @type {Chart|null} */ this.own = null;
    /** @type {any} */ this.plot = null;
    this.shape = "";
    this.table = false;
    this.under = /** @type {number|null} */ (null);
    this.sizes = new ResizeObserver(() => this.resize());
    this.themes = new MutationObserver(() => this.again());
    this.system = matchMedia("(prefers-color-scheme: dark)");
  }

  /** @param {Chart} chart */
  set chart(chart) {
    this.own = chart;
    this.update();
  }

  connectedCallback() {
    this.classList.add("ch");
    // A property that was set before this file came hides the setter.
    if (Object.hasOwn(this, "chart")) {
      const own = /** @type {any} */ (this);
      const { chart } = own;
      delete own.chart;
      own.chart = chart;
    }
    this.sizes.observe(this);
    this.themes.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    this.system.addEventListener("change", this.again);
    this.update();
  }

  disconnectedCallback() {
    this.sizes.disconnect();
    this.themes.disconnect();
    this.system.removeEventListener("change", this.again);
    this.drop();
  }

  again = () => {
    this.drop();
    this.update();
  };

  drop() {
    this.plot?.destroy();
    this.plot = null;
    this.shape = "";
  }

  get room() { return /** @type {HTMLElement|null} */ (this.querySelector(".ch-plot")); }

  resize() {
    const width = this.room?.clientWidth ?? 0;
    if (this.plot && width > 0 && Math.abs(this.plot.width - width) > 1) this.plot.setSize({ width, height: HEIGHT });
    else if (!this.plot) this.draw();
  }

  update() {
    if (!this.isConnected || !this.own) return;
    render(this.view(this.own), this);
    this.draw();
  }

  /** @param {Chart} chart */
  view(chart) {
    const at = this.under;
    const end = chart.times.length - 1;
    const far = this.far(chart);
    const shown = (line) => (at !== null ? line.values[at] : line.kind === "limit" ? line.values[end] : line.values[end] ?? line.values[end - 1]);
    return html`<div class="ch-head"><h3>${chart.title}</h3>
        <ul class="ch-legend">${chart.lines.map((line) => html`<li class=${`ch-key is-${line.tone} is-${line.kind}`}><span class="ch-mark" aria-hidden="true"></span>${line.name} <b>${figure(shown(line))}</b>${far && line.kind === "limit" ? ", far above" : nothing}</li>`)}
          <li class="dim">${chart.unit}${at === null ? (chart.zone ? ", at the end" : ", now") : `, ${timeOf(chart.times[at], chart.zone)}`}</li></ul>
        <button class="md-link ch-as" aria-pressed=${this.table} @click=${() => { this.table = !this.table; if (this.table) this.drop(); this.update(); }}>${this.table ? "As a picture" : "As a table"}</button></div>
      ${this.table ? this.rows(chart) : html`<div class="ch-plot" role="img" aria-label=${this.words(chart)}></div>`}
      ${chart.note ? html`<p class="ch-note">${chart.note}</p>` : nothing}`;
  }

  /** What the picture shows, for people who do not see it. @param {Chart} chart */
  words(chart) {
    const of = chart.lines.map((line) => {
      const known = line.values.filter((value) => value !== null);
      return known.length === 0 ? `${line.name}: nothing` : `${line.name}: at most ${figure(Math.max(...known))}`;
    });
    return `${chart.title}, ${chart.unit}, from ${timeOf(chart.times[0], chart.zone)} to ${timeOf(chart.times[chart.times.length - 1], chart.zone)}. ${of.join("; ")}.`;
  }

  /** @param {Chart} chart */
  rows(chart) {
    const filled = chart.times.map((time, at) => ({ time, at })).filter(({ at }) => chart.lines.some((line) => line.kind !== "limit" && line.values[at] !== null)).reverse();
    return html`<div class="ch-rows" tabindex="0" role="region" aria-label=${`${chart.title}, as a table`}>${filled.length === 0 ? html`<p class="dim">No minute of this time has a figure.</p>` : html`<table class="md-table">
      <thead><tr><th scope="col">minute</th>${chart.lines.map((line) => html`<th scope="col" class="is-number">${line.name}, ${chart.unit}</th>`)}</tr></thead>
      <tbody>${filled.map(({ time, at }) => html`<tr><th scope="row"><time datetime=${new Date(time * 1000).toISOString()}>${timeOf(time, chart.zone)}</time></th>${chart.lines.map((line) => html`<td class="is-number">${line.values[at] === null ? "–" : line.values[at].toLocaleString("en", { maximumFractionDigits: 3 })}</td>`)}</tr>`)}</tbody></table>`}</div>`;
  }

  /** Whether the limits are far above what happened. @param {Chart} chart */
  far(chart) {
    const most = (limit) => Math.max(0, ...chart.lines.filter((line) => (line.kind === "limit") === limit).flatMap((line) => line.values.map((value) => value ?? 0)));
    const drawn = most(false);
    return drawn > 0 && most(true) > FAR * drawn;
  }

  /** The colours that the style sheet gives to marks. */
  tones() {
    return [...this.querySelectorAll(".ch-mark")].map((mark) => getComputedStyle(mark).color);
  }

  draw() {
    const chart = this.own;
    const room = this.room;
    if (!chart || !room || room.clientWidth === 0) return;
    const far = this.far(chart);
    const lines = chart.lines.filter((line) => line.kind !== "limit" || !far);
    // A limit holds until the end of the last minute.
    const data = [[...chart.times, chart.times[chart.times.length - 1] + MINUTE], ...lines.map((line) => [...line.values, line.kind === "limit" ? line.values[line.values.length - 1] : null])];
    const shape = JSON.stringify(lines.map((line) => [line.name, line.tone, line.kind]));
    if (this.plot && shape === this.shape && this.plot.root.isConnected) {
      this.plot.setData(data);
      return;
    }
    this.drop();
    this.shape = shape;
    const tones = this.tones();
    const ink = getComputedStyle(room).color;
    const grid = getComputedStyle(room).borderTopColor;
    const paths = uPlot.paths;
    const series = lines.map((line) => {
      const stroke = tones[chart.lines.indexOf(line)];
      if (line.kind === "bars") return { label: line.name, stroke, width: 0, fill: stroke, paths: paths.bars({ size: [1, Infinity], align: 1, gap: room.clientWidth / chart.times.length > 7 ? 1 : 0 }), points: { show: false } };
      if (line.kind === "thin") return { label: line.name, stroke, width: 0, fill: stroke, paths: paths.bars({ size: [0.4, 8, 2], align: 1 }), points: { show: false } };
      if (line.kind === "limit") return { label: line.name, stroke, width: 1.5, dash: [6, 4], paths: paths.stepped({ align: 1 }), spanGaps: true, points: { show: false } };
      return { label: line.name, stroke, width: 1.75, points: { show: false, size: 4 } };
    });
    const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif" };
    this.plot = new (/** @type {any} */ (uPlot))({
      width: room.clientWidth, height: HEIGHT, ...(chart.zone ? { tzDate: (time) => uPlot.tzDate(new Date(time * 1000), "Etc/UTC") } : {}),
      cursor: { y: false, points: { show: false }, drag: { x: false, y: false } }, legend: { show: false },
      scales: { x: { time: true, range: (_, from, to) => [from, to] }, y: { range: (_, __, most) => [0, most > 0 ? most * 1.08 : 1] } },
      series: [{}, ...series],
      axes: [{ ...axis, grid: { show: false }, size: 26, space: room.clientWidth < NARROW ? 64 : 84, values: (_, all) => all.map((time) => timeOf(time, chart.zone)) }, { ...axis, size: 48, space: 36, values: (_, all) => all.map((value) => figure(value)) }],
      hooks: { setCursor: [(plot) => { const at = plot.cursor.left >= 0 ? plot.cursor.idx ?? null : null; if (at !== this.under && (at === null || at < (this.own?.times.length ?? 0))) { this.under = at; render(this.view(/** @type {Chart} */ (this.own)), this); } }] },
    }, data, room);
  }
}

if (!customElements.get("kw-chart")) customElements.define("kw-chart", KwChart);
