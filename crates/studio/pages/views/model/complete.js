// Completion and hover of model files, from their JSON Schema and the names in the file itself.

/** The words of a line's place: names of the mappings around it, outermost first; "[]" for a list. */
export function pathAt(text, line, before) {
  const lines = text.split("\n").slice(0, line - 1);
  const path = [];
  let indent = before.length - before.trimStart().length;
  const own = /^\s*((?:- )*)/.exec(before)?.[1] ?? "";
  if (own) { path.unshift("[]"); }
  for (let at = lines.length - 1; at >= 0 && indent > 0; at -= 1) {
    const one = lines[at];
    if (one.trim() === "" || one.trim().startsWith("#")) continue;
    const start = one.length - one.trimStart().length;
    if (start >= indent) {
      if (start === indent && own && one.trimStart().startsWith("- ")) continue;
      continue;
    }
    const item = /^(\s*)- (.*)$/.exec(one);
    if (item && start + 2 === indent) {
      // The line belongs to the mapping that this list item starts.
      path.unshift("[]");
      indent = start + 1;
      if (start === 0) indent = 0.5;
      continue;
    }
    const name = /^\s*(?:- )?["']?([^"':#]+)["']?:/.exec(one)?.[1]?.trim();
    if (name !== undefined) path.unshift(name);
    indent = start;
  }
  // Open braces on this very line: {pk: …, sk: |
  const inner = before.trimStart().replace(/^(- )+/, "");
  const stack = [];
  let word = "";
  let pending = "";
  for (const letter of inner) {
    if (letter === "{" || letter === "[") { stack.push(letter === "[" ? `${pending}\u0000[]` : pending); word = ""; pending = ""; }
    else if (letter === "}" || letter === "]") { stack.pop(); word = ""; pending = ""; }
    else if (letter === ":") { pending = word.trim(); word = ""; }
    else if (letter === ",") { word = ""; pending = ""; }
    else word += letter;
  }
  for (const name of stack) {
    if (name.includes("\u0000")) path.push(name.split("\u0000")[0], "[]");
    else if (name !== "") path.push(name);
  }
  return { path, key: pending };
}

/** All shapes of a schema: the alternatives of `oneOf`, references followed. */
function shapes(schema, root) {
  if (!schema || typeof schema !== "object") return [];
  if (schema.$ref) return shapes(schema.$ref.split("/").slice(1).reduce((at, part) => at?.[part], root), root);
  const found = [schema];
  for (const one of [...(schema.oneOf ?? []), ...(schema.anyOf ?? []), ...(schema.allOf ?? [])]) found.push(...shapes(one, root));
  return found;
}

function walk(schema, path, root) {
  let at = shapes(schema, root);
  for (const part of path) {
    at = at.flatMap((shape) => {
      if (part === "[]") return shape.items ? shapes(shape.items, root) : [];
      if (shape.properties && Object.hasOwn(shape.properties, part)) return shapes(shape.properties[part], root);
      if (shape.additionalProperties && typeof shape.additionalProperties === "object") return shapes(shape.additionalProperties, root);
      return [];
    });
  }
  return at;
}

/** What the names of the file are offered for, by the key they stand after. */
const NAMES = {
  get: "entities", query: "entities", put: "entities", update: "entities", delete: "entities", of: "entities",
  parent: "entities", scan: "entities", uses: "indexes", copyOf: "copies", entity: "entities",
};

/**
 * @param {any} schema of model files
 * @param {() => any} outline of the file as it last read
 */
export function completer(schema, outline) {
  return ({ line, before, text }) => {
    const { path, key } = pathAt(text, line, before);
    const word = /[\w.#-]*$/.exec(before)?.[0] ?? "";
    const from = before.length - word.length;
    const names = outline();
    const options = [];
    const put = (label, type, detail, info) => {
      if (!options.some((one) => one.label === label)) options.push({ label, type, detail, info });
    };
    if (/\{[^}:,]*$/.test(before) && /["'][^"']*\{[^}]*$/.test(before)) {
      // Inside a key template: the attributes of the entity around it.
      const entity = names?.entities.find((one) => path.includes(one.name));
      for (const attribute of (entity ?? { attributes: [] }).attributes) put(nameOf(attribute), "property", "attribute");
      return { from: before.length - (/[\w-]*$/.exec(before)?.[0].length ?? 0), options };
    }
    if (key) {
      const kind = NAMES[key];
      if (kind === "entities") for (const entity of names?.entities ?? []) put(entity.name, "class", "entity");
      if (kind === "indexes") for (const table of names?.tables ?? []) for (const index of table.indexes) put(nameOf(index), "class", `index of ${table.name}`);
      if (kind === "copies") for (const entity of names?.entities ?? []) for (const one of entity.attributes) put(`${entity.name}.${nameOf(one)}`, "property");
      for (const shape of walk(schema, [...path, key], schema)) {
        for (const value of shape.enum ?? []) put(String(value), "enum", undefined, shape.description);
        if (shape.const !== undefined) put(String(shape.const), "enum", undefined, shape.description);
        if (shape.type === "boolean") { put("true", "enum"); put("false", "enum"); }
      }
      return { from, options };
    }
    for (const shape of walk(schema, path, schema)) {
      for (const name of Object.keys(shape.properties ?? {})) {
        const inner = shapes(shape.properties[name], schema).find((one) => one.description);
        options.push({ label: name, type: "property", apply: `${name}: `, info: inner?.description });
      }
    }
    if (path.at(-1) === "given" || path.at(-1) === "example") {
      for (const entity of names?.entities ?? []) for (const one of entity.attributes) put(nameOf(one), "property", entity.name);
    }
    return { from, options };
  };
}

const nameOf = (one) => (typeof one === "string" ? one : one.name);

/** Descriptions by the name of a key, wherever the schema has one. */
export function hover(schema) {
  /** @type {Map<string, Set<string>>} */
  const words = new Map();
  const visit = (part) => {
    if (!part || typeof part !== "object") return;
    for (const name of Object.keys(part.properties ?? {})) {
      for (const shape of shapes(part.properties[name], schema)) {
        const text = [shape.description, shape.enum ? shape.enum.join(" | ") : null].filter(Boolean).join("\n");
        if (!text) continue;
        const found = words.get(name) ?? new Set();
        found.add(text);
        words.set(name, found);
      }
    }
    for (const value of Object.values(part)) visit(value);
  };
  visit(schema);
  return (word, line) => {
    if (!new RegExp(`(^|[\\s{,-])${word.replace(/[^\w-]/g, "")}:`).test(line)) return null;
    const found = words.get(word);
    return found ? [...found].join("\n\n") : null;
  };
}
