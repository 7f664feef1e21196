import{b as lt,c as rt,d as N,e as T}from"./collections-kw-picture.js";import{d as yt}from"./model-heat.js";import{a as gt,b as vt}from"./model-entities.js";import{a as x,c as G,d as ut,e as j,f as mt,g as y,h as q,i as ft,j as w,k as F,l as $t,m as bt}from"./model-blocks.js";import{b as ct,c as dt,d as ht,e as D,f as pt}from"./directives-repeat.js";import{b as v}from"./collections-typed.js";import{a as i,b as nt,d as c,f as V,g as ot,j as g,k as A,m as W}from"./lit-html-lit-html.js";var H=ct(class extends dt{constructor(){super(...arguments),this.key=c}render(s,t){return this.key=s,t}update(s,[t,e]){return t!==this.key&&(ht(s),this.key=t),e}});function Ht(s,t,e){let a=s.split(`
`).slice(0,t-1),n=[],l=e.length-e.trimStart().length,r=/^\s*((?:- )*)/.exec(e)?.[1]??"";r&&n.unshift("[]");for(let d=a.length-1;d>=0&&l>0;d-=1){let o=a[d];if(o.trim()===""||o.trim().startsWith("#"))continue;let h=o.length-o.trimStart().length;if(h>=l){if(h===l&&r&&o.trimStart().startsWith("- "))continue;continue}if(/^(\s*)- (.*)$/.exec(o)&&h+2===l){n.unshift("[]"),l=h+1,h===0&&(l=.5);continue}let $=/^\s*(?:- )?["']?([^"':#]+)["']?:/.exec(o)?.[1]?.trim();$!==void 0&&n.unshift($),l=h}let m=e.trimStart().replace(/^(- )+/,""),p=[],f="",u="";for(let d of m)d==="{"||d==="["?(p.push(d==="["?`${u}\0[]`:u),f="",u=""):d==="}"||d==="]"?(p.pop(),f="",u=""):d===":"?(u=f.trim(),f=""):d===","?(f="",u=""):f+=d;for(let d of p)d.includes("\0")?n.push(d.split("\0")[0],"[]"):d!==""&&n.push(d);return{path:n,key:u}}function M(s,t){if(!s||typeof s!="object")return[];if(s.$ref)return M(s.$ref.split("/").slice(1).reduce((a,n)=>a?.[n],t),t);let e=[s];for(let a of[...s.oneOf??[],...s.anyOf??[],...s.allOf??[]])e.push(...M(a,t));return e}function wt(s,t,e){let a=M(s,e);for(let n of t)a=a.flatMap(l=>n==="[]"?l.items?M(l.items,e):[]:l.properties&&Object.hasOwn(l.properties,n)?M(l.properties[n],e):l.additionalProperties&&typeof l.additionalProperties=="object"?M(l.additionalProperties,e):[]);return a}var Jt={get:"entities",query:"entities",put:"entities",update:"entities",delete:"entities",of:"entities",parent:"entities",scan:"entities",uses:"indexes",copyOf:"copies",entity:"entities"};function kt(s,t){return({line:e,before:a,text:n})=>{let{path:l,key:r}=Ht(n,e,a),m=/[\w.#-]*$/.exec(a)?.[0]??"",p=a.length-m.length,f=t(),u=[],d=(o,h,b,$)=>{u.some(S=>S.label===o)||u.push({label:o,type:h,detail:b,info:$})};if(/\{[^}:,]*$/.test(a)&&/["'][^"']*\{[^}]*$/.test(a)){let o=f?.entities.find(h=>l.includes(h.name));for(let h of(o??{attributes:[]}).attributes)d(_(h),"property","attribute");return{from:a.length-(/[\w-]*$/.exec(a)?.[0].length??0),options:u}}if(r){let o=Jt[r];if(o==="entities")for(let h of f?.entities??[])d(h.name,"class","entity");if(o==="indexes")for(let h of f?.tables??[])for(let b of h.indexes)d(_(b),"class",`index of ${h.name}`);if(o==="copies")for(let h of f?.entities??[])for(let b of h.attributes)d(`${h.name}.${_(b)}`,"property");for(let h of wt(s,[...l,r],s)){for(let b of h.enum??[])d(String(b),"enum",void 0,h.description);h.const!==void 0&&d(String(h.const),"enum",void 0,h.description),h.type==="boolean"&&(d("true","enum"),d("false","enum"))}return{from:p,options:u}}for(let o of wt(s,l,s))for(let h of Object.keys(o.properties??{})){let b=M(o.properties[h],s).find($=>$.description);u.push({label:h,type:"property",apply:`${h}: `,info:b?.description})}if(l.at(-1)==="given"||l.at(-1)==="example")for(let o of f?.entities??[])for(let h of o.attributes)d(_(h),"property",o.name);return{from:p,options:u}}}var _=s=>typeof s=="string"?s:s.name;function xt(s){let t=new Map,e=a=>{if(!(!a||typeof a!="object")){for(let n of Object.keys(a.properties??{}))for(let l of M(a.properties[n],s)){let r=[l.description,l.enum?l.enum.join(" | "):null].filter(Boolean).join(`
`);if(!r)continue;let m=t.get(n)??new Set;m.add(r),t.set(n,m)}for(let n of Object.values(a))e(n)}};return e(s),(a,n)=>{if(!new RegExp(`(^|[\\s{,-])${a.replace(/[^\w-]/g,"")}:`).test(n))return null;let l=t.get(a);return l?[...l].join(`

`):null}}function Yt(s,t){let e=s.patterns.filter(n=>n.pattern===t);if(e.length===0)return null;let a=0n;for(let n of e)a+=O(n.monthly.dollars);return L(a)}function O(s){let t=s.startsWith("-"),[e,a=""]=s.replace("-","").split("."),n=BigInt(e)*1000000000n+BigInt(a.padEnd(9,"0").slice(0,9));return t?-n:n}function L(s){let t=s<0n?-s:s;return`${s<0n?"-":""}${t/1000000000n}.${(t%1000000000n).toString().padStart(9,"0")}`}var Qt=s=>s.writeUnits>0?`${s.writeUnits} W`:`${s.readUnits} R`,Zt=s=>s<1024?`${s} B`:`${(s/1024).toFixed(1)} KB`;function Ot({page:s,check:t,cost:e,marks:a,open:n,toggle:l,draw:r}){let m=s?.blocks.find(o=>o.table)?.table;if(!t)return c;let p=new Map((m?.headers??[]).map((o,h)=>[o,h])),f=new Map((m?.rows??[]).map(o=>[o[0],o])),u=(o,h)=>f.get(o)?.[p.get(h)??-1]??"",d=new Map;for(let o of t.patterns)d.set(o.result,(d.get(o.result)??0)+1);return i`
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
      <tbody>${D(t.patterns,o=>o.id,o=>{let h=e?Yt(e,o.id):null,b=n.has(o.id),$=o.complaints.length>0,S=u(o.id,"rate");return i`
        <tr class=${$?"pt-row is-bad":"pt-row"} id=${`pt-${o.id}`}>
          <td><button class="md-link" title="Go to line ${o.line}" @click=${()=>a.goto?.(o.line,5)}>${o.id}</button></td>
          <td class="pt-text">
            <button class="pt-fold" aria-expanded=${b} @click=${()=>l(o.id)}>
              <span class="pt-title">${o.text??""}</span>
              <span class="pt-ask">${u(o.id,"kind")} ${u(o.id,"of").split(", ").map(C=>ut(C,a.entities))}
              ${u(o.id,"given, order, filter")!=="-"?i`<span class="pt-given">${u(o.id,"given, order, filter")}</span>`:c}</span>
            </button></td>
          <td>${S==="-"||S===""?i`<span class="dim">missing</span>`:S}</td>
          <td>${o.operation??i`<span class="dim">—</span>`}<span class="pt-on" aria-hidden="true">${o.index??o.table??""}</span></td>
          <td class="pt-index">${o.index??o.table??i`<span class="dim">—</span>`}</td>
          <td class="is-number">${St(o,o.itemsRead,"read",r)}</td>
          <td class="is-number">${St(o,o.itemsReturned,"returned",r)}</td>
          <td class="is-number">${o.operation?Qt(o):i`<span class="dim">—</span>`}</td>
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
                ${E("bytes returned",o.bytesReturned?Zt(o.bytesReturned):null)}
                ${E("returned",o.returned?.length?i`<span class="pt-keys">${o.returned.slice(0,12).map(C=>i`<code>${C.join(" / ")}</code>`)}${o.returned.length>12?i` and ${o.returned.length-12} more`:c}</span>`:null)}
              </dl>
              <button class="md-button" @click=${()=>r(o.id)}>Show it in the item collections</button>`:c}
            </td></tr>`:c}`})}</tbody>
    </table></div>`}function St(s,t,e,a){return t?i`<button class="md-link" title="Show them in the item collections" aria-label=${`${t} ${e} by ${s.id}: show them`} @click=${()=>a(s.id)}>${t}</button>`:t??""}var E=(s,t)=>t===null||t===""||t==="-"||t===void 0?c:i`<div><dt>${s}</dt><dd>${t}</dd></div>`;var Xt=(s,t)=>t===0n?0:Number(s*10000n/t)/100;function J(s,t){let e=0;return i`<svg class="ct-bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
    ${s.map(([a,n])=>{let l=Xt(n,t),r=e;return e+=l,n>0n?te(a,r,l):c})}</svg>`}var te=(s,t,e)=>nt`<rect class="ct-${s}" x=${t} y="1" width=${Math.max(.3,e)} height="8"></rect>`,B=s=>s.index?`${s.table}.${s.index}`:s.table;function ee(s){return s.totals.map(t=>{let e=f=>f.table===t.table&&(f.index??null)===t.index,a=(f,u)=>f.filter(e).reduce((d,o)=>d+O(u(o).dollars),0n),n=a(s.patterns,f=>f.reads),l=a(s.patterns,f=>f.writes),r=a(s.storage,f=>f.monthly),m=O(t.monthly.dollars),p=m-n-l-r;return{name:B(t),reads:n,writes:l,storage:r,rest:p>0n?p:0n,all:m}})}function Tt({cost:s,texts:t,settings:e,prices:a,set:n,goto:l}){let r=se(e,a,n,s);if(!s)return i`<div class="md-page">${r}</div>`;let m=ee(s),p=m.reduce((o,h)=>h.all>o?h.all:o,0n),f=new Map;for(let o of s.patterns){let h=f.get(o.pattern)??{reads:0n,writes:0n,rate:o.ratePerSecondMicro,places:[]};h.reads+=O(o.reads.dollars),h.writes+=O(o.writes.dollars),h.places.push(o),f.set(o.pattern,h)}let u=[...f].sort((o,h)=>Number(h[1].reads+h[1].writes-o[1].reads-o[1].writes)),d=u.reduce((o,[,h])=>h.reads+h.writes>o?h.reads+h.writes:o,0n);return i`<div class="md-page ct">
    <div class="ct-total">
      <span class="ct-sum">${y(s.total.dollars)}</span>
      <span>a month ${s.whole?"":i`<b>at least: some patterns have no rate</b>`}<br><span class="dim">at ${s.prices.name}, ${s.monthHours} hours${s.freeTier?", less the free tier":""}</span></span>
      <span class="ct-keys"><span class="ct-k ct-k-reads">reads</span><span class="ct-k ct-k-writes">writes</span><span class="ct-k ct-k-storage">storage</span><span class="ct-k ct-k-rest">features</span></span>
    </div>
    ${r}
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
        <td>${ft(h.rate)}</td>
        <td>${[...new Set(h.places.map(B))].join(", ")}</td>
        <td class="is-number">${h.places.map(b=>b.writeUnits>0?`${b.writeUnits} W`:`${b.readUnits} R`).join(" + ")}</td>
        <td class="is-number">${y(L(h.reads+h.writes))}</td></tr>`)}</tbody></table>`}
    ${s.withoutRate.length>0?i`<p class="ct-unknown"><b>Unknown, not zero:</b> ${s.withoutRate.map(o=>typeof o=="string"?o:o.pattern??o.name??"").join(", ")} ${s.withoutRate.length===1?"has":"have"} no rate.</p>`:c}
    <h3>Storage and features</h3>
    <table class="md-table ct-table"><thead><tr><th scope="col">of</th><th scope="col">what</th><th scope="col" class="is-number">a month</th></tr></thead><tbody>
      ${s.storage.map(o=>i`<tr><th scope="row">${B(o)}</th><td>storage, ${bt(o.bytes)}</td><td class="is-number">${y(o.monthly.dollars)}</td></tr>`)}
      ${s.features.map(o=>i`<tr><th scope="row">${o.table}</th><td>${o.name}</td><td class="is-number">${y(o.monthly.dollars)}</td></tr>`)}
      ${s.capacity.map(o=>i`<tr><th scope="row">${B(o)}</th><td>provisioned capacity</td><td class="is-number">${o.monthly?y(o.monthly.dollars):""}</td></tr>`)}
    </tbody></table>
    ${s.entities.some(o=>o.writesOfOne>1)?i`
      <h3>Writes of one write</h3>
      <ul class="ct-amplify">${s.entities.filter(o=>o.writesOfOne>1).map(o=>i`<li>A write of <b>${o.name}</b> is <b>${o.writesOfOne}</b> writes: one to its table, ${o.writesOfOne-1} to indexes.</li>`)}</ul>`:c}
    ${s.tables.map(o=>{let h=O(o.modes[0]?.monthly.dollars??"0"),b=o.modes.reduce(($,S)=>O(S.monthly.dollars)>$?O(S.monthly.dollars):$,h);return o.modes.length===0?c:i`<h3>Ways to pay for ${o.name}, from the cheapest</h3>
      <table class="md-table ct-table"><tbody>${o.modes.map($=>i`<tr><th scope="row">${$.class}, ${$.mode}</th>
        <td class="ct-wide">${J([["mode",O($.monthly.dollars)]],b)}</td><td class="is-number">${y($.monthly.dollars)}</td></tr>`)}</tbody></table>
      <p class="dim">On-demand costs as much as units of which ${q(o.breakEvens.provisionedPpm)} are used${o.breakEvens.reservedOneYearPpm?i` (reserved for 1 year ${q(o.breakEvens.reservedOneYearPpm)}, 3 years ${q(o.breakEvens.reservedThreeYearsPpm)})`:c}${o.breakEvens.infrequentAccessGigabytes?i`; Standard-IA pays from ${o.breakEvens.infrequentAccessGigabytes.toLocaleString("en")} GB`:c}.</p>`})}
    ${s.notes?.length>0?i`<ul>${s.notes.map(o=>i`<li>${o}</li>`)}</ul>`:c}
    <details class="ct-prices"><summary>Prices used, of ${s.prices.name}</summary>
      <table class="md-table"><thead><tr><th scope="col">price</th><th scope="col" class="is-number">each</th><th scope="col">date</th><th scope="col">source</th></tr></thead>
        <tbody>${s.prices.used.map(o=>i`<tr><td>${o.item}</td><td class="is-number">${mt(o.each.dollars)}</td><td>${o.date}</td><td>${o.source}</td></tr>`)}</tbody></table></details>
  </div>`}function se(s,t,e,a){let n=(r,m,p,f)=>i`<label class="ct-setting"><span>${m}</span>
    <span class="ct-field"><input type="number" min="0" .value=${String(s[r]??f)} @change=${u=>e(r,u.target.value===""?void 0:Number(u.target.value))}>${p}</span></label>`,l=(r,m)=>i`<label class="ct-setting is-flag"><input type="checkbox" .checked=${!!s[r]} @change=${p=>e(r,p.target.checked)}> <span>${m}</span></label>`;return i`<fieldset class="ct-settings"><legend>Settings</legend>
    <label class="ct-setting"><span>Prices of</span><select @change=${r=>e("prices",r.target.value||void 0)}>
      <option value="" ?selected=${!s.prices}>the model's${a&&!s.prices?` (${a.prices.name})`:""}</option>
      ${t.map(r=>i`<option value=${r} ?selected=${s.prices===r}>${r}</option>`)}</select></label>
    ${n("monthHours","A month is","hours",730)}
    ${n("usedPercent","Provisioned units used","%",70)}
    ${n("streamReads","GetRecords a second","",0)}
    ${n("backups","Full backups kept","",0)}
    ${n("restores","Restores a month","",0)}
    ${n("exports","Exports a month","",0)}
    ${l("freeTier","Less the free tier")}
    ${l("decimalGigabytes","A gigabyte is 10⁹ bytes")}
    ${l("changeCapture","Changes to Kinesis")}
  </fieldset>`}function Lt({answer:s,settings:t,set:e,run:a,running:n,take:l,compare:r,taken:m,tables:p,marks:f,now:u,error:d}){return i`<div class="md-page">
    <p class="md-about">Finds the keys and indexes that answer every pattern with one request at the least cost, and proves that fewer do not.
      Entities need a <code>count</code> and <code>unique</code> or keys, patterns a <code>rate</code>.</p>
    <fieldset class="ct-settings"><legend>Settings</legend>
      ${p.length>1?i`<label class="ct-setting"><span>Table</span><select @change=${o=>e("table",o.target.value||void 0)}>
        <option value="">all</option>${p.map(o=>i`<option value=${o} ?selected=${t.table===o}>${o}</option>`)}</select></label>`:c}
      <label class="ct-setting"><span>At most</span><span class="ct-field"><input type="number" min="0" max="20" .value=${String(t.indexes??5)}
        @change=${o=>e("indexes",Number(o.target.value))}>indexes</span></label>
      <label class="ct-setting"><span>Prefixes of keys</span><select @change=${o=>e("keys",o.target.value)}>
        <option value="short" ?selected=${t.keys!=="readable"}>short</option><option value="readable" ?selected=${t.keys==="readable"}>readable</option></select></label>
      <label class="ct-setting is-flag"><input type="checkbox" .checked=${!!t.keep} @change=${o=>e("keep",o.target.checked)}> <span>Keep the keys there are</span></label>
      <label class="ct-setting is-flag"><input type="checkbox" .checked=${t.multiAttributeKeys!==!1} @change=${o=>e("multiAttributeKeys",o.target.checked)}> <span>Keys of several attributes</span></label>
      <button class="md-button is-main" ?disabled=${n} @click=${a}>${n?"Searching…":s?"Search again":"Find the keys"}</button>
    </fieldset>
    ${d&&!d.faults?.length?i`<p class="md-error" role="alert">${d.message}</p>`:c}
    ${d?.faults?.length?i`<div class="md-error" role="alert"><p><b>There is no design:</b></p><ul>${d.faults.map(o=>i`<li>${o.line?i`<button class="md-link" @click=${()=>f.goto(o.line,o.column)}>line ${o.line}</button> `:c}${v(o.text)}</li>`)}</ul></div>`:c}
    ${s?ie(s,{take:l,compare:r,taken:m,marks:f,now:u}):c}
  </div>`}function ie(s,{take:t,compare:e,taken:a,marks:n,now:l}){let r=s.tables??[];return i`
    ${s.shown?i`<p class="dg-answer" role="status">${oe(l,s.bill)}${r.map(le)}</p>`:c}
    <div class="dg-verdict ${s.agrees?"is-good":"is-bad"}">
      <span aria-hidden="true">${s.agrees?"✓":"✗"}</span>
      <span>${s.trial||(s.agrees?"Proved on generated items.":"The proof failed.")}</span>
      <span class="dg-actions">
        <button class=${N({"md-button":!0,"is-main":!s.bill||ne(l.cost,s.bill)})} @click=${t}>Take it as a new file</button>
        <button class="md-button" @click=${e}>Compare with this model</button></span>
    </div>
    ${a?i`<p class="md-pass">Saved as <a class="md-link" href=${`/models/${encodeURIComponent(a)}/patterns`}>${a}</a>; this model is untouched.</p>`:c}
    ${(s.notices??[]).map(m=>i`<p class="dg-notice">${v(String(m))}</p>`)}
    ${s.shown?i`<div class="dg-columns">
      ${Ct("Now",l.keys,l.cost,n)}
      ${Ct("Proposed",s.shown.keys,s.shown.cost,n)}</div>`:c}
    ${s.fault?i`<p class="md-error" role="alert">${s.fault}</p>`:c}
    ${r.map(m=>re(m,s.bill))}
    <h3>Why these keys, what fewer would cost, and the next best</h3>
    ${ce(s.text)}
    <details class="ct-prices"><summary>The proposed model</summary><pre class="md-drawing" tabindex="0" role="region" aria-label="The proposed model">${Rt(s.model)}</pre></details>`}var Rt=s=>s.split(`
`).map(v).join(`
`),P=1e7,ae=3,I=s=>y((s/1e9).toFixed(9)),At=s=>s.reduce((t,e)=>t+e.monthly.nanoDollars,0);function Mt(s){let t=new Map([["storage",At(s.storage)]]);for(let e of s.patterns)t.set(e.pattern,(t.get(e.pattern)??0)+e.monthly.nanoDollars);return t}var Nt=(s,t)=>{let e=a=>Math.floor((a.total.nanoDollars+P/2)/P)*P;return Math.abs(s.total.nanoDollars-t.total.nanoDollars)<P?0:e(s)-e(t)},ne=(s,t)=>!s||Nt(s,t)>0;function oe({cost:s,passes:t,unanswered:e},a){let n=y(a.total.dollars);if(!s)return i`<b>The cheapest keys cost ${n} a month.</b> The model as it stands has no bill to compare with.`;let l=Nt(s,a),r=e>0?", but they do not answer every pattern: see Findings":t===!1?", but the check fails: see Findings":t===null?": compare Findings":"",m=s.whole?c:i` The bill of your keys lacks what has no rate or does not run, so it is a lower bound.`;if(l===0)return i`<b>Your keys are already the cheapest: ${y(s.total.dollars)} a month${r}.</b> The proposal costs the same${e>0?" and answers every pattern":"; nothing is gained by taking it"}.${m}`;let[p,f]=[Mt(s),Mt(a)],d=[...new Set([...p.keys(),...f.keys()])].map($=>[$,(p.get($)??0)-(f.get($)??0)]).filter(([,$])=>Math.sign($)===Math.sign(l)&&Math.abs($)>=P).sort(([,$],[,S])=>Math.abs(S)-Math.abs($)).slice(0,ae),o=d.length>0?i` Most of it: ${d.map(([$,S],C)=>i`${C>0?", ":""}${$} ${I(Math.abs(S))}`)}.`:c,h=`your keys leave ${e===1?"one pattern":`${e} patterns`} without the answer that the model asks for`;if(l<0&&e>0)return i`<b>The proposed keys cost ${I(-l)} a month more,</b> ${n} instead of ${y(s.total.dollars)}, and answer every pattern: ${h}.${o}${m}`;if(l<0)return i`<b>Your keys are cheaper by ${I(-l)} a month:</b> ${y(s.total.dollars)} against ${n}${r}. The search answers every pattern with one request and keeps to the settings above; yours need not.${o}${m}`;let b=100*l/s.total.nanoDollars;return i`<b>The proposed keys save ${I(l)} a month</b> (${b<1?"less than 1":Math.round(b)} %): ${n} instead of ${y(s.total.dollars)}.${o}${e>0?` They also answer every pattern: ${h}.`:""}${m}`}function le({table:s,fewer:t}){return!t?.more||t.more.nanoDollars>-P?c:i` <b>With ${t.indexes===0?"no index":t.indexes===1?"one index":`${t.indexes} indexes`} ${s} would cost ${I(-t.more.nanoDollars)} less still:</b> it needs derived items, which the search estimates higher than the bill. Set “At most” to ${t.indexes} to see it.`}var Et=s=>y(s.dollars,"+");function re(s,t){let e=s.explanation,a=t.totals.filter(l=>s.tables.includes(l.table)),n=[["proposed",s.indexes,I(At(a)),s.fewer?.more?.nanoDollars<0?"the cheapest by the search's estimate":"proved the cheapest"],...s.fewer?[["fewer indexes",s.fewer.indexes,s.fewer.more?Et(s.fewer.more):"—",s.fewer.reason??(s.fewer.more?"needs derived items":"")]]:[],...(e?.runnersUp??[]).map((l,r)=>[r===0?"next best":"after that","",l.more?Et(l.more):"—","estimated"])];return i`<h3>Ways for ${s.table}</h3>
    <table class="md-table dg-ways"><thead><tr><th scope="col">design</th><th scope="col" class="is-number">indexes</th><th scope="col" class="is-number">a month</th><th scope="col">why</th></tr></thead>
      <tbody>${n.map(l=>i`<tr><th scope="row">${l[0]}</th><td class="is-number">${l[1]}</td><td class="is-number">${l[2]}</td><td>${typeof l[3]=="string"?v(l[3]):c}</td></tr>`)}</tbody></table>
    ${e?.patterns?.length>0?i`<details class="ct-prices"><summary>What each pattern adds</summary>
      <table class="md-table"><thead><tr><th scope="col">pattern</th><th scope="col" class="is-number">without it, less a month (estimated)</th><th scope="col" class="is-number">indexes without it</th><th scope="col">forces an index</th></tr></thead>
      <tbody>${e.patterns.map(l=>i`<tr><th scope="row">${l.pattern}</th><td class="is-number">${y(l.saves.dollars)}</td><td class="is-number">${l.indexesWithout}</td><td>${l.forces?"yes":"no"}</td></tr>`)}</tbody></table></details>`:c}
    ${e?.breakEvens?.length>0?i`<ul>${e.breakEvens.map(l=>i`<li>At ${l.percent} % of its rate, ${l.pattern} turns the design.</li>`)}</ul>`:c}`}function Ct(s,t,e,a){let n=t?.views.find(l=>l.name==="keys");return i`<section class="dg-column" aria-label=${s}>
    <h3>${s} ${e?i`<span class="dg-bill">${y(e.total.dollars)} <span class="dim">a month${e.whole?"":", at least"}</span></span>`:c}</h3>
    ${n?j(n,{...a,goto:null},{title:!1}):i`<p class="dim">Nothing that runs yet.</p>`}
  </section>`}function ce(s){let t=s.trimEnd().split(/\n\n+/);return i`<div class="dg-words">${t.map(e=>/\S {2,}\S/.test(e.split(`
`)[0])&&e.split(`
`).length>1?i`<pre class="md-drawing" tabindex="0" role="region" aria-label="Keys">${Rt(e)}</pre>`:i`<ul>${e.split(`
`).map(a=>i`<li>${v(a)}</li>`)}</ul>`)}</div>`}var de={added:"+",removed:"−",changed:"~"},he={table:"Table",application:"Application",job:"Job","new data":"New data"};function Dt({answer:s,before:t,after:e,sides:a,choose:n,rate:l,setRate:r,texts:m,showTexts:p,pair:f,error:u}){let d=(o,h,b)=>i`<label class="df-side"><span>${b}</span>
    <select @change=${$=>n(o,$.target.value)}>${a.map($=>i`<option value=${$.id} ?selected=${$.id===h}>${$.label}</option>`)}</select></label>`;return i`<div class="md-page">
    <div class="df-bar">
      ${d("before",t,"Before")}
      <span class="df-arrow" aria-hidden="true">→</span>
      ${d("after",e,"After")}
      <label class="df-side"><span>Write units a second for jobs</span><input type="number" min="1" .value=${String(l)} @change=${o=>r(Number(o.target.value)||1e3)}></label>
      <button class="md-button" aria-pressed=${m} @click=${()=>p(!m)}>${m?"Hide the texts":"Both texts"}</button>
    </div>
    ${m&&f?i`<kw-merge class="df-merge" .a=${f.a} .b=${f.b}></kw-merge>`:c}
    ${u?i`<div class="md-error" role="alert"><p>${u.message}</p>${u.faults?.length?i`<ul>${u.faults.map(o=>i`<li>${o.text}</li>`)}</ul>`:c}</div>`:c}
    ${s?pe(s.difference??s):c}
  </div>`}function pe(s){return i`
    <h3>What changes</h3>
    ${s.changes.length===0?i`<p class="md-nothing">Nothing: both are the same model.</p>`:c}
    <ul class="df-list">${s.changes.map(t=>i`<li class="df is-${t.change}">
      <span class="df-sign" aria-hidden="true">${de[t.change]??"~"}</span>
      <span><span class="df-what">${t.thing} ${t.name} ${t.change}</span>${t.detail?i`: <code>${t.detail}</code>`:c}</span></li>`)}</ul>
    ${s.summary.length>0?i`<ul>${s.summary.map(t=>i`<li>${x(typeof t=="string"?t:t.text??"")}</li>`)}</ul>`:c}
    ${s.notPlanned?.length>0?i`<h3>Not planned</h3><ul>${s.notPlanned.map(t=>i`<li>${x(ue(t))}</li>`)}</ul>`:c}
    <h3>The way there</h3>
    ${s.steps.length===0?i`<p>${s.plan==="whole"?"There is nothing to move.":"No plan could be made; until the reasons above are resolved, nothing is moved or deleted."}</p>`:i`<p class="dim">The application keeps running. ${s.cost} once, ${s.readUnits.toLocaleString("en")} read and ${s.writeUnits.toLocaleString("en")} write units, on demand at ${s.prices} (read ${s.pricesRead}).</p>
      <ol class="df-steps">${s.steps.map(t=>i`<li class="df-step">
        <div class="df-step-head"><span class="df-who is-${t.who.split(" ")[0]}">${he[t.who]??t.who}</span><b>${t.step}</b>
          ${t.readUnits+t.writeUnits>0?i`<span class="dim">${[t.readUnits>0?`${t.readUnits.toLocaleString("en")} read units`:"",t.writeUnits>0?`${t.writeUnits.toLocaleString("en")} write units`:""].filter(Boolean).join(", ")}, ${t.cost}${t.seconds?`, ${t.seconds.toLocaleString("en")} seconds`:""}</span>`:c}</div>
        <ul>${t.operations.map(e=>i`<li>${x(e.text)}</li>`)}</ul></li>`)}</ol>`}`}var ue=s=>typeof s=="string"?s:s.text??s.reason??"";var Y=["error","warning","note"],Pt={error:"●",warning:"▲",note:"□"};function It({check:s,faults:t,rules:e,open:a,toggle:n,goto:l,by:r,sort:m}){if(t.length>0)return i`<div class="md-page"><h2>${w(t.length,"fault")}: the file does not read</h2>
      <ul class="fd-list">${t.map(d=>i`<li class="fd is-error"><div class="fd-head">
        <span class="fd-sign" aria-hidden="true">●</span><span class="fd-text">${x(d.text)}</span>
        <button class="md-link" @click=${()=>l(d.line,d.column)}>line ${d.line}</button></div></li>`)}</ul></div>`;if(!s)return c;let p=new Map(Y.map(d=>[d,0]));for(let d of s.findings)p.set(d.severity,(p.get(d.severity)??0)+1);let f=new Map;for(let d of s.findings){let o=r==="severity"?d.severity:r==="rule"?d.rule:d.subject,h=f.get(o);h?h.push(d):f.set(o,[d])}let u=r==="severity"?Y.filter(d=>f.has(d)):[...f.keys()].sort();return i`<div class="md-page">
    <div class="md-summary">
      ${Y.map(d=>i`<span class="md-tally fd-${d}"><span class="fd-sign" aria-hidden="true">${Pt[d]}</span> <b>${p.get(d)}</b> ${p.get(d)===1?d:`${d}s`}</span>`)}
      <label class="md-choose">By <select @change=${d=>m(d.target.value)}>
        ${["severity","rule","subject"].map(d=>i`<option value=${d} ?selected=${r===d}>${d}</option>`)}</select></label>
    </div>
    ${s.findings.length===0?i`<p class="md-nothing">No rule has anything to say about this model.</p>`:c}
    ${u.map(d=>i`
      <h3 class="fd-group">${r==="severity"?`${d}s`:d}${r==="rule"&&e?.get(d)?i` <span class="dim">${e.get(d).title}</span>`:c}</h3>
      <ul class="fd-list">${D(f.get(d),o=>`${o.rule} ${o.subject} ${o.line} ${o.text}`,o=>{let h=`${o.rule} ${o.subject} ${o.line} ${o.text}`,b=a.has(h);return i`<li class="fd is-${o.severity}">
          <div class="fd-head">
            <span class="fd-sign" aria-hidden="true">${Pt[o.severity]}</span>
            <span class="fd-rule">${o.rule}</span>
            <span class="fd-text"><span class="kc-hidden">${o.severity}: </span>${x(o.text)}</span>
            <button class="md-link fd-line" @click=${()=>l(o.line,o.column)}>line ${o.line}</button>
          </div>
          ${o.fix?i`<p class="fd-fix"><span aria-hidden="true">→</span> ${x(o.fix)}</p>`:c}
          <button class="fd-why" aria-expanded=${b} @click=${()=>n(h)}>${b?"Hide why":"Why"}</button>
          ${b?i`<div class="fd-explain">${e?.get(o.rule)?e.get(o.rule).text.trim().split(/\n\n+/).slice(1).map($=>i`<p>${x($)}</p>`):i`<p class="dim">…</p>`}</div>`:c}
        </li>`})}</ul>`)}
  </div>`}var jt=60,me=2,fe=24,$e=[["reads",0],["writes",1]],Ut=new WeakMap;function be(s){let t=Ut.get(s);return t||(t=URL.createObjectURL(new Blob([s.svg],{type:"image/svg+xml"})),Ut.set(s,t)),t}var ge=s=>Date.parse(s)/1e3,Kt=s=>s.index?`${s.table}.${s.index}`:s.table,Wt=s=>y(`${s<0?"-":""}${Math.floor(Math.abs(s)/1e9)}.${String(Math.abs(s)%1e9).padStart(9,"0")}`),Z=s=>s/me/jt,z=s=>Object.values(s.refused).reduce((t,e)=>t+e,0);function Vt(s){let{profile:t,edit:e,reset:a,run:n,running:l,answer:r,fresh:m,error:p,marks:f}=s;return i`<div class="md-page sl-page">
    <p class="md-about">Runs the requests of all patterns on a virtual clock against the limits of the service: provisioned units with burst, partitions that split, levels on demand, auto scaling. Nothing of your tables is touched.</p>
    <div class="sl-editor" @keydown=${u=>{u.key==="Enter"&&(u.ctrlKey||u.metaKey)&&(u.preventDefault(),u.stopPropagation(),n())}}
      @dragover=${u=>u.preventDefault()} @drop=${u=>{let d=u.dataTransfer?.files[0];d&&(u.preventDefault(),u.stopPropagation(),s.open(d))}}>
      <kw-editor class="sl-profile" .value=${t} .label=${"Traffic profile"} .diagnostics=${f} @change=${u=>{u.stopPropagation(),e(u.detail.value)}} @save=${u=>u.stopPropagation()}></kw-editor>
    </div>
    <div class="sl-actions">
      <button class="md-button is-main" ?disabled=${!!l} @click=${n}>${l?"Simulating…":r?"Simulate again":"Simulate"}</button>
      ${l?.progress?.of?i`<progress max=${l.progress.of} .value=${l.progress.done} aria-label=${l.progress.what}></progress><span class="dim">${l.progress.done.toLocaleString("en")} of ${l.progress.of.toLocaleString("en")} ${l.progress.what.split(" ").at(-1)}</span>`:c}
      ${l?i`<button class="md-button" @click=${s.stop}>Stop</button>`:c}
      <label class="dim">Prices <select @change=${u=>s.setPrice(u.target.value)}><option value="" ?selected=${!s.price}>the model's</option>${s.prices.map(u=>i`<option value=${u} ?selected=${u===s.price}>${u}</option>`)}</select></label>
      <label class="md-button mf-file">Open a profile<input class="kc-hidden" type="file" accept=".yaml,.yml" @change=${u=>{let d=u.target.files[0];d&&s.open(d),u.target.value=""}}></label>
      <button class="md-button" @click=${()=>T(`${s.name.replace(/\.yaml$/,"")}-profile.yaml`,"text/yaml",t)}>Save it as a file</button>
      <button class="md-link" @click=${a}>Begin again</button>
    </div>
    ${p?i`<div class="md-error" role="alert">${p.faults?.length?i`<p><b>${p.more?.of==="profile"?"The profile does not read:":"The model does not run:"}</b></p><ul>${p.faults.map(u=>i`<li>line ${u.line}: ${v(u.text)}</li>`)}</ul>`:i`<p>${v(p.message)}</p>`}</div>`:c}
    ${r?i`${m?c:i`<p class="md-stale">Of an older text or profile.</p>`}<div class=${m?"":"sl-old"}>${ye(r,s)}</div>`:c}
  </div>`}function ye(s,{name:t}){let e=s.report,a=e["throttled-per-minute"],n=a.filter(p=>p>0).length,l=Math.max(0,...a),r=(p,f,u,d=!1)=>i`<li class=${`op-tile${d?" is-bad":""}`}><span class="op-name">${p}</span><span class="op-value">${f}</span><span class="op-unit">${u}</span></li>`,m=n===0;return i`
    <div class=${`dg-verdict ${m?"is-good":"is-bad"}`} role="status"><span aria-hidden="true">${m?"✓":"✗"}</span><span><b>${v(e.answer)}</b></span></div>
    ${e.broken.length>0?i`<div class="md-error"><p><b>Not as the profile expects:</b></p><ul>${e.broken.map(p=>i`<li>${v(p)}</li>`)}</ul></div>`:c}
    <ul class="op-tiles" aria-label="In short">
      ${r("Requests",e.requests.toLocaleString("en"),`in ${Math.round(e["length-seconds"]/jt).toLocaleString("en")} minutes`)}
      ${r("Refused",a.reduce((p,f)=>p+f,0).toLocaleString("en"),n>0?`in ${w(n,"minute")}, at most ${l.toLocaleString("en")} in one`:"at no attempt",n>0)}
      ${r("Lost",e.lost.toLocaleString("en"),`after ${w(e.retries,"further attempt")}`,e.lost>0)}
      ${r("A month",y(s.total.replace("$","").replaceAll(",","")),`of this traffic, at ${e.prices}`)}</ul>
    <h3>Demand, capacity and refusals</h3>
    <div class="op-charts op">${we(e)}</div>
    ${ke(e)}
    <h3>Splits and scaling</h3>
    ${e.events.length===0?i`<p class="md-nothing">No partition split, and no capacity changed.</p>`:i`<div class="md-table-room sl-events" tabindex="0" role="region" aria-label="Splits and scaling"><table class="md-table"><thead><tr><th scope="col">minute</th><th scope="col">table or index</th><th scope="col">what</th></tr></thead>
      <tbody>${e.events.map(p=>i`<tr><th scope="row">${qt(p.minute)}</th><td>${Kt(p)}</td><td>${v(p.text)}</td></tr>`)}</tbody></table></div>`}
    <h3>Bill of a month</h3>
    <table class="md-table"><thead><tr><th scope="col">table</th><th scope="col">mode</th><th scope="col" class="is-number">a month</th></tr></thead><tbody>
      ${e.bill.map(p=>i`<tr><th scope="row">${p.table}</th><td>${p.mode} <span class="dim">as simulated</span></td><td class="is-number"><b>${Wt(p["monthly-nano-dollars"])}</b></td></tr>
        ${p.others.map(f=>i`<tr><td></td><td>${f.mode}</td><td class="is-number">${Wt(f["monthly-nano-dollars"])}</td></tr>`)}`)}</tbody></table>
    ${e["left-out"].length>0?i`<p class="ct-unknown"><b>Not run:</b> ${e["left-out"].map((p,f)=>i`${f>0?"; ":""}${p.pattern}, ${v(p.reason)}`)}</p>`:c}
    ${e.assumptions.length>0?i`<h3>Assumptions of ours</h3><ul>${e.assumptions.map(p=>i`<li>${v(p)}</li>`)}</ul>`:c}
    <h3>Take it along</h3>
    <p class="sl-actions"><button class="md-button" @click=${()=>T(`${Q(t)}.svg`,"image/svg+xml",s.svg)}>Picture (SVG)</button>
      <button class="md-button" @click=${()=>T(`${Q(t)}.csv`,"text/csv",s.csv)}>Minutes (CSV)</button>
      <button class="md-button" @click=${()=>T(`${Q(t)}.txt`,"text/plain",s.text)}>Text</button></p>
    <details class="ct-prices"><summary>The picture, for people who do not read tables</summary><img class="sl-picture" src=${be(s)} alt=${e.answer}></details>
    <details class="ct-prices"><summary>The words of <code>keywright simulate</code></summary><pre class="md-drawing" tabindex="0" role="region" aria-label="Words of the command">${ve(s.text)}</pre></details>`}var Q=s=>`${s.replace(/\.yaml$/,"")}-simulated`,ve=s=>s.split(`
`).map(v).join(`
`),qt=s=>s.replace(/^.*T/,"").replace(/Z$/,"");function we(s){return s.resources.flatMap(e=>$e.filter(([,a])=>e.minutes.some(n=>n["demanded-half-units"][a]>0)).map(([a,n])=>({own:e,tone:a,at:n}))).slice(0,fe).map(({own:e,tone:a,at:n})=>{let l=e.minutes.map(o=>Z(o["demanded-half-units"][n])),r=e.minutes.map(o=>o["limit-units-per-second"][n]),p=e.minutes.map(z).reduce((o,h)=>o+h,0),f=new Map;for(let o of e.minutes)for(let[h,b]of Object.entries(o.refused))h.includes(a==="reads"?"Read":"Write")&&f.set(h,(f.get(h)??0)+b);let u=[e.minutes[0].partitions,e.minutes[e.minutes.length-1].partitions],d={title:`${e.index?`Index ${e.index} of ${e.table}`:e.table}: ${a}`,unit:"units a second",times:e.minutes.map(o=>ge(o.minute)),zone:"UTC",lines:[{name:"asked for",tone:f.size>0?"bad":"plain",kind:"bars",values:l},{name:"served",tone:a,kind:"bars",values:e.minutes.map(o=>Z(o["consumed-half-units"][n]))},{name:"limit",tone:"limit",kind:"limit",values:r}],note:i`${u[0]===u[1]?w(u[0],"partition"):`${u[0]} → ${u[1]} partitions`}.
        ${f.size>0?i`<span class="tl-bad">Refused:</span> ${[...f].map(([o,h],b)=>i`${b>0?", ":""}${h.toLocaleString("en")} × ${o}`)}.`:p>0?c:"Nothing refused."}`};return i`<kw-chart .chart=${d}></kw-chart>`})}function ke(s){let t=s.resources.flatMap(e=>{let a=e.minutes.filter(n=>n.heaviest).toSorted((n,l)=>z(l)-z(n)||K(l)-K(n))[0];return a?[{own:e,worst:a}]:[]});return t.length===0?c:i`<h3>The busiest partition, in the worst minute</h3><div class="md-table-room" tabindex="0" role="region" aria-label="The busiest partitions"><table class="md-table"><thead><tr><th scope="col">table or index</th><th scope="col">minute</th><th scope="col" class="is-number">partition</th><th scope="col" class="is-number">units a second</th><th scope="col">its busiest key</th><th scope="col" class="is-number">of that</th><th scope="col" class="is-number">refused</th></tr></thead>
    <tbody>${t.map(({own:e,worst:a})=>{let{heaviest:n}=a,l=z(a);return i`<tr><th scope="row">${Kt(e)}</th><td>${qt(a.minute)}</td><td class="is-number">${n.partition} of ${a.partitions}</td><td class="is-number">${Math.round(Z(K(a))).toLocaleString("en")}</td>
        <td>${n.key===null?i`<span class="dim">–</span>`:i`<code>${v(n.key)}</code>`}</td><td class="is-number">${n.key===null||K(a)===0?"":`${Math.round(100*n["key-half-units"]/K(a))} %`}</td>
        <td class="is-number">${l>0?i`<span class="tl-bad">${l.toLocaleString("en")}</span>`:"0"}</td></tr>`})}</tbody></table></div>`}var K=s=>s.heaviest["asked-half-units"][0]+s.heaviest["asked-half-units"][1];var xe=250,Se=800,R=new Map;function Ft(s){let t=R.get(s);return t||(t=new X(s),R.set(s,t)),t}function U(s){R.get(s)?.stop(),R.delete(s)}function _t(){return[...R.values()].filter(s=>s.dirty).map(s=>s.name)}var X=class extends EventTarget{constructor(t){super(),this.name=t,this.text=null,this.saved=null,this.savedAt=0,this.example=!1,this.missing=!1,this.faults=[],this.outline=null,this.parsed=null,this.kept=new Map,this.errors=new Map,this.busy=null,this.failed=null,this.timers={parse:0,check:0},this.wants=()=>{},this.turn=0,this.reading=null}tell(){this.dispatchEvent(new Event("change"))}get dirty(){return this.text!==null&&(this.saved===null?!this.example||this.touched:this.text!==this.saved.text)}get touched(){return this.original!==void 0&&this.text!==this.original}read(){return this.text!==null||this.missing?Promise.resolve():(this.reading??=this.readNow().finally(()=>{this.reading=null}),this.reading)}async readNow(){try{let e=(await g("models/list",{})).models.find(l=>l.name===this.name||l.name===`${this.name}.yaml`);if(e){let l=await g("models/read",{name:e.name});this.name=e.name,this.saved={text:l.text,hash:l.hash},this.savedAt=e.changedMs??0,this.take(l.text);return}let n=(await g("examples/list",{})).examples.find(l=>l.name===this.name||`${l.name}.yaml`===this.name||l.name===`${this.name}.yaml`);if(n){let l=await g("examples/read",{name:n.name});this.example=!0,this.info=n,this.take(l.text);return}this.missing=!0}catch(t){this.failed=t}this.tell()}take(t){this.original=t,this.text=t,this.failed=null,this.tell(),this.parse(),this.check()}edit(t){t!==this.text&&(this.text=t,this.busy?.stop(),clearTimeout(this.timers.parse),clearTimeout(this.timers.check),this.timers.parse=window.setTimeout(()=>this.parse(),xe),this.timers.check=window.setTimeout(()=>this.check(),Se),this.tell())}async parse(){let t=this.text;try{let e=await g("model/parse",{text:t});if(t!==this.text)return;this.faults=e.faults,this.parsed=t,e.outline&&(this.outline=e.outline)}catch(e){if(t!==this.text)return;this.failed=e}this.tell()}async check(){await this.need("check","model/check",{}),this.wants()}fresh(t){return this.kept.get(t)?.of===this.text}last(t){return this.kept.get(t)?.value??null}async need(t,e,a,n=l=>({text:l,name:this.name})){let l=this.text;if(l===null||this.fresh(t)||this.errors.get(t)?.of===l)return;if(this.busy&&this.busy.key===t&&this.busy.of===l){await this.busy.ended;return}let r=new AbortController,m=()=>{},p=new Promise(d=>{m=()=>d(void 0)}),f={key:t,of:l,what:t,progress:null,since:Date.now(),stop:()=>r.abort(),ended:p};this.busy&&this.busy.key===t&&this.busy.stop(),this.busy=f,this.tell();let u=performance.now();try{let d=await A(e,{...n(l),...a},{signal:r.signal,progress:o=>{f.progress=o,this.tell()}});this.kept.set(t,{of:l,at:Date.now(),took:performance.now()-u,value:d}),this.errors.delete(t)}catch(d){!r.signal.aborted&&!(d instanceof ot&&d.kind==="cancelled")&&this.errors.set(t,{error:d,of:l})}finally{this.busy===f&&(this.busy=null),m(),this.tell()}}error(t){let e=this.errors.get(t);return e&&e.of===this.text?e.error:null}marks(){if(this.faults.length>0&&this.parsed===this.text)return this.faults.map(n=>({line:n.line,column:n.column,severity:"error",message:n.text}));let t=this.error("check");if(t?.faults?.length)return t.faults.map(n=>({line:n.line,column:n.column,severity:"error",message:n.text}));let e=this.fresh("check")?this.last("check"):null;if(!e)return[];let a=[];for(let n of e.patterns)for(let l of n.complaints)a.push({line:n.line,column:5,severity:"error",message:`${n.id}: ${l}`});for(let n of e.findings)a.push({line:n.line,column:n.column,severity:n.severity==="error"?"error":n.severity==="warning"?"warning":"info",message:`${n.rule}: ${n.text}${n.fix?`
→ ${n.fix}`:""}`});return a}async save(){let t=this.text,e=this.name.endsWith(".yaml")?this.name:`${this.name}.yaml`,a=await g("models/write",{name:e,text:t,hash:this.saved?this.saved.hash:null});this.saved={text:t,hash:a.hash},this.savedAt=Date.now(),this.example=!1,this.original=t,this.name!==e&&(R.delete(this.name),this.name=e,R.set(e,this)),this.tell()}stop(){clearTimeout(this.timers.parse),clearTimeout(this.timers.check),this.busy?.stop()}};var Gt=[["Describe",[["edit","Text"],["patterns","Patterns"],["entities","Entities"]]],["Choose keys",[["design","Design"],["keys","Keys"],["indexes","Indexes"],["copies","Copies"],["collections","Collections"]]],["Check",[["validation","Validation"],["findings","Findings"],["advice","Advice"],["checklist","Checklist"]]],["Price and load",[["cost","Cost"],["heat","Heat"],["simulate","Simulate"]]],["Change",[["diff","Diff"]]]],Bt=Gt.flatMap(([,s])=>s),Oe={copies:"denormalisation"},Te=[["workbench","NoSQL Workbench document"],["create-table","CreateTable JSON"],["cli","AWS CLI script"],["cloudformation","CloudFormation (YAML)"],["cloudformation-json","CloudFormation (JSON)"]],k={schema:null,rules:null,state:null};async function Me(){return k.schema??=await g("model/schema",{}),k.schema}var et=class extends HTMLElement{constructor(){super(),this.ws=null,this.shown="patterns",this.pattern=null,this.compare=null,this.open=new Set,this.why=new Set,this.by="severity",this.settings={},this.design={},this.moved=new Map,this.rate=1e3,this.texts=!1,this.sides={before:"saved",after:"text"},this.others=new Map,this.heat={writes:"5000",answer:null},this.pictureOf=null,this.marked={faults:[],marks:[]},this.traffic={profile:null,price:"",shown:""},this.note=null,this.conflict=null,this.naming=null,this.menu=!1,this.withItems=!0,this.taken=null,this.proposal=null,this.listening=()=>{this.update()},this.files=[],this.ticking=0}connectedCallback(){this.classList.add("md"),import("./kw-editor.js").then(()=>this.dress()),window.addEventListener("keydown",this.keys),window.addEventListener("beforeunload",this.leaving),this.ticking=window.setInterval(()=>{this.ws?.busy&&this.update()},500),this.update()}disconnectedCallback(){window.removeEventListener("keydown",this.keys),window.removeEventListener("beforeunload",this.leaving),clearInterval(this.ticking),this.ws?.removeEventListener("change",this.listening),this.ws=null}keys=t=>{(t.ctrlKey||t.metaKey)&&!t.shiftKey&&t.key==="s"&&this.contains(document.activeElement)&&(t.preventDefault(),this.save()),t.key==="Escape"&&(this.menu||this.naming!==null)&&(this.menu=!1,this.naming=null,this.update())};leaving=t=>{this.ws?.dirty&&!this.ws.example&&t.preventDefault()};set route(t){let e=Bt.some(([n])=>n===t.view)?t.view:"patterns",a=Ft(t.name);a!==this.ws&&(this.ws?.removeEventListener("change",this.listening),this.ws=a,a.addEventListener("change",this.listening),a.wants=()=>this.wants(),this.note=null,this.conflict=null,this.moved=new Map,this.open=new Set,this.settings={},this.taken=null,this.proposal=null,this.traffic={profile:localStorage.getItem(`kw-profile:${t.name}`),price:"",shown:""},a.read().then(()=>{this.wants(),this.update()}),Me().then(()=>this.dress()).catch(()=>{}),g("state",{}).then(n=>{k.state=n,this.update()}).catch(()=>{})),a.wants=()=>this.wants(),this.shown=e,this.pattern=t.pattern,t.compare&&(this.sides={before:t.compare,after:"text"}),this.update(),this.wants()}dress(){let t=this.querySelector("kw-editor");!t||!k.schema||t.completer||(t.completer=kt(k.schema,()=>this.ws?.outline),t.hover=xt(k.schema))}get marks(){let t=new Map;for(let e of this.ws?.outline?.patterns??[])t.set(e.id,e);return{entities:pt((this.ws?.outline?.entities??[]).map(e=>e.name)),places:t,goto:(e,a)=>this.goto(e,a)}}goto(t,e){window.innerWidth<900&&this.shown!=="edit"&&this.show("edit"),requestAnimationFrame(()=>requestAnimationFrame(()=>this.querySelector("kw-editor")?.goto(t,e)))}href(t,e=""){return`/models/${encodeURIComponent(this.ws?.name??"")}/${t}${e}`}show(t,e=""){W(this.href(t,e))}async wants(){let t=this.ws;if(!t||t.text===null||t.faults.length>0&&t.parsed===t.text)return;let e=++t.turn,a=()=>e===t.turn&&t===this.ws;if(await t.need("check","model/check",{}),!a()||t.error("check"))return;let n=this.shown;if(n==="findings"){this.learnRules();return}if(n==="collections"){await t.need(this.collectionsKey(),"model/collections",this.pattern?{pattern:this.pattern}:{});return}if(n==="heat"){await t.need("heat","model/heat",{}),this.heat.answer||this.ask(this.heat.writes);return}if(n==="simulate"){await this.wantProfile(t);return}if(n==="cost"){await t.need(this.costKey(),"model/cost",{settings:this.settings});return}if(n==="design"||n==="diff"){n==="diff"&&await this.wantDiff();return}await t.need("view","model/view",{}),a()&&n==="patterns"&&await t.need("cost:{}","model/cost",{settings:{}})}collectionsKey(){return`collections:${this.pattern??""}`}costKey(){return`cost:${JSON.stringify(this.settings)}`}async learnRules(){if(k.rules)return;let t=await g("model/explain",{});k.rules=new Map(t.rules.map(e=>[e.id,e])),this.update()}async ask(t){if(this.heat={writes:t,answer:null},this.update(),!/^[1-9]\d{0,8}$/.test(t))return;let e=await A("model/heat",{writes:Number(t)},{}).catch(()=>null);this.heat.writes===t&&(this.heat={writes:t,answer:e},this.update())}async save(){let t=this.ws;if(!(!t||t.text===null)){if(t.saved===null){this.naming=t.name.endsWith(".yaml")?t.name:`${t.name}.yaml`,this.update(),this.focusSoon("[data-naming] input");return}if(t.dirty)try{await t.save(),this.conflict=null,this.say("good","Saved.")}catch(e){e.kind==="changed"?(this.conflict=e.more.theirs??{text:"",hash:null},this.update()):this.say("bad",e.message)}}}async saveAs(t,e=this.ws?.text){let a=t.endsWith(".yaml")?t:`${t}.yaml`;try{await g("models/write",{name:a,text:e,hash:null})}catch(n){return this.say("bad",n.kind==="changed"?`${a} is there already: choose another name.`:n.message),!1}return this.naming=null,U(a),a}say(t,e){this.note={kind:t,text:e},this.update()}focusSoon(t){requestAnimationFrame(()=>this.querySelector(t)?.focus())}async create(){let t=this.ws;if(t){this.note={kind:"busy",text:"Making the tables…"},this.update();try{let e=await A("model/create",{text:t.text,items:this.withItems},{});this.note={kind:"good",text:`Made ${w(e.tables.length,"table")}, ${w(e.items,"item")}.`,tables:e.tables,notes:e.notes};for(let a of e.tables)localStorage.setItem(`kw-model-of:${tt(a)}`,t.name);window.dispatchEvent(new CustomEvent("kw-tables"))}catch(e){let a=e.more?.made;this.note={kind:"bad",text:e.faults?.length?e.faults.map(n=>n.text).join(`
`):e.message,notes:a&&a.tables?.length>0?[`Made before that: ${a.tables.join(", ")}, ${w(a.items??0,"item")}.`]:[]}}this.update()}}async take(t){this.menu=!1;try{let e=await g("models/export",{text:this.ws?.text,target:t});T(e.file,"text/plain",e.text),this.note={kind:"good",text:`${e.file} made.`,notes:e.notes}}catch(e){this.note={kind:"bad",text:e.message}}this.update()}async runDesign(){let t=this.ws;if(!t)return;let e=JSON.stringify(this.design);this.taken=null,t.errors.delete(`design:${e}`);let{multiAttributeKeys:a,...n}=this.design;await t.need(`design:${e}`,"model/design",{...n,...a===!1?{noMultiAttributeKeys:!0}:{},explain:!0});let l=t.last(`design:${e}`);l&&t.fresh(`design:${e}`)&&(this.proposal=l,this.update(),await this.judge(l))}async judge(t){let e=this.ws;if(e){try{let a=await A("model/view",{text:t.model,views:["keys","indexes"]},{});await e.need("view","model/view",{}),await e.need("cost:{}","model/cost",{settings:{}}),t.shown={keys:a,cost:t.bill}}catch{}this.update()}}async takeDesign(){let t=(this.ws?.name??"model").replace(/\.yaml$/,""),e=new Set((await g("models/list",{})).models.map(l=>l.name)),a=`${t}-design.yaml`;for(let l=2;e.has(a);l+=1)a=`${t}-design-${l}.yaml`;let n=await this.saveAs(a,this.proposal.model);n&&(this.taken=n,this.update())}async wantProfile(t){if(import("./kw-chart.js"),this.traffic.profile!==null)return;let{profile:e}=await g("model/simulate/starter",{text:t.text}).catch(()=>({profile:""}));t===this.ws&&this.traffic.profile===null&&(this.traffic={...this.traffic,profile:e},this.update())}setProfile(t){t!==this.traffic.profile&&(this.traffic={...this.traffic,profile:t},localStorage.setItem(`kw-profile:${this.ws?.name}`,t),this.update())}simulateKey(){return`simulate:${this.traffic.price}:${this.traffic.profile}`}async runSimulation(){let t=this.ws;if(!t||this.traffic.profile===null)return;let e=this.simulateKey(),{profile:a,price:n}=this.traffic;if(t.errors.delete(e),await t.need(e,"model/simulate",{profile:a,...n?{prices:n}:{}}),t.fresh(e)){for(let l of[...t.kept.keys()])l.startsWith("simulate:")&&l!==e&&t.kept.delete(l);this.traffic={...this.traffic,shown:e}}this.update()}simulation(t){let{profile:e,price:a,shown:n}=this.traffic;if(e===null)return i`<div aria-busy="true" class="op-wait"></div>`;let l=this.simulateKey(),r=t.error(l),m=r?.more?.of==="profile"?r.faults??[]:[];return Vt({name:t.name,profile:e,edit:p=>this.setProfile(p),run:()=>this.runSimulation(),reset:()=>{localStorage.removeItem(`kw-profile:${t.name}`),this.traffic={...this.traffic,profile:null},this.wantProfile(t)},open:async p=>this.setProfile(await p.text()),running:t.busy?.key.startsWith("simulate:")?t.busy:null,stop:()=>t.busy?.stop(),answer:n?t.last(n):null,fresh:n===l&&t.fresh(n),error:r,prices:k.state?.prices??[],price:a,setPrice:p=>{this.traffic={...this.traffic,price:p},this.update()},marks:this.profileMarks(m)})}profileMarks(t){return this.marked.faults!==t&&!(t.length===0&&this.marked.faults.length===0)&&(this.marked={faults:t,marks:t.map(e=>({line:e.line,column:e.column,severity:"error",message:e.text}))}),this.marked.marks}sidesOf(){let t=this.ws,e=[];t?.saved?e.push({id:"saved",label:"as saved"}):t?.example&&e.push({id:"saved",label:"the example"}),e.push({id:"text",label:"as edited"}),this.proposal&&e.push({id:"proposal",label:"the proposal"}),e.push({id:"live",label:"the tables here"});for(let a of this.files)a!==t?.name&&e.push({id:`file:${a}`,label:a});for(let a of this.examples??[])e.push({id:`example:${a}`,label:`example ${a}`});return e}async sideOf(t){let e=this.ws;if(t==="text")return{text:e?.text};if(t==="saved")return{text:e?.saved?e.saved.text:e?.original};if(t==="proposal")return{text:this.proposal?.model};if(t==="live")return{live:{tables:null}};if(!this.others.has(t)){let[a,n]=t.split(/:(.*)/),l=await g(a==="file"?"models/read":"examples/read",{name:n});this.others.set(t,l.text)}return{text:this.others.get(t)}}diffKey(){return`diff:${this.sides.before}:${this.sides.after}:${this.rate}`}async wantDiff(){let t=this.ws;if(!t)return;if(this.files.length===0&&!this.examples){let[a,n]=await Promise.all([g("models/list",{}),g("examples/list",{})]);this.files=a.models.map(l=>l.name),this.examples=n.examples.map(l=>l.name),this.update()}let e=new Set(this.sidesOf().map(a=>a.id));if(!e.has(this.sides.before)){let a=[`file:${this.sides.before}`,`file:${this.sides.before}.yaml`,`example:${this.sides.before}`,`example:${this.sides.before}.yaml`].find(n=>e.has(n));this.sides={...this.sides,before:a??this.sidesOf()[0].id}}e.has(this.sides.after)||(this.sides={...this.sides,after:"text"});try{let[a,n]=await Promise.all([this.sideOf(this.sides.before),this.sideOf(this.sides.after)]);this.pair=a.text!==void 0&&n.text!==void 0?{a:a.text,b:n.text}:null,await t.need(this.diffKey(),"model/diff",{},()=>({before:a,after:n,rate:this.rate}))}catch(a){t.errors.set(this.diffKey(),{error:a,of:t.text})}this.update()}update(){this.isConnected&&(V(this.view(),this),this.dress())}view(){let t=this.ws;if(!t)return c;if(t.missing)return i`<div class="md-empty"><h1>${t.name}</h1><p>There is no model file and no example of that name.</p>
        <p><a class="md-button is-main" href="/models">To the models</a></p></div>`;if(t.failed&&t.text===null)return i`<div class="md-empty"><h1>${t.name}</h1><p role="alert">${t.failed.message}</p>
        <p><button class="md-button is-main" @click=${()=>{t.failed=null,t.read()}}>Retry</button></p></div>`;if(t.text===null)return i`<div class="md-empty" aria-busy="true"></div>`;let e=this.shown==="edit";return i`
      ${this.head(t)}
      ${this.note?this.noteView():c}
      ${this.conflict?this.conflictView(t):c}
      <div class=${N({"md-body":!0,"is-edit":e})}>
        <section class="md-left" aria-label="Text of the model">
          ${H(t,i`<kw-editor .value=${t.text} .label=${`Text of ${t.name}`} .diagnostics=${this.diagnostics(t)}
            @change=${a=>t.edit(a.detail.value)} @save=${()=>this.save()}></kw-editor>`)}
          ${this.faultStrip(t)}
        </section>
        <section class="md-right">
          <nav class="md-tabs" aria-label="Views of the model">${Gt.map(([a,n])=>i`<div class="md-step" role="group" aria-label=${a}><span class="md-step-name" aria-hidden="true">${a}</span><div>${n.map(([l,r])=>i`
            <a href=${this.href(l)} class="md-tab" aria-current=${this.shown===l?"page":"false"}>${r}${this.badge(l,t)}</a>`)}</div></div>`)}</nav>
          ${this.stage(t)}
        </section>
      </div>`}diagnostics(t){let e=t.marks(),a=JSON.stringify(e);return this.lastMarks?.key!==a&&(this.lastMarks={key:a,marks:e}),this.lastMarks.marks}badge(t,e){let a=e.last("check");if(!a)return c;if(t==="findings"){let n=a.findings.filter(l=>l.severity==="error").length;return a.findings.length>0?i`<span class=${n>0?"md-badge is-bad":"md-badge"}>${a.findings.length}</span>`:c}if(t==="patterns"){let n=a.patterns.filter(l=>l.complaints.length>0).length;return n>0?i`<span class="md-badge is-bad">${n}</span>`:c}return c}head(t){let e=k.state&&(k.state.readOnly||k.state.models?.writable===!1),a=t.saved===null?t.example?t.touched?"example, changed, not saved":"example, not a file yet":"not saved":t.dirty?"changed":`saved ${t.savedAt?F(t.savedAt):""}`;return i`<header class="md-head">
      <a class="md-back" href="/models">Models</a><span class="md-slash" aria-hidden="true">/</span>
      <h1>${t.name}</h1>
      <span class=${N({"md-status":!0,"is-dirty":t.dirty})} role="status">${a}</span>
      ${this.naming===null?i`
        <span class="md-actions">
          ${e?c:i`<button class="md-button" ?disabled=${t.saved!==null&&!t.dirty} @click=${()=>this.save()}>${t.saved===null?"Save as a file":"Save"}</button>`}
          <span class="md-menu-room">
            <button class="md-button" aria-expanded=${this.menu} aria-haspopup="true" @click=${()=>{this.menu=!this.menu,this.update(),this.menu&&this.focusSoon(".md-menu button")}}>Export ▾</button>
            ${this.menu?i`<div class="md-menu" role="group" aria-label="Export as">
              <button @click=${()=>{this.menu=!1,T(t.name.endsWith(".yaml")?t.name:`${t.name}.yaml`,"text/yaml",t.text??""),this.update()}}>Model file</button>
              ${Te.map(([n,l])=>i`<button @click=${()=>this.take(n)}>${l}</button>`)}</div>`:c}
          </span>
          ${k.state?.readOnly?c:i`
            <label class="md-check"><input type="checkbox" .checked=${this.withItems} @change=${n=>{this.withItems=n.target.checked}}> with items</label>
            <button class="md-button is-main" @click=${()=>this.create()}>Create these tables here</button>`}
        </span>`:i`<form class="md-actions" data-naming @submit=${async n=>{n.preventDefault();let l=await this.saveAs(this.naming);if(l){let r=this.shown;U(t.name),W(`/models/${encodeURIComponent(l)}/${r}`)}}}>
          <label>Name of the file <input required pattern="[a-z0-9._\\-]+" .value=${this.naming} @input=${n=>{this.naming=n.target.value}}></label>
          <button class="md-button is-main">Save</button>
          <button class="md-button" type="button" @click=${()=>{this.naming=null,this.update()}}>Cancel</button>
        </form>`}
    </header>`}noteView(){let t=this.note;return i`<div class="md-note is-${t.kind}" role=${t.kind==="bad"?"alert":"status"}>
      <div><p>${t.text}${t.tables?i` ${t.tables.map((e,a)=>i`${a>0?", ":""}<a class="md-link" href=${this.tableHref(tt(e))}>${tt(e)}</a>`)}`:c}</p>
      ${t.notes?.length>0?i`<ul>${t.notes.map(e=>i`<li>${x(String(e))}</li>`)}</ul>`:c}</div>
      <button class="md-close" aria-label="Close the message" @click=${()=>{this.note=null,this.update()}}>✕</button></div>`}tableHref(t){return`/${document.documentElement.dataset.region??k.state?.place?.region??"us-east-1"}/t/${encodeURIComponent(t)}/items`}conflictView(t){return i`<section class="md-conflict" aria-label="The file changed on disk" role="alertdialog">
      <p><b>The file changed on disk since it was read.</b> Nothing was overwritten: on the left the file, on the right your text.</p>
      <kw-merge .a=${this.conflict.text} .b=${t.text}></kw-merge>
      <p class="md-actions">
        <button class="md-button" @click=${()=>{t.saved={...this.conflict},this.conflict=null,t.take(t.saved.text)}}>Take the file</button>
        <button class="md-button" @click=${async()=>{t.saved={...this.conflict},this.conflict=null,await this.save()}}>Save mine over it</button>
        <button class="md-button" @click=${()=>{this.conflict=null,this.update()}}>Go on editing</button></p></section>`}faultStrip(t){let a=this.diagnostics(t).filter(m=>m.severity==="error"),n=t.last("check"),l=t.kept.get("check"),r=t.busy;return i`<div class="md-strip" aria-live="polite">
      ${a.slice(0,3).map(m=>i`<button class="md-fault" @click=${()=>this.goto(m.line,m.column)}>
        <span class="md-fault-line">${m.line}</span><span>${m.message.split(`
`)[0]}</span></button>`)}
      ${a.length>3?i`<a class="md-fault" href=${this.href("findings")}>and ${a.length-3} more</a>`:c}
      <div class="md-strip-line">
        ${r&&Date.now()-r.since>1e3?i`<span>${r.progress?`${r.progress.what}${r.progress.of?` ${r.progress.done.toLocaleString("en")} of ${r.progress.of.toLocaleString("en")}`:""}`:r.what}…</span>
            ${r.progress?.of?i`<progress max=${r.progress.of} .value=${r.progress.done} aria-label=${r.what}></progress>`:c}
            ${Date.now()-r.since>3e3?i`<button class="md-link" @click=${()=>r.stop()}>Cancel</button>`:c}`:n?i`<span class=${t.fresh("check")?"":"is-stale"}>${zt(n)}</span>
              ${t.fresh("check")?i`<span class="md-took">check took ${$t(l.took)}</span>`:i`<span class="md-took">of ${F(l.at)}</span>`}`:i`<span>${a.length>0?w(a.length,"fault"):""}</span>`}
      </div></div>`}stage(t){let e=this.keyOf(),a=e?t.error(e)??t.error("check"):null,n=e===null||t.last(e)!==null,l=e!==null&&n&&!t.fresh(e),r=e===null?null:t.kept.get(e),m=t.faults.length>0&&t.parsed===t.text;return i`
      ${l&&(m||a)?i`<p class="md-stale">Of ${F(r.at)}: ${m?i`the text has ${w(t.faults.length,"fault")} now.`:"newer text could not be run."}</p>`:c}
      ${a&&!m?i`<div class="md-error" role="alert"><p>${a.faults?.length?i`<b>The model does not run:</b>`:i`<b>${a.kind}:</b> ${a.message}`}</p>
        ${a.faults?.length?i`<ul>${a.faults.map(p=>i`<li><button class="md-link" @click=${()=>this.goto(p.line,p.column)}>line ${p.line}</button> ${x(p.text)}</li>`)}</ul>`:c}
        <button class="md-button" @click=${()=>{t.errors.clear(),this.wants()}}>Retry</button></div>`:c}
      ${!n&&m&&this.shown!=="findings"&&this.shown!=="edit"?i`<div class="md-empty"><p>The text does not read yet.</p><ul>${t.faults.slice(0,5).map(p=>i`<li><button class="md-link" @click=${()=>this.goto(p.line,p.column)}>line ${p.line}</button> ${x(p.text)}</li>`)}</ul></div>`:c}
      <div class=${N({"md-stage":!0,"is-stale":l&&(m||!!a),"is-full":this.shown==="collections"})} aria-busy=${!!t.busy} tabindex="0" role="region" aria-label=${Bt.find(([p])=>p===this.shown)?.[1]??"View"}>
        ${!n&&!m&&!a&&t.busy&&Date.now()-t.busy.since>1e3?i`<p class="dim" role="status">Running the model…</p>`:c}
        ${H(this.shown,this.content(t))}
      </div>`}keyOf(){switch(this.shown){case"edit":return null;case"findings":return"check";case"patterns":return"check";case"collections":return this.collectionsKey();case"cost":return this.costKey();case"heat":return"heat";case"simulate":return null;case"design":return null;case"diff":return null;default:return"view"}}pageOf(t){return this.ws?.last("view")?.views.find(e=>e.name===t)??null}content(t){let e=this.marks,a=n=>l=>{n.has(l)?n.delete(l):n.add(l),this.update()};switch(this.shown){case"edit":return this.editSide(t);case"patterns":return Ot({page:this.pageOf("patterns"),check:t.last("check"),cost:t.last("cost:{}"),marks:e,open:this.open,toggle:a(this.open),stale:!t.fresh("check"),draw:n=>this.show("collections",`?pattern=${encodeURIComponent(n)}`)});case"entities":{let n=this.pageOf("entities");return n?i`${gt({page:n,relations:t.last("view").relations??[],marks:e,moved:this.moved,move:(l,r,m)=>{this.moved=new Map(this.moved).set(l,{x:r,y:m}),this.update()},reset:()=>{this.moved=new Map,this.update()},open:l=>{let r=t.outline?.entities.find(m=>m.name===l);r&&this.goto(r.line,r.column)}})}${j(n,e,{drawings:(t.last("view").relations??[]).length===0})}`:c}case"collections":return this.collectionsView(t);case"findings":return It({check:t.last("check"),faults:t.parsed===t.text?t.faults:[],rules:k.rules,open:this.why,toggle:a(this.why),goto:e.goto,by:this.by,sort:n=>{this.by=n,this.update()}});case"cost":return Tt({cost:t.last(this.costKey())??t.last("cost:{}"),texts:new Map((t.outline?.patterns??[]).map(n=>[n.id,n.text])),settings:this.settings,prices:k.state?.prices??[],set:(n,l)=>{let r={...this.settings,[n]:l};(l===void 0||l===!1)&&delete r[n],this.settings=r,this.update(),this.wants()},goto:n=>{let l=e.places.get(n);l&&e.goto(l.line,l.column)}});case"simulate":return this.simulation(t);case"heat":return yt({heat:t.last("heat"),marks:e,calculator:{...this.heat,ask:n=>this.ask(n)}});case"design":return Lt({answer:this.proposal,settings:this.design,running:!!t.busy&&t.busy.what.startsWith("design"),set:(n,l)=>{this.design={...this.design,[n]:l},this.update()},run:()=>this.runDesign(),take:()=>this.takeDesign(),taken:this.taken,marks:e,now:{keys:t.last("view"),cost:t.last("cost:{}"),passes:t.last("check")?.passes??null,unanswered:(t.last("check")?.patterns??[]).filter(n=>n.complaints.length>0).length},compare:()=>{this.sides={before:"text",after:"proposal"},this.show("diff")},tables:(t.outline?.tables??[]).map(n=>n.name),error:t.error(`design:${JSON.stringify(this.design)}`)});case"diff":return Dt({answer:t.fresh(this.diffKey())?t.last(this.diffKey()):null,error:t.error(this.diffKey()),before:this.sides.before,after:this.sides.after,sides:this.sidesOf(),choose:(n,l)=>{this.sides={...this.sides,[n]:l},t.errors.delete(this.diffKey()),this.update(),this.wants()},rate:this.rate,setRate:n=>{this.rate=n,this.update(),this.wants()},texts:this.texts,showTexts:n=>{this.texts=n,this.update()},pair:this.pair??null});default:{let n=this.pageOf(Oe[this.shown]??this.shown);if(!n)return c;let l=`/models/${encodeURIComponent(this.ws?.name??"")}/design`;return i`${j(n,e)}${this.shown==="keys"?i`<p>Whether other keys are cheaper, and by how much: <a class="md-link" href=${l}>Design</a>.</p>`:c}`}}}editSide(t){let e=t.last("check");return e?i`<div class="md-page">
      <h2>${e.passes?"The check passes":"The check fails"}</h2>
      <p>${zt(e)}</p>
      <p class="dim">Ctrl+S saves, F8 goes to the next fault, Ctrl+Space completes, Ctrl+F finds. Escape, then Tab leaves the editor.</p>
    </div>`:c}collectionsView(t){let e=t.last(this.collectionsKey())??t.last("collections:");if(!e)return c;if(this.pictureOf?.answer!==e){let m=lt(e,t.name),p=rt(e.pattern,m);this.pictureOf={answer:e,source:p.source,run:p.run}}let{source:a,run:n}=this.pictureOf,l=e.pattern,r=i`<div class="kc-strip">
      <label class="kc-pattern">Pattern <select @change=${m=>this.show("collections",m.target.value?`?pattern=${encodeURIComponent(m.target.value)}`:"")}>
        <option value="" ?selected=${!this.pattern}>none: just the items</option>
        ${e.patterns.map(m=>i`<option value=${m.id} ?selected=${m.id===this.pattern}>${m.id} ${m.text??""}</option>`)}</select></label>
      ${l?Ee(l):c}
    </div>`;return a.items.length===0?i`${r}<div class="md-empty"><p>The model has no items to draw. Let it make some:</p>
        <pre class="md-code">data:\n  generate: {seed: 1, sample: 20}</pre>
        <button class="md-button is-main" @click=${()=>{this.querySelector("kw-editor")?.insertAfter(t.text?.split(`
`).length??1,`data:
  generate: {seed: 1, sample: 20}`)}}>Put it in</button></div>`:i`<kw-collections .source=${a} .result=${n} .controls=${r}></kw-collections>`}},tt=s=>typeof s=="string"?s:s.name;function Ee(s){let t=(s.refusals?.length??0)>0||(s.complaints?.length??0)>0;return i`<div class="kc-run" role="status">
    ${s.operation?i`<span><b>${s.operation}</b> on ${s.index??s.table}</span>`:c}
    ${s.key?i`<code>${s.key}</code>`:c}
    ${s.filter?i`<span>filter <code>${s.filter}</code></span>`:c}
    ${s.operation&&!(s.changes?.length>0)?i`<span>read <b>${s.itemsRead.toLocaleString("en")}</b></span><span>returned <b>${s.itemsReturned.toLocaleString("en")}</b></span>`:c}
    ${s.requests>1?i`<span>${s.requests} requests</span>`:c}
    ${(s.capacity??[]).filter(e=>e.readUnits+e.writeUnits>0).map(e=>i`<span class="kc-units">${e.index??e.table}
      ${e.readUnits>0?i`<b>${e.readUnits}</b> RCU`:c} ${e.writeUnits>0?i`<b>${e.writeUnits}</b> WCU`:c}</span>`)}
    ${t?i`<div class="kc-refused">
      ${(s.complaints??[]).map(e=>i`<p>✗ ${e}</p>`)}
      ${(s.refusals??[]).map(e=>i`<p><b>${e.place}</b>: ${e.text}</p>`)}</div>`:c}
    ${s.changes?.length>0?i`<ul class="kc-changes">${s.changes.map(e=>i`<li>
      <b>${e.entity??e.table}</b> ${e.what==="none"?"unchanged":e.what}:
      ${e.places.map((a,n)=>i`${n>0?", ":""}${a.what==="entered"?"enters":a.what==="left"?"leaves":a.what==="moved"?"moves in":a.what==="rewritten"?"is rewritten in":"stays as it is in"} ${a.index??a.table}`)}</li>`)}</ul>`:c}
  </div>`}function zt(s){let t=s.patterns.filter(l=>l.result==="met").length,e=s.patterns.filter(l=>l.complaints.length>0).length,a=s.patterns.length-t-e,n=l=>s.findings.filter(r=>r.severity===l).length;return[`${t} met`,a>0?`${a} ran`:"",`${e} failed`,w(n("error"),"error"),w(n("warning"),"warning"),w(n("note"),"note")].filter(Boolean).join(" · ")}customElements.get("kw-model")||customElements.define("kw-model",et);var Ce={workbench:"a NoSQL Workbench document","create-table":"CreateTable JSON",cloudformation:"a CloudFormation template",model:"a model file",live:"the tables here"},at=class extends HTMLElement{constructor(){super(),this.models=null,this.examples=null,this.error=null,this.state=null,this.adding=null,this.name="",this.pasted="",this.found=null,this.deleting=null,this.over=!1}connectedCallback(){this.classList.add("mf"),this.addEventListener("dragover",this.dragging),this.addEventListener("dragleave",this.leaving),this.addEventListener("drop",this.dropped),this.update(),this.load()}disconnectedCallback(){this.removeEventListener("dragover",this.dragging),this.removeEventListener("dragleave",this.leaving),this.removeEventListener("drop",this.dropped)}dragging=t=>{t.preventDefault(),this.over||(this.over=!0,this.update())};leaving=t=>{t.target===this&&(this.over=!1,this.update())};dropped=async t=>{t.preventDefault(),this.over=!1;let e=t.dataTransfer?.files[0],a=e?await e.text():t.dataTransfer?.getData("text/plain");a&&this.bring(a,e?.name)};async load(){try{let[t,e,a]=await Promise.all([g("models/list",{}),g("examples/list",{}),g("state",{})]);this.models=t.models,this.examples=e,this.state=a,this.error=null,this.describe(this.models)}catch(t){this.error=t}this.update()}async describe(t){for(let e of t){let a=`${e.name} ${e.hash}`;if(!it.has(a)){if(!this.isConnected||this.models!==t)return;try{let{text:n}=await g("models/read",{name:e.name}),{faults:l,outline:r}=await g("model/parse",{text:n});it.set(a,r?{title:r.text??r.name,tables:r.tables.length,entities:r.entities.length,patterns:r.patterns.length,faults:0}:{faults:l.length})}catch{continue}}Object.assign(e,it.get(a)),this.update()}}get writable(){return this.state&&!this.state.readOnly&&this.state.models?.writable!==!1}freeName(t){let e=new Set((this.models??[]).map(l=>l.name)),a=(t||"model").toLowerCase().replace(/\.(ya?ml|json)$/i,"").replace(/[^a-z0-9._-]+/g,"-").replace(/^[-.]+|[-.]+$/g,"")||"model",n=`${a}.yaml`;for(let l=2;e.has(n);l+=1)n=`${a}-${l}.yaml`;return n}async write(t,e){try{let a=t.endsWith(".yaml")?t:`${t}.yaml`;await g("models/write",{name:a,text:e,hash:null}),U(a),W(`/models/${encodeURIComponent(a)}/patterns`)}catch(a){this.error=a.kind==="changed"?{message:`${t} is there already: choose another name.`}:a,this.update()}}async bring(t,e){this.adding="import",this.found=null,this.error=null,this.pasted=t,this.update();try{let a=(e??"").replace(/\.[^.]*$/,"");this.found=await g("models/import",a?{text:t,name:a}:{text:t}),this.name=this.freeName(a||/^model: *["']?([\w .-]+)/m.exec(this.found.text)?.[1]||"imported")}catch(a){this.error=a}this.update()}async bringLive(){this.adding="import",this.found=null,this.error=null,this.update();try{this.found=await g("models/import",{live:{tables:null,sample:500}}),this.name=this.freeName("tables")}catch(t){this.error=t}this.update()}async erase(t){try{await g("models/delete",{name:t.name,hash:t.hash}),U(t.name),this.deleting=null}catch(e){this.error=e.kind==="changed"?{message:`${t.name} changed since the list was read; nothing was deleted.`}:e,this.deleting=null}await this.load()}update(){this.isConnected&&V(this.view(),this)}view(){let t=new Set(_t());return i`<div class=${this.over?"mf-room is-over":"mf-room"}>
      <header class="mf-head">
        <h1>Models</h1>
        ${this.writable?i`<span class="md-actions">
          <button class="md-button is-main" aria-expanded=${this.adding==="new"} @click=${()=>{this.adding=this.adding==="new"?null:"new",this.name=this.freeName("model"),this.found=null,this.update(),this.focusSoon("[data-name]")}}>New model</button>
          <button class="md-button" aria-expanded=${this.adding==="import"} @click=${()=>{this.adding=this.adding==="import"?null:"import",this.found=null,this.pasted="",this.update(),this.focusSoon("textarea")}}>Import</button>
        </span>`:this.state?i`<span class="dim md-actions">${this.state.readOnly?"read-only":"Start with --models DIR to save model files."}</span>`:c}
      </header>
      ${this.error?i`<div class="md-error" role="alert"><p>${this.error.message}</p>${this.error.faults?.length?i`<ul>${this.error.faults.map(e=>i`<li>${e.line?`line ${e.line}: `:""}${v(e.text)}</li>`)}</ul>`:c}
        ${this.models===null?i`<button class="md-button" @click=${()=>this.load()}>Retry</button>`:c}</div>`:c}
      ${this.adding==="new"?i`<form class="mf-form" @submit=${e=>{e.preventDefault(),this.write(this.name,this.examples?.starter??`format: 1
model: model
`)}}>
        <p>A commented model that passes its check, to change into yours.</p>
        <label>Name of the file <input data-name required pattern="[a-z0-9._\\-]+" .value=${this.name} @input=${e=>{this.name=e.target.value}}></label>
        <button class="md-button is-main">Create</button></form>`:c}
      ${this.adding==="import"?this.importForm():c}
      ${this.state?.signIn.needed?i`<p class="dim">All accounts of this server share the model files: each may read, change and delete them.</p>`:c}
      ${this.models&&this.models.length>0?i`
        <h2 class="kc-hidden">Your models</h2>
        <div class="md-table-room" tabindex="0" role="region" aria-label="Model files"><table class="md-table mf-table">
        <thead><tr><th scope="col">file</th><th scope="col">what</th><th scope="col" class="is-number">tables</th><th scope="col" class="is-number">entities</th><th scope="col" class="is-number">patterns</th><th scope="col">changed</th><th scope="col"><span class="kc-hidden">actions</span></th></tr></thead>
        <tbody>${D(this.models,e=>e.name,e=>i`<tr>
          <th scope="row"><a class="md-link" href=${`/models/${encodeURIComponent(e.name)}/patterns`}>${e.name}</a>${t.has(e.name)?i` <span class="mf-draft">unsaved changes</span>`:c}</th>
          <td>${e.faults>0?i`<span class="vd-bad">✗ ${w(e.faults,"fault")}</span>`:v(String(e.title??""))}</td>
          <td class="is-number">${st(e.tables)}</td><td class="is-number">${st(e.entities)}</td><td class="is-number">${st(e.patterns)}</td>
          <td>${new Date(e.changedMs).toLocaleString([],{dateStyle:"medium",timeStyle:"short"})}</td>
          <td>${this.writable?this.deleting===e.name?i`<span class="md-actions"><button class="md-button" @click=${()=>this.erase(e)}>Delete ${e.name}</button><button class="md-button" @click=${()=>{this.deleting=null,this.update()}}>Keep</button></span>`:i`<button class="md-link" aria-label="Delete ${e.name}" @click=${()=>{this.deleting=e.name,this.update()}}>Delete…</button>`:c}</td></tr>`)}</tbody></table></div>`:this.models?i`<p class="md-nothing">No model file yet. Start with an example, with the starter, or drop a document of another tool here.</p>`:c}
      ${this.examples?i`<h2>Examples</h2>${vt(this.examples.examples)}`:c}
    </div>`}focusSoon(t){requestAnimationFrame(()=>this.querySelector(t)?.focus())}importForm(){return i`<section class="mf-form" aria-label="Import">
      ${this.found?i`
        <p>Read as ${Ce[this.found.source]??this.found.source}.</p>
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
    </section>`}},st=s=>Array.isArray(s)?s.length:s??"",it=new Map;customElements.get("kw-models")||customElements.define("kw-models",at);
