// A model under the traffic of a profile: what the page shows is what `keywright simulate` prints.

import {spawnSync} from 'node:child_process';
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {equal, ok, same, test, until} from './lib.mjs';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const binary = process.env.KEYWRIGHT_BINARY ?? 'target/debug/keywright';
const sale = readFileSync(join(root, 'examples/simulations/sale.yaml'), 'utf8');
/** Five minutes in which one counter gets more than its partition serves, and a table that scales. */
const RUSH = `start: 2026-11-27T16:58:00Z
length: 5m
seed: 7
retries: 2
patterns:
  sell:
    rate: [{at: 0, rate: 5}, {at: 2m, rate: 1600}]
    keys: {hot: 90%, keys: 1}
  show:
    rate: 20
expect:
  lost: 0
`;

/** What the command prints of these texts. */
function command(model, profile, format) {
  const folder = mkdtempSync(join(tmpdir(), 'kw-'));
  try {
    writeFileSync(join(folder, 'model.yaml'), model);
    writeFileSync(join(folder, 'profile.yaml'), profile);
    return spawnSync(binary, ['simulate', join(folder, 'model.yaml'), join(folder, 'profile.yaml'), '--format', format], {encoding: 'utf8', maxBuffer: 1 << 26}).stdout.trimEnd();
  } finally {
    rmSync(folder, {recursive: true});
  }
}

/** Pastes a text over the profile. */
async function profile(t, text) {
  await t.page.locator('.sl-profile .cm-content').click();
  await t.page.keyboard.press('ControlOrMeta+a');
  await t.page.evaluate((value) => {
    const transfer = new DataTransfer();
    transfer.setData('text/plain', value);
    const area = document.querySelector('.sl-profile').shadowRoot.querySelector('.cm-content');
    area.dispatchEvent(new ClipboardEvent('paste', {clipboardData: transfer, bubbles: true, cancelable: true}));
  }, text);
}

const figures = (t) => t.page.locator('.sl-page .op-tile').evaluateAll((tiles) => Object.fromEntries(tiles.map((tile) => [tile.querySelector('.op-name').textContent, tile.querySelector('.op-value').textContent])));

test('a simulation is what the command says: verdict, minutes, splits, bill, picture', async (t) => {
  await t.call('models/write', {name: 'sale.yaml', text: sale, hash: null});
  await t.open('/models/sale.yaml/simulate');
  await t.page.locator('.sl-profile .cm-line').filter({hasText: 'Half an hour'}).waitFor();
  await t.accessible();
  await profile(t, RUSH);
  // By the keys alone: Ctrl+Enter runs.
  await t.page.keyboard.press('Control+Enter');
  await t.page.locator('.sl-page .dg-verdict').waitFor();
  const report = JSON.parse(command(sale, RUSH, 'json'));
  equal((await t.page.locator('.dg-verdict b').textContent()).trim(), report.answer);
  ok(!report.passes && report.lost > 0);
  const shown = await figures(t);
  equal(shown.Requests, report.requests.toLocaleString('en'));
  equal(shown.Lost, report.lost.toLocaleString('en'));
  equal(shown.Refused, report['throttled-per-minute'].reduce((sum, one) => sum + one, 0).toLocaleString('en'));
  equal((await t.page.locator('.sl-page .md-error li').allTextContents()).join(), report.broken.join());
  const month = report.bill.reduce((sum, one) => sum + one['monthly-nano-dollars'], 0) / 1e9;
  equal(Number(shown['A month'].replace(/[$,]/g, '')), Number(month.toFixed(2)));
  // The charts have the minutes of the report.
  const writes = t.page.locator('kw-chart').filter({has: t.page.getByRole('heading', {name: 'Shop: writes'})});
  await writes.getByRole('button', {name: 'As a table'}).click();
  const rows = await writes.locator('tbody tr').evaluateAll((list) => list.map((row) => [...row.cells].map((cell) => cell.textContent)).reverse());
  const minutes = report.resources.find((one) => one.index === null).minutes;
  const rate = (halves) => (halves / 120).toLocaleString('en', {maximumFractionDigits: 3});
  same(rows, minutes.map((one) => [one.minute.slice(11, 16), rate(one['demanded-half-units'][1]), rate(one['consumed-half-units'][1]), one['limit-units-per-second'][1].toLocaleString('en')]));
  await t.accessible();
  await t.picture('simulate-light');
  // The same bytes by the call that the page makes.
  const answer = (await t.call('model/simulate', {text: sale, profile: RUSH})).done;
  same(answer.report, report);
  for (const format of ['svg', 'csv', 'text']) equal(answer[format].trimEnd(), command(sale, RUSH, format), format);
  // The picture is drawn, by the command's own hand.
  await t.page.locator('summary').filter({hasText: 'The picture'}).click();
  await until('the picture is there', () => t.page.locator('.sl-picture').evaluate((image) => image.complete && image.naturalWidth > 0));
  // It is there after a reload, with its profile.
  await t.page.reload();
  await t.page.locator('.sl-profile .cm-line').filter({hasText: 'length: 5m'}).waitFor();
});

