// The picture of item collections: a model's sample and a live table, with what a pattern read and changed.

import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {LONG, equal, ok, same, test, until} from './lib.mjs';

const EXAMPLES = fileURLToPath(new URL('../../../../examples/models/', import.meta.url));
const example = (name) => readFileSync(join(EXAMPLES, `${name}.yaml`), 'utf8');

async function open(t, model, pattern) {
  await t.open(`/models/${model}/collections${pattern ? `?pattern=${pattern}` : ''}`);
  await t.page.locator('kw-collections .kc-stage').waitFor();
}

/** The partitions of a picture: their keys and the words of their rows. */
const cards = (t, nth = 0) => t.page.locator('kw-picture').nth(nth).locator('.kp-card').evaluateAll((list) =>
  list.map((card) => ({
    key: card.querySelector('.kp-pk').textContent,
    rows: [...card.querySelectorAll('.kp-row')].map((row) =>
        `${row.querySelector('.kp-sk').textContent}, ${row.querySelector('.kp-entity').textContent}${row.querySelector('.kp-word').textContent}`),
    bracket: !!card.querySelector('.kp-bracket'),
  })));

test('S19: each index of ecommerce is drawn as the model has it', async (t) => {
  await open(t, 'ecommerce');
  const {done} = await t.call('model/collections', {text: example('ecommerce')});
  equal(done.places.length, 3);
  for (const place of done.places) {
    await t.page.locator('.kc-tab', {has: t.page.getByText(place.index ?? place.table, {exact: true})}).click();
    const want = place.partitions.map((one) => [one.key.join(' · '), one.items.length]);
    await until(`${place.index ?? 'table'} is drawn`, async () =>
      JSON.stringify((await cards(t)).map((card) => [card.key, card.rows.length])) === JSON.stringify(want));
  }
});

test('S19: what a pattern reads, returns and leaves out is marked, in words too', async (t) => {
  for (const [model, id] of [['ecommerce', 'P6'], ['building-blocks', 'P4'], ['ecommerce', 'P3']]) {
    await open(t, model, id);
    const {pattern, items} = (await t.call('model/collections', {text: example(model), pattern: id})).done;
    await until('the bracket is drawn', async () => (await cards(t)).some((card) => card.bracket));
    const rows = (await cards(t)).flatMap((card) => card.rows);
    const returned = rows.filter((row) => row.endsWith(', returned')).length;
    const left = rows.filter((row) => row.endsWith(', read, left out by the filter')).length;
    equal(returned, pattern.itemsReturned, `${model} ${id}`);
    equal(returned + left, pattern.itemsRead, `${model} ${id}`);
    equal(rows.filter((row) => row.endsWith(', not read')).length, rows.length - pattern.itemsRead);
    for (const at of pattern.returned) ok(rows.some((row) => row.includes(items[at].entity) && row.endsWith('returned')));
    const words = await t.page.locator('.kc-run').textContent();
    ok(words.includes(`read ${pattern.itemsRead}`) && words.includes(`returned ${pattern.itemsReturned}`), words);
    await t.accessible();
    await t.picture(`collections-${model}-${id}`);
  }
});

test('S19: a chosen item shows its place in each index, or what it lacks', async (t) => {
  await open(t, 'ecommerce');
  await t.page.getByRole('button', {name: 'Side by side'}).click();
  await t.page.locator('kw-picture').first().locator('.kp-row', {hasText: 'p#99887'}).filter({hasText: 'OrderItem'}).click();
  const places = t.page.locator('.kc-places');
  await places.getByRole('button', {name: 'o#12345 → p#99887'}).waitFor();
  await t.page.locator('kw-picture').nth(1).locator('.kp-row.is-chosen').waitFor();
  await t.page.locator('kw-picture').first().locator('.kp-row', {hasText: 'Customer'}).first().click();
  ok((await places.textContent()).includes('not in it: lacks GSI1PK, GSI1SK (sparse)'));
  await t.accessible();
});

