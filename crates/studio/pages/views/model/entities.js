// The entities and how they belong together, as an SVG: parents left of children. The same model gives the same
// picture; a box is moved with the pointer or with the arrow keys.

import { html, nothing, svg } from "../../vendor/lit-html/lit-html.js";
import { repeat } from "../../vendor/lit-html/directives/repeat.js";

const WIDTH = 204;
const LINE = 17;
const HEAD = 40;
const GAP_X = 72;
const GAP_Y = 26;
const MARGIN = 20;
const SHOWN = 8;
const STEP = 12;

/**
 * @typedef {{name: string, identity: string[], attributes: string[], count: string, size: string}} Entity
 * @typedef {{parent: string, child: string, cardinality: string, through?: string|null, declared?: boolean}} Relation
 * @typedef {{x: number, y: number, height: number, layer: number}} Box
 */

/** The entities of the view's own table. */
export function entitiesOf(page) {
  const table = page?.blocks.find((block) => block.table)?.table;
  if (!table) return [];
  const at = (header) => table.headers.indexOf(header);
  const list = (text) => (text === "-" || text === undefined ? [] : text.split(", "));
  return table.rows.map((row) => ({
    name: row[at("entity")],
    identity: list(row[at("identity")]),
    attributes: list(row[at("attributes")]),
    count: row[at("count")],
    size: row[at("size")],
  }));
}

/**
 * Layers by the longest way from an entity without parents, then each layer in the order of its parents.
 * @param {Entity[]} entities
 * @param {Relation[]} relations
 * @returns {{boxes: Map<string, Box>, width: number, height: number}}
 */
export function layout(entities, relations) {
  const layer = new Map(entities.map((one) => [one.name, 0]));
  for (let round = 0; round < entities.length; round += 1) {
    let moved = false;
    for (const { parent, child } of relations) {
      const wanted = (layer.get(parent) ?? 0) + 1;
      if (parent !== child && (layer.get(child) ?? 0) < wanted && wanted <= entities.length) {
        layer.set(child, wanted);
        moved = true;
      }
    }
    if (!moved) break;
  }
  const linked = new Set(relations.flatMap(({ parent, child }) => [parent, child]));
  const columns = [];
  for (const entity of entities) {
    if (!linked.has(entity.name)) continue;
    const at = layer.get(entity.name) ?? 0;
    (columns[at] ??= []).push(entity);
  }
  const heightOf = (entity) => HEAD + Math.min(entity.attributes.length, SHOWN) * LINE + (entity.attributes.length > SHOWN ? LINE : 0) + 10;
  /** @type {Map<string, Box>} */
  const boxes = new Map();
  let bottom = MARGIN;
  columns.forEach((column, at) => {
    if (!column) return;
    const middle = (entity) => {
      const parents = relations.filter(({ child, parent }) => child === entity.name && boxes.has(parent));
      if (parents.length === 0) return null;
      return parents.reduce((sum, { parent }) => {
        const box = /** @type {Box} */ (boxes.get(parent));
        return sum + box.y + box.height / 2;
      }, 0) / parents.length;
    };
    const sorted = column.map((entity, order) => ({ entity, order, middle: middle(entity) }))
      .sort((one, other) => (one.middle ?? 0) - (other.middle ?? 0) || one.order - other.order);
    let y = MARGIN;
    for (const { entity, middle: wanted } of sorted) {
      const height = heightOf(entity);
      const top = wanted === null ? y : Math.max(y, Math.round(wanted - height / 2));
      boxes.set(entity.name, { x: MARGIN + at * (WIDTH + GAP_X), y: top, height, layer: at });
      y = top + height + GAP_Y;
    }
    bottom = Math.max(bottom, y);
  });
  // Those without relations stand in rows below.
  const across = Math.max(3, columns.length);
  let x = 0;
  let rowHeight = 0;
  for (const entity of entities) {
    if (linked.has(entity.name)) continue;
    const height = heightOf(entity);
    boxes.set(entity.name, { x: MARGIN + x * (WIDTH + 32), y: bottom, height, layer: 0 });
    rowHeight = Math.max(rowHeight, height);
    x += 1;
    if (x === across) { x = 0; bottom += rowHeight + GAP_Y; rowHeight = 0; }
  }
  if (x > 0) bottom += rowHeight + GAP_Y;
  const width = Math.max(...[...boxes.values()].map((box) => box.x + WIDTH), 0) + MARGIN;
  return { boxes, width, height: bottom + MARGIN };
}

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

