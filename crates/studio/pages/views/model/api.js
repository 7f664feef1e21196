// Calls of the process: POST /api/NAME with the headers of this page. Streams of progress lines end with "done".
// A call that loses something is sent only with the consent of a confirmed question (`confirm.js`).

import { isConsent, lossesOf } from "../losses.js";

export class ApiError extends Error {
  constructor(status, error) {
    super(error.text ?? `status ${status}`);
    this.kind = error.kind ?? "internal";
    this.faults = error.faults ?? null;
    this.more = error;
    if (error.explanation) noteDenied(this.message, error.explanation);
  }
}

/** The frame lists what was denied, and why. */
const noteDenied = (text, explanation) => window.dispatchEvent(new CustomEvent("kw-denied", { detail: { text, explanation } }));

/** The name of this build, in the address of each of its files. */
export const build = document.querySelector('meta[name="keywright-build"]')?.getAttribute("content") ?? "";
/** The place and the sign-in of this tab; the frame sets them. */
export const context = {
  account: /** @type {string|null} */ (null), named: /** @type {string|null} */ (null), region: /** @type {string|null} */ (null), token: /** @type {string|null} */ (null), tab: `m-${crypto.randomUUID().slice(0, 8)}`,
};

function headers(region = context.region) {
  const all = { "content-type": "application/json", "x-keywright-studio": build, "x-keywright-tab": context.tab };
  if (context.account) all["x-keywright-account"] = context.account;
  if (region) all["x-keywright-region"] = region;
  if (context.token) all.authorization = `Bearer ${context.token}`;
  return all;
}

/** Refuses what loses something without a confirmed question. */
function permit(name, losses, consent) {
  if (losses.length > 0 && !isConsent(consent)) throw new ApiError(0, { kind: "unconfirmed", text: `${name} was not confirmed: nothing was sent.` });
}

/** Whether replication is simulated, as the last answer said. */
let isSimulated = false;

/** The frame says so on every page. */
function noteSimulated(response) {
  const isNow = response.headers.get("x-keywright-simulated") === "true";
  if (isNow === isSimulated) return;
  isSimulated = isNow;
  window.dispatchEvent(new CustomEvent("kw-simulated", { detail: isNow }));
}

async function post(name, body, { signal, consent, region } = /** @type {How} */ ({})) {
  permit(name, lossesOf(name, body), consent);
  let response;
  try {
    response = await fetch(`/api/${name}`, { method: "POST", headers: headers(region), body: JSON.stringify(body), signal });
  } catch (error) {
    if (signal?.aborted) throw new ApiError(499, { kind: "cancelled", text: "cancelled" });
    window.dispatchEvent(new CustomEvent("kw-gone"));
    throw new ApiError(0, { kind: "gone", text: "The process does not answer." });
  }
  noteSimulated(response);
  if (!response.ok) {
    const answer = await response.json().catch(() => ({}));
    if (answer.error?.kind === "stale-build") window.dispatchEvent(new CustomEvent("kw-stale"));
    if (answer.error?.kind === "signed-out") window.dispatchEvent(new CustomEvent("kw-signed-out"));
    throw new ApiError(response.status, answer.error ?? { ...answer, text: answer.message ?? answer.Message, kind: "service" });
  }
  return response;
}

/** `consent` is what a confirmed question gave; `region`, another one than that of the page. @typedef {{signal?: AbortSignal, consent?: object|null, region?: string}} How */

/** @param {string} name @param {any} body @param {How} [how] */
export async function call(name, body, how) {
  return (await post(name, body, how)).json();
}

/** @param {string} name @param {any} body @param {{signal?: AbortSignal, progress?: (progress: any) => void}} [how] */
export async function stream(name, body, { signal, progress } = {}) {
  const response = await post(name, body, { signal });
  const reader = /** @type {ReadableStream} */ (response.body).pipeThrough(new TextDecoderStream()).getReader();
  let left = "";
  for (;;) {
    let part;
    try {
      part = await reader.read();
    } catch {
      throw new ApiError(499, { kind: signal?.aborted ? "cancelled" : "gone", text: "the answer broke off" });
    }
    if (part.done) break;
    left += part.value;
    let end;
    while ((end = left.indexOf("\n")) >= 0) {
      const line = left.slice(0, end);
      left = left.slice(end + 1);
      if (line === "") continue;
      const answer = JSON.parse(line);
      if (answer.progress) progress?.(answer.progress);
      else if (answer.error) throw new ApiError(200, answer.error);
      else return answer.done;
    }
  }
  if (left.trim() !== "") {
    const answer = JSON.parse(left);
    if (answer.error) throw new ApiError(200, answer.error);
    return answer.done;
  }
  throw new ApiError(499, { kind: "gone", text: "the answer broke off" });
}

/** The address without the account, which every address of another account carries, and without the panel that is open. */
export function here() {
  const search = new URLSearchParams(location.search);
  search.delete("account");
  search.delete("show");
  return location.pathname + (search.size > 0 ? `?${search}` : "");
}

/** Goes to another place of the studio. */
export function go(path, replace = false) {
  const target = new URL(path, location.href);
  if (context.named) target.searchParams.set("account", context.named);
  const url = target.pathname + target.search;
  if (replace) history.replaceState(null, "", url);
  else history.pushState(null, "", url);
  window.dispatchEvent(new PopStateEvent("popstate"));
}

/** An operation of the database, as its own API has it. */
/** @param {string} operation @param {any} body @param {How} [how] */
export async function dynamodb(operation, body, how) {
  return (await post(`dynamodb/${operation}`, body, how)).json();
}

/** An operation on metrics or alarms, as CloudWatch's API has it. */
/** @param {string} operation @param {any} body @param {How} [how] */
export async function monitoring(operation, body, how) {
  return (await post(`monitoring/${operation}`, body, how)).json();
}

/** What a request loses whose body is typed by hand. */
export function rawLosses(operation, text) {
  let body;
  try { body = JSON.parse(text); } catch { body = null; }
  return lossesOf(`dynamodb/${operation}`, body ?? {});
}

/** An operation with its body as it is typed: status, type and message of an error, the answer as text. */
export async function raw(operation, text, consent = /** @type {object|null} */ (null)) {
  permit(operation, rawLosses(operation, text), consent);
  let response;
  try {
    response = await fetch(`/api/dynamodb/${operation}`, { method: "POST", headers: headers(), body: text });
  } catch {
    window.dispatchEvent(new CustomEvent("kw-gone"));
    throw new ApiError(0, { kind: "gone", text: "The process does not answer." });
  }
  noteSimulated(response);
  const answer = await response.text();
  let json;
  try { json = JSON.parse(answer); } catch { json = null; }
  const own = json?.error;
  if (json?.explanation) noteDenied(json.message ?? json.Message ?? "", json.explanation);
  return {
    status: response.status, micros: Number(response.headers.get("x-keywright-micros") ?? 0), text: json ? JSON.stringify(json, null, 2) : answer,
    type: own?.kind ?? (typeof json?.__type === "string" ? json.__type.split("#").at(-1) : ""), message: own?.text ?? (response.ok ? "" : json?.message ?? json?.Message ?? ""),
  };
}

/** The names of the tables here, page by page until there are so many or none is left. */
export async function tableNames(most = Infinity) {
  const names = [];
  let start;
  do {
    const page = await dynamodb("ListTables", start ? { ExclusiveStartTableName: start } : {});
    names.push(...page.TableNames);
    start = page.LastEvaluatedTableName;
  } while (start && names.length < most);
  return names;
}
