// How long the pages take, for docs/internals/performance.md: nothing is asserted. On a quiet machine, with a release binary:
//
//   KEYWRIGHT_BINARY=target/release/keywright KEYWRIGHT_STUDIO_MODULES=FOLDER/node_modules node lib-figures.mjs

import {test, until} from './lib.mjs';

const table = (name) => ({TableName: name, BillingMode: 'PAY_PER_REQUEST',
  AttributeDefinitions: ['pk', 'sk'].map((AttributeName) => ({AttributeName, AttributeType: 'S'})),
  KeySchema: [{AttributeName: 'pk', KeyType: 'HASH'}, {AttributeName: 'sk', KeyType: 'RANGE'}]});

async function fill(t, name, count, make) {
  for (let from = 0; from < count; from += 25) {
    const puts = Array.from({length: Math.min(25, count - from)}, (_, at) => ({PutRequest: {Item: make(from + at)}}));
    await t.database('BatchWriteItem', {RequestItems: {[name]: puts}});
  }
}

const item = (at, pad = '') => ({pk: {S: `p${at % 50}`}, sk: {S: String(at).padStart(7, '0')}, n: {N: String(at)}, ...(pad ? {pad: {S: pad}} : {})});
const say = (what, ...figures) => console.log(`        ${what}: ${figures.join(', ')}`);
const ms = (value) => `${value.toFixed(1)} ms`;
const at = (sorted, part) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];

/** Milliseconds from the press of a link to the frame in which a selector first has an element. */
const untilDrawn = (t, wanted, link) => t.page.evaluate(async ([selector, pressed]) => {
  const begun = performance.now();
  document.querySelector(pressed).click();
  while (!document.querySelector(selector)) await new Promise(requestAnimationFrame);
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - begun;
}, [wanted, link]);

test('first paint', async (t) => {
  const paints = [];
  for (let turn = 0; turn < 9; turn += 1) {
    await t.open('/start');
    await t.page.waitForTimeout(300);
    paints.push(await t.page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Number.NaN));
  }
  say('first paint', `first ${ms(paints[0])}`, `median of the others ${ms(paints.slice(1).toSorted((one, other) => one - other)[4])}`);
});

test('a page of a megabyte', async (t) => {
  await t.database('CreateTable', table('Shop'));
  await fill(t, 'Shop', 1100, (number) => item(number, 'x'.repeat(900)));
  await t.open('/us-east-1/t/Shop/items?limit=2000');
  const took = [];
  for (let turn = 0; turn < 7; turn += 1) {
    await t.open('/us-east-1/t/Shop/collections');
    await t.page.locator('.kp-row').first().waitFor();
    const begun = Date.now();
    await t.open('/us-east-1/t/Shop/items?limit=2000');
    await t.page.locator('.it-row').first().waitFor();
    took.push(Date.now() - begun);
  }
  say('a page of 1 MB: from the address to rows in the grid, the page\'s own loading included', `median ${ms(took.toSorted((one, other) => one - other)[3])}`);
});

test('a hundred thousand rows', async (t) => {
  await t.database('CreateTable', table('Shop'));
  await fill(t, 'Shop', 3, (number) => item(number));
  await t.open('/us-east-1/t/Shop/items');
  await t.page.locator('.it-row').first().waitFor();
  await t.page.locator('kw-items').evaluate((element) => {
    element.items = Array.from({length: 100_000}, (_, row) => ({pk: {S: 'a'}, sk: {S: String(row)}, ...Object.fromEntries(Array.from({length: 12}, (__, column) => [`c${column}`, {S: `value ${row} ${column}`}]))}));
    element.order();
    element.update();
  });
  const {frames, scripts} = await t.page.getByRole('grid').evaluate(async (grid) => {
    const frames = [];
    const scripts = [];
    let last = performance.now();
    for (let step = 0; step < 600; step += 1) {
      await new Promise(requestAnimationFrame);
      const now = performance.now();
      frames.push(now - last);
      last = now;
      // Thirty rows further; the listener draws when the browser says that it was scrolled.
      grid.scrollTop += 30 * 28;
      const begun = performance.now();
      grid.dispatchEvent(new Event('scroll'));
      scripts.push(performance.now() - begun);
    }
    const sorted = (list) => list.slice(20).toSorted((one, other) => one - other);
    return {frames: sorted(frames), scripts: sorted(scripts)};
  });
  say('100,000 rows of 14 columns, 30 rows a frame', `frame median ${ms(at(frames, 0.5))} p95 ${ms(at(frames, 0.95))}`, `script median ${ms(at(scripts, 0.5))} p99 ${ms(at(scripts, 0.99))}`);
});

