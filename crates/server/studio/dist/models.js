import{b as ot,c as lt,d as N,e as T}from"./collections-kw-picture.js";import{d as gt}from"./model-heat.js";import{a as bt,b as yt}from"./model-entities.js";import{a as x,c as G,d as pt,e as j,f as ut,g as y,h as q,i as mt,j as w,k as F,l as ft,m as $t}from"./model-blocks.js";import{b as rt,c as ct,d as dt,e as D,f as ht}from"./directives-repeat.js";import{b as v}from"./collections-typed.js";import{a as i,b as at,d as r,f as V,g as nt,j as g,k as A,m as I}from"./lit-html-lit-html.js";var H=rt(class extends ct{constructor(){super(...arguments),this.key=r}render(s,t){return this.key=s,t}update(s,[t,e]){return t!==this.key&&(dt(s),this.key=t),e}});function Gt(s,t,e){let n=s.split(`
`).slice(0,t-1),a=[],l=e.length-e.trimStart().length,c=/^\s*((?:- )*)/.exec(e)?.[1]??"";c&&a.unshift("[]");for(let d=n.length-1;d>=0&&l>0;d-=1){let o=n[d];if(o.trim()===""||o.trim().startsWith("#"))continue;let h=o.length-o.trimStart().length;if(h>=l){if(h===l&&c&&o.trimStart().startsWith("- "))continue;continue}if(/^(\s*)- (.*)$/.exec(o)&&h+2===l){a.unshift("[]"),l=h+1,h===0&&(l=.5);continue}let $=/^\s*(?:- )?["']?([^"':#]+)["']?:/.exec(o)?.[1]?.trim();$!==void 0&&a.unshift($),l=h}let m=e.trimStart().replace(/^(- )+/,""),p=[],f="",u="";for(let d of m)d==="{"||d==="["?(p.push(d==="["?`${u}\0[]`:u),f="",u=""):d==="}"||d==="]"?(p.pop(),f="",u=""):d===":"?(u=f.trim(),f=""):d===","?(f="",u=""):f+=d;for(let d of p)d.includes("\0")?a.push(d.split("\0")[0],"[]"):d!==""&&a.push(d);return{path:a,key:u}}function M(s,t){if(!s||typeof s!="object")return[];if(s.$ref)return M(s.$ref.split("/").slice(1).reduce((n,a)=>n?.[a],t),t);let e=[s];for(let n of[...s.oneOf??[],...s.anyOf??[],...s.allOf??[]])e.push(...M(n,t));return e}function vt(s,t,e){let n=M(s,e);for(let a of t)n=n.flatMap(l=>a==="[]"?l.items?M(l.items,e):[]:l.properties&&Object.hasOwn(l.properties,a)?M(l.properties[a],e):l.additionalProperties&&typeof l.additionalProperties=="object"?M(l.additionalProperties,e):[]);return n}var Ht={get:"entities",query:"entities",put:"entities",update:"entities",delete:"entities",of:"entities",parent:"entities",scan:"entities",uses:"indexes",copyOf:"copies",entity:"entities"};function wt(s,t){return({line:e,before:n,text:a})=>{let{path:l,key:c}=Gt(a,e,n),m=/[\w.#-]*$/.exec(n)?.[0]??"",p=n.length-m.length,f=t(),u=[],d=(o,h,b,$)=>{u.some(S=>S.label===o)||u.push({label:o,type:h,detail:b,info:$})};if(/\{[^}:,]*$/.test(n)&&/["'][^"']*\{[^}]*$/.test(n)){let o=f?.entities.find(h=>l.includes(h.name));for(let h of(o??{attributes:[]}).attributes)d(_(h),"property","attribute");return{from:n.length-(/[\w-]*$/.exec(n)?.[0].length??0),options:u}}if(c){let o=Ht[c];if(o==="entities")for(let h of f?.entities??[])d(h.name,"class","entity");if(o==="indexes")for(let h of f?.tables??[])for(let b of h.indexes)d(_(b),"class",`index of ${h.name}`);if(o==="copies")for(let h of f?.entities??[])for(let b of h.attributes)d(`${h.name}.${_(b)}`,"property");for(let h of vt(s,[...l,c],s)){for(let b of h.enum??[])d(String(b),"enum",void 0,h.description);h.const!==void 0&&d(String(h.const),"enum",void 0,h.description),h.type==="boolean"&&(d("true","enum"),d("false","enum"))}return{from:p,options:u}}for(let o of vt(s,l,s))for(let h of Object.keys(o.properties??{})){let b=M(o.properties[h],s).find($=>$.description);u.push({label:h,type:"property",apply:`${h}: `,info:b?.description})}if(l.at(-1)==="given"||l.at(-1)==="example")for(let o of f?.entities??[])for(let h of o.attributes)d(_(h),"property",o.name);return{from:p,options:u}}}var _=s=>typeof s=="string"?s:s.name;function kt(s){let t=new Map,e=n=>{if(!(!n||typeof n!="object")){for(let a of Object.keys(n.properties??{}))for(let l of M(n.properties[a],s)){let c=[l.description,l.enum?l.enum.join(" | "):null].filter(Boolean).join(`
`);if(!c)continue;let m=t.get(a)??new Set;m.add(c),t.set(a,m)}for(let a of Object.values(n))e(a)}};return e(s),(n,a)=>{if(!new RegExp(`(^|[\\s{,-])${n.replace(/[^\w-]/g,"")}:`).test(a))return null;let l=t.get(n);return l?[...l].join(`

`):null}}function Jt(s,t){let e=s.patterns.filter(a=>a.pattern===t);if(e.length===0)return null;let n=0n;for(let a of e)n+=O(a.monthly.dollars);return L(n)}function O(s){let t=s.startsWith("-"),[e,n=""]=s.replace("-","").split("."),a=BigInt(e)*1000000000n+BigInt(n.padEnd(9,"0").slice(0,9));return t?-a:a}function L(s){let t=s<0n?-s:s;return`${s<0n?"-":""}${t/1000000000n}.${(t%1000000000n).toString().padStart(9,"0")}`}var Yt=s=>s.writeUnits>0?`${s.writeUnits} W`:`${s.readUnits} R`,Qt=s=>s<1024?`${s} B`:`${(s/1024).toFixed(1)} KB`;function St({page:s,check:t,cost:e,marks:n,open:a,toggle:l,draw:c}){let m=s?.blocks.find(o=>o.table)?.table;if(!t)return r;let p=new Map((m?.headers??[]).map((o,h)=>[o,h])),f=new Map((m?.rows??[]).map(o=>[o[0],o])),u=(o,h)=>f.get(o)?.[p.get(h)??-1]??"",d=new Map;for(let o of t.patterns)d.set(o.result,(d.get(o.result)??0)+1);return i`
    <div class="md-summary">
      ${[...d].map(([o,h])=>i`<span class="md-tally"><b>${h}</b> ${G(o)}</span>`)}
      <span class=${t.passes?"md-pass":"md-fail"}>${t.passes?"The check passes.":"The check fails."}</span>
    </div>
    <div class="md-table-room" tabindex="0" role="region" aria-label="Access patterns">
    <table class="md-table pt">
      <thead><tr>
        <th scope="col">id</th><th scope="col">pattern</th><th scope="col">rate</th><th scope="col">operation</th>
        <th scope="col" class="pt-index">index</th><th scope="col" class="is-number">read</th><th scope="col" class="is-number">returned</th>
        <th scope="col" class="is-number" title="Capacity units of one request on the sample items of this model">units (sample)</th><th scope="col" class="is-number" title="What the pattern costs a month at its rate, with the counts and sizes that the model declares">a month (at its rate)</th><th scope="col">result</th>
      </tr></thead>
      <tbody>${D(t.patterns,o=>o.id,o=>{let h=e?Jt(e,o.id):null,b=a.has(o.id),$=o.complaints.length>0,S=u(o.id,"rate");return i`
        <tr class=${$?"pt-row is-bad":"pt-row"} id=${`pt-${o.id}`}>
          <td><button class="md-link" title="Go to line ${o.line}" @click=${()=>n.goto?.(o.line,5)}>${o.id}</button></td>
          <td class="pt-text">
            <button class="pt-fold" aria-expanded=${b} @click=${()=>l(o.id)}>
              <span class="pt-title">${o.text??""}</span>
              <span class="pt-ask">${u(o.id,"kind")} ${u(o.id,"of").split(", ").map(C=>pt(C,n.entities))}
              ${u(o.id,"given, order, filter")!=="-"?i`<span class="pt-given">${u(o.id,"given, order, filter")}</span>`:r}</span>
            </button></td>
          <td>${S==="-"||S===""?i`<span class="dim">missing</span>`:S}</td>
          <td>${o.operation??i`<span class="dim">—</span>`}<span class="pt-on" aria-hidden="true">${o.index??o.table??""}</span></td>
          <td class="pt-index">${o.index??o.table??i`<span class="dim">—</span>`}</td>
          <td class="is-number">${xt(o,o.itemsRead,"read",c)}</td>
          <td class="is-number">${xt(o,o.itemsReturned,"returned",c)}</td>
          <td class="is-number">${o.operation?Yt(o):i`<span class="dim">—</span>`}</td>
          <td class="is-number">${h===null?i`<span class="dim">${e?"unknown":"…"}</span>`:y(h)}</td>
          <td>${G(o.result)}</td>
        </tr>
        ${$||b?i`<tr class="pt-more"><td></td><td colspan="9">
              ${o.complaints.map(C=>i`<p class="pt-complaint"><span aria-hidden="true">└ </span>${C}</p>`)}
              ${b?i`
              <dl class="pt-facts">
                ${E("key",o.key?i`<code>${o.key}</code>`:null)}
                ${E("filter",o.filter?i`<code>${o.filter}</code>`:null)}
                ${E("requests",o.requests>1?o.requests:null)}
                ${E("returns",u(o.id,"returns"))}
                ${E("size",u(o.id,"size"))}
                ${E("consistency",u(o.id,"consistency"))}
                ${E("bytes returned",o.bytesReturned?Qt(o.bytesReturned):null)}
                ${E("returned",o.returned?.length?i`<span class="pt-keys">${o.returned.slice(0,12).map(C=>i`<code>${C.join(" / ")}</code>`)}${o.returned.length>12?i` and ${o.returned.length-12} more`:r}</span>`:null)}
              </dl>
              <button class="md-button" @click=${()=>c(o.id)}>Show it in the item collections</button>`:r}
            </td></tr>`:r}`})}</tbody>
    </table></div>`}function xt(s,t,e,n){return t?i`<button class="md-link" title="Show them in the item collections" aria-label=${`${t} ${e} by ${s.id}: show them`} @click=${()=>n(s.id)}>${t}</button>`:t??""}var E=(s,t)=>t===null||t===""||t==="-"||t===void 0?r:i`<div><dt>${s}</dt><dd>${t}</dd></div>`;var Zt=(s,t)=>t===0n?0:Number(s*10000n/t)/100;function J(s,t){let e=0;return i`<svg class="ct-bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
    ${s.map(([n,a])=>{let l=Zt(a,t),c=e;return e+=l,a>0n?Xt(n,c,l):r})}</svg>`}var Xt=(s,t,e)=>at`<rect class="ct-${s}" x=${t} y="1" width=${Math.max(.3,e)} height="8"></rect>`,B=s=>s.index?`${s.table}.${s.index}`:s.table;function te(s){return s.totals.map(t=>{let e=f=>f.table===t.table&&(f.index??null)===t.index,n=(f,u)=>f.filter(e).reduce((d,o)=>d+O(u(o).dollars),0n),a=n(s.patterns,f=>f.reads),l=n(s.patterns,f=>f.writes),c=n(s.storage,f=>f.monthly),m=O(t.monthly.dollars),p=m-a-l-c;return{name:B(t),reads:a,writes:l,storage:c,rest:p>0n?p:0n,all:m}})}function Ot({cost:s,texts:t,settings:e,prices:n,set:a,goto:l}){let c=ee(e,n,a,s);if(!s)return i`<div class="md-page">${c}</div>`;let m=te(s),p=m.reduce((o,h)=>h.all>o?h.all:o,0n),f=new Map;for(let o of s.patterns){let h=f.get(o.pattern)??{reads:0n,writes:0n,rate:o.ratePerSecondMicro,places:[]};h.reads+=O(o.reads.dollars),h.writes+=O(o.writes.dollars),h.places.push(o),f.set(o.pattern,h)}let u=[...f].sort((o,h)=>Number(h[1].reads+h[1].writes-o[1].reads-o[1].writes)),d=u.reduce((o,[,h])=>h.reads+h.writes>o?h.reads+h.writes:o,0n);return i`<div class="md-page ct">
    <div class="ct-total">
      <span class="ct-sum">${y(s.total.dollars)}</span>
      <span>a month ${s.whole?"":i`<b>at least: some patterns have no rate</b>`}<br><span class="dim">at ${s.prices.name}, ${s.monthHours} hours${s.freeTier?", less the free tier":""}</span></span>
      <span class="ct-keys"><span class="ct-k ct-k-reads">reads</span><span class="ct-k ct-k-writes">writes</span><span class="ct-k ct-k-storage">storage</span><span class="ct-k ct-k-rest">features</span></span>
    </div>
    ${c}
    <h3>By table and index</h3>
    <table class="md-table ct-table"><thead><tr><th scope="col">table or index</th><th scope="col" class="ct-wide"><span class="kc-hidden">bar</span></th>
      <th scope="col" class="is-number">reads</th><th scope="col" class="is-number">writes</th><th scope="col" class="is-number">storage</th><th scope="col" class="is-number">a month</th></tr></thead>
      <tbody>${m.map(o=>i`<tr><th scope="row">${o.name}</th>
        <td>${J([["reads",o.reads],["writes",o.writes],["storage",o.storage],["rest",o.rest]],p)}</td>
        <td class="is-number">${y(L(o.reads))}</td><td class="is-number">${y(L(o.writes))}</td>
        <td class="is-number">${y(L(o.storage))}</td><td class="is-number"><b>${y(L(o.all))}</b></td></tr>`)}</tbody></table>
    <h3>By pattern</h3>
    ${u.length===0?i`<p class="md-nothing">No pattern has a rate.</p>`:i`
    <table class="md-table ct-table"><thead><tr><th scope="col">pattern</th><th scope="col" class="ct-wide"><span class="kc-hidden">bar</span></th>
      <th scope="col">rate</th><th scope="col">where</th><th scope="col" class="is-number">units of one</th><th scope="col" class="is-number">a month</th></tr></thead>
      <tbody>${u.map(([o,h])=>i`<tr><th scope="row"><button class="md-link" @click=${()=>l(o)}>${o}</button> <span class="ct-text">${t.get(o)??""}</span></th>
        <td>${J([["reads",h.reads],["writes",h.writes]],d)}</td>
        <td>${mt(h.rate)}</td>
        <td>${[...new Set(h.places.map(B))].join(", ")}</td>
        <td class="is-number">${h.places.map(b=>b.writeUnits>0?`${b.writeUnits} W`:`${b.readUnits} R`).join(" + ")}</td>
        <td class="is-number">${y(L(h.reads+h.writes))}</td></tr>`)}</tbody></table>`}
    ${s.withoutRate.length>0?i`<p class="ct-unknown"><b>Unknown, not zero:</b> ${s.withoutRate.map(o=>typeof o=="string"?o:o.pattern??o.name??"").join(", ")} ${s.withoutRate.length===1?"has":"have"} no rate.</p>`:r}
    <h3>Storage and features</h3>
    <table class="md-table ct-table"><thead><tr><th scope="col">of</th><th scope="col">what</th><th scope="col" class="is-number">a month</th></tr></thead><tbody>
      ${s.storage.map(o=>i`<tr><th scope="row">${B(o)}</th><td>storage, ${$t(o.bytes)}</td><td class="is-number">${y(o.monthly.dollars)}</td></tr>`)}
      ${s.features.map(o=>i`<tr><th scope="row">${o.table}</th><td>${o.name}</td><td class="is-number">${y(o.monthly.dollars)}</td></tr>`)}
      ${s.capacity.map(o=>i`<tr><th scope="row">${B(o)}</th><td>provisioned capacity</td><td class="is-number">${o.monthly?y(o.monthly.dollars):""}</td></tr>`)}
    </tbody></table>
    ${s.entities.some(o=>o.writesOfOne>1)?i`
      <h3>Writes of one write</h3>
      <ul class="ct-amplify">${s.entities.filter(o=>o.writesOfOne>1).map(o=>i`<li>A write of <b>${o.name}</b> is <b>${o.writesOfOne}</b> writes: one to its table, ${o.writesOfOne-1} to indexes.</li>`)}</ul>`:r}
    ${s.tables.map(o=>{let h=O(o.modes[0]?.monthly.dollars??"0"),b=o.modes.reduce(($,S)=>O(S.monthly.dollars)>$?O(S.monthly.dollars):$,h);return o.modes.length===0?r:i`<h3>Ways to pay for ${o.name}, from the cheapest</h3>
      <table class="md-table ct-table"><tbody>${o.modes.map($=>i`<tr><th scope="row">${$.class}, ${$.mode}</th>
        <td class="ct-wide">${J([["mode",O($.monthly.dollars)]],b)}</td><td class="is-number">${y($.monthly.dollars)}</td></tr>`)}</tbody></table>
      <p class="dim">On-demand costs as much as units of which ${q(o.breakEvens.provisionedPpm)} are used${o.breakEvens.reservedOneYearPpm?i` (reserved for 1 year ${q(o.breakEvens.reservedOneYearPpm)}, 3 years ${q(o.breakEvens.reservedThreeYearsPpm)})`:r}${o.breakEvens.infrequentAccessGigabytes?i`; Standard-IA pays from ${o.breakEvens.infrequentAccessGigabytes.toLocaleString("en")} GB`:r}.</p>`})}
    ${s.notes?.length>0?i`<ul>${s.notes.map(o=>i`<li>${o}</li>`)}</ul>`:r}
    <details class="ct-prices"><summary>Prices used, of ${s.prices.name}</summary>
      <table class="md-table"><thead><tr><th scope="col">price</th><th scope="col" class="is-number">each</th><th scope="col">date</th><th scope="col">source</th></tr></thead>
        <tbody>${s.prices.used.map(o=>i`<tr><td>${o.item}</td><td class="is-number">${ut(o.each.dollars)}</td><td>${o.date}</td><td>${o.source}</td></tr>`)}</tbody></table></details>
  </div>`}function ee(s,t,e,n){let a=(c,m,p,f)=>i`<label class="ct-setting"><span>${m}</span>
    <span class="ct-field"><input type="number" min="0" .value=${String(s[c]??f)} @change=${u=>e(c,u.target.value===""?void 0:Number(u.target.value))}>${p}</span></label>`,l=(c,m)=>i`<label class="ct-setting is-flag"><input type="checkbox" .checked=${!!s[c]} @change=${p=>e(c,p.target.checked)}> <span>${m}</span></label>`;return i`<fieldset class="ct-settings"><legend>Settings</legend>
    <label class="ct-setting"><span>Prices of</span><select @change=${c=>e("prices",c.target.value||void 0)}>
      <option value="" ?selected=${!s.prices}>the model's${n&&!s.prices?` (${n.prices.name})`:""}</option>
      ${t.map(c=>i`<option value=${c} ?selected=${s.prices===c}>${c}</option>`)}</select></label>
    ${a("monthHours","A month is","hours",730)}
    ${a("usedPercent","Provisioned units used","%",70)}
    ${a("streamReads","GetRecords a second","",0)}
    ${a("backups","Full backups kept","",0)}
    ${a("restores","Restores a month","",0)}
    ${a("exports","Exports a month","",0)}
    ${l("freeTier","Less the free tier")}
    ${l("decimalGigabytes","A gigabyte is 10⁹ bytes")}
    ${l("changeCapture","Changes to Kinesis")}
  </fieldset>`}function Ct({answer:s,settings:t,set:e,run:n,running:a,take:l,compare:c,taken:m,tables:p,marks:f,now:u,error:d}){return i`<div class="md-page">
    <p class="md-about">Finds the keys and indexes that answer every pattern with one request at the least cost, and proves that fewer do not.
      Entities need a <code>count</code> and <code>unique</code> or keys, patterns a <code>rate</code>.</p>
    <fieldset class="ct-settings"><legend>Settings</legend>
      ${p.length>1?i`<label class="ct-setting"><span>Table</span><select @change=${o=>e("table",o.target.value||void 0)}>
        <option value="">all</option>${p.map(o=>i`<option value=${o} ?selected=${t.table===o}>${o}</option>`)}</select></label>`:r}
      <label class="ct-setting"><span>At most</span><span class="ct-field"><input type="number" min="0" max="20" .value=${String(t.indexes??5)}
        @change=${o=>e("indexes",Number(o.target.value))}>indexes</span></label>
      <label class="ct-setting"><span>Prefixes of keys</span><select @change=${o=>e("keys",o.target.value)}>
        <option value="short" ?selected=${t.keys!=="readable"}>short</option><option value="readable" ?selected=${t.keys==="readable"}>readable</option></select></label>
      <label class="ct-setting is-flag"><input type="checkbox" .checked=${!!t.keep} @change=${o=>e("keep",o.target.checked)}> <span>Keep the keys there are</span></label>
      <label class="ct-setting is-flag"><input type="checkbox" .checked=${t.multiAttributeKeys!==!1} @change=${o=>e("multiAttributeKeys",o.target.checked)}> <span>Keys of several attributes</span></label>
      <button class="md-button is-main" ?disabled=${a} @click=${n}>${a?"Searching…":s?"Search again":"Find the keys"}</button>
    </fieldset>
    ${d&&!d.faults?.length?i`<p class="md-error" role="alert">${d.message}</p>`:r}
    ${d?.faults?.length?i`<div class="md-error" role="alert"><p><b>There is no design:</b></p><ul>${d.faults.map(o=>i`<li>${o.line?i`<button class="md-link" @click=${()=>f.goto(o.line,o.column)}>line ${o.line}</button> `:r}${v(o.text)}</li>`)}</ul></div>`:r}
    ${s?se(s,{take:l,compare:c,taken:m,marks:f,now:u}):r}
  </div>`}function se(s,{take:t,compare:e,taken:n,marks:a,now:l}){let c=s.tables??[];return i`
    ${s.shown?i`<p class="dg-answer" role="status">${ne(l,s.bill)}${c.map(oe)}</p>`:r}
    <div class="dg-verdict ${s.agrees?"is-good":"is-bad"}">
      <span aria-hidden="true">${s.agrees?"✓":"✗"}</span>
      <span>${s.trial||(s.agrees?"Proved on generated items.":"The proof failed.")}</span>
      <span class="dg-actions">
        <button class=${N({"md-button":!0,"is-main":!s.bill||ae(l.cost,s.bill)})} @click=${t}>Take it as a new file</button>
        <button class="md-button" @click=${e}>Compare with this model</button></span>
    </div>
    ${n?i`<p class="md-pass">Saved as <a class="md-link" href=${`/models/${encodeURIComponent(n)}/patterns`}>${n}</a>; this model is untouched.</p>`:r}
    ${(s.notices??[]).map(m=>i`<p class="dg-notice">${v(String(m))}</p>`)}
    ${s.shown?i`<div class="dg-columns">
      ${Et("Now",l.keys,l.cost,a)}
      ${Et("Proposed",s.shown.keys,s.shown.cost,a)}</div>`:r}
    ${s.fault?i`<p class="md-error" role="alert">${s.fault}</p>`:r}
    ${c.map(m=>le(m,s.bill))}
    <h3>Why these keys, what fewer would cost, and the next best</h3>
    ${re(s.text)}
    <details class="ct-prices"><summary>The proposed model</summary><pre class="md-drawing" tabindex="0" role="region" aria-label="The proposed model">${Lt(s.model)}</pre></details>`}var Lt=s=>s.split(`
`).map(v).join(`
`),P=1e7,ie=3,U=s=>y((s/1e9).toFixed(9)),Rt=s=>s.reduce((t,e)=>t+e.monthly.nanoDollars,0);function Tt(s){let t=new Map([["storage",Rt(s.storage)]]);for(let e of s.patterns)t.set(e.pattern,(t.get(e.pattern)??0)+e.monthly.nanoDollars);return t}var At=(s,t)=>{let e=n=>Math.floor((n.total.nanoDollars+P/2)/P)*P;return Math.abs(s.total.nanoDollars-t.total.nanoDollars)<P?0:e(s)-e(t)},ae=(s,t)=>!s||At(s,t)>0;function ne({cost:s,passes:t,unanswered:e},n){let a=y(n.total.dollars);if(!s)return i`<b>The cheapest keys cost ${a} a month.</b> The model as it stands has no bill to compare with.`;let l=At(s,n),c=e>0?", but they do not answer every pattern: see Findings":t===!1?", but the check fails: see Findings":t===null?": compare Findings":"",m=s.whole?r:i` The bill of your keys lacks what has no rate or does not run, so it is a lower bound.`;if(l===0)return i`<b>Your keys are already the cheapest: ${y(s.total.dollars)} a month${c}.</b> The proposal costs the same${e>0?" and answers every pattern":"; nothing is gained by taking it"}.${m}`;let[p,f]=[Tt(s),Tt(n)],d=[...new Set([...p.keys(),...f.keys()])].map($=>[$,(p.get($)??0)-(f.get($)??0)]).filter(([,$])=>Math.sign($)===Math.sign(l)&&Math.abs($)>=P).sort(([,$],[,S])=>Math.abs(S)-Math.abs($)).slice(0,ie),o=d.length>0?i` Most of it: ${d.map(([$,S],C)=>i`${C>0?", ":""}${$} ${U(Math.abs(S))}`)}.`:r,h=`your keys leave ${e===1?"one pattern":`${e} patterns`} without the answer that the model asks for`;if(l<0&&e>0)return i`<b>The proposed keys cost ${U(-l)} a month more,</b> ${a} instead of ${y(s.total.dollars)}, and answer every pattern: ${h}.${o}${m}`;if(l<0)return i`<b>Your keys are cheaper by ${U(-l)} a month:</b> ${y(s.total.dollars)} against ${a}${c}. The search answers every pattern with one request and keeps to the settings above; yours need not.${o}${m}`;let b=100*l/s.total.nanoDollars;return i`<b>The proposed keys save ${U(l)} a month</b> (${b<1?"less than 1":Math.round(b)} %): ${a} instead of ${y(s.total.dollars)}.${o}${e>0?` They also answer every pattern: ${h}.`:""}${m}`}function oe({table:s,fewer:t}){return!t?.more||t.more.nanoDollars>-P?r:i` <b>With ${t.indexes===0?"no index":t.indexes===1?"one index":`${t.indexes} indexes`} ${s} would cost ${U(-t.more.nanoDollars)} less still:</b> it needs derived items, which the search estimates higher than the bill. Set “At most” to ${t.indexes} to see it.`}var Mt=s=>y(s.dollars,"+");function le(s,t){let e=s.explanation,n=t.totals.filter(l=>s.tables.includes(l.table)),a=[["proposed",s.indexes,U(Rt(n)),s.fewer?.more?.nanoDollars<0?"the cheapest by the search's estimate":"proved the cheapest"],...s.fewer?[["fewer indexes",s.fewer.indexes,s.fewer.more?Mt(s.fewer.more):"—",s.fewer.reason??(s.fewer.more?"needs derived items":"")]]:[],...(e?.runnersUp??[]).map((l,c)=>[c===0?"next best":"after that","",l.more?Mt(l.more):"—","estimated"])];return i`<h3>Ways for ${s.table}</h3>
    <table class="md-table dg-ways"><thead><tr><th scope="col">design</th><th scope="col" class="is-number">indexes</th><th scope="col" class="is-number">a month</th><th scope="col">why</th></tr></thead>
      <tbody>${a.map(l=>i`<tr><th scope="row">${l[0]}</th><td class="is-number">${l[1]}</td><td class="is-number">${l[2]}</td><td>${typeof l[3]=="string"?v(l[3]):r}</td></tr>`)}</tbody></table>
    ${e?.patterns?.length>0?i`<details class="ct-prices"><summary>What each pattern adds</summary>
      <table class="md-table"><thead><tr><th scope="col">pattern</th><th scope="col" class="is-number">without it, less a month (estimated)</th><th scope="col" class="is-number">indexes without it</th><th scope="col">forces an index</th></tr></thead>
      <tbody>${e.patterns.map(l=>i`<tr><th scope="row">${l.pattern}</th><td class="is-number">${y(l.saves.dollars)}</td><td class="is-number">${l.indexesWithout}</td><td>${l.forces?"yes":"no"}</td></tr>`)}</tbody></table></details>`:r}
    ${e?.breakEvens?.length>0?i`<ul>${e.breakEvens.map(l=>i`<li>At ${l.percent} % of its rate, ${l.pattern} turns the design.</li>`)}</ul>`:r}`}function Et(s,t,e,n){let a=t?.views.find(l=>l.name==="keys");return i`<section class="dg-column" aria-label=${s}>
    <h3>${s} ${e?i`<span class="dg-bill">${y(e.total.dollars)} <span class="dim">a month${e.whole?"":", at least"}</span></span>`:r}</h3>
    ${a?j(a,{...n,goto:null},{title:!1}):i`<p class="dim">Nothing that runs yet.</p>`}
  </section>`}function re(s){let t=s.trimEnd().split(/\n\n+/);return i`<div class="dg-words">${t.map(e=>/\S {2,}\S/.test(e.split(`
`)[0])&&e.split(`
`).length>1?i`<pre class="md-drawing" tabindex="0" role="region" aria-label="Keys">${Lt(e)}</pre>`:i`<ul>${e.split(`
`).map(n=>i`<li>${v(n)}</li>`)}</ul>`)}</div>`}var ce={added:"+",removed:"−",changed:"~"},de={table:"Table",application:"Application",job:"Job","new data":"New data"};function Nt({answer:s,before:t,after:e,sides:n,choose:a,rate:l,setRate:c,texts:m,showTexts:p,pair:f,error:u}){let d=(o,h,b)=>i`<label class="df-side"><span>${b}</span>
    <select @change=${$=>a(o,$.target.value)}>${n.map($=>i`<option value=${$.id} ?selected=${$.id===h}>${$.label}</option>`)}</select></label>`;return i`<div class="md-page">
    <div class="df-bar">
      ${d("before",t,"Before")}
      <span class="df-arrow" aria-hidden="true">→</span>
      ${d("after",e,"After")}
      <label class="df-side"><span>Write units a second for jobs</span><input type="number" min="1" .value=${String(l)} @change=${o=>c(Number(o.target.value)||1e3)}></label>
      <button class="md-button" aria-pressed=${m} @click=${()=>p(!m)}>${m?"Hide the texts":"Both texts"}</button>
    </div>
    ${m&&f?i`<kw-merge class="df-merge" .a=${f.a} .b=${f.b}></kw-merge>`:r}
    ${u?i`<div class="md-error" role="alert"><p>${u.message}</p>${u.faults?.length?i`<ul>${u.faults.map(o=>i`<li>${o.text}</li>`)}</ul>`:r}</div>`:r}
    ${s?he(s.difference??s):r}
  </div>`}function he(s){return i`
    <h3>What changes</h3>
    ${s.changes.length===0?i`<p class="md-nothing">Nothing: both are the same model.</p>`:r}
    <ul class="df-list">${s.changes.map(t=>i`<li class="df is-${t.change}">
      <span class="df-sign" aria-hidden="true">${ce[t.change]??"~"}</span>
      <span><span class="df-what">${t.thing} ${t.name} ${t.change}</span>${t.detail?i`: <code>${t.detail}</code>`:r}</span></li>`)}</ul>
    ${s.summary.length>0?i`<ul>${s.summary.map(t=>i`<li>${x(typeof t=="string"?t:t.text??"")}</li>`)}</ul>`:r}
    ${s.notPlanned?.length>0?i`<h3>Not planned</h3><ul>${s.notPlanned.map(t=>i`<li>${x(pe(t))}</li>`)}</ul>`:r}
    <h3>The way there</h3>
    ${s.steps.length===0?i`<p>${s.plan==="whole"?"There is nothing to move.":"No plan could be made; until the reasons above are resolved, nothing is moved or deleted."}</p>`:i`<p class="dim">The application keeps running. ${s.cost} once, ${s.readUnits.toLocaleString("en")} read and ${s.writeUnits.toLocaleString("en")} write units, on demand at ${s.prices} (read ${s.pricesRead}).</p>
      <ol class="df-steps">${s.steps.map(t=>i`<li class="df-step">
        <div class="df-step-head"><span class="df-who is-${t.who.split(" ")[0]}">${de[t.who]??t.who}</span><b>${t.step}</b>
          ${t.readUnits+t.writeUnits>0?i`<span class="dim">${[t.readUnits>0?`${t.readUnits.toLocaleString("en")} read units`:"",t.writeUnits>0?`${t.writeUnits.toLocaleString("en")} write units`:""].filter(Boolean).join(", ")}, ${t.cost}${t.seconds?`, ${t.seconds.toLocaleString("en")} seconds`:""}</span>`:r}</div>
        <ul>${t.operations.map(e=>i`<li>${x(e.text)}</li>`)}</ul></li>`)}</ol>`}`}var pe=s=>typeof s=="string"?s:s.text??s.reason??"";var Y=["error","warning","note"],Dt={error:"●",warning:"▲",note:"□"};function Pt({check:s,faults:t,rules:e,open:n,toggle:a,goto:l,by:c,sort:m}){if(t.length>0)return i`<div class="md-page"><h2>${w(t.length,"fault")}: the file does not read</h2>
      <ul class="fd-list">${t.map(d=>i`<li class="fd is-error"><div class="fd-head">
        <span class="fd-sign" aria-hidden="true">●</span><span class="fd-text">${x(d.text)}</span>
        <button class="md-link" @click=${()=>l(d.line,d.column)}>line ${d.line}</button></div></li>`)}</ul></div>`;if(!s)return r;let p=new Map(Y.map(d=>[d,0]));for(let d of s.findings)p.set(d.severity,(p.get(d.severity)??0)+1);let f=new Map;for(let d of s.findings){let o=c==="severity"?d.severity:c==="rule"?d.rule:d.subject,h=f.get(o);h?h.push(d):f.set(o,[d])}let u=c==="severity"?Y.filter(d=>f.has(d)):[...f.keys()].sort();return i`<div class="md-page">
    <div class="md-summary">
      ${Y.map(d=>i`<span class="md-tally fd-${d}"><span class="fd-sign" aria-hidden="true">${Dt[d]}</span> <b>${p.get(d)}</b> ${p.get(d)===1?d:`${d}s`}</span>`)}
      <label class="md-choose">By <select @change=${d=>m(d.target.value)}>
        ${["severity","rule","subject"].map(d=>i`<option value=${d} ?selected=${c===d}>${d}</option>`)}</select></label>
    </div>
    ${s.findings.length===0?i`<p class="md-nothing">No rule has anything to say about this model.</p>`:r}
    ${u.map(d=>i`
      <h3 class="fd-group">${c==="severity"?`${d}s`:d}${c==="rule"&&e?.get(d)?i` <span class="dim">${e.get(d).title}</span>`:r}</h3>
      <ul class="fd-list">${D(f.get(d),o=>`${o.rule} ${o.subject} ${o.line} ${o.text}`,o=>{let h=`${o.rule} ${o.subject} ${o.line} ${o.text}`,b=n.has(h);return i`<li class="fd is-${o.severity}">
          <div class="fd-head">
            <span class="fd-sign" aria-hidden="true">${Dt[o.severity]}</span>
            <span class="fd-rule">${o.rule}</span>
            <span class="fd-text"><span class="kc-hidden">${o.severity}: </span>${x(o.text)}</span>
            <button class="md-link fd-line" @click=${()=>l(o.line,o.column)}>line ${o.line}</button>
          </div>
          ${o.fix?i`<p class="fd-fix"><span aria-hidden="true">→</span> ${x(o.fix)}</p>`:r}
          <button class="fd-why" aria-expanded=${b} @click=${()=>a(h)}>${b?"Hide why":"Why"}</button>
          ${b?i`<div class="fd-explain">${e?.get(o.rule)?e.get(o.rule).text.trim().split(/\n\n+/).slice(1).map($=>i`<p>${x($)}</p>`):i`<p class="dim">…</p>`}</div>`:r}
        </li>`})}</ul>`)}
  </div>`}var It=60,ue=2,me=24,fe=[["reads",0],["writes",1]],Ut=new WeakMap;function $e(s){let t=Ut.get(s);return t||(t=URL.createObjectURL(new Blob([s.svg],{type:"image/svg+xml"})),Ut.set(s,t)),t}var be=s=>Date.parse(s)/1e3,jt=s=>s.index?`${s.table}.${s.index}`:s.table,Wt=s=>y(`${s<0?"-":""}${Math.floor(Math.abs(s)/1e9)}.${String(Math.abs(s)%1e9).padStart(9,"0")}`),Z=s=>s/ue/It,z=s=>Object.values(s.refused).reduce((t,e)=>t+e,0);function Kt(s){let{profile:t,edit:e,reset:n,run:a,running:l,answer:c,fresh:m,error:p,marks:f}=s;return i`<div class="md-page sl-page">
    <p class="md-about">Runs the requests of all patterns on a virtual clock against the limits of the service: provisioned units with burst, partitions that split, levels on demand, auto scaling. Nothing of your tables is touched.</p>
    <div class="sl-editor" @keydown=${u=>{u.key==="Enter"&&(u.ctrlKey||u.metaKey)&&(u.preventDefault(),u.stopPropagation(),a())}}
      @dragover=${u=>u.preventDefault()} @drop=${u=>{let d=u.dataTransfer?.files[0];d&&(u.preventDefault(),u.stopPropagation(),s.open(d))}}>
      <kw-editor class="sl-profile" .value=${t} .label=${"Traffic profile"} .diagnostics=${f} @change=${u=>{u.stopPropagation(),e(u.detail.value)}} @save=${u=>u.stopPropagation()}></kw-editor>
    </div>
    <div class="sl-actions">
      <button class="md-button is-main" ?disabled=${!!l} @click=${a}>${l?"Simulating…":c?"Simulate again":"Simulate"}</button>
      ${l?.progress?.of?i`<progress max=${l.progress.of} .value=${l.progress.done} aria-label=${l.progress.what}></progress><span class="dim">${l.progress.done.toLocaleString("en")} of ${l.progress.of.toLocaleString("en")} ${l.progress.what.split(" ").at(-1)}</span>`:r}
      ${l?i`<button class="md-button" @click=${s.stop}>Stop</button>`:r}
      <label class="dim">Prices <select @change=${u=>s.setPrice(u.target.value)}><option value="" ?selected=${!s.price}>the model's</option>${s.prices.map(u=>i`<option value=${u} ?selected=${u===s.price}>${u}</option>`)}</select></label>
      <label class="md-button mf-file">Open a profile<input class="kc-hidden" type="file" accept=".yaml,.yml" @change=${u=>{let d=u.target.files[0];d&&s.open(d),u.target.value=""}}></label>
      <button class="md-button" @click=${()=>T(`${s.name.replace(/\.yaml$/,"")}-profile.yaml`,"text/yaml",t)}>Save it as a file</button>
      <button class="md-link" @click=${n}>Begin again</button>
    </div>
    ${p?i`<div class="md-error" role="alert">${p.faults?.length?i`<p><b>${p.more?.of==="profile"?"The profile does not read:":"The model does not run:"}</b></p><ul>${p.faults.map(u=>i`<li>line ${u.line}: ${v(u.text)}</li>`)}</ul>`:i`<p>${v(p.message)}</p>`}</div>`:r}
    ${c?i`${m?r:i`<p class="md-stale">Of an older text or profile.</p>`}<div class=${m?"":"sl-old"}>${ge(c,s)}</div>`:r}
  </div>`}function ge(s,{name:t}){let e=s.report,n=e["throttled-per-minute"],a=n.filter(p=>p>0).length,l=Math.max(0,...n),c=(p,f,u,d=!1)=>i`<li class=${`op-tile${d?" is-bad":""}`}><span class="op-name">${p}</span><span class="op-value">${f}</span><span class="op-unit">${u}</span></li>`,m=a===0;return i`
    <div class=${`dg-verdict ${m?"is-good":"is-bad"}`} role="status"><span aria-hidden="true">${m?"✓":"✗"}</span><span><b>${v(e.answer)}</b></span></div>
    ${e.broken.length>0?i`<div class="md-error"><p><b>Not as the profile expects:</b></p><ul>${e.broken.map(p=>i`<li>${v(p)}</li>`)}</ul></div>`:r}
    <ul class="op-tiles" aria-label="In short">
      ${c("Requests",e.requests.toLocaleString("en"),`in ${Math.round(e["length-seconds"]/It).toLocaleString("en")} minutes`)}
      ${c("Refused",n.reduce((p,f)=>p+f,0).toLocaleString("en"),a>0?`in ${w(a,"minute")}, at most ${l.toLocaleString("en")} in one`:"at no attempt",a>0)}
      ${c("Lost",e.lost.toLocaleString("en"),`after ${w(e.retries,"further attempt")}`,e.lost>0)}
      ${c("A month",y(s.total.replace("$","").replaceAll(",","")),`of this traffic, at ${e.prices}`)}</ul>
    <h3>Demand, capacity and refusals</h3>
    <div class="op-charts op">${ve(e)}</div>
    ${we(e)}
    <h3>Splits and scaling</h3>
    ${e.events.length===0?i`<p class="md-nothing">No partition split, and no capacity changed.</p>`:i`<div class="md-table-room sl-events" tabindex="0" role="region" aria-label="Splits and scaling"><table class="md-table"><thead><tr><th scope="col">minute</th><th scope="col">table or index</th><th scope="col">what</th></tr></thead>
      <tbody>${e.events.map(p=>i`<tr><th scope="row">${Vt(p.minute)}</th><td>${jt(p)}</td><td>${v(p.text)}</td></tr>`)}</tbody></table></div>`}
    <h3>Bill of a month</h3>
    <table class="md-table"><thead><tr><th scope="col">table</th><th scope="col">mode</th><th scope="col" class="is-number">a month</th></tr></thead><tbody>
      ${e.bill.map(p=>i`<tr><th scope="row">${p.table}</th><td>${p.mode} <span class="dim">as simulated</span></td><td class="is-number"><b>${Wt(p["monthly-nano-dollars"])}</b></td></tr>
        ${p.others.map(f=>i`<tr><td></td><td>${f.mode}</td><td class="is-number">${Wt(f["monthly-nano-dollars"])}</td></tr>`)}`)}</tbody></table>
    ${e["left-out"].length>0?i`<p class="ct-unknown"><b>Not run:</b> ${e["left-out"].map((p,f)=>i`${f>0?"; ":""}${p.pattern}, ${v(p.reason)}`)}</p>`:r}
    ${e.assumptions.length>0?i`<h3>Assumptions of ours</h3><ul>${e.assumptions.map(p=>i`<li>${v(p)}</li>`)}</ul>`:r}
    <h3>Take it along</h3>
    <p class="sl-actions"><button class="md-button" @click=${()=>T(`${Q(t)}.svg`,"image/svg+xml",s.svg)}>Picture (SVG)</button>
      <button class="md-button" @click=${()=>T(`${Q(t)}.csv`,"text/csv",s.csv)}>Minutes (CSV)</button>
      <button class="md-button" @click=${()=>T(`${Q(t)}.txt`,"text/plain",s.text)}>Text</button></p>
    <details class="ct-prices"><summary>The picture, for people who do not read tables</summary><img class="sl-picture" src=${$e(s)} alt=${e.answer}></details>
    <details class="ct-prices"><summary>The words of <code>keywright simulate</code></summary><pre class="md-drawing" tabindex="0" role="region" aria-label="Words of the command">${ye(s.text)}</pre></details>`}var Q=s=>`${s.replace(/\.yaml$/,"")}-simulated`,ye=s=>s.split(`
`).map(v).join(`
`),Vt=s=>s.replace(/^.*T/,"").replace(/Z$/,"");function ve(s){return s.resources.flatMap(e=>fe.filter(([,n])=>e.minutes.some(a=>a["demanded-half-units"][n]>0)).map(([n,a])=>({own:e,tone:n,at:a}))).slice(0,me).map(({own:e,tone:n,at:a})=>{let l=e.minutes.map(o=>Z(o["demanded-half-units"][a])),c=e.minutes.map(o=>o["limit-units-per-second"][a]),p=e.minutes.map(z).reduce((o,h)=>o+h,0),f=new Map;for(let o of e.minutes)for(let[h,b]of Object.entries(o.refused))h.includes(n==="reads"?"Read":"Write")&&f.set(h,(f.get(h)??0)+b);let u=[e.minutes[0].partitions,e.minutes[e.minutes.length-1].partitions],d={title:`${e.index?`Index ${e.index} of ${e.table}`:e.table}: ${n}`,unit:"units a second",times:e.minutes.map(o=>be(o.minute)),zone:"UTC",lines:[{name:"asked for",tone:f.size>0?"bad":"plain",kind:"bars",values:l},{name:"served",tone:n,kind:"bars",values:e.minutes.map(o=>Z(o["consumed-half-units"][a]))},{name:"limit",tone:"limit",kind:"limit",values:c}],note:i`${u[0]===u[1]?w(u[0],"partition"):`${u[0]} → ${u[1]} partitions`}.
        ${f.size>0?i`<span class="tl-bad">Refused:</span> ${[...f].map(([o,h],b)=>i`${b>0?", ":""}${h.toLocaleString("en")} × ${o}`)}.`:p>0?r:"Nothing refused."}`};return i`<kw-chart .chart=${d}></kw-chart>`})}function we(s){let t=s.resources.flatMap(e=>{let n=e.minutes.filter(a=>a.heaviest).toSorted((a,l)=>z(l)-z(a)||K(l)-K(a))[0];return n?[{own:e,worst:n}]:[]});return t.length===0?r:i`<h3>The busiest partition, in the worst minute</h3><div class="md-table-room" tabindex="0" role="region" aria-label="The busiest partitions"><table class="md-table"><thead><tr><th scope="col">table or index</th><th scope="col">minute</th><th scope="col" class="is-number">partition</th><th scope="col" class="is-number">units a second</th><th scope="col">its busiest key</th><th scope="col" class="is-number">of that</th><th scope="col" class="is-number">refused</th></tr></thead>
    <tbody>${t.map(({own:e,worst:n})=>{let{heaviest:a}=n,l=z(n);return i`<tr><th scope="row">${jt(e)}</th><td>${Vt(n.minute)}</td><td class="is-number">${a.partition} of ${n.partitions}</td><td class="is-number">${Math.round(Z(K(n))).toLocaleString("en")}</td>
        <td>${a.key===null?i`<span class="dim">–</span>`:i`<code>${v(a.key)}</code>`}</td><td class="is-number">${a.key===null||K(n)===0?"":`${Math.round(100*a["key-half-units"]/K(n))} %`}</td>
        <td class="is-number">${l>0?i`<span class="tl-bad">${l.toLocaleString("en")}</span>`:"0"}</td></tr>`})}</tbody></table></div>`}var K=s=>s.heaviest["asked-half-units"][0]+s.heaviest["asked-half-units"][1];var ke=250,xe=800,R=new Map;function qt(s){let t=R.get(s);return t||(t=new X(s),R.set(s,t)),t}function W(s){R.get(s)?.stop(),R.delete(s)}function Ft(){return[...R.values()].filter(s=>s.dirty).map(s=>s.name)}var X=class extends EventTarget{constructor(t){super(),this.name=t,this.text=null,this.saved=null,this.savedAt=0,this.example=!1,this.missing=!1,this.faults=[],this.outline=null,this.parsed=null,this.kept=new Map,this.errors=new Map,this.busy=null,this.failed=null,this.timers={parse:0,check:0},this.wants=()=>{},this.turn=0,this.reading=null}tell(){this.dispatchEvent(new Event("change"))}get dirty(){return this.text!==null&&(this.saved===null?!this.example||this.touched:this.text!==this.saved.text)}get touched(){return this.original!==void 0&&this.text!==this.original}read(){return this.text!==null||this.missing?Promise.resolve():(this.reading??=this.readNow().finally(()=>{this.reading=null}),this.reading)}async readNow(){try{let e=(await g("models/list",{})).models.find(l=>l.name===this.name||l.name===`${this.name}.yaml`);if(e){let l=await g("models/read",{name:e.name});this.name=e.name,this.saved={text:l.text,hash:l.hash},this.savedAt=e.changedMs??0,this.take(l.text);return}let a=(await g("examples/list",{})).examples.find(l=>l.name===this.name||`${l.name}.yaml`===this.name||l.name===`${this.name}.yaml`);if(a){let l=await g("examples/read",{name:a.name});this.example=!0,this.info=a,this.take(l.text);return}this.missing=!0}catch(t){this.failed=t}this.tell()}take(t){this.original=t,this.text=t,this.failed=null,this.tell(),this.parse(),this.check()}edit(t){t!==this.text&&(this.text=t,this.busy?.stop(),clearTimeout(this.timers.parse),clearTimeout(this.timers.check),this.timers.parse=window.setTimeout(()=>this.parse(),ke),this.timers.check=window.setTimeout(()=>this.check(),xe),this.tell())}async parse(){let t=this.text;try{let e=await g("model/parse",{text:t});if(t!==this.text)return;this.faults=e.faults,this.parsed=t,e.outline&&(this.outline=e.outline)}catch(e){if(t!==this.text)return;this.failed=e}this.tell()}async check(){await this.need("check","model/check",{}),this.wants()}fresh(t){return this.kept.get(t)?.of===this.text}last(t){return this.kept.get(t)?.value??null}async need(t,e,n,a=l=>({text:l,name:this.name})){let l=this.text;if(l===null||this.fresh(t)||this.errors.get(t)?.of===l)return;if(this.busy&&this.busy.key===t&&this.busy.of===l){await this.busy.ended;return}let c=new AbortController,m=()=>{},p=new Promise(d=>{m=()=>d(void 0)}),f={key:t,of:l,what:t,progress:null,since:Date.now(),stop:()=>c.abort(),ended:p};this.busy&&this.busy.key===t&&this.busy.stop(),this.busy=f,this.tell();let u=performance.now();try{let d=await A(e,{...a(l),...n},{signal:c.signal,progress:o=>{f.progress=o,this.tell()}});this.kept.set(t,{of:l,at:Date.now(),took:performance.now()-u,value:d}),this.errors.delete(t)}catch(d){!c.signal.aborted&&!(d instanceof nt&&d.kind==="cancelled")&&this.errors.set(t,{error:d,of:l})}finally{this.busy===f&&(this.busy=null),m(),this.tell()}}error(t){let e=this.errors.get(t);return e&&e.of===this.text?e.error:null}marks(){if(this.faults.length>0&&this.parsed===this.text)return this.faults.map(a=>({line:a.line,column:a.column,severity:"error",message:a.text}));let t=this.error("check");if(t?.faults?.length)return t.faults.map(a=>({line:a.line,column:a.column,severity:"error",message:a.text}));let e=this.fresh("check")?this.last("check"):null;if(!e)return[];let n=[];for(let a of e.patterns)for(let l of a.complaints)n.push({line:a.line,column:5,severity:"error",message:`${a.id}: ${l}`});for(let a of e.findings)n.push({line:a.line,column:a.column,severity:a.severity==="error"?"error":a.severity==="warning"?"warning":"info",message:`${a.rule}: ${a.text}${a.fix?`
→ ${a.fix}`:""}`});return n}async save(){let t=this.text,e=this.name.endsWith(".yaml")?this.name:`${this.name}.yaml`,n=await g("models/write",{name:e,text:t,hash:this.saved?this.saved.hash:null});this.saved={text:t,hash:n.hash},this.savedAt=Date.now(),this.example=!1,this.original=t,this.name!==e&&(R.delete(this.name),this.name=e,R.set(e,this)),this.tell()}stop(){clearTimeout(this.timers.parse),clearTimeout(this.timers.check),this.busy?.stop()}};var zt=[["Describe",[["edit","Text"],["patterns","Patterns"],["entities","Entities"]]],["Choose keys",[["design","Design"],["keys","Keys"],["indexes","Indexes"],["copies","Copies"],["collections","Collections"]]],["Check",[["validation","Validation"],["findings","Findings"],["advice","Advice"],["checklist","Checklist"]]],["Price and load",[["cost","Cost"],["heat","Heat"],["simulate","Simulate"]]],["Change",[["diff","Diff"]]]],_t=zt.flatMap(([,s])=>s),Se={copies:"denormalisation"},Oe=[["workbench","NoSQL Workbench document"],["create-table","CreateTable JSON"],["cli","AWS CLI script"],["cloudformation","CloudFormation (YAML)"],["cloudformation-json","CloudFormation (JSON)"]],k={schema:null,rules:null,state:null};async function Te(){return k.schema??=await g("model/schema",{}),k.schema}var et=class extends HTMLElement{constructor(){super(),this.ws=null,this.shown="patterns",this.pattern=null,this.compare=null,this.open=new Set,this.why=new Set,this.by="severity",this.settings={},this.design={},this.moved=new Map,this.rate=1e3,this.texts=!1,this.sides={before:"saved",after:"text"},this.others=new Map,this.heat={writes:"5000",answer:null},this.pictureOf=null,this.marked={faults:[],marks:[]},this.traffic={profile:null,price:"",shown:""},this.note=null,this.conflict=null,this.naming=null,this.menu=!1,this.withItems=!0,this.taken=null,this.proposal=null,this.listening=()=>{this.update()},this.files=[],this.ticking=0}connectedCallback(){this.classList.add("md"),import("./kw-editor.js").then(()=>this.dress()),window.addEventListener("keydown",this.keys),window.addEventListener("beforeunload",this.leaving),this.ticking=window.setInterval(()=>{this.ws?.busy&&this.update()},500),this.update()}disconnectedCallback(){window.removeEventListener("keydown",this.keys),window.removeEventListener("beforeunload",this.leaving),clearInterval(this.ticking),this.ws?.removeEventListener("change",this.listening),this.ws=null}keys=t=>{(t.ctrlKey||t.metaKey)&&!t.shiftKey&&t.key==="s"&&this.contains(document.activeElement)&&(t.preventDefault(),this.save()),t.key==="Escape"&&(this.menu||this.naming!==null)&&(this.menu=!1,this.naming=null,this.update())};leaving=t=>{this.ws?.dirty&&!this.ws.example&&t.preventDefault()};set route(t){let e=_t.some(([a])=>a===t.view)?t.view:"patterns",n=qt(t.name);n!==this.ws&&(this.ws?.removeEventListener("change",this.listening),this.ws=n,n.addEventListener("change",this.listening),n.wants=()=>this.wants(),this.note=null,this.conflict=null,this.moved=new Map,this.open=new Set,this.settings={},this.taken=null,this.proposal=null,this.traffic={profile:localStorage.getItem(`kw-profile:${t.name}`),price:"",shown:""},n.read().then(()=>{this.wants(),this.update()}),Te().then(()=>this.dress()).catch(()=>{}),g("state",{}).then(a=>{k.state=a,this.update()}).catch(()=>{})),n.wants=()=>this.wants(),this.shown=e,this.pattern=t.pattern,t.compare&&(this.sides={before:t.compare,after:"text"}),this.update(),this.wants()}dress(){let t=this.querySelector("kw-editor");!t||!k.schema||t.completer||(t.completer=wt(k.schema,()=>this.ws?.outline),t.hover=kt(k.schema))}get marks(){let t=new Map;for(let e of this.ws?.outline?.patterns??[])t.set(e.id,e);return{entities:ht((this.ws?.outline?.entities??[]).map(e=>e.name)),places:t,goto:(e,n)=>this.goto(e,n)}}goto(t,e){window.innerWidth<900&&this.shown!=="edit"&&this.show("edit"),requestAnimationFrame(()=>requestAnimationFrame(()=>this.querySelector("kw-editor")?.goto(t,e)))}href(t,e=""){return`/models/${encodeURIComponent(this.ws?.name??"")}/${t}${e}`}show(t,e=""){I(this.href(t,e))}async wants(){let t=this.ws;if(!t||t.text===null||t.faults.length>0&&t.parsed===t.text)return;let e=++t.turn,n=()=>e===t.turn&&t===this.ws;if(await t.need("check","model/check",{}),!n()||t.error("check"))return;let a=this.shown;if(a==="findings"){this.learnRules();return}if(a==="collections"){await t.need(this.collectionsKey(),"model/collections",this.pattern?{pattern:this.pattern}:{});return}if(a==="heat"){await t.need("heat","model/heat",{}),this.heat.answer||this.ask(this.heat.writes);return}if(a==="simulate"){await this.wantProfile(t);return}if(a==="cost"){await t.need(this.costKey(),"model/cost",{settings:this.settings});return}if(a==="design"||a==="diff"){a==="diff"&&await this.wantDiff();return}await t.need("view","model/view",{}),n()&&a==="patterns"&&await t.need("cost:{}","model/cost",{settings:{}})}collectionsKey(){return`collections:${this.pattern??""}`}costKey(){return`cost:${JSON.stringify(this.settings)}`}async learnRules(){if(k.rules)return;let t=await g("model/explain",{});k.rules=new Map(t.rules.map(e=>[e.id,e])),this.update()}async ask(t){if(this.heat={writes:t,answer:null},this.update(),!/^[1-9]\d{0,8}$/.test(t))return;let e=await A("model/heat",{writes:Number(t)},{}).catch(()=>null);this.heat.writes===t&&(this.heat={writes:t,answer:e},this.update())}async save(){let t=this.ws;if(!(!t||t.text===null)){if(t.saved===null){this.naming=t.name.endsWith(".yaml")?t.name:`${t.name}.yaml`,this.update(),this.focusSoon("[data-naming] input");return}if(t.dirty)try{await t.save(),this.conflict=null,this.say("good","Saved.")}catch(e){e.kind==="changed"?(this.conflict=e.more.theirs??{text:"",hash:null},this.update()):this.say("bad",e.message)}}}async saveAs(t,e=this.ws?.text){let n=t.endsWith(".yaml")?t:`${t}.yaml`;try{await g("models/write",{name:n,text:e,hash:null})}catch(a){return this.say("bad",a.kind==="changed"?`${n} is there already: choose another name.`:a.message),!1}return this.naming=null,W(n),n}say(t,e){this.note={kind:t,text:e},this.update()}focusSoon(t){requestAnimationFrame(()=>this.querySelector(t)?.focus())}async create(){let t=this.ws;if(t){this.note={kind:"busy",text:"Making the tables…"},this.update();try{let e=await A("model/create",{text:t.text,items:this.withItems},{});this.note={kind:"good",text:`Made ${w(e.tables.length,"table")}, ${w(e.items,"item")}.`,tables:e.tables,notes:e.notes};for(let n of e.tables)localStorage.setItem(`kw-model-of:${tt(n)}`,t.name);window.dispatchEvent(new CustomEvent("kw-tables"))}catch(e){let n=e.more?.made;this.note={kind:"bad",text:e.faults?.length?e.faults.map(a=>a.text).join(`
`):e.message,notes:n&&n.tables?.length>0?[`Made before that: ${n.tables.join(", ")}, ${w(n.items??0,"item")}.`]:[]}}this.update()}}async take(t){this.menu=!1;try{let e=await g("models/export",{text:this.ws?.text,target:t});T(e.file,"text/plain",e.text),this.note={kind:"good",text:`${e.file} made.`,notes:e.notes}}catch(e){this.note={kind:"bad",text:e.message}}this.update()}async runDesign(){let t=this.ws;if(!t)return;let e=JSON.stringify(this.design);this.taken=null,t.errors.delete(`design:${e}`);let{multiAttributeKeys:n,...a}=this.design;await t.need(`design:${e}`,"model/design",{...a,...n===!1?{noMultiAttributeKeys:!0}:{},explain:!0});let l=t.last(`design:${e}`);l&&t.fresh(`design:${e}`)&&(this.proposal=l,this.update(),await this.judge(l))}async judge(t){let e=this.ws;if(e){try{let n=await A("model/view",{text:t.model,views:["keys","indexes"]},{});await e.need("view","model/view",{}),await e.need("cost:{}","model/cost",{settings:{}}),t.shown={keys:n,cost:t.bill}}catch{}this.update()}}async takeDesign(){let t=(this.ws?.name??"model").replace(/\.yaml$/,""),e=new Set((await g("models/list",{})).models.map(l=>l.name)),n=`${t}-design.yaml`;for(let l=2;e.has(n);l+=1)n=`${t}-design-${l}.yaml`;let a=await this.saveAs(n,this.proposal.model);a&&(this.taken=a,this.update())}async wantProfile(t){if(import("./kw-chart.js"),this.traffic.profile!==null)return;let{profile:e}=await g("model/simulate/starter",{text:t.text}).catch(()=>({profile:""}));t===this.ws&&this.traffic.profile===null&&(this.traffic={...this.traffic,profile:e},this.update())}setProfile(t){t!==this.traffic.profile&&(this.traffic={...this.traffic,profile:t},localStorage.setItem(`kw-profile:${this.ws?.name}`,t),this.update())}simulateKey(){return`simulate:${this.traffic.price}:${this.traffic.profile}`}async runSimulation(){let t=this.ws;if(!t||this.traffic.profile===null)return;let e=this.simulateKey(),{profile:n,price:a}=this.traffic;if(t.errors.delete(e),await t.need(e,"model/simulate",{profile:n,...a?{prices:a}:{}}),t.fresh(e)){for(let l of[...t.kept.keys()])l.startsWith("simulate:")&&l!==e&&t.kept.delete(l);this.traffic={...this.traffic,shown:e}}this.update()}simulation(t){let{profile:e,price:n,shown:a}=this.traffic;if(e===null)return i`<div aria-busy="true" class="op-wait"></div>`;let l=this.simulateKey(),c=t.error(l),m=c?.more?.of==="profile"?c.faults??[]:[];return Kt({name:t.name,profile:e,edit:p=>this.setProfile(p),run:()=>this.runSimulation(),reset:()=>{localStorage.removeItem(`kw-profile:${t.name}`),this.traffic={...this.traffic,profile:null},this.wantProfile(t)},open:async p=>this.setProfile(await p.text()),running:t.busy?.key.startsWith("simulate:")?t.busy:null,stop:()=>t.busy?.stop(),answer:a?t.last(a):null,fresh:a===l&&t.fresh(a),error:c,prices:k.state?.prices??[],price:n,setPrice:p=>{this.traffic={...this.traffic,price:p},this.update()},marks:this.profileMarks(m)})}profileMarks(t){return this.marked.faults!==t&&!(t.length===0&&this.marked.faults.length===0)&&(this.marked={faults:t,marks:t.map(e=>({line:e.line,column:e.column,severity:"error",message:e.text}))}),this.marked.marks}sidesOf(){let t=this.ws,e=[];t?.saved?e.push({id:"saved",label:"as saved"}):t?.example&&e.push({id:"saved",label:"the example"}),e.push({id:"text",label:"as edited"}),this.proposal&&e.push({id:"proposal",label:"the proposal"}),e.push({id:"live",label:"the tables here"});for(let n of this.files)n!==t?.name&&e.push({id:`file:${n}`,label:n});for(let n of this.examples??[])e.push({id:`example:${n}`,label:`example ${n}`});return e}async sideOf(t){let e=this.ws;if(t==="text")return{text:e?.text};if(t==="saved")return{text:e?.saved?e.saved.text:e?.original};if(t==="proposal")return{text:this.proposal?.model};if(t==="live")return{live:{tables:null}};if(!this.others.has(t)){let[n,a]=t.split(/:(.*)/),l=await g(n==="file"?"models/read":"examples/read",{name:a});this.others.set(t,l.text)}return{text:this.others.get(t)}}diffKey(){return`diff:${this.sides.before}:${this.sides.after}:${this.rate}`}async wantDiff(){let t=this.ws;if(!t)return;if(this.files.length===0&&!this.examples){let[n,a]=await Promise.all([g("models/list",{}),g("examples/list",{})]);this.files=n.models.map(l=>l.name),this.examples=a.examples.map(l=>l.name),this.update()}let e=new Set(this.sidesOf().map(n=>n.id));if(!e.has(this.sides.before)){let n=[`file:${this.sides.before}`,`file:${this.sides.before}.yaml`,`example:${this.sides.before}`,`example:${this.sides.before}.yaml`].find(a=>e.has(a));this.sides={...this.sides,before:n??this.sidesOf()[0].id}}e.has(this.sides.after)||(this.sides={...this.sides,after:"text"});try{let[n,a]=await Promise.all([this.sideOf(this.sides.before),this.sideOf(this.sides.after)]);this.pair=n.text!==void 0&&a.text!==void 0?{a:n.text,b:a.text}:null,await t.need(this.diffKey(),"model/diff",{},()=>({before:n,after:a,rate:this.rate}))}catch(n){t.errors.set(this.diffKey(),{error:n,of:t.text})}this.update()}update(){this.isConnected&&(V(this.view(),this),this.dress())}view(){let t=this.ws;if(!t)return r;if(t.missing)return i`<div class="md-empty"><h1>${t.name}</h1><p>There is no model file and no example of that name.</p>
        <p><a class="md-button is-main" href="/models">To the models</a></p></div>`;if(t.failed&&t.text===null)return i`<div class="md-empty"><h1>${t.name}</h1><p role="alert">${t.failed.message}</p>
        <p><button class="md-button is-main" @click=${()=>{t.failed=null,t.read()}}>Retry</button></p></div>`;if(t.text===null)return i`<div class="md-empty" aria-busy="true"></div>`;let e=this.shown==="edit";return i`
      ${this.head(t)}
      ${this.note?this.noteView():r}
      ${this.conflict?this.conflictView(t):r}
      <div class=${N({"md-body":!0,"is-edit":e})}>
        <section class="md-left" aria-label="Text of the model">
          ${H(t,i`<kw-editor .value=${t.text} .label=${`Text of ${t.name}`} .diagnostics=${this.diagnostics(t)}
            @change=${n=>t.edit(n.detail.value)} @save=${()=>this.save()}></kw-editor>`)}
          ${this.faultStrip(t)}
        </section>
        <section class="md-right">
          <nav class="md-tabs" aria-label="Views of the model">${zt.map(([n,a])=>i`<div class="md-step" role="group" aria-label=${n}><span class="md-step-name" aria-hidden="true">${n}</span><div>${a.map(([l,c])=>i`
            <a href=${this.href(l)} class="md-tab" aria-current=${this.shown===l?"page":"false"}>${c}${this.badge(l,t)}</a>`)}</div></div>`)}</nav>
          ${this.stage(t)}
        </section>
      </div>`}diagnostics(t){let e=t.marks(),n=JSON.stringify(e);return this.lastMarks?.key!==n&&(this.lastMarks={key:n,marks:e}),this.lastMarks.marks}badge(t,e){let n=e.last("check");if(!n)return r;if(t==="findings"){let a=n.findings.filter(l=>l.severity==="error").length;return n.findings.length>0?i`<span class=${a>0?"md-badge is-bad":"md-badge"}>${n.findings.length}</span>`:r}if(t==="patterns"){let a=n.patterns.filter(l=>l.complaints.length>0).length;return a>0?i`<span class="md-badge is-bad">${a}</span>`:r}return r}head(t){let e=k.state&&(k.state.readOnly||k.state.models?.writable===!1),n=t.saved===null?t.example?t.touched?"example, changed, not saved":"example, not a file yet":"not saved":t.dirty?"changed":`saved ${t.savedAt?F(t.savedAt):""}`;return i`<header class="md-head">
      <a class="md-back" href="/models">Models</a><span class="md-slash" aria-hidden="true">/</span>
      <h1>${t.name}</h1>
      <span class=${N({"md-status":!0,"is-dirty":t.dirty})} role="status">${n}</span>
      ${this.naming===null?i`
        <span class="md-actions">
          ${e?r:i`<button class="md-button" ?disabled=${t.saved!==null&&!t.dirty} @click=${()=>this.save()}>${t.saved===null?"Save as a file":"Save"}</button>`}
          <span class="md-menu-room">
            <button class="md-button" aria-expanded=${this.menu} aria-haspopup="true" @click=${()=>{this.menu=!this.menu,this.update(),this.menu&&this.focusSoon(".md-menu button")}}>Export ▾</button>
            ${this.menu?i`<div class="md-menu" role="group" aria-label="Export as">
              <button @click=${()=>{this.menu=!1,T(t.name.endsWith(".yaml")?t.name:`${t.name}.yaml`,"text/yaml",t.text??""),this.update()}}>Model file</button>
              ${Oe.map(([a,l])=>i`<button @click=${()=>this.take(a)}>${l}</button>`)}</div>`:r}
          </span>
          ${k.state?.readOnly?r:i`
            <label class="md-check"><input type="checkbox" .checked=${this.withItems} @change=${a=>{this.withItems=a.target.checked}}> with items</label>
            <button class="md-button is-main" @click=${()=>this.create()}>Create these tables here</button>`}
        </span>`:i`<form class="md-actions" data-naming @submit=${async a=>{a.preventDefault();let l=await this.saveAs(this.naming);if(l){let c=this.shown;W(t.name),I(`/models/${encodeURIComponent(l)}/${c}`)}}}>
          <label>Name of the file <input required pattern="[a-z0-9._\\-]+" .value=${this.naming} @input=${a=>{this.naming=a.target.value}}></label>
          <button class="md-button is-main">Save</button>
          <button class="md-button" type="button" @click=${()=>{this.naming=null,this.update()}}>Cancel</button>
        </form>`}
    </header>`}noteView(){let t=this.note;return i`<div class="md-note is-${t.kind}" role=${t.kind==="bad"?"alert":"status"}>
      <div><p>${t.text}${t.tables?i` ${t.tables.map((e,n)=>i`${n>0?", ":""}<a class="md-link" href=${this.tableHref(tt(e))}>${tt(e)}</a>`)}`:r}</p>
      ${t.notes?.length>0?i`<ul>${t.notes.map(e=>i`<li>${x(String(e))}</li>`)}</ul>`:r}</div>
      <button class="md-close" aria-label="Close the message" @click=${()=>{this.note=null,this.update()}}>✕</button></div>`}tableHref(t){return`/${document.documentElement.dataset.region??k.state?.place?.region??"us-east-1"}/t/${encodeURIComponent(t)}/items`}conflictView(t){return i`<section class="md-conflict" aria-label="The file changed on disk" role="alertdialog">
      <p><b>The file changed on disk since it was read.</b> Nothing was overwritten: on the left the file, on the right your text.</p>
      <kw-merge .a=${this.conflict.text} .b=${t.text}></kw-merge>
      <p class="md-actions">
        <button class="md-button" @click=${()=>{t.saved={...this.conflict},this.conflict=null,t.take(t.saved.text)}}>Take the file</button>
        <button class="md-button" @click=${async()=>{t.saved={...this.conflict},this.conflict=null,await this.save()}}>Save mine over it</button>
        <button class="md-button" @click=${()=>{this.conflict=null,this.update()}}>Go on editing</button></p></section>`}faultStrip(t){let n=this.diagnostics(t).filter(m=>m.severity==="error"),a=t.last("check"),l=t.kept.get("check"),c=t.busy;return i`<div class="md-strip" aria-live="polite">
      ${n.slice(0,3).map(m=>i`<button class="md-fault" @click=${()=>this.goto(m.line,m.column)}>
        <span class="md-fault-line">${m.line}</span><span>${m.message.split(`
`)[0]}</span></button>`)}
      ${n.length>3?i`<a class="md-fault" href=${this.href("findings")}>and ${n.length-3} more</a>`:r}
      <div class="md-strip-line">
        ${c&&Date.now()-c.since>1e3?i`<span>${c.progress?`${c.progress.what}${c.progress.of?` ${c.progress.done.toLocaleString("en")} of ${c.progress.of.toLocaleString("en")}`:""}`:c.what}…</span>
            ${c.progress?.of?i`<progress max=${c.progress.of} .value=${c.progress.done} aria-label=${c.what}></progress>`:r}
            ${Date.now()-c.since>3e3?i`<button class="md-link" @click=${()=>c.stop()}>Cancel</button>`:r}`:a?i`<span class=${t.fresh("check")?"":"is-stale"}>${Bt(a)}</span>
              ${t.fresh("check")?i`<span class="md-took">check took ${ft(l.took)}</span>`:i`<span class="md-took">of ${F(l.at)}</span>`}`:i`<span>${n.length>0?w(n.length,"fault"):""}</span>`}
      </div></div>`}stage(t){let e=this.keyOf(),n=e?t.error(e)??t.error("check"):null,a=e===null||t.last(e)!==null,l=e!==null&&a&&!t.fresh(e),c=e===null?null:t.kept.get(e),m=t.faults.length>0&&t.parsed===t.text;return i`
      ${l&&(m||n)?i`<p class="md-stale">Of ${F(c.at)}: ${m?i`the text has ${w(t.faults.length,"fault")} now.`:"newer text could not be run."}</p>`:r}
      ${n&&!m?i`<div class="md-error" role="alert"><p>${n.faults?.length?i`<b>The model does not run:</b>`:i`<b>${n.kind}:</b> ${n.message}`}</p>
        ${n.faults?.length?i`<ul>${n.faults.map(p=>i`<li><button class="md-link" @click=${()=>this.goto(p.line,p.column)}>line ${p.line}</button> ${x(p.text)}</li>`)}</ul>`:r}
        <button class="md-button" @click=${()=>{t.errors.clear(),this.wants()}}>Retry</button></div>`:r}
      ${!a&&m&&this.shown!=="findings"&&this.shown!=="edit"?i`<div class="md-empty"><p>The text does not read yet.</p><ul>${t.faults.slice(0,5).map(p=>i`<li><button class="md-link" @click=${()=>this.goto(p.line,p.column)}>line ${p.line}</button> ${x(p.text)}</li>`)}</ul></div>`:r}
      <div class=${N({"md-stage":!0,"is-stale":l&&(m||!!n),"is-full":this.shown==="collections"})} aria-busy=${!!t.busy} tabindex="0" role="region" aria-label=${_t.find(([p])=>p===this.shown)?.[1]??"View"}>
        ${!a&&!m&&!n&&t.busy&&Date.now()-t.busy.since>1e3?i`<p class="dim" role="status">Running the model…</p>`:r}
        ${H(this.shown,this.content(t))}
      </div>`}keyOf(){switch(this.shown){case"edit":return null;case"findings":return"check";case"patterns":return"check";case"collections":return this.collectionsKey();case"cost":return this.costKey();case"heat":return"heat";case"simulate":return null;case"design":return null;case"diff":return null;default:return"view"}}pageOf(t){return this.ws?.last("view")?.views.find(e=>e.name===t)??null}content(t){let e=this.marks,n=a=>l=>{a.has(l)?a.delete(l):a.add(l),this.update()};switch(this.shown){case"edit":return this.editSide(t);case"patterns":return St({page:this.pageOf("patterns"),check:t.last("check"),cost:t.last("cost:{}"),marks:e,open:this.open,toggle:n(this.open),stale:!t.fresh("check"),draw:a=>this.show("collections",`?pattern=${encodeURIComponent(a)}`)});case"entities":{let a=this.pageOf("entities");return a?i`${bt({page:a,relations:t.last("view").relations??[],marks:e,moved:this.moved,move:(l,c,m)=>{this.moved=new Map(this.moved).set(l,{x:c,y:m}),this.update()},reset:()=>{this.moved=new Map,this.update()},open:l=>{let c=t.outline?.entities.find(m=>m.name===l);c&&this.goto(c.line,c.column)}})}${j(a,e,{drawings:(t.last("view").relations??[]).length===0})}`:r}case"collections":return this.collectionsView(t);case"findings":return Pt({check:t.last("check"),faults:t.parsed===t.text?t.faults:[],rules:k.rules,open:this.why,toggle:n(this.why),goto:e.goto,by:this.by,sort:a=>{this.by=a,this.update()}});case"cost":return Ot({cost:t.last(this.costKey())??t.last("cost:{}"),texts:new Map((t.outline?.patterns??[]).map(a=>[a.id,a.text])),settings:this.settings,prices:k.state?.prices??[],set:(a,l)=>{let c={...this.settings,[a]:l};(l===void 0||l===!1)&&delete c[a],this.settings=c,this.update(),this.wants()},goto:a=>{let l=e.places.get(a);l&&e.goto(l.line,l.column)}});case"simulate":return this.simulation(t);case"heat":return gt({heat:t.last("heat"),marks:e,calculator:{...this.heat,ask:a=>this.ask(a)}});case"design":return Ct({answer:this.proposal,settings:this.design,running:!!t.busy&&t.busy.what.startsWith("design"),set:(a,l)=>{this.design={...this.design,[a]:l},this.update()},run:()=>this.runDesign(),take:()=>this.takeDesign(),taken:this.taken,marks:e,now:{keys:t.last("view"),cost:t.last("cost:{}"),passes:t.last("check")?.passes??null,unanswered:(t.last("check")?.patterns??[]).filter(a=>a.complaints.length>0).length},compare:()=>{this.sides={before:"text",after:"proposal"},this.show("diff")},tables:(t.outline?.tables??[]).map(a=>a.name),error:t.error(`design:${JSON.stringify(this.design)}`)});case"diff":return Nt({answer:t.fresh(this.diffKey())?t.last(this.diffKey()):null,error:t.error(this.diffKey()),before:this.sides.before,after:this.sides.after,sides:this.sidesOf(),choose:(a,l)=>{this.sides={...this.sides,[a]:l},t.errors.delete(this.diffKey()),this.update(),this.wants()},rate:this.rate,setRate:a=>{this.rate=a,this.update(),this.wants()},texts:this.texts,showTexts:a=>{this.texts=a,this.update()},pair:this.pair??null});default:{let a=this.pageOf(Se[this.shown]??this.shown);if(!a)return r;let l=`/models/${encodeURIComponent(this.ws?.name??"")}/design`;return i`${j(a,e)}${this.shown==="keys"?i`<p>Whether other keys are cheaper, and by how much: <a class="md-link" href=${l}>Design</a>.</p>`:r}`}}}editSide(t){let e=t.last("check");return e?i`<div class="md-page">
      <h2>${e.passes?"The check passes":"The check fails"}</h2>
      <p>${Bt(e)}</p>
      <p class="dim">Ctrl+S saves, F8 goes to the next fault, Ctrl+Space completes, Ctrl+F finds. Escape, then Tab leaves the editor.</p>
    </div>`:r}collectionsView(t){let e=t.last(this.collectionsKey())??t.last("collections:");if(!e)return r;if(this.pictureOf?.answer!==e){let m=ot(e,t.name),p=lt(e.pattern,m);this.pictureOf={answer:e,source:p.source,run:p.run}}let{source:n,run:a}=this.pictureOf,l=e.pattern,c=i`<div class="kc-strip">
      <label class="kc-pattern">Pattern <select @change=${m=>this.show("collections",m.target.value?`?pattern=${encodeURIComponent(m.target.value)}`:"")}>
        <option value="" ?selected=${!this.pattern}>none: just the items</option>
        ${e.patterns.map(m=>i`<option value=${m.id} ?selected=${m.id===this.pattern}>${m.id} ${m.text??""}</option>`)}</select></label>
      ${l?Me(l):r}
    </div>`;return n.items.length===0?i`${c}<div class="md-empty"><p>The model has no items to draw. Let it make some:</p>
        <pre class="md-code">data:\n  generate: {seed: 1, sample: 20}</pre>
        <button class="md-button is-main" @click=${()=>{this.querySelector("kw-editor")?.insertAfter(t.text?.split(`
`).length??1,`data:
  generate: {seed: 1, sample: 20}`)}}>Put it in</button></div>`:i`<kw-collections .source=${n} .result=${a} .controls=${c}></kw-collections>`}},tt=s=>typeof s=="string"?s:s.name;function Me(s){let t=(s.refusals?.length??0)>0||(s.complaints?.length??0)>0;return i`<div class="kc-run" role="status">
    ${s.operation?i`<span><b>${s.operation}</b> on ${s.index??s.table}</span>`:r}
    ${s.key?i`<code>${s.key}</code>`:r}
    ${s.filter?i`<span>filter <code>${s.filter}</code></span>`:r}
    ${s.operation&&!(s.changes?.length>0)?i`<span>read <b>${s.itemsRead.toLocaleString("en")}</b></span><span>returned <b>${s.itemsReturned.toLocaleString("en")}</b></span>`:r}
    ${s.requests>1?i`<span>${s.requests} requests</span>`:r}
    ${(s.capacity??[]).filter(e=>e.readUnits+e.writeUnits>0).map(e=>i`<span class="kc-units">${e.index??e.table}
      ${e.readUnits>0?i`<b>${e.readUnits}</b> RCU`:r} ${e.writeUnits>0?i`<b>${e.writeUnits}</b> WCU`:r}</span>`)}
    ${t?i`<div class="kc-refused">
      ${(s.complaints??[]).map(e=>i`<p>✗ ${e}</p>`)}
      ${(s.refusals??[]).map(e=>i`<p><b>${e.place}</b>: ${e.text}</p>`)}</div>`:r}
    ${s.changes?.length>0?i`<ul class="kc-changes">${s.changes.map(e=>i`<li>
      <b>${e.entity??e.table}</b> ${e.what==="none"?"unchanged":e.what}:
      ${e.places.map((n,a)=>i`${a>0?", ":""}${n.what==="entered"?"enters":n.what==="left"?"leaves":n.what==="moved"?"moves in":n.what==="rewritten"?"is rewritten in":"stays as it is in"} ${n.index??n.table}`)}</li>`)}</ul>`:r}
  </div>`}function Bt(s){let t=s.patterns.filter(l=>l.result==="met").length,e=s.patterns.filter(l=>l.complaints.length>0).length,n=s.patterns.length-t-e,a=l=>s.findings.filter(c=>c.severity===l).length;return[`${t} met`,n>0?`${n} ran`:"",`${e} failed`,w(a("error"),"error"),w(a("warning"),"warning"),w(a("note"),"note")].filter(Boolean).join(" · ")}customElements.get("kw-model")||customElements.define("kw-model",et);var Ee={workbench:"a NoSQL Workbench document","create-table":"CreateTable JSON",cloudformation:"a CloudFormation template",model:"a model file",live:"the tables here"},it=class extends HTMLElement{constructor(){super(),this.models=null,this.examples=null,this.error=null,this.state=null,this.adding=null,this.name="",this.pasted="",this.found=null,this.deleting=null,this.over=!1}connectedCallback(){this.classList.add("mf"),this.addEventListener("dragover",this.dragging),this.addEventListener("dragleave",this.leaving),this.addEventListener("drop",this.dropped),this.update(),this.load()}disconnectedCallback(){this.removeEventListener("dragover",this.dragging),this.removeEventListener("dragleave",this.leaving),this.removeEventListener("drop",this.dropped)}dragging=t=>{t.preventDefault(),this.over||(this.over=!0,this.update())};leaving=t=>{t.target===this&&(this.over=!1,this.update())};dropped=async t=>{t.preventDefault(),this.over=!1;let e=t.dataTransfer?.files[0],n=e?await e.text():t.dataTransfer?.getData("text/plain");n&&this.bring(n,e?.name)};async load(){try{let[t,e,n]=await Promise.all([g("models/list",{}),g("examples/list",{}),g("state",{})]);this.models=t.models,this.examples=e,this.state=n,this.error=null}catch(t){this.error=t}this.update()}get writable(){return this.state&&!this.state.readOnly&&this.state.models?.writable!==!1}freeName(t){let e=new Set((this.models??[]).map(l=>l.name)),n=(t||"model").toLowerCase().replace(/\.(ya?ml|json)$/i,"").replace(/[^a-z0-9._-]+/g,"-").replace(/^[-.]+|[-.]+$/g,"")||"model",a=`${n}.yaml`;for(let l=2;e.has(a);l+=1)a=`${n}-${l}.yaml`;return a}async write(t,e){try{let n=t.endsWith(".yaml")?t:`${t}.yaml`;await g("models/write",{name:n,text:e,hash:null}),W(n),I(`/models/${encodeURIComponent(n)}/patterns`)}catch(n){this.error=n.kind==="changed"?{message:`${t} is there already: choose another name.`}:n,this.update()}}async bring(t,e){this.adding="import",this.found=null,this.error=null,this.pasted=t,this.update();try{let n=(e??"").replace(/\.[^.]*$/,"");this.found=await g("models/import",n?{text:t,name:n}:{text:t}),this.name=this.freeName(n||/^model: *["']?([\w .-]+)/m.exec(this.found.text)?.[1]||"imported")}catch(n){this.error=n}this.update()}async bringLive(){this.adding="import",this.found=null,this.error=null,this.update();try{this.found=await g("models/import",{live:{tables:null,sample:500}}),this.name=this.freeName("tables")}catch(t){this.error=t}this.update()}async erase(t){try{await g("models/delete",{name:t.name,hash:t.hash}),W(t.name),this.deleting=null}catch(e){this.error=e.kind==="changed"?{message:`${t.name} changed since the list was read; nothing was deleted.`}:e,this.deleting=null}await this.load()}update(){this.isConnected&&V(this.view(),this)}view(){let t=new Set(Ft());return i`<div class=${this.over?"mf-room is-over":"mf-room"}>
      <header class="mf-head">
        <h1>Models</h1>
        ${this.writable?i`<span class="md-actions">
          <button class="md-button is-main" aria-expanded=${this.adding==="new"} @click=${()=>{this.adding=this.adding==="new"?null:"new",this.name=this.freeName("model"),this.found=null,this.update(),this.focusSoon("[data-name]")}}>New model</button>
          <button class="md-button" aria-expanded=${this.adding==="import"} @click=${()=>{this.adding=this.adding==="import"?null:"import",this.found=null,this.pasted="",this.update(),this.focusSoon("textarea")}}>Import</button>
        </span>`:this.state?i`<span class="dim md-actions">${this.state.readOnly?"read-only":"Start with --models DIR to save model files."}</span>`:r}
      </header>
      ${this.error?i`<div class="md-error" role="alert"><p>${this.error.message}</p>${this.error.faults?.length?i`<ul>${this.error.faults.map(e=>i`<li>${e.line?`line ${e.line}: `:""}${v(e.text)}</li>`)}</ul>`:r}
        ${this.models===null?i`<button class="md-button" @click=${()=>this.load()}>Retry</button>`:r}</div>`:r}
      ${this.adding==="new"?i`<form class="mf-form" @submit=${e=>{e.preventDefault(),this.write(this.name,this.examples?.starter??`format: 1
model: model
`)}}>
        <p>A commented model that passes its check, to change into yours.</p>
        <label>Name of the file <input data-name required pattern="[a-z0-9._\\-]+" .value=${this.name} @input=${e=>{this.name=e.target.value}}></label>
        <button class="md-button is-main">Create</button></form>`:r}
      ${this.adding==="import"?this.importForm():r}
      ${this.models&&this.models.length>0?i`
        <h2 class="kc-hidden">Your models</h2>
        <div class="md-table-room" tabindex="0" role="region" aria-label="Model files"><table class="md-table mf-table">
        <thead><tr><th scope="col">file</th><th scope="col">what</th><th scope="col" class="is-number">tables</th><th scope="col" class="is-number">entities</th><th scope="col" class="is-number">patterns</th><th scope="col">changed</th><th scope="col"><span class="kc-hidden">actions</span></th></tr></thead>
        <tbody>${D(this.models,e=>e.name,e=>i`<tr>
          <th scope="row"><a class="md-link" href=${`/models/${encodeURIComponent(e.name)}/patterns`}>${e.name}</a>${t.has(e.name)?i` <span class="mf-draft">unsaved changes</span>`:r}</th>
          <td>${e.faults>0?i`<span class="vd-bad">✗ ${w(e.faults,"fault")}</span>`:v(String(e.title??""))}</td>
          <td class="is-number">${st(e.tables)}</td><td class="is-number">${st(e.entities)}</td><td class="is-number">${st(e.patterns)}</td>
          <td>${new Date(e.changedMs).toLocaleString([],{dateStyle:"medium",timeStyle:"short"})}</td>
          <td>${this.writable?this.deleting===e.name?i`<span class="md-actions"><button class="md-button" @click=${()=>this.erase(e)}>Delete ${e.name}</button><button class="md-button" @click=${()=>{this.deleting=null,this.update()}}>Keep</button></span>`:i`<button class="md-link" aria-label="Delete ${e.name}" @click=${()=>{this.deleting=e.name,this.update()}}>Delete…</button>`:r}</td></tr>`)}</tbody></table></div>`:this.models?i`<p class="md-nothing">No model file yet. Start with an example, with the starter, or drop a document of another tool here.</p>`:r}
      ${this.examples?i`<h2>Examples</h2>${yt(this.examples.examples)}`:r}
    </div>`}focusSoon(t){requestAnimationFrame(()=>this.querySelector(t)?.focus())}importForm(){return i`<section class="mf-form" aria-label="Import">
      ${this.found?i`
        <p>Read as ${Ee[this.found.source]??this.found.source}.</p>
        ${this.found.notes?.length>0?i`<ul class="mf-notes">${this.found.notes.map(t=>i`<li>${x(String(t))}</li>`)}</ul>`:i`<p class="dim">Nothing was lost or guessed.</p>`}
        <form class="mf-line" @submit=${t=>{t.preventDefault(),this.write(this.name,this.found.text)}}>
          <label>Name of the file <input data-name required pattern="[a-z0-9._\\-]+" .value=${this.name} @input=${t=>{this.name=t.target.value}}></label>
          <button class="md-button is-main">Save and open</button>
          <button class="md-button" type="button" @click=${()=>{this.found=null,this.update()}}>Back</button></form>`:i`
        <p>A model file, a NoSQL Workbench document, CreateTable JSON, a CloudFormation template or an AWS CLI script: drop the file anywhere on this page, or paste its text.</p>
        <textarea rows="7" aria-label="Text to bring in" spellcheck="false" .value=${this.pasted} @input=${t=>{this.pasted=t.target.value}}></textarea>
        <p class="mf-line"><button class="md-button is-main" @click=${()=>this.bring(this.pasted,void 0)}>Read it</button>
          <label class="md-button mf-file">Choose a file<input type="file" class="kc-hidden" @change=${async t=>{let e=t.target.files[0];e&&this.bring(await e.text(),e.name)}}></label>
          <button class="md-button" @click=${()=>this.bringLive()}>From the tables here</button></p>`}
    </section>`}},st=s=>Array.isArray(s)?s.length:s??"";customElements.get("kw-models")||customElements.define("kw-models",it);
