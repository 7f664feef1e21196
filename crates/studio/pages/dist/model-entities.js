import{e as P}from"./directives-repeat.js";import{g as D}from"./model-words.js";import{b as I}from"./collections-typed.js";import{a as M,b as A,d as w}from"./lit-html-lit-html.js";var y=204,L=17,N=40,X=72,C=26,v=20,k=8,j=12;function Y(e){let t=e?.blocks.find(o=>o.table)?.table;if(!t)return[];let s=o=>t.headers.indexOf(o),d=o=>o==="-"||o===void 0?[]:o.split(", ");return t.rows.map(o=>({name:o[s("entity")],identity:d(o[s("identity")]),attributes:d(o[s("attributes")]),count:o[s("count")],size:o[s("size")]}))}function z(e,t){let s=new Map(e.map(r=>[r.name,0]));for(let r=0;r<e.length;r+=1){let $=!1;for(let{parent:a,child:u}of t){let n=(s.get(a)??0)+1;a!==u&&(s.get(u)??0)<n&&n<=e.length&&(s.set(u,n),$=!0)}if(!$)break}let d=new Set(t.flatMap(({parent:r,child:$})=>[r,$])),o=[];for(let r of e){if(!d.has(r.name))continue;let $=s.get(r.name)??0;(o[$]??=[]).push(r)}let p=r=>N+Math.min(r.attributes.length,k)*L+(r.attributes.length>k?L:0)+10,h=new Map,c=v;o.forEach((r,$)=>{if(!r)return;let a=i=>{let l=t.filter(({child:g,parent:E})=>g===i.name&&h.has(E));return l.length===0?null:l.reduce((g,{parent:E})=>{let S=h.get(E);return g+S.y+S.height/2},0)/l.length},u=r.map((i,l)=>({entity:i,order:l,middle:a(i)})).sort((i,l)=>(i.middle??0)-(l.middle??0)||i.order-l.order),n=v;for(let{entity:i,middle:l}of u){let g=p(i),E=l===null?n:Math.max(n,Math.round(l-g/2));h.set(i.name,{x:v+$*(y+X),y:E,height:g,layer:$}),n=E+g+C}c=Math.max(c,n)});let f=Math.max(3,o.length),x=0,m=0;for(let r of e){if(d.has(r.name))continue;let $=p(r);h.set(r.name,{x:v+x*(y+32),y:c,height:$,layer:0}),m=Math.max(m,$),x+=1,x===f&&(x=0,c+=m+C,m=0)}x>0&&(c+=m+C);let b=Math.max(...[...h.values()].map(r=>r.x+y),0)+v;return{boxes:h,width:b,height:c+v}}var G=new Intl.NumberFormat("en",{notation:"compact",maximumSignificantDigits:3}),R=e=>/^\d+$/.test(e??"")?G.format(Number(e)):"",H=(e,t)=>e.length>t?`${e.slice(0,t-1)}…`:e;function T(e){return e.flatMap(t=>t.through?[{...t,child:t.through,cardinality:"1:N"},{...t,parent:t.child,child:t.through,cardinality:"1:N"}]:[t])}function K({page:e,relations:t,marks:s,moved:d,move:o,reset:p,open:h}){let c=Y(e);if(c.length===0)return w;let f=T(t),{boxes:x,width:m,height:b}=z(c,f),r=n=>{let i=x.get(n),l=d.get(n);return l?{...i,x:i.x+l.x,y:i.y+l.y}:i},$=m,a=b;for(let n of c){let i=r(n.name);$=Math.max($,i.x+y+v),a=Math.max(a,i.y+i.height+v)}let u=f.filter(({parent:n,child:i})=>x.has(n)&&x.has(i));return M`<div class="er">
    <div class="er-bar"><span class="dim">${u.length===0?"No relations are declared.":"Parents stand left of their children. Arrow keys move a box, Enter goes to its line."}</span>
      ${d.size>0?M`<button class="md-button" @click=${p}>Put the boxes back</button>`:w}</div>
    <div class="er-room" tabindex="0" role="region" aria-label="Entities and relations">
    <svg class="er-svg" width=${$} height=${a} viewBox="0 0 ${$} ${a}" role="group" aria-label="Entities and relations">
      ${u.map(n=>B(r(n.parent),r(n.child),n))}
      ${P(c,n=>n.name,n=>W(n,r(n.name),s.entities.get(n.name),u,{moved:d,move:o,open:h}))}
    </svg></div></div>`}function B(e,t,s){let d=s.parent===s.child,o=e.x+y,p=e.y+(d?14:e.height/2),h=d?t.x+y:t.x,c=t.y+(d?t.height-14:t.height/2),f=d?46:Math.max(30,Math.abs(h-o)/2),x=`M ${o} ${p} C ${o+f} ${p}, ${d?h+f:h-f} ${c}, ${h} ${c}`,[m,b]=U(s.cardinality);return A`<g class=${s.declared===!1?"er-edge is-guessed":"er-edge"} aria-hidden="true">
    <path d=${x}></path>
    ${b!=="1"&&!d?A`<path class="er-foot" d="M ${h} ${c-7} L ${h-11} ${c} L ${h} ${c+7}"></path>`:w}
    <circle cx=${o} cy=${p} r="3.5"></circle>
    <text x=${o+9} y=${p-7}>${m}</text>
    <text x=${h-9} y=${c-9} text-anchor="end">${b}</text>
  </g>`}function U(e){let[t,s]=(e??"1:N").split(":");return[t||"1",s||"N"]}function W(e,t,s,d,{moved:o,move:p,open:h}){let c=d.filter(({child:a})=>a===e.name).map(({parent:a})=>a),f=d.filter(({parent:a})=>a===e.name).map(({child:a})=>a),x=[e.name,c.length>0?`child of ${c.join(", ")}`:"",f.length>0?`parent of ${f.join(", ")}`:"",`${e.attributes.length} attributes`].filter(Boolean).join("; "),m=o.get(e.name)??{x:0,y:0},b=a=>{let n={ArrowLeft:[-j,0],ArrowRight:[j,0],ArrowUp:[0,-j],ArrowDown:[0,j]}[a.key];n?(a.preventDefault(),p(e.name,Math.max(m.x+n[0],m.x-t.x),Math.max(m.y+n[1],m.y-t.y))):a.key==="Enter"&&h(e.name)},r=a=>{if(a.button!==0)return;let u=a.currentTarget,n={x:a.clientX,y:a.clientY};u.setPointerCapture(a.pointerId);let i=g=>p(e.name,Math.max(m.x+g.clientX-n.x,m.x-t.x),Math.max(m.y+g.clientY-n.y,m.y-t.y)),l=()=>{u.removeEventListener("pointermove",i),u.removeEventListener("pointerup",l)};u.addEventListener("pointermove",i),u.addEventListener("pointerup",l)},$=e.attributes.slice(0,k);return A`<g class="er-node" tabindex="0" role="group" aria-label=${x} transform="translate(${t.x}, ${t.y})"
      @keydown=${b} @pointerdown=${r} @dblclick=${()=>h(e.name)}>
    <rect class="er-box" width=${y} height=${t.height} rx="9"></rect>
    <rect class="er-badge ent-${s?s.colour:"none"} ${s?.striped?"is-striped":""}" x="11" y="11" width="24" height="17" rx="4"></rect>
    <text class="er-letters ${s?.striped?"is-striped":""}" x="23" y="23.5" text-anchor="middle">${s?s.letters:""}</text>
    <text class="er-name" x="43" y="24.5">${H(e.name,15)}</text>
    <text class="er-count" x=${y-12} y="24" text-anchor="end">${R(e.count)}</text>
    <line class="er-rule" x1="0" x2=${y} y1=${N-1} y2=${N-1}></line>
    ${$.map((a,u)=>{let[n,...i]=a.split(": "),l=e.identity.includes(n);return A`<text class="er-attr ${l?"is-key":""}" x="12" y=${N+15+u*L}>${l?"◆ ":""}${H(n,20)}</text>
        <text class="er-type" x=${y-12} y=${N+15+u*L} text-anchor="end">${H(i.join(": "),14)}</text>`})}
    ${e.attributes.length>k?A`<text class="er-type" x="12" y=${N+15+k*L}>and ${e.attributes.length-k} more</text>`:w}
  </g>`}var O=e=>Array.isArray(e)?e.length:Number(e??0);function tt(e){return M`<ul class="ex-list">${P(e,t=>t.name,t=>{let s=t.name.replace(/\.yaml$/,"");return M`<li class="ex">
      <a class="ex-link" href=${`/models/${encodeURIComponent(s)}/${t.fails?"findings":"patterns"}`}>
        <span class="ex-name">${I(t.title||s)}</span> <code class="ex-file">${s}</code>
        ${t.fails?M`<span class="ex-fails">✗ fails on purpose</span>`:w}
      </a>
      <p class="ex-teaches">${I(t.teaches??"")}</p>
      <p class="ex-facts">${D(O(t.tables),"table")} · ${D(O(t.entities),"entity","entities")} · ${D(O(t.patterns),"pattern")}
        ${t.source?M`<br><span class="ex-source">${I(t.source)}</span>`:w}</p>
    </li>`})}</ul>`}export{K as a,tt as b};