test('twenty thousand items', async (t) => {
  const text = `format: 1
model: many
tables: {Many: {key: {pk: S, sk: S}}}
entities:
  Thing: {count: 20000, key: {pk: "P#{group}", sk: "T#{thing}"}, attrs: {group: {type: S, distinct: 40}, thing: S, note: S}}
patterns:
  - {id: P1, text: The things of a group, query: Thing, given: {group: eq}, rate: 1}
data: {generate: {seed: 1, sample: 20000}}
`;
  await t.call('models/write', {name: 'many.yaml', text, hash: null});
  await t.open('/models/many.yaml/patterns');
  await t.page.locator('.pt-row').first().waitFor();
  await t.page.waitForTimeout(2000);
  const first = await untilDrawn(t, '.kp-row', 'a[href*="/collections"]');
  await t.page.locator('a[href*="/patterns"]').first().click();
  await t.page.locator('.pt-row').first().waitFor();
  const again = await untilDrawn(t, '.kp-row', 'a[href*="/collections"]');
  say('20,000 items drawn as collections, the run on the engine included', `first ${ms(first)}`, `again ${ms(again)}`);
});

test('from a key to the fault', async (t) => {
  await t.open('/models/ecommerce/edit');
  await t.page.locator('kw-editor .cm-content').click();
  await t.page.waitForTimeout(1500);
  const took = [];
  for (let turn = 0; turn < 7; turn += 1) {
    await t.page.keyboard.press('Control+Home');
    await t.page.waitForTimeout(1200);
    const begun = Date.now();
    await t.page.keyboard.type('[');
    await until('a fault', () => t.page.locator('.md-fault').count());
    took.push(Date.now() - begun);
    await t.page.keyboard.press('Backspace');
    await until('no fault', async () => (await t.page.locator('.md-fault').count()) === 0);
  }
  say('from a key to the fault that it makes, the wait of 250 ms included', `median ${ms(took.toSorted((one, other) => one - other)[3])}`);
});

test('a change of many', async (t) => {
  const COUNT = 10_000;
  await t.database('CreateTable', table('Shop'));
  await fill(t, 'Shop', COUNT, (number) => item(number));
  await t.open('/us-east-1/t/Shop/items');
  await t.page.getByRole('button', {name: 'Change all…', exact: true}).click();
  await t.page.getByLabel('attribute', {exact: true}).fill('seen');
  await t.page.getByLabel('value', {exact: true}).fill('yes');
  await t.page.getByRole('button', {name: 'Dry run', exact: true}).click();
  await t.page.getByText('10,000 items would change').waitFor();
  const begun = Date.now();
  await t.page.getByRole('button', {name: 'Change 10,000 items', exact: true}).click();
  await t.page.getByText('Done.').waitFor();
  say('a change of many', `${Math.round(COUNT * 1000 / (Date.now() - begun)).toLocaleString('en')} items a second`);
});

test('an import', async (t) => {
  const COUNT = 50_000;
  await t.database('CreateTable', table('Shop'));
  await t.open('/us-east-1/t/Shop/items');
  await t.page.getByRole('button', {name: 'Import', exact: true}).click();
  const lines = Array.from({length: COUNT}, (_, number) => JSON.stringify({Item: item(number, 'x'.repeat(100))})).join('\n');
  await t.page.getByLabel(/^Form /).selectOption('dynamodb');
  await t.page.getByLabel('If the key is there').selectOption('overwrite');
  await t.page.getByLabel('File').setInputFiles({name: 'items', mimeType: 'text/plain', buffer: Buffer.from(lines)});
  await t.page.getByText('no faults').waitFor();
  const begun = Date.now();
  await t.page.locator('kw-transfer').getByRole('button', {name: 'Import', exact: true}).click();
  await t.confirm('Overwrite items');
  await t.page.getByText('Done.').waitFor();
  say('an import of 50,000 lines', `${Math.round(COUNT * 1000 / (Date.now() - begun)).toLocaleString('en')} items a second`);
});

