// A table in its regions: replicas, what is on its way, lost changes, one item everywhere, and simulated faults.

import {equal, ok, same, test, until} from './lib.mjs';

const NAME = 'Carts';
const [HERE, THERE] = ['us-east-1', 'eu-west-1'];
const SIMULATED = {args: ['--simulate']};
/** The same, for tests that wait for figures more than they compute. */
const WAITING = {...SIMULATED, waits: true};
const PATH = `/${HERE}/t/${NAME}?tab=regions`;
const TABLE = {TableName: NAME, BillingMode: 'PAY_PER_REQUEST', AttributeDefinitions: [{AttributeName: 'id', AttributeType: 'S'}],
  KeySchema: [{AttributeName: 'id', KeyType: 'HASH'}]};

const press = (t, name, where = t.page) => where.getByRole('button', {name, exact: true}).click();
const form = (t, name) => t.page.getByRole('form', {name, exact: true});
const row = (t, region) => t.page.locator(`tr[data-region="${region}"]`);
/** The cells of a replica: status, items, since, stream, overrides, what it lacks, latency, last change, what lacks its changes. */
const cells = (t, region) => row(t, region).locator('td').allTextContents().then((list) => list.map((one) => one.replace(/\s+/g, ' ').trim()));
const put = (t, region, id, by) => t.database('PutItem', {TableName: NAME, Item: {id: {S: id}, by: {S: by}}}, {region});
const described = async (t, region = HERE) => (await t.database('DescribeTable', {TableName: NAME}, {region})).Table;

/** A table with a replica that is active. */
async function carts(t) {
  await t.database('CreateTable', TABLE);
  await t.database('UpdateTable', {TableName: NAME, ReplicaUpdates: [{Create: {RegionName: THERE}}]});
  await until('the replica is active', async () => (await described(t)).Replicas?.[0]?.ReplicaStatus === 'ACTIVE' && (await described(t)).TableStatus === 'ACTIVE');
}

/** Adds a fault by the form. */
async function fault(t, name, {seconds = '', more = async (_) => {}} = {}) {
  const own = form(t, 'Add a fault');
  await own.getByLabel('Fault').selectOption({label: name});
  await more(own);
  await own.getByLabel('for seconds').fill(seconds);
  await press(t, 'Add fault', own);
}

const line = (t) => t.page.locator('#simulated');
const rules = (t) => t.page.getByRole('region', {name: 'What is simulated'}).locator('tbody tr');

test('a table in one region says what global tables are; a replica is added, changed and removed there', {waits: true}, async (t) => {
  await t.database('CreateTable', TABLE);
  await put(t, HERE, 'a', 'us');
  await t.open(PATH);
  await t.page.getByText('A global table has a replica in each of several regions').waitFor();
  await t.page.getByText('start the server with --simulate').waitFor();
  await t.accessible();
  const adding = form(t, 'Add a replica');
  // What the service refuses stands there in its words, and the form keeps what was typed.
  await adding.getByLabel('Region').fill('mars-1');
  await press(t, 'Add a replica', adding);
  await t.page.getByRole('alert').filter({hasText: 'ValidationException: Region mars-1 is not supported.'}).waitFor();
  equal(await adding.getByLabel('Region').inputValue(), 'mars-1');
  await adding.getByLabel('Region').fill(THERE);
  await press(t, 'Add a replica', adding);
  await until('the replica is active', async () => (await cells(t, THERE))[0] === 'active' && (await cells(t, THERE))[5] === 'none');
  const [, items, since, stream, overrides] = await cells(t, THERE);
  same([items, stream, overrides], ['1', 'new and old images', 'none']);
  ok(since.length > 5, since);
  await until('the table is active', async () => (await described(t)).TableStatus === 'ACTIVE');

  await press(t, `Change overrides in ${THERE}`);
  const own = form(t, `Overrides in ${THERE}`);
  await own.getByLabel('class').selectOption({label: 'standard, infrequent access'});
  await own.getByLabel('most read units a second').fill('7');
  await t.accessible();
  await press(t, 'Save overrides', own);
  await until('the overrides are shown', async () => (await cells(t, THERE))[4] === 'at most 7 read units a second, standard, infrequent access');
  await until('the replica is active again', async () => (await described(t)).Replicas[0].ReplicaStatus === 'ACTIVE' && (await cells(t, THERE))[0] === 'active');
  await press(t, `Change overrides in ${THERE}`);
  await own.getByLabel('class').selectOption({label: 'standard'});
  await own.getByLabel('most read units a second').fill('');
  await press(t, 'Save overrides', own);
  await until('nothing is overridden', async () => (await cells(t, THERE))[4] === 'none');
  await until('the replica is active again', async () => (await cells(t, THERE))[0] === 'active');

  // The region that a replica was filled from stays for a day: the refusal of the service is shown.
  await t.page.getByRole('link', {name: THERE, exact: true}).click();
  await row(t, HERE).getByText('active').waitFor();
  await press(t, `Remove the replica in ${HERE}`);
  await t.confirm('Remove replica');
  await t.page.getByRole('alert').filter({hasText: 'acted as a source region'}).waitFor();
  await t.page.goBack();
  await press(t, `Remove the replica in ${THERE}`);
  const question = t.page.getByRole('dialog');
  await question.getByText(`The table in ${THERE}: 1 item, `).waitFor();
  await question.getByText(`The last replica: ${NAME} is then an ordinary table in ${HERE}.`).waitFor();
  await t.accessible();
  await t.confirm('Cancel');
  equal((await described(t)).Replicas.length, 1);
  await press(t, `Remove the replica in ${THERE}`);
  await t.confirm('Remove replica');
  await t.page.getByText(`${NAME} is in ${HERE} alone.`).waitFor();
});

