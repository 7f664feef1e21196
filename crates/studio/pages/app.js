// The frame: where the address leads, what stands left and above, the theme.

import { html, nothing, render } from "./vendor/lit-html/lit-html.js";
import { call, context, go, tableNames } from "./views/model/api.js";
import { all as stagedAll } from "./views/tables/staged.js";

const app = /** @type {HTMLElement} */ (document.getElementById("app"));
const state = { info: /** @type {any} */ (null), tables: /** @type {string[]} */ ([]), error: "", stale: false, places: false };

/** What was denied since the view was opened, drawn by what comes with the help. */
const denied = { list: /** @type {any[]} */ ([]), at: "", module: /** @type {any} */ (null) };

window.addEventListener("kw-denied", async (event) => {
  const { detail } = /** @type {CustomEvent} */ (event);
  denied.module ??= await AREAS.start();
  denied.list = denied.module.withDenial(denied.list, detail);
  draw();
});

/** Whether replication is simulated, and what draws the line that says so. */
const simulated = { isOn: false, follow: /** @type {((what: {isOn: boolean, sees: boolean, region: string}) => void)|null} */ (null) };

window.addEventListener("kw-simulated", (event) => {
  simulated.isOn = /** @type {CustomEvent} */ (event).detail;
  saySimulated();
});

async function saySimulated() {
  if (!simulated.isOn && !simulated.follow) return;
  simulated.follow ??= (await AREAS.regions()).follow;
  const { info } = state;
  const isKnown = !!info && !(info.signIn?.needed && !info.signIn.account);
  simulated.follow({ isOn: simulated.isOn, sees: isKnown && info.simulation === "on" && may("seeSimulation"), region: context.region ?? info?.place?.region ?? "us-east-1" });
}

