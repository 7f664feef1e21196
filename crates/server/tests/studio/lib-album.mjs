// S40: pictures of thirty states, each light, dark and narrow, on one page, for people who change how things look.
// By hand: KEYWRIGHT_BINARY=… KEYWRIGHT_STUDIO_MODULES=… KEYWRIGHT_STUDIO_PICTURES=FOLDER node lib-album.mjs, then open FOLDER/index.html

import {ok, test, until} from './lib.mjs';

const LONG = 'a very long text without an end '.repeat(60);
const HOSTILE = ['<img src=x onerror=alert(1)>', '\u202Egnp.exe', 'a\u0000b\u001B[31m', '__proto__', '"><script>alert(1)</script>'];

/** A server with a model's tables, hostile and long items, traffic, and items that expire. */
async function fill(t) {
  for (const name of ['ecommerce.yaml', 'orders.yaml']) await t.call('model/create', {text: (await t.call('examples/read', {name})).text, items: true});
  const key = (name) => [{AttributeName: name, AttributeType: 'S'}];
  await t.database('CreateTable', {TableName: 'Oddities', BillingMode: 'PROVISIONED', ProvisionedThroughput: {ReadCapacityUnits: 8, WriteCapacityUnits: 8},
    AttributeDefinitions: [...key('id'), ...key('kind')], KeySchema: [{AttributeName: 'id', KeyType: 'HASH'}], StreamSpecification: {StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES'},
    GlobalSecondaryIndexes: [{IndexName: 'byKind', KeySchema: [{AttributeName: 'kind', KeyType: 'HASH'}], Projection: {ProjectionType: 'ALL'}, ProvisionedThroughput: {ReadCapacityUnits: 4, WriteCapacityUnits: 4}}]});
  await t.database('UpdateTimeToLive', {TableName: 'Oddities', TimeToLiveSpecification: {Enabled: true, AttributeName: 'until'}});
  await t.database('CreateTable', {TableName: 'Empty', BillingMode: 'PAY_PER_REQUEST', AttributeDefinitions: key('id'), KeySchema: [{AttributeName: 'id', KeyType: 'HASH'}]});
  const now = Math.floor(Date.now() / 1000);
  for (const [at, text] of [...HOSTILE, LONG, '1'].entries()) {
    await t.database('PutItem', {TableName: 'Oddities', Item: {id: {S: `${at} ${text.slice(0, 300)}`}, kind: {S: at % 2 ? 'odd' : 'even'}, text: {S: text}, digits: {N: '12345678901234567890123456789012345678'}, binary: {B: 'AAEC/w=='}, yes: {BOOL: true}, nothing: {NULL: true},
      list: {L: [{N: '1.50'}, {S: 'two'}, {M: {three: {SS: ['a', 'b']}}}]}, until: {N: String(now + 4000 * (at - 2))}}}).catch(() => undefined);
  }
  for (let at = 0; at < 60; at += 1) await t.database('UpdateItem', {TableName: 'Oddities', Key: {id: {S: at % 2 ? '6 1' : `x${at % 7}`}}, UpdateExpression: 'ADD votes :n', ExpressionAttributeValues: {':n': {N: '1'}}}).catch(() => undefined);
  for (let at = 0; at < 20; at += 1) await t.database('GetItem', {TableName: 'Oddities', Key: {id: {S: '6 1'}}}).catch(() => undefined);
}

const click = (role, name) => async (t) => { await t.page.getByRole(role, {name}).first().click(); };
const wait = (selector) => async (t) => { await t.page.locator(selector).first().waitFor(); };

/** Each state: its name, address, what is done there. */
const STATES = [
  ['start', '/start'], ['tour', '/start?step=3&model=ecommerce'], ['models', '/models'], ['models-import', '/models', click('button', 'Import')],
  ['model-text', '/models/orders/edit'], ['model-patterns', '/models/ecommerce/patterns', wait('.pt-row')], ['model-patterns-failed', '/models/complaints/patterns', wait('.pt-row')],
  ['model-entities', '/models/ecommerce/entities', wait('.er-svg')], ['model-keys', '/models/ecommerce/keys'], ['model-collections', '/models/ecommerce/collections?pattern=P6', wait('.kp-card')],
  ['model-findings', '/models/complaints/findings', wait('.fd')], ['model-cost', '/models/ecommerce/cost', wait('.ct-sum')], ['model-heat', '/models/bank-payments/heat', wait('.ht')],
  ['model-simulate', '/models/orders/simulate', async (t) => { await wait('.sl-profile')(t); await t.page.waitForTimeout(600); await click('button', 'Simulate')(t); await until('an answer', () => t.page.locator('.sl-page .dg-verdict').count()); await t.page.waitForTimeout(500); }],
  ['model-design', '/models/orders/design', async (t) => { await click('button', 'Find the keys')(t); await until('a design', () => t.page.locator('.dg-verdict').count()); }],
  ['model-diff', '/models/orders/diff?compare=ecommerce', async (t) => { await t.page.waitForTimeout(1500); }],
  ['tables', '/us-east-1/tables', wait('.tb-row')], ['tables-create', '/us-east-1/tables', click('button', 'Create a table')],
  ['items', '/us-east-1/t/ECommerce/items', wait('.it-row')], ['items-odd', '/us-east-1/t/Oddities/items', wait('.it-row')], ['items-empty', '/us-east-1/t/Empty/items'],
  ['items-refused', '/us-east-1/t/Oddities/items?filter=nonsense(', wait('.md-error')],
  ['item', '/us-east-1/t/Oddities/items', async (t) => { await wait('.it-open')(t); await t.page.locator('.it-open').first().click(); await t.page.locator('.it-editor .cm-content').waitFor(); }],
  ['item-fields', '/us-east-1/t/Oddities/items', async (t) => { await wait('.it-open')(t); await t.page.locator('.it-open').last().click(); await click('button', 'Fields')(t); await wait('.tr-line')(t); }],
  ['items-staged', '/us-east-1/t/Oddities/items', async (t) => { await wait('.it-row')(t); await t.page.getByRole('grid').focus(); await t.page.keyboard.press('Control+a'); await click('button', 'Stage their deletion')(t); await wait('.sg-one')(t); }],
  ['items-export', '/us-east-1/t/ECommerce/items', click('button', 'Export')], ['items-bulk', '/us-east-1/t/ECommerce/items', click('button', 'Change all…')],
  ['collections', '/us-east-1/t/ECommerce/collections', wait('.kp-card')], ['schema', '/us-east-1/t/Oddities?tab=schema', wait('.sc-form')], ['requests', '/us-east-1/t/Oddities?tab=request', wait('.cm-content')],
  ['stream', '/us-east-1/t/Oddities?tab=stream', wait('.sm-item')], ['metrics', '/us-east-1/t/Oddities?tab=metrics&range=15m', wait('.u-over')], ['operate', '/us-east-1/operate?range=15m', wait('.tl-table')],
  ['hottest-keys', '/us-east-1/operate/keys?table=Oddities', wait('.hk-table')], ['time-to-live', '/us-east-1/operate/ttl', wait('[data-due]')],
  ['palette', '/models', async (t) => { await t.page.keyboard.press('Control+k'); await wait('dialog.palette')(t); }],
];

const LOOKS = [['light', {colorScheme: 'light'}], ['dark', {colorScheme: 'dark'}], ['narrow', {colorScheme: 'light', viewport: {width: 360, height: 740}}]];

for (const [look, context] of LOOKS) {
  test(`S40: ${STATES.length} states, ${look}`, {args: ['--throttle', 'full', '--ttl-delay-ms', '86400000'], context: {reducedMotion: 'reduce', ...context}}, async (t) => {
    ok(STATES.length >= 30);
    await fill(t);
    const wanted = process.env.KEYWRIGHT_STUDIO_STATE ?? '';
    for (const [name, path, act] of STATES.filter(([one]) => one.includes(wanted))) {
      await t.open(path);
      await act?.(t);
      await t.page.waitForTimeout(700);
      await t.picture(`${name}-${look}`);
    }
  });
}
