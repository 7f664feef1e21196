// Users and sessions of roles in the pages: they sign in, see who they are, what they may and why the rest is denied.
import {createHash, createHmac} from 'node:crypto';
import {spawnSync} from 'node:child_process';
import {mkdtempSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {equal, ok, same, test, until} from './lib.mjs';

const folder = mkdtempSync(`${tmpdir()}/studio-rights-`);
const keys = `${folder}/keys.toml`;
const added = spawnSync(process.env.KEYWRIGHT_BINARY ?? 'target/debug/keywright', ['credentials', 'add', '--file', keys], {encoding: 'utf8'}).stdout;
const of = (name) => added.match(new RegExp(`export ${name}=(\\S+)`))?.[1] ?? '';
const root = {id: of('AWS_ACCESS_KEY_ID'), secret: of('AWS_SECRET_ACCESS_KEY'), token: ''};
const options = {args: ['--credentials', keys]};
const audited = {args: ['--credentials', keys, '--audit-log', `${folder}/audit.log`]};

const digest = (text) => createHash('sha256').update(text).digest('hex');
const hmac = (key, text) => createHmac('sha256', key).update(text).digest();

/** Sends a request that is signed with Signature Version 4. */
async function signed(t, key, service, headers, body) {
  const url = new URL(t.server.endpoint);
  const now = new Date().toISOString().replace(/[-:]|\.\d{3}/g, '');
  const all = {host: url.host, 'x-amz-date': now, ...headers, ...(key.token ? {'x-amz-security-token': key.token} : {})};
  const names = Object.keys(all).sort();
  const scope = `${now.slice(0, 8)}/us-east-1/${service}/aws4_request`;
  const canonical = ['POST', '/', '', ...names.map((name) => `${name}:${all[name]}`), '', names.join(';'), digest(body)].join('\n');
  const signing = scope.split('/').reduce((made, part) => hmac(made, part), `AWS4${key.secret}`);
  const signature = hmac(signing, ['AWS4-HMAC-SHA256', now, scope, digest(canonical)].join('\n')).toString('hex');
  const authorization = `AWS4-HMAC-SHA256 Credential=${key.id}/${scope}, SignedHeaders=${names.join(';')}, Signature=${signature}`;
  const {host: _, ...sent} = all;
  const answer = await fetch(url, {method: 'POST', headers: {...sent, authorization}, body});
  const text = await answer.text();
  ok(answer.ok, `${body}: ${text}`);
  return text;
}

const form = (t, key, service, parts) => signed(t, key, service, {'content-type': 'application/x-www-form-urlencoded'},
  new URLSearchParams({Version: service === 'iam' ? '2010-05-08' : '2011-06-15', ...parts}).toString());
const dynamodb = (t, operation, body) => signed(t, root, 'dynamodb',
  {'content-type': 'application/x-amz-json-1.0', 'x-amz-target': `DynamoDB_20120810.${operation}`}, JSON.stringify(body));
const element = (xml, name) => xml.match(new RegExp(`<${name}>([^<]*)<`))[1];
const policy = (...statements) => JSON.stringify({Version: '2012-10-17', Statement: statements});

/** A user with this policy, and its key. */
async function user(t, name, document) {
  await form(t, root, 'iam', {Action: 'CreateUser', UserName: name});
  if (document) await form(t, root, 'iam', {Action: 'PutUserPolicy', UserName: name, PolicyName: 'own', PolicyDocument: document});
  const made = await form(t, root, 'iam', {Action: 'CreateAccessKey', UserName: name});
  return {id: element(made, 'AccessKeyId'), secret: element(made, 'SecretAccessKey'), token: ''};
}

async function shop(t) {
  await dynamodb(t, 'CreateTable', {
    TableName: 'Shop', BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [{AttributeName: 'pk', AttributeType: 'S'}], KeySchema: [{AttributeName: 'pk', KeyType: 'HASH'}],
  });
  for (const name of ['ann', 'ben']) await dynamodb(t, 'PutItem', {TableName: 'Shop', Item: {pk: {S: name}, of: {S: name}}});
}

async function signIn(t, key) {
  await t.page.getByLabel('Access key').fill(key.id);
  await t.page.getByLabel('Secret').fill(key.secret);
  await t.page.getByLabel('Session token').fill(key.token);
  await t.page.getByRole('button', {name: 'Sign in'}).click();
  await t.page.getByRole('button', {name: 'Sign out'}).waitFor();
}

const who = async (t) => (await t.page.locator('.who').innerText()).replace(/\s+/g, ' ');
const why = (t) => t.page.getByRole('region', {name: 'Denied requests'});

test('a user reads who is signed in, works with what it may, and reads what denied the rest', options, async (t) => {
  await shop(t);
  const table = 'arn:aws:dynamodb:*:123456789012:table/Shop';
  const ann = await user(t, 'ann', policy(
    {Sid: 'Tables', Effect: 'Allow', Action: ['dynamodb:ListTables', 'dynamodb:Describe*'], Resource: '*'},
    {Sid: 'OwnItems', Effect: 'Allow', Action: ['dynamodb:GetItem', 'dynamodb:Query'], Resource: table,
      Condition: {'ForAllValues:StringEquals': {'dynamodb:LeadingKeys': ['${aws:username}']}}},
    {Sid: 'NoScans', Effect: 'Deny', Action: 'dynamodb:Scan', Resource: '*'}));
  await t.open('/us-east-1/t/Shop/items');
  await t.page.getByRole('heading', {name: 'Sign in'}).waitFor();
  await t.accessible();
  await signIn(t, ann);
  equal(await who(t), 'Signed in as ann');
  equal(await t.page.locator('.who').getAttribute('title'), 'arn:aws:iam::123456789012:user/ann');
  equal(await t.page.getByRole('link', {name: 'Models', exact: true}).count(), 0);
  await t.page.getByRole('link', {name: 'Shop', exact: true}).waitFor();

  // Nothing is scanned: the page says why, and offers a Query. A statement denies the Scan, by its name.
  await t.page.getByRole('status').filter({hasText: 'Not read: you may not scan this table'}).filter({hasText: 'explicit deny'}).waitFor();
  equal(await t.page.getByRole('alert').count(), 0);
  await why(t).getByText('why?').click();
  await why(t).getByText('statement 3 (NoScans) of policy own').waitFor();
  await t.accessibleInBoth();
  await t.page.getByRole('button', {name: 'Dismiss'}).click();
  equal(await why(t).count(), 0);
  await t.page.getByLabel('pk', {exact: true}).fill('ann');
  await t.page.getByRole('button', {name: 'Query', exact: true}).click();
  await t.page.locator('.it-row').filter({hasText: 'ann'}).waitFor();
  equal(await why(t).count(), 0);

  // Settings that are denied are not said to be off.
  await t.go('/us-east-1/t/Shop?tab=schema');
  await t.page.getByText('Tags: not shown: denied').waitFor();
  equal(await t.page.getByText('No tag.').count(), 0);
  await why(t).getByText('why?').click();
  await why(t).getByText('dynamodb:ListTagsOfResource').first().waitFor();

  // Requests by hand: the own item is read, and another's names the condition that failed.
  await t.go('/us-east-1/t/Shop?tab=request');
  await t.page.locator('kw-request kw-editor .cm-content').waitFor();
  const send = async (operation, body) => {
    await t.page.getByLabel('Operation').selectOption(operation);
    await t.page.locator('kw-request kw-editor').evaluate((editor, text) => {
      const {view} = /** @type {any} */ (editor);
      view.dispatch({changes: {from: 0, to: view.state.doc.length, insert: text}});
    }, JSON.stringify(body));
    await t.page.getByRole('button', {name: 'Send'}).click();
  };
  await send('GetItem', {TableName: 'Shop', Key: {pk: {S: 'ann'}}});
  await t.page.locator('kw-request pre').filter({hasText: '"of"'}).waitFor();
  equal(await why(t).count(), 0);
  await send('GetItem', {TableName: 'Shop', Key: {pk: {S: 'ben'}}});
  await why(t).getByText('why?').click();
  await why(t).getByText('the request has ben').waitFor();
  ok((await why(t).innerText()).includes('ForAllValues:StringEquals'), await why(t).innerText());
  await t.accessible();

  // What is denied at one address is not said at the next.
  await t.go('/us-east-1/tables');
  await until('the list of denials is gone', async () => (await why(t).count()) === 0);
});

test('a user without the list of tables opens one by its name, and a changed policy binds at once', options, async (t) => {
  await shop(t);
  const ben = await user(t, 'ben', policy({Effect: 'Allow', Action: ['dynamodb:DescribeTable', 'dynamodb:Scan'], Resource: '*'}));
  await t.open('/');
  await signIn(t, ben);
  await t.page.getByLabel('Open one by its name').fill('Shop');
  await t.accessible();
  await t.page.getByRole('button', {name: 'Open', exact: true}).click();
  await t.page.locator('.it-row').nth(1).waitFor();
  await t.go('/us-east-1/t/Shop?tab=schema');
  await t.page.getByText('Time to live: not shown: denied').waitFor();
  equal(await t.page.getByRole('button', {name: 'Enable time to live…'}).count(), 0);
  await t.go('/us-east-1/t/Shop/items');
  await t.page.locator('.it-row').nth(1).waitFor();
  await form(t, root, 'iam', {Action: 'DeleteUserPolicy', UserName: 'ben', PolicyName: 'own'});
  await t.page.reload();
  await t.page.getByRole('alert').first().waitFor();
  await why(t).getByText('why?').click();
  await why(t).getByText('None of your policies has a statement about').first().waitFor();
});

test('a session of a role signs in with its token, and is signed out when its role is gone', options, async (t) => {
  await shop(t);
  const ann = await user(t, 'ann', policy({Effect: 'Allow', Action: 'sts:AssumeRole', Resource: '*'}));
  const trust = policy({Effect: 'Allow', Principal: {AWS: '123456789012'}, Action: 'sts:AssumeRole'});
  await form(t, root, 'iam', {Action: 'CreateRole', RoleName: 'reader', AssumeRolePolicyDocument: trust});
  const reads = policy({Effect: 'Allow', Action: ['dynamodb:ListTables', 'dynamodb:DescribeTable', 'keywright:UseModels'], Resource: '*'});
  await form(t, root, 'iam', {Action: 'PutRolePolicy', RoleName: 'reader', PolicyName: 'own', PolicyDocument: reads});
  const taken = await form(t, ann, 'sts', {Action: 'AssumeRole', RoleArn: 'arn:aws:iam::123456789012:role/reader', RoleSessionName: 'today'});
  const session = {id: element(taken, 'AccessKeyId'), secret: element(taken, 'SecretAccessKey'), token: element(taken, 'SessionToken')};
  await t.open('/models');
  await signIn(t, session);
  equal(await who(t), 'Signed in as reader/today');
  await t.page.getByRole('heading', {name: 'Models', exact: true}).waitFor();

  // Models run without a right to data; their tables cannot be made.
  await t.go('/models/orders/patterns');
  await t.page.locator('.pt-row').first().waitFor();
  await t.page.getByRole('button', {name: 'Create these tables here'}).click();
  await why(t).getByText('why?').click();
  await why(t).getByText('dynamodb:CreateTable').first().waitFor();

  await form(t, root, 'iam', {Action: 'DeleteRolePolicy', RoleName: 'reader', PolicyName: 'own'});
  await form(t, root, 'iam', {Action: 'DeleteRole', RoleName: 'reader'});
  await t.go('/us-east-1/tables');
  await t.page.getByRole('heading', {name: 'Sign in'}).waitFor();
  equal(await t.page.evaluate(() => sessionStorage.getItem('kw-token')), null);
  equal(await why(t).count(), 0);
});

test('the account itself is denied nothing and sees no list of denials', options, async (t) => {
  await shop(t);
  await t.open('/us-east-1/t/Shop/items');
  await signIn(t, root);
  equal(await who(t), 'Signed in as account 123456789012');
  await t.page.locator('.it-row').nth(1).waitFor();
  equal(await t.page.getByRole('link', {name: 'Models', exact: true}).count(), 1);
  equal(await why(t).count(), 0);

  // Without an audit log the schema says how to begin one.
  await t.go('/us-east-1/t/Shop?tab=schema');
  await t.page.getByText('Not recorded: start the server with --audit-log FILE').waitFor();
});

test('the schema of a table lists who changed it, for those who may know it', audited, async (t) => {
  await shop(t);
  const sees = {Effect: 'Allow', Action: ['dynamodb:ListTables', 'dynamodb:Describe*', 'dynamodb:ListTagsOfResource'], Resource: '*'};
  const ann = await user(t, 'ann', policy(sees, {Effect: 'Allow', Action: 'keywright:GetTableChanges', Resource: '*'}));
  const ben = await user(t, 'ben', policy(sees));
  const rows = t.page.getByRole('region', {name: 'Changes of the table'}).locator('tbody tr');
  const cells = async () => (await rows.allInnerTexts()).map((text) => text.split('\t').slice(1, 4).map((cell) => cell.split('\n')[0]));
  const account = 'arn:aws:iam::123456789012';

  // Reads are no changes; a denied change is one that somebody tried. The page makes one that a policy denies.
  await t.open('/us-east-1/t/Shop?tab=schema');
  await signIn(t, ann);
  await rows.first().waitFor();
  same((await cells())[0], [`${account}:root`, 'CreateTable', 'done']);
  await t.page.getByRole('button', {name: 'Enable deletion protection'}).click();
  await until('the denied change is listed', async () => (await cells())[0][1] === 'UpdateTable');
  same((await cells()).slice(0, 2), [[`${account}:user/ann`, 'UpdateTable', 'AccessDeniedException'], [`${account}:root`, 'CreateTable', 'done']]);
  ok((await rows.first().innerText()).includes('is not authorized to perform: dynamodb:UpdateTable'), await rows.first().innerText());
  await t.accessibleInBoth();

  // Another user learns nothing of it, and reads which action it needs.
  await t.page.getByRole('button', {name: 'Sign out'}).click();
  await signIn(t, ben);
  await t.go('/us-east-1/t/Shop?tab=schema');
  await t.page.getByText('Changes: not shown: denied').waitFor();
  equal(await rows.count(), 0);
  await why(t).getByText('why?').click();
  await why(t).getByText('keywright:GetTableChanges').first().waitFor();
});

test('replicas: what a user may not do is not offered, and the page says which right is missing', {args: ['--credentials', keys, '--simulate']}, async (t) => {
  await shop(t);
  await dynamodb(t, 'UpdateTable', {TableName: 'Shop', ReplicaUpdates: [{Create: {RegionName: 'eu-west-1'}}]});
  await until('the replica is active', async () => JSON.parse(await dynamodb(t, 'DescribeTable', {TableName: 'Shop'})).Table.Replicas?.[0]?.ReplicaStatus === 'ACTIVE');
  const sees = {Effect: 'Allow', Action: ['dynamodb:ListTables', 'dynamodb:DescribeTable', 'keywright:ListReplicas', 'keywright:GetSimulation'], Resource: '*'};
  const ann = await user(t, 'ann', policy(sees));
  const ben = await user(t, 'ben', policy(sees, {Effect: 'Allow', Action: 'dynamodb:UpdateTable', Resource: '*'}));
  await t.open('/us-east-1/t/Shop?tab=regions');
  await signIn(t, ann);
  const there = t.page.locator('tr[data-region="eu-west-1"]');
  await there.getByText('active').waitFor();
  await t.page.getByText('You may not change replicas: User: arn:aws:iam::123456789012:user/ann is not authorized to perform: dynamodb:UpdateTable').waitFor();
  equal(await there.getByRole('button').count(), 0);
  equal(await t.page.getByRole('form', {name: 'Add a replica'}).count(), 0);
  await there.getByText('not shown: denied').waitFor();
  await t.page.getByText('No change has lost to a concurrent one').waitFor();
  await t.page.getByText('You may not change it: that needs keywright:ChangeSimulation.').waitFor();
  equal(await t.page.getByRole('form', {name: 'Add a fault'}).count(), 0);
  await why(t).getByText('why?').click();
  await why(t).getByText('dynamodb:UpdateTable').first().waitFor();
  await t.accessibleInBoth();
  // An item in each region needs a right of its own there.
  await t.go('/us-east-1/t/Shop?tab=regions&key=ann');
  await until('no region is read', async () => (await t.page.locator('[data-standing="not read"]').filter({hasText: 'not shown: denied'}).count()) === 2);
  await why(t).getByText('keywright:GetItemHistory').first().waitFor();

  // Another user may change replicas, and remove none.
  await t.page.getByRole('button', {name: 'Sign out'}).click();
  await signIn(t, ben);
  await t.page.getByRole('button', {name: 'Change overrides in eu-west-1'}).waitFor();
  await there.getByText('no right to remove it').waitFor();
  equal(await there.getByRole('button', {name: 'Remove the replica in eu-west-1'}).count(), 0);
  await t.page.getByRole('form', {name: 'Add a replica'}).getByLabel('Region').fill('eu-west-2');
  await t.page.getByRole('button', {name: 'Add a replica', exact: true}).click();
  await t.page.getByRole('alert').filter({hasText: 'AccessDeniedException'}).filter({hasText: 'dynamodb:CreateTableReplica'}).waitFor();
});

test('every page says what is denied to a user without rights, and none breaks', options, async (t) => {
  await shop(t);
  const ann = await user(t, 'ann', '');
  await t.open('/');
  await signIn(t, ann);
  const table = ['Shop/items', 'Shop/collections', 'Shop?tab=schema', 'Shop?tab=stream', 'Shop?tab=metrics', 'Shop?tab=history', 'Shop?tab=regions'].map((path) => `t/${path}`);
  const operate = ['', '/keys', '/streams', '/ttl', '/backups', '/transfers', '/triggers', '/jobs', '/history'].map((path) => `operate${path}`);
  for (const path of ['tables', ...table, ...operate]) {
    await t.visit(`/us-east-1/${path}`);
    await until(`${path} names who`, () => t.page.evaluate((sentence) => {
      const details = document.querySelector('.denied details');
      if (details) /** @type {any} */ (details).open = true;
      return /** @type {any} */ (details)?.innerText.includes(sentence);
    }, 'User: arn:aws:iam::123456789012:user/ann is not authorized'));
  }
  await t.accessible();
  await t.visit('/us-east-1/t/Shop?tab=request');
  await t.page.locator('kw-request kw-editor .cm-content').waitFor();
  equal(await why(t).count(), 0);
  await t.visit('/models');
  await why(t).waitFor();
  for (const path of ['/start', '/start?step=1']) {
    await t.visit(path);
    await t.page.getByText('Models, examples and the tour are not shown: denied.').waitFor();
    equal(await t.page.getByRole('link', {name: /tour|Import a model/}).count(), 0);
    equal(await t.page.locator('.ex').count(), 0);
  }
});
