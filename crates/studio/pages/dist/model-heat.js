import{b as l,d as c}from"./model-blocks.js";import{e as r}from"./model-words.js";import{a as s,d as n}from"./lit-html-lit-html.js";var h=1e3,p=3e3;function $(e,o,a){let t=e/o,i=Math.max(1.25,t),u=t>1?"hot":t>.5?"warm":"cool",m=100*t/i,d=100/i;return s`<div class="ht-line">
    <span class="ht-what">${a}</span>
    <svg class="ht-bar" viewBox="0 0 100 10" preserveAspectRatio="none" role="img"
      aria-label="${e.toLocaleString("en")} of ${o.toLocaleString("en")} ${a} units a second">
      <rect class="ht-track" x="0" y="2" width="100" height="6" rx="1"></rect>
      <rect class="ht-fill is-${u}" x="0" y="2" width=${Math.max(t>0?.4:0,m)} height="6"></rect>
      <line class="ht-limit" x1=${d} x2=${d} y1="0" y2="10"></line>
    </svg>
    <span class="ht-number">${e.toLocaleString("en")} <span class="dim">of ${o.toLocaleString("en")}</span></span>
  </div>`}function b({heat:e,marks:o,calculator:a}){return e?s`<div class="md-page">
    <p class="md-about">The busiest key of each table and index, at the peak rates of the model. A partition serves
      ${h.toLocaleString("en")} write units and ${p.toLocaleString("en")} read units a second; the line in each bar is that limit.</p>
    ${e.keys.length===0?s`<p class="md-nothing">No key is asked for at a known rate: give patterns a <code>rate</code>.</p>`:n}
    <ol class="ht-list">${e.keys.map(t=>s`<li class="ht is-${t.verdict??"unknown"}">
      <div class="ht-head">
        <code class="ht-key">${l(t.partitionKey)}</code>
        <span class="ht-of">${t.index===null?t.table:`${t.table}.${t.index}`}${t.localIndexes.length>0?s` with ${t.localIndexes.join(", ")}`:n}</span>
        <span class="ht-entities">${t.entities.map(i=>c(i,o.entities))}</span>
        ${t.verdict===null?s`<span class="ht-verdict">unknown</span>`:s`<span class="ht-verdict is-${t.verdict}"><span aria-hidden="true">${t.verdict==="hot"?"▲":t.verdict==="warm"?"◆":"●"}</span> ${t.verdict}, ${r(t.usedPpm)} full</span>`}
      </div>
      ${t.verdict===null?s`<p class="ht-words">How much of its rate goes to one key is not known: give the entities a <code>count</code>.</p>`:s`
      ${$(t.writeUnits,h,"write")}
      ${$(t.readUnits,p,"read")}
      <p class="ht-words">${r(t.sharePpm)} of its rate goes to the busiest key.
        ${t.shards>1?s`Spread over <b>${t.shards}</b> shards; ${t.shardsNeeded} needed, ${t.shardsToCool} to be cool.`:n}
        ${t.shards===1&&t.shardsNeeded>1?t.shardsHelp?s`It needs <b>${t.shardsNeeded}</b> shards, ${t.shardsToCool} to be cool: write <code>${`{…|shard(${t.shardsToCool})}`}</code> in its key.`:s`Shards do not help: the load is on one item.`:n}</p>`}
    </li>`)}</ol>
    ${e.withoutRate?.length>0?s`<p>Not counted, as they have no rate: ${e.withoutRate.join(", ")}.</p>`:n}
    ${e.notes?.length>0?s`<ul>${e.notes.map(t=>s`<li>${t}</li>`)}</ul>`:n}
    <section class="ht-calculator" aria-label="Calculator">
      <h3>How many shards?</h3>
      <label>Write units a second on one key
        <input inputmode="numeric" .value=${a.writes} @input=${t=>a.ask(t.target.value)}></label>
      <output>${a.answer?a.answer.shardsNeeded===1?"One key serves that.":s`<b>${a.answer.shardsNeeded}</b> shards.`:""}</output>
    </section>
  </div>`:n}export{h as a,p as b,$ as c,b as d};
