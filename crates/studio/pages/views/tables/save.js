// The requests that write one change of an item, each under the condition that nothing it touches was changed
// meanwhile. It sends nothing.

import { visible } from "../collections/typed.js";

/** @typedef {{[name: string]: any}} Item */
/** A change: `before` is null for a new item, `after` for a deletion. @typedef {{before: Item|null, after: Item|null}} Change */
/** @typedef {{kind: "Put"|"Update"|"Delete", body: any}} Write */

/** The service's limits of one expression. */
const EXPRESSION_BYTES_MAX = 4096;
const OPERATORS_MAX = 300;

/** An attribute of an item by its name; never a member that every object has. */
export const own = (item, name) => (item && Object.hasOwn(item, name) ? item[name] : undefined);

/** Whether two typed values are written alike; the order of members does not count. */
export function same(one, other) {
  if (one === undefined || other === undefined) return one === other;
  const sorted = (value) => (Array.isArray(value) ? value.map(sorted) : value && typeof value === "object"
    ? Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, inner]) => [name, sorted(inner)]) : value);
  return JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));
}

/** The names of the attributes that differ between two items, in the order of the first and then the second. */
export const changedNames = (one, other) =>
  [...new Set([...Object.keys(one ?? {}), ...Object.keys(other ?? {})])].filter((name) => !same(own(one, name), own(other, name)));

/** The key of an item. */
export const keyOf = (keys, item) => Object.fromEntries(keys.map((name) => [name, item[name]]));

/** What a change is, as a word. */
export function kindOf(keys, { before, after }) {
  if (!before) return "new";
  if (!after) return "delete";
  return keys.every((name) => same(before[name], after[name])) ? "change" : "move";
}

/** A condition on attributes: each still is what was read, or is still absent. */
class Conditions {
  constructor(keys) {
    this.names = { "#k": keys[0] };
    this.values = {};
    this.parts = ["attribute_exists(#k)"];
  }

  unchanged(at, name, value) {
    this.names[`#a${at}`] = name;
    if (value === undefined) this.parts.push(`attribute_not_exists(#a${at})`);
    else { this.values[`:o${at}`] = value; this.parts.push(`#a${at} = :o${at}`); }
  }

  members() {
    const text = this.parts.join(" AND ");
    if (text.length > EXPRESSION_BYTES_MAX || this.parts.length * 2 > OPERATORS_MAX) {
      throw new Error(`One condition cannot hold ${this.parts.length - 1} attributes. Change fewer of them at a time.`);
    }
    return {
      ConditionExpression: text, ExpressionAttributeNames: this.names, ReturnValuesOnConditionCheckFailure: "ALL_OLD",
      ...(Object.keys(this.values).length > 0 ? { ExpressionAttributeValues: this.values } : {}),
    };
  }
}

const put = (table, keys, item) => ({
  kind: /** @type {const} */ ("Put"), body: { TableName: table, Item: item, ConditionExpression: "attribute_not_exists(#k)", ExpressionAttributeNames: { "#k": keys[0] }, ReturnValuesOnConditionCheckFailure: "ALL_OLD" },
});

function erase(table, keys, before) {
  const conditions = new Conditions(keys);
  Object.keys(before).filter((name) => !keys.includes(name)).forEach((name, at) => conditions.unchanged(at, name, before[name]));
  return { kind: /** @type {const} */ ("Delete"), body: { TableName: table, Key: keyOf(keys, before), ...conditions.members() } };
}

function update(table, keys, before, after) {
  const conditions = new Conditions(keys);
  const sets = [];
  const removes = [];
  changedNames(before, after).forEach((name, at) => {
    conditions.unchanged(at, name, own(before, name));
    const value = own(after, name);
    if (value === undefined) removes.push(`#a${at}`);
    else { conditions.values[`:n${at}`] = value; sets.push(`#a${at} = :n${at}`); }
  });
  const expression = [sets.length > 0 ? `SET ${sets.join(", ")}` : "", removes.length > 0 ? `REMOVE ${removes.join(", ")}` : ""].filter(Boolean).join(" ");
  return { kind: /** @type {const} */ ("Update"), body: { TableName: table, Key: keyOf(keys, before), UpdateExpression: expression, ...conditions.members() } };
}

/**
 * The writes of a change: one, or two that must happen together where the key changes.
 * @param {string} table
 * @param {string[]} keys
 * @param {Change} change
 * @returns {Write[]}
 */
export function writesOf(table, keys, { before, after }) {
  switch (kindOf(keys, { before, after })) {
    case "new": return [put(table, keys, after)];
    case "delete": return [erase(table, keys, before)];
    case "move": return [put(table, keys, after), erase(table, keys, before)];
    default: return changedNames(before, after).length === 0 ? [] : [update(table, keys, before, after)];
  }
}

/** One request for these writes, which says what it consumed. @param {Write[]} writes */
export function requestOf(writes) {
  const ReturnConsumedCapacity = "INDEXES";
  if (writes.length === 1) return { operation: `${writes[0].kind}Item`, body: { ...writes[0].body, ReturnConsumedCapacity } };
  return { operation: "TransactWriteItems", body: { TransactItems: writes.map(({ kind, body }) => ({ [kind]: body })), ReturnConsumedCapacity } };
}

/** Write units: all of them, and those of each index. */
export class Units {
  constructor() {
    this.all = 0;
    this.indexes = /** @type {Map<string, number>} */ (new Map());
  }

  /** Adds what an answer says that it consumed. */
  add(answer) {
    for (const used of [answer?.ConsumedCapacity ?? []].flat()) {
      this.all += used.CapacityUnits ?? 0;
      for (const kind of ["LocalSecondaryIndexes", "GlobalSecondaryIndexes"]) {
        for (const [name, one] of Object.entries(used[kind] ?? {})) if (one.CapacityUnits > 0) this.indexes.set(name, (this.indexes.get(name) ?? 0) + one.CapacityUnits);
      }
    }
    return this;
  }

  toString() {
    const words = (units) => `${units.toLocaleString("en")} write ${units === 1 ? "unit" : "units"}`;
    const parts = [...this.indexes].map(([name, units]) => `${units.toLocaleString("en")} on ${visible(name)}`);
    return words(this.all) + (parts.length > 0 ? `, of these ${parts.join(", ")}` : "");
  }
}

/**
 * Why a write was refused: null if not by its condition; else what is there now, by the place of the write.
 * @returns {Map<number, Item|null>|null}
 */
export function refusedBy(error) {
  const more = error.more ?? {};
  const type = String(more.__type ?? "");
  if (/ConditionalCheckFailed/.test(type)) return new Map([[0, more.Item ?? null]]);
  if (!/TransactionCanceled/.test(type)) return null;
  const failed = (more.CancellationReasons ?? []).map((reason, at) => [at, reason]).filter(([, reason]) => reason.Code === "ConditionalCheckFailed");
  return failed.length > 0 ? new Map(failed.map(([at, reason]) => [at, reason.Item ?? null])) : null;
}
