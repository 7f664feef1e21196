// The answer of `model/collections` as the picture's own form.

/** @typedef {import("./kw-collections.js").Source} Source */
/** @typedef {import("./kw-collections.js").Run} Run */

export const placeId = (table, index) => (index === null ? table : `${table}\u0000${index}`);

/**
 * @param {any} answer of `model/collections`
 * @param {string} name of the model
 * @returns {Source}
 */
export function sourceOf(answer, name) {
  const places = answer.places.map((place) => {
    const table = answer.tables.find((one) => one.name === place.table);
    const index = place.index === null ? null : table.indexes.find((one) => one.name === place.index);
    return {
      id: placeId(place.table, place.index),
      table: place.table,
      index: place.index,
      kind: index ? index.kind : "table",
      pk: index ? index.pk : table.pk,
      sk: index ? index.sk : table.sk,
      partitions: place.partitions,
    };
  });
  const items = answer.items.map((item) => ({
    table: item.table, entity: item.entity, key: item.key, size: item.bytes, item: item.item,
  }));
  return { items, places, entities: answer.entities, name };
}

const plural = (count, one, many) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

/** Half units as text, as DynamoDB writes them. */
export function unitsText(pattern) {
  const parts = [];
  if (pattern.readUnits > 0) parts.push(`${pattern.readUnits} RCU`);
  if (pattern.writeUnits > 0) parts.push(`${pattern.writeUnits} WCU`);
  return parts.join(" and ") || "no units";
}

/**
 * The run of a pattern on a source. A write's items enter the source: put items are not in the sample.
 * @param {any} pattern of `model/collections`
 * @param {Source} source
 * @returns {{run: Run|null, source: Source}}
 */
export function runOf(pattern, source) {
  if (!pattern) return { run: null, source };
  const marks = new Map();
  if (pattern.changes && pattern.changes.length > 0) return runOfWrite(pattern, source);
  if (!pattern.table) return { run: null, source };
  for (const item of pattern.read) if (item !== null) marks.set(item, "left");
  for (const item of pattern.returned) if (item !== null) marks.set(item, "returned");
  const where = pattern.index === null ? pattern.table : `${pattern.table}.${pattern.index}`;
  return {
    source,
    run: {
      place: placeId(pattern.table, pattern.index),
      marks,
      more: !!pattern.more,
      words: `${pattern.operation} on ${where}: ${plural(pattern.itemsRead, "item", "items")} read, ${pattern.itemsReturned.toLocaleString("en")} returned, ${unitsText(pattern)}`,
    },
  };
}

function compare(one, other) {
  for (let at = 0; at < Math.max(one.length, other.length); at += 1) {
    const a = one[at] ?? "";
    const b = other[at] ?? "";
    if (a === b) continue;
    const numbers = /^-?\d+(\.\d+)?$/;
    if (numbers.test(a) && numbers.test(b) && a.length !== b.length && !a.includes(".") && !b.includes(".")) {
      return a.length - b.length;
    }
    return a < b ? -1 : 1;
  }
  return 0;
}

const keysIn = (place, item, which) => place[which].map((name) => {
  const value = item[name];
  if (!value) return null;
  for (const type in value) return String(value[type]);
  return null;
});

/** Before and after of a write in one picture: what it put stands where it went, what left is struck through. */
function runOfWrite(pattern, source) {
  const items = [...source.items];
  const places = source.places.map((place) => ({ ...place, partitions: place.partitions.map((one) => ({ ...one })) }));
  const elsewhere = new Map();
  const mark = (place, item, what) => {
    const marks = elsewhere.get(place.id) ?? new Map();
    marks.set(item, what);
    elsewhere.set(place.id, marks);
  };
  const enter = (place, at) => {
    const pk = keysIn(place, items[at].item, "pk");
    if (pk.some((part) => part === null)) return;
    const sk = keysIn(place, items[at].item, "sk").map((part) => part ?? "");
    let partition = place.partitions.find((one) => one.key.length === pk.length && one.key.every((part, i) => part === pk[i]));
    if (!partition) {
      partition = { key: /** @type {string[]} */ (pk), items: [] };
      place.partitions.push(partition);
    }
    const list = [...partition.items];
    let to = list.findIndex((other) => compare(keysIn(place, items[other].item, "sk").map((part) => part ?? ""), sk) > 0);
    if (to < 0) to = list.length;
    list.splice(to, 0, at);
    partition.items = list;
  };
  for (const change of pattern.changes) {
    let after = -1;
    if (change.after && (change.item === null || change.what !== "deleted")) {
      const old = change.item === null ? null : items[change.item];
      items.push(/** @type {any} */ ({
        table: change.table,
        entity: change.entity,
        key: change.key ?? old?.key ?? [],
        size: old ? old.size : guessSize(change.after),
        item: change.after,
      }));
      after = items.length - 1;
    }
    for (const at of change.places) {
      const place = places.find((one) => one.id === placeId(at.table, at.index));
      if (!place) continue;
      if (at.what === "entered" && after >= 0) { enter(place, after); mark(place, after, "put"); }
      else if (at.what === "left" && change.item !== null) mark(place, change.item, "deleted");
      else if (at.what === "moved") {
        if (change.item !== null) mark(place, change.item, "deleted");
        if (after >= 0) { enter(place, after); mark(place, after, "moved"); }
      } else if (at.what === "rewritten") {
        if (change.item !== null) {
          mark(place, change.item, "changed");
        } else if (after >= 0) { enter(place, after); mark(place, after, "put"); }
      }
    }
  }
  const first = [...elsewhere.keys()].find((id) => !id.includes("\u0000")) ?? [...elsewhere.keys()][0] ?? null;
  return {
    source: { ...source, items, places },
    run: { place: first, marks: (first && elsewhere.get(first)) ?? new Map(), elsewhere, words: "" },
  };
}

function guessSize(item) {
  return new TextEncoder().encode(JSON.stringify(item)).length;
}
