// <kw-editor>: CodeMirror in a shadow root, where it adopts its sheets and so keeps to the policy of the page.
// It knows nothing of models: a page gives it text, faults and completions, and hears of changes.

import {
  Compartment, Decoration, EditorState, EditorView, HighlightStyle, StateEffect, StateField,
  autocompletion, bracketMatching, closeBrackets, closeBracketsKeymap, completionKeymap, defaultKeymap,
  drawSelection, foldGutter, foldKeymap, highlightActiveLine, highlightActiveLineGutter,
  highlightSelectionMatches, highlightSpecialChars, history, historyKeymap, hoverTooltip, indentOnInput,
  indentUnit, indentWithTab, json, keymap, lineNumbers, lintGutter, nextDiagnostic, previousDiagnostic,
  search, searchKeymap, setDiagnostics, syntaxHighlighting, tags, yaml, MergeView,
} from "../../vendor/codemirror/codemirror.js";

/**
 * @typedef {{line: number, column: number, endColumn?: number, severity: "error"|"warning"|"info", message: string}} Mark
 * @typedef {{label: string, detail?: string, info?: string, type?: string, apply?: string}} Completion
 * @typedef {(context: {line: number, column: number, before: string, text: string}) => {from: number, options: Completion[]}|null} Completer
 * @typedef {(word: string, line: string) => string|null} Hover
 */

/** Colours come from the page's properties, which cross the shadow root. */
const looks = EditorView.theme({
  "&": { height: "100%", fontSize: "13px", color: "var(--kw-ed-text)", backgroundColor: "var(--kw-ed-bg)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6", overflow: "auto" },
  ".cm-content": { caretColor: "var(--accent)", padding: "8px 0" },
  ".cm-gutters": {
    backgroundColor: "var(--kw-ed-bg)", color: "var(--kw-ed-dim)", border: "none",
    borderRight: "1px solid var(--line)",
  },
  ".cm-lineNumbers .cm-gutterElement": { padding: "0 8px 0 10px", minWidth: "34px" },
  ".cm-foldGutter .cm-gutterElement": { width: "14px", cursor: "pointer" },
  ".cm-gutter-lint": { width: "18px" },
  ".cm-gutter-lint .cm-gutterElement": { padding: "2px 1px" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--kw-ed-active)" },
  ".cm-cursor": { borderLeftColor: "var(--accent)", borderLeftWidth: "2px" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--kw-ed-select)",
  },
  ".cm-selectionMatch": { backgroundColor: "var(--kw-ed-match)" },
  ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": {
    backgroundColor: "var(--kw-ed-match)", outline: "1px solid var(--line)",
  },
  ".cm-panels": {
    backgroundColor: "var(--raise)", color: "var(--kw-ed-text)",
    borderTop: "1px solid var(--line)",
  },
  ".cm-panel.cm-search": { padding: "8px 28px 8px 10px", fontFamily: "var(--kw-ed-sans)" },
  ".cm-panel.cm-search label": { fontSize: "12px" },
  ".cm-textfield": {
    backgroundColor: "var(--kw-ed-bg)", color: "var(--kw-ed-text)", border: "1px solid var(--line)",
    borderRadius: "5px", padding: "3px 7px", fontSize: "12.5px",
  },
  ".cm-button": {
    backgroundImage: "none", backgroundColor: "var(--kw-ed-bg)", color: "var(--kw-ed-text)",
    border: "1px solid var(--line)", borderRadius: "5px", padding: "3px 9px", fontSize: "12.5px",
  },
  ".cm-tooltip": {
    backgroundColor: "var(--raise)", color: "var(--kw-ed-text)", border: "1px solid var(--line)",
    borderRadius: "7px", boxShadow: "0 6px 24px rgb(0 0 0 / .18)", overflow: "hidden", maxWidth: "460px",
  },
  ".cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", maxHeight: "16em" },
  ".cm-tooltip-autocomplete > ul > li": { padding: "3px 10px" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": {
    backgroundColor: "var(--accent)", color: "var(--on-accent)",
  },
  ".cm-completionDetail": { fontStyle: "normal", opacity: ".75" },
  ".cm-tooltip.cm-completionInfo": { padding: "8px 10px", fontFamily: "var(--kw-ed-sans)", fontSize: "12.5px" },
  ".cm-diagnostic": { fontFamily: "var(--kw-ed-sans)", fontSize: "12.5px", padding: "6px 10px", whiteSpace: "pre-wrap" },
  ".cm-diagnostic-error": { borderLeft: "4px solid var(--kw-ed-error)" },
  ".cm-diagnostic-warning": { borderLeft: "4px solid var(--kw-ed-warning)" },
  ".cm-diagnostic-info": { borderLeft: "4px solid var(--kw-ed-info)" },
  ".cm-lintRange-error": { backgroundImage: "none", borderBottom: "2px solid var(--kw-ed-error)" },
  ".cm-lintRange-warning": { backgroundImage: "none", borderBottom: "2px dashed var(--kw-ed-warning)" },
  ".cm-lintRange-info": { backgroundImage: "none", borderBottom: "1px dotted var(--kw-ed-info)" },
  ".cm-lint-marker": { width: "13px", height: "13px" },
  ".cm-lint-marker-error": { content: "none", borderRadius: "50%", backgroundColor: "var(--kw-ed-error)" },
  ".cm-lint-marker-warning": {
    content: "none", backgroundColor: "var(--kw-ed-warning)", clipPath: "polygon(50% 6%, 100% 94%, 0 94%)",
  },
  ".cm-lint-marker-info": {
    content: "none", borderRadius: "3px", border: "2px solid var(--kw-ed-info)", boxSizing: "border-box",
  },
  ".cm-hover": { padding: "8px 10px", fontFamily: "var(--kw-ed-sans)", fontSize: "12.5px", whiteSpace: "pre-wrap" },
  ".kw-flash": { backgroundColor: "var(--kw-ed-flash)" },
  ".cm-foldPlaceholder": {
    backgroundColor: "var(--kw-ed-active)", border: "1px solid var(--line)", color: "var(--kw-ed-dim)",
  },
  ".cm-mergeSpacer, .cm-deletedChunk": { backgroundColor: "var(--kw-ed-removed)" },
  "&.cm-merge-a .cm-changedLine": { backgroundColor: "var(--kw-ed-removed)" },
  "&.cm-merge-b .cm-changedLine": { backgroundColor: "var(--kw-ed-added)" },
  "&.cm-merge-a .cm-changedText": { background: "var(--kw-ed-removed-text)" },
  "&.cm-merge-b .cm-changedText": { background: "var(--kw-ed-added-text)" },
});

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName), tags.attributeName], color: "var(--kw-ed-key)" },
  { tag: [tags.string, tags.special(tags.string), tags.attributeValue], color: "var(--kw-ed-string)" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom, tags.keyword], color: "var(--kw-ed-number)" },
  { tag: [tags.comment, tags.lineComment], color: "var(--kw-ed-dim)", fontStyle: "italic" },
  { tag: [tags.punctuation, tags.separator, tags.bracket, tags.squareBracket, tags.brace], color: "var(--kw-ed-dim)" },
  { tag: [tags.labelName, tags.typeName, tags.meta], color: "var(--kw-ed-number)" },
]);

