// A table's timeline, restores to a second, rollbacks, backups with their copies, and jobs: from the switch to the
// restored table.

import {spawnSync} from 'node:child_process';
import {mkdtempSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {equal, ok, same, test, until} from './lib.mjs';

const NAME = 'Orders';
/** Folders of backups, one for each test that has one. */
const stores = mkdtempSync(join(tmpdir(), 'studio-backups-'));
process.on('exit', () => rmSync(stores, {recursive: true, force: true}));
const SECOND = 1000;
const wait = (ms) => new Promise((done) => setTimeout(done, ms));

async function orders(t, {recovery = true} = {}) {
  await t.database('CreateTable', {TableName: NAME, BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [{AttributeName: 'pk', AttributeType: 'S'}, {AttributeName: 'sk', AttributeType: 'N'}],
    KeySchema: [{AttributeName: 'pk', KeyType: 'HASH'}, {AttributeName: 'sk', KeyType: 'RANGE'}]});
  if (recovery) await t.database('UpdateContinuousBackups', {TableName: NAME, PointInTimeRecoverySpecification: {PointInTimeRecoveryEnabled: true}});
}

const put = (t, sk, more = {}) => t.database('PutItem', {TableName: NAME, Item: {pk: {S: 'ann'}, sk: {N: String(sk)}, ...more}});
const scan = async (t, table = NAME) => (await t.database('Scan', {TableName: table, ConsistentRead: true})).Items.sort((one, other) => Number(one.sk.N) - Number(other.sk.N));

/** A second that begins after all that was written so far, once it has begun. */
async function nextSecond() {
  const second = Math.floor(Date.now() / SECOND) + 1;
  await wait(second * SECOND - Date.now() + 50);
  return second;
}

const press = (t, name) => t.page.getByRole('button', {name, exact: true}).click();
const versions = (t) => t.page.locator('.sm-item').evaluateAll((list) => list.map((one) => one.querySelector('.sm-event').textContent.replace(/^\W+/, '').replace(/\s+/g, ' ').trim()));
const rows = (t) => t.page.getByRole('region', {name: 'Then and now'}).locator('tbody tr').evaluateAll((list) => list.map((row) => [...row.cells].map((cell) => cell.textContent.trim())));

/** A text as people read it. */
const wordsOf = async (where) => (await where.textContent()).replace(/\s+/g, ' ').trim();

async function show(t, pk, sk) {
  await t.page.getByLabel('pk', {exact: true}).fill(pk);
  await t.page.getByLabel('sk', {exact: true}).fill(String(sk));
  await press(t, 'Show versions');
}

test('recovery is enabled, an item is seen as it was, and the table is restored to that second', {waits: true}, async (t) => {
  await orders(t, {recovery: false});
  await t.open(`/us-east-1/t/${NAME}?tab=history`);
  await t.page.getByRole('heading', {name: `${NAME} keeps no history`}).waitFor();
  await t.accessible();
  await press(t, 'Enable point-in-time recovery');
  await t.page.getByText('Point-in-time recovery: enabled, 35 days').waitFor();
  await put(t, 1, {total: {N: '12345678901234567890123456789012345678'}, note: {S: 'new'}});
  await put(t, 2);
  const second = await nextSecond();
  await put(t, 1, {total: {N: '7'}});
  await t.database('DeleteItem', {TableName: NAME, Key: {pk: {S: 'ann'}, sk: {N: '2'}}});
  await nextSecond();
  await until('the history takes room', async () => (await t.page.locator('[data-history-bytes]').textContent()) !== '0 B');

  await show(t, 'ann', 1);
  await until('three versions', async () => (await versions(t)).length === 3);
  same(await versions(t), ['MODIFY picked', 'INSERT', 'as the history began']);
  await t.page.getByText('The item is now as it was then.').waitFor();
  await t.page.locator('.sm-head').first().click();
  await t.page.locator('.sm-item').first().getByText('12345678901234567890123456789012345678').first().waitFor();
  await t.accessible();

  // The second is picked by the address, as by the slider; the slider follows.
  await t.go(`/us-east-1/t/${NAME}?tab=history&at=${second}&key=ann&key=1`);
  await until('the item is what it was', async () => (await rows(t)).some(([name, then, now]) => name === 'total' && then === '12345678901234567890123456789012345678' && now === '7'));
  same((await rows(t)).find(([name]) => name === 'note'), ['note', 'new', '—']);
  equal(await t.page.getByRole('slider').inputValue(), String(second));
  same(await versions(t), ['MODIFY', 'INSERT picked', 'as the history began']);
  await t.accessibleInBoth({name: 'history'});

  await t.page.getByLabel('New table').fill('Orders-then');
  await press(t, 'Restore table');
  await t.page.getByText('Restoring Orders as of').waitFor();
  await until('the table is there', async () => (await t.database('DescribeTable', {TableName: 'Orders-then'})).Table.TableStatus === 'ACTIVE');
  await until('the page says that it is done', async () => /Restoring Orders as of .* to Orders-then: done 2 items in/.test(await wordsOf(t.page.locator('kw-job'))));
  equal(await t.page.locator('kw-job').getByRole('link', {name: 'Orders-then'}).getAttribute('href'), '/us-east-1/t/Orders-then/items');
  same((await scan(t, 'Orders-then')).map((item) => [item.sk.N, item.total?.N]), [['1', '12345678901234567890123456789012345678'], ['2', undefined]]);
  same((await scan(t)).map((item) => [item.sk.N, item.total?.N]), [['1', '7']]);
  await t.page.getByRole('link', {name: 'See the job'}).click();
  const job = t.page.locator('[data-job]').first();
  await until('the job has ended', async () => /completed/.test(await job.textContent()));
  ok(/Orders-then/.test(await job.textContent()));
  equal(await job.locator('td').nth(2).textContent(), '2');
  await t.accessibleInBoth({name: 'jobs'});
});

test('a key moves the second, a version leads to its own, and the address keeps both', {waits: true}, async (t) => {
  await orders(t);
  await nextSecond();
  await put(t, 1, {n: {N: '1'}});
  await nextSecond();
  await put(t, 1, {n: {N: '2'}});
  await nextSecond();
  await t.open(`/us-east-1/operate/history?table=${NAME}`);
  await show(t, 'ann', 1);
  await until('the versions', async () => (await versions(t)).length === 3);
  const asked = t.requests.filter((one) => one.path.endsWith('keywright/history')).length;
  const slider = t.page.getByRole('slider');
  await slider.focus();
  await t.page.keyboard.press('Home');
  await t.page.getByText('There was no such item then.').waitFor();
  await t.page.locator('.sm-head').nth(1).click();
  await press(t, 'Go to this version');
  await until('the first value', async () => (await rows(t)).some(([name, then, now]) => name === 'n' && then === '1' && now === '2'));
  equal(t.requests.filter((one) => one.path.endsWith('keywright/history')).length, asked, 'what is loaded is not asked for again');
  const {searchParams} = new URL(t.page.url());
  equal(searchParams.get('at'), await slider.inputValue());
  same(searchParams.getAll('key'), ['ann', '1']);
  await t.page.reload();
  await until('the same after a reload', async () => (await rows(t)).some(([name, then]) => name === 'n' && then === '1'));
  await press(t, 'Latest');
  await t.page.getByText('The item is now as it was then.').waitFor();
  equal(new URL(t.page.url()).searchParams.get('at'), null);
});

test('two seconds are compared side by side, and a version with now', {waits: true}, async (t) => {
  await orders(t);
  await put(t, 1, {n: {N: '1'}, gone: {S: 'later'}});
  const first = await nextSecond();
  await put(t, 1, {n: {N: '2'}});
  const second = await nextSecond();
  await put(t, 1, {n: {N: '3'}});
  await nextSecond();
  await t.open(`/us-east-1/t/${NAME}?tab=history&at=${first}&key=ann&key=1`);
  await until('then and now', async () => (await rows(t)).some(([name, then, now]) => name === 'n' && then === '1' && now === '3'));
  await t.go(`/us-east-1/t/${NAME}?tab=history&at=${first}&with=${second}&key=ann&key=1`);
  await until('both seconds', async () => (await rows(t)).some(([name, then, other]) => name === 'n' && then === '1' && other === '2'));
  same((await rows(t)).find(([name]) => name === 'gone'), ['gone', 'later', '—']);
  const changed = t.page.getByRole('region', {name: 'Then and now'}).locator('tr.is-changed td:first-child');
  same((await changed.allTextContents()).sort(), ['gone', 'n']);
  equal((await t.page.getByRole('region', {name: 'Then and now'}).getByRole('columnheader').allTextContents()).filter((text) => text.startsWith('as of')).length, 2);
  await t.accessibleInBoth({name: 'history-compared'});
  await t.page.reload();
  await until('the same after a reload', async () => (await rows(t)).some(([name, then, other]) => name === 'n' && then === '1' && other === '2'));
  // Each version is one of both.
  await t.page.locator('.sm-head').nth(2).click();
  await press(t, 'Compare with this version');
  await t.page.getByText('The item was the same at both times.').waitFor();
  equal(new URL(t.page.url()).searchParams.get('with'), String(first));
  await press(t, 'Now');
  await until('now again', async () => (await rows(t)).some(([name, then, now]) => name === 'n' && then === '1' && now === '3'));
  equal(new URL(t.page.url()).searchParams.get('with'), null);
});

test('a shorter period and the end of recovery ask first, and say what is lost', async (t) => {
  await orders(t);
  await put(t, 1);
  await t.open(`/us-east-1/t/${NAME}?tab=history`);
  await t.page.getByLabel('Keep').fill('3');
  await press(t, 'Save period');
  await t.page.getByRole('dialog').getByText('older than 3 days').waitFor();
  await t.confirm('Cancel');
  equal((await t.database('DescribeContinuousBackups', {TableName: NAME})).ContinuousBackupsDescription.PointInTimeRecoveryDescription.RecoveryPeriodInDays, 35);
  await press(t, 'Save period');
  await t.confirm('Shorten the period');
  await t.page.getByText('Point-in-time recovery: enabled, 3 days').waitFor();
  await press(t, 'Disable…');
  await t.accessible();
  await t.confirm('Disable recovery');
  await t.page.getByRole('heading', {name: `${NAME} keeps no history`}).waitFor();
});

test('a wrong key and a table that exists are refused with the reason, and the forms keep what was typed', async (t) => {
  await orders(t);
  await t.open(`/us-east-1/t/${NAME}?tab=history`);
  await show(t, 'ann', 'one');
  await t.page.getByRole('alert').waitFor();
  equal(await t.page.getByLabel('sk', {exact: true}).inputValue(), 'one');
  await t.page.getByLabel('New table').fill(NAME);
  await press(t, 'Restore table');
  await t.page.getByRole('alert').getByText('Table already exists').waitFor();
  equal(await t.page.getByLabel('New table').inputValue(), NAME);
  await t.accessible();
});

test('a backup is created, restored and deleted, and its deletion names its items', async (t) => {
  await orders(t);
  await put(t, 1, {total: {N: '1'}});
  await put(t, 2);
  await t.open('/us-east-1/operate/backups');
  await t.page.getByRole('heading', {name: 'No backup in us-east-1'}).waitFor();
  await t.accessible();
  await t.page.getByLabel('Name of the backup').fill('before-the-change');
  await press(t, 'Create backup');
  const row = t.page.locator('[data-backup]');
  await row.waitFor();
  ok(/before-the-change.*Orders.*on demand/.test((await row.textContent()).replace(/\s+/g, ' ')));
  await put(t, 1, {total: {N: '2'}});
  await t.page.getByRole('button', {name: 'Restore before-the-change'}).click();
  await t.page.getByLabel('to the new table').fill('Orders-old');
  await t.accessibleInBoth({name: 'backups'});
  await press(t, 'Restore table');
  await t.page.getByText('Restoring before-the-change').waitFor();
  await until('the table is there', async () => (await t.database('DescribeTable', {TableName: 'Orders-old'})).Table.TableStatus === 'ACTIVE');
  same((await scan(t, 'Orders-old')).map((item) => item.total?.N), ['1', undefined]);
  await t.page.getByRole('button', {name: 'Delete before-the-change'}).click();
  await t.page.getByRole('dialog').getByText('2 items of Orders').waitFor();
  await t.confirm('Delete backup');
  await t.page.getByRole('heading', {name: 'No backup in us-east-1'}).waitFor();
  same((await t.database('ListBackups', {})).BackupSummaries, []);
});

test('a read-only studio shows history, jobs and backups, and offers no change', {args: ['--studio-read-only', '--backup-to', join(stores, 'read-only')], waits: true}, async (t) => {
  await orders(t);
  await put(t, 1);
  await t.database('CreateBackup', {TableName: NAME, BackupName: 'kept'});
  const second = await nextSecond();
  await put(t, 2);
  await nextSecond();
  await t.open(`/us-east-1/t/${NAME}?tab=history&at=${second}`);
  await show(t, 'ann', 1);
  await until('the versions', async () => (await versions(t)).length === 2);
  await press(t, 'Preview rollback');
  await t.page.getByText('1 item would change: 0 put back, 0 overwritten, 1 removed').waitFor();
  for (const name of ['Save period', 'Disable…', 'Restore table', 'Roll back…']) equal(await t.page.getByRole('button', {name, exact: true}).count(), 0, name);
  await t.open('/us-east-1/operate/backups');
  await t.page.locator('[data-backup]').waitFor();
  await until('the copy', async () => /in 1 chunk/.test(await wordsOf(t.page.locator('[data-copy]'))));
  for (const name of ['Create backup', 'Restore kept', 'Delete kept', 'Verify the copy of kept']) equal(await t.page.getByRole('button', {name, exact: true}).count(), 0, name);
  await t.open('/us-east-1/operate/jobs');
  await t.page.locator('kw-jobs > *').first().waitFor();
});

test('S37: at 320 pixels history, backups and jobs do not scroll sideways', {context: {viewport: {width: 320, height: 640}}}, async (t) => {
  await orders(t);
  await put(t, 1, {note: {S: 'x'.repeat(300)}});
  await t.database('CreateBackup', {TableName: NAME, BackupName: 'kept'});
  for (const path of [`/us-east-1/t/${NAME}?tab=history&key=ann&key=1`, '/us-east-1/operate/history', '/us-east-1/operate/backups', '/us-east-1/operate/jobs']) {
    await t.open(path);
    await t.drawn();
    const over = await t.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    ok(over <= 0, `${path} is ${over} pixels too wide`);
  }
});

test('a rollback shows what would change, asks with the numbers, runs as a job, and can be rolled back', {waits: true}, async (t) => {
  await orders(t);
  for (const sk of [1, 2, 3]) await put(t, sk, {total: {N: '1'}});
  await t.database('PutItem', {TableName: NAME, Item: {pk: {S: 'bob'}, sk: {N: '1'}, total: {N: '1'}}});
  const second = await nextSecond();
  await put(t, 1, {total: {N: '2'}});
  await t.database('DeleteItem', {TableName: NAME, Key: {pk: {S: 'ann'}, sk: {N: '2'}}});
  await put(t, 4, {total: {N: '2'}});
  await t.database('PutItem', {TableName: NAME, Item: {pk: {S: 'bob'}, sk: {N: '1'}, total: {N: '2'}}});
  const undone = await nextSecond();
  const totals = async () => (await scan(t)).map((item) => `${item.pk.S} ${item.sk.N}: ${item.total.N}`).sort();
  const before = await totals();
  await t.open(`/us-east-1/t/${NAME}?tab=history&at=${second}&key=ann&key=1`);
  await until('the item', async () => (await rows(t)).length > 0);
  await press(t, 'Preview rollback');
  await t.page.getByText('4 items would change: 1 put back, 2 overwritten, 1 removed; about').waitFor();
  same((await t.page.getByRole('list', {name: 'Examples of what would change'}).locator('.sm-event').allTextContents()).map((text) => text.replace(/^\W+/, '').trim()).sort(), ['OVERWRITE', 'OVERWRITE', 'PUT BACK', 'REMOVE']);
  same(await totals(), before, 'a preview writes nothing');
  // The partition of the item alone.
  await t.page.getByLabel('Roll back').selectOption('partition');
  equal(await t.page.getByLabel('pk of the rollback').inputValue(), 'ann');
  await press(t, 'Preview rollback');
  await t.page.getByText('3 items would change').waitFor();
  const overwritten = t.page.locator('kw-rollback li', {hasText: 'OVERWRITE'});
  same((await overwritten.locator('tr.is-changed td').allTextContents()).map((text) => text.trim()), ['total', '2', '1'], 'both values side by side');
  await t.accessibleInBoth();
  await press(t, 'Roll back…');
  await t.page.getByRole('dialog').getByText('What 1 item became since').waitFor();
  await t.accessible();
  await t.confirm('Cancel');
  same(await totals(), before, 'nothing was written without a yes');
  await press(t, 'Roll back…');
  await t.confirm('Roll back');
  await until('the page says that it is done', async () => /Rolling the partition ann back to .*: done 3 items in .*: 1 put back, 1 overwritten, 1 removed/.test(await wordsOf(t.page.locator('kw-job'))));
  await t.page.getByRole('link', {name: 'See the job'}).click();
  await until('the job has ended', async () => /completed.*1 put back, 1 overwritten, 1 removed/.test(await t.page.locator('[data-job]').first().textContent()));
  same(await totals(), ['ann 1: 1', 'ann 2: 1', 'ann 3: 1', 'bob 1: 2']);
  // The rollback of the rollback.
  await nextSecond();
  await t.open(`/us-east-1/t/${NAME}?tab=history&at=${undone}&key=ann&key=4`);
  await until('the item', async () => (await rows(t)).length > 0);
  await t.page.getByLabel('Roll back').selectOption('item');
  await press(t, 'Preview rollback');
  await t.page.getByText('1 item would change: 1 put back').waitFor();
  await press(t, 'Roll back…');
  await t.confirm('Roll back');
  await until('the item is back', async () => (await totals()).includes('ann 4: 2'));
});

test('a rollback takes a typed key and a filter, and says what is wrong with them', {waits: true}, async (t) => {
  await orders(t);
  for (const sk of [1, 2, 3]) await put(t, sk, {kind: {S: sk === 2 ? 'pen' : 'book'}, total: {N: String(sk)}});
  const second = await nextSecond();
  for (const sk of [1, 2, 3]) await put(t, sk, {kind: {S: 'none'}, total: {N: '0'}});
  await nextSecond();
  const totals = async () => (await scan(t)).map((item) => item.total.N);
  await t.open(`/us-east-1/t/${NAME}?tab=history&at=${second}`);
  const preview = async (words) => {
    await press(t, 'Preview rollback');
    await t.page.locator('kw-rollback').getByText(words).waitFor();
  };
  await preview('3 items would change: 0 put back, 3 overwritten');
  await t.page.getByLabel('Filter', {exact: true}).fill('kind');
  await t.page.getByLabel("Filter's value", {exact: true}).fill('book');
  equal(await t.page.getByRole('list', {name: 'Examples of what would change'}).count(), 0, 'the preview was of something else');
  await preview('2 items would change');
  await t.page.locator('kw-rollback summary', {hasText: 'Filter expression'}).click();
  await t.page.getByLabel('Expression').fill('#n > :low');
  await t.page.getByLabel('Names').fill('{"#n": "total"');
  await preview('Names of the filter:');
  await t.page.getByLabel('Names').fill('{"#n": "total"}');
  await preview(':low');
  equal(await t.page.locator('kw-rollback').getByRole('alert').count(), 1);
  await t.page.getByLabel('Values').fill('{":low": {"N": "1"}}');
  await preview('1 item would change');
  await t.accessibleInBoth({name: 'rollback-filter'});
  await press(t, 'Roll back…');
  await t.page.getByRole('dialog').getByText('Roll what matches the filter in Orders back to').waitFor();
  await t.confirm('Roll back');
  await until('it is done', async () => /: done 1 item in .*: 1 overwritten/.test(await wordsOf(t.page.locator('kw-job'))));
  same(await totals(), ['0', '0', '3']);
  // One item by its key, with no item looked at above.
  await t.page.getByLabel('Filter', {exact: true}).fill('');
  await t.page.getByLabel('Expression').fill('');
  await t.page.getByLabel('Roll back').selectOption('item');
  await t.page.getByLabel('pk of the rollback').fill('ann');
  await t.page.getByLabel('sk of the rollback').fill('two');
  await preview('sk is a number: two is none.');
  await t.page.getByLabel('sk of the rollback').fill('2');
  await preview('1 item would change');
  await press(t, 'Roll back…');
  await t.confirm('Roll back');
  await until('the item is back', async () => (await totals())[1] === '2');
  same(await totals(), ['0', '2', '3']);
});

const copyOf = (t, name) => wordsOf(t.page.locator('[data-backup]', {hasText: name}).locator('[data-copy]'));
const files = (folder) => readdirSync(folder, {recursive: true, withFileTypes: true}).filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name));