/** A visitor's name as policies have it, without its account. */
const nameOf = (arn) => (arn.endsWith(":root") ? `account ${arn.split(":")[4]}` : arn.split(":").at(-1).replace(/^assumed-role\//, "").replace(/^user\/(.*\/)?/, ""));

/** The views of an area come together. */
const AREAS = {
  tables: () => import("./views/tables.js"),
  models: () => import("./views/models.js"),
  operate: () => import("./views/operate.js"),
  regions: () => import("./views/regions.js"),
  start: () => import("./views/start.js"),
};

/** The views of one table: name, words, area, element. */
const TABS = /** @type {[string, string, () => Promise<unknown>, string][]} */ ([
  ["items", "Items", AREAS.tables, "kw-items"],
  ["collections", "Collections", AREAS.tables, "kw-live"],
  ["schema", "Schema", AREAS.tables, "kw-schema"],
  ["request", "Requests", AREAS.tables, "kw-request"],
  ["regions", "Regions", AREAS.regions, "kw-regions"],
  ["stream", "Stream", AREAS.operate, "kw-stream"],
  ["metrics", "Metrics", AREAS.operate, "kw-metrics"],
  ["history", "History", AREAS.operate, "kw-history"],
]);

/** Whether this can be a region: it stands in addresses, where any other text could name another host. */
const isRegion = (text) => /^[A-Za-z0-9_-]{1,64}$/.test(text ?? "");

/** Where an address leads: the module and element of its view, and the element's route. */
function view() {
  const parts = location.pathname.split("/").filter(Boolean).map(decodeURIComponent);
  const query = new URLSearchParams(location.search);
  const [first, second, third, fourth] = parts;
  const start = { at: "start", title: "Start", load: AREAS.start, tag: "kw-start", route: { step: Number(query.get("step")) || 0, model: query.get("model") } };
  if (first === "models") {
    return second
      ? { at: "models", title: second, load: AREAS.models, tag: "kw-model", route: { name: second, view: third ?? "patterns", pattern: query.get("pattern"), compare: query.get("compare") } }
      : { at: "models", title: "Models", load: AREAS.models, tag: "kw-models", route: null };
  }
  if (!isRegion(first)) return start;
  if (second === "operate") return { at: "operate", title: "Operate", load: AREAS.operate, tag: "kw-operate", route: { region: first, panel: third ?? "", query } };
  if (second === "tables") return { at: "tables", title: "Tables", load: AREAS.tables, tag: "kw-tables", route: { region: first } };
  if (second === "t" && third) {
    const tab = fourth === "collections" ? "collections" : fourth === "items" ? "items" : query.get("tab") ?? "schema";
    const of = TABS.find(([id]) => id === tab) ?? TABS[0];
    return { at: third, title: third, table: third, region: first, tab: of[0], load: of[2], tag: of[3], route: { region: first, table: third, query } };
  }
  return start;
}

/** A dialog of every table and view, found by typing. */
const palette = { open: false, text: "", at: 0 };

function found() {
  const region = context.region ?? state.info?.place?.region ?? "us-east-1";
  const all = [
    ["Tables", `/${region}/tables`], ...(may("models") ? [["Models", "/models"]] : []), ["Operate: overview", `/${region}/operate`], ["Operate: hottest keys", `/${region}/operate/keys`], ["Operate: streams", `/${region}/operate/streams`], ["Operate: time to live", `/${region}/operate/ttl`],
    ["Operate: backups", `/${region}/operate/backups`], ["Operate: exports and imports", `/${region}/operate/transfers`], ["Operate: triggers and Kinesis destinations", `/${region}/operate/triggers`], ["Operate: jobs", `/${region}/operate/jobs`], ["Operate: simulation", `/${region}/operate/simulation`],
    ["Start", "/start"], ["Tour", "/start?step=1"],
    ...state.tables.flatMap((name) => [[name, `/${region}/t/${encodeURIComponent(name)}/items`], [`${name}: collections`, `/${region}/t/${encodeURIComponent(name)}/collections`], [`${name}: schema`, `/${region}/t/${encodeURIComponent(name)}?tab=schema`], [`${name}: regions`, `/${region}/t/${encodeURIComponent(name)}?tab=regions`], [`${name}: metrics`, `/${region}/t/${encodeURIComponent(name)}?tab=metrics`], [`${name}: history`, `/${region}/t/${encodeURIComponent(name)}?tab=history`], [`${name}: requests and PartiQL`, `/${region}/t/${encodeURIComponent(name)}?tab=request`]]),
  ];
  const words = palette.text.trim().toLowerCase();
  return all.filter(([text]) => text.toLowerCase().includes(words)).slice(0, 12);
}

function openPalette() {
  palette.open = true;
  palette.text = "";
  palette.at = 0;
  draw();
}

function paletteView() {
  if (!palette.open) return nothing;
  const list = found();
  // What is drawn may be older than what was typed.
  const choose = (at) => { const one = found()[at]; closePalette(); if (one) go(one[1]); };
  return html`<dialog class="palette" aria-label="Search" @close=${() => closePalette()}>
    <input role="combobox" aria-expanded="true" aria-controls="palette-list" aria-activedescendant=${`palette-${palette.at}`} aria-label="Find a table or a view" placeholder="Find a table or a view" .value=${palette.text}
      @input=${(event) => { palette.text = event.target.value; palette.at = 0; draw(); }}
      @keydown=${(event) => {
        if (event.key === "ArrowDown" || event.key === "ArrowUp") { event.preventDefault(); palette.at = Math.max(0, Math.min(found().length - 1, palette.at + (event.key === "ArrowDown" ? 1 : -1))); draw(); }
        if (event.key === "Enter") { event.preventDefault(); choose(palette.at); }
      }}>
    <ul id="palette-list" role="listbox" aria-label="Found">${list.map(([text], at) => html`<li id=${`palette-${at}`} role="option" aria-selected=${at === palette.at} @click=${() => choose(at)}>${text}</li>`)}</ul>
    <p class="palette-none" role="status">${list.length === 0 ? html`No table and no view has “${palette.text.trim()}” in its name.` : nothing}</p></dialog>`;
}

/** The sheet of help, loaded when it is first asked for. */
const help = { open: false, draw: /** @type {null|((to: {at: string, tag: string, title: string}) => unknown)} */ (null) };

async function openHelp() {
  help.draw ??= (await AREAS.start()).helpSheet;
  help.open = true;
  draw();
}

function closeHelp() {
  if (!help.open) return;
  help.open = false;
  draw();
}

/** Whether a key is typed into something, so that it is no command. */
function isTyped(event) {
  const target = event.composedPath()[0];
  return target instanceof Element && (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || /** @type {HTMLElement} */ (target).isContentEditable);
}

function closePalette() {
  if (!palette.open) return;
  palette.open = false;
  draw();
}

let shown = { tag: "", element: /** @type {any} */ (null) };

let turn = 0;

async function draw() {
  const locked = state.info?.signIn?.needed && !state.info.signIn.account;
  const to = locked ? { at: "", title: "Sign in", load: AREAS.start, tag: "kw-sign-in", route: null } : view();
  const own = ++turn;
  const region = context.region ?? state.info?.place?.region ?? "us-east-1";
  document.title = `${to.title} · Keywright`;
  document.documentElement.dataset.region = region;
  // What is loaded is drawn at once: keys that follow the one that opens the palette are typed into it.
  if (!customElements.get(to.tag)) await to.load();
  if (own !== turn) return;
  const at = `${location.pathname} ${new URLSearchParams(location.search).get("tab")}`;
  if (denied.at !== at) Object.assign(denied, { at, list: [] });
  if (shown.tag !== to.tag) shown = { tag: to.tag, element: document.createElement(to.tag) };
  if (to.route) shown.element.route = to.route;
  const link = (at, href, text) => html`<a href=${href} aria-current=${to.at === at ? "page" : "false"}>${text}</a>`;
  render(html`
    <a class="skip" href="#main">Skip to the view</a>
    <header class="top">
      <a class="brand" href="/start"><img src="/favicon.ico" alt="">Keywright</a>
      ${placePicker(region)}
      <button class="find" @click=${() => openPalette()}>Search <kbd>Ctrl K</kbd></button>
      <button class="find" aria-haspopup="dialog" @click=${() => openHelp()}>Help <kbd>?</kbd></button>
      <span class="end">
        ${state.info?.signIn?.account ? html`<span class="who" title=${state.info.signIn.arn}><span class="unseen">Signed in as </span>${nameOf(state.info.signIn.arn)}</span> <button class="find" @click=${() => signOut()}>Sign out</button>` : nothing}
        ${stagedLink(region)}
        ${state.info?.readOnly ? html`<span>read-only</span>` : nothing}
        <label>Theme <select @change=${(event) => theme(event.target.value)}>${["system", "light", "dark"].map((one) => html`<option ?selected=${one === (localStorage.getItem("kw-theme") ?? "system")}>${one}</option>`)}</select></label></span>
    </header>
    <div class="lines">${state.error ? html`<p class="gone" role="alert">${state.error} ${state.stale ? html`<button class="find" @click=${() => location.reload()}>Reload</button>` : nothing}</p>` : nothing}<div id="simulated"></div></div>
    <nav class="side" aria-label="Keywright">
      ${link("tables", `/${region}/tables`, "Tables")}${may("models") ? link("models", "/models", "Models") : nothing}${link("operate", `/${region}/operate`, "Operate")}${link("start", "/start", "Start")}
      ${state.tables.length > 0 ? html`<h2>Tables here</h2>` : nothing}${may("listTables") ? nothing : byName(region)}
      ${state.tables.slice(0, 100).map((name) => link(name, `/${region}/t/${encodeURIComponent(name)}/items`, name))}
    </nav>
    ${paletteView()}${help.open && help.draw ? html`<dialog class="palette hp" aria-labelledby="hp-title" @close=${() => closeHelp()}>${help.draw(to)}</dialog>` : nothing}<main class="main" id="main" tabindex="-1">${to.table ? html`<div class="table-page"><header><h1>${to.table}</h1>
      <nav aria-label="Views of the table">${TABS.map(([id, text]) => html`<a href=${`/${to.region}/t/${encodeURIComponent(to.table)}${id === "items" || id === "collections" ? `/${id}` : `?tab=${id}`}`} aria-current=${to.tab === id ? "page" : "false"}>${text}</a>`)}</nav></header>${shown.element}</div>` : shown.element}</main>${denied.list.length > 0 ? denied.module.deniedView(denied.list, () => { denied.list = []; draw(); }) : nothing}`, app);
  // Whichever drawing brings the palette also opens it.
  const dialog = /** @type {HTMLDialogElement|null} */ (app.querySelector(":scope > dialog"));
  if (dialog && !dialog.open) dialog.showModal();
}

/** Whether the visitor may use a part of the studio, as far as the server has said. */
const may = (what) => state.info?.may?.[what] !== false;

/** The way to a table for who may not list them. */
const byName = (region) => html`<form class="by-name" @submit=${(event) => {
  event.preventDefault();
  const name = event.target.elements.namedItem("table").value.trim();
  if (name) go(`/${region}/t/${encodeURIComponent(name)}/items`);
}}><label>You may not list tables here. Open one by its name: <input name="table" required autocomplete="off" spellcheck="false"></label><button class="find">Open</button></form>`;

/** All that waits to be written, and the way there. */
function stagedLink(region) {
  const waiting = stagedAll();
  const path = `/${region}/t/${encodeURIComponent(waiting[0]?.table ?? "")}/items`;
  // The request that is shown there stays.
  const search = new URLSearchParams(location.pathname === path ? location.search : "");
  search.set("show", "staged");
  return waiting.length === 0 ? nothing : html`<a class="waits" href=${`${path}?${search}`}>${waiting.length} staged</a>`;
}

/** The account and region whose tables are shown: those that have tables, and any other by its name. */
function placePicker(region) {
  const account = state.info?.place?.account ?? "";
  if (!state.info?.place) return html`<span class="place">${region}</span>`;
  const places = new Map((state.info.places ?? []).map((one) => [`${one.account} ${one.region}`, one]));
  const here = `${account} ${region}`;
  if (!places.has(here)) places.set(here, { account, region, tables: 0 });
  return html`<details class="place" @toggle=${(event) => { state.places = event.target.open; draw(); if (state.places) countPlaces(); }}><summary><span class="unseen">Place: </span>${region} ${account}</summary>${state.places ? html`<div class="place-list">
    ${[...places].map(([id, one]) => html`<button aria-current=${id === here} @click=${() => toPlace(one.account, one.region)}>${one.region} <span>${one.account} · ${one.tables} ${one.tables === 1 ? "table" : "tables"}</span></button>`)}
    <form @submit=${(event) => { event.preventDefault(); const { elements } = event.target; toPlace(elements.namedItem("account").value.trim() || account, elements.namedItem("region").value.trim() || region); }}>
      <label>Region <input name="region" placeholder=${region} pattern="[A-Za-z0-9_\-]{1,64}"></label>
      ${state.info.signIn?.account ? html`<input type="hidden" name="account" value="">` : html`<label>Account <input name="account" placeholder=${account} pattern="[0-9]{12}"></label>`}
      <button>Go there</button></form></div>` : nothing}</details>`;
}

/** What the list of places says is of now. */
async function countPlaces() {
  const now = await call("state", {}).catch(() => null);
  if (now?.places && state.info) { state.info.places = now.places; draw(); }
}

/** The list of places closes when something else is pressed, or Escape in it. */
function outsidePlaces(event) {
  const list = /** @type {HTMLDetailsElement|null} */ (document.querySelector("details.place[open]"));
  if (!list) return;
  const within = list.contains(/** @type {Node} */ (event.target));
  if (event.type === "pointerdown" ? within : !within || event.key !== "Escape") return;
  list.open = false;
  if (event.type === "keydown") list.querySelector("summary")?.focus();
}
document.addEventListener("pointerdown", outsidePlaces);
document.addEventListener("keydown", outsidePlaces);

/** The account of a page whose address names none. */
const firstAccount = "123456789012";

/** Another place is another page: nothing of the old one stays. */
function toPlace(account, region) {
  if (!isRegion(region)) return;
  location.assign(`/${region}/tables${account && account !== firstAccount ? `?account=${encodeURIComponent(account)}` : ""}`);
}

function theme(name) {
  localStorage.setItem("kw-theme", name);
  if (name === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
}

async function tables() {
  try {
    state.tables = may("listTables") ? await tableNames() : [];
    if (location.pathname === "/") go(state.tables.length > 0 ? `/${context.region ?? state.info?.place?.region ?? "us-east-1"}/tables` : "/start", true);
  } catch {
    state.tables = [];
  }
  await draw();
}

document.addEventListener("click", (event) => {
  const link = event.target instanceof Element ? event.target.closest("a[href^='/']") : null;
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
  event.preventDefault();
  go(/** @type {string} */ (link.getAttribute("href")));
});
window.addEventListener("popstate", () => {
  const [, first, kind] = location.pathname.split("/");
  const region = ["t", "tables", "operate"].includes(kind) && isRegion(first) ? first : context.region;
  if (region !== context.region) {
    context.region = region;
    tables();
  } else draw();
});
window.addEventListener("kw-tables", () => tables());
window.addEventListener("kw-staged", () => draw());

/** While the process does not answer: a banner with the time, and a look every two seconds. */
let looking = 0;
window.addEventListener("kw-gone", () => {
  if (looking) return;
  state.error = `The process has not answered since ${new Date().toLocaleTimeString()}. What you typed is kept.`;
  draw();
  looking = window.setInterval(async () => {
    try {
      await call("state", {});
    } catch (error) {
      if (/** @type {any} */ (error).kind === "gone") return;
    }
    clearInterval(looking);
    looking = 0;
    if (!state.stale) state.error = "";
    begin();
  }, 2000);
});
window.addEventListener("kw-stale", () => {
  state.stale = true;
  state.error = "A newer Keywright runs now.";
  draw();
});
window.addEventListener("kw-signed-in", () => begin());
window.addEventListener("kw-signed-out", () => {
  if (!state.info || !state.info.signIn?.account) return;
  sessionStorage.removeItem("kw-token");
  context.token = null;
  denied.list = [];
  begin();
});

async function signOut() {
  await call("sign-out", {}).catch(() => {});
  sessionStorage.removeItem("kw-token");
  context.token = null;
  denied.list = [];
  begin();
}

window.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key === "k") {
    event.preventDefault();
    openPalette();
  }
  if (event.key === "?" && !event.ctrlKey && !event.metaKey && !event.altKey && !isTyped(event) && localStorage.getItem("kw-help-key") !== "off" && !document.querySelector("dialog[open]")) {
    event.preventDefault();
    openHelp();
  }
});

async function begin() {
  try {
    state.info = await call("state", {});
    if (state.info.signIn?.needed && !state.info.signIn.account) { state.tables = []; await draw(); saySimulated(); return; }
    if (state.info.signIn?.account) context.account = state.info.signIn.account;
    await tables();
    saySimulated();
  } catch (error) {
    if (!looking && !state.stale) state.error = /** @type {Error} */ (error).message;
    draw();
  }
}

theme(localStorage.getItem("kw-theme") ?? "system");
context.account = context.named = new URLSearchParams(location.search).get("account");
const [here, kind] = location.pathname.split("/").filter(Boolean);
if (["t", "tables", "operate"].includes(kind) && isRegion(here)) context.region = here;
context.token = sessionStorage.getItem("kw-token");
begin();
