import{b as f}from"./collections-typed.js";import{a as o,d as n,f as b,g as p}from"./lit-html-lit-html.js";function x({title:$,lost:w,verb:k,keep:v="Cancel",typed:l,other:a,more:u}){let t=document.createElement("dialog");t.className="it-ask md",t.setAttribute("aria-labelledby","ask-title");let d="",s=u?"Looking for what uses it…":n,r=null,c=()=>t.close(),m=e=>g=>{g.detail<2&&(e(),t.close())},i=()=>b(o`
    <h2 id="ask-title">${$}</h2>
    <ul>${w.map(e=>o`<li>${e}</li>`)}${s===n?n:o`<li><span role="status">${s}</span></li>`}</ul>
    ${l===void 0?n:o`<p><label>Type <b>${f(l)}</b> to confirm <input autofocus autocomplete="off" spellcheck="false" @input=${e=>{d=e.target.value,i()}}></label></p>`}
    <p class="mf-line"><button class="md-button is-main" ?autofocus=${l===void 0} @click=${c}>${v}</button>
      ${a?o`<button class="md-button" @click=${m(a.run)}>${a.words}</button>`:n}
      <button class="md-button is-danger" ?disabled=${l!==void 0&&d!==l} @click=${m(()=>{r=p()})}>${k}</button></p>`,t);return i(),u?.then(e=>{s=e,i()},()=>{s=n,i()}),document.body.append(t),t.showModal(),window.addEventListener("popstate",c),new Promise(e=>t.addEventListener("close",()=>{window.removeEventListener("popstate",c),t.remove(),e(r)}))}export{x as a};