test('what a cut link holds back is counted, an item is seen in each region, and the lost change is listed', SIMULATED, async (t) => {
  await carts(t);
  await put(t, HERE, 'a', 'us');
  await t.open(PATH);
  await until('the change has arrived', async () => /^\d/.test((await cells(t, THERE))[7] ?? ''));
  await until('its latency is known', async () => /^\d+ m?s on average, at most \d+ m?s$/.test((await cells(t, THERE))[6]));
  equal(await line(t).textContent(), '');
  await fault(t, 'Cut a link', {seconds: '600'});
  await rules(t).filter({hasText: 'any region → any region'}).filter({hasText: 'nothing arrives'}).filter({hasText: 'for 10 min'}).waitFor();
  await line(t).getByText('Replication between regions is simulated.').waitFor();

  // The item's own panel leads to it in all regions; there it is on its way.
  await put(t, HERE, 'a', 'us again');
  await t.go(`/${HERE}/t/${NAME}/items`);
  await line(t).getByText('any region → any region: nothing arrives').waitFor();
  await t.page.locator('.it-open').first().click();
  await t.page.getByRole('link', {name: 'In all regions'}).click();
  await t.page.waitForURL(`**/t/${NAME}?tab=regions&key=a`);
  await t.page.getByText(`Not yet in ${THERE}: the newest change is on its way.`).waitFor();
  const standing = (region) => t.page.locator('[data-standing]').filter({hasText: new RegExp(`^${region}`)}).getAttribute('data-standing');
  same([await standing(HERE), await standing(THERE)], ['newest', 'on its way']);
  const differs = t.page.getByRole('region', {name: 'The item in each region'}).locator('tr.is-changed');
  same((await differs.locator('td').allTextContents()).map((one) => one.trim()), ['by', 'us again', 'us']);
  await until('one change is held back', async () => (await cells(t, THERE))[5].startsWith('1 change, '));
  await t.accessibleInBoth();

  // A delete is on its way too, and is seen as one.
  await t.database('DeleteItem', {TableName: NAME, Key: {id: {S: 'a'}}});
  await t.page.locator('[data-standing="newest"]').filter({hasText: `no item, deleted in ${HERE}`}).waitFor();
  equal(await standing(THERE), 'on its way');

  // Delivered by hand, the item is gone there as well.
  await press(t, 'Deliver next change of a', form(t, 'Deliver a change'));
  await t.page.getByText(`1 change delivered from ${HERE} to ${THERE}.`).waitFor();
  await press(t, 'Deliver next change of a', form(t, 'Deliver a change'));
  await t.page.getByText('No region that is read has an item with this key.').waitFor();

  // Both regions write one item; when the cut ends, the later write has won and the other is listed.
  await put(t, HERE, 'b', 'us');
  await new Promise((done) => setTimeout(done, 5));
  await put(t, THERE, 'b', 'eu');
  await press(t, 'End simulation');
  await until('nothing says that it is simulated', async () => (await line(t).textContent()).trim() === '');
  const lost = t.page.getByRole('list', {name: 'Lost changes, the newest first'}).locator('li');
  await lost.filter({hasText: `${HERE} lost to ${THERE}: by us`}).locator('button').click();
  await t.page.getByRole('region', {name: 'Lost and now'}).waitFor();
  const images = await t.page.getByRole('region', {name: 'Lost and now'}).locator('tr.is-changed td').allTextContents();
  same(images.map((one) => one.trim()), ['by', 'us', 'eu']);
  await t.accessibleInBoth();
  await lost.getByRole('link', {name: 'In all regions'}).click();
  await t.page.getByText('All regions that are read have the same item.').waitFor();
  equal(new URL(t.page.url()).searchParams.get('key'), 'b');
});

