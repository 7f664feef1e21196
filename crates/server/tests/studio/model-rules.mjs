// What holds for every model page: accessibility in both themes and narrow, weights, vendored files.

import {spawnSync} from 'node:child_process';
import {createHash} from 'node:crypto';
import {existsSync, mkdtempSync, readFileSync, readdirSync, rmSync} from 'node:fs';
import {createRequire} from 'node:module';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {brotliDecompressSync} from 'node:zlib';
import {LONG, equal, ok, same, serve, test, until} from './lib.mjs';

const vendor = new URL('../../../studio/pages/vendor/', import.meta.url);
const linked = new URL('../../../studio/pages/dist/', import.meta.url);
const VIEWS = ['edit', 'patterns', 'entities', 'keys', 'indexes', 'copies', 'validation', 'collections', 'findings',
  'cost', 'heat', 'simulate', 'advice', 'checklist', 'design', 'diff'];

async function settled(t) {
  await t.page.waitForFunction(() => {
    const element = document.querySelector('kw-model');
    return element?.ws?.text != null && !element.ws.busy && element.ws.last('check');
  });
  await t.drawn();
}

/** The next view of the model that is open, as a link goes there. */
async function next(t, model, view) {
  await t.go(`/models/${model}/${view}`);
  await t.page.locator(`.md-tab[href="/models/${model}/${view}"][aria-current="page"]`).waitFor();
  await settled(t);
}

/** The editor of the model's text. */
const EDITOR = 'kw-editor:not([class])';
const LIGHT = {context: {colorScheme: 'light'}};

// The dark theme is that of the same page; with LONG the pages are loaded in it. What another theme can break
// are rules of colours alone.
/** What a model that fails shows otherwise than one that passes; with LONG all its views are looked at. */
const OF_A_FAILURE = ['edit', 'patterns', 'validation', 'findings', 'design'];
for (const [model, views] of [['orders', VIEWS], ['complaints', LONG ? VIEWS : OF_A_FAILURE]]) {
  test(`S36: axe finds nothing in any view of ${model}, light and dark`, LIGHT, async (t) => {
    await t.open(`/models/${model}/${VIEWS[0]}`);
    for (const view of views) {
      await next(t, model, view);
      const unfold = async () => {
        if (view === 'findings') await t.page.locator('.fd-why').evaluateAll((list) => list.forEach((one) => one.click()));
        if (view === 'patterns') await t.page.locator('.pt-fold').evaluateAll((list) => list.forEach((one) => one.click()));
      };
      // The editor is one element, which stays as it is from view to view: the first one looks at it.
      await t.accessibleInBoth({name: `${model}-${view}`, known: view === VIEWS[0] ? '' : EDITOR, unfold});
    }
  });
}

test('S36: axe finds nothing in start, tour, files and operate, light and dark', LIGHT, async (t) => {
  for (const path of ['/start', '/start?step=2', '/start?step=6', '/models', '/us-east-1/operate', '/us-east-1/operate/keys', '/us-east-1/operate/streams', '/us-east-1/operate/ttl', '/us-east-1/operate/history', '/us-east-1/operate/backups', '/us-east-1/operate/transfers', '/us-east-1/operate/triggers', '/us-east-1/operate/jobs', '/us-east-1/operate/simulation']) {
    await t.visit(path);
    await t.drawn();
    await t.accessibleInBoth({name: path.replace(/\W+/g, '-')});
  }
  await t.open('/models');
  for (const name of ['New model', 'Import']) {
    await t.page.getByRole('button', {name}).click();
    await t.accessibleInBoth();
  }
  await t.open('/models/nothing-of-that-name');
  await t.page.getByText('There is no model file and no example of that name.').waitFor();
  await t.accessibleInBoth();
});

/** Pages of every kind, of a server with a model's tables. */
const PAGES = ['/start', '/models', '/models/orders/patterns', '/models/orders/collections', '/models/complaints/findings', '/models/orders/cost', '/models/orders/heat', '/models/orders/simulate',
  '/us-east-1/tables', '/us-east-1/t/Orders/items', '/us-east-1/t/Orders/collections', '/us-east-1/t/Orders?tab=schema', '/us-east-1/t/Orders?tab=request', '/us-east-1/t/Orders?tab=regions', '/us-east-1/t/Orders?tab=stream',
  '/us-east-1/t/Orders?tab=metrics', '/us-east-1/operate', '/us-east-1/operate/keys', '/us-east-1/operate/streams', '/us-east-1/operate/ttl', '/us-east-1/operate/history', '/us-east-1/operate/backups', '/us-east-1/operate/transfers', '/us-east-1/operate/triggers', '/us-east-1/operate/jobs', '/us-east-1/operate/simulation'];

