// Tables, items, schema, sign-in and what the frame says when the process is gone.

import {spawnSync} from 'node:child_process';
import {mkdtempSync, readFileSync, readdirSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {LONG, equal, ok, same, test, until} from './lib.mjs';

const VIEWS = new URL('../../../studio/pages/views/', import.meta.url);
/** A file with one access key, and the key. */
const keys = join(mkdtempSync(join(tmpdir(), 'kw-')), 'keys.toml');
const added = spawnSync(process.env.KEYWRIGHT_BINARY ?? 'target/debug/keywright', ['credentials', 'add', '--file', keys], {encoding: 'utf8'}).stdout;
const [id, secret] = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'].map((name) => added.match(new RegExp(`${name}=(\\S+)`))[1]);

const table = (name, more = {}) => ({TableName: name, BillingMode: 'PAY_PER_REQUEST',
  AttributeDefinitions: [{AttributeName: 'pk', AttributeType: 'S'}, {AttributeName: 'sk', AttributeType: 'S'}],
  KeySchema: [{AttributeName: 'pk', KeyType: 'HASH'}, {AttributeName: 'sk', KeyType: 'RANGE'}], ...more});
const DIGITS = '12345678901234567890123456789012345678';

/** Changes the text in the item's editor. */
const rewrite = (t, from, to) => t.page.locator('.it-editor kw-editor').evaluate((editor, [one, other]) => {
  const view = editor.view;
  view.dispatch({changes: {from: 0, to: view.state.doc.length, insert: view.state.doc.toString().replace(one, other)}});
}, [from, to]);

const item = async (t, key) => (await t.database('GetItem', {TableName: 'Shop', Key: key, ConsistentRead: true})).Item;
const KEY = {pk: {S: 'a'}, sk: {S: '1'}};

/** Many more than the list describes; each takes the server some milliseconds to make. */
const TABLES = LONG ? 2500 : 500;
test(`S3: of ${TABLES} tables the list describes only what is near the window, and finds one`, async (t) => {
  for (let at = 0; at < TABLES; at += 1) await t.database('CreateTable', table(`T${String(at).padStart(4, '0')}`));
  await t.open('/us-east-1/tables');
  await t.page.getByText(`${TABLES.toLocaleString('en')} tables`).waitFor();
  await t.page.getByLabel('Find a table').fill('T0345');
  await t.page.locator('.tb-row').getByRole('link', {name: 'T0345'}).waitFor();
  equal(await t.page.locator('.tb-row').count(), 1);
  await until('its items are counted', async () => (await t.page.locator('.tb-row').textContent()).includes('0'));
  const described = t.requests.filter((one) => one.path.endsWith('/DescribeTable')).length;
  ok(described < 60, `${described} DescribeTable`);
  await t.accessible();
});

test('S4: create, add and drop an index, time to live, protection, delete', async (t) => {
  await t.open('/us-east-1/tables');
  await t.page.getByRole('button', {name: 'Create a table'}).click();
  await t.accessible();
  await t.page.getByLabel('Name', {exact: true}).fill('Made');
  await t.page.getByLabel('Sort key', {exact: true}).fill('sk');
  await t.page.getByRole('button', {name: 'Create', exact: true}).click();
  await t.page.waitForURL('**/us-east-1/t/Made/items');
  await t.page.getByRole('link', {name: 'Schema'}).click();
  await t.page.getByLabel('New index').fill('byName');
  await t.page.getByLabel('partition key', {exact: true}).fill('name');
  await t.page.getByRole('button', {name: 'Add index'}).click();
  const described = async () => (await t.database('DescribeTable', {TableName: 'Made'})).Table;
  await until('the index is there', async () => (await described()).GlobalSecondaryIndexes?.[0].IndexStatus === 'ACTIVE');
  const press = (name) => t.page.getByRole('button', {name, exact: true}).click();
  await t.page.getByPlaceholder('attribute', {exact: true}).fill('until');
  await press('Enable time to live…');
  await t.confirm('Enable time to live');
  const expiry = async () => (await t.database('DescribeTimeToLive', {TableName: 'Made'})).TimeToLiveDescription;
  await until('time to live is on', async () => (await expiry()).AttributeName === 'until');
  await press('Enable stream');
  await until('the stream is on', async () => (await described()).StreamSpecification?.StreamEnabled);
  await press('Enable deletion protection');
  await until('it is protected', async () => (await described()).DeletionProtectionEnabled);
  // A question has the focus on its way out: Enter and Escape lose nothing, and a double click does not answer it.
  const dialog = t.page.getByRole('dialog');
  for (const leave of [() => t.page.keyboard.press('Enter'), () => t.page.keyboard.press('Escape')]) {
    await press('Drop byName');
    await dialog.getByText('Its entries: 0 items, 0 B.').waitFor();
    await dialog.getByText('Deletion protection covers the table alone, not its indexes.').waitFor();
    await until('what uses it is said', async () => (await dialog.textContent()).includes('the patterns that use it are not known'));
    equal(await t.page.evaluate(() => document.activeElement?.textContent), 'Cancel');
    await leave();
    await dialog.waitFor({state: 'detached'});
    equal(await t.page.evaluate(() => document.activeElement?.getAttribute('aria-label')), 'Drop byName');
  }
  await t.page.getByRole('button', {name: 'Drop byName', exact: true}).dblclick();
  await t.accessible();
  equal((await described()).GlobalSecondaryIndexes.length, 1);
  await t.confirm('Drop index');
  await until('the index is gone', async () => !(await described()).GlobalSecondaryIndexes);
  for (const [what, is] of [['stream', async () => !(await described()).StreamSpecification?.StreamEnabled], 
    // The service changes it once an hour: it is asked.
    ['time to live', async () => t.requests.filter((one) => one.path.endsWith('UpdateTimeToLive')).length === 2],
    ['deletion protection', async () => !(await described()).DeletionProtectionEnabled]]) {
    await press(`Disable ${what}…`);
    equal(await is(), false, what);
    await t.confirm(`Disable ${what}`);
    await until(`${what} is off`, is);
  }
  await press('Enable deletion protection');
  await until('it is protected', async () => (await described()).DeletionProtectionEnabled);
  // Tags, capacity, class; and an index with some attributes and a number as its key.
  const arn = (await described()).TableArn;
  const tags = async () => (await t.database('ListTagsOfResource', {ResourceArn: arn})).Tags ?? [];
  await t.page.getByLabel('Key', {exact: true}).fill('team');
  await t.page.getByLabel('Value', {exact: true}).fill('blue team');
  await t.page.getByRole('button', {name: 'Add tag'}).click();
  await until('the tag is there', async () => (await tags())[0]?.Value === 'blue team');
  await t.page.getByText('blue team').waitFor();
  await t.page.getByLabel('Key', {exact: true}).fill('team');
  await t.page.getByLabel('Value', {exact: true}).fill('red team');
  await t.page.getByRole('button', {name: 'Add tag'}).click();
  await t.page.getByRole('dialog').getByText('Its value: blue team').waitFor();
  await t.page.keyboard.press('Escape');
  equal((await tags())[0].Value, 'blue team');
  await t.page.getByRole('button', {name: 'Remove the tag team'}).click();
  await t.confirm('Remove tag');
  await until('the tag is gone', async () => (await tags()).length === 0);
  await t.page.getByLabel('Capacity').selectOption('PROVISIONED');
  await t.page.getByLabel('read units').fill('7');
  await t.page.getByRole('button', {name: 'Save'}).click();
  await until('units are provisioned', async () => (await described()).ProvisionedThroughput.ReadCapacityUnits === 7);
  await t.page.getByLabel('Class', {exact: true}).selectOption('STANDARD_INFREQUENT_ACCESS');
  await t.page.getByRole('button', {name: 'Change class'}).click();
  await until('the class is changed', async () => (await described()).TableClassSummary?.TableClass === 'STANDARD_INFREQUENT_ACCESS');
  await t.page.getByLabel('New index').fill('byTotal');
  await t.page.getByLabel('partition key', {exact: true}).fill('total');
  await t.page.getByLabel('Type of the partition key').selectOption('N');
  await t.page.getByRole('combobox', {name: 'with'}).selectOption('INCLUDE');
  await t.page.getByLabel('these attributes').fill('name, note');
  await t.page.getByRole('button', {name: 'Add index'}).click();
  await until('the index is there', async () => (await described()).GlobalSecondaryIndexes?.[0].IndexStatus === 'ACTIVE');
  const {Projection, ProvisionedThroughput} = (await described()).GlobalSecondaryIndexes[0];
  same(Projection, {ProjectionType: 'INCLUDE', NonKeyAttributes: ['name', 'note']});
  equal(ProvisionedThroughput.ReadCapacityUnits, 7);
  ok((await described()).AttributeDefinitions.some((one) => one.AttributeName === 'total' && one.AttributeType === 'N'));
  // The same table for other tools.
  for (const [form, part] of [['cli', 'aws dynamodb create-table'], ['cloudformation', 'AWS::DynamoDB::Table'], ['model', 'tables:']]) {
    await t.page.locator('label', {hasText: 'CreateTable request'}).getByRole('combobox').selectOption(form);
    await until(`it is there as ${form}`, async () => (await t.page.locator('kw-schema pre').last().textContent()).includes(part));
  }
  await t.page.getByRole('button', {name: 'Save as new model'}).click();
  await t.page.waitForURL('**/models/made.yaml/patterns');
  await t.page.goBack();
  await t.page.getByText('Keys and indexes').first().waitFor();
  await t.accessible();
  await t.page.getByRole('link', {name: 'Tables', exact: true}).click();
  const drop = async () => {
    await t.page.getByRole('button', {name: 'Delete Made'}).click();
    await t.page.getByRole('dialog').getByText('1 index: byTotal').waitFor();
    await t.page.getByLabel(/Type Made to confirm/).fill('made');
    equal(await t.page.getByRole('button', {name: 'Delete table', exact: true}).isDisabled(), true);
    await t.page.getByLabel(/Type Made to confirm/).fill('Made');
    await t.page.keyboard.press('Enter');
    await t.confirm('Delete table');
  };
  await drop();
  const refused = await t.database('DeleteTable', {TableName: 'Made'}).catch((error) => error.message);
  const text = refused.slice(refused.lastIndexOf('Exception: ') + 11);
  await t.page.getByText(text).waitFor();
  await t.database('UpdateTable', {TableName: 'Made', DeletionProtectionEnabled: false});
  await drop();
  await until('it is gone', async () => (await t.database('ListTables', {})).TableNames.length === 0);
});

test('S6: queries by the form, descending, and pages with each item once; the strip counts', async (t) => {
  await t.database('CreateTable', table('Shop'));
  for (let at = 0; at < 120; at += 1) await t.database('PutItem', {TableName: 'Shop', Item: {pk: {S: at < 60 ? 'a' : 'b'}, sk: {S: String(at).padStart(3, '0')}}});
  await t.open('/us-east-1/t/Shop/items');
  await t.page.getByText('1 request', {exact: true}).waitFor();
  const scans = () => t.requests.filter((one) => /dynamodb\/(Scan|Query)$/.test(one.path)).map((one) => JSON.parse(one.body));
  same(scans().map((one) => one.Limit), [50]);
  await t.page.getByRole('button', {name: 'Next page'}).click();
  await t.page.getByText('2 requests').waitFor();
  await t.page.getByRole('button', {name: 'Next page'}).click();
  await t.page.getByText('that is all').waitFor();
  const counts = await t.page.locator('.it-strip').textContent();
  ok(counts.includes('read 120') && counts.includes('returned 120'), counts);
  equal(await t.page.locator('kw-items').evaluate((element) => new Set(element.items.map((one) => one.sk.S)).size), 120);
  ok((await t.page.locator('.it-row').count()) <= 60);
  await t.page.getByLabel('pk', {exact: true}).fill('a');
  await t.page.locator('.lv-form label', {hasText: 'sk'}).last().locator('select').selectOption('begins_with');
  await t.page.getByLabel('Value of sk').fill('01');
  await t.page.getByLabel('descending').check();
  await t.page.getByRole('button', {name: 'Query', exact: true}).click();
  await until('ten in order', async () => JSON.stringify(await t.page.locator('kw-items').evaluate((element) => element.items.map((one) => one.sk.S))) ===
    JSON.stringify(['019', '018', '017', '016', '015', '014', '013', '012', '011', '010']));
  const before = scans().length;
  await t.page.reload();
  await t.page.getByText('1 request', {exact: true}).waitFor();
  equal(scans().length, before + 1);
  await t.accessible();
});

test('S11: 38 digits and 1E-130 survive the edit of another attribute', async (t) => {
  await t.database('CreateTable', table('Shop'));
  const all = {...KEY, digits: {N: DIGITS}, tiny: {N: '1E-130'}, list: {L: [{N: DIGITS}, {NS: [DIGITS, '0.1']}]}, name: {S: 'old'}};
  await t.database('PutItem', {TableName: 'Shop', Item: all});
  const read = await item(t, KEY);
  await t.open('/us-east-1/t/Shop/items');
  await t.page.locator('.it-open').click();
  await t.page.locator('.it-editor kw-editor .cm-content').waitFor();
  await t.accessible();
  await rewrite(t, '"old"', '"new"');
  await t.page.locator('.it-editor').getByRole('button', {name: 'Save'}).click();
  await t.page.locator('.it-editor').waitFor({state: 'detached'});
  const now = {...read, name: {S: 'new'}};
  same(await item(t, KEY), now);
  // Deleted and brought back it is the same item.
  await t.page.locator('.it-open').click();
  await t.page.getByRole('button', {name: 'Delete item…'}).click();
  await t.page.getByRole('dialog').getByText('4 attributes and the key: digits, list, name, tiny').waitFor();
  equal((await item(t, KEY)) !== undefined, true);
  await t.confirm('Delete item');
  await t.page.getByText('Deleted a / 1: 1 write unit.').waitFor();
  equal(await item(t, KEY), undefined);
  await t.accessible();
  await t.page.getByRole('button', {name: 'Bring it back'}).click();
  await t.page.getByText('1 item brought back: 1 write unit.').waitFor();
  same(await item(t, KEY), now);
});

test('a deleted item can be brought back for ten seconds, and not over another one', {waits: true}, async (t) => {
  await t.database('CreateTable', table('Shop'));
  for (const sk of ['1', '2']) await t.database('PutItem', {TableName: 'Shop', Item: {...KEY, sk: {S: sk}, set: {BS: ['AAEC']}}});
  await t.open('/us-east-1/t/Shop/items');
  const drop = async () => {
    await t.page.locator('.it-open').first().click();
    await t.page.getByRole('button', {name: 'Delete item…'}).click();
    await t.confirm('Delete item');
    await t.page.getByRole('button', {name: 'Bring it back'}).waitFor();
  };
  await drop();
  await t.database('PutItem', {TableName: 'Shop', Item: {...KEY, by: {S: 'another client'}}});
  await t.page.getByRole('button', {name: 'Bring it back'}).click();
  await t.page.getByText('Not 1 item: another one has its key now.').waitFor();
  equal((await item(t, KEY)).by.S, 'another client');
  await drop();
  const begun = Date.now();
  await t.page.getByRole('button', {name: 'Bring it back'}).waitFor({state: 'detached'});
  ok(Date.now() - begun > 8000, `${Date.now() - begun} ms`);
});

/** What of a request's operation loses nothing. A new operation belongs here or to the losses below. */
const HARMLESS = /^(BatchGet|CreateBackup|CreateGlobalTable|CreateTable|Describe|EnableKinesis|ExportTable|GetItem|GetRecords|GetResourcePolicy|GetShardIterator|ImportTable|List|Query|RestoreTable|Scan|TagResource|TransactGet|UpdateGlobalTable|UpdateItem|UpdateKinesis)/;
const LOSSES = {
  BatchExecuteStatement: [{Statements: [{Statement: "DELETE FROM Shop WHERE pk = 'a'"}]}], BatchWriteItem: [{RequestItems: {Shop: [{DeleteRequest: {}}]}}, {RequestItems: {Shop: [{PutRequest: {}}]}}],
  CancelBulkOperation: [{}], DeleteBackup: [{}], DeleteItem: [{}], DeleteResourcePolicy: [{}], DeleteTable: [{}], DisableKinesisStreamingDestination: [{}], ExecuteStatement: [{Statement: ' delete from Shop'}], ExecuteTransaction: [{TransactStatements: [{Statement: 'Delete FROM Shop'}]}], PutItem: [{}], PutResourcePolicy: [{}], StartBulkPutItems: [{}],
  TransactWriteItems: [{TransactItems: [{Delete: {}}]}, {TransactItems: [{Put: {}}]}], UntagResource: [{TagKeys: ['a']}],
  UpdateContinuousBackups: [{PointInTimeRecoverySpecification: {PointInTimeRecoveryEnabled: false}}], UpdateContributorInsights: [{ContributorInsightsAction: 'DISABLE'}],
  UpdateTable: [{GlobalSecondaryIndexUpdates: [{Delete: {IndexName: 'x'}}]}, {ReplicaUpdates: [{Delete: {RegionName: 'eu-west-1'}}]}, {StreamSpecification: {StreamEnabled: false}}, {DeletionProtectionEnabled: false}, {ReplicaUpdates: [{Disassociate: {RegionName: 'eu-west-1'}}]}, {DisassociationProtectionEnabled: false}],
  UpdateTableReplicaAutoScaling: [{ProvisionedWriteCapacityAutoScalingUpdate: {AutoScalingDisabled: true}}],
  UpdateTimeToLive: [{TimeToLiveSpecification: {Enabled: false}}, {TimeToLiveSpecification: {Enabled: true}}],
};

test('nothing that loses something is sent without a confirmed question, by any page', async (t) => {
  const {operations} = await t.call('state');
  same(operations.filter((name) => !HARMLESS.test(name)).sort(), Object.keys(LOSSES).sort());
  await t.open('/us-east-1/tables');
  const before = t.requests.length;
  const sent = await t.page.evaluate(async (losses) => {
    const api = await import(document.querySelector('script[type=module]').src.replace('dist/app.js', 'views/model/api.js'));
    const calls = Object.entries(losses).flatMap(([name, bodies]) => bodies.flatMap((body) => [[`${name} ${JSON.stringify(body)}`, () => api.dynamodb(name, body, {consent: {}})], [`raw ${name}`, () => api.raw(name, JSON.stringify(body), {})]]));
    const wrong = [];
    for (const [what, run] of [...calls, ['models/delete', () => api.call('models/delete', {name: 'a.yaml', hash: ''})]]) {
      try { await run(); wrong.push(what); } catch (error) { if (error.kind !== 'unconfirmed') wrong.push(`${what}: ${error.message}`); }
    }
    return wrong;
  }, LOSSES);
  same(sent, []);
  equal(t.requests.slice(before).filter((one) => one.path.startsWith('/api/') && !/ListTables|state/.test(one.path)).length, 0);
  // There is one way to the process, and one place that gives a consent.
  const sources = readdirSync(VIEWS, {recursive: true}).map(String).filter((name) => name.endsWith('.js')).map((name) => [name, readFileSync(new URL(name, VIEWS), 'utf8')]);
  const having = (pattern) => sources.filter(([, text]) => pattern.test(text)).map(([name]) => name);
  same(having(/\bfetch\(|XMLHttpRequest|sendBeacon|WebSocket/), ['model/api.js', 'tables/kw-sign-in.js']);
  same(having(/newConsent/).sort(), ['confirm.js', 'losses.js']);
  // By hand too: the typed request is asked about, and goes once it is confirmed.
  await t.database('CreateTable', table('Shop'));
  await t.open('/us-east-1/t/Shop?tab=request');
  await t.page.getByLabel('Operation').selectOption('DeleteTable');
  await t.page.getByRole('button', {name: 'Send', exact: true}).click();
  await t.page.getByRole('dialog').getByText('the table Shop with its items and indexes').waitFor();
  equal(t.requests.filter((one) => one.path.endsWith('/DeleteTable')).length, 0);
  await t.confirm('Send DeleteTable');
  await until('it is gone', async () => (await t.database('ListTables', {})).TableNames.length === 0);
});

test('S13, S14: a save keeps what others changed, refuses what they changed too, and never brings an item back', async (t) => {
  await t.database('CreateTable', table('Shop'));
  await t.database('PutItem', {TableName: 'Shop', Item: {...KEY, one: {S: 'old'}, two: {S: 'old'}}});
  await t.open('/us-east-1/t/Shop/items');
  const open = async () => {
    await t.page.locator('.it-open').click();
    await t.page.locator('.it-editor kw-editor .cm-content').waitFor();
  };
  const save = () => t.page.locator('.it-editor').getByRole('button', {name: 'Save', exact: true}).click();
  const other = (name, value) => t.database('UpdateItem', {TableName: 'Shop', Key: KEY, UpdateExpression: 'SET #n = :v',
    ExpressionAttributeNames: {'#n': name}, ExpressionAttributeValues: {':v': {S: value}}});
  await open();
  await other('one', 'theirs');
  await rewrite(t, '"two": {\n    "S": "old"', '"two": {\n    "S": "mine"');
  await save();
  await t.page.locator('.it-editor').waitFor({state: 'detached'});
  same(await item(t, KEY), {...KEY, one: {S: 'theirs'}, two: {S: 'mine'}});
  await open();
  await other('one', 'again');
  await rewrite(t, '"theirs"', '"mine"');
  await save();
  await t.page.getByText('Another client changed it meanwhile').waitFor();
  ok((await t.page.locator('.it-editor .md-table').textContent()).includes('again'));
  await t.accessible();
  equal((await item(t, KEY)).one.S, 'again');
  await t.page.getByRole('button', {name: 'Save my choices'}).click();
  await t.page.locator('.it-editor').waitFor({state: 'detached'});
  equal((await item(t, KEY)).one.S, 'mine');
  await open();
  await t.database('DeleteItem', {TableName: 'Shop', Key: KEY});
  await rewrite(t, '"mine"', '"late"');
  await save();
  await t.page.getByText('Another client deleted the item meanwhile').waitFor();
  equal(await item(t, KEY), undefined);
});

test('S30: hostile texts stay texts', async (t) => {
  await t.database('CreateTable', table('Shop'));
  const texts = ['<img src=x onerror=alert(1)>', 'javascript:alert(1)', '"><script>alert(1)</script>', '__proto__', '\u202Eabc', '{{constructor}}', 'a\u0000b'];
  for (const [at, text] of texts.entries()) {
    await t.database('PutItem', {TableName: 'Shop', Item: {pk: {S: text}, sk: {S: String(at)}, [`x${text}`]: {S: text}}});
  }
  for (const path of ['items', 'collections']) {
    await t.open(`/us-east-1/t/Shop/${path}`);
    await t.page.locator(path === 'items' ? '.it-row' : '.kp-card').first().waitFor();
    equal(await t.page.locator(path === 'items' ? '.it-row' : '.kp-card').count(), texts.length);
    equal(await t.page.locator('img[src="x"], main script').count(), 0);
    equal(await t.page.locator('a[href^="javascript"]').count(), 0);
  }
  // In the editor, each as fields; then all of them in the list of what is staged. What is staged is what was read.
  await t.open('/us-east-1/t/Shop/items');
  await t.page.locator('.it-row').first().waitFor();
  for (const open of await t.page.locator('.it-open').all()) {
    await open.click();
    await t.page.locator('.it-editor').waitFor();
    await t.page.getByRole('button', {name: 'Fields', exact: true}).click();
    await t.page.locator('.tr-row').nth(2).waitFor();
  }
  await t.page.getByRole('grid').focus();
  await t.page.keyboard.press('Control+a');
  await t.page.getByRole('button', {name: 'Stage their deletion'}).click();
  await t.page.locator('.sg-one').nth(texts.length - 1).waitFor();
  equal(await t.page.locator('img[src="x"], main script, a[href^="javascript"]').count(), 0);
  await t.page.getByRole('button', {name: 'Commit as one transaction'}).click();
  await t.confirm(`Delete ${texts.length} items`);
  await until('all are gone', async () => (await t.database('Scan', {TableName: 'Shop'})).Count === 0);
});

test('S33: nothing shows before the sign-in; the token is forgotten at sign-out', {args: ['--credentials', keys]}, async (t) => {
  await t.open('/models');
  await t.page.getByRole('heading', {name: 'Sign in'}).waitFor();
  equal(await t.page.locator('kw-models').count(), 0);
  await t.accessible();
  await t.page.getByLabel('Access key').fill(id);
  await t.page.getByLabel('Secret').fill('wrong');
  await t.page.getByRole('button', {name: 'Sign in'}).click();
  await t.page.getByRole('alert').waitFor();
  await t.page.getByLabel('Secret').fill(secret);
  await t.page.getByRole('button', {name: 'Sign in'}).click();
  await t.page.getByRole('heading', {name: 'Models', exact: true}).waitFor();
  same(await t.context.cookies(), []);
  await t.page.getByRole('button', {name: 'Sign out'}).click();
  await t.page.getByRole('heading', {name: 'Sign in'}).waitFor();
  equal(await t.page.evaluate(() => sessionStorage.getItem('kw-token')), null);
});

test('S35: a process that is gone is said with the time, and the page goes on when it is back', {waits: true}, async (t) => {
  t.allow(/Failed to load resource/);
  await t.open('/models/ecommerce/patterns');
  await t.page.locator('.pt-row').first().waitFor();
  await t.server.stop();
  await t.page.getByLabel('with items').waitFor();
  await t.page.getByRole('button', {name: 'Create these tables here'}).click();
  await t.page.getByText('The process has not answered since').waitFor();
  await t.restart();
  await until('the banner goes', async () => (await t.page.locator('.gone').count()) === 0, 15_000);
  equal(await t.page.locator('.pt-row').count(), 10);
});

test('the palette opens also while the page is still drawn', async (t) => {
  await t.open('/models');
  await t.page.keyboard.press('Control+k');
  await t.page.getByRole('combobox', {name: 'Find a table or a view'}).fill('operate');
  await t.page.keyboard.press('Enter');
  await t.page.waitForURL('**/us-east-1/operate');
});

test('the palette finds a table by keys alone', async (t) => {
  await t.database('CreateTable', table('Shop'));
  await t.open('/models');
  await t.page.getByRole('link', {name: 'Shop', exact: true}).waitFor();
  await t.page.keyboard.press('Control+k');
  await t.page.getByRole('combobox', {name: 'Find a table or a view'}).fill('shop: coll');
  await t.accessible();
  await t.page.keyboard.press('Enter');
  await t.page.waitForURL('**/us-east-1/t/Shop/collections');
});

/** Sets attributes in the item's editor. */
const change = (t, attributes) => t.page.locator('.it-editor kw-editor').evaluate((editor, more) => {
  const view = editor.view;
  const text = JSON.stringify({...JSON.parse(view.state.doc.toString()), ...more}, null, 2);
  view.dispatch({changes: {from: 0, to: view.state.doc.length, insert: text}});
}, attributes);
const openItem = async (t) => {
  await t.page.locator('.it-open').first().click();
  await t.page.locator('.it-editor kw-editor .cm-content').waitFor();
};
const saveItem = (t) => t.page.locator('.it-editor').getByRole('button', {name: 'Save', exact: true}).click();

test('conflict: mine on theirs keeps the other attribute of the other client', async (t) => {
  await t.database('CreateTable', table('Shop'));
  await t.database('PutItem', {TableName: 'Shop', Item: {...KEY, one: {S: 'old'}, two: {S: 'old'}, gone: {S: 'x'}}});
  await t.open('/us-east-1/t/Shop/items');
  await openItem(t);
  await t.database('UpdateItem', {TableName: 'Shop', Key: KEY, UpdateExpression: 'SET #o = :v, #t = :v, #n = :v REMOVE gone', ExpressionAttributeNames: {'#o':'one','#t':'two','#n':'new'}, ExpressionAttributeValues: {':v': {S: 'theirs'}}});
  await change(t, {two: {S: 'mine'}});
  await saveItem(t);
  await t.page.getByRole('button', {name: 'Save my choices'}).click();
  await t.page.locator('.it-editor').waitFor({state: 'detached'});
  same(await item(t, KEY), {...KEY, one: {S: 'theirs'}, two: {S: 'mine'}, new: {S: 'theirs'}});
});
test('an attribute named constructor: shown where it is, added where it is not', async (t) => {
  await t.database('CreateTable', table('Shop'));
  await t.database('PutItem', {TableName: 'Shop', Item: {...KEY}});
  await t.database('PutItem', {TableName: 'Shop', Item: {pk: {S: 'b'}, sk: {S: '1'}, constructor: {S: 'x'}, toString: {N: '1'}}});
  await t.open('/us-east-1/t/Shop/items');
  await until('two rows', async () => (await t.page.locator('.it-row').count()) === 2);
  await t.page.locator('.it-open', {hasText: 'a'}).click();
  await t.page.locator('.it-editor kw-editor .cm-content').waitFor();
  await change(t, {constructor: {S: 'added'}});
  await saveItem(t);
  await t.page.locator('.it-editor').waitFor({state: 'detached', timeout: 4000});
  equal((await item(t, KEY)).constructor.S, 'added');
});
test('a key of two attributes, only the second typed: the address keeps it in its place', async (t) => {
  await t.database('CreateTable', table('Shop', {AttributeDefinitions: ['pk','sk','g1','g2'].map((AttributeName) => ({AttributeName, AttributeType: 'S'})),
    GlobalSecondaryIndexes: [{IndexName: 'byG', KeySchema: [{AttributeName:'g1',KeyType:'HASH'},{AttributeName:'g2',KeyType:'HASH'}], Projection: {ProjectionType:'ALL'}}]}));
  await t.open('/us-east-1/t/Shop/items?index=byG');
  await t.page.getByLabel('g2', {exact: true}).fill('x');
  await t.page.getByRole('button', {name: /^Scan/}).click();
  await t.page.waitForURL('**pk=**');
  equal(await t.page.getByLabel('g2', {exact: true}).inputValue(), 'x');
  equal(await t.page.getByLabel('g1', {exact: true}).inputValue(), '');
});
test('the palette finds a table past the first hundred', async (t) => {
  for (let at = 0; at < 150; at += 1) await t.database('CreateTable', table(`T${String(at).padStart(4, '0')}`));
  await t.open('/us-east-1/tables');
  await t.page.getByText('150 tables').waitFor();
  await t.page.keyboard.press('Control+k');
  await t.page.getByLabel('Find a table or a view').fill('T0140');
  await t.page.getByRole('option', {name: 'T0140', exact: true}).waitFor({timeout: 4000});
});
