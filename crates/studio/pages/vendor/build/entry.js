// The parts of CodeMirror that <kw-editor> uses, as one file.
export { EditorState, Compartment, StateEffect, StateField } from "@codemirror/state";
export {
  EditorView, keymap, lineNumbers, drawSelection, highlightActiveLine, highlightActiveLineGutter,
  highlightSpecialChars, hoverTooltip, Decoration,
} from "@codemirror/view";
export { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
export {
  HighlightStyle, syntaxHighlighting, bracketMatching, indentOnInput, foldGutter, foldKeymap, indentUnit,
} from "@codemirror/language";
export { yaml } from "@codemirror/lang-yaml";
export { json } from "@codemirror/lang-json";
export { setDiagnostics, lintGutter, nextDiagnostic, previousDiagnostic } from "@codemirror/lint";
export {
  autocompletion, completionKeymap, closeBrackets, closeBracketsKeymap,
} from "@codemirror/autocomplete";
export { search, searchKeymap, highlightSelectionMatches } from "@codemirror/search";
export { MergeView } from "@codemirror/merge";
export { tags } from "@lezer/highlight";