async function orders(t) {
  const {text} = await t.call('examples/read', {name: 'orders.yaml'});
  const made = (await t.call('model/create', {text, items: true})).done;
  ok(made.tables.some((one) => (one.name ?? one) === 'Orders'), JSON.stringify(made.tables));
}

/** No page scrolls sideways; grids and diagrams scroll within their own room. */
async function fits(t, path) {
  const [over, wide] = await t.page.evaluate(() => [document.documentElement.scrollWidth - document.documentElement.clientWidth, innerWidth]);
  ok(over <= 0, `${path} is ${over} pixels too wide at ${wide}`);
}

const VIEWS_OF_ORDERS = ['patterns', 'findings', 'cost', 'heat', 'simulate', 'advice', 'design', 'diff', 'edit'].map((view) => `/models/orders/${view}`);
const NARROW = {width: 320, height: 640};
/** 1280 pixels at 200 %. */
const ZOOMED = {width: 640, height: 400};

// Pages of tables are drawn at 320 pixels and then seen at 200 %; with LONG every page is loaded at both.
test('S37: at 320 pixels and at 200 % nothing is cut off and no page scrolls sideways', {context: {viewport: NARROW, deviceScaleFactor: 2}}, async (t) => {
  // The model's pages and Start as a server without tables has them.
  for (const path of ['/start', '/start?step=1', '/models', ...VIEWS_OF_ORDERS]) {
    await t.visit(path);
    await t.drawn();
    await fits(t, path);
    await t.picture(`${path.replace(/\W+/g, '-')}-narrow`);
  }
  await orders(t);
  for (const path of PAGES) {
    const isNarrow = path.startsWith('/us-east-1') || LONG;
    await t.page.setViewportSize(isNarrow ? NARROW : ZOOMED);
    await t.visit(path);
    await t.drawn();
    await fits(t, path);
    if (!isNarrow) continue;
    await t.page.setViewportSize(ZOOMED);
    if (LONG) await t.open(path);
    await t.drawn();
    await fits(t, path);
    await t.picture(`${path.replace(/\W+/g, '-')}-zoomed`);
  }
});

test('S37: forced colours: every text and mark is there', {context: {forcedColors: 'active', colorScheme: 'dark', reducedMotion: 'reduce'}}, async (t) => {
  await orders(t);
  // Axe knows colours as they are written, not as they are forced: a person looks at the pictures, which LONG takes.
  for (const path of LONG ? PAGES : []) {
    await t.open(path);
    await t.drawn();
    await t.picture(`${path.replace(/\W+/g, '-')}-forced`);
  }
  // What is marked by a background alone has an outline there.
  await t.open('/us-east-1/t/Orders/items');
  await t.page.locator('.it-row').first().waitFor();
  await t.page.getByRole('grid').focus();
  await t.page.keyboard.press(' ');
  equal(await t.page.locator('.it-row.is-selected').evaluate((row) => getComputedStyle(row).outlineStyle), 'solid');
  // What a colour says is said in words too.
  await t.open('/models/complaints/findings');
  await t.page.locator('.fd').first().waitFor();
  ok((await t.page.locator('.fd-sign').first().textContent()).trim().length > 0);
  await t.open('/models/orders/heat');
  await t.page.locator('.ht-verdict').first().waitFor();
  ok(/cool|warm|hot/.test(await t.page.locator('.ht-verdict').first().textContent()));
});

test('S23, S37: a typo is made, found and mended by keyboard alone, the focus always seen', async (t) => {
  await t.open('/models/orders/edit');
  await settled(t);
  await t.keysTo(/Text of/);
  await t.page.keyboard.press('ControlOrMeta+End');
  await t.page.keyboard.type('patternz: 1');
  await t.page.locator('.md-fault').first().waitFor();
  const fault = await t.page.locator('.md-fault-line').first().textContent();
  await t.page.keyboard.press('ControlOrMeta+Home');
  await t.page.keyboard.press('F8');
  const line = () => t.page.locator('kw-editor').evaluate((editor) => editor.view.state.doc.lineAt(editor.view.state.selection.main.head).number);
  await until('the line with the fault', async () => String(await line()) === fault.trim());
  await t.page.keyboard.press('Escape');
  // The way out, to the fault in words and back to its line.
  await t.keysTo(/patternz/);
  await t.page.keyboard.press('Enter');
  await until('the editor has the focus', async () => /Text of/.test((await t.seen()).name));
  await t.page.keyboard.press('End');
  await t.page.keyboard.press('Shift+Home');
  await t.page.keyboard.press('Delete');
  await until('the mark goes', async () => (await t.page.locator('.md-fault').count()) === 0);
});