/** The line that a jump went to, lit for a moment. */
const flash = StateEffect.define();
const flashed = StateField.define({
  create: () => Decoration.none,
  update(lines, change) {
    for (const effect of change.effects) {
      if (effect.is(flash)) {
        return effect.value === null
          ? Decoration.none
          : Decoration.set([Decoration.line({ class: "kw-flash" }).range(effect.value)]);
      }
    }
    return lines.map(change.changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});

const HOST = `
  :host { display: block; min-height: 0; min-width: 0; contain: strict; position: relative; }
  :host([hidden]) { display: none; }
  .room { position: absolute; inset: 0; }
  .room > .cm-editor { height: 100%; }
  .cm-mergeView { height: 100%; }
`;

/** The one line and column of a mark as a range of the document, never empty where the line has text. */
function rangeOf(doc, mark) {
  const line = doc.line(Math.min(Math.max(mark.line, 1), doc.lines));
  const indent = line.text.length - line.text.trimStart().length;
  let from = line.from + Math.min(Math.max((mark.column || 1) - 1, 0), line.length);
  if (from < line.from + indent) from = line.from + indent;
  let to = mark.endColumn ? Math.min(line.from + mark.endColumn - 1, line.to) : from;
  if (to <= from) {
    const word = /^[^\s,:\]}]+/.exec(line.text.slice(from - line.from));
    to = from + (word ? word[0].length : Math.min(1, line.to - from));
  }
  if (to <= from) from = line.from + indent;
  return { from, to: Math.max(from, to) };
}

