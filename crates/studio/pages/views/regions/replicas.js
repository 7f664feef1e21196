// The replicas of a table as rows: how each stands, what it sets differently, what it lacks and what lacks its changes.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { sizeText, visible } from "../collections/typed.js";
import { count } from "../model/words.js";
import { lagText, timeOf } from "../operate/watching.js";

/**
 * @typedef {object} Member a region that has the table
 * @property {string} region
 * @property {boolean} isOwn whether the page is of this region
 * @property {any} entry its entry in the description of the table; null for the own region
 * @property {any} facts the description of its table; null if that is not known
 * @property {any} status how its changes stand; null if that is not known
 * @property {string} unknown why something of it is not known; empty if all is
 * @property {any} peer what is known of the server that keeps it; null if it is this one
 */

const CLASSES = new Map([["STANDARD", "standard"], ["STANDARD_INFREQUENT_ACCESS", "standard, infrequent access"]]);
export const classText = (name) => CLASSES.get(name) ?? name;

const plain = (status) => String(status).toLowerCase().replaceAll("_", " ");

/** What an entry sets differently from the table, in words. */
export function overridesOf(entry) {
  const units = (one) => [
    ...(one.ProvisionedThroughputOverride ? [`${count(one.ProvisionedThroughputOverride.ReadCapacityUnits, "read unit")}`] : []),
    ...(one.OnDemandThroughputOverride ? [`at most ${count(one.OnDemandThroughputOverride.MaxReadRequestUnits, "read unit")} a second`] : []),
  ];
  const ofIndexes = (entry?.GlobalSecondaryIndexes ?? []).flatMap((one) => units(one).map((text) => `${visible(one.IndexName)}: ${text}`));
  const ofClass = entry?.ReplicaTableClassSummary ? [classText(entry.ReplicaTableClassSummary.TableClass)] : [];
  return [...(entry ? units(entry) : []), ...ofClass, ...ofIndexes];
}

/** What a region lacks of another one's changes. @param {any} way an entry of the other one's status */
export function backlogText(way) {
  if (!way) return html`<span class="dim">not known</span>`;
  if (way.filling) return way.dropped ? html`<b class="tl-bad">its backlog was too large</b>: all items are sent again` : "being filled";
  if (way.backlog === 0) return "none";
  return html`<b class="tl-bad">${count(way.backlog, "change")}</b>, ${sizeText(way.bytes ?? way["backlog-bytes"] ?? 0)}, the oldest ${lagText(way.waits ?? 0)} old`;
}

/** The entry of a status for a region. @param {any} status @param {string} region */
export const wayTo = (status, region) => status?.replicas.find((one) => one.region === region);

/** By how much a region's clock is ahead of others', as far as its changes show it. @param {Member[]} members @param {string} region */
function clockText(members, region) {
  const ahead = Math.max(0, ...members.map((one) => wayTo(one.status, region)?.["clock-ahead"] ?? 0));
  return ahead > 0 ? html`<br><b class="tl-bad">clock ahead</b> by ${lagText(ahead)} at least: its writes win over later ones` : nothing;
}

/** How long changes take. @param {{average: number, longest: number}|null|undefined} latency null: denied */
function latencyText(latency) {
  if (latency === null) return html`<span class="dim">not shown: denied</span>`;
  if (!latency) return html`<span class="dim">none in 15 min</span>`;
  return `${lagText(latency.average)} on average, at most ${lagText(latency.longest)}`;
}

/**
 * @param {object} input
 * @param {string} input.table
 * @param {Member[]} input.members the own region first
 * @param {any[]} input.witnesses
 * @param {Map<string, {average: number, longest: number}|null>} input.latency of changes from the own region
 * @param {(member: Member) => unknown} input.actions
 */
export function replicasView({ table, members, witnesses, latency, actions }) {
  const [own] = members;
  const row = (member) => {
    const { region, isOwn, entry, facts, status, unknown, peer } = member;
    const way = wayTo(own.status, region);
    const stream = facts?.StreamSpecification;
    const overrides = overridesOf(entry);
    const name = isOwn ? html`<b>${visible(region)}</b> <span class="dim">this region</span>` : peer ? visible(region) : html`<a class="md-link" href=${`/${encodeURIComponent(region)}/t/${encodeURIComponent(table)}?tab=regions`}>${visible(region)}</a>`;
    const state = entry?.ReplicaStatus ?? facts?.TableStatus ?? "";
    return html`<tr data-region=${region}><th scope="row">${name}${peer ? html`<br><span class="dim">kept by another server${peer.answered === undefined ? "" : `, which answered ${lagText(peer.answered)} ago`}</span>` : nothing}</th>
      <td>${state === "ACTIVE" ? "active" : html`<b>${plain(state)}</b>`}${entry?.ReplicaStatusDescription ? html`<br>${visible(entry.ReplicaStatusDescription)}` : nothing}${entry?.ReplicaInaccessibleDateTime ? html`<br>since ${timeOf(entry.ReplicaInaccessibleDateTime * 1000)}` : nothing}${unknown ? html`<br><span class="dim">${unknown}</span>` : nothing}${clockText(members, region)}${peer?.fault ? html`<br><b class="tl-bad">problem</b>: ${visible(peer.fault)}` : nothing}</td>
      <td class="is-number">${facts?.ItemCount === undefined ? "" : facts.ItemCount.toLocaleString("en")}</td>
      <td>${facts?.CreationDateTime ? timeOf(facts.CreationDateTime * 1000) : ""}</td>
      <td>${facts ? (stream?.StreamEnabled ? plain(stream.StreamViewType) : "off") : ""}</td>
      <td>${isOwn ? "" : overrides.length > 0 ? overrides.join(", ") : html`<span class="dim">none</span>`}</td>
      <td>${isOwn ? "" : backlogText(way)}</td><td>${isOwn ? "" : latencyText(latency.get(region))}</td><td>${way?.last ? timeOf(way.last) : ""}</td>
      <td>${isOwn ? "" : backlogText(wayTo(status, own.region))}</td>
      <td>${isOwn ? nothing : actions(member)}</td></tr>`;
  };
  return html`<div class="md-table-room" tabindex="0" role="region" aria-label="Replicas"><table class="md-table mf-table"><thead><tr><th scope="col">region</th><th scope="col">status</th><th scope="col" class="is-number">items</th><th scope="col">since</th><th scope="col">stream</th><th scope="col">overrides</th>
      <th scope="col">lacks from ${own.region}</th><th scope="col">latency from ${own.region}</th><th scope="col">last change taken</th><th scope="col">${own.region} lacks</th><th scope="col"><span class="kc-hidden">actions</span></th></tr></thead>
    <tbody>${members.map(row)}${witnesses.map((one) => html`<tr data-region=${one.RegionName}><th scope="row">${visible(one.RegionName)}</th><td>${plain(one.WitnessStatus)}</td><td colspan="9" class="dim">witness: it keeps changes, and no items</td></tr>`)}</tbody></table></div>`;
}
