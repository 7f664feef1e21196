// Points of metrics: what GetMetricData answers, kept for a range and completed with each look.

import { call, monitoring } from "../model/api.js";

export const MINUTE = 60;
/** The ranges that can be shown: name, words, minutes. */
export const RANGES = /** @type {[string, string, number][]} */ ([["15m", "15 min", 15], ["1h", "1 h", 60], ["3h", "3 h", 180], ["24h", "24 h", 1440]]);
/** Minutes that a further look reads again: the present one still grows, and the one before may have. */
const AGAIN = 2;
const CALLED = new Map([["ProvisionedThroughput", "provisioned units used up"], ["KeyRangeThroughput", "a partition's limit"], ["MaxOnDemandThroughput", "the maximum on demand"], ["AccountLimit", "the account's quota"]]);
/** The limits that refuse: the name in metrics, and the words. */
export const LIMITS = [...CALLED];

/** @typedef {Map<number, number>} Points seconds since 1970 → value */

/**
 * A query for one series.
 * @param {string} id
 * @param {string} name
 * @param {Record<string, string>} dimensions
 * @param {{stat?: string, period?: number, silent?: boolean}} [how]
 */
export function metric(id, name, dimensions, { stat = "Sum", period = MINUTE, silent = false } = {}) {
  const Dimensions = Object.entries(dimensions).map(([Name, Value]) => ({ Name, Value }));
  return { Id: id, ReturnData: !silent, MetricStat: { Metric: { Namespace: "AWS/DynamoDB", MetricName: name, Dimensions }, Period: period, Stat: stat } };
}

export const expression = (id, text) => ({ Id: id, Expression: text });

/**
 * @param {any[]} queries @param {number} from @param {number} to @param {import("../model/api.js").How} [how]
 * @returns {Promise<Map<string, Points>>}
 */
export async function read(queries, from, to, how) {
  const found = new Map();
  if (queries.length === 0) return found;
  let token;
  do {
    const page = await monitoring("GetMetricData", { MetricDataQueries: queries, StartTime: from, EndTime: to, ScanBy: "TimestampAscending", ...(token ? { NextToken: token } : {}) }, how);
    for (const { Id, Timestamps, Values } of page.MetricDataResults) {
      const points = found.get(Id) ?? new Map();
      Timestamps.forEach((time, at) => points.set(Number(time), Number(Values[at])));
      found.set(Id, points);
    }
    token = page.NextToken;
  } while (token);
  return found;
}

/** The names and dimensions of all series that have values. @returns {Promise<{name: string, of: Record<string, string>}[]>} */
export async function listed(name, dimensions = {}, most = 2000) {
  const all = [];
  let token;
  do {
    const page = await monitoring("ListMetrics", {
      Namespace: "AWS/DynamoDB", MetricName: name, RecentlyActive: "PT3H", Dimensions: Object.entries(dimensions).map(([Name, Value]) => ({ Name, Value })), ...(token ? { NextToken: token } : {}),
    });
    all.push(...page.Metrics.map((one) => ({ name: one.MetricName, of: Object.fromEntries(one.Dimensions.map(({ Name, Value }) => [Name, Value])) })));
    token = page.NextToken;
  } while (token && all.length < most);
  return all;
}

/** The database's time: that of this machine, unless its clock is moved. */
const clock = { offset: 0, at: 0 };
const CLOCK_MS = 15_000;

export async function now() {
  if (Math.abs(clock.offset) > 5000 || Date.now() - clock.at > CLOCK_MS) {
    const { nowMs } = await call("state", {});
    clock.offset = nowMs - Date.now();
    clock.at = Date.now();
  }
  return (Date.now() + clock.offset) / 1000;
}

/** Series over a range that moves on with the time: the first look reads all of it, further ones its end. */
export class Range {
  /** @param {number} minutes */
  constructor(minutes) {
    this.minutes = minutes;
    this.from = 0;
    this.to = 0;
    this.last = 0;
    this.key = "";
    /** @type {Map<string, Points>} */ this.points = new Map();
  }

  /** Reads what these queries have new. */
  async look(queries) {
    const end = (Math.floor((await now()) / MINUTE) + 1) * MINUTE;
    const key = JSON.stringify(queries);
    const begin = end - this.minutes * MINUTE;
    const known = this.key === key && this.last > begin && this.last <= end;
    const found = await read(queries, known ? Math.max(begin, this.last - AGAIN * MINUTE) : begin, end);
    if (!known) this.points = new Map();
    for (const [id, points] of found) {
      const all = this.points.get(id) ?? new Map();
      for (const [time, value] of points) all.set(time, value);
      this.points.set(id, all);
    }
    for (const points of this.points.values()) for (const time of points.keys()) if (time < begin) points.delete(time);
    this.key = key;
    this.from = begin;
    this.to = end;
    this.last = end;
  }

  /** The minutes of the range. */
  get times() {
    return Array.from({ length: this.minutes }, (_, at) => this.from + at * MINUTE);
  }

  /** A series by minute, times a factor; a minute without a point is a gap. */
  values(id, factor = 1) {
    const points = this.points.get(id);
    return this.times.map((time) => { const value = points?.get(time); return value === undefined ? null : value * factor; });
  }

  /** A gauge by minute: each value stands until the next one. */
  held(id) {
    let last = /** @type {number|null} */ (null);
    const points = this.points.get(id);
    return this.times.map((time) => { last = points?.get(time) ?? last; return last; });
  }

  sum(id) {
    let sum = 0;
    for (const value of this.points.get(id)?.values() ?? []) sum += value;
    return sum;
  }
}

/** A rate with as many digits as say something. */
export function figure(value) {
  if (value === null || value === undefined) return "–";
  if (value !== 0 && Math.abs(value) < 0.01) return "< 0.01";
  return value.toLocaleString("en", { maximumFractionDigits: value >= 100 ? 0 : value >= 10 ? 1 : 2 });
}

/** The time of day. */
export const timeOf = (seconds, zone) => new Date(seconds * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", ...(zone ? { timeZone: zone, hourCycle: "h23" } : {}) });
