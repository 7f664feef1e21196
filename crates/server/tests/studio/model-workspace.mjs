// Models: first run, tour, the workspace's views, editing, files. Each fact is compared with the commands' own.

import {spawnSync} from 'node:child_process';
import {mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {LONG, equal, ok, same, test, until} from './lib.mjs';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const binary = process.env.KEYWRIGHT_BINARY ?? 'target/debug/keywright';
const EXAMPLES = join(root, 'examples/models');
const DOCUMENTS = join(root, 'crates/exchange/tests/data/workbench');
const example = (name) => readFileSync(join(EXAMPLES, `${name}.yaml`), 'utf8');
const examples = readdirSync(EXAMPLES).filter((name) => name.endsWith('.yaml')).map((name) => name.slice(0, -5)).sort();
const command = (...args) => spawnSync(binary, ['model', ...args], {encoding: 'utf8', maxBuffer: 1 << 26});
const json = (...args) => JSON.parse(command(...args, '--format', 'json').stdout);

/** Opens a view of a model and waits until it is drawn. */
async function view(t, model, name, query = '') {
  await t.open(`/models/${model}/${name}${query}`);
  await settled(t);
}

async function settled(t) {
  await t.page.locator('kw-model .md-stage[aria-busy="false"]').waitFor();
  await t.page.waitForFunction(() => {
    const element = document.querySelector('kw-model');
    return element?.ws?.text != null && !element.ws.busy && (element.ws.last('check') || element.ws.faults.length > 0);
  });
  await t.page.locator('kw-model .md-stage[aria-busy="false"]').waitFor();
}

/** The text of what is in the stage. */
const stage = (t) => t.page.locator('.md-stage').evaluate((element) => element.textContent.replace(/\s+/g, ' '));

/** Writes the editor's whole text as a person who pastes it. */
async function type(t, text) {
  const content = t.page.locator('kw-editor .cm-content');
  await content.click();
  await t.page.keyboard.press('ControlOrMeta+a');
  await t.page.evaluate((value) => {
    const transfer = new DataTransfer();
    transfer.setData('text/plain', value);
    const area = document.querySelector('kw-editor').shadowRoot.querySelector('.cm-content');
    area.dispatchEvent(new ClipboardEvent('paste', {clipboardData: transfer, bubbles: true, cancelable: true}));
  }, text);
}

test('S1: a fresh server shows Start with all examples; one click opens one, a second makes its tables', async (t) => {
  await t.open('/');
  await t.page.locator('.ex-link').first().waitFor();
  equal(await t.page.locator('.ex-link').count(), 17);
  equal(examples.length, 17);
  for (const name of examples) await t.page.locator('.ex-file', {hasText: new RegExp(`^${name}$`)}).waitFor();
  await t.page.locator('.ex-link', {hasText: 'ecommerce'}).click();
  await t.page.getByRole('button', {name: 'Create these tables here'}).click();
  await t.page.getByText('Made 1 table, 9 items.').waitFor();
  same((await t.database('ListTables', {})).TableNames, ['ECommerce']);
  equal((await t.database('Scan', {TableName: 'ECommerce', Select: 'COUNT'})).Count, 9);
  // The question before an index goes names what its model asks of it.
  await t.go('/us-east-1/t/ECommerce?tab=schema');
  await t.page.getByRole('button', {name: 'Drop GSI1'}).click();
  const uses = json('check', join(EXAMPLES, 'ecommerce.yaml')).patterns.filter((one) => one.index === 'GSI1').map((one) => one.id);
  ok(uses.length > 0);
  await t.page.getByRole('dialog').getByText(`Patterns of ecommerce.yaml that use it: ${uses.join(', ')}.`).waitFor();
  await t.page.getByRole('dialog').getByText(/^Its entries: [1-9]/).waitFor();
});

test('S1: Start notices the first table by itself', {waits: true}, async (t) => {
  await t.open('/start');
  await t.page.getByText('Keywright is ready, and empty').waitFor();
  await t.database('CreateTable', {TableName: 'Mine', BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [{AttributeName: 'id', AttributeType: 'S'}], KeySchema: [{AttributeName: 'id', KeyType: 'HASH'}]});
  await t.page.locator('.st-found').getByRole('link', {name: 'Mine'}).waitFor();
});

test('S2: the tour goes by keyboard alone, a step changes something, Escape ends it, ?step= resumes', async (t) => {
  await t.open('/start?step=1');
  const heading = t.page.locator('kw-tour h1');
  for (let step = 1; step <= 6; step += 1) {
    await t.page.locator(`.tr-words[aria-label="Step ${step} of 6"]`).waitFor();
    await t.page.locator('kw-tour .md-page').waitFor();
    await until('the heading has the focus', () => heading.evaluate((element) => element === document.activeElement));
    await t.page.keyboard.press('Tab');
    equal(await t.page.evaluate(() => document.activeElement?.textContent), 'Try a change');
    await t.page.keyboard.press('Enter');
    await t.page.locator('.tr-changes li').first().waitFor();
    await until('the way back has the focus', () =>
      t.page.evaluate(() => document.activeElement?.textContent === 'Take it back'));
    if (step === 6) break;
    for (let at = 0; at < 5; at += 1) {
      await t.page.keyboard.press('Tab');
      if (await t.page.evaluate(() => document.activeElement?.textContent?.startsWith('Next'))) break;
    }
    await t.page.keyboard.press('Enter');
  }
  ok((await t.page.locator('.tr-changes').textContent()).toLowerCase().includes('met → not met'));
  await t.open('/start?step=4');
  await t.page.locator('.tr-words[aria-label="Step 4 of 6"]').waitFor();
  await t.page.getByRole('heading', {name: 'What each index is for'}).waitFor();
  await t.page.keyboard.press('Escape');
  await t.page.waitForURL('**/models/ecommerce/patterns');
});

test('S2: complaints is marked as failing on purpose, and L002 stands at its line', async (t) => {
  await t.open('/start');
  const card = t.page.locator('.ex', {hasText: 'complaints'});
  await card.getByText('fails on purpose').waitFor();
  equal(await t.page.getByText('fails on purpose').count(), 1);
  await card.locator('.ex-link').click();
  const finding = json('check', join(EXAMPLES, 'complaints.yaml')).findings.find((one) => one.rule === 'L002');
  const shown = t.page.locator('.fd.is-error', {hasText: 'L002'});
  await shown.getByRole('button', {name: `line ${finding.line}`}).click();
  const line = () => t.page.locator('kw-editor').evaluate((editor) =>
    editor.view.state.doc.lineAt(editor.view.state.selection.main.head).number);
  await until('the editor is at the line', async () => (await line()) === finding.line);
});

/** The next view of the same page, as a link in it goes there. */
async function next(t, model, name) {
  await t.go(`/models/${model}/${name}`);
  await t.page.locator(`.md-tab[href="/models/${model}/${name}"][aria-current="page"]`).waitFor();
  await settled(t);
}

// Other examples take the same ways through the views, and the largest ones half a minute each: with LONG all are shown.
const SHOWN = LONG ? examples : ['alleycat', 'building-blocks', 'complaints', 'ecommerce', 'orders', 'shop-single-table'];
/** Examples of one test. */
const PART = 3;
for (let from = 0; from < SHOWN.length; from += PART) test(`S22: every view shows the words of \`keywright model show\`: ${SHOWN.slice(from, from + PART).join(', ')}`, async (t) => {
  const views = ['patterns', 'entities', 'keys', 'indexes', 'copies', 'validation', 'advice', 'checklist'];
  const titles = {copies: 'Denormalisation'};
  for (const model of SHOWN.slice(from, from + PART)) {
    // One command prints all parts, each with its title.
    const parts = command('show', join(EXAMPLES, `${model}.yaml`), ...views.map((one) => titles[one]?.toLowerCase() ?? one), '--format', 'markdown').stdout.split(/^(?=# )/m);
    equal(parts.length, views.length, model);
    await view(t, model, 'patterns');
    for (const [at, one] of views.entries()) {
      const markdown = parts[at];
      ok(markdown.toLowerCase().startsWith(`# ${titles[one]?.toLowerCase() ?? one} `), `${model} ${one}: ${markdown.slice(0, 60)}`);
      await next(t, model, one);
      await t.page.locator(one === 'patterns' ? '.pt tbody tr' : '.md-page').first().waitFor();
      if (one === 'patterns') {
        await until('patterns are joined', async () => (await stage(t)).includes('/s') || !markdown.includes('/s'));
        await t.page.locator('.pt-fold').evaluateAll((folds) => folds.forEach((fold) => fold.click()));
      }
      const shown = await stage(t);
      for (const line of markdown.replace(/```[^]*?```/g, '').split('\n')) {
        if (!line.startsWith('| ') && !line.startsWith('- ')) continue;
        const cells = line.startsWith('| ') ? line.slice(2, -2).split(/ (?<!\\)\| /) : [line.slice(2)];
        if (line.startsWith('| ') && markdown.includes(`${line}\n|---`)) continue;
        for (const cell of cells) {
          const text = cell.replace(/\\\|/g, '|').replace(/`/g, '').replace(/\s+/g, ' ').trim();
          if (text === '-' || text === '') continue;
          // Entities have their two letters before each name.
          const found = shown.includes(text) || text.split(', ').every((part) => shown.includes(part));
          ok(found, `${model} ${one}: "${text}" is not shown`);
        }
      }
    }
    for (const one of ['collections', 'findings', 'heat', 'edit', 'diff']) {
      await next(t, model, one);
      equal(await t.page.locator('.md-error').count(), 0, `${model} ${one}`);
    }
  }
});

/** What has the colour of what passed, but for what is greyed as of an older text. */
const greens = (t) => t.page.evaluate(() => {
  const probe = document.createElement('i');
  Object.assign(probe.style, {color: 'var(--good)', background: 'var(--good-bg)'});
  document.body.append(probe);
  const {color, backgroundColor} = getComputedStyle(probe);
  probe.remove();
  const isGreen = (one) => { const style = getComputedStyle(one); return style.color === color || style.backgroundColor === backgroundColor; };
  return [...document.querySelectorAll('kw-model *')].filter((one) => !one.closest('.is-stale') && isGreen(one)).map((one) => one.textContent.trim());
});

test('S23: a typo is marked where the command says, and the mark goes when it is mended', async (t) => {
  const text = example('ecommerce');
  const broken = text.replace('get: Customer', 'get: Custome');
  const folder = mkdtempSync(join(tmpdir(), 'kw-'));
  try {
    writeFileSync(join(folder, 'a.yaml'), broken);
    const said = command('check', join(folder, 'a.yaml')).stderr.match(/:(\d+):(\d+): (.*)/);
    await view(t, 'ecommerce', 'patterns');
    await type(t, broken);
    const fault = t.page.locator('.md-fault').first();
    await fault.waitFor();
    ok((await fault.textContent()).includes(said[3].split('`')[0].trim()), `${await fault.textContent()} is not ${said[3]}`);
    const marks = await t.page.locator('kw-editor').evaluate((editor) => editor.diagnostics);
    same(marks.map((mark) => [mark.line, mark.column, mark.message]), [[Number(said[1]), Number(said[2]), said[3]]]);
    await fault.click();
    await t.page.locator('kw-editor .cm-lint-marker-error').waitFor();
    await t.page.getByText(/The text has 1 fault\. What you see is of an older text, at /).waitFor();
    // No view, no icon and no line says that this text passes.
    const heading = () => t.page.locator('.md-stage h2').textContent();
    await next(t, 'ecommerce', 'edit');
    equal(await heading(), 'The text has 1 fault and is not checked');
    ok((await t.page.locator('.md-strip-line').textContent()).includes('The text has 1 fault and is not checked'));
    for (const one of ['edit', 'patterns', 'validation', 'heat', 'findings']) {
      await next(t, 'ecommerce', one);
      same(await greens(t), [], one);
    }
    await next(t, 'ecommerce', 'edit');
    await type(t, `${text}# another text\n`);
    await fault.waitFor({state: 'detached'});
    await until('the text is read and not checked', async () => (await heading()) === 'Not checked yet');
    same(await greens(t), []);
    await t.page.getByRole('heading', {name: 'The check passes'}).waitFor();
    ok((await greens(t)).length > 0);
    await until('the mark goes', async () => (await t.page.locator('kw-editor .cm-lint-marker-error').count()) === 0);
    await t.page.getByText('10 met').first().waitFor();
  } finally {
    rmSync(folder, {recursive: true});
  }
});

test('S23: typing during a check ends it, and the last text counts', async (t) => {
  await view(t, 'ecommerce', 'patterns');
  const text = example('ecommerce');
  await type(t, text.replace('rcu: 0.5', 'rcu: 0'));
  await t.page.waitForFunction(() => /** @type {any} */ (document.querySelector('kw-model'))?.ws?.busy);
  await type(t, text.replace('rcu: 0.5', 'rcu: 0').replace('id: P10', 'id: P99'));
  await t.page.locator('.pt').getByRole('button', {name: 'P99', exact: true}).waitFor();
  await until('one fails', async () => (await t.page.locator('.md-strip-line').textContent()).includes('1 failed'));
  equal(await t.page.locator('.pt').getByRole('button', {name: 'P10', exact: true}).count(), 0);
});

test('S24: cost, heat and check equal the figures of the commands; the price date changes the bill alone', async (t) => {
  for (const model of LONG ? ['ecommerce', 'orders', 'building-blocks', 'rubis'] : ['ecommerce', 'building-blocks']) {
    const file = join(EXAMPLES, `${model}.yaml`);
    const text = command('cost', file).stdout;
    await view(t, model, 'cost');
    await t.page.locator('.ct-sum').waitFor();
    const total = text.match(/^total +(\S+)/m)[1];
    equal((await t.page.locator('.ct-sum').textContent()).replaceAll(',', ''), total, model);
    const places = [...text.matchAll(/^ +of it (\S+) +(\$\S+)/gm)].map((found) => [found[1], found[2]]);
    const rows = await t.page.locator('.ct-table').first().locator('tbody tr').evaluateAll((list) =>
      list.map((row) => [row.querySelector('th').textContent, row.lastElementChild.textContent.replaceAll(',', '')]));
    if (places.length > 0) same(rows, places, model);
    const check = json('check', file);
    await next(t, model, 'patterns');
    const shown = await t.page.locator('.pt-row').evaluateAll((list) => list.map((row) => [
      row.cells[0].textContent.trim(), row.cells[5].textContent.trim(), row.cells[6].textContent.trim()]));
    same(shown, check.patterns.map((one) => [one.id, String(one.itemsRead ?? ''), String(one.itemsReturned ?? '')]), model);
    const heat = json('heat', file);
    await next(t, model, 'heat');
    await t.page.locator('.ht').first().waitFor();
    const keys = await t.page.locator('.ht-key').allTextContents();
    same(keys, heat.keys.map((key) => key.partitionKey), model);
    const verdicts = await t.page.locator('.ht').evaluateAll((list) => list.map((one) => one.className.match(/is-(\w+)/)[1]));
    same(verdicts, heat.keys.map((key) => key.verdict ?? 'unknown'), model);
  }
  await view(t, 'ecommerce', 'cost');
  const units = () => t.page.locator('.ct-table').nth(1).locator('tbody tr').evaluateAll((list) =>
    list.map((row) => `${row.cells[0].textContent} ${row.cells[4].textContent}`).sort());
  const before = await units();
  await t.page.getByLabel('Prices of').selectOption('us-east-1@2024-10');
  const old = command('cost', join(EXAMPLES, 'ecommerce.yaml'), '--prices', 'us-east-1@2024-10').stdout.match(/^total +(\S+)/m)[1];
  await until('the bill is of the other date', async () => (await t.page.locator('.ct-sum').textContent()).replaceAll(',', '') === old);
  same(await units(), before);
});

test('S24: diff equals the changes of the command', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'kw-'));
  try {
    const before = example('ecommerce');
    const after = before.replace('GSI2: {pk: GSI2PK, sk: GSI2SK, project: all}', 'GSI2: {pk: GSI2PK, sk: GSI2SK, project: keys}');
    writeFileSync(join(folder, 'a.yaml'), before);
    writeFileSync(join(folder, 'b.yaml'), after);
    const found = json('diff', join(folder, 'a.yaml'), join(folder, 'b.yaml'));
    ok(found.changes.length > 0);
    await view(t, 'ecommerce', 'diff');
    await t.page.getByText('Nothing: both are the same model.').waitFor();
    await type(t, after);
    await until('the changes are shown', async () => (await t.page.locator('.df').count()) === found.changes.length);
    same(await t.page.locator('.df-what').allTextContents(), found.changes.map((one) => `${one.thing} ${one.name} ${one.change}`));
    equal(await t.page.locator('.df-step').count(), found.steps.length);
  } finally {
    rmSync(folder, {recursive: true});
  }
});

test('S25: a proposal is taken as a new file that passes, and the old one is untouched', async (t) => {
  const text = example('ecommerce');
  await t.call('models/write', {name: 'shop.yaml', text, hash: null});
  await view(t, 'shop.yaml', 'design');
  await t.page.getByRole('button', {name: 'Find the keys'}).click();
  await t.page.locator('.dg-verdict.is-good').waitFor();
  await t.page.getByRole('button', {name: 'Save as new model'}).click();
  await t.page.getByText('Saved as').waitFor();
  same((await t.call('models/list')).models.map((one) => one.name).sort(), ['shop-design.yaml', 'shop.yaml']);
  equal((await t.call('models/read', {name: 'shop.yaml'})).text, text);
  const taken = (await t.call('models/read', {name: 'shop-design.yaml'})).text;
  ok(taken !== text);
  equal((await t.call('model/check', {text: taken})).done.passes, true);
});

test('S26: a file that changed on disk is not overwritten: both texts are shown', async (t) => {
  const text = example('orders');
  const {hash} = await t.call('models/write', {name: 'mine.yaml', text, hash: null});
  await view(t, 'mine.yaml', 'patterns');
  const theirs = `${text}# theirs\n`;
  await t.call('models/write', {name: 'mine.yaml', text: theirs, hash});
  await type(t, `${text}# mine\n`);
  await t.page.getByRole('button', {name: 'Save', exact: true}).click();
  await t.page.getByText('The file changed on disk since it was read.').waitFor();
  const sides = await t.page.locator('kw-merge').evaluate((merge) =>
    [merge.view.a.state.doc.toString(), merge.view.b.state.doc.toString()]);
  same(sides, [theirs, `${text}# mine\n`]);
  equal((await t.call('models/read', {name: 'mine.yaml'})).text, theirs);
  await t.accessible();
  await t.page.getByRole('button', {name: 'Save mine over it'}).click();
  await t.confirm('Overwrite file');
  await t.page.getByText('Saved.').waitFor();
  equal((await t.call('models/read', {name: 'mine.yaml'})).text, `${text}# mine\n`);
});

test('S26: tables are not made over tables that exist', async (t) => {
  await t.database('CreateTable', {TableName: 'ECommerce', BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [{AttributeName: 'id', AttributeType: 'S'}], KeySchema: [{AttributeName: 'id', KeyType: 'HASH'}]});
  await view(t, 'ecommerce', 'patterns');
  await t.page.getByRole('button', {name: 'Create these tables here'}).click();
  const refused = t.page.locator('.md-note.is-bad');
  await refused.waitFor();
  ok((await refused.textContent()).includes('ECommerce'));
  equal((await t.database('Scan', {TableName: 'ECommerce', Select: 'COUNT'})).Count, 0);
});

test('S27: Workbench documents open by drop, and come back as the same model', async (t) => {
  const documents = readdirSync(DOCUMENTS, {recursive: true}).filter((name) => String(name).endsWith('.json')).map(String).sort();
  equal(documents.length, 31);
  await t.open('/models');
  // The model's own tests read and write all of them: the page is seen with one in five, with LONG with all.
  for (const name of documents.filter((_, at) => LONG || at % 5 === 0)) {
    await t.go('/models');
    await t.page.getByRole('heading', {name: 'Models', exact: true}).waitFor();
    await t.page.getByRole('button', {name: 'Import'}).waitFor();
    const document = readFileSync(join(DOCUMENTS, name), 'utf8');
    await t.page.evaluate(([text, file]) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([text], file, {type: 'application/json'}));
      document.querySelector('kw-models').dispatchEvent(new DragEvent('drop', {dataTransfer: transfer, bubbles: true, cancelable: true}));
    }, [document, name.split('/').at(-1)]);
    await t.page.getByText('Read as a NoSQL Workbench document.').waitFor();
    await t.page.getByRole('button', {name: 'Save and open'}).click();
    await t.page.waitForURL('**/models/*.yaml/patterns');
    const file = decodeURIComponent(new URL(t.page.url()).pathname.split('/')[2]);
    const {text} = await t.call('models/read', {name: file});
    const out = await t.call('models/export', {text, target: 'workbench', base: document});
    const back = await t.call('models/import', {text: out.text, name: file.replace('.yaml', '')});
    const difference = (await t.call('model/diff', {before: {text}, after: {text: back.text}})).done.difference;
    same(difference.changes, [], name);
  }
});

test('a model is written, saved with Ctrl+S, and found in the list', async (t) => {
  await t.open('/models');
  await t.page.getByRole('button', {name: 'New model'}).click();
  await t.page.getByLabel('Name of the file').fill('first.yaml');
  await t.page.getByRole('button', {name: 'Create', exact: true}).click();
  await t.page.waitForURL('**/models/first.yaml/patterns');
  await settled(t);
  const {text} = await t.call('models/read', {name: 'first.yaml'});
  await type(t, `${text}# changed\n`);
  await t.page.locator('.md-status.is-dirty').waitFor();
  await t.page.keyboard.press('ControlOrMeta+s');
  await t.page.getByText('Saved.').waitFor();
  equal((await t.call('models/read', {name: 'first.yaml'})).text, `${text}# changed\n`);
  await t.page.getByRole('link', {name: 'Models', exact: true}).first().click();
  await t.page.getByRole('link', {name: 'first.yaml'}).waitFor();
  // The list has no texts: each is read for what stands next to its name.
  const row = t.page.locator('.mf-table tbody tr').filter({hasText: 'first.yaml'});
  await until('its numbers', async () => (await row.locator('.is-number').allTextContents()).every((text) => /^[1-9]/.test(text)));
  await t.page.getByRole('button', {name: 'Delete first.yaml'}).click();
  await t.page.getByText('Delete first.yaml?').waitFor();
  await t.page.keyboard.press('Enter');
  equal((await t.call('models/list')).models.length, 1);
  await t.page.getByRole('button', {name: 'Delete first.yaml'}).click();
  await t.confirm('Delete file');
  await t.page.getByText('No model file yet.').waitFor();
});

test('texts of several lines are lines in every view, and no marks of control characters', async (t) => {
  const lines = (indent, ...texts) => `|\n${texts.map((one) => `${' '.repeat(indent)}${one}\n`).join('')}`;
  const text = `format: 1\nmodel: votes\ntext: ${lines(2, 'votes of', 'a contest')}tables:\n  Votes: {key: {pk: S, sk: S}}\nentities:\n  Vote:\n    text: ${lines(6, 'one vote', 'each')}    count: 1000\n    key: {pk: "C#{contestant}", sk: "V#{vote}"}\n    attrs: {contestant: {type: S, distinct: 10}, vote: S}\npatterns:\n  - id: P1\n    text: ${lines(6, 'all votes', 'of a contestant')}    query: Vote\n    given: {contestant: eq}\n    rate: 1\n`;
  await t.call('models/write', {name: 'lines.yaml', text, hash: null});
  await view(t, 'lines.yaml', 'patterns');
  for (const one of ['patterns', 'entities', 'validation', 'findings', 'advice', 'checklist', 'cost']) {
    await next(t, 'lines.yaml', one);
    const shown = await stage(t);
    ok(!shown.includes('\u2039') && !shown.includes('line feed'), `${one}: ${shown}`);
  }
  await t.go('/models');
  await t.page.getByRole('link', {name: 'lines.yaml'}).waitFor();
  equal(await t.page.getByText('\u2039').count(), 0);
});

test('completion offers the names of the schema and of the file', async (t) => {
  await view(t, 'ecommerce', 'edit');
  const offered = (text) => t.page.locator('kw-editor').evaluate((editor, value) => {
    const lines = value.split('\n');
    return editor.completer({line: lines.length, column: 0, before: lines.at(-1), text: value})?.options.map((one) => one.label) ?? [];
  }, text);
  ok((await offered('format: 1\n')).includes('entities'));
  ok((await offered('tables:\n  Shop:\n    ')).includes('billing'));
  ok((await offered('entities:\n  Order:\n    parent: ')).includes('Customer'));
  ok((await offered('patterns:\n  - id: P1\n    ')).includes('query'));
});
