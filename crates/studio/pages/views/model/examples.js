// The examples as cards: what each is, how large, and what it teaches.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { repeat } from "../../vendor/lit-html/directives/repeat.js";
import { visible } from "../collections/typed.js";
import { count } from "./words.js";

const number = (value) => (Array.isArray(value) ? value.length : Number(value ?? 0));

/** @param {any[]} examples */
export function exampleCards(examples) {
  return html`<ul class="ex-list">${repeat(examples, (example) => example.name, (example) => {
    const name = example.name.replace(/\.yaml$/, "");
    return html`<li class="ex">
      <a class="ex-link" href=${`/models/${encodeURIComponent(name)}/${example.fails ? "findings" : "patterns"}`}>
        <span class="ex-name">${visible(example.title || name)}</span> <code class="ex-file">${name}</code>
        ${example.fails ? html`<span class="ex-fails">✗ fails on purpose</span>` : nothing}
      </a>
      <p class="ex-teaches">${visible(example.teaches ?? "")}</p>
      <p class="ex-facts">${count(number(example.tables), "table")} · ${count(number(example.entities), "entity", "entities")} · ${count(number(example.patterns), "pattern")}
        ${example.source ? html`<br><span class="ex-source">${visible(example.source)}</span>` : nothing}</p>
    </li>`;
  })}</ul>`;
}
