// Texts as words of a shell and as literals of languages: nothing in them ends the word.

/** An argument that every shell takes as one word. */
export const shell = (text) => (/^[A-Za-z0-9/][A-Za-z0-9_\-./:,]*$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** A JSON text is a literal of JavaScript but for the letters that end lines elsewhere. */
export const literal = (text) => JSON.stringify(text).replace(/[\u007f-\uffff]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** Python has no pairs of surrogates in its literals. */
export const python = (text) => `"${[...text].map((letter) => {
  const code = letter.codePointAt(0) ?? 0;
  if (letter === '"' || letter === "\\") return `\\${letter}`;
  return code >= 32 && code < 127 ? letter : `\\U${code.toString(16).padStart(8, "0")}`;
}).join("")}"`;
