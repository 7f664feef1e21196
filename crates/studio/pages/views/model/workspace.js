// A model that is open: its text, what is saved, what the parser, the check and each view said of it. It keeps the
// last good answer of each, with the text it is of, and asks for what the shown view needs. It draws nothing.

import { ApiError, call, stream } from "./api.js";

const PARSE_AFTER_MS = 250;
const CHECK_AFTER_MS = 800;

/**
 * @template T
 * @typedef {{of: string, at: number, took: number, value: T}} Kept
 */

/** @type {Map<string, Workspace>} */
const open = new Map();

/** The open model of a name; the same one as long as the page lives. */
export function workspace(name) {
  let found = open.get(name);
  if (!found) {
    found = new Workspace(name);
    open.set(name, found);
  }
  return found;
}

/** Forgets an open model, so that it is read again. */
export function forget(name) {
  open.get(name)?.stop();
  open.delete(name);
}

/** Names of open models whose text is not saved. */
export function unsaved() {
  return [...open.values()].filter((one) => one.dirty).map((one) => one.name);
}

export class Workspace extends EventTarget {
  constructor(name) {
    super();
    this.name = name;
    /** The text in the editor; null until it is read. */
    /** @type {string|null} */ this.text = null;
    /** @type {{text: string, hash: string}|null} the file as it was read or written */ this.saved = null;
    /** @type {number} */ this.savedAt = 0;
    this.example = false;
    this.missing = false;
    /** @type {any[]} */ this.faults = [];
    /** @type {any} */ this.outline = null;
    /** The text that faults and outline are of. */
    /** @type {string|null} */ this.parsed = null;
    /** @type {Map<string, Kept<any>>} */ this.kept = new Map();
    /** @type {Map<string, {error: any, of: string}>} */ this.errors = new Map();
    /** @type {{key: string, of: string, what: string, progress: any, since: number, stop: () => void, ended: Promise<unknown>}|null} */ this.busy = null;
    /** @type {any} */ this.failed = null;
    this.timers = { parse: 0, check: 0 };
    /** What the shown view needs after a check: set by the page. */
    /** @type {() => void} */ this.wants = () => {};
    this.turn = 0;
    this.reading = null;
  }

  tell() {
    this.dispatchEvent(new Event("change"));
  }

  get dirty() {
    return this.text !== null && (this.saved === null ? !this.example || this.touched : this.text !== this.saved.text);
  }

  get touched() {
    return this.original !== undefined && this.text !== this.original;
  }

  /** Reads the file, or the example of the name. */
  read() {
    if (this.text !== null || this.missing) return Promise.resolve();
    this.reading ??= this.readNow().finally(() => { this.reading = null; });
    return this.reading;
  }

  async readNow() {
    try {
      const list = await call("models/list", {});
      const file = list.models.find((one) => one.name === this.name || one.name === `${this.name}.yaml`);
      if (file) {
        const read = await call("models/read", { name: file.name });
        this.name = file.name;
        this.saved = { text: read.text, hash: read.hash };
        this.savedAt = file.changedMs ?? 0;
        this.take(read.text);
        return;
      }
      const examples = await call("examples/list", {});
      const example = examples.examples.find((one) => one.name === this.name || `${one.name}.yaml` === this.name || one.name === `${this.name}.yaml`);
      if (example) {
        const read = await call("examples/read", { name: example.name });
        this.example = true;
        this.info = example;
        this.take(read.text);
        return;
      }
      this.missing = true;
    } catch (error) {
      this.failed = error;
    }
    this.tell();
  }

  take(text) {
    this.original = text;
    this.text = text;
    this.failed = null;
    this.tell();
    this.parse();
    this.check();
  }

  /** A new text from the editor. */
  edit(text) {
    if (text === this.text) return;
    this.text = text;
    this.busy?.stop();
    clearTimeout(this.timers.parse);
    clearTimeout(this.timers.check);
    this.timers.parse = window.setTimeout(() => this.parse(), PARSE_AFTER_MS);
    this.timers.check = window.setTimeout(() => this.check(), CHECK_AFTER_MS);
    this.tell();
  }

  async parse() {
    const text = this.text;
    try {
      const answer = await call("model/parse", { text });
      if (text !== this.text) return;
      this.faults = answer.faults;
      this.parsed = text;
      if (answer.outline) this.outline = answer.outline;
    } catch (error) {
      if (text !== this.text) return;
      this.failed = error;
    }
    this.tell();
  }

  async check() {
    await this.need("check", "model/check", {});
    this.wants();
  }