test('a backup shows its copy; Verify reads it whole, and damage is named', {args: ['--backup-to', join(stores, 'verified')], waits: true}, async (t) => {
  await orders(t);
  for (const sk of [1, 2, 3]) await put(t, sk, {note: {S: `note ${sk}`}});
  const {BackupDetails: {BackupArn}} = await t.database('CreateBackup', {TableName: NAME, BackupName: 'nightly'});
  await t.open('/us-east-1/operate/backups');
  await t.page.locator('[data-backup]').waitFor();
  await until('the copy is complete', async () => /^complete .* in 1 chunk, full not verified$/.test(await copyOf(t, 'nightly')));
  const verify = t.page.getByRole('button', {name: 'Verify the copy of nightly'});
  await verify.click();
  await until('it is whole', async () => /whole, verified /.test(await copyOf(t, 'nightly')));
  await t.page.reload();
  await t.page.locator('[data-backup]').waitFor();
  ok(/whole, verified /.test(await copyOf(t, 'nightly')), 'it is known after a reload');
  // A second attempt at this test finds the copy of the first one too.
  const isOfThisBackup = (name) => name.includes(BackupArn.split('/').at(-1)) && name.endsWith('chunk-0.kwb');
  const chunk = files(join(stores, 'verified')).find(isOfThisBackup) ?? '';
  const content = readFileSync(chunk);
  content[content.length >> 1] ^= 1;
  writeFileSync(chunk, content);
  await verify.click();
  await until('it is damaged', async () => (await copyOf(t, 'nightly')).includes(`damaged, verified`));
  ok((await copyOf(t, 'nightly')).includes(`${chunk}: its content has changed`), await copyOf(t, 'nightly'));
  await t.accessibleInBoth({name: 'backups-copies'});
  await t.open('/us-east-1/operate/jobs');
  await until('the jobs', async () => (await t.page.locator('[data-job]').count()) === 3);
  const jobs = (await t.page.locator('[data-job]').allTextContents()).map((text) => text.replace(/\s+/g, ' '));
  ok(/verify a copy.*failed: DamagedBackup.*chunk-0.kwb/.test(jobs[0]), jobs[0]);
  ok(/verify a copy.*completed/.test(jobs[1]) && /copy a backup.*completed/.test(jobs[2]), `${jobs[1]} ${jobs[2]}`);
});

