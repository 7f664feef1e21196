// The columns of a table's grid as its reader wants them: order, widths, which are away. Kept in this browser.

import { keep, kept } from "./kept.js";

/** Widths in pixels. */
const WIDTH = 190;
const LEAST = 64;
const MOST = 1200;
const STEP = 32;

/** @typedef {{order: string[], widths: Map<string, number>, away: Set<string>}} Layout */

const KIND = "columns";

/** @returns {Layout} */
export function readLayout(table) {
  try {
    const { order = [], widths = [], away = [] } = kept(KIND, table) ?? {};
    return { order: order.map(String), widths: new Map(widths.map(([name, width]) => [String(name), within(Number(width) || WIDTH)])), away: new Set(away.map(String)) };
  } catch {
    return { order: [], widths: new Map(), away: new Set() };
  }
}

/** @param {string} table @param {Layout} layout */
export function keepLayout(table, { order, widths, away }) {
  const isOwn = order.length + widths.size + away.size > 0;
  keep(KIND, table, isOwn ? { order, widths: [...widths], away: [...away] } : null);
}

/** Columns in the reader's order: those that he placed first, the others behind them as they come. */
export function ordered(names, { order }) {
  if (order.length === 0) return names;
  const at = new Map(order.map((name, index) => [name, index]));
  return names.map((name, index) => ({ name, index })).sort((one, other) => (at.get(one.name) ?? Infinity) - (at.get(other.name) ?? Infinity) || one.index - other.index).map(({ name }) => name);
}

/** A column before another, or one place further. @param {Layout} layout @param {string[]} names as they are shown */
export function moved(layout, names, name, to) {
  const rest = names.filter((one) => one !== name);
  rest.splice(Math.max(0, Math.min(rest.length, to)), 0, name);
  return { ...layout, order: rest };
}

const within = (width) => Math.round(Math.max(LEAST, Math.min(MOST, width)));

export const widthOf = (layout, name) => layout.widths.get(name) ?? WIDTH;

/** @param {Layout} layout */
export function resized(layout, name, width) {
  const widths = new Map(layout.widths);
  widths.set(name, within(width));
  return { ...layout, widths };
}

/** One step wider (1) or narrower (-1). */
export const stepped = (layout, name, sign) => resized(layout, name, widthOf(layout, name) + sign * STEP);
