// Exports, imports and bulk puts with their progress, counts and errors; triggers with their lag, retries and last
// failure, and what they archived; Kinesis destinations. The buckets are folders.

import {mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync} from 'node:fs';
import {createServer} from 'node:http';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {equal, ok, same, test, until} from './lib.mjs';

const NAME = 'Orders';
const buckets = mkdtempSync(join(tmpdir(), 'studio-buckets-'));
process.on('exit', () => rmSync(buckets, {recursive: true, force: true}));
for (const name of ['out', 'bad', 'archive', 'in', 'slow']) mkdirSync(join(buckets, name));
const STORE = ['--s3-folder', buckets];
const ARN = 'arn:aws:kinesis:us-east-1:123456789012:stream/changes';

// The secret of the Kinesis below, whose access key a flag names.
process.env.KEYWRIGHT_KINESIS_SECRET_ACCESS_KEY ??= 'secret';

/** A server on this machine, and its address. @param {(body: any, request: any, response: any) => void} answer */
async function listening(answer) {
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (data) => { text += data; }).on('end', () => answer(JSON.parse(text), request, response));
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', () => done(undefined)));
  server.unref();
  return `http://127.0.0.1:${/** @type {any} */ (server.address()).port}`;
}

/** A target of triggers whose answer a test chooses, and how often it was called. */
async function takes(status) {
  const target = {status, calls: 0, host: ''};
  target.host = await listening((body, request, response) => {
    target.calls += 1;
    response.writeHead(target.status).end();
  });
  return target;
}

/** A Kinesis whose one stream is there, unless it is down. */
async function kinesis() {
  const own = {isDown: false, endpoint: ''};
  own.endpoint = await listening(({StreamName, Records = []}, request, response) => {
    if (own.isDown) { request.socket.destroy(); return; }
    const answer = String(request.headers['x-amz-target']).endsWith('.PutRecords')
      ? {FailedRecordCount: 0, Records: Records.map((one, at) => ({SequenceNumber: String(at), ShardId: 'shardId-000000000000'}))}
      : {StreamDescriptionSummary: {StreamName, StreamStatus: 'ACTIVE'}};
    response.end(JSON.stringify(answer));
  });
  return own;
}

async function orders(t, more = {}) {
  await t.database('CreateTable', {TableName: NAME, BillingMode: 'PAY_PER_REQUEST', AttributeDefinitions: [{AttributeName: 'pk', AttributeType: 'S'}],
    KeySchema: [{AttributeName: 'pk', KeyType: 'HASH'}], ...more});
}

