// Figures as words: money, units, rates. Money comes as exact decimal text and is rounded as the commands round it.

import { html } from "../../vendor/lit-html/lit-html.js";

/** Dollars and cents, or the exact amount where it is less than a cent. */
export function exactMoney(dollars) {
  const negative = dollars.startsWith("-");
  const [whole, part = ""] = dollars.replace("-", "").split(".");
  const nanos = BigInt(whole) * 1_000_000_000n + BigInt(part.padEnd(9, "0").slice(0, 9));
  const cent = 10_000_000n;
  const sign = negative ? "-" : "";
  if (nanos >= cent || nanos === 0n) {
    const cents = (nanos + cent / 2n) / cent;
    const text = (cents / 100n).toString().replace(/\B(?=(\d{3})+$)/g, ",");
    return `${sign}$${text}.${(cents % 100n).toString().padStart(2, "0")}`;
  }
  return `${sign}$0.${nanos.toString().padStart(9, "0").replace(/0+$/, "")}`;
}

/**
 * Dollars in cents. What is less than a cent is said to be that, with the exact amount as its title.
 * @param {string} dollars
 * @param {string} plus the sign of an amount that is not negative
 */
export function money(dollars, plus = "") {
  const exact = exactMoney(dollars);
  if (/\.\d\d$/.test(exact)) return exact.startsWith("-") ? exact : plus + exact;
  return html`<span title=${exact}>${exact.startsWith("-") ? "> -$0.01" : `< ${plus}$0.01`}</span>`;
}

/** Millionths as a percentage. */
export function percent(ppm) {
  const value = ppm / 10_000;
  if (value === 0) return "0%";
  return `${value >= 10 ? Math.round(value) : Number(value.toPrecision(2))}%`;
}

/** A rate given in millionths a second. */
export function rate(micro) {
  return `${(micro / 1_000_000).toLocaleString("en", { maximumSignificantDigits: 3 })}/s`;
}

export function count(value, one, many = `${one}s`) {
  return `${value.toLocaleString("en")} ${value === 1 ? one : many}`;
}

/** The time of day, for "of 12:03". */
export function clock(ms) {
  return new Date(ms).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
}

export function seconds(ms) {
  if (ms < 100) return `${Math.max(1, Math.round(ms))} ms`;
  return ms < 1000 ? `${(ms / 1000).toFixed(1)} s` : `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
}

/** Bytes as the commands print them. */
export function megabytes(bytes) {
  const value = bytes / 1_048_576;
  return value >= 1024 ? `${(value / 1024).toFixed(1)} GB` : value >= 1 ? `${Math.round(value).toLocaleString("en")} MB` : `${Math.ceil(bytes / 1024)} KB`;
}
