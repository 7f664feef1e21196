// Findings of the rules: by severity, each with its place, what to do, and why on demand.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { repeat } from "../../vendor/lit-html/directives/repeat.js";
import { prose } from "./blocks.js";
import { count } from "./words.js";

const ORDER = ["error", "warning", "note"];
const SIGN = { error: "●", warning: "▲", note: "□" };

/**
 * @param {{check: any, faults: any[], rules: Map<string, any>|null, open: Set<string>, toggle: (id: string) => void,
 *   goto: (line: number, column: number) => void, by: string, sort: (by: string) => void}} input
 */
export function findingsView({ check, faults, rules, open, toggle, goto, by, sort }) {
  if (faults.length > 0) {
    return html`<div class="md-page"><h2>${count(faults.length, "fault")}: the file does not read</h2>
      <ul class="fd-list">${faults.map((fault) => html`<li class="fd is-error"><div class="fd-head">
        <span class="fd-sign" aria-hidden="true">●</span><span class="fd-text">${prose(fault.text)}</span>
        <button class="md-link" @click=${() => goto(fault.line, fault.column)}>line ${fault.line}</button></div></li>`)}</ul></div>`;
  }
  if (!check) return nothing;
  const numbers = new Map(ORDER.map((severity) => [severity, 0]));
  for (const finding of check.findings) numbers.set(finding.severity, (numbers.get(finding.severity) ?? 0) + 1);
  const groups = new Map();
  for (const finding of check.findings) {
    const key = by === "severity" ? finding.severity : by === "rule" ? finding.rule : finding.subject;
    const group = groups.get(key);
    if (group) group.push(finding);
    else groups.set(key, [finding]);
  }
  const keys = by === "severity" ? ORDER.filter((one) => groups.has(one)) : [...groups.keys()].sort();
  return html`<div class="md-page">
    <div class="md-summary">
      ${ORDER.map((severity) => html`<span class="md-tally fd-${severity}"><span class="fd-sign" aria-hidden="true">${SIGN[severity]}</span> <b>${numbers.get(severity)}</b> ${numbers.get(severity) === 1 ? severity : `${severity}s`}</span>`)}
      <label class="md-choose">By <select @change=${(event) => sort(event.target.value)}>
        ${["severity", "rule", "subject"].map((one) => html`<option value=${one} ?selected=${by === one}>${one}</option>`)}</select></label>
    </div>
    ${check.findings.length === 0 ? html`<p class="md-nothing">No rule has anything to say about this model.</p>` : nothing}
    ${keys.map((key) => html`
      <h3 class="fd-group">${by === "severity" ? `${key}s` : key}${by === "rule" && rules?.get(key) ? html` <span class="dim">${rules.get(key).title}</span>` : nothing}</h3>
      <ul class="fd-list">${repeat(groups.get(key), (finding) => `${finding.rule} ${finding.subject} ${finding.line} ${finding.text}`, (finding) => {
        const id = `${finding.rule} ${finding.subject} ${finding.line} ${finding.text}`;
        const why = open.has(id);
        return html`<li class="fd is-${finding.severity}">
          <div class="fd-head">
            <span class="fd-sign" aria-hidden="true">${SIGN[finding.severity]}</span>
            <span class="fd-rule">${finding.rule}</span>
            <span class="fd-text"><span class="kc-hidden">${finding.severity}: </span>${prose(finding.text)}</span>
            <button class="md-link fd-line" @click=${() => goto(finding.line, finding.column)}>line ${finding.line}</button>
          </div>
          ${finding.fix ? html`<p class="fd-fix"><span aria-hidden="true">→</span> ${prose(finding.fix)}</p>` : nothing}
          <button class="fd-why" aria-expanded=${why} @click=${() => toggle(id)}>${why ? "Hide why" : "Why"}</button>
          ${why ? html`<div class="fd-explain">${rules?.get(finding.rule)
            ? rules.get(finding.rule).text.trim().split(/\n\n+/).slice(1).map((paragraph) => html`<p>${prose(paragraph)}</p>`)
            : html`<p class="dim">…</p>`}</div>` : nothing}
        </li>`;
      })}</ul>`)}
  </div>`;
}
