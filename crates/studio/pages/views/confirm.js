// The question before something is lost: one dialog for the whole studio. It names what is lost, its button is a verb,
// and the way out has the focus. What it gives when it is confirmed lets a call that loses something pass (`losses.js`).

import { html, nothing, render } from "../vendor/lit-html/lit-html.js";
import { visible } from "./collections/typed.js";
import { newConsent } from "./losses.js";

/**
 * @typedef {object} Question
 * @property {string} title what is about to happen, as a question
 * @property {unknown[]} lost what is lost, in numbers and names: a line each
 * @property {string} verb the button that does it
 * @property {string} [keep] the button that does nothing
 * @property {string} [typed] what must be typed before the button works
 * @property {{words: string, run: () => void}} [other] a third way
 * @property {Promise<unknown>} [more] a line that takes a while
 */

/**
 * Asks, and gives a consent if the button is pressed; null on every other way out.
 * @param {Question} question
 * @returns {Promise<object|null>}
 */
export function confirmed({ title, lost, verb, keep = "Cancel", typed, other, more }) {
  const dialog = document.createElement("dialog");
  dialog.className = "it-ask md";
  dialog.setAttribute("aria-labelledby", "ask-title");
  let text = "";
  let line = /** @type {unknown} */ (more ? "Looking for what uses it…" : nothing);
  let consent = /** @type {object|null} */ (null);
  const leave = () => dialog.close();
  // The second press of a double click is not an answer to a question that the first one opened.
  const press = (run) => (event) => { if (event.detail < 2) { run(); dialog.close(); } };
  const draw = () => render(html`
    <h2 id="ask-title">${title}</h2>
    <ul>${lost.map((one) => html`<li>${one}</li>`)}${line === nothing ? nothing : html`<li><span role="status">${line}</span></li>`}</ul>
    ${typed === undefined ? nothing : html`<p><label>Type <b>${visible(typed)}</b> to confirm <input autofocus autocomplete="off" spellcheck="false" @input=${(event) => { text = event.target.value; draw(); }}></label></p>`}
    <p class="mf-line"><button class="md-button is-main" ?autofocus=${typed === undefined} @click=${leave}>${keep}</button>
      ${other ? html`<button class="md-button" @click=${press(other.run)}>${other.words}</button>` : nothing}
      <button class="md-button is-danger" ?disabled=${typed !== undefined && text !== typed} @click=${press(() => { consent = newConsent(); })}>${verb}</button></p>`, dialog);
  draw();
  more?.then((found) => { line = found; draw(); }, () => { line = nothing; draw(); });
  document.body.append(dialog);
  dialog.showModal();
  window.addEventListener("popstate", leave);
  return new Promise((done) => dialog.addEventListener("close", () => {
    window.removeEventListener("popstate", leave);
    dialog.remove();
    done(consent);
  }));
}