/** Sixty texts that mean something to some program. */
const HOSTILE = ['<img src=x onerror=alert(1)>', '<script>alert(1)</script>', '"><svg onload=alert(1)>', "'-alert(1)-'", 'javascript:alert(1)', 'data:text/html,<script>alert(1)</script>', '</textarea><script>alert(1)</script>', '<iframe src=//x>',
  '<a href="javascript:alert(1)">x</a>', '<style>*{display:none}</style>', '<base href=//x>', '<meta http-equiv=refresh content=0>', '<!--', ']]>', '&lt;b&gt;', '&#x6a;avascript:', '${alert(1)}', '{{constructor.constructor("alert(1)")()}}', '<%= 1 %>', '#{7*7}',
  '__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', '__defineGetter__', 'valueOf', 'null', 'undefined', 'NaN',
  '\u202Egnp.exe', '\u2066abc\u2069', '\u200Bzero', '\uFEFFbom', '\u0000nul', 'a\u0008b', '\u001B[31mred', 'line\nbreak', 'tab\there', 'carriage\rreturn',
  "'; DROP TABLE x; --", '" OR ""="', '../../etc/passwd', 'C:\\con', '//evil.example', 'http://evil.example/', 'mailto:a@b', '=1+1', '@SUM(A1)', '+cmd|calc',
  '%00', '%2e%2e', '\\', '`', '\ud83d\ude00', '\u0301\u0301\u0301\u0301', 'ß'.repeat(300), ' ', '  leading', 'x'.repeat(2000)];

/** Fails if a text became markup, ran, or is a link. */
async function tame(t, where) {
  equal(await t.page.locator('main img[src="x"], main script, main iframe, main base, main meta, main style, [onerror], [onload], a[href^="javascript"], a[href^="data:"], a[href*="evil"], a[href^="mailto"]').count(), 0, where);
  equal(await t.page.evaluate(() => /** @type {any} */ (globalThis).ran ?? 0), 0, where);
  equal(await t.page.evaluate(() => Object.keys(Object.prototype).length), 0, where);
}