test('a profile that does not read says where; another text greys what was found', {context: {colorScheme: 'dark'}}, async (t) => {
  await t.call('models/write', {name: 'sale.yaml', text: sale, hash: null});
  await t.open('/models/sale.yaml/simulate');
  await t.page.locator('.sl-profile .cm-line').filter({hasText: 'Half an hour'}).waitFor();
  const broken = RUSH.replace('length: 5m', 'length: soon').replace('seed: 7', 'sed: 7');
  await profile(t, broken);
  await t.page.getByRole('button', {name: 'Simulate', exact: true}).click();
  await t.page.getByText('The profile does not read:').waitFor();
  const lines = command(sale, broken, 'json');
  equal(lines, '');
  const said = await t.page.locator('.sl-page .md-error li').allTextContents();
  ok(said.some((text) => text.startsWith('line 2:')) && said.some((text) => text.startsWith('line 3:')), said.join('\n'));
  await t.accessible(t.page, 'colours');
  await profile(t, RUSH.replace('1600', '60'));
  await t.page.getByRole('button', {name: 'Simulate', exact: true}).click();
  await t.page.locator('.dg-verdict.is-good').waitFor();
  await t.picture('simulate-dark');
  await t.accessible(t.page, 'colours');
  await profile(t, RUSH);
  await t.page.getByText('Of an older text or profile.').waitFor();
  equal(await t.page.locator('.dg-verdict.is-good').count(), 0);
  // What was typed does not go at one click.
  await t.page.getByRole('button', {name: 'Reset', exact: true}).click();
  await t.page.getByRole('dialog').getByText(/^The profile as you typed it: \d+ lines/).waitFor();
  await t.page.keyboard.press('Escape');
  await t.page.locator('.sl-profile .cm-line').filter({hasText: 'length: 5m'}).waitFor();
  await t.page.getByRole('button', {name: 'Reset', exact: true}).click();
  await t.confirm('Reset profile');
  await t.page.locator('.sl-profile .cm-line').filter({hasText: 'Half an hour'}).waitFor();
});

test('a simulation is stopped', async (t) => {
  await t.call('models/write', {name: 'sale.yaml', text: sale, hash: null});
  await t.open('/models/sale.yaml/simulate');
  await t.page.locator('.sl-profile .cm-line').filter({hasText: 'Half an hour'}).waitFor();
  await profile(t, RUSH.replace('length: 5m', 'length: 20h'));
  await t.page.getByRole('button', {name: 'Simulate', exact: true}).click();
  await until('it goes on', async () => (await t.page.locator('.sl-actions').textContent()).includes('of 1,200 minutes'));
  await t.page.getByRole('button', {name: 'Stop'}).click();
  await t.page.getByRole('button', {name: 'Simulate', exact: true}).waitFor();
  equal(await t.page.locator('.sl-page .md-error').count(), 0);
});
