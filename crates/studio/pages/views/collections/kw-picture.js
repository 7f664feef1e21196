// <kw-picture>: the item collections of one table or index as cards, one partition each, virtual in both
// directions: only the cards and rows near the window exist. It draws what it is given and decides nothing.

import { markClasses } from "./entities.js";
import { keyText, shortText, sizeText, visible } from "./typed.js";

/**
 * @typedef {{entity: string|null, key: string[], size: number, item: Record<string, any>}} PictureItem
 * @typedef {{key: string[], items: number[]}} Partition
 * @typedef {{id: string, table: string, index: string|null, kind: string, pk: string[], sk: string[], partitions: Partition[]}} Place
 * @typedef {"returned"|"left"|"put"|"changed"|"deleted"|"moved"|"same"} Mark
 * @typedef {{items: PictureItem[], place: Place, entities: Map<string, any>, marks: Map<number, Mark>,
 *   ran: boolean, more: boolean, rows: "compact"|"attributes"|"bytes", descending: boolean,
 *   faded: Set<string>|null, title: string}} Drawn
 */

const HEAD = 40;
const ROW = 28;
const FOOT = 8;
const GAP = 14;
const MARGIN = 16;
/** Rows and cards this far outside the window exist too. */
const OVER = 240;
/** More cards than this start folded. */
const FOLD_ABOVE = 400;

/** Each mark: its sign, its word and its class. */
export const MARKS = {
  returned: { sign: "✓", word: "returned" },
  left: { sign: "✗", word: "read, left out by the filter" },
  put: { sign: "+", word: "put" },
  changed: { sign: "~", word: "changed" },
  moved: { sign: "⇄", word: "moved" },
  deleted: { sign: "−", word: "deleted" },
  same: { sign: "○", word: "the same item" },
};

const element = (tag, className, text) => {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
};

let serial = 0;

export class KwPicture extends HTMLElement {
  constructor() {
    super();
    /** @type {Drawn|null} */ this.drawn = null;
    this.cardWidth = 0;
    this.own = `kp${++serial}`;
    this.cards = [];
    this.columns = [];
    this.folded = new Set();
    this.live = new Map();
    this.active = null;
    this.chosen = -1;
    this.asked = 0;
    this.order = [];
    this.maxSize = 1;
  }

  connectedCallback() {
    if (!this.scroller) {
      this.classList.add("kp");
      this.scroller = element("div", "kp-scroll");
      this.scroller.tabIndex = 0;
      this.scroller.setAttribute("role", "tree");
      this.sheet = element("div", "kp-sheet");
      this.sheet.setAttribute("role", "presentation");
      this.scroller.append(this.sheet);
      this.append(this.scroller);
      this.scroller.addEventListener("scroll", () => this.ask(), { passive: true });
      this.scroller.addEventListener("keydown", (event) => this.key(event));
      this.scroller.addEventListener("click", (event) => this.press(event));
      this.scroller.addEventListener("focus", () => this.ask());
      this.watch = new ResizeObserver(() => { this.place(); this.ask(); });
    }
    this.watch?.observe(this.scroller);
    if (this.drawn) { this.place(); this.ask(); }
  }

  disconnectedCallback() {
    this.watch?.disconnect();
    cancelAnimationFrame(this.asked);
    this.asked = 0;
  }

  /** @param {Drawn} drawn */
  set picture(drawn) {
    const before = this.drawn;
    if (drawn === before) return;
    this.drawn = drawn;
    const other = !before || before.place !== drawn.place || before.items !== drawn.items;
    if (other) {
      this.folded = new Set();
      this.active = null;
      if (drawn.place.partitions.length > FOLD_ABOVE) {
        drawn.place.partitions.forEach((partition, at) => { if (partition.items.length > 3) this.folded.add(at); });
      }
      this.maxSize = Math.max(1, ...sample(drawn.items));
    }
    this.sortCards();
    if (!this.scroller) return;
    this.scroller.setAttribute("aria-label", drawn.title);
    this.clear();
    this.place();
    if (other || before?.marks !== drawn.marks) this.scroller.scrollTop = 0;
    this.grow = !before || before.marks !== drawn.marks;
    this.ask();
  }

