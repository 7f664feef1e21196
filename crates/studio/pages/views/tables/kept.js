// What this browser keeps for a table of the account and region that is looked at. Where it cannot, nothing is kept.

import { context } from "../model/api.js";

const nameOf = (kind, table) => `kw-${kind}:${context.account ?? ""}:${context.region ?? ""}:${table}`;

/** @param {string} kind @param {string} table @returns {any} what was kept, or null */
export function kept(kind, table) {
  try {
    return JSON.parse(localStorage.getItem(nameOf(kind, table)) ?? "null");
  } catch {
    return null;
  }
}

/** @param {string} kind @param {string} table @param {any} value null forgets it */
export function keep(kind, table, value) {
  try {
    if (value === null) localStorage.removeItem(nameOf(kind, table));
    else localStorage.setItem(nameOf(kind, table), JSON.stringify(value));
  } catch { /* The browser's room is used up, or it keeps nothing. */ }
}