/** A count in few letters: 1.5M. */
const short = (count) => (/^\d+$/.test(count ?? "") ? compact.format(Number(count)) : "");

const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

/**
 * @param {{page: any, relations: Relation[], marks: any, moved: Map<string, {x: number, y: number}>,
 *   move: (name: string, x: number, y: number) => void, reset: () => void, open: (name: string) => void}} input
 */
/** Many to many by an entity between them is two relations of that entity. */
function between(relations) {
  return relations.flatMap((one) => (one.through
    ? [{ ...one, child: one.through, cardinality: "1:N" }, { ...one, parent: one.child, child: one.through, cardinality: "1:N" }]
    : [one]));
}

export function entitiesView({ page, relations: given, marks, moved, move, reset, open }) {
  const entities = entitiesOf(page);
  if (entities.length === 0) return nothing;
  const relations = between(given);
  const { boxes, width, height } = layout(entities, relations);
  const at = (name) => {
    const box = /** @type {Box} */ (boxes.get(name));
    const by = moved.get(name);
    return by ? { ...box, x: box.x + by.x, y: box.y + by.y } : box;
  };
  let farX = width;
  let farY = height;
  for (const entity of entities) {
    const box = at(entity.name);
    farX = Math.max(farX, box.x + WIDTH + MARGIN);
    farY = Math.max(farY, box.y + box.height + MARGIN);
  }
  const known = relations.filter(({ parent, child }) => boxes.has(parent) && boxes.has(child));
  return html`<div class="er">
    <div class="er-bar"><span class="dim">${known.length === 0 ? "No relations are declared." : "Parents stand left of their children. Arrow keys move a box, Enter goes to its line."}</span>
      ${moved.size > 0 ? html`<button class="md-button" @click=${reset}>Put the boxes back</button>` : nothing}</div>
    <div class="er-room" tabindex="0" role="region" aria-label="Entities and relations">
    <svg class="er-svg" width=${farX} height=${farY} viewBox="0 0 ${farX} ${farY}" role="group" aria-label="Entities and relations">
      ${known.map((relation) => edge(at(relation.parent), at(relation.child), relation))}
      ${repeat(entities, (entity) => entity.name, (entity) => node(entity, at(entity.name), marks.entities.get(entity.name), known, { moved, move, open }))}
    </svg></div></div>`;
}

function edge(from, to, relation) {
  const itself = relation.parent === relation.child;
  const x1 = from.x + WIDTH;
  const y1 = from.y + (itself ? 14 : from.height / 2);
  const x2 = itself ? to.x + WIDTH : to.x;
  const y2 = to.y + (itself ? to.height - 14 : to.height / 2);
  const bend = itself ? 46 : Math.max(30, Math.abs(x2 - x1) / 2);
  const path = `M ${x1} ${y1} C ${x1 + bend} ${y1}, ${itself ? x2 + bend : x2 - bend} ${y2}, ${x2} ${y2}`;
  const [one, many] = cardinality(relation.cardinality);
  return svg`<g class=${relation.declared === false ? "er-edge is-guessed" : "er-edge"} aria-hidden="true">
    <path d=${path}></path>
    ${many !== "1" && !itself ? svg`<path class="er-foot" d="M ${x2} ${y2 - 7} L ${x2 - 11} ${y2} L ${x2} ${y2 + 7}"></path>` : nothing}
    <circle cx=${x1} cy=${y1} r="3.5"></circle>
    <text x=${x1 + 9} y=${y1 - 7}>${one}</text>
    <text x=${x2 - 9} y=${y2 - 9} text-anchor="end">${many}</text>
  </g>`;
}