  /** Which item is chosen, by its index. */
  set selected(at) {
    if (at === this.chosen) return;
    this.chosen = at;
    for (const [, card] of this.live) {
      for (const [row, made] of card.rows) {
        made.classList.toggle("is-chosen", card.items[row] === at);
        if (card.items[row] === at) made.setAttribute("aria-selected", "true");
        else made.removeAttribute("aria-selected");
      }
    }
  }

  /** The partitions in reading order: those with marks first, then the rest as they stand. */
  sortCards() {
    const { place, marks, descending, ran } = /** @type {Drawn} */ (this.drawn);
    const marked = [];
    const rest = [];
    place.partitions.forEach((partition, at) => {
      const hit = ran && partition.items.some((item) => marks.has(item) && marks.get(item) !== "same");
      (hit ? marked : rest).push(at);
    });
    this.order = [...marked, ...rest];
    this.cards = this.order.map((at) => {
      const partition = place.partitions[at];
      const items = descending ? [...partition.items].reverse() : partition.items;
      let first = -1;
      let last = -1;
      if (ran) {
        items.forEach((item, row) => {
          const mark = marks.get(item);
          if (mark === "returned" || mark === "left") {
            if (first < 0) first = row;
            last = row;
          }
        });
      }
      return { at, partition, items, first, last, x: 0, y: 0, height: 0, column: 0 };
    });
  }

  heightOf(card) {
    return this.folded.has(card.at) ? HEAD : HEAD + card.items.length * ROW + FOOT;
  }

  /** Puts each card below the shortest column. */
  place() {
    if (!this.drawn || !this.scroller) return;
    const width = this.scroller.clientWidth - 2 * MARGIN;
    if (width <= 0) return;
    const least = this.drawn.rows === "attributes" ? 460 : 320;
    const count = Math.max(1, Math.min(4, Math.floor((width + GAP) / (least + GAP)), this.cards.length || 1));
    this.cardWidth = Math.min(760, Math.floor((width - (count - 1) * GAP) / count));
    const bottoms = new Array(count).fill(MARGIN);
    this.columns = Array.from({ length: count }, () => /** @type {any[]} */ ([]));
    this.cards.forEach((card, index) => {
      let column = 0;
      for (let at = 1; at < count; at += 1) if (bottoms[at] < bottoms[column] - 1) column = at;
      card.index = index;
      card.column = column;
      card.x = MARGIN + column * (this.cardWidth + GAP);
      card.y = bottoms[column];
      card.height = this.heightOf(card);
      bottoms[column] += card.height + GAP;
      this.columns[column].push(card);
    });
    this.sheet.style.height = `${Math.max(...bottoms, 0)}px`;
    for (const [, made] of this.live) this.putCard(made);
  }

  ask() {
    if (this.asked) return;
    this.asked = requestAnimationFrame(() => { this.asked = 0; this.draw(); });
  }

  clear() {
    for (const [, made] of this.live) made.box.remove();
    this.live.clear();
  }

