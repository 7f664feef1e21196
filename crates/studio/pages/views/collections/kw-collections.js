// <kw-collections>: the picture with what belongs around it: a tab for each table and index, two side by side,
// the legend, how rows look, and the chosen item with its place in each index. The source of the items is the
// page's matter: a model's sample or a live table.

import { html, nothing, render } from "../../vendor/lit-html/lit-html.js";
import { classMap } from "../../vendor/lit-html/directives/class-map.js";
import { repeat } from "../../vendor/lit-html/directives/repeat.js";
import { entityMarks, markClasses } from "./entities.js";
import { asMarkdown, asSvg, save } from "./exports.js";
import { MARKS } from "./kw-picture.js";
import { keyText, shortText, sizeText, typeOf, visible } from "./typed.js";

/**
 * @typedef {import("./kw-picture.js").PictureItem} PictureItem
 * @typedef {import("./kw-picture.js").Place} Place
 * @typedef {import("./kw-picture.js").Mark} Mark
 * @typedef {{items: PictureItem[], places: Place[], entities: string[], guessed?: boolean, name: string}} Source
 * @typedef {{place: string|null, marks: Map<number, Mark>, elsewhere?: Map<string, Map<number, Mark>>, words: string,
 *   more?: boolean}} Run
 */

export const placeTitle = (place) => (place.index === null ? place.table : `${place.table}.${place.index}`);

/** Which key attributes of a place an item lacks. */
export function lacks(place, item) {
  return [...place.pk, ...place.sk].filter((attribute) => typeOf(item.item[attribute]) === "");
}

export class KwCollections extends HTMLElement {
  constructor() {
    super();
    /** @type {Source|null} */ this.from = null;
    /** @type {Run|null} */ this.run = null;
    /** @type {(string|null)[]} */ this.shown = [null, null];
    this.two = false;
    this.rows = "compact";
    this.descending = false;
    this.grouping = "key";
    this.faded = new Set();
    this.chosen = -1;
    /** @type {({key: string, stamp: any, drawn: import("./kw-picture.js").Drawn}|null)[]} */ this.drawn = [null, null];
    this.marks = new Map();
    /** The keys of the page's own strip, drawn below the tabs. */
    this.strip = nothing;
    this.stamp = {};
  }

  connectedCallback() {
    this.classList.add("kc");
    this.update();
  }

  /** @param {Source} source */
  set source(source) {
    if (source === this.from) return;
    const same = this.from && this.from.name === source?.name && source.places.length === this.from.places.length;
    this.from = source;
    this.marks = entityMarks(source ? source.entities : []);
    if (!same) {
      this.shown = [source?.places[0]?.id ?? null, source?.places[1]?.id ?? null];
      this.faded = new Set();
    }
    if (!same || this.chosen >= source.items.length) this.chosen = -1;
    this.stamp = {};
    this.update();
  }

  get source() { return /** @type {Source} */ (this.from); }

  /** @param {Run|null} run */
  set result(run) {
    if (run === this.run) return;
    this.run = run;
    if (run?.place) {
      if (this.shown[1] === run.place) this.shown[1] = this.shown[0];
      this.shown[0] = run.place;
    }
    this.stamp = {};
    this.update();
  }

  set controls(strip) {
    this.strip = strip ?? nothing;
    this.update();
  }

  get place() { return this.shown[0]; }
  set place(id) {
    if (!id || !this.from?.places.some((place) => place.id === id)) return;
    this.show(0, id);
  }

  show(side, id) {
    this.shown[side] = id;
    this.update();
    this.dispatchEvent(new CustomEvent("place", { detail: { place: this.shown[0], second: this.two ? this.shown[1] : null }, bubbles: true }));
  }

  placeOf(id) {
    return this.from?.places.find((place) => place.id === id) ?? null;
  }