test('faults of every kind are added and removed, end by themselves, and others keep theirs', WAITING, async (t) => {
  await carts(t);
  await t.open(`/${HERE}/operate/simulation`);
  await t.page.getByText('Nothing is simulated: changes go to the other regions at once.').waitFor();
  equal(await form(t, 'Add a fault').getByLabel('Fault').locator('option', {hasText: 'Deliver by hand'}).count(), 0);
  await fault(t, 'Delay changes as AWS does', {more: async (own) => { await own.locator('select').nth(1).selectOption(HERE); await own.locator('select').nth(2).selectOption(THERE); }});
  await rules(t).filter({hasText: `${HERE} → ${THERE}`}).filter({hasText: 'changes take 300 ms to 1 s'}).waitFor();
  // Another fault of the same link joins it.
  await fault(t, 'Deliver changes twice', {more: async (own) => { await own.getByLabel('% of changes').fill('40'); }});
  await rules(t).filter({hasText: 'changes take 300 ms to 1 s, 40 % arrive twice'}).waitFor();
  await fault(t, "Shift a region's clock", {more: async (own) => { await own.locator('select').nth(1).selectOption(THERE); await own.getByLabel('milliseconds ahead').fill('-60000'); }});
  await rules(t).filter({hasText: 'its clock is 60 s behind'}).waitFor();
  equal(await rules(t).count(), 2);
  await t.accessibleInBoth();
  await press(t, `Remove the rule for ${HERE} → ${THERE}`);
  await until('one rule is left', async () => (await rules(t).count()) === 1);

  // A rule that another client has set meanwhile stays, also with members that the page does not know.
  const others = {seed: 7, regions: [{region: 'ap-south-1', pause: true}]};
  ok((await t.call('simulation/replace', others)).regions, 'it is set');
  await t.go(PATH);
  await form(t, 'Add a fault').waitFor();
  await fault(t, 'Deliver by hand', {seconds: '2'});
  await rules(t).filter({hasText: NAME}).filter({hasText: 'delivered by hand'}).waitFor();
  const now = await t.call('simulation/show');
  same([now.seed, now.regions[0].region, now.tables[0].account], [7, 'ap-south-1', '123456789012']);
  await until('the rule has ended by itself', async () => (await rules(t).count()) === 1);
  await line(t).getByRole('link', {name: 'Simulation'}).click();
  await t.page.waitForURL(`**/${HERE}/operate/simulation`);
  await press(t, 'Remove the rule for ap-south-1');
  await until('the line is gone', async () => (await line(t).textContent()).trim() === '');
});

test('S37: at 320 pixels the page of regions does not scroll sideways', {args: ['--simulate'], context: {viewport: {width: 320, height: 640}}}, async (t) => {
  await carts(t);
  await put(t, HERE, 'a', 'us');
  await t.call('simulation/replace', {links: [{from: '*', to: '*', partition: true}]});
  await t.open(`${PATH}&key=a`);
  await t.page.getByRole('region', {name: 'The item in each region'}).waitFor();
  await line(t).getByText('nothing arrives').waitFor();
  const [wide, page] = await t.page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  equal(wide, page);
  await t.accessible();
});
