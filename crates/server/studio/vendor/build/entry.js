// The parts of CodeMirror that <kw-editor> uses, as one file.
export { EditorState, Compartment, StateEffect, StateField, RangeSetBuilder, Prec, EditorSelection } from "@codemirror/state";
export {
  EditorView, keymap, lineNumbers, drawSelection, highlightActiveLine, highlightActiveLineGutter,
  highlightSpecialChars, rectangularSelection, crosshairCursor, dropCursor, hoverTooltip, placeholder,
  Decoration,
} from "@codemirror/view";
export { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
export {
  HighlightStyle, syntaxHighlighting, bracketMatching, indentOnInput, foldGutter, foldKeymap, indentUnit,
  syntaxTree,
} from "@codemirror/language";
export { yaml } from "@codemirror/lang-yaml";
export { json } from "@codemirror/lang-json";
export { setDiagnostics, lintGutter, lintKeymap, nextDiagnostic, previousDiagnostic, forceLinting } from "@codemirror/lint";
export { autocompletion, completionKeymap, closeBrackets, closeBracketsKeymap, startCompletion } from "@codemirror/autocomplete";
export { search, searchKeymap, highlightSelectionMatches, openSearchPanel } from "@codemirror/search";
export { MergeView, unifiedMergeView } from "@codemirror/merge";
export { tags } from "@lezer/highlight";
