// Makes the files of the vendor folder from the packages of package-lock.json, and lists them in list.json.
//
//   npm ci --ignore-scripts
//   node build.mjs OUT
//
// OUT is the vendor folder, or another one to compare with it: the result depends on the lock file alone, but for
// the files that end with .br, which another version of Node may compress otherwise.

import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { compressed } from "./brotli.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2];
if (!out) throw new Error("usage: node build.mjs OUT");
const lock = JSON.parse(readFileSync(join(here, "package-lock.json"), "utf8"));

/** The parts of lit-html that the pages import, as published. */
const LIT_HTML = [
  "lit-html.js", "directive.js", "directive-helpers.js", "async-directive.js",
  "directives/repeat.js", "directives/live.js", "directives/class-map.js", "directives/ref.js",
  "directives/guard.js", "directives/keyed.js", "directives/if-defined.js",
];

const from = (name, path) => join(here, "node_modules", name, path);
const version = (name) => lock.packages[`node_modules/${name}`].version;
const licence = (name) => lock.packages[`node_modules/${name}`].license;
const origin = (name) => `npm:${name}@${version(name)}`;
const list = [];

function put(path, bytes) {
  const target = join(out, path);
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, bytes);
}

function enter(path, name, made, parts) {
  const bytes = readFileSync(join(out, path));
  list.push({
    file: path,
    name,
    version: version(name),
    sha256: createHash("sha256").update(bytes).digest("hex"),
    bytes: bytes.length,
    licence: licence(name),
    origin: origin(name),
    made,
    ...(parts ? { parts } : {}),
  });
  const packed = compressed(bytes);
  if (packed) put(`${path}.br`, packed);
}

function copy(path, name, source, made) {
  const target = join(out, path);
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(from(name, source), target);
  enter(path, name, made);
}

async function bundle(path, entry, banner) {
  const made = await build({
    entryPoints: [entry],
    absWorkingDir: here,
    outfile: join(out, path),
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    charset: "utf8",
    legalComments: "none",
    metafile: true,
    banner: { js: banner },
  });
  const packages = new Set();
  for (const input of Object.keys(made.metafile.inputs)) {
    const name = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1];
    if (name) packages.add(name);
  }
  return [...packages].sort();
}

function licenceOf(name) {
  for (const file of ["LICENSE", "LICENSE.md", "LICENSE.txt"]) {
    try {
      return readFileSync(from(name, file), "utf8").trim();
    } catch {}
  }
  throw new Error(`${name} has no licence file`);
}

for (const file of LIT_HTML) copy(`lit-html/${file}`, "lit-html", file, "as published");
put("licences/lit-html.txt", `${licenceOf("lit-html")}\n`);

const parts = await bundle(
  "codemirror/codemirror.js",
  "entry.js",
  "/* CodeMirror 6 and Lezer, MIT: licences/codemirror.txt */",
);
enter(
  "codemirror/codemirror.js",
  "@codemirror/view",
  "one file of build/entry.js by esbuild",
  parts.map((name) => ({ name, version: version(name), licence: licence(name), origin: origin(name) })),
);
put("licences/codemirror.txt", parts.map((name) => `${name} ${version(name)}\n\n${licenceOf(name)}\n`).join("\n---\n\n"));

await bundle("uplot/uplot.js", "node_modules/uplot/dist/uPlot.esm.js", "/* uPlot, MIT: licences/uplot.txt */");
enter("uplot/uplot.js", "uplot", "dist/uPlot.esm.js made small by esbuild");
copy("uplot/uplot.css", "uplot", "dist/uPlot.min.css", "as published");
put("licences/uplot.txt", `${licenceOf("uplot")}\n`);

writeFileSync(join(out, "list.json"), `${JSON.stringify(list, null, 2)}\n`);