  /** What <kw-picture> draws for a side; the same object while nothing it shows changed. */
  draw(side) {
    const place = this.placeOf(this.shown[side]);
    if (!place || !this.from) return null;
    const key = [place.id, this.rows, this.descending, this.grouping, [...this.faded].join("\u0000")].join("\u0001");
    const old = this.drawn[side];
    if (old && old.key === key && old.stamp === this.stamp) return old.drawn;
    const run = this.run;
    let marks = new Map();
    let ran = false;
    if (run) {
      if (run.elsewhere?.has(place.id)) {
        marks = /** @type {Map<number, Mark>} */ (run.elsewhere.get(place.id));
        ran = true;
      } else if (run.place === place.id) {
        marks = run.marks;
        ran = true;
      } else {
        for (const [item, mark] of run.marks) if (mark === "returned") marks.set(item, "same");
      }
    }
    const shown = this.grouping === "entity" ? byEntity(place, this.from.items) : place;
    const drawn = {
      items: this.from.items,
      place: shown,
      entities: this.marks,
      marks,
      ran,
      more: !!run?.more && run.place === place.id,
      rows: /** @type {any} */ (this.rows),
      descending: this.descending,
      faded: this.faded.size > 0 ? this.faded : null,
      title: `Item collections of ${placeTitle(place)}: ${shown.partitions.length} partitions`,
    };
    this.drawn[side] = { key, stamp: this.stamp, drawn };
    return drawn;
  }

  update() {
    if (!this.isConnected) return;
    render(this.view(), this);
  }

  choose(item) {
    this.chosen = item;
    this.update();
    if (this.two) {
      const other = /** @type {any} */ (this.querySelectorAll("kw-picture")[1]);
      other?.reveal(item);
    }
    this.dispatchEvent(new CustomEvent("chosen", { detail: { item }, bubbles: true }));
  }

  goto(id, item) {
    this.shown[0] = id;
    this.update();
    requestAnimationFrame(() => /** @type {any} */ (this.querySelector("kw-picture"))?.reveal(item));
  }

  fade(name) {
    const faded = new Set(this.faded);
    if (faded.has(name)) faded.delete(name);
    else faded.add(name);
    this.faded = faded;
    this.update();
  }

  view() {
    if (!this.from) return nothing;
    const places = this.from.places;
    return html`
      <div class="kc-bar">
        ${this.tabs(0)}
        <div class="kc-tools" role="group" aria-label="How the picture looks">
          ${places.length > 1
            ? html`<button class="kc-tool" aria-pressed=${this.two} @click=${() => {
                this.two = !this.two;
                if (this.two && this.shown[1] === this.shown[0]) {
                  this.shown[1] = places.find((place) => place.id !== this.shown[0])?.id ?? this.shown[1];
                }
                this.update();
              }}>Side by side</button>`
            : nothing}
          <label class="kc-select"><span class="kc-hidden">Rows</span>
            <select @change=${(event) => { this.rows = event.target.value; this.update(); }}>
              ${[["compact", "Entities"], ["attributes", "Attributes"], ["bytes", "Bytes"]].map(
                ([value, text]) => html`<option value=${value} ?selected=${this.rows === value}>${text}</option>`,
              )}
            </select></label>
          <label class="kc-select"><span class="kc-hidden">Grouped by</span>
            <select @change=${(event) => { this.grouping = event.target.value; this.update(); }}>
              <option value="key" ?selected=${this.grouping === "key"}>By partition key</option>
              <option value="entity" ?selected=${this.grouping === "entity"}>By entity</option>
            </select></label>
          <button class="kc-tool" aria-pressed=${this.descending} @click=${() => { this.descending = !this.descending; this.update(); }}>Descending</button>
          <button class="kc-tool" @click=${() => this.foldAll(true)}>Fold</button>
          <button class="kc-tool" @click=${() => this.foldAll(false)}>Unfold</button>
          <button class="kc-tool" @click=${() => this.take("svg")}>SVG</button>
          <button class="kc-tool" @click=${() => this.take("md")}>Markdown</button>
        </div>
      </div>
      ${this.strip}
      ${this.legend()}
      <div class=${classMap({ "kc-stage": true, "is-two": this.two })}>
        ${this.panel(0)}
        ${this.two ? this.panel(1) : nothing}
      </div>
      ${this.selection()}
    `;
  }

