// The six steps of the tour: what to look at, and one change to try on the example's text. A change that the
// example does not read with is passed over for the next.

/**
 * @typedef {{view: string, title: string, look: string, tries: {text: string, edit: (text: string, outline: any) => string|null}[]}} Step
 */

const once = (text, from, to) => (from.test(text) ? text.replace(from, to) : null);

/** The block of one entity: its first line, its end, its lines. */
function entityBlock(text, name) {
  const lines = text.split("\n");
  const start = lines.findIndex((line) => line.replace(/\s*$/, "") === `  ${name}:`);
  if (start < 0) return null;
  let end = start + 1;
  while (end < lines.length && (/^ {4}/.test(lines[end]) || lines[end].trim() === "")) end += 1;
  return { lines, start, end };
}

function addAttribute(text, name, line) {
  const block = entityBlock(text, name);
  if (!block) return null;
  const { lines, start, end } = block;
  for (let at = start; at < end; at += 1) {
    if (/^ {4}attrs: \{/.test(lines[at])) {
      lines[at] = lines[at].replace("attrs: {", `attrs: {${line}, `);
      return lines.join("\n");
    }
    if (/^ {4}attrs:\s*$/.test(lines[at])) {
      lines.splice(at + 1, 0, `      ${line}`);
      return lines.join("\n");
    }
  }
  return null;
}

const nameOf = (attribute) => (typeof attribute === "string" ? attribute.split(":")[0] : attribute.name);

/** @type {Step[]} */
export const STEPS = [
  {
    view: "patterns",
    title: "What is asked",
    look: "A model starts with its access patterns: each read and write with its rate, how much it returns, and how consistent it must be. Keys come later, and only because of these.",
    tries: [
      { text: "The first pattern comes ten times as often.", edit: (text) => once(text, /rate: \{avg: (\d+)(?![\d.])/, (_, rate) => `rate: {avg: ${rate}0`) },
      { text: "The first pattern comes ten times as often.", edit: (text) => once(text, /rate: (\d+)(?![\d.])/, (_, rate) => `rate: ${rate}0`) },
      { text: "The first pattern reads strongly consistent.", edit: (text) => once(text, /^( +)(get|query): (\S+)$/m, (all, indent) => `${all}\n${indent}consistent: true`) },
    ],
  },
  {
    view: "entities",
    title: "What there is",
    look: "The entities: what identifies one, how many there are, how large they become. A parent stands left of its children; “1” and “N” say how many belong to how many.",
    tries: [{
      text: "The first entity gets one more attribute, and its items grow.",
      edit: (text, outline) => (outline?.entities[0] ? addAttribute(text, outline.entities[0].name, "remark: S") : null),
    }],
  },
  {
    view: "keys",
    title: "Who stands where",
    look: "The key of each entity, in the table and in each index. Words are literals, braces are attributes. Entities with the same partition key lie in one item collection and are read with one Query. A “-” means: not in that index.",
    tries: [
      {
        text: "One entity leaves an index: its key there is gone.",
        edit: (text, outline) => {
          const indexes = (outline?.tables ?? []).flatMap((table) => table.indexes.map((index) => (typeof index === "string" ? index : index.name)));
          for (const index of indexes) {
            const line = new RegExp(`^ {4}${index.replace(/[^\w.-]/g, "")}: \\{[^\\n]*\\}\\n`, "m");
            if (line.test(text)) return text.replace(line, "");
          }
          return null;
        },
      },
      { text: "The first partition key gets another prefix.", edit: (text) => once(text, /"([A-Za-z]+)#\{/, (_, word) => `"${word}2#{`) },
      { text: "The second key attribute of the first entity gets a prefix.", edit: (text) => once(text, /key: \{(\w+): ("[^"]*"), (\w+): "/, (_, one, first, two) => `key: {${one}: ${first}, ${two}: "NEW#`) },
    ],
  },
  {
    view: "indexes",
    title: "What each index is for",
    look: "Each index with its key, what it copies, who is in it, and which patterns need it. An index that no pattern needs only costs: each write of an item in it is one write more.",
    tries: [
      { text: "The first index holds keys only.", edit: (text) => once(text, /project: all/, "project: keys") },
      { text: "The first index holds everything.", edit: (text) => once(text, /project: (keys|\[[^\]]*\])/, "project: all") },
      { text: "The table gets time to live on `expiresAt`.", edit: (text) => once(text, /^( {4})key: (.*)$/m, (all, indent) => `${all}\n${indent}ttl: expiresAt`) },
    ],
  },
  {
    view: "denormalisation",
    title: "What is stored twice",
    look: "Attributes that repeat another entity's, so that one read is enough. Each names its source; who changes the source must change the copies, and that is counted here.",
    tries: [{
      text: "A child keeps a copy of one of its parent's attributes.",
      edit: (text, outline) => {
        for (const entity of outline?.entities ?? []) {
          const block = entityBlock(text, entity.name);
          const parent = block && /^ {4}parent: \[?(\w+)/m.exec(block.lines.slice(block.start, block.end).join("\n"))?.[1];
          const source = parent && outline.entities.find((one) => one.name === parent);
          const own = new Set(entity.attributes.map(nameOf));
          const copied = source && source.attributes.map(nameOf).find((name) => !own.has(name));
          if (!copied) continue;
          return addAttribute(text, entity.name, `${copied}: {type: S, copyOf: ${parent}.${copied}}`);
        }
        return null;
      },
    },
    { text: "No attribute is a copy any more.", edit: (text) => once(text, /\{type: (\w+), copyOf: [\w.]+\}/g, "$1") },
    { text: "A new attribute copies one of the first entity.", edit: (text, outline) => {
      const [first, second] = outline?.entities ?? [];
      const copied = first?.attributes.map(nameOf).at(-1);
      return second && copied ? addAttribute(text, second.name, `${copied}Copy: {type: S, copyOf: ${first.name}.${copied}}`) : null;
    } }],
  },
  {
    view: "validation",
    title: "Does it hold",
    look: "Every pattern runs as one request on the engine, on the model's items: which operation, which key condition, how much it read and returned, what that took, and whether the expectation is met.",
    tries: [
      { text: "The first expectation asks for half the units.", edit: (text) => once(text, /rcu: 0\.5/, "rcu: 0") },
      { text: "The first expectation wants exactly one other item.", edit: (text) => once(text, /(items|returns): \[\[([^\]]*)\]/, (_, word, key) => `${word}: [[${key}], [nobody, nothing]`) },
      { text: "The first example asks for somebody else.", edit: (text) => once(text, /example: \{(\w+): "?([\w#.-]+)"?/, (_, name) => `example: {${name}: "nobody"`) },
    ],
  },
];
