// The marks of entities: a colour of eight (then the same with stripes) and two letters, the same in all views.
// Colour alone never tells two entities apart: the letters do.

/**
 * @typedef {{name: string, letters: string, colour: number, striped: boolean}} EntityMark
 */

/** How many colours there are; later entities have them again, striped. */
export const COLOURS = 8;

/** The letters that a name suggests, best first: initials of its words, then its first letter with each other. */
function candidates(name) {
  const words = name.split(/[^\p{L}\p{N}]+|(?<=[\p{Ll}\p{N}])(?=\p{Lu})/u).filter(Boolean);
  const letters = [...name].filter((letter) => /[\p{L}\p{N}]/u.test(letter));
  const first = letters[0] ?? "?";
  const found = [];
  if (words.length > 1) found.push(words[0][0].toUpperCase() + words[1][0].toUpperCase());
  for (const letter of letters.slice(1)) found.push(first.toUpperCase() + letter.toLowerCase());
  for (const digit of "123456789") found.push(first.toUpperCase() + digit);
  return found;
}

/**
 * One mark for each entity, in the order given: a model's entities as it declares them.
 * @param {string[]} names
 * @returns {Map<string, EntityMark>}
 */
export function entityMarks(names) {
  const used = new Set();
  const marks = new Map();
  names.forEach((name, at) => {
    const letters = candidates(name).find((two) => !used.has(two)) ?? "??";
    used.add(letters);
    marks.set(name, { name, letters, colour: at % COLOURS, striped: Math.floor(at / COLOURS) % 2 === 1 });
  });
  return marks;
}

/** The class names of an entity's mark. */
export function markClasses(mark) {
  if (!mark) return "ent ent-none";
  return `ent ent-${mark.colour}${mark.striped ? " ent-striped" : ""}`;
}