/** How many of each side: "1:N", "M:N", "1:1". */
function cardinality(text) {
  const [one, many] = (text ?? "1:N").split(":");
  return [one || "1", many || "N"];
}

function node(entity, box, mark, relations, { moved, move, open }) {
  const parents = relations.filter(({ child }) => child === entity.name).map(({ parent }) => parent);
  const children = relations.filter(({ parent }) => parent === entity.name).map(({ child }) => child);
  const words = [
    entity.name,
    parents.length > 0 ? `child of ${parents.join(", ")}` : "",
    children.length > 0 ? `parent of ${children.join(", ")}` : "",
    `${entity.attributes.length} attributes`,
  ].filter(Boolean).join("; ");
  const by = moved.get(entity.name) ?? { x: 0, y: 0 };
  const key = (event) => {
    const steps = { ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, -STEP], ArrowDown: [0, STEP] };
    const step = steps[event.key];
    if (step) {
      event.preventDefault();
      move(entity.name, Math.max(by.x + step[0], by.x - box.x), Math.max(by.y + step[1], by.y - box.y));
    } else if (event.key === "Enter") open(entity.name);
  };
  const drag = (event) => {
    if (event.button !== 0) return;
    const target = event.currentTarget;
    const start = { x: event.clientX, y: event.clientY };
    target.setPointerCapture(event.pointerId);
    const moving = (now) => move(entity.name, Math.max(by.x + now.clientX - start.x, by.x - box.x), Math.max(by.y + now.clientY - start.y, by.y - box.y));
    const done = () => { target.removeEventListener("pointermove", moving); target.removeEventListener("pointerup", done); };
    target.addEventListener("pointermove", moving);
    target.addEventListener("pointerup", done);
  };
  const shown = entity.attributes.slice(0, SHOWN);
  return svg`<g class="er-node" tabindex="0" role="group" aria-label=${words} transform="translate(${box.x}, ${box.y})"
      @keydown=${key} @pointerdown=${drag} @dblclick=${() => open(entity.name)}>
    <rect class="er-box" width=${WIDTH} height=${box.height} rx="9"></rect>
    <rect class="er-badge ent-${mark ? mark.colour : "none"} ${mark?.striped ? "is-striped" : ""}" x="11" y="11" width="24" height="17" rx="4"></rect>
    <text class="er-letters ${mark?.striped ? "is-striped" : ""}" x="23" y="23.5" text-anchor="middle">${mark ? mark.letters : ""}</text>
    <text class="er-name" x="43" y="24.5">${cut(entity.name, 15)}</text>
    <text class="er-count" x=${WIDTH - 12} y="24" text-anchor="end">${short(entity.count)}</text>
    <line class="er-rule" x1="0" x2=${WIDTH} y1=${HEAD - 1} y2=${HEAD - 1}></line>
    ${shown.map((text, row) => {
      const [name, ...type] = text.split(": ");
      const isKey = entity.identity.includes(name);
      return svg`<text class="er-attr ${isKey ? "is-key" : ""}" x="12" y=${HEAD + 15 + row * LINE}>${isKey ? "◆ " : ""}${cut(name, 20)}</text>
        <text class="er-type" x=${WIDTH - 12} y=${HEAD + 15 + row * LINE} text-anchor="end">${cut(type.join(": "), 14)}</text>`;
    })}
    ${entity.attributes.length > SHOWN ? svg`<text class="er-type" x="12" y=${HEAD + 15 + SHOWN * LINE}>and ${entity.attributes.length - SHOWN} more</text>` : nothing}
  </g>`;
}