  draw() {
    if (!this.drawn || !this.scroller) return;
    const top = this.scroller.scrollTop - OVER;
    const bottom = this.scroller.scrollTop + this.scroller.clientHeight + OVER;
    const wanted = new Set();
    for (const column of this.columns) {
      let low = 0;
      let high = column.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (column[middle].y + column[middle].height < top) low = middle + 1;
        else high = middle;
      }
      for (let at = low; at < column.length && column[at].y < bottom; at += 1) wanted.add(column[at].index);
    }
    if (this.active) wanted.add(this.active.card);
    for (const [index, made] of this.live) {
      if (!wanted.has(index)) { made.box.remove(); this.live.delete(index); }
    }
    for (const index of [...wanted].sort((one, two) => one - two)) this.drawCard(index, top, bottom);
    this.grow = false;
    this.showActive();
  }

  drawCard(index, top, bottom) {
    const card = this.cards[index];
    if (!card) return;
    let made = this.live.get(index);
    if (!made) {
      made = this.makeCard(card);
      this.live.set(index, made);
      // In reading order, so that assistive technology meets the cards as they are counted.
      const next = [...this.live.keys()].filter((one) => one > index).sort((one, two) => one - two)[0];
      this.sheet.insertBefore(made.box, next === undefined ? null : this.live.get(next).box);
      this.putCard(made);
    }
    if (this.folded.has(card.at)) return;
    const from = Math.max(0, Math.floor((top - card.y - HEAD) / ROW));
    const to = Math.min(card.items.length, Math.ceil((bottom - card.y - HEAD) / ROW));
    const keep = this.active && this.active.card === index ? this.active.row : -1;
    for (const [row, old] of made.rows) {
      if ((row < from || row >= to) && row !== keep) { old.remove(); made.rows.delete(row); }
    }
    for (let row = from; row < to; row += 1) this.drawRow(made, card, row);
    if (keep >= 0) this.drawRow(made, card, keep);
  }

  putCard(made) {
    const card = this.cards[made.index];
    made.box.style.transform = `translate(${card.x}px, ${card.y}px)`;
    made.box.style.width = `${this.cardWidth}px`;
    made.box.style.height = `${card.height}px`;
  }

  makeCard(card) {
    const drawn = /** @type {Drawn} */ (this.drawn);
    const { place, ran, more } = drawn;
    const folded = this.folded.has(card.at);
    const box = element("div", "kp-card");
    box.setAttribute("role", "presentation");
    box.dataset.card = String(card.index);
    const bytes = card.items.reduce((sum, item) => sum + drawn.items[item].size, 0);
    const name = card.partition.key.map(visible).join(" · ");
    const count = `${card.items.length.toLocaleString("en")} ${card.items.length === 1 ? "item" : "items"}`;
    const read = card.first >= 0;
    if (read) box.classList.add("is-read");
    else if (ran && !card.items.some((item) => drawn.marks.has(item))) box.classList.add("is-unread");
    // A flat tree: heads are its first level, rows its second. Names come from what is seen, and hidden words.
    const head = element("div", "kp-head");
    head.id = `${this.own}-c${card.index}`;
    head.setAttribute("role", "treeitem");
    head.setAttribute("aria-level", "1");
    head.setAttribute("aria-posinset", String(card.index + 1));
    head.setAttribute("aria-setsize", String(this.cards.length));
    head.setAttribute("aria-expanded", String(!folded));
    head.append(
      element("span", `kp-fold${folded ? " is-folded" : ""}`),
      element("span", "kp-pk", name === "" ? "(empty text)" : name),
      element("span", "kp-sum", `${count} · ${sizeText(bytes)}`),
      element("span", "kc-hidden", `${read ? `, ${this.readWords(card)}` : ""}, ${place.pk.join(", ")}`),
    );
    head.querySelector(".kp-pk").title = name;
    box.append(head);
    const made = { box, index: card.index, rows: new Map(), items: card.items, group: null };
    if (!folded) {
      const group = element("div", "kp-rows");
      group.setAttribute("role", "presentation");
      box.append(group);
      made.group = group;
      if (read) {
        const bracket = element("div", `kp-bracket${this.grow ? " is-growing" : ""}${more ? " is-cut" : ""}`);
        bracket.setAttribute("aria-hidden", "true");
        bracket.style.top = `${card.first * ROW + 3}px`;
        bracket.style.height = `${(card.last - card.first + 1) * ROW - 6}px`;
        group.append(bracket);
      }
    }
    return made;
  }

  readWords(card) {
    let returned = 0;
    let read = 0;
    for (const item of card.items) {
      const mark = this.drawn?.marks.get(item);
      if (mark === "returned") { returned += 1; read += 1; }
      if (mark === "left") read += 1;
    }
    return `${read} read, ${returned} returned`;
  }

  /** What a row stands for in its partition: its sort key, or its whole key where there is none. */
  rowName(item) {
    const { place } = /** @type {Drawn} */ (this.drawn);
    if (place.sk.length > 0) return place.sk.map((attribute) => keyText(item.item[attribute])).map(visible).join(" · ");
    return item.key.map(visible).join(" · ");
  }

  drawRow(made, card, row) {
    if (made.rows.has(row) || !made.group) return;
    const at = card.items[row];
    const { items, entities, marks, ran, rows, faded } = /** @type {Drawn} */ (this.drawn);
    const item = items[at];
    const mark = marks.get(at);
    const entity = item.entity === null ? null : entities.get(item.entity);
    const box = element("div", "kp-row");
    box.id = `${this.own}-c${card.index}-r${row}`;
    box.setAttribute("role", "treeitem");
    box.setAttribute("aria-level", "2");
    box.setAttribute("aria-posinset", String(row + 1));
    box.setAttribute("aria-setsize", String(card.items.length));
    box.dataset.row = String(row);
    box.style.transform = `translateY(${row * ROW}px)`;
    if (mark) box.classList.add(`is-${mark}`);
    else if (ran && card.first >= 0) box.classList.add("is-unread");
    if (faded && item.entity !== null && faded.has(item.entity)) box.classList.add("is-faded");
    if (at === this.chosen) { box.classList.add("is-chosen"); box.setAttribute("aria-selected", "true"); }
    if (this.grow && mark) {
      box.classList.add("is-arriving");
      box.style.animationDelay = `${Math.min(12, Math.max(0, row - Math.max(0, card.first))) * 45 + 120}ms`;
    }
    const name = this.rowName(item);
    const badge = element("span", markClasses(entity), entity ? entity.letters : "··");
    badge.setAttribute("aria-hidden", "true");
    const sign = element("span", "kp-mark", mark ? MARKS[mark].sign : "");
    sign.setAttribute("aria-hidden", "true");
    const nameBox = element("span", "kp-sk", name === "" ? "(empty text)" : name);
    box.append(badge, nameBox);
    if (rows === "bytes") {
      const bar = element("span", "kp-bytes");
      const fill = element("span", `kp-fill ${markClasses(entity)}`);
      fill.style.width = `${Math.max(1, (100 * item.size) / this.maxSize)}%`;
      bar.append(fill);
      box.append(bar, element("span", "kp-size", sizeText(item.size)));
    } else if (rows === "attributes") {
      box.append(element("span", "kp-attrs", this.attributesOf(item)));
    } else {
      box.append(element("span", "kp-entity", item.entity ?? "no entity"));
    }
    const word = mark ? MARKS[mark].word : ran ? "not read" : "";
    if (rows !== "compact") box.append(element("span", "kc-hidden", `, ${item.entity ?? "no entity"}`));
    box.append(sign, element("span", "kc-hidden kp-word", word ? `, ${word}` : ""));
    box.title = `${name}  ${item.entity ?? ""}${word ? `  ${word}` : ""}`;
    // Rows stay in order for assistive technology.
    let before = /** @type {{row: number, old: HTMLElement}|null} */ (null);
    for (const [other, old] of made.rows) {
      if (other > row && (before === null || other < before.row)) before = { row: other, old };
    }
    made.group.insertBefore(box, before ? before.old : null);
    made.rows.set(row, box);
  }

  attributesOf(item) {
    const { place } = /** @type {Drawn} */ (this.drawn);
    const keys = new Set([...place.pk, ...place.sk]);
    const parts = [];
    let length = 0;
    for (const name of Object.keys(item.item)) {
      if (keys.has(name)) continue;
      const text = `${visible(name)} ${shortText(item.item[name], 60)}`;
      parts.push(text);
      length += text.length;
      if (length > 160) break;
    }
    return parts.join("   ");
  }

  // Moving: arrows in a partition, Ctrl and arrows between partitions, Home and End, Page.

  key(event) {
    if (!this.drawn || this.cards.length === 0) return;
    const at = this.active ?? { card: 0, row: -1 };
    const move = (card, row) => {
      event.preventDefault();
      this.go(card, row);
    };
    const card = this.cards[at.card];
    const open = !this.folded.has(card.at);
    const last = (index) => (this.folded.has(this.cards[index].at) ? -1 : this.cards[index].items.length - 1);
    const between = event.ctrlKey || event.metaKey;
    switch (event.key) {
      case "ArrowDown":
        if (between) { if (at.card + 1 < this.cards.length) move(at.card + 1, -1); else event.preventDefault(); }
        else if (!this.active) move(0, -1);
        else if (at.row < last(at.card)) move(at.card, at.row + 1);
        else if (at.card + 1 < this.cards.length) move(at.card + 1, -1);
        else event.preventDefault();
        return;
      case "ArrowUp":
        if (between) { if (at.card > 0) move(at.card - 1, -1); else move(0, -1); }
        else if (at.row >= 0) move(at.card, at.row - 1);
        else if (at.card > 0) move(at.card - 1, last(at.card - 1));
        else event.preventDefault();
        return;
      case "ArrowRight":
        if (!open) { event.preventDefault(); this.fold(at.card, false); }
        else if (at.row < 0 && card.items.length > 0) move(at.card, 0);
        else if (between && at.card + 1 < this.cards.length) move(at.card + 1, -1);
        return;
      case "ArrowLeft":
        if (at.row >= 0) move(at.card, -1);
        else if (open) { event.preventDefault(); this.fold(at.card, true); }
        return;
      case "PageDown": move(at.card, Math.min(last(at.card), at.row + 15)); return;
      case "PageUp": move(at.card, Math.max(-1, at.row - 15)); return;
      case "Home": move(between ? 0 : at.card, -1); return;
      case "End":
        if (between) move(this.cards.length - 1, last(this.cards.length - 1));
        else move(at.card, last(at.card));
        return;
      case "Enter":
      case " ":
        event.preventDefault();
        if (at.row < 0) this.fold(at.card, open);
        else this.choose(at.card, at.row);
        return;
      default:
    }
  }

  press(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    const box = target.closest(".kp-card");
    if (!box) return;
    const card = Number(/** @type {HTMLElement} */ (box).dataset.card);
    const row = target.closest(".kp-row");
    if (row) {
      const at = Number(/** @type {HTMLElement} */ (row).dataset.row);
      this.active = { card, row: at };
      this.showActive();
      this.choose(card, at);
    } else if (target.closest(".kp-head")) {
      this.active = { card, row: -1 };
      this.fold(card, !this.folded.has(this.cards[card].at));
    }
  }

  choose(card, row) {
    const item = this.cards[card].items[row];
    this.dispatchEvent(new CustomEvent("choose", { detail: { item }, bubbles: true }));
  }

  fold(index, folded) {
    const card = this.cards[index];
    if (folded) this.folded.add(card.at);
    else this.folded.delete(card.at);
    this.refold();
  }

  foldAll(folded) {
    this.folded = folded ? new Set(this.cards.map((card) => card.at)) : new Set();
    this.refold();
  }

  refold() {
    this.clear();
    this.place();
    this.ask();
  }

  go(card, row) {
    this.active = { card, row };
    this.showInWindow(card, row);
    this.draw();
  }

  showInWindow(index, row) {
    const card = this.cards[index];
    const top = row < 0 ? card.y : card.y + HEAD + row * ROW;
    const height = row < 0 ? HEAD : ROW;
    const scroller = this.scroller;
    if (top < scroller.scrollTop + 8) scroller.scrollTop = Math.max(0, top - 8);
    else if (top + height > scroller.scrollTop + scroller.clientHeight - 8) {
      scroller.scrollTop = top + height - scroller.clientHeight + 8;
    }
  }

  /** Brings an item into the window, by its index; false where this place has no such item. */
  reveal(item, light = true) {
    for (const card of this.cards) {
      const row = card.items.indexOf(item);
      if (row < 0) continue;
      if (this.folded.has(card.at)) { this.folded.delete(card.at); this.clear(); this.place(); }
      const middle = card.y + HEAD + row * ROW - this.scroller.clientHeight / 2;
      const top = card.y + HEAD + row * ROW;
      if (top < this.scroller.scrollTop || top + ROW > this.scroller.scrollTop + this.scroller.clientHeight) {
        this.scroller.scrollTop = Math.max(0, middle);
      }
      this.active = { card: card.index, row };
      this.draw();
      if (light) {
        const box = this.live.get(card.index)?.rows.get(row);
        box?.classList.remove("is-lit");
        void box?.offsetWidth;
        box?.classList.add("is-lit");
      }
      return true;
    }
    return false;
  }

  showActive() {
    for (const old of this.querySelectorAll(".is-active")) old.classList.remove("is-active");
    if (!this.active) {
      this.scroller.removeAttribute("aria-activedescendant");
      return;
    }
    const made = this.live.get(this.active.card);
    const box = this.active.row < 0 ? made?.box.querySelector(".kp-head") : made?.rows.get(this.active.row);
    if (!box) return;
    box.classList.add("is-active");
    this.scroller.setAttribute("aria-activedescendant", box.id);
  }
}

function* sample(items) {
  const step = Math.max(1, Math.floor(items.length / 5000));
  for (let at = 0; at < items.length; at += step) yield items[at].size;
}

if (!customElements.get("kw-picture")) customElements.define("kw-picture", KwPicture);