test('S37: the picture is walked by keys, and says where one is', async (t) => {
  await open(t, 'ecommerce', 'P3');
  await t.page.locator('.kp-bracket').waitFor();
  await t.page.locator('.kp-scroll').focus();
  const active = () => t.page.evaluate(() => {
    const tree = document.querySelector('.kp-scroll');
    return document.getElementById(tree.getAttribute('aria-activedescendant'))?.textContent;
  });
  await t.page.keyboard.press('ArrowDown');
  ok((await active()).startsWith('o#123454 items'), await active());
  ok((await active()).includes('4 read, 4 returned'));
  await t.page.keyboard.press('ArrowDown');
  ok((await active()).includes('c#12345Order'), await active());
  ok((await active()).endsWith(', returned'));
  await t.page.keyboard.press('Control+ArrowDown');
  ok((await active()).includes('1 item'));
  await t.page.keyboard.press('Control+ArrowUp');
  await t.page.keyboard.press('ArrowRight');
  await t.page.keyboard.press('Enter');
  await t.page.locator('.kc-chosen', {hasText: 'o#12345 / c#12345'}).waitFor();
});

test('S21: a write shows what enters, moves and leaves, with the units of the answer', async (t) => {
  await open(t, 'orders', 'P5');
  const {pattern} = (await t.call('model/collections', {text: example('orders'), pattern: 'P5'})).done;
  await until('three items are put', async () =>
    (await cards(t)).flatMap((card) => card.rows).filter((row) => row.endsWith(', put')).length === 3);
  const words = await t.page.locator('.kc-run').textContent();
  for (const one of pattern.capacity) ok(words.replace(/\s+/g, ' ').includes(`${one.index ?? one.table} ${one.writeUnits} WCU`), words);
  ok(words.includes('enters Orders, enters GSI1'));
  // A pattern that moves an item in an index: of each example the first that does. To find it every write is run.
  let moved = 0;
  for (const model of LONG ? ['shop-single-table', 'storefront', 'bank-payments', 'online-shop'] : ['shop-single-table']) {
    const {patterns} = (await t.call('model/collections', {text: example(model)})).done;
    for (const one of patterns.filter((it) => ['update', 'transact', 'delete', 'put'].includes(it.kind))) {
      const found = (await t.call('model/collections', {text: example(model), pattern: one.id})).done.pattern;
      const move = found.changes?.flatMap((change) => change.places).find((place) => place.what === 'moved');
      if (!move) continue;
      await open(t, model, one.id);
      await t.page.locator('.kc-tab', {has: t.page.getByText(move.index ?? move.table, {exact: true})}).click();
      await until('the item is at both places', async () => {
        const rows = (await cards(t)).flatMap((card) => card.rows);
        return rows.some((row) => row.endsWith(', moved')) && rows.some((row) => row.endsWith(', deleted'));
      });
      await t.accessible();
      moved += 1;
      break;
    }
  }
  ok(moved > 0, 'no example moves an item in an index');
});

/** A table with a sparse index and thirty items. */
async function shop(t) {
  const text = (name) => ({AttributeName: name, AttributeType: 'S'});
  await t.database('CreateTable', {TableName: 'Shop', BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [text('pk'), text('sk'), text('gpk'), {AttributeName: 'gsk', AttributeType: 'N'}],
    KeySchema: [{AttributeName: 'pk', KeyType: 'HASH'}, {AttributeName: 'sk', KeyType: 'RANGE'}],
    GlobalSecondaryIndexes: [{IndexName: 'gsi1', Projection: {ProjectionType: 'ALL'},
      KeySchema: [{AttributeName: 'gpk', KeyType: 'HASH'}, {AttributeName: 'gsk', KeyType: 'RANGE'}]}]});
  const items = [];
  for (let customer = 0; customer < 5; customer += 1) {
    for (let order = 0; order < 6; order += 1) {
      const item = {pk: {S: `CUSTOMER#${customer}`}, sk: {S: `ORDER#${order}`}, total: {N: `${order}.000000000000000000000000000000000001`}};
      if (order % 2 === 0) Object.assign(item, {gpk: {S: 'OPEN'}, gsk: {N: String(customer * 10 + order)}});
      items.push(item);
      await t.database('PutItem', {TableName: 'Shop', Item: item});
    }
  }
  return items;
}

