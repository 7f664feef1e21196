// Which patterns of a table's model use an index. The browser knows the model whose tables were made here.

import { call, stream } from "../model/api.js";
import { visible } from "../collections/typed.js";

/** A line that names them. @param {string} table @param {string} index @returns {Promise<string>} */
export async function usesOf(table, index) {
  const made = localStorage.getItem(`kw-model-of:${table}`);
  if (!made) return "No model here is known to have made this table, so the patterns that use it are not known.";
  const name = made.endsWith(".yaml") ? made : `${made}.yaml`;
  const isFile = (await call("models/list", {})).models.some((one) => one.name === name);
  const { text } = await call(isFile ? "models/read" : "examples/read", { name });
  const { patterns } = await stream("model/check", { text, name });
  const ids = patterns.filter((one) => one.table === table && one.index === index).map((one) => visible(one.id));
  return ids.length > 0 ? `Patterns of ${name} that use it: ${ids.join(", ")}.` : `No pattern of ${name} uses it.`;
}
