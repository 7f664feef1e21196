// <kw-sign-in>: the page signs one request with Signature Version 4; the secret never leaves the page and is
// forgotten once the token is there.

import { html, nothing, render } from "../../vendor/lit-html/lit-html.js";
import { build, context } from "../model/api.js";

const utf8 = new TextEncoder();
const hex = (buffer) => [...new Uint8Array(buffer)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const digest = async (text) => hex(await crypto.subtle.digest("SHA-256", utf8.encode(text)));

async function hmac(key, text) {
  const made = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return crypto.subtle.sign("HMAC", made, utf8.encode(text));
}

/** The headers of a signed `sign-in` with an empty JSON body. The key of a session comes with its token. */
async function signed(id, secret, token, region, build) {
  const now = new Date().toISOString().replace(/[-:]|\.\d{3}/g, "");
  const scope = `${now.slice(0, 8)}/${region}/dynamodb/aws4_request`;
  const names = token ? "host;x-amz-date;x-amz-security-token" : "host;x-amz-date";
  const lines = [`host:${location.host}`, `x-amz-date:${now}`, ...(token ? [`x-amz-security-token:${token}`] : [])];
  const canonical = ["POST", "/api/sign-in", "", ...lines, "", names, await digest("{}")].join("\n");
  const text = ["AWS4-HMAC-SHA256", now, scope, await digest(canonical)].join("\n");
  let key = /** @type {BufferSource} */ (utf8.encode(`AWS4${secret}`));
  for (const part of scope.split("/")) key = await hmac(key, part);
  return {
    "content-type": "application/json", "x-keywright-studio": build, "x-amz-date": now, ...(token ? { "x-amz-security-token": token } : {}),
    authorization: `AWS4-HMAC-SHA256 Credential=${id}/${scope}, SignedHeaders=${names}, Signature=${hex(await hmac(key, text))}`,
  };
}

export class KwSignIn extends HTMLElement {
  constructor() {
    super();
    this.error = "";
    this.busy = false;
  }

  connectedCallback() {
    this.classList.add("mf");
    this.update();
  }

  async submit(event) {
    event.preventDefault();
    const form = event.target;
    const id = form.elements.namedItem("id").value.trim();
    const secret = form.elements.namedItem("secret").value;
    const token = form.elements.namedItem("token").value.trim();
    this.busy = true;
    this.error = "";
    this.update();
    try {
      const response = await fetch("/api/sign-in", { method: "POST", body: "{}", headers: await signed(id, secret, token, context.region ?? "us-east-1", build) });
      const answer = await response.json();
      if (!response.ok) throw new Error(answer.error?.text ?? "The sign-in failed.");
      form.reset();
      sessionStorage.setItem("kw-token", answer.token);
      context.token = answer.token;
      window.dispatchEvent(new CustomEvent("kw-signed-in"));
    } catch (error) {
      this.error = /** @type {Error} */ (error).message;
    }
    this.busy = false;
    this.update();
  }

  update() { if (this.isConnected) render(this.view(), this); }

  view() {
    return html`<div class="mf-room si">
      <h1>Sign in</h1>
      ${crypto.subtle ? html`<p class="dim">With an access key of a user, a role's session or the account itself. The secret signs one request in this page and is not sent.</p>
      <form class="mf-form" autocomplete="off" @submit=${(event) => this.submit(event)}>
        <p><label>Access key <input name="id" required autocomplete="off" spellcheck="false"></label></p>
        <p><label>Secret <input class="si-secret" name="secret" type="password" required autocomplete="off"></label></p>
        <p><label>Session token, if the key has one <input class="si-secret" name="token" type="password" autocomplete="off"></label></p>
        ${this.error ? html`<p class="vd-bad" role="alert">${this.error}</p>` : nothing}
        <button class="md-button is-main" ?disabled=${this.busy}>Sign in</button></form>`
      : html`<p role="alert">Browsers sign only on localhost or with TLS. Open the studio through https or as http://localhost.</p>`}
    </div>`;
  }
}

if (!customElements.get("kw-sign-in")) customElements.define("kw-sign-in", KwSignIn);