test('S20: live collections: a filter takes two requests, and marks equal a plain evaluation', async (t) => {
  const items = await shop(t);
  await t.open('/us-east-1/t/Shop/collections');
  await t.page.locator('.kp-card').first().waitFor();
  const reads = () => t.requests.filter((one) => /dynamodb\/(Query|Scan)$/.test(one.path)).map((one) => JSON.parse(one.body));
  equal(reads().length, 1);
  equal(reads()[0].Limit, 50);
  equal((await cards(t)).length, 5);
  await t.page.getByLabel('pk', {exact: true}).fill('CUSTOMER#3');
  await t.page.getByLabel('Filter', {exact: true}).fill('total');
  await t.page.getByLabel("Filter's comparison").selectOption('>');
  await t.page.getByLabel("Type of the filter's value").selectOption('N');
  await t.page.getByLabel("Filter's value", {exact: true}).fill('2.5');
  await t.page.getByRole('button', {name: 'Query', exact: true}).click();
  await t.page.getByText('2 requests, one without the filter').waitFor();
  equal(reads().length, 3);
  equal(reads().slice(1).filter((one) => one.FilterExpression).length, 1);
  const card = await until('the marks are drawn', async () => (await cards(t)).find((one) => one.key === 'CUSTOMER#3' && one.bracket));
  const plain = items.filter((item) => item.pk.S === 'CUSTOMER#3').map((item) => (Number(item.total.N) > 2.5 ? 'returned' : 'read, left out by the filter'));
  same(card.rows.map((row) => row.slice(row.indexOf('no entity, ') < 0 ? row.indexOf(', ', row.indexOf(', ') + 2) + 2 : row.indexOf('no entity, ') + 11)), plain);
  ok((await t.page.locator('.kc-run').textContent()).includes('read 6'));
  // A link with the filter opens with one request, and says that more was read.
  const before = reads().length;
  await t.page.reload();
  await t.page.getByRole('button', {name: /Show what was left out/}).waitFor();
  equal(reads().length, before + 1);
  await t.accessible();
});

test('S20: a sparse index says what an item lacks, and numbers keep their digits and order', async (t) => {
  await shop(t);
  await t.open('/us-east-1/t/Shop/collections');
  await t.page.locator('.kp-row', {hasText: 'ORDER#1'}).first().click();
  const chosen = t.page.locator('.kc-chosen');
  ok((await chosen.textContent()).includes('not in it: lacks gpk, gsk (sparse)'));
  ok((await chosen.textContent()).includes('1.000000000000000000000000000000000001'));
  await t.page.locator('.kc-tab', {hasText: 'gsi1'}).click();
  await until('the index is drawn', async () => (await cards(t))[0]?.key === 'OPEN');
  same((await cards(t))[0].rows.map((row) => Number(row.split(',')[0])),
    [0, 2, 4, 10, 12, 14, 20, 22, 24, 30, 32, 34, 40, 42, 44]);
});

test('20,000 items: few rows exist, and the far end is reached', async (t) => {
  const text = `format: 1
model: many
tables:
  Many:
    key: {pk: S, sk: S}
entities:
  Thing:
    count: 20000
    key: {pk: "P#{group}", sk: "T#{thing}"}
    attrs: {group: {type: S, distinct: 40}, thing: S, note: S}
patterns:
  - id: P1
    text: The things of a group
    query: Thing
    given: {group: eq}
    rate: 1
data:
  generate: {seed: 1, sample: 20000}
`;
  await t.call('models/write', {name: 'many.yaml', text, hash: null});
  await t.open('/models/many.yaml/collections');
  await t.page.locator('.kp-row').first().waitFor({timeout: 60_000});
  ok((await t.page.locator('.kc-count').textContent()).includes('20,000 items'), await t.page.locator('.kc-count').textContent());
  ok((await t.page.locator('.kp-row').count()) < 250);
  await t.page.locator('.kp-scroll').focus();
  await t.page.keyboard.press('Control+End');
  await t.page.waitForTimeout(300);
  ok((await t.page.locator('.kp-row').count()) < 250);
  await t.page.locator('.kp-row.is-active').waitFor();
});
