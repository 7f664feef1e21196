// Items as lines of files and back: exports and imports of any size, part by part. The process writes and reads the
// lines (`items/write`, `items/read`); this cuts the parts.

import { call } from "../model/api.js";
import { keyText, shortText, typeOf } from "../collections/typed.js";

/** Bytes of one call: half of what the process takes. */
const CALL_BYTES_MAX = 6 << 20;
const SLICE_BYTES = 512 << 10;
const EMPTY = { S: "", N: "0", B: "", BOOL: true, NULL: true, M: {}, L: [], SS: ["a"], NS: ["0"], BS: ["YQ=="] };

/** Few items that have every attribute of every type that these have: the columns of a CSV. */
export function columnsOf(items) {
  /** @type {Map<string, Set<string>>} */
  const seen = new Map();
  for (const item of items) {
    for (const [name, value] of Object.entries(item)) {
      const types = seen.get(name) ?? new Set();
      seen.set(name, types.add(typeOf(value)));
    }
  }
  const few = [];
  for (let at = 0; [...seen.values()].some((types) => types.size > at); at += 1) {
    few.push(Object.fromEntries([...seen].filter(([, types]) => types.size > at).map(([name, types]) => {
      const type = [...types][at];
      return [name, { [type]: EMPTY[type] }];
    })));
  }
  return few;
}

/** The parts of a file with these items. */
export async function* written(form, keys, items) {
  const columns = form === "csv" ? columnsOf(items) : undefined;
  let part = [];
  let bytes = 0;
  let first = true;
  const flush = async () => {
    const { text } = await call("items/write", { form, keys, items: part, header: first, ...(columns ? { columnsOf: columns } : {}) });
    first = false;
    part = [];
    bytes = 0;
    return text;
  };
  for (const item of items) {
    const size = JSON.stringify(item).length * 2;
    if (part.length > 0 && bytes + size > CALL_BYTES_MAX) yield await flush();
    part.push(item);
    bytes += size;
  }
  if (part.length > 0 || first) yield await flush();
}

/** A table for spreadsheet programs: texts whole, formulas defused. It does not come back. */
export function forSpreadsheets(keys, items) {
  const names = [...new Set([...keys.map((key) => key.name), ...items.flatMap((item) => Object.keys(item))])];
  const cell = (text) => {
    const defused = /^[=+\-@\t\r]/.test(text) && !/^-?\d+(\.\d+)?$/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(defused) ? `"${defused.replaceAll('"', '""')}"` : defused;
  };
  const text = (value) => (value === undefined ? "" : ["S", "N", "B"].includes(typeOf(value)) ? keyText(value) : shortText(value, Infinity));
  return [names, ...items.map((item) => names.map((name) => text(Object.hasOwn(item, name) ? item[name] : undefined)))].map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

/**
 * The text of a file in parts that end with whole lines; of CSV with whole rows, as a cell may hold line ends.
 * @param {Blob} blob
 * @param {boolean} csv
 * @returns {AsyncGenerator<{text: string, line: number, bytes: number}>}
 */
export async function* slices(blob, csv) {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let left = "";
  let line = 1;
  for (let at = 0; at < blob.size; at += SLICE_BYTES) {
    const end = Math.min(blob.size, at + SLICE_BYTES);
    left += decoder.decode(await blob.slice(at, end).arrayBuffer(), { stream: end < blob.size });
    const whole = end === blob.size ? left.length : csv ? rowsEnd(left) : left.lastIndexOf("\n") + 1;
    if (whole === 0) continue;
    const text = left.slice(0, whole);
    yield { text, line, bytes: end };
    line += text.split("\n").length - 1;
    left = left.slice(whole);
  }
}

/** Where the last whole row of a CSV ends: behind the last line end outside of quotes. */
function rowsEnd(text) {
  let quoted = false;
  let end = 0;
  for (let at = 0; at < text.length; at += 1) {
    const letter = text.charCodeAt(at);
    if (letter === 34) quoted = !quoted;
    else if (letter === 10 && !quoted) end = at + 1;
  }
  return end;
}

/**
 * Items of a file with their lines, part by part. Of CSV the head goes before each part.
 * @param {Blob} blob
 * @param {{form: string|null, keys: any[], from?: number, most?: number}} options `from`: the first line that counts
 */
export async function* read(blob, { form, keys, from = 1, most = Infinity }) {
  let head = "";
  for await (const { text, line, bytes } of slices(blob, form === "csv")) {
    let own = text;
    let begin = line;
    if (form === "csv" && head === "") {
      const end = rowsEnd(own) === 0 ? own.length : firstRow(own);
      head = own.slice(0, end);
      if (!head.endsWith("\n")) head += "\n";
      own = own.slice(end);
      begin += head.split("\n").length - 1;
    }
    let last = begin + own.split("\n").length - 1;
    if (last - begin > most) {
      const lines = own.split("\n");
      own = lines.slice(0, most).join("\n");
      last = begin + most;
    }
    const shift = begin - 1 - (form === "csv" ? head.split("\n").length - 1 : 0);
    const answer = await call("items/read", { text: head + own, keys, ...(form ? { form } : {}) });
    yield {
      items: answer.items.map((one) => ({ line: one.line + shift, item: one.item })).filter((one) => one.line >= from),
      faults: answer.faults.map((one) => ({ line: one.line + shift, text: one.text })).filter((one) => one.line >= from),
      faultsCount: answer.faultsCount, last, bytes,
    };
    if (last - 1 >= most) return;
  }
}

function firstRow(text) {
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const letter = text.charCodeAt(at);
    if (letter === 34) quoted = !quoted;
    else if (letter === 10 && !quoted) return at + 1;
  }
  return text.length;
}
