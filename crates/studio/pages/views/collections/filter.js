// The filter of a read as rows of attribute, operator, type and value. Every name goes through
// ExpressionAttributeNames, so that reserved words and odd names work.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { visible } from "./typed.js";

/** @typedef {{name: string, op: string, type: string, value: string}} Row */

const OPERATORS = [["=", "="], ["<>", "≠"], ["<", "<"], ["<=", "≤"], [">", ">"], [">=", "≥"], ["begins_with", "begins with"], ["contains", "contains"], ["attribute_exists", "exists"], ["attribute_not_exists", "does not exist"]];
const TYPES = ["S", "N", "BOOL", "B"];
const blank = () => ({ name: "", op: "=", type: "S", value: "" });
const hasValue = (row) => !row.op.startsWith("attribute_");

/** Rows of an address: JSON of their four parts. What is none is left out. @param {string[]} texts @returns {Row[]} */
export function rowsOf(texts) {
  return texts.flatMap((text) => {
    let parts;
    try { parts = JSON.parse(text); } catch { return []; }
    if (!Array.isArray(parts) || typeof parts[0] !== "string" || parts[0] === "") return [];
    const [name, op, type, value] = parts;
    return [{ name, op: OPERATORS.some(([one]) => one === op) ? op : "=", type: TYPES.includes(type) ? type : "S", value: String(value ?? "") }];
  });
}

/** A row in short. @param {Row} row */
export const wordsOf = (row) => `${visible(row.name)} ${OPERATORS.find(([one]) => one === row.op)?.[1]}${hasValue(row) ? ` ${visible(row.value)}` : ""}`;

/**
 * The members of a request that filter by rows, all of which must hold, and by an expression of one's own.
 * @param {Row[]} rows
 * @param {any} [own] FilterExpression with its names and values
 */
export function expressionOf(rows, own = {}) {
  const names = { ...own.ExpressionAttributeNames };
  const values = { ...own.ExpressionAttributeValues };
  const parts = rows.filter((row) => row.name).map((row, at) => {
    names[`#row${at}`] = row.name;
    if (!hasValue(row)) return `${row.op}(#row${at})`;
    values[`:row${at}`] = { [row.type]: row.type === "BOOL" ? row.value === "true" : row.value };
    return /^\w{3}/.test(row.op) ? `${row.op}(#row${at}, :row${at})` : `#row${at} ${row.op} :row${at}`;
  });
  if (parts.length === 0) return own;
  if (own.FilterExpression) parts.push(`(${own.FilterExpression})`);
  return { ...own, FilterExpression: parts.join(" AND "), ExpressionAttributeNames: names, ...(Object.keys(values).length > 0 ? { ExpressionAttributeValues: values } : {}) };
}

/**
 * The fields of the rows. A row whose name is typed brings the next one.
 * @param {Row[]} rows
 * @param {(rows: Row[]) => void} set
 */
export function filterRows(rows, set) {
  const shown = rows.length > 0 && rows[rows.length - 1].name === "" ? rows : [...rows, blank()];
  return shown.map((row, at) => {
    const nth = at === 0 ? "" : ` ${at + 1}`;
    const change = (part) => set(shown.map((one, place) => (place === at ? { ...one, ...part } : one)).filter((one, place) => one.name !== "" || place === at));
    return html`<label>${at === 0 ? "Filter" : "and"} <input class="lv-name" aria-label=${`Filter${nth}`} .value=${row.name} placeholder="attribute" @input=${(event) => change({ name: event.target.value })}></label>
      ${row.name ? html`
        <select aria-label=${`Filter's comparison${nth}`} @change=${(event) => change({ op: event.target.value })}>${OPERATORS.map(([value, text]) => html`<option value=${value} ?selected=${value === row.op}>${text}</option>`)}</select>
        ${hasValue(row) ? html`
        <select aria-label=${`Type of the filter's value${nth}`} @change=${(event) => change({ type: event.target.value })}>${TYPES.map((type) => html`<option ?selected=${type === row.type}>${type}</option>`)}</select>
        ${row.type === "BOOL" ? html`<select aria-label=${`Filter's value${nth}`} @change=${(event) => change({ value: event.target.value })}><option ?selected=${row.value === "true"}>true</option><option ?selected=${row.value !== "true"}>false</option></select>`
          : html`<input aria-label=${`Filter's value${nth}`} .value=${row.value} @input=${(event) => change({ value: event.target.value })}>`}` : nothing}` : nothing}`;
  });
}

/** @typedef {{where: Row[], filter: string, names: string, values: string}} Own rows, and an expression as it is typed */

/** The fields of an expression of one's own. @param {Own} own @param {() => void} [changed] */
export function expressionFields(own, changed = () => {}) {
  const field = (name, words, example) => html`<label>${words} <input .value=${own[name]} placeholder=${example} @input=${(event) => { own[name] = event.target.value; changed(); }}></label>`;
  return html`<details class="it-filter" ?open=${!!own.filter}><summary>Filter expression</summary><div class="mf-line">
    ${field("filter", "Expression", "#n > :t")}${field("names", "Names", '{"#n": "total"}')}${field("values", "Values", '{":t": {"N": "5"}}')}</div></details>`;
}

/** The members of a request for these rows and this expression. @param {Own} own */
export function filterOf({ where, filter, names, values }) {
  return expressionOf(where, filter ? { FilterExpression: filter, ...(names ? { ExpressionAttributeNames: parsed("Names", names) } : {}), ...(values ? { ExpressionAttributeValues: parsed("Values", values) } : {}) } : {});
}

function parsed(what, text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${what} of the filter: ${/** @type {Error} */ (error).message}`);
  }
}
