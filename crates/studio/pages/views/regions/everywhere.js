// One item as each region has it, side by side: which state is the newest, and which has not arrived yet.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { visible } from "../collections/typed.js";
import { columns, sameItems } from "../operate/images.js";
import { timeOf } from "../operate/watching.js";

/**
 * @typedef {{region: string, at: number, stamp: string}} Version
 * @typedef {{item: any, version: Version|null}} Found an item as a region has it; null for a version that is older than all others
 * @typedef {{found: Found}|{text: string}} Here what a region has, or why that is not known
 */

/** Which of two versions is greater: by its stamp, then by the name of its region. @param {Version|null} one @param {Version|null} other */
function compare(one, other) {
  if (!one || !other) return one === other ? 0 : one ? 1 : -1;
  const [a, b] = [BigInt(one.stamp), BigInt(other.stamp)];
  if (a !== b) return a > b ? 1 : -1;
  return one.region === other.region ? 0 : one.region > other.region ? 1 : -1;
}

/** The greatest version that some region has. @param {Map<string, Here>} here */
export function newestOf(here) {
  const versions = [...here.values()].map((one) => ("found" in one ? one.found.version : null));
  return versions.reduce((newest, one) => (compare(one, newest) > 0 ? one : newest), null);
}

/**
 * How the state of a region stands to the newest one: the same, an older one whose change is on its way, an older one
 * of which nothing more is known.
 * @param {Found} found @param {Version|null} newest @param {boolean} isOnWay
 * @returns {"newest"|"on its way"|"older"}
 */
export const standing = (found, newest, isOnWay) => (compare(found.version, newest) === 0 ? "newest" : isOnWay ? "on its way" : "older");

/** What a region's version is, in words. @param {Found} found */
function versionText({ item, version }) {
  if (!version) return item ? "older than the replicas" : "never there";
  return html`${item ? "written" : "deleted"} in ${visible(version.region)} at ${timeOf(version.at)}`;
}

/**
 * @param {object} input
 * @param {string} input.own the region of the page
 * @param {Map<string, Here>} input.here in the order of the columns
 * @param {(region: string, origin: string) => boolean} input.isOnWay whether changes of a region are on their way to another
 */
export function everywhereView({ own, here, isOnWay }) {
  const newest = newestOf(here);
  const regions = [...here];
  const known = regions.flatMap(([, one]) => ("found" in one ? [one.found] : []));
  const standings = new Map(regions.map(([region, one]) => [region, "found" in one ? standing(one.found, newest, newest !== null && isOnWay(region, newest.region)) : null]));
  const late = regions.map(([region]) => region).filter((region) => standings.get(region) === "on its way");
  const summary = known.every((one) => !one.item) ? "No region that is read has an item with this key."
    : known.every((one) => sameItems(one.item, known[0].item)) ? "All regions that are read have the same item."
    : late.length > 0 ? `Not yet in ${late.join(", ")}: the newest change is on its way.` : "Regions differ.";
  const head = ([region, one]) => html`<span data-standing=${standings.get(region) ?? "not read"}>${visible(region)}${region === own ? " (this region)" : ""}<br>${"text" in one ? one.text
    : html`${mark(standings.get(region))} <span class="dim">${one.found.item ? "" : "no item, "}${versionText(one.found)}</span>`}</span>`;
  return html`<p role="status">${summary}</p>
    <div class="md-table-room" tabindex="0" role="region" aria-label="The item in each region">${columns(regions.map(([, one]) => ("found" in one ? one.found.item : undefined)), regions.map(head))}</div>`;
}

const mark = (standing) => (standing === "newest" ? nothing : html`<b class="tl-bad">${standing === "on its way" ? "not yet here" : "older version"}</b>,`);
