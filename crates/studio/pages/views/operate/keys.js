// The busiest keys of a table or index and the load of its partitions, drawn as the heat of a model.

import { html, nothing } from "../../vendor/lit-html/lit-html.js";
import { shortText } from "../collections/typed.js";
import { READ_LIMIT, WRITE_LIMIT, bar } from "../model/heat.js";
import { count } from "../model/words.js";
import { shell } from "../quote.js";
import { figure } from "./series.js";

const PARTITIONS_SHOWN = 50;
/** From this share of a key's load on, one item is named. */
const ONE_ITEM = 0.3;

const MINUTE_S = 60;
/** Units a second of a minute's load; the present minute counts for as long as it lasts. */
const rates = (load, seconds) => ({ read: load.readMilliUnits / 1000 / seconds, write: load.writeMilliUnits / 1000 / seconds });

/** The last whole minute, or the present one while nothing else has a load. */
function shown(partition, elapsed) {
  const { last, now } = partition;
  const whole = last.readMilliUnits + last.writeMilliUnits + last.refused > 0;
  return whole ? rates(last, MINUTE_S) : rates(now, Math.max(1, elapsed));
}

/** The address of a key's items. */
function itemsHref({ region, table, index }, key) {
  const search = new URLSearchParams();
  if (index) search.set("index", index.name);
  for (const name of key.pk) search.append("pk", Object.values(key.key[name])[0]);
  return `/${region}/t/${encodeURIComponent(table)}/items?${search}`;
}

/** Why nothing is known, and what makes it known. @param {{heat: any, region: string, table: string}} input */
function without({ heat, region, table }) {
  if (heat.throttle !== "full") {
    return html`<div class="md-nothing"><p><b>Unknown: this server does not enforce the limits of single partitions.</b> It notes the load of keys and partitions only where it enforces them,
      because that load decides on splits. <a class="md-link" href=${`/${region}/operate/keys?table=${encodeURIComponent(table)}`}>Contributor insights</a> count keys here too. ${heat.throttle === "off" ? "Throttling is off here: no request is ever refused." : "Only units of the whole table are enforced here."}</p>
      <p>Enforce them in the whole server with <code>--throttle full</code>, or in this table with a tag:</p>
      <pre class="md-code">aws dynamodb tag-resource --tags Key=keywright:throttle,Value=full \\\n  --resource-arn "$(aws dynamodb describe-table --table-name ${shell(table)} --query Table.TableArn --output text)"</pre></div>`;
  }
  return html`<p class="md-nothing">No request in this minute and the one before.</p>`;
}

/**
 * @param {{heat: any, region: string, table: string, index: {name: string}|null, pk: string[], sk: string[]}} input
 *   `index` is null for the table; `pk` and `sk` are the attributes of the key.
 */
export function keysView({ heat, region, table, index, pk, sk }) {
  if (!heat) return html`<div aria-busy="true" class="op-wait"></div>`;
  const elapsed = (heat.nowMs - heat.sinceMs) / 1000 - MINUTE_S;
  const seconds = MINUTE_S + elapsed;
  if (heat.throttle !== "full" || heat.keys.length === 0) return without({ heat, region, table });
  const all = heat.partitions.reduce((sum, one) => sum + one.last.readMilliUnits + one.last.writeMilliUnits + one.now.readMilliUnits + one.now.writeMilliUnits, 0);
  const most = heat.keys[0].milliUnits;
  return html`<div class="md-table-room" tabindex="0" role="region" aria-label="Hottest keys"><table class="md-table hk-table"><thead><tr>
      <th scope="col">partition key</th>${sk.length > 0 ? html`<th scope="col">mostly one item</th>` : nothing}<th scope="col" class="hk-wide"><span class="kc-hidden">share as a bar</span></th>
      <th scope="col" class="is-number">share</th><th scope="col" class="is-number">units a second</th><th scope="col" class="is-number">refused</th><th scope="col" class="is-number">partition</th></tr></thead>
      <tbody>${heat.keys.map((one) => {
        const share = all > 0 ? one.milliUnits / all : 0;
        const known = pk.length > 0 && pk.every((name) => one.key[name]);
        const text = (of, names) => names.map((name) => (of[name] ? shortText(of[name], 80) : "")).filter(Boolean).join(" / ");
        const single = one.item && one.milliUnits > 0 ? one.item.milliUnits / one.milliUnits : 0;
        return html`<tr class=${one.refused > 0 ? "is-refused" : ""}><th scope="row">${known
            ? html`<a class="md-link" href=${itemsHref({ region, table, index }, { key: one.key, pk })}><code>${text(one.key, pk)}</code></a>`
            : html`<span class="dim">a key without items</span>`}</th>
          ${sk.length > 0 ? html`<td>${single >= ONE_ITEM ? html`<code>${text(one.item.sort, sk)}</code> <span class="dim">${Math.round(single * 100)} %</span>` : html`<span class="dim">spread</span>`}</td>` : nothing}
          <td><svg class="hk-bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect x="0" y="1" height="8" width=${Math.max(0.6, (100 * one.milliUnits) / most)}></rect></svg></td>
          <td class="is-number"><b>${Math.round(share * 100)} %</b></td><td class="is-number">${figure(one.milliUnits / 1000 / seconds)}</td>
          <td class="is-number">${one.refused > 0 ? html`<b class="hk-refused">${one.refused.toLocaleString("en")}</b>` : "0"}</td><td class="is-number">${one.partitions.join(", ")}</td></tr>`;
      })}</tbody></table></div>
    <p class="dim">Of the last ${Math.round(seconds)} seconds, from samples of the load: shares are right within some percent.</p>`;
}

/** The partitions with their loads. @param {any} heat */
export function partitionsView(heat) {
  if (!heat || heat.throttle !== "full" || heat.partitions.length === 0) return nothing;
  const elapsed = (heat.nowMs - heat.sinceMs) / 1000 - MINUTE_S;
  const list = heat.partitions.map((one, at) => ({ ...one, number: at + 1, ...shown(one, elapsed), refused: one.last.refused + one.now.refused }));
  const busy = list.toSorted((one, other) => other.write / WRITE_LIMIT + other.read / READ_LIMIT - one.write / WRITE_LIMIT - one.read / READ_LIMIT).slice(0, PARTITIONS_SHOWN).toSorted((one, other) => one.number - other.number);
  return html`<p class="dim">${count(list.length, "partition")}${list.length > busy.length ? html`, the busiest ${busy.length}` : nothing}. The line in each bar is what one partition serves: ${WRITE_LIMIT.toLocaleString("en")} write and ${READ_LIMIT.toLocaleString("en")} read units a second.</p>
    <ol class="ht-list">${busy.map((one) => {
      const share = Math.max(one.write / WRITE_LIMIT, one.read / READ_LIMIT);
      const verdict = one.refused > 0 || share > 1 ? "hot" : share > 0.5 ? "warm" : "cool";
      return html`<li class="ht is-${verdict}"><div class="ht-head"><b>Partition ${one.number}</b>
          <span class="ht-verdict is-${verdict}"><span aria-hidden="true">${verdict === "hot" ? "▲" : verdict === "warm" ? "◆" : "●"}</span> ${verdict}${one.refused > 0 ? html`, ${one.refused.toLocaleString("en")} refused` : nothing}</span></div>
        ${bar(Math.round(one.write), WRITE_LIMIT, "write")}${bar(Math.round(one.read), READ_LIMIT, "read")}
        ${one.whole ? html`<p class="ht-words">It was due for a split and stays whole: ${one.whole}.</p>` : nothing}</li>`;
    })}</ol>`;
}
