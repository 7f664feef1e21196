// Typed values (DynamoDB JSON) as short texts. Numbers stay the texts that they are.

/** The one type of a typed value, or "" where it is none. */
export function typeOf(value) {
  if (value === null || typeof value !== "object") return "";
  for (const type in value) return type;
  return "";
}

const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
const hex = (letter, digits) => letter.codePointAt(0).toString(16).toUpperCase().padStart(digits, "0");

/** Control and direction characters of a value as visible marks. */
export const visible = (text) => text.replace(UNSEEN, (letter) => `\u2039${hex(letter, 2)}\u203a`);

const NAMES = { "\0": "null character", "\t": "tab", "\n": "line feed", "\r": "carriage return", "\x1b": "escape", "\ufeff": "byte order mark" };

/** The same in a sentence: by their names. */
export const named = (text) => text.replace(UNSEEN, (letter) => `(${NAMES[letter] ?? `U+${hex(letter, 4)}`})`);

const cut = (text, most) => (text.length > most ? `${text.slice(0, most)}…` : text);

function bytesOf(base64) {
  return Math.floor((base64.replace(/=+$/, "").length * 3) / 4);
}

/** A value in one line; what is longer than `most` is cut, and the cut is shown. */
export function shortText(value, most = 200) {
  const type = typeOf(value);
  const inner = value?.[type];
  switch (type) {
    case "S": return cut(visible(String(inner)), most);
    case "N": return String(inner);
    case "BOOL": return inner ? "true" : "false";
    case "NULL": return "null";
    case "B": return `${bytesOf(String(inner))} bytes`;
    case "SS": case "NS": return cut(`{${inner.map((one) => visible(String(one))).join(", ")}}`, most);
    case "BS": return `{${inner.length} binaries}`;
    case "L": {
      const parts = [];
      let left = most;
      for (const one of inner) {
        if (left <= 0) { parts.push("…"); break; }
        const text = shortText(one, left);
        left -= text.length;
        parts.push(text);
      }
      return `[${parts.join(", ")}]`;
    }
    case "M": {
      const parts = [];
      let left = most;
      for (const name of Object.keys(inner)) {
        if (left <= 0) { parts.push("…"); break; }
        const text = `${visible(name)}: ${shortText(inner[name], left)}`;
        left -= text.length;
        parts.push(text);
      }
      return `{${parts.join(", ")}}`;
    }
    default: return "";
  }
}

/** The text of a key attribute, whole: keys are compared by it. */
export function keyText(value) {
  const type = typeOf(value);
  return type === "" ? "" : String(value[type]);
}

/** A text of one or more lines in one. */
export const oneLine = (text) => named(text.trim().replace(/\s*[\r\n]+\s*/g, " "));

const UNITS = ["B", "KB", "MB", "GB"];

/** A size in bytes, short. */
export function sizeText(bytes) {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}

const utf8 = new TextEncoder();

/** Bytes of a value as DynamoDB counts them; close enough for a picture, the service's own figure where it is known. */
export function valueSize(value) {
  const type = typeOf(value);
  const inner = value?.[type];
  switch (type) {
    case "S": return utf8.encode(inner).length;
    case "N": return Math.ceil(String(inner).replace(/[^0-9]/g, "").replace(/^0+|0+$/g, "").length / 2) + 1;
    case "B": return bytesOf(inner);
    case "SS": return inner.reduce((sum, one) => sum + utf8.encode(one).length, 0);
    case "NS": return inner.reduce((sum, one) => sum + valueSize({ N: one }), 0);
    case "BS": return inner.reduce((sum, one) => sum + bytesOf(one), 0);
    case "L": return 3 + inner.reduce((sum, one) => sum + 1 + valueSize(one), 0);
    case "M": return 3 + Object.keys(inner).reduce((sum, name) => sum + 1 + utf8.encode(name).length + valueSize(inner[name]), 0);
    default: return 1;
  }
}

export function itemSize(item) {
  let sum = 0;
  for (const name of Object.keys(item)) sum += utf8.encode(name).length + valueSize(item[name]);
  return sum;
}
