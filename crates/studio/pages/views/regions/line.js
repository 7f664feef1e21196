// The line that every page has while replication is simulated: what is simulated now, for those who may know it.

import { html, nothing, render } from "../../vendor/lit-html/lit-html.js";
import { call } from "../model/api.js";
import { endText, rulesOf } from "./rules.js";

const EVERY_MS = 2000;
/** Rules that the line names. */
const NAMED = 3;

const line = { timer: 0, isOn: false, region: "", simulation: /** @type {any} */ (null) };

/**
 * Keeps the line right: from now on it is there, or gone.
 * @param {{isOn: boolean, sees: boolean, region: string}} what whether something is simulated, and whether the visitor may know what
 */
export function follow({ isOn, sees, region }) {
  clearInterval(line.timer);
  Object.assign(line, { timer: 0, isOn, region, simulation: isOn && sees ? line.simulation : null });
  draw();
  if (!isOn || !sees) return;
  // That nothing is simulated any more is said by the answer's header.
  const look = async () => {
    if (document.hidden) return;
    const simulation = await call("simulation/show", {}).catch(() => null);
    if (!line.isOn || !simulation) return;
    line.simulation = simulation;
    draw();
  };
  line.timer = window.setInterval(look, EVERY_MS);
  look();
}

function draw() {
  const room = document.getElementById("simulated");
  if (room) render(line.isOn ? view() : nothing, room);
}

function view() {
  const rules = rulesOf(line.simulation);
  const words = rules.slice(0, NAMED).map(({ subject, effect, rule }) => `${subject}: ${effect}, ${endText(rule)}`);
  const more = rules.length > NAMED ? ` and ${rules.length - NAMED} more` : "";
  return html`<p><b role="status">Replication between regions is simulated.</b> ${words.join("; ")}${more} <a class="md-link" href=${`/${line.region}/operate/simulation`}>Simulation</a></p>`;
}