/** So long after Escape, Tab leaves the editor. */
const LEAVE_MS = 2000;

/** Properties that were set before the element was defined go through their setters. */
function adopt(element, names) {
  for (const name of names) {
    if (!Object.hasOwn(element, name)) continue;
    const value = element[name];
    delete element[name];
    element[name] = value;
  }
}

export class KwEditor extends HTMLElement {
  constructor() {
    super();
    const root = this.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(HOST);
    root.adoptedStyleSheets = [sheet];
    this.room = document.createElement("div");
    this.room.className = "room";
    root.append(this.room);
    this.view = null;
    this.text = "";
    this.marks = [];
    this.quiet = false;
    this.parts = { language: new Compartment(), readonly: new Compartment(), label: new Compartment() };
    this.syntax = "yaml";
    this.fixed = false;
    this.named = "Editor";
    /** @type {Completer|null} */ this.completer = null;
    /** @type {Hover|null} */ this.hover = null;
    this.timer = 0;
  }

  connectedCallback() {
    adopt(this, ["value", "language", "readonly", "label", "diagnostics"]);
    if (!this.view) this.start();
  }

  start() {
    const say = (name, detail) => {
      this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));
      return true;
    };
    const keys = [
      { key: "Mod-s", run: () => say("save", { value: this.value }), preventDefault: true },
      { key: "Mod-Enter", run: () => say("run", { value: this.value }), preventDefault: true },
      { key: "F8", run: nextDiagnostic },
      { key: "Shift-F8", run: previousDiagnostic },
    ];
    this.view = new EditorView({
      root: this.shadowRoot,
      parent: this.room,
      state: EditorState.create({
        doc: this.text,
        extensions: [
          lineNumbers(), lintGutter(), foldGutter(), highlightSpecialChars(), history(), drawSelection(),
          indentOnInput(), bracketMatching(), closeBrackets(), highlightActiveLine(),
          highlightActiveLineGutter(), highlightSelectionMatches(), search({ top: false }), indentUnit.of("  "),
          autocompletion({ override: [(context) => this.complete(context)], icons: false }),
          hoverTooltip((view, at) => this.tip(view, at)),
          keymap.of([
            ...keys, ...closeBracketsKeymap, ...completionKeymap, ...searchKeymap, ...historyKeymap,
            ...foldKeymap, ...defaultKeymap,
            // Tab indents; Escape and then Tab leaves the editor.
            indentWithTab,
          ]),
          // CodeMirror sees to that unless Escape also closes something or ends a selection.
          EditorView.domEventObservers({ keydown: (event, view) => { if (event.key === "Escape") view.setTabFocusMode(LEAVE_MS); } }),
          syntaxHighlighting(colours), looks, flashed,
          this.parts.language.of(this.languagePart()),
          this.parts.readonly.of(this.readonlyPart()),
          this.parts.label.of(this.labelPart()),
          EditorView.updateListener.of((update) => {
            if (update.docChanged && !this.quiet) say("change", { value: this.value });
          }),
        ],
      }),
    });
    this.showMarks();
  }

  languagePart() {
    return this.syntax === "yaml" ? yaml() : this.syntax === "json" ? json() : [];
  }

  readonlyPart() {
    return [EditorState.readOnly.of(this.fixed), EditorView.editable.of(true)];
  }

  labelPart() {
    return EditorView.contentAttributes.of({ "aria-label": this.named, spellcheck: "false", tabindex: "0" });
  }

  set(part, value) {
    this.view?.dispatch({ effects: this.parts[part].reconfigure(value) });
  }

  get value() {
    return this.view ? this.view.state.doc.toString() : this.text;
  }

  set value(text) {
    if (text === this.value) return;
    this.text = text;
    if (!this.view) return;
    this.quiet = true;
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text } });
    this.quiet = false;
    this.showMarks();
  }

  get language() { return this.syntax; }
  set language(name) {
    if (name === this.syntax) return;
    this.syntax = name;
    this.set("language", this.languagePart());
  }

  get readonly() { return this.fixed; }
  set readonly(fixed) {
    if (!!fixed === this.fixed) return;
    this.fixed = !!fixed;
    this.set("readonly", this.readonlyPart());
  }

  get label() { return this.named; }
  set label(text) {
    if (text === this.named) return;
    this.named = text;
    this.set("label", this.labelPart());
  }

  /** @returns {Mark[]} */
  get diagnostics() { return this.marks; }
  set diagnostics(marks) {
    if (marks === this.marks) return;
    this.marks = marks ?? [];
    this.showMarks();
  }

  showMarks() {
    if (!this.view) return;
    const doc = this.view.state.doc;
    const shown = this.marks.map((mark) => ({ ...rangeOf(doc, mark), severity: mark.severity, message: mark.message }));
    shown.sort((one, other) => one.from - other.from);
    this.view.dispatch(setDiagnostics(this.view.state, shown));
  }

  complete(context) {
    if (!this.completer) return null;
    const line = context.state.doc.lineAt(context.pos);
    const before = line.text.slice(0, context.pos - line.from);
    const word = /[\w.#{}-]*$/.exec(before)?.[0] ?? "";
    if (!word && !context.explicit) return null;
    const found = this.completer({
      line: line.number, column: context.pos - line.from, before, text: context.state.doc.toString(),
    });
    if (!found || found.options.length === 0) return null;
    return { from: line.from + found.from, options: found.options, validFor: /^[\w.-]*$/ };
  }

  tip(view, at) {
    if (!this.hover) return null;
    const line = view.state.doc.lineAt(at);
    const offset = at - line.from;
    let from = offset;
    let to = offset;
    while (from > 0 && /[\w-]/.test(line.text[from - 1])) from -= 1;
    while (to < line.text.length && /[\w-]/.test(line.text[to])) to += 1;
    const text = from < to ? this.hover(line.text.slice(from, to), line.text) : null;
    if (!text) return null;
    return {
      pos: line.from + from,
      end: line.from + to,
      above: true,
      create: () => {
        const dom = document.createElement("div");
        dom.className = "cm-hover";
        dom.textContent = text;
        return { dom };
      },
    };
  }

  /** Moves to a place, both from 1, and lights its line for a moment. */
  goto(line, column = 1, focus = true) {
    if (!this.view) return;
    const doc = this.view.state.doc;
    const { from } = rangeOf(doc, { line, column });
    const start = doc.lineAt(from).from;
    this.view.dispatch({
      selection: { anchor: from },
      effects: [EditorView.scrollIntoView(from, { y: "center" }), flash.of(start)],
    });
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.view?.dispatch({ effects: flash.of(null) }), 1600);
    if (focus) this.view.focus();
  }

  /** Puts text in at the end of a line, as one step of the history. */
  insertAfter(line, text) {
    if (!this.view) return;
    const at = this.view.state.doc.line(line).to;
    this.view.dispatch({ changes: { from: at, insert: `\n${text}` } });
  }

  focus() {
    this.view?.focus();
  }

  disconnectedCallback() {
    // Moved, not removed: lit-html keeps the element, and the view its state.
    clearTimeout(this.timer);
  }
}

