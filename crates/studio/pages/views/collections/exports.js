// A picture of item collections as SVG and as Markdown, to take along. Both hold at most LIMIT rows and say so.

import { MARKS } from "./kw-picture.js";
import { keyText, sizeText, visible } from "./typed.js";

export const LIMIT = 2000;

const COLOURS = ["#2f62c4", "#b25300", "#137a4f", "#a1307c", "#0f6d8c", "#6c6100", "#b3322f", "#525c6b"];

const xml = (text) => visible(text).replace(/[<>&"']/g, (letter) => `&#${letter.charCodeAt(0)};`);

function nameOf(place, item) {
  const sort = place.sk.map((attribute) => keyText(item.item[attribute])).join(" · ");
  return sort === "" ? item.key.join(" · ") : sort;
}

/** @param {import("./kw-picture.js").Drawn} drawn */
export function asSvg(drawn) {
  const { place, items, entities, marks, title } = drawn;
  const parts = [];
  let y = 46;
  let rows = 0;
  const width = 640;
  for (const partition of place.partitions) {
    if (rows >= LIMIT) break;
    const height = 30 + partition.items.length * 22 + 8;
    parts.push(
      `<rect x="12" y="${y}" width="${width - 24}" height="${height}" rx="8" fill="#fff" stroke="#c6ccd6"/>`,
      `<text x="26" y="${y + 20}" font-weight="600">${xml(partition.key.join(" · "))}</text>`,
      `<text x="${width - 26}" y="${y + 20}" text-anchor="end" fill="#5b6472">${partition.items.length} items</text>`,
    );
    let line = y + 44;
    for (const at of partition.items) {
      if (rows >= LIMIT) break;
      rows += 1;
      const item = items[at];
      const entity = item.entity === null ? null : entities.get(item.entity);
      const mark = marks.get(at);
      if (mark === "returned" || mark === "left") {
        parts.push(`<rect x="16" y="${line - 14}" width="3" height="20" fill="#2f62c4"/>`);
      }
      parts.push(
        `<rect x="28" y="${line - 12}" width="24" height="16" rx="4" fill="${entity ? COLOURS[entity.colour] : "#8a93a1"}"/>`,
        `<text x="40" y="${line}" text-anchor="middle" fill="#fff" font-size="10" font-weight="700">${entity ? xml(entity.letters) : "··"}</text>`,
        `<text x="60" y="${line}">${xml(nameOf(place, item).slice(0, 60))}</text>`,
        `<text x="${width - 50}" y="${line}" text-anchor="end" fill="#5b6472">${xml(item.entity ?? "")}</text>`,
        `<text x="${width - 28}" y="${line}" text-anchor="middle">${mark ? MARKS[mark].sign : ""}</text>`,
      );
      line += 22;
    }
    y += height + 12;
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${y}" viewBox="0 0 ${width} ${y}" ` +
    `font-family="ui-monospace, monospace" font-size="12" fill="#1b2330"><rect width="${width}" height="${y}" fill="#f5f7fa"/>` +
    `<text x="14" y="28" font-size="14" font-weight="700">${xml(title)}</text>${parts.join("")}</svg>\n`;
}

const cell = (text) => visible(text).replaceAll("|", "\\|");

/** @param {import("./kw-picture.js").Drawn} drawn */
export function asMarkdown(drawn) {
  const { place, items, marks, title, ran } = drawn;
  const lines = [`# ${title}`, ""];
  let rows = 0;
  for (const partition of place.partitions) {
    if (rows >= LIMIT) {
      lines.push(`The first ${LIMIT} items are shown.`);
      break;
    }
    const bytes = partition.items.reduce((sum, at) => sum + items[at].size, 0);
    lines.push(`## ${cell(partition.key.join(" · "))}`, "", `${partition.items.length} items, ${sizeText(bytes)}`, "");
    lines.push(`| ${place.sk.join(", ") || "key"} | entity | size |${ran ? " mark |" : ""}`, `|---|---|---|${ran ? "---|" : ""}`);
    for (const at of partition.items) {
      if (rows >= LIMIT) break;
      rows += 1;
      const mark = marks.get(at);
      const word = mark ? MARKS[mark].word : "not read";
      lines.push(`| ${cell(nameOf(place, items[at]))} | ${cell(items[at].entity ?? "")} | ${items[at].size} B |${ran ? ` ${word} |` : ""}`);
    }
    lines.push("");
  }
  return `${lines.join("\n")}\n`;
}

/** Gives a text to the browser to save. */
export function save(name, type, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
