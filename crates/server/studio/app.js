// The frame: where the address leads, what stands left and above, the theme.

import { html, nothing, render } from "./vendor/lit-html/lit-html.js";
import { call, context, dynamodb, go } from "./views/model/api.js";

const app = /** @type {HTMLElement} */ (document.getElementById("app"));
const state = { info: /** @type {any} */ (null), tables: /** @type {string[]} */ ([]), error: "" };

/** Where an address leads: the module and element of its view, and the element's route. */
function view() {
  const parts = location.pathname.split("/").filter(Boolean).map(decodeURIComponent);
  const query = new URLSearchParams(location.search);
  const [first, second, third, fourth] = parts;
  if (first === "models") {
    return second
      ? { at: "models", title: second, load: () => import("./views/model/kw-model.js"), tag: "kw-model", route: { name: second, view: third ?? "patterns", pattern: query.get("pattern"), compare: query.get("compare") } }
      : { at: "models", title: "Models", load: () => import("./views/model/kw-models.js"), tag: "kw-models", route: null };
  }
  if (second === "operate") return { at: "operate", title: "Operate", load: () => import("./views/operate/kw-operate.js"), tag: "kw-operate", route: { region: first, panel: third ?? "", query } };
  if (second === "t" && third) {
    const stream = query.get("tab") === "stream";
    return { at: third, title: third, table: third, load: () => (stream ? import("./views/operate/kw-stream.js") : import("./views/collections/kw-live.js")), tag: stream ? "kw-stream" : "kw-live", route: { region: first, table: third, query } };
  }
  return { at: "start", title: "Start", load: () => import("./views/start/kw-start.js"), tag: "kw-start", route: { step: Number(query.get("step")) || 0, model: query.get("model") } };
}

let shown = { tag: "", element: /** @type {any} */ (null) };

async function draw() {
  const to = view();
  const region = context.region ?? state.info?.place?.region ?? "us-east-1";
  document.title = `${to.title} · Keywright`;
  document.documentElement.dataset.region = region;
  await to.load();
  if (shown.tag !== to.tag) shown = { tag: to.tag, element: document.createElement(to.tag) };
  if (to.route) shown.element.route = to.route;
  const link = (at, href, text) => html`<a href=${href} aria-current=${to.at === at ? "page" : "false"}>${text}</a>`;
  render(html`
    <a class="skip" href="#main">Skip to the view</a>
    <header class="top">
      <a class="brand" href="/start"><img src="/favicon.ico" alt="">Keywright</a>
      <span class="place">${region} ${state.info?.place?.account ?? ""}</span>
      <span class="end">
        ${state.info?.readOnly ? html`<span>read-only</span>` : nothing}
        <label>Theme <select @change=${(event) => theme(event.target.value)}>${["system", "light", "dark"].map((one) => html`<option ?selected=${one === (localStorage.getItem("kw-theme") ?? "system")}>${one}</option>`)}</select></label></span>
    </header>
    ${state.error ? html`<p class="gone" role="alert">${state.error}</p>` : nothing}
    <nav class="side" aria-label="Keywright">
      ${link("models", "/models", "Models")}${link("operate", `/${region}/operate`, "Operate")}${link("start", "/start", "Start")}
      <h2>Tables</h2>
      ${state.tables.map((name) => link(name, `/${region}/t/${encodeURIComponent(name)}/collections`, name))}
    </nav>
    <main class="main" id="main" tabindex="-1">${to.table ? html`<div class="table-page"><header><h1>${to.table}</h1>
      <a href=${`/${region}/t/${encodeURIComponent(to.table)}/collections`} aria-current=${to.tag === "kw-live" ? "page" : "false"}>Collections</a>
      <a href=${`/${region}/t/${encodeURIComponent(to.table)}?tab=stream`} aria-current=${to.tag === "kw-stream" ? "page" : "false"}>Stream</a></header>${shown.element}</div>` : shown.element}</main>`, app);
}

function theme(name) {
  localStorage.setItem("kw-theme", name);
  if (name === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
}

async function tables() {
  try {
    state.tables = (await dynamodb("ListTables", {})).TableNames;
  } catch {
    state.tables = [];
  }
  draw();
}

document.addEventListener("click", (event) => {
  const link = event.target instanceof Element ? event.target.closest("a[href^='/']") : null;
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
  event.preventDefault();
  go(/** @type {string} */ (link.getAttribute("href")));
});
window.addEventListener("popstate", () => draw());
window.addEventListener("kw-tables", () => tables());

theme(localStorage.getItem("kw-theme") ?? "system");
call("state", {}).then((info) => {
  state.info = info;
  tables();
}, (error) => {
  state.error = error.message;
  draw();
});