/** <kw-merge>: two texts side by side, what differs marked; `.a`, `.b`, `.labels`. Nothing can be edited. */
export class KwMerge extends HTMLElement {
  constructor() {
    super();
    const root = this.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(`${HOST} .room { overflow: auto; }`);
    root.adoptedStyleSheets = [sheet];
    this.room = document.createElement("div");
    this.room.className = "room";
    root.append(this.room);
    this.first = "";
    this.second = "";
    this.names = ["Before", "After"];
    this.view = null;
  }

  set a(text) { if (text !== this.first) { this.first = text; this.draw(); } }
  set b(text) { if (text !== this.second) { this.second = text; this.draw(); } }
  set labels(names) { this.names = names; this.draw(); }

  connectedCallback() {
    adopt(this, ["labels", "a", "b"]);
    this.draw();
  }

  draw() {
    if (!this.isConnected) return;
    this.view?.destroy();
    const side = (doc, label) => ({
      doc,
      extensions: [
        lineNumbers(), yaml(), syntaxHighlighting(colours), looks, EditorState.readOnly.of(true),
        EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
      ],
    });
    this.view = new MergeView({
      a: side(this.first, this.names[0]),
      b: side(this.second, this.names[1]),
      root: /** @type {ShadowRoot} */ (this.shadowRoot),
      parent: this.room,
      collapseUnchanged: { margin: 3, minSize: 6 },
    });
  }

  disconnectedCallback() {
    this.view?.destroy();
    this.view = null;
  }
}

if (!customElements.get("kw-editor")) {
  customElements.define("kw-editor", KwEditor);
  customElements.define("kw-merge", KwMerge);
}