test('a copy that cannot be written says why it waits', {args: ['--backup-to', join(stores, 'file', 'backups')], waits: true}, async (t) => {
  writeFileSync(join(stores, 'file'), 'no folder');
  await orders(t);
  await put(t, 1);
  await t.database('CreateBackup', {TableName: NAME, BackupName: 'nightly'});
  await t.open('/us-east-1/operate/backups');
  await t.page.locator('[data-backup]').waitFor();
  await until('the reason', async () => /being copied, 0 of 1 item\s?waiting, tried again\s?cannot create .*file/.test(await copyOf(t, 'nightly')));
  equal(await t.page.getByRole('button', {name: 'Verify the copy of nightly'}).count(), 0);
  await t.page.getByRole('alert').getByText('The backup store cannot be listed: ').waitFor();
  await t.open('/us-east-1/operate/jobs');
  await until('the job says it too', async () => /waiting, tried again/.test(await t.page.locator('[data-job]').first().textContent()));
  rmSync(join(stores, 'file'));
  await until('it goes on once it can', async () => /completed/.test(await t.page.locator('[data-job]').first().textContent()));
});

test('backups of whole databases in the store show their chains, and where one is broken', {args: ['--backup-to', join(stores, 'chains')], waits: true}, async (t) => {
  await orders(t);
  const store = join(stores, 'chains');
  const backUp = (...more) => {
    const {status, stderr} = spawnSync(process.env.KEYWRIGHT_BINARY ?? '', ['backup', '--to', store, '--endpoint', t.server.endpoint, ...more], {encoding: 'utf8'});
    equal(status, 0, stderr);
  };
  await t.open('/us-east-1/operate/backups');
  await t.page.getByText('puts backups of all tables here').waitFor();
  backUp();
  for (const sk of [1, 2]) {
    await put(t, sk);
    backUp('--since', 'latest');
  }
  await press(t, 'Read again');
  const stored = t.page.locator('[data-stored]');
  await until('three of them', async () => (await stored.count()) === 3);
  const lines = async () => (await stored.allTextContents()).map((text) => text.replace(/\s+/g, ' ').trim());
  const [third, second, first] = await lines();
  ok(/whole backup, 1 table.*Orders.*full.*complete$/.test(first), first);
  ok(/increment: full [^←]* ← this one.*complete$/.test(second), second);
  ok(/increment: full [^←]* ← [^←]* ← this one.*complete$/.test(third), third);
  await t.accessibleInBoth({name: 'backups-chains'});
  const id = (await stored.nth(1).getAttribute('data-stored')) ?? '';
  const manifest = files(store).find((name) => name.includes(id) && name.endsWith('manifest.json')) ?? '';
  renameSync(manifest, join(stores, 'manifest.json'));
  await press(t, 'Read again');
  await until('the break is named', async () => /damaged.*it is an increment of backup .*, and that backup is not there or incomplete/.test((await lines())[0]));
  ok(/incomplete.*other tables may be missing|damaged/.test((await lines())[1]), (await lines())[1]);
  renameSync(join(stores, 'manifest.json'), manifest);
  await press(t, 'Read again');
  await until('all are whole', async () => (await lines()).every((line) => line.endsWith('complete')));
});
