// The tail of a stream and time to live.

import {equal, ok, same, test, until} from './lib.mjs';

const NAME = 'Sessions';

async function table(t) {
  await t.database('CreateTable', {TableName: NAME, BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [{AttributeName: 'id', AttributeType: 'S'}], KeySchema: [{AttributeName: 'id', KeyType: 'HASH'}],
    StreamSpecification: {StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES'}});
  await t.database('UpdateTimeToLive', {TableName: NAME, TimeToLiveSpecification: {Enabled: true, AttributeName: 'until'}});
}

const put = (t, id, more = {}) => t.database('PutItem', {TableName: NAME, Item: {id: {S: id}, ...more}});

/** Events of the tail, the oldest first. */
const events = (t) => t.page.locator('.sm-item').evaluateAll((list) =>
  list.map((item) => `${item.querySelector('.sm-event').textContent.replace(/^\W+/, '').trim()} ${item.querySelector('.sm-key').textContent}`).reverse());

test('S29: changes come in order and marked, and a pause loses none', async (t) => {
  await table(t);
  await t.open(`/us-east-1/operate/streams?table=${NAME}`);
  await t.page.getByText('No change yet').waitFor();
  await put(t, 'a', {n: {N: '1'}});
  await put(t, 'a', {n: {N: '12345678901234567890123456789012345678'}});
  await t.database('DeleteItem', {TableName: NAME, Key: {id: {S: 'a'}}});
  await until('three changes', async () => (await events(t)).length === 3);
  same(await events(t), ['INSERT a', 'MODIFY a', 'REMOVE a']);
  ok((await t.page.locator('.sm-item.is-modify').textContent()).includes('1 → 12345678901234567890123456789012345678'));
  await t.accessible();
  await t.page.getByRole('button', {name: 'Pause'}).click();
  await t.page.waitForTimeout(1200);
  const asked = t.requests.length;
  for (let at = 0; at < 30; at += 1) await put(t, `p${at}`);
  await t.page.waitForTimeout(1500);
  equal((await events(t)).length, 3);
  equal(t.requests.length, asked, 'a pause asks nothing');
  await t.page.getByRole('button', {name: 'Go on'}).click();
  await until('all are there', async () => (await events(t)).length === 33);
  same((await events(t)).slice(3), Array.from({length: 30}, (_, at) => `INSERT p${at}`));
});

test('S29: what time to live deleted is marked', {args: ['--ttl-delay-ms', '1000']}, async (t) => {
  await table(t);
  await put(t, 'old', {until: {N: String(Math.floor(Date.now() / 1000) - 60)}});
  await t.open(`/us-east-1/t/${NAME}?tab=stream`);
  await until('the delete comes', async () => (await events(t)).includes('REMOVE by time to live old'), 60_000);
  same((await events(t)).slice(-2), ['INSERT old', 'REMOVE by time to live old']);
  await t.open('/us-east-1/operate/ttl');
  await t.page.getByRole('link', {name: NAME}).last().waitFor();
  ok((await t.page.locator('.mf-table').textContent()).includes('until'));
});

test('a table without a stream says how to get one', async (t) => {
  await t.database('CreateTable', {TableName: NAME, BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [{AttributeName: 'id', AttributeType: 'S'}], KeySchema: [{AttributeName: 'id', KeyType: 'HASH'}]});
  await t.open(`/us-east-1/t/${NAME}?tab=stream`);
  await t.page.getByText(`${NAME} has no stream`).waitFor();
  await t.accessible();
});
