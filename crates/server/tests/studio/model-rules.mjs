// What holds for every model page: accessibility in both themes and narrow, weights, vendored files.

import {spawnSync} from 'node:child_process';
import {createHash} from 'node:crypto';
import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {fileURLToPath} from 'node:url';
import {gzipSync} from 'node:zlib';
import {equal, ok, same, test, until} from './lib.mjs';

const vendor = new URL('../../studio/vendor/', import.meta.url);
const VIEWS = ['edit', 'patterns', 'entities', 'keys', 'indexes', 'copies', 'validation', 'collections', 'findings',
  'cost', 'heat', 'simulate', 'advice', 'checklist', 'design', 'diff'];

async function settled(t) {
  await t.page.waitForFunction(() => {
    const element = document.querySelector('kw-model');
    return element?.ws?.text != null && !element.ws.busy && element.ws.last('check');
  });
  await t.page.waitForTimeout(200);
}

for (const colorScheme of ['light', 'dark']) {
  test(`S36: axe finds nothing in any view of a model, ${colorScheme}`, {context: {colorScheme, reducedMotion: 'reduce'}}, async (t) => {
    for (const model of ['orders', 'complaints']) {
      for (const view of VIEWS) {
        await t.open(`/models/${model}/${view}`);
        await settled(t);
        if (view === 'findings') await t.page.locator('.fd-why').evaluateAll((list) => list.forEach((one) => one.click()));
        if (view === 'patterns') await t.page.locator('.pt-fold').evaluateAll((list) => list.forEach((one) => one.click()));
        await t.accessible(t.page, colorScheme === 'dark' ? 'colours' : 'all');
        await t.picture(`${model}-${view}-${colorScheme}`);
      }
    }
  });

  test(`S36: axe finds nothing in start, tour, files and operate, ${colorScheme}`, {context: {colorScheme, reducedMotion: 'reduce'}}, async (t) => {
    for (const path of ['/start', '/start?step=2', '/start?step=6', '/models', '/us-east-1/operate', '/us-east-1/operate/keys', '/us-east-1/operate/streams', '/us-east-1/operate/ttl']) {
      await t.open(path);
      await t.page.waitForTimeout(900);
      await t.accessible();
      await t.picture(`${path.replace(/\W+/g, '-')}-${colorScheme}`);
    }
    await t.open('/models');
    for (const name of ['New model', 'Bring in']) {
      await t.page.getByRole('button', {name}).click();
      await t.accessible();
    }
    await t.open('/models/nothing-of-that-name');
    await t.page.getByText('There is no model file and no example of that name.').waitFor();
    await t.accessible();
  });
}

test('S37: at 320 pixels the views of a model do not scroll sideways', {context: {viewport: {width: 320, height: 640}}}, async (t) => {
  for (const path of ['/start', '/start?step=1', '/models', ...['patterns', 'findings', 'cost', 'heat', 'simulate', 'advice', 'design', 'diff', 'edit'].map((view) => `/models/orders/${view}`)]) {
    await t.open(path);
    await t.page.waitForTimeout(900);
    const over = await t.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    ok(over <= 0, `${path} is ${over} pixels too wide`);
    await t.picture(`${path.replace(/\W+/g, '-')}-narrow`);
  }
});

test('S38: vendored files are as listed, with their licences, and small enough', async (t) => {
  const list = JSON.parse(readFileSync(new URL('list.json', vendor), 'utf8'));
  ok(list.length > 0);
  let zipped = 0;
  for (const one of list) {
    const bytes = readFileSync(new URL(one.file, vendor));
    equal(createHash('sha256').update(bytes).digest('hex'), one.sha256, one.file);
    ok(['MIT', 'BSD-3-Clause'].includes(one.licence), one.licence);
    for (const part of one.parts ?? []) ok(['MIT', 'BSD-3-Clause'].includes(part.licence), part.name);
    const answer = await fetch(`${t.studio}/assets/${await build(t)}/vendor/${one.file}`);
    equal(answer.status, 200, one.file);
    equal(Buffer.compare(Buffer.from(await answer.arrayBuffer()), bytes), 0, one.file);
    zipped += gzipSync(bytes, {level: 9}).length;
  }
  ok(zipped <= 185 * 1024, `${zipped} bytes of vendored files`);
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
  const [packed, one] = await length('app.js', 'gzip');
  const [whole, other] = await length('app.js', 'identity');
  equal(one, other);
  ok(packed < whole / 2, `${packed} of ${whole}`);
  let bytes = 0;
  const session = await t.context.newCDPSession(t.page);
  await session.send('Network.enable');
  session.on('Network.loadingFinished', (event) => { bytes += event.encodedDataLength; });
  await t.open('/start');
  await t.page.locator('.ex-link').first().waitFor();
  ok(bytes > 10_000 && bytes <= 90 * 1024, `${bytes} bytes until the first page is drawn`);
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
