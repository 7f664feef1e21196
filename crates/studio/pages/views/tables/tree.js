// The typed tree of an item: names, types and values as fields. No type changes unless one is chosen.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { typeOf, visible } from "../collections/typed.js";

const TYPES = [["S", "text"], ["N", "number"], ["B", "binary"], ["BOOL", "boolean"], ["NULL", "null"], ["M", "map"], ["L", "list"], ["SS", "set of texts"], ["NS", "set of numbers"], ["BS", "set of binaries"]];
const EMPTY = { S: "", N: "0", B: "", BOOL: false, NULL: true, M: {}, L: [], SS: [""], NS: ["0"], BS: [""] };
/** Fields that are drawn at once; the rest of a large item is edited as text. */
export const FIELDS_MAX = 400;

/** A value of another type, with what both types can hold. */
function retyped(value, type) {
  const from = typeOf(value);
  const inner = value[from];
  const isText = (one) => ["S", "N", "B"].includes(one);
  if (isText(from) && isText(type)) return { [type]: inner };
  if (["SS", "NS", "BS"].includes(from) && ["SS", "NS", "BS"].includes(type)) return { [type]: inner };
  if (isText(from) && type === `${from}S`) return { [type]: [inner] };
  return { [type]: structuredClone(EMPTY[type]) };
}

/**
 * @param {any} item
 * @param {{locked: Set<string>, readOnly: boolean}} options
 * @param {(item: any) => void} changed
 */
export function tree(item, { locked, readOnly }, changed) {
  let left = FIELDS_MAX;
  const members = (map, set, path, top) => html`<ul class="tr-list" aria-label=${path ? visible(path) : "Attributes"}>
    ${Object.entries(map).map(([name, value]) => {
      left -= 1;
      if (left < 0) return nothing;
      const here = path ? `${path}.${name}` : name;
      const put = (next) => set(Object.fromEntries(Object.entries(map).map(([own, old]) => [own, own === name ? next : old])));
      const fixed = top && locked.has(name);
      return row(html`<span class="tr-name">${visible(name)}${fixed ? html` <span class="dim">key</span>` : nothing}</span>`, value, here, put, fixed,
        fixed ? null : () => set(Object.fromEntries(Object.entries(map).filter(([own]) => own !== name))));
    })}
    ${readOnly ? nothing : html`<li><form class="tr-add" @submit=${(event) => {
      event.preventDefault();
      const form = event.target;
      const input = form.elements.namedItem("name");
      const name = input.value;
      if (name === "" && top) return;
      if (Object.hasOwn(map, name)) { input.setCustomValidity("There is one of this name."); input.reportValidity(); input.setCustomValidity(""); return; }
      input.value = "";
      set(Object.fromEntries([...Object.entries(map), [name, { S: "" }]]));
      const label = valueOf(path ? `${path}.${name}` : name);
      [...form.closest("ul").querySelectorAll("input, textarea")].find((one) => one.getAttribute("aria-label") === label)?.focus();
    }}><input name="name" aria-label="New attribute of ${path ? visible(path) : "the item"}" placeholder="new attribute"><button class="md-link">Add</button></form></li>`}</ul>`;
  const row = (name, value, here, put, fixed, drop) => {
    const type = typeOf(value);
    return html`<li class="tr-row"><div class="tr-line">${name}
      <select aria-label="Type of ${visible(here)}" ?disabled=${readOnly || fixed} @change=${(event) => put(retyped(value, event.target.value))}>${TYPES.map(([one, text]) => html`<option value=${one} ?selected=${one === type}>${text}</option>`)}</select>
      ${field(value, type, here, put, readOnly)}
      ${drop && !readOnly ? html`<button class="kc-tool tr-drop" type="button" aria-label="Remove ${visible(here)}" title="Remove" @click=${drop}>✕</button>` : nothing}</div>
      ${type === "M" ? members(value.M, (next) => put({ M: next }), here, false) : nothing}
      ${type === "L" ? list(value.L, type, here, put) : nothing}</li>`;
  };
  const list = (values, type, here, put) => html`<ul class="tr-list" aria-label=${visible(here)}>${values.map((one, at) => {
    left -= 1;
    if (left < 0) return nothing;
    return row(html`<span class="tr-name dim">${at}</span>`, one, `${here}[${at}]`, (next) => put({ [type]: values.map((old, own) => (own === at ? next : old)) }), false, () => put({ [type]: values.filter((_, own) => own !== at) }));
  })}${readOnly ? nothing : html`<li><button class="md-link" type="button" aria-label="Add to ${visible(here)}" @click=${() => put({ [type]: [...values, { S: "" }] })}>Add</button></li>`}</ul>`;
  const drawn = members(item, changed, "", true);
  return html`${drawn}${left < 0 ? html`<p class="dim">Only ${FIELDS_MAX} fields are drawn. Edit the rest as JSON.</p>` : nothing}`;
}

/** The name of a value's field. */
const valueOf = (path) => `Value of ${visible(path)}`;

function field(value, type, here, put, readOnly) {
  const label = valueOf(here);
  if (type === "BOOL") return html`<label class="md-check"><input type="checkbox" aria-label=${label} ?disabled=${readOnly} .checked=${value.BOOL} @change=${(event) => put({ BOOL: event.target.checked })}>${value.BOOL ? "true" : "false"}</label>`;
  if (["SS", "NS", "BS"].includes(type)) {
    return html`<textarea rows=${Math.min(6, value[type].length)} aria-label="${label}, one a line" ?readonly=${readOnly || value[type].some((one) => /[\r\n]/.test(one))} .value=${value[type].join("\n")} @change=${(event) => put({ [type]: event.target.value.split("\n") })}></textarea>`;
  }
  if (type === "S" && (value.S.length > 60 || /[\r\n]/.test(value.S))) return html`<textarea rows="4" aria-label=${label} ?readonly=${readOnly || value.S.includes("\r")} .value=${value.S} @change=${(event) => put({ S: event.target.value })}></textarea>`;
  if (["S", "N", "B"].includes(type)) return html`<input class=${type === "N" ? "tr-number" : ""} aria-label=${label} inputmode=${type === "N" ? "decimal" : "text"} ?readonly=${readOnly} .value=${value[type]} @change=${(event) => put({ [type]: event.target.value })}>`;
  return nothing;
}
