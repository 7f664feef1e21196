// The menu "Copy as": the request as code in one of several languages.

import { html } from "../../vendor/lit-html/lit-html.js";
import { FORMS } from "./code.js";

/** @param {() => import("./code.js").Asked} asked */
export function copyMenu(asked) {
  const copy = async (event) => {
    const select = event.target;
    const form = FORMS.find(([id]) => id === select.value);
    select.value = "";
    if (!form) return;
    const said = /** @type {HTMLElement} */ (select.parentElement?.querySelector(".cp-said"));
    const text = form[2](asked());
    if (text === null) { said.textContent = `${form[1]} has no form of this request.`; return; }
    try {
      await navigator.clipboard.writeText(text);
      said.textContent = "Copied.";
    } catch {
      said.textContent = "The browser does not let this page copy.";
    }
    setTimeout(() => { said.textContent = ""; }, 2500);
  };
  return html`<span class="cp"><select class="cp-as" aria-label="Copy as" @change=${copy}><option value="" selected>Copy as…</option>${FORMS.map(([id, words]) => html`<option value=${id}>${words}</option>`)}</select><span class="cp-said dim" role="status"></span></span>`;
}
