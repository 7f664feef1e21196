// Links and shrinks the pages' modules and sheets into a few files, which released binaries serve.
//
//   node pages.mjs OUT
//
// OUT is the folder `dist`, or another one to compare with it: the result depends on the sources and on the
// version of esbuild alone, but for the compressed files. KEYWRIGHT_STUDIO_MODULES names the folder of packages that has esbuild.
// `cargo xtask pages` does all of this.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { compressed } from "./brotli.mjs";

const out = process.argv[2];
if (!out) throw new Error("usage: node pages.mjs OUT");
const here = dirname(fileURLToPath(import.meta.url));
const modules = process.env.KEYWRIGHT_STUDIO_MODULES ?? join(here, "node_modules");
const { build } = createRequire(`${modules}/`)("esbuild");
const studio = join(here, "../..");

/** The page's script, and what it loads on demand: each area of views, and what brings a library with it. */
const ENTRIES = ["app.js", "views/tables.js", "views/models.js", "views/operate.js", "views/regions.js", "views/start.js", "views/model/kw-editor.js", "views/operate/kw-chart.js"];

/** The large files of others are served as they are, next to the folder of the result. lit-html is linked in. */
const vendored = {
  name: "vendored",
  setup: (build) => build.onResolve({ filter: /\/vendor\/(codemirror|uplot)\// }, ({ path }) => ({ path: path.replace(/^.*\/vendor\//, "../vendor/"), external: true })),
};

const options = {
  absWorkingDir: studio, outdir: join(studio, "dist"), write: false, metafile: true,
  bundle: true, minify: true, target: "es2023", charset: "utf8", legalComments: "none",
  plugins: [vendored],
};
const scripts = await build({ ...options, entryPoints: ENTRIES, entryNames: "[name]", format: "esm", splitting: true });
const sheet = await build({ ...options, entryPoints: ["app.css"] });

// What several entries share is named after its largest module, not after a hash: an edit changes no names.
const names = new Map();
for (const [path, made] of Object.entries(scripts.metafile.outputs)) {
  if (made.entryPoint) continue;
  const [[largest]] = Object.entries(made.inputs).sort(([, one], [, other]) => other.bytesInOutput - one.bytesInOutput);
  names.set(basename(path), `${basename(dirname(largest))}-${basename(largest)}`);
}
if (new Set(names.values()).size < names.size) throw new Error("two shared scripts have one name");

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
for (const { path, text } of [...scripts.outputFiles, ...sheet.outputFiles]) {
  const name = names.get(basename(path)) ?? basename(path);
  const licence = name === "lit-html-lit-html.js" ? "/* with lit-html, BSD-3-Clause: vendor/licences/lit-html.txt */\n" : "";
  const bytes = Buffer.from(licence + text.replace(/chunk-[A-Z0-9]{8}\.js/g, (chunk) => names.get(chunk) ?? chunk));
  writeFileSync(join(out, name), bytes);
  const packed = compressed(bytes);
  if (packed) writeFileSync(join(out, `${name}.br`), packed);
}
