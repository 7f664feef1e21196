// Changes that wait to be written: kept in this tab, by table, until they are committed or rejected.

import { context } from "../model/api.js";
import { keyOf, same } from "./save.js";

/** @typedef {{id: number, table: string, keys: string[], before: any, after: any, theirs?: any, refused?: string}} Staged */

export const STAGED_MAX = 1000;
const room = () => `kw-staged:${context.account ?? ""}:${context.region ?? ""}`;

/** @type {{room: string, list: Staged[]}} */
let kept = { room: "", list: [] };
let last = 0;

/** All that waits in this place. @returns {Staged[]} */
export function all() {
  if (kept.room !== room()) {
    let list = [];
    try { list = JSON.parse(sessionStorage.getItem(room()) ?? "[]"); } catch { /* What another build kept is not read. */ }
    kept = { room: room(), list };
    last = Math.max(0, ...list.map((one) => one.id));
  }
  return kept.list;
}

export const ofTable = (table) => all().filter((one) => one.table === table);

function keep(list) {
  kept = { room: room(), list };
  try {
    if (list.length > 0) sessionStorage.setItem(room(), JSON.stringify(list));
    else sessionStorage.removeItem(room());
  } catch {
    // More than the browser keeps: it stays as long as the page.
  }
  window.dispatchEvent(new CustomEvent("kw-staged"));
}

const isOf = (one, table, keys, item) => one.table === table && keys.every((name) => same((one.before ?? one.after)[name], item[name]));

/** The change of one item that waits, if any. */
export const find = (table, keys, item) => all().find((one) => isOf(one, table, keys, item));

/** Adds a change, or puts it in the place of an earlier one of the same item. */
export const stage = (table, keys, before, after) => stageAll(table, keys, [{ before, after }]);

/** Adds changes of one table. @param {{before: any, after: any}[]} changes */
export function stageAll(table, keys, changes) {
  let list = all();
  for (const { before, after } of changes) {
    const earlier = list.find((one) => isOf(one, table, keys, before ?? after));
    // A new item that is edited again stays new.
    const base = earlier && !earlier.theirs ? earlier.before : before;
    list = list.filter((one) => one !== earlier);
    const isNothing = (base === null && after === null) || (base && after && same(base, after));
    if (isNothing) continue;
    if (list.length >= STAGED_MAX) throw new Error(`${STAGED_MAX} changes wait already: commit or reject some.`);
    last += 1;
    list.push({ id: last, table, keys, before: base, after });
  }
  keep(list);
}

export const reject = (ids) => keep(all().filter((one) => !ids.has(one.id)));
export const change = (id, members) => keep(all().map((one) => (one.id === id ? { ...one, ...members } : one)));
export const title = (one) => Object.values(keyOf(one.keys, one.before ?? one.after));
