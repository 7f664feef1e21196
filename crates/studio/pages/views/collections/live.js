// The items of a live table as a picture: grouped as they come, marked by what a request read and returned.

import { placeId } from "./from_api.js";
import { itemSize, keyText, typeOf } from "./typed.js";

/** At most this many items are kept. */
export const ITEMS_MAX = 20_000;

/**
 * @typedef {{name: string, kind: "table"|"global"|"local", pk: string[], sk: string[], whole: boolean, attributes: Set<string>|null}} Way
 */

/**
 * The table and its indexes, as DescribeTable has them.
 * @param {any} table
 * @returns {Way[]}
 */
export function waysOf(table) {
  const keys = (schema, type) => schema.filter((one) => one.KeyType === type).map((one) => one.AttributeName);
  const own = keys(table.KeySchema, "HASH").concat(keys(table.KeySchema, "RANGE"));
  const way = (kind) => (index) => {
    const pk = keys(index.KeySchema, "HASH");
    const sk = keys(index.KeySchema, "RANGE");
    const projection = index.Projection?.ProjectionType ?? "ALL";
    return {
      name: index.IndexName, kind, pk, sk, whole: projection === "ALL",
      attributes: projection === "ALL" ? null : new Set([...own, ...pk, ...sk, ...(index.Projection?.NonKeyAttributes ?? [])]),
    };
  };
  return [
    { name: "", kind: "table", pk: keys(table.KeySchema, "HASH"), sk: keys(table.KeySchema, "RANGE"), whole: true, attributes: null },
    ...(table.GlobalSecondaryIndexes ?? []).map(way("global")),
    ...(table.LocalSecondaryIndexes ?? []).map(way("local")),
  ];
}

/** Compares two decimal texts without making numbers of them. */
export function compareDecimals(one, other) {
  const parse = (text) => {
    const found = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/.exec(text);
    if (!found) return { sign: 0, digits: "", at: 0 };
    const all = (found[2] ?? "") + (found[3] ?? "");
    const digits = all.replace(/^0+/, "");
    const at = (found[2] ?? "").length - (all.length - digits.length) + Number(found[4] ?? 0);
    const short = digits.replace(/0+$/, "");
    return { sign: short === "" ? 0 : found[1] === "-" ? -1 : 1, digits: short, at };
  };
  const a = parse(one);
  const b = parse(other);
  if (a.sign !== b.sign) return a.sign - b.sign;
  if (a.sign === 0) return 0;
  if (a.at !== b.at) return (a.at - b.at) * a.sign;
  if (a.digits === b.digits) return 0;
  return (a.digits < b.digits ? -1 : 1) * a.sign;
}

const utf8 = new TextEncoder();

function compareBytes(one, other) {
  const length = Math.min(one.length, other.length);
  for (let at = 0; at < length; at += 1) if (one[at] !== other[at]) return one[at] - other[at];
  return one.length - other.length;
}

/** The order of a sort key's values, as the service has it. */
export function compareValues(one, other) {
  const type = typeOf(one);
  if (type !== typeOf(other)) return 0;
  if (type === "N") return compareDecimals(one.N, other.N);
  if (type === "B") {
    const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    return compareBytes(bytes(one.B), bytes(other.B));
  }
  return compareBytes(utf8.encode(one.S ?? ""), utf8.encode(other.S ?? ""));
}

/** The table's key of an item as one text. */
export function keyOf(item, way) {
  return [...way.pk, ...way.sk].map((name) => `${typeOf(item[name])}:${keyText(item[name])}`).join("\u0000");
}

/**
 * The picture of items read.
 * @param {{table: string, ways: Way[], items: any[], names: (string|null)[], guessed: boolean}} input
 * @returns {import("./kw-collections.js").Source}
 */
export function pictureOf({ table, ways, items, names, guessed }) {
  const [base] = ways;
  const pictured = items.map((item, at) => ({
    table,
    entity: names[at] ?? null,
    key: [...base.pk, ...base.sk].map((name) => keyText(item.item[name])),
    size: itemSize(item.item),
    item: item.item,
    known: item.known,
  }));
  const places = ways.map((way) => {
    const groups = new Map();
    pictured.forEach((item, at) => {
      const keys = [...way.pk, ...way.sk];
      if (keys.some((name) => typeOf(item.item[name]) === "")) return;
      const key = way.pk.map((name) => keyText(item.item[name]));
      const id = key.join("\u0000");
      const group = groups.get(id);
      if (group) group.items.push(at);
      else groups.set(id, { key, items: [at] });
    });
    for (const group of groups.values()) {
      group.items.sort((one, other) => {
        for (const name of way.sk) {
          const order = compareValues(pictured[one].item[name], pictured[other].item[name]);
          if (order !== 0) return order;
        }
        return 0;
      });
    }
    return {
      id: placeId(table, way.kind === "table" ? null : way.name), table, index: way.kind === "table" ? null : way.name,
      kind: way.kind, pk: way.pk, sk: way.sk, partitions: [...groups.values()],
    };
  });
  const entities = [...new Set(names.filter((name) => name !== null))].map(String).sort();
  return { items: pictured, places, entities, guessed: guessed && entities.length > 0, name: table };
}

/**
 * Marks of a filtered request: what both requests have was returned, what only the one without filter has was
 * read and left out.
 */
export function marksOf(items, base, read, returned) {
  const at = new Map(items.map((item, index) => [keyOf(item.item, base), index]));
  const marks = new Map();
  for (const item of read) {
    const index = at.get(keyOf(item, base));
    if (index !== undefined) marks.set(index, "left");
  }
  for (const item of returned) {
    const index = at.get(keyOf(item, base));
    if (index !== undefined) marks.set(index, "returned");
  }
  return marks;
}