  /** Whether an answer is of the text as it stands now. */
  fresh(key) {
    return this.kept.get(key)?.of === this.text;
  }

  /**
   * What is known of the text as it stands. It alone decides what may look passed: nothing of an older text does.
   * @returns {{kind: "passes"|"fails"|"faults"|"failed"|"checking", faults: number, error: any}}
   */
  get standing() {
    const error = this.error("check");
    const faults = this.parsed === this.text && this.faults.length > 0 ? this.faults.length : error?.faults?.length ?? 0;
    const kind = faults > 0 ? "faults" : error ? "failed" : !this.fresh("check") ? "checking" : this.last("check").passes ? "passes" : "fails";
    return { kind, faults, error };
  }

  /** @returns {any} the last good answer, of this text or an older one */
  last(key) {
    return this.kept.get(key)?.value ?? null;
  }

  /**
   * Asks for an answer on the text as it stands, unless it is there. One thing runs at a time; a newer text ends it.
   * @param {string} key where the answer is kept
   * @param {string} name of the call
   * @param {Record<string, any>} options
   * @param {(text: string) => Record<string, any>} [body]
   */
  async need(key, name, options, body = (text) => ({ text, name: this.name })) {
    const text = this.text;
    if (text === null || this.fresh(key) || this.errors.get(key)?.of === text) return;
    if (this.busy && this.busy.key === key && this.busy.of === text) { await this.busy.ended; return; }
    const stop = new AbortController();
    let end = () => {};
    const ended = new Promise((done) => { end = () => done(undefined); });
    const busy = { key, of: text, what: key, progress: null, since: Date.now(), stop: () => stop.abort(), ended };
    if (this.busy && this.busy.key === key) this.busy.stop();
    this.busy = busy;
    this.tell();
    const started = performance.now();
    try {
      const value = await stream(name, { ...body(text), ...options }, {
        signal: stop.signal,
        progress: (progress) => { busy.progress = progress; this.tell(); },
      });
      this.kept.set(key, { of: text, at: Date.now(), took: performance.now() - started, value });
      this.errors.delete(key);
    } catch (error) {
      if (!stop.signal.aborted && !(error instanceof ApiError && error.kind === "cancelled")) {
        this.errors.set(key, { error, of: text });
      }
    } finally {
      if (this.busy === busy) this.busy = null;
      end();
      this.tell();
    }
  }

  error(key) {
    const found = this.errors.get(key);
    return found && found.of === this.text ? found.error : null;
  }

  /** Everything that is wrong, for the editor: faults of the parser, else findings and failed patterns of the check. */
  marks() {
    if (this.faults.length > 0 && this.parsed === this.text) {
      return this.faults.map((fault) => ({ line: fault.line, column: fault.column, severity: /** @type {const} */ ("error"), message: fault.text }));
    }
    const failed = this.error("check");
    if (failed?.faults?.length) {
      return failed.faults.map((fault) => ({ line: fault.line, column: fault.column, severity: /** @type {const} */ ("error"), message: fault.text }));
    }
    const check = this.fresh("check") ? this.last("check") : null;
    if (!check) return [];
    const found = [];
    for (const pattern of check.patterns) {
      for (const complaint of pattern.complaints) {
        found.push({ line: pattern.line, column: 5, severity: /** @type {const} */ ("error"), message: `${pattern.id}: ${complaint}` });
      }
    }
    for (const finding of check.findings) {
      found.push({
        line: finding.line,
        column: finding.column,
        severity: finding.severity === "error" ? /** @type {const} */ ("error") : finding.severity === "warning" ? /** @type {const} */ ("warning") : /** @type {const} */ ("info"),
        message: `${finding.rule}: ${finding.text}${finding.fix ? `\n→ ${finding.fix}` : ""}`,
      });
    }
    return found;
  }

  /** Writes the file on the text that was read. */
  async save() {
    const text = /** @type {string} */ (this.text);
    const name = this.name.endsWith(".yaml") ? this.name : `${this.name}.yaml`;
    const answer = await call("models/write", { name, text, hash: this.saved ? this.saved.hash : null });
    this.saved = { text, hash: answer.hash };
    this.savedAt = Date.now();
    this.example = false;
    this.original = text;
    if (this.name !== name) {
      open.delete(this.name);
      this.name = name;
      open.set(name, this);
    }
    this.tell();
  }

  stop() {
    clearTimeout(this.timers.parse);
    clearTimeout(this.timers.check);
    this.busy?.stop();
  }
}