  foldAll(folded) {
    for (const picture of this.querySelectorAll("kw-picture")) /** @type {any} */ (picture).foldAll(folded);
  }

  take(form) {
    const drawn = this.draw(0);
    if (!drawn) return;
    const name = `${placeTitle(drawn.place)}`;
    if (form === "svg") save(`${name}.svg`, "image/svg+xml", asSvg(drawn));
    else save(`${name}.md`, "text/markdown", asMarkdown(drawn));
  }

  tabs(side) {
    const places = this.from?.places ?? [];
    const marked = (place) => this.run && (this.run.place === place.id || this.run.elsewhere?.has(place.id));
    return html`<div class="kc-tabs" role="tablist" aria-label=${side === 0 ? "Table and indexes" : "Second picture"}
      @keydown=${(event) => this.tabKey(event, side)}>
      ${repeat(places, (place) => place.id, (place) => html`
        <button role="tab" class=${classMap({ "kc-tab": true, "is-marked": !!marked(place) })}
          aria-selected=${this.shown[side] === place.id} tabindex=${this.shown[side] === place.id ? 0 : -1}
          @click=${() => this.show(side, place.id)}>
          <span class="kc-tab-name">${place.index ?? place.table}</span>
          <span class="kc-tab-key">${[...place.pk, ...place.sk].join(" → ")}</span>
          ${marked(place) ? html`<span class="kc-dot" title="the pattern works here"></span>` : nothing}
        </button>`)}
    </div>`;
  }

  tabKey(event, side) {
    if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
    const places = this.from?.places ?? [];
    const at = places.findIndex((place) => place.id === this.shown[side]);
    const next = places[(at + (event.key === "ArrowRight" ? 1 : places.length - 1)) % places.length];
    event.preventDefault();
    const list = event.currentTarget;
    this.show(side, next.id);
    list.querySelector('[aria-selected="true"]')?.focus();
  }

  legend() {
    const counts = new Map();
    const place = this.placeOf(this.shown[0]);
    if (!place || !this.from) return nothing;
    for (const partition of place.partitions) {
      for (const item of partition.items) {
        const entity = this.from.items[item].entity;
        counts.set(entity, (counts.get(entity) ?? 0) + 1);
      }
    }
    const total = [...counts.values()].reduce((sum, one) => sum + one, 0);
    const signs = this.run
      ? [...new Set(this.run.elsewhere ? [...this.run.elsewhere.values()].flatMap((marks) => [...marks.values()]) : this.run.marks.values())]
      : [];
    return html`<div class="kc-legend">
      <span class="kc-count">${place.partitions.length.toLocaleString("en")} ${place.partitions.length === 1 ? "partition" : "partitions"},
        ${total.toLocaleString("en")} ${total === 1 ? "item" : "items"}</span>
      ${[...this.marks.values()].filter((mark) => counts.has(mark.name)).map((mark) => html`
        <button class="kc-entity" aria-pressed=${!this.faded.has(mark.name)} title="Show or fade ${mark.name}"
          @click=${() => this.fade(mark.name)}>
          <span class=${markClasses(mark)} aria-hidden="true">${mark.letters}</span>${mark.name}
          <span class="kc-n">${counts.get(mark.name).toLocaleString("en")}</span></button>`)}
      ${counts.has(null) ? html`<span class="kc-entity is-plain"><span class="ent ent-none" aria-hidden="true">··</span>no entity
          <span class="kc-n">${counts.get(null)}</span></span>` : nothing}
      ${this.from.guessed ? html`<span class="kc-guessed">entities guessed from the items</span>` : nothing}
      ${signs.length > 0
        ? html`<span class="kc-signs">${signs.map((sign) => html`<span class="kc-sign is-${sign}"><b aria-hidden="true">${MARKS[sign].sign}</b> ${MARKS[sign].word}</span>`)}</span>`
        : nothing}
    </div>`;
  }