test('S30: sixty hostile texts in keys, names, values, filters and models: none runs, none links, all copy alike', {context: {permissions: ['clipboard-read', 'clipboard-write']}}, async (t) => {
  equal(new Set(HOSTILE).size, 60);
  await t.page.addInitScript(() => { globalThis.alert = () => { globalThis.ran = 1; }; });
  await t.database('CreateTable', {TableName: 'Shop', BillingMode: 'PAY_PER_REQUEST', AttributeDefinitions: ['pk', 'sk', 'gsi'].map((AttributeName) => ({AttributeName, AttributeType: 'S'})),
    KeySchema: [{AttributeName: 'pk', KeyType: 'HASH'}, {AttributeName: 'sk', KeyType: 'RANGE'}], StreamSpecification: {StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES'},
    GlobalSecondaryIndexes: [{IndexName: 'byG', KeySchema: [{AttributeName: 'gsi', KeyType: 'HASH'}], Projection: {ProjectionType: 'ALL'}}]});
  for (const [at, text] of HOSTILE.entries()) {
    const name = text.slice(0, 200);
    await t.database('PutItem', {TableName: 'Shop', Item: JSON.parse(`{"pk": ${JSON.stringify({S: 'a'})}, "sk": ${JSON.stringify({S: `${String(at).padStart(2, '0')} ${text.slice(0, 500)}`})}, "gsi": ${JSON.stringify({S: text.slice(0, 500)})}, "v": ${JSON.stringify({S: text})}, ${JSON.stringify(`n${name}`)}: ${JSON.stringify({M: {[`m${name}`]: {L: [{S: text}]}}})}}`)});
  }
  await t.open('/us-east-1/t/Shop/items?pk=a');
  await t.page.locator('.it-row').first().waitFor();
  await tame(t, 'items');
  // Each value is copied as it is: its column by the keys, row after row.
  await t.page.getByRole('grid').focus();
  await t.page.keyboard.press('Home');
  const columns = await t.page.getByRole('columnheader').evaluateAll((list) => list.map((one) => one.textContent.trim()));
  for (let at = 0; at < columns.indexOf('v'); at += 1) await t.page.keyboard.press('ArrowRight');
  for (const [at, text] of HOSTILE.entries()) {
    await t.page.evaluate(() => navigator.clipboard.writeText('nothing'));
    await t.page.keyboard.press('ControlOrMeta+c');
    // The clipboard of a machine has its own line ends, and Chromium's ends at a character that is none.
    const own = text.replaceAll('\u0000', '');
    await until(`text ${at} is copied`, async () => (await t.page.evaluate(() => navigator.clipboard.readText())).replaceAll('\r\n', '\n').replaceAll('\u0000', '') === own, 5000);
    await t.page.keyboard.press('ArrowDown');
  }
  for (const path of ['/us-east-1/t/Shop/collections', '/us-east-1/t/Shop/collections?index=byG', '/us-east-1/t/Shop?tab=stream', '/us-east-1/t/Shop?tab=metrics', '/us-east-1/operate/keys?table=Shop', '/us-east-1/t/Shop?tab=schema']) {
    await t.open(path);
    await t.drawn();
    await tame(t, path);
  }
  // As what is asked, and in the answers of the service.
  const every = LONG ? 3 : 6;
  for (const [at, text] of HOSTILE.filter((one, place) => place % every === 0 && one.length < 400).entries()) {
    // A link within the page is read as the address of a new one is: the first few are opened anew.
    const path = `/us-east-1/t/Shop/items?${new URLSearchParams({pk: text, index: text, filter: text, names: '{}', values: text})}`;
    if (at < 4 || LONG) await t.open(path);
    else await t.go(path);
    await t.page.locator('kw-items').waitFor();
    await t.drawn();
    await tame(t, `asked: ${text}`);
  }
  for (const [at, text] of HOSTILE.slice(0, LONG ? 12 : 6).entries()) {
    const path = `/models/${encodeURIComponent(text.replaceAll('/', '_'))}/patterns`;
    if (at < 2 || LONG) await t.open(path);
    else await t.go(path);
    await t.drawn();
    await t.page.getByText('There is no model file and no example of that name.').waitFor();
    await tame(t, `model: ${text}`);
  }
});

test('S30: hostile texts in a model stay texts in every view', async (t) => {
  await t.page.addInitScript(() => { globalThis.alert = () => { globalThis.ran = 1; }; });
  const bad = HOSTILE.filter((one) => !/[\u0000-\u0008\u000b-\u001f]/.test(one) && one.trim() !== '' && one.length < 400);
  const {text: example} = await t.call('examples/read', {name: 'orders.yaml'});
  const q = (one) => JSON.stringify(one);
  const items = bad.map((one, at) => `      - {pk: ${q(`T#${at} ${one}`)}, sk: ${q(`N#${one}`)}, owner: ${q(`${at} ${one}`)}, name: ${q(one)}}`).join('\n');
  ok(example.length > 0);
  const model = `format: 1\nmodel: ${q(bad[0])}\ntext: ${q(bad.join(' '))}\ntables:\n  Things: {key: {pk: S, sk: S}}\nentities:\n  Thing:\n    text: ${q(bad[1])}\n    count: 100\n    key: {pk: "${'T#{owner}'}", sk: "${'N#{name}'}"}\n    attrs: {owner: S, name: S}\npatterns:\n`
    + bad.slice(0, 30).map((one, at) => `  - {id: P${at}, text: ${q(one)}, query: Thing, given: {owner: eq}, rate: 5}`).join('\n') + `\ndata:\n  items:\n    Things:\n${items}\n`;
  const parsed = await t.call('model/parse', {text: model});
  const faults = parsed.faults.map((one) => `${one.line}: ${one.text}`);
  const own = faults.length > 0 ? model.slice(0, model.indexOf('data:')) : model;
  await t.call('models/write', {name: 'hostile.yaml', text: own, hash: null});
  for (const view of VIEWS) {
    if (view === VIEWS[0] || LONG) await t.open(`/models/hostile.yaml/${view}`);
    else await t.go(`/models/hostile.yaml/${view}`);
    await t.page.waitForFunction(() => { const ws = document.querySelector('kw-model')?.ws; return ws?.text != null && !ws.busy && (ws.last('check') || ws.faults.length > 0 || ws.errors.size > 0); });
    await t.drawn();
    await tame(t, view);
  }
  equal(faults.length, 0, faults.join('\n'));
});

test('S38: vendored files are as listed, with their licences, compressed too', async (t) => {
  const list = JSON.parse(readFileSync(new URL('list.json', vendor), 'utf8'));
  ok(list.length > 0);
  for (const one of list) {
    const bytes = readFileSync(new URL(one.file, vendor));
    equal(createHash('sha256').update(bytes).digest('hex'), one.sha256, one.file);
    ok(['MIT', 'BSD-3-Clause'].includes(one.licence), one.licence);
    for (const part of one.parts ?? []) ok(['MIT', 'BSD-3-Clause'].includes(part.licence), part.name);
    const answer = await fetch(`${t.studio}/assets/${await build(t)}/vendor/${one.file}`);
    equal(answer.status, 200, one.file);
    equal(Buffer.compare(Buffer.from(await answer.arrayBuffer()), bytes), 0, one.file);
    const packed = new URL(`${one.file}.br`, vendor);
    equal(existsSync(packed), bytes.length >= 4096, `${one.file}.br`);
    if (existsSync(packed)) equal(Buffer.compare(brotliDecompressSync(readFileSync(packed)), bytes), 0, `${one.file}.br`);
  }
});

test('S38: pages come compressed, and the first one is light', async (t) => {
  await build(t);
  const path = (file) => `${t.studio}/assets/${t.build}/${file}`;
  const length = async (file, coding) => {
    const answer = await fetch(path(file), {headers: {'accept-encoding': coding}});
    equal(answer.headers.get('content-encoding'), coding === 'identity' ? null : coding, file);
    equal(answer.headers.get('vary'), 'accept-encoding');
    return [Number(answer.headers.get('content-length')), await answer.text()];
  };
  const [packed, one] = await length('dist/app.js', 'gzip');
  const [whole, other] = await length('dist/app.js', 'identity');
  equal(one, other);
  ok(packed < whole / 2, `${packed} of ${whole}`);
  let bytes = 0;
  const session = await t.context.newCDPSession(t.page);
  await session.send('Network.enable');
  session.on('Network.loadingFinished', (event) => { bytes += event.encodedDataLength; });
  await t.open('/start');
  await t.page.locator('.ex-link').first().waitFor();
  ok(bytes > 10_000 && bytes <= 70 * 1024, `${bytes} bytes until the first page is drawn`);
});

/** Bodies as they come over the wire, in bytes. lit-html is one of the scripts. */
const WEIGHTS = {scripts: 140 << 10, sheets: 12 << 10, vendored: 160 << 10, all: 300 << 10};

test('S38: all that a browser receives in all views is as light as stated', async (t) => {
  await orders(t);
  const bytes = new Map();
  await t.page.addInitScript(() => performance.setResourceTimingBufferSize(10_000));
  const visit = async (path, act) => {
    await t.visit(path);
    await t.drawn();
    if (act) {
      await act();
      await t.drawn();
    }
    const entries = await t.page.evaluate(() => performance.getEntriesByType('resource').map((one) => /** @type {any} */ ([new URL(one.name).pathname, one.encodedBodySize])));
    for (const [name, size] of entries) {
      if (/^\/assets\/|^\/favicon/.test(name)) bytes.set(name.replace(/^\/assets\/[^/]*\//, ''), size);
    }
  };
  const press = (name) => async () => { await t.page.getByRole('button', {name, exact: true}).first().click(); };
  for (const path of ['/start?step=1', '/models', ...VIEWS.map((view) => `/models/orders/${view}`), '/us-east-1/tables', ...['schema', 'request', 'regions', 'stream', 'metrics'].map((tab) => `/us-east-1/t/Orders?tab=${tab}`),
    '/us-east-1/t/Orders/items', '/us-east-1/t/Orders/collections', '/us-east-1/operate', '/us-east-1/operate/keys', '/us-east-1/operate/streams', '/us-east-1/operate/ttl', '/us-east-1/operate/history', '/us-east-1/operate/backups', '/us-east-1/operate/transfers', '/us-east-1/operate/triggers', '/us-east-1/operate/jobs', '/us-east-1/operate/simulation']) await visit(path);
  await visit('/us-east-1/t/Orders/items', press('Export'));
  await visit('/models', async () => { await t.page.keyboard.press('?'); });
  // Nothing is left out.
  for (const name of readdirSync(linked).filter((one) => !one.endsWith('.br'))) ok(bytes.has(`dist/${name}`), `${name} was not loaded`);
  for (const name of ['codemirror/codemirror.js', 'uplot/uplot.js', 'uplot/uplot.css']) ok(bytes.has(`vendor/${name}`), `${name} was not loaded`);
  const sum = (is) => [...bytes].filter(([name]) => is(name)).reduce((all, [, size]) => all + size, 0);
  const isVendored = (name) => name.startsWith('vendor/');
  const weights = {scripts: sum((name) => name.endsWith('.js') && !isVendored(name)), sheets: sum((name) => !name.endsWith('.js') && !isVendored(name)), vendored: sum(isVendored), all: sum(() => true)};
  if (process.env.KEYWRIGHT_STUDIO_WEIGHTS) console.log(weights);
  for (const [name, size] of Object.entries(weights)) ok(size > 0 && size <= WEIGHTS[name], `${name}: ${size} bytes`);
});

test('S38: the linked pages are made of the sources as they stand', async () => {
  const made = mkdtempSync(join(tmpdir(), 'studio-dist-'));
  try {
    const {status, stderr} = spawnSync(process.execPath, [fileURLToPath(new URL('build/pages.mjs', vendor)), made], {encoding: 'utf8'});
    equal(status, 0, stderr);
    const names = readdirSync(made);
    // Versions of Node compress differently.
    const plain = (name, bytes) => name.endsWith('.br') ? brotliDecompressSync(bytes) : bytes;
    const isSame = (name) => existsSync(new URL(name, linked)) && plain(name, readFileSync(new URL(name, linked))).equals(plain(name, readFileSync(join(made, name))));
    const stale = [...new Set([...names, ...readdirSync(linked)])].filter((name) => !names.includes(name) || !isSame(name));
    equal(stale.length, 0, `studio/pages/dist is not made of the sources as they stand (${stale}): run \`cargo xtask pages\` and commit the folder`);
  } finally {
    rmSync(made, {recursive: true});
  }
});

test('a debug build serves the sources, each as it is on disk', async (t) => {
  const own = t.server;
  const server = await serve([], {KEYWRIGHT_STUDIO_DIST: undefined});
  t.server = {...server, stop: async () => { await server.stop(); await own.stop(); }};
  await t.open('/start');
  await t.page.locator('.ex-link').first().click();
  await t.page.locator('kw-model .cm-content').first().waitFor();
  for (const [path, view] of [['/us-east-1/tables', 'kw-tables'], ['/us-east-1/operate', 'kw-operate']]) {
    await t.open(path);
    await t.page.locator(`${view} > *`).first().waitFor();
  }
  ok(t.requests.some((one) => one.path.endsWith('/views/model/kw-model.js')));
  ok(!t.requests.some((one) => one.path.includes('/dist/')));
});

test('S38: the modules pass the strict checks of TypeScript', async () => {
  const tsc = createRequire(`${process.env.KEYWRIGHT_STUDIO_MODULES}/`).resolve('typescript/package.json').replace('package.json', 'bin/tsc');
  const config = fileURLToPath(new URL('tsconfig.json', import.meta.url));
  const {stdout, stderr} = spawnSync(process.execPath, [tsc, '-p', config, '--pretty', 'false'], {encoding: 'utf8', maxBuffer: 1 << 26});
  equal(stderr, '');
  // Vendored files are as their makers publish them.
  const faults = stdout.split('\n').filter((line) => /^\S.*: error /.test(line));
  same(faults.filter((line) => !line.includes('vendor/')), []);
  ok(faults.length > 0 || stdout === '', 'the checks ran');
});

test('S38: neither editor nor charts are loaded before their view', async (t) => {
  await t.open('/start');
  await t.page.locator('.ex-link').first().waitFor();
  const heavy = () => t.requests.map((one) => one.path).filter((path) => /codemirror|uplot/.test(path));
  same(heavy(), []);
  await t.open('/models');
  await t.page.getByRole('button', {name: 'New model'}).waitFor();
  same(heavy(), []);
  await t.open('/models/orders/patterns');
  await until('the editor is loaded', async () => heavy().some((path) => path.includes('codemirror')));
  ok(!heavy().some((path) => path.includes('uplot')));
});

async function build(t) {
  await t.call('state');
  return t.build;
}