const recover = (t) => t.database('UpdateContinuousBackups', {TableName: NAME, PointInTimeRecoverySpecification: {PointInTimeRecoveryEnabled: true}});
const put = (t, pk, more = {}) => t.database('PutItem', {TableName: NAME, Item: {pk: {S: pk}, ...more}});
const form = (t, name) => t.page.getByRole('form', {name, exact: true});
const cells = (row) => row.locator('td').allTextContents().then((list) => list.map((one) => one.replace(/\s+/g, ' ').trim()));
const STREAM = {StreamSpecification: {StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES'}};

/** Makes a trigger as the AWS CLI does. */
async function trigger(t, to, more = {}) {
  const {Table} = await t.database('DescribeTable', {TableName: NAME});
  const answer = await t.call('event-sources/POST', {EventSourceArn: Table.LatestStreamArn, FunctionName: to, StartingPosition: 'TRIM_HORIZON', ...more});
  ok(answer.UUID, JSON.stringify(answer));
  return answer.UUID;
}

test('a table is exported and imported again: progress, counts, the manifest', {args: STORE, waits: true}, async (t) => {
  await orders(t);
  await recover(t);
  for (const pk of ['a', 'b', 'c']) await put(t, pk, {total: {N: '12345678901234567890123456789012345678'}});
  await t.open('/us-east-1/operate/transfers');
  await t.page.getByText('No export in us-east-1').waitFor();
  await t.accessibleInBoth({name: 'transfers-none'});
  await form(t, 'Export').getByLabel('to', {exact: true}).fill('s3://out/nightly');
  await form(t, 'Export').getByRole('button', {name: 'Export table'}).click();
  await t.page.getByText('Exporting Orders to s3://out/nightly').waitFor();
  const row = t.page.locator('[data-export]').first();
  await until('the export has ended', async () => /completed/.test(await row.textContent()));
  const [table, , state, items, , , manifest] = await cells(row);
  same([table, state, items], [NAME, 'completed', '3']);
  const summary = JSON.parse(readFileSync(join(buckets, 'out', manifest), 'utf8'));
  equal(summary.itemCount, 3);
  await until('the page says that it is done', async () => /done 3 items/.test(await t.page.locator('kw-job').textContent()));

  const imported = form(t, 'Import');
  await imported.getByLabel('New table').fill('Copy');
  await imported.getByLabel('from', {exact: true}).fill(`s3://out/${manifest.replace('manifest-summary.json', 'data/')}`);
  await imported.getByLabel('compressed with').selectOption('GZIP');
  await imported.getByLabel('Keys').selectOption(NAME);
  await imported.getByRole('button', {name: 'Import table'}).click();
  const made = t.page.locator('[data-import]').first();
  await until('the import has ended', async () => /completed/.test(await made.textContent()));
  same((await cells(made)).slice(2, 4), ['3', '3']);
  const {Items} = await t.database('Scan', {TableName: 'Copy', ConsistentRead: true});
  same(Items.map((item) => item.total.N), Array(3).fill('12345678901234567890123456789012345678'));
  await t.accessibleInBoth({name: 'transfers'});
  // What is not of the table of the address is left out.
  await t.go('/us-east-1/operate/transfers?table=Copy');
  await until('the imports of Copy alone', async () => await t.page.locator('[data-export]').count() === 0 && await t.page.locator('[data-import]').count() === 1);
});

test('a refused export keeps the form, and a failed one says why in the words of the server', {args: STORE, waits: true}, async (t) => {
  await orders(t);
  await t.open('/us-east-1/operate/transfers');
  const to = form(t, 'Export').getByLabel('to', {exact: true});
  await to.fill('s3://nowhere/x');
  await form(t, 'Export').getByRole('button', {name: 'Export table'}).click();
  await t.page.getByRole('alert').getByText(/[Pp]oint.in.time recovery/i).waitFor();
  equal(await to.inputValue(), 's3://nowhere/x');
  await recover(t);
  await form(t, 'Export').getByRole('button', {name: 'Export table'}).click();
  await until('it has failed', async () => /failed: S3NoSuchBucket/.test(await t.page.locator('[data-export]').first().textContent()));
  await t.accessible();
});

test('the errors of an import are shown with their object and record', {args: STORE, waits: true}, async (t) => {
  writeFileSync(join(buckets, 'bad', 'items.json'), '{"Item":{"pk":{"S":"a"}}}\n{"Item":{"other":{"S":"b"}}}\n{"Item":{"pk":{"S":"c"}}}\n');
  await t.open('/us-east-1/operate/transfers');
  const imported = form(t, 'Import');
  await imported.getByLabel('New table').fill('Bad');
  await imported.getByLabel('from', {exact: true}).fill('s3://bad/');
  await imported.getByLabel('partition key').fill('pk');
  await imported.getByRole('button', {name: 'Import table'}).click();
  const row = t.page.locator('[data-import]').first();
  await until('it has ended', async () => /failed: ItemValidationError/.test(await row.textContent()));
  same((await cells(row)).slice(2, 4), ['3', '2']);
  await row.getByRole('button', {name: /Errors of the import of Bad: 1/}).click();
  const errors = t.page.getByRole('table', {name: 'Errors'}).locator('tbody tr');
  await errors.first().waitFor();
  const [object, record, text] = await cells(errors.first());
  same([object, record], ['items.json', '1']);
  ok(text.length > 10, text);
  await t.accessibleInBoth();
});

test('records are put in bulk after a question, and one is cancelled', {args: STORE, waits: true}, async (t) => {
  await orders(t);
  await put(t, 'a', {old: {BOOL: true}});
  writeFileSync(join(buckets, 'in', 'items.json'), '{"Item":{"pk":{"S":"a"}}}\n{"Item":{"pk":{"S":"b"}},"ConditionExpression":"attribute_exists(pk)"}\n{"Item":{"other":{"S":"c"}}}\n');
  await t.open('/us-east-1/operate/transfers');
  await t.page.getByText('No bulk put in us-east-1').waitFor();
  const bulk = form(t, 'Bulk put');
  await bulk.getByLabel('from', {exact: true}).fill('s3://in/');
  await bulk.getByLabel('reports to').fill('s3://out/reports');
  await bulk.getByRole('button', {name: 'Put items'}).click();
  await t.confirm('Put items');
  const row = t.page.locator('[data-bulk-put]').first();
  await until('it has ended', async () => /completed with errors/.test(await row.textContent()));
  const shown = await cells(row);
  same(shown.slice(0, 4), [NAME, 'completed with errors', '3', '1']);
  const summary = JSON.parse(readFileSync(join(buckets, 'out', shown[7].replace('s3://out/', ''), 'manifest-summary.json'), 'utf8'));
  same([summary.processedItemCount, summary.failedItemCount, summary.conditionCheckFailureCount], [3, 1, 1]);
  const {Items} = await t.database('Scan', {TableName: NAME, ConsistentRead: true});
  same(Items, [{pk: {S: 'a'}}]);
  await t.accessibleInBoth({name: 'bulk-puts'});

  const lines = Array.from({length: 20000}, (_, at) => JSON.stringify({Item: {pk: {S: `slow-${at}`}}}));
  writeFileSync(join(buckets, 'slow', 'items.json'), lines.join('\n'));
  await bulk.getByLabel('from', {exact: true}).fill('s3://slow/');
  await bulk.getByLabel('write units a second').fill('1024');
  await bulk.getByRole('button', {name: 'Put items'}).click();
  await t.confirm('Put items');
  await t.page.getByRole('button', {name: `Cancel the bulk put into ${NAME}`}).click();
  await t.confirm('Cancel bulk put');
  await until('it is cancelled', async () => /cancelled/.test(await row.textContent()));
});

test('a trigger shows what it archived, is disabled after a question, and enabled', {args: STORE, waits: true}, async (t) => {
  await orders(t, STREAM);
  await t.open(`/us-east-1/t/${NAME}?tab=stream`);
  await t.page.getByRole('heading', {name: `No trigger of ${NAME}`}).waitFor();
  await t.accessible();
  const id = await trigger(t, 's3://archive/changes');
  for (const pk of ['a', 'b', 'c', 'd']) await put(t, pk);
  const row = t.page.locator(`[data-trigger="${id}"]`);
  await until('four are archived', async () => /4 archived/.test(await row.textContent()));
  ok(readdirSync(join(buckets, 'archive', 'changes'), {recursive: true}).some((one) => String(one).endsWith('.gz')), 'objects are there');
  same((await cells(row)).slice(1, 3), ['enabled', 'none']);
  await row.getByRole('button', {name: /Disable/}).click();
  ok(/24 hours/.test(await t.page.getByRole('dialog').textContent()));
  await t.confirm('Disable trigger');
  await until('it is disabled', async () => /disabled/.test(await row.textContent()));
  // A delivery that is under way then may still take what comes.
  await new Promise((done) => setTimeout(done, 1500));
  await put(t, 'e');
  await until('the change waits', async () => !/none/.test((await cells(row))[2]));
  await row.getByRole('button', {name: /Enable/}).click();
  await until('it goes on', async () => /5 archived/.test(await row.textContent()));
  await t.accessibleInBoth({name: 'triggers'});
});

test('a trigger that fails shows its lag, its retries, and the last failure with its time', {waits: true}, async (t) => {
  const target = await takes(500);
  await t.restart(['--trigger-hosts', target.host]);
  await orders(t, STREAM);
  const id = await trigger(t, `${target.host}/take`);
  await put(t, 'a');
  await t.open('/us-east-1/operate/triggers');
  const row = t.page.locator(`[data-trigger="${id}"]`);
  await until('it fails', async () => /fails now/.test(await row.textContent()));
  ok(await row.locator('time').getAttribute('datetime'));
  await until('it has tried again', async () => Number((await cells(row))[6]) > 0);
  ok(target.calls > 1, `${target.calls} calls`);
  ok(/\d (ms|s)$/.test((await cells(row))[2]), 'a lag');
  await t.accessibleInBoth({name: 'triggers-failing'});
  target.status = 200;
  await until('the failure is over', async () => { const all = await cells(row); return all[3] === '1' && /recovered/.test(all[7]); });
});

test('a Kinesis destination without an endpoint says why it could not be enabled', {waits: true}, async (t) => {
  await orders(t);
  await t.open(`/us-east-1/t/${NAME}?tab=stream`);
  await t.page.getByText(`${NAME} has no Kinesis destination`).waitFor();
  await t.page.getByLabel('Stream\'s ARN').fill(ARN);
  await t.page.getByRole('button', {name: 'Enable destination'}).click();
  const row = t.page.locator(`[data-destination="${ARN}"]`);
  await until('it has failed', async () => /enabling failed/.test(await row.textContent()));
  ok(/--kinesis-endpoint/.test(await row.textContent()));
  await t.accessibleInBoth({name: 'destinations'});
});

test('a Kinesis destination shows what it sent, why changes wait, and is changed and disabled', {waits: true}, async (t) => {
  const own = await kinesis();
  await t.restart(['--kinesis-endpoint', own.endpoint, '--kinesis-access-key-id', 'AK']);
  await orders(t);
  await t.open(`/us-east-1/t/${NAME}?tab=stream`);
  await t.page.getByLabel('Stream\'s ARN').fill(ARN);
  await t.page.getByRole('button', {name: 'Enable destination'}).click();
  const row = t.page.locator(`[data-destination="${ARN}"]`);
  await until('it is active', async () => (await cells(row))[1] === 'active');
  await put(t, 'a');
  await until('one is sent', async () => { const all = await cells(row); return all[3] === 'none' && all[4] === '1'; });
  own.isDown = true;
  await put(t, 'b');
  await until('a change waits', async () => { const all = await cells(row); return /^waiting, tried again/.test(all[1]) && all[3] !== 'none'; });
  await t.accessibleInBoth({name: 'destinations-waiting'});
  own.isDown = false;
  await until('both are sent', async () => (await cells(row))[4] === '2');
  await row.getByRole('combobox').selectOption('microseconds');
  await until('its times are finer', async () => (await t.database('DescribeKinesisStreamingDestination', {TableName: NAME})).KinesisDataStreamDestinations[0].ApproximateCreationDateTimePrecision === 'MICROSECOND');
  await until('it is active again', async () => (await cells(row))[1] === 'active');
  await row.getByRole('button', {name: /Disable/}).click();
  await t.confirm('Disable destination');
  await until('it is disabled', async () => (await cells(row))[1] === 'disabled');
});

test('a page of a server that only lets look has no form and no button of these', {args: [...STORE, '--studio-read-only']}, async (t) => {
  await orders(t, STREAM);
  await t.open('/us-east-1/operate/transfers');
  await t.page.getByText('No export in us-east-1').waitFor();
  equal(await t.page.locator('kw-transfers form').count(), 0);
  await t.open(`/us-east-1/t/${NAME}?tab=stream`);
  await t.page.getByText(`${NAME} has no Kinesis destination`).waitFor();
  equal(await t.page.locator('kw-destinations form, kw-triggers details').count(), 0);
});

test('a trigger of the settings file shows its section, the call under way, and that its table is gone', {waits: true}, async (t) => {
  const host = await listening(() => {});
  const file = join(buckets, 'sections.toml');
  writeFileSync(file, `[[trigger]]\nname = "hooks"\ntable = "${NAME}"\ntarget = "${host}/hang"\n`);
  await t.restart(['--config', file]);
  await orders(t, STREAM);
  await put(t, 'a');
  await t.open('/us-east-1/operate/triggers');
  const row = t.page.locator('[data-trigger]').first();
  await until('the call is under way', async () => /calls http.*\/hang since .*, for \d/.test(await row.textContent()));
  ok(/section hooks of the settings file/.test(await row.textContent()));
  await t.accessibleInBoth({name: 'triggers-calling'});
  await t.database('DeleteTable', {TableName: NAME});
  await until('the table is gone', async () => /problem: The table of the stream was deleted/.test(await row.textContent()));
  equal((await cells(row))[2], 'none');
});