  panel(side) {
    const drawn = this.draw(side);
    if (!drawn) return nothing;
    return html`<section class="kc-panel" aria-label=${placeTitle(drawn.place)}>
      ${this.two ? (side === 1 ? html`<div class="kc-panel-bar">${this.tabs(1)}</div>` : html`<div class="kc-panel-bar"><span class="kc-panel-name">${placeTitle(drawn.place)}</span></div>`) : nothing}
      ${drawn.place.partitions.length === 0
        ? html`<p class="kc-empty">No item is in ${placeTitle(drawn.place)}. An item is in an index only if it has all of the index's key attributes.</p>`
        : html`<kw-picture .picture=${drawn} .selected=${this.chosen} @choose=${(event) => this.choose(event.detail.item)}></kw-picture>`}
    </section>`;
  }

  selection() {
    const item = this.chosen >= 0 ? this.from?.items[this.chosen] : null;
    if (!item || !this.from) return nothing;
    const table = this.placeTable(item);
    const places = this.from.places.filter((place) => table === null || place.table === table);
    const mark = item.entity === null ? null : this.marks.get(item.entity);
    return html`<aside class="kc-chosen" aria-label="The chosen item">
      <div class="kc-chosen-head">
        <span class=${markClasses(mark)} aria-hidden="true">${mark ? mark.letters : "··"}</span>
        <strong>${item.entity ?? "no entity"}</strong>
        <code>${item.key.map(visible).join(" / ")}</code>
        <span class="kc-dim">${sizeText(item.size)}</span>
        <button class="kc-tool kc-close" aria-label="Close the chosen item" @click=${() => { this.chosen = -1; this.update(); }}>✕</button>
      </div>
      <div class="kc-chosen-body">
        <div>
          <h3>Where it is</h3>
          <ul class="kc-places">
            ${places.map((place) => {
              const missing = lacks(place, item);
              const isIn = missing.length === 0;
              return html`<li class=${isIn ? "" : "is-out"}>
                <span class="kc-place-name">${place.index ?? place.table}</span>
                ${isIn
                  ? html`<button class="kc-link" @click=${() => this.goto(place.id, this.chosen)}>
                      ${place.pk.map((name) => visible(keyText(item.item[name]))).join(" · ")}
                      ${place.sk.length > 0 ? html` → ${place.sk.map((name) => visible(keyText(item.item[name]))).join(" · ")}` : nothing}</button>`
                  : missing.some((name) => /** @type {any} */ (item).known && !/** @type {any} */ (item).known.has(name))
                  ? html`<span>not known: the index it was read from does not hold ${missing.map((name, at) => html`${at > 0 ? ", " : ""}<code>${name}</code>`)}</span>`
                  : html`<span>not in it: lacks ${missing.map((name, at) => html`${at > 0 ? ", " : ""}<code>${name}</code>`)} (sparse)</span>`}
              </li>`;
            })}
          </ul>
        </div>
        <div>
          <h3>Attributes</h3>
          <dl class="kc-attributes">
            ${Object.keys(item.item).map((name) => html`<div><dt>${visible(name)}</dt><dd><span class="kc-type">${typeOf(item.item[name])}</span> ${shortText(item.item[name], 200)}</dd></div>`)}
          </dl>
        </div>
      </div>
    </aside>`;
  }

  placeTable(item) {
    return /** @type {any} */ (item).table ?? null;
  }
}

/** A place with one card for each entity instead of each partition key. */
function byEntity(place, items) {
  const groups = new Map();
  for (const partition of place.partitions) {
    for (const item of partition.items) {
      const entity = items[item].entity ?? "no entity";
      const group = groups.get(entity);
      if (group) group.push(item);
      else groups.set(entity, [item]);
    }
  }
  return { ...place, partitions: [...groups].map(([entity, list]) => ({ key: [entity], items: list })) };
}

if (!customElements.get("kw-collections")) customElements.define("kw-collections", KwCollections);
