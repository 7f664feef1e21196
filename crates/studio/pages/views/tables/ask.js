// What the form of the items asks: its words in the address, and the request that they make.

import { filterOf, rowsOf } from "../collections/filter.js";
import { typeOf } from "../collections/typed.js";

export const SORTS = [["", "any"], ["=", "="], ["begins_with", "begins with"], ["BETWEEN", "between"], ["<", "<"], ["<=", "≤"], [">", ">"], [">=", "≥"]];
const LIMIT_MAX = 1_000_000;

/** `sks` are the values of sort key attributes from the left; all but the last are asked with "=". */
export const blank = () => ({ index: "", pk: /** @type {string[]} */ ([]), ops: /** @type {string[]} */ ([]), sks: /** @type {string[]} */ ([]), to: "", descending: false, strong: false, limit: "", where: /** @type {import("../collections/filter.js").Row[]} */ ([]), filter: "", names: "", values: "" });

/** @typedef {ReturnType<typeof blank>} Query */

export function fromSearch(search) {
  const query = blank();
  query.index = search.get("index") ?? "";
  query.pk = search.getAll("pk");
  query.ops = search.getAll("op").map((op) => (SORTS.some(([one]) => one === op) ? op : ""));
  query.sks = search.getAll("sk");
  query.to = search.get("to") ?? "";
  query.descending = search.get("order") === "descending";
  query.strong = search.get("strong") === "yes";
  query.limit = /^[1-9][0-9]{0,6}$/.test(search.get("limit") ?? "") ? search.get("limit") ?? "" : "";
  query.where = rowsOf(search.getAll("where"));
  query.filter = search.get("filter") ?? "";
  query.names = search.get("names") ?? "";
  query.values = search.get("values") ?? "";
  return query;
}

export function toSearch(query) {
  const search = new URLSearchParams();
  if (query.index) search.set("index", query.index);
  if (query.pk.some(Boolean)) for (const one of query.pk) search.append("pk", one ?? "");
  query.ops.forEach((op, at) => { if (op) { search.append("op", op); search.append("sk", query.sks[at] ?? ""); } });
  if (query.ops.includes("BETWEEN")) search.set("to", query.to);
  if (query.descending) search.set("order", "descending");
  if (query.strong) search.set("strong", "yes");
  for (const row of query.where) if (row.name) search.append("where", JSON.stringify([row.name, row.op, row.type, row.value]));
  for (const name of ["limit", "filter", "names", "values"]) if (query[name]) search.set(name, query[name]);
  return search.size > 0 ? `?${search}` : "";
}

/** The sort key attributes that may be asked: each one behind those that are asked with "=". */
export function sortsOffered(way, query) {
  let offered = 1;
  while (offered < way.sk.length && query.ops[offered - 1] === "=" && query.sks[offered - 1]) offered += 1;
  return way.sk.slice(0, offered);
}

/** The request, without a limit. `typeOfKey` names the type of a key attribute. */
export function requestOf(table, way, query, typeOfKey) {
  const base = { TableName: table, ReturnConsumedCapacity: "INDEXES", ...(way.kind === "table" ? {} : { IndexName: way.name }), ...(query.strong && way.kind !== "global" ? { ConsistentRead: true } : {}) };
  const filter = filterOf(query);
  if (way.pk.some((_, at) => !query.pk[at])) return { operation: "Scan", body: { ...base, ...filter } };
  const names = { ...filter.ExpressionAttributeNames };
  const values = { ...filter.ExpressionAttributeValues };
  const conditions = way.pk.map((name, at) => {
    names[`#k${at}`] = name;
    values[`:k${at}`] = { [typeOfKey(name)]: query.pk[at] };
    return `#k${at} = :k${at}`;
  });
  sortsOffered(way, query).forEach((name, at) => {
    const op = query.ops[at];
    if (!op) return;
    const type = typeOfKey(name);
    names[`#s${at}`] = name;
    values[`:s${at}`] = { [type]: query.sks[at] ?? "" };
    if (op === "BETWEEN") values[":k_t"] = { [type]: query.to };
    conditions.push(op === "BETWEEN" ? `#s${at} BETWEEN :s${at} AND :k_t` : op === "begins_with" ? `begins_with(#s${at}, :s${at})` : `#s${at} ${op} :s${at}`);
  });
  return { operation: "Query", body: { ...base, ...filter, KeyConditionExpression: conditions.join(" AND "), ExpressionAttributeNames: names, ExpressionAttributeValues: values, ...(query.descending ? { ScanIndexForward: false } : {}) } };
}

export const limitOf = (query) => (query.limit ? { Limit: Math.min(Number(query.limit), LIMIT_MAX) } : {});

/** Texts of an item that a search looks at. */
export function textOf(item) {
  const parts = [];
  const walk = (value) => {
    const type = typeOf(value);
    const inner = value[type];
    if (type === "M") for (const [name, one] of Object.entries(inner)) { parts.push(name); walk(one); }
    else if (type === "L") inner.forEach(walk);
    else parts.push(Array.isArray(inner) ? inner.join("\n") : String(inner));
  };
  for (const one of Object.values(item)) walk(one);
  return parts.join("\n").toLowerCase();
}
