// What the database does: figures over time, hottest keys, the tail of a stream, time to live.

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

test('S29: changes come in order and marked, and a pause loses none', {waits: true}, async (t) => {
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

test('S29: what time to live deleted is marked', {waits: true, args: ['--ttl-delay-ms', '1000']}, async (t) => {
  await table(t);
  await put(t, 'old', {until: {N: String(Math.floor(Date.now() / 1000) - 60)}});
  await t.open(`/us-east-1/t/${NAME}?tab=stream`);
  await until('the delete comes', async () => (await events(t)).includes('REMOVE by time to live old'), 60_000);
  same((await events(t)).slice(-2), ['INSERT old', 'REMOVE by time to live old']);
  await t.open('/us-east-1/operate/ttl');
  await t.page.getByRole('link', {name: NAME}).last().waitFor();
  ok((await t.page.locator('.mf-table').textContent()).includes('until'));
  await until('the backlog falls to zero', async () => (await t.page.locator('[data-due]').textContent()).trim() === '0');
});

test('S29: what is due and not deleted is counted, and what is kept for a mistake', {args: ['--ttl-delay-ms', '86400000']}, async (t) => {
  await table(t);
  const now = Math.floor(Date.now() / 1000);
  for (const [id, time] of [['due', now - 100], ['due too', now - 50], ['later', now + 5000], ['mistake', now - 6 * 365 * 86400]]) await put(t, id, {until: {N: String(time)}});
  await put(t, 'no number', {until: {S: 'soon'}});
  await t.open('/us-east-1/operate/ttl');
  await until('two are due', async () => (await t.page.locator('[data-due]').textContent()).trim() === '2');
  const row = await t.page.locator('.mf-table tbody tr').first().textContent();
  ok(/(99|1[0-9]{2}) s ago|2 min ago/.test(row) && /in 8[0-9] min/.test(row) && /24 h/.test(row), row);
  equal((await t.page.locator('.mf-table tbody td').last().textContent()).trim(), '1');
  await t.accessible();
});

test('a table without a stream says how to get one', async (t) => {
  await t.database('CreateTable', {TableName: NAME, BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [{AttributeName: 'id', AttributeType: 'S'}], KeySchema: [{AttributeName: 'id', KeyType: 'HASH'}]});
  await t.open(`/us-east-1/t/${NAME}?tab=stream`);
  await t.page.getByText(`${NAME} has no stream`).waitFor();
  await t.accessible();
});

/** A table of 200 read and 200 write units with an index of as many. */
async function votes(t) {
  const units = {ReadCapacityUnits: 200, WriteCapacityUnits: 200};
  await t.database('CreateTable', {TableName: 'Votes', BillingMode: 'PROVISIONED', ProvisionedThroughput: units,
    AttributeDefinitions: ['pk', 'sk', 'kind'].map((AttributeName) => ({AttributeName, AttributeType: 'S'})),
    KeySchema: [{AttributeName: 'pk', KeyType: 'HASH'}, {AttributeName: 'sk', KeyType: 'RANGE'}],
    GlobalSecondaryIndexes: [{IndexName: 'byKind', KeySchema: [{AttributeName: 'kind', KeyType: 'HASH'}], Projection: {ProjectionType: 'KEYS_ONLY'}, ProvisionedThroughput: units}]});
}

/** The rows of a chart's table, as [minute, figures…]. */
async function rowsOf(t, title) {
  const chart = t.page.locator('kw-chart').filter({has: t.page.getByRole('heading', {name: title, exact: true})});
  const button = chart.getByRole('button', {name: 'As a table'});
  if (await button.count() > 0) await button.click();
  return chart.locator('tbody tr').evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
}

test('S28: the charts hold what the requests consumed, by table and index, and the key with half of the load leads', {args: ['--throttle', 'full']}, async (t) => {
  await votes(t);
  let written = 0;
  let read = 0;
  for (let at = 0; at < 120; at += 1) {
    const key = {pk: {S: at % 2 ? 'USER#hot' : `USER#${at}`}, sk: {S: `V#${at}`}};
    written += (await t.database('PutItem', {TableName: 'Votes', Item: {...key, kind: {S: 'vote'}}, ReturnConsumedCapacity: 'INDEXES'})).ConsumedCapacity.Table.CapacityUnits;
    if (at % 3 === 0) read += (await t.database('GetItem', {TableName: 'Votes', Key: key, ConsistentRead: true, ReturnConsumedCapacity: 'TOTAL'})).ConsumedCapacity.CapacityUnits;
  }
  await t.open('/us-east-1/t/Votes?tab=metrics&range=15m');
  await t.page.getByRole('heading', {name: 'Table: writes'}).waitFor();
  await t.page.locator('.u-over').first().waitFor();
  await t.accessible();
  await t.picture('metrics-light');
  await until('all writes are there', async () => Math.round((await rowsOf(t, 'Table: writes')).reduce((sum, [, units]) => sum + Number(units) * 60, 0)) === written);
  equal(Math.round((await rowsOf(t, 'Table: reads')).reduce((sum, [, units]) => sum + Number(units) * 60, 0)), read);
  equal(Math.round((await rowsOf(t, 'Index byKind: writes')).reduce((sum, [, units]) => sum + Number(units) * 60, 0)), 120);
  ok((await rowsOf(t, 'Table: writes')).every((row) => row[2] === '200'), 'against what is provisioned');
  const keys = t.page.getByRole('region', {name: 'Hottest keys'}).locator('tbody tr');
  equal((await keys.first().locator('th').textContent()).trim(), 'USER#hot');
  const share = Number((await keys.first().locator('b').first().textContent()).replace(' %', ''));
  ok(share > 35 && share < 65, `half of the load, with what samples leave open: ${share} %`);
  ok((await t.page.getByRole('region', {name: 'Operations'}).textContent()).includes('PutItem120'));
  // Its items, by a link.
  await keys.first().getByRole('link').click();
  await until('the query is asked', async () => new URL(t.page.url()).searchParams.get('pk') === 'USER#hot');
});

test('contributor insights: a switch for each table, then the busiest keys and items, without any limit', async (t) => {
  await votes(t);
  await t.open('/us-east-1/operate/keys?table=Votes');
  await t.page.getByRole('button', {name: 'Count the keys'}).click();
  await t.page.getByRole('button', {name: 'Stop counting keys'}).waitFor();
  for (let at = 0; at < 40; at += 1) await t.database('PutItem', {TableName: 'Votes', Item: {pk: {S: at % 4 ? 'USER#hot' : `USER#${at}`}, sk: {S: `V#${at % 8}`}, kind: {S: 'vote'}}});
  const rows = t.page.getByRole('region', {name: 'Busiest partition keys'}).locator('tbody tr');
  await until('all writes are counted', async () => (await rows.count()) === 11 && (await rows.first().locator('td').nth(2).textContent()) === '90');
  equal((await rows.first().locator('th').textContent()).trim(), 'USER#hot');
  equal(await rows.first().locator('b').first().textContent(), '75 %');
  ok((await t.page.getByRole('region', {name: 'Busiest items'}).locator('tbody tr').first().locator('th').textContent()).includes('USER#hot / V#'));
  await t.accessible();
  await t.picture('insights-light');
  await rows.first().getByRole('link').click();
  await until('the query is asked', async () => new URL(t.page.url()).searchParams.get('pk') === 'USER#hot');
  await t.page.goBack();
  await t.page.getByRole('button', {name: 'Stop counting keys'}).click();
  await t.confirm('Stop counting');
  await t.page.getByRole('button', {name: 'Count the keys'}).waitFor();
  equal((await t.database('DescribeContributorInsights', {TableName: 'Votes'})).ContributorInsightsStatus, 'DISABLED');
});

test('S28: by minute for 24 hours; a page that is hidden sends nothing', {waits: true}, async (t) => {
  await votes(t);
  await put2(t);
  await t.open('/us-east-1/operate?range=24h');
  await t.page.getByRole('heading', {name: 'Writes of all tables'}).waitFor();
  const answered = JSON.parse(t.requests.findLast((one) => one.path.endsWith('/GetMetricData') && one.body.includes('writes')).body);
  equal((answered.EndTime - answered.StartTime) / 60, 1440);
  equal(answered.MetricDataQueries[0].MetricStat.Period, 60);
  await until('the write is there', async () => (await rowsOf(t, 'Writes of all tables')).some(([, units]) => units === '0.017'));
  await t.accessible();
  // Chromium hides a page only behind another window: the page is told so.
  await t.page.evaluate(() => {
    Object.defineProperty(document, 'hidden', {configurable: true, get: () => true});
    document.dispatchEvent(new Event('visibilitychange'));
  });
  await t.page.waitForTimeout(2500);
  const sent = t.requests.length;
  await t.page.waitForTimeout(5000);
  equal(t.requests.length, sent, 'a hidden page asks nothing');
});

const put2 = (t) => t.database('PutItem', {TableName: 'Votes', Item: {pk: {S: 'a'}, sk: {S: 'b'}}});

test('S28: what was refused is there by table, index and reason', {args: ['--throttle', 'table', '--burst-start-s', '1'], context: {colorScheme: 'dark'}}, async (t) => {
  await t.database('CreateTable', {TableName: 'Small', BillingMode: 'PROVISIONED', ProvisionedThroughput: {ReadCapacityUnits: 1, WriteCapacityUnits: 1},
    AttributeDefinitions: [{AttributeName: 'id', AttributeType: 'S'}], KeySchema: [{AttributeName: 'id', KeyType: 'HASH'}]});
  let refused = 0;
  for (let at = 0; at < 30; at += 1) {
    await t.database('PutItem', {TableName: 'Small', Item: {id: {S: 'a'}}}).catch((error) => { ok(/Throughput/.test(error.message)); refused += 1; });
  }
  ok(refused > 0);
  await t.open('/us-east-1/t/Small?tab=metrics&range=15m');
  const row = t.page.getByRole('region', {name: 'Refused by reason'}).locator('tbody tr');
  await until('the refusals are there', async () => (await row.allTextContents()).some((text) => /^Smallprovisioned units used up0/.test(text.replace(/\s*\n\s*/g, '')) && text.includes(String(refused))));
  ok((await t.page.locator('kw-metrics').textContent()).includes('Only units of the whole table are enforced here'));
  await t.accessible(t.page, 'colours');
  await t.picture('metrics-refused-dark');
  await t.open('/us-east-1/operate');
  await until('in short', async () => (await t.page.locator('.op-tile.is-bad').textContent()).includes(String(refused)));
  await t.picture('operate-dark');
});

test('a server without tables and one without throttling say so', async (t) => {
  await t.open('/us-east-1/operate');
  await t.page.getByRole('heading', {name: 'No table in us-east-1'}).waitFor();
  await t.accessible();
  await table(t);
  await t.open(`/us-east-1/operate/keys?table=${NAME}`);
  await t.page.getByText('Throttling is off here').waitFor();
  await t.open(`/us-east-1/t/${NAME}?tab=metrics`);
  await t.page.getByText('Never: throttling is off.').waitFor();
  await t.accessible();
});

test('S37: at 320 pixels the panels do not scroll sideways', {context: {viewport: {width: 320, height: 640}}}, async (t) => {
  await votes(t);
  await put2(t);
  for (const path of ['/us-east-1/operate', '/us-east-1/operate/keys', '/us-east-1/operate/ttl', '/us-east-1/t/Votes?tab=metrics']) {
    await t.open(path);
    await t.drawn();
    const over = await t.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    ok(over <= 0, `${path} is ${over} pixels too wide`);
    await t.picture(`${path.replace(/\W+/g, '-')}-narrow`);
  }
});
