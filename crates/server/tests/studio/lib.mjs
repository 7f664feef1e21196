// What the tests of the studio's pages share: a server for each test, a real browser, and the rules that hold
// everywhere. A page's error, a violation of its policy or a request to another origin fails any test.
//
// By hand: KEYWRIGHT_BINARY=target/debug/keywright KEYWRIGHT_STUDIO_MODULES=FOLDER/node_modules node FILE [PART OF A NAME]
//
//   import {test, equal} from './lib.mjs';
//   test('a table is listed', async (t) => {
//     await t.database('CreateTable', {…});
//     await t.open('/us-east-1/tables');
//     await t.page.getByText('Orders').waitFor();
//     await t.accessible();
//   });
import {spawn} from 'node:child_process';
import {existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {deepStrictEqual, ok, strictEqual} from 'node:assert';

const modules = process.env.KEYWRIGHT_STUDIO_MODULES ?? '/nowhere/node_modules';
const require = createRequire(`${modules}/`);
const binary = process.env.KEYWRIGHT_BINARY ?? 'target/debug/keywright';
const pictures = process.env.KEYWRIGHT_STUDIO_PICTURES;
// Where the page of a failed test is kept.
const failures = process.env.KEYWRIGHT_STUDIO_FAILURES ?? pictures;
// The same browser without its windows, where it is installed, takes a quarter less of the processor.
const browsers = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];
const chromium = process.env.KEYWRIGHT_CHROMIUM ?? browsers.find((path) => existsSync(path));
/**
 * With it (`cargo xtask test --long`) walks through many pages load each of them anew for each theme and width.
 * Without it they load each page once and change width and theme there: each page, theme and width is still seen.
 */
export const LONG = process.env.KEYWRIGHT_TEST_LONG !== undefined;
// Bounds of what hangs, wide enough for a machine that does much else.
const TEST_MS_MAX = 300_000;
const WAIT_MS_MAX = 60_000;
const FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync'];

/** The text of axe, once a test has needed it. */
let axe = '';

export {deepStrictEqual as same, ok, strictEqual as equal};

/** Waits until a function returns something true. */
export async function until(what, condition, ms = WAIT_MS_MAX) {
  const end = Date.now() + ms;
  for (;;) {
    const found = await condition();
    if (found) return found;
    if (Date.now() > end) throw new Error(`not within ${ms} ms: ${what}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

/** Debug builds serve the sources; with this variable the linked pages, which users run. */
const AS_RELEASED = {KEYWRIGHT_STUDIO_DIST: '1'};

/** A server of its own, in memory unless the arguments say otherwise. */
export async function serve(args = [], variables = AS_RELEASED) {
  const where = args.includes('--data') ? [] : ['--in-memory'];
  const ports = args.includes('--studio-port') ? [] : ['--studio-port', '0'];
  const own = args.includes('--port') ? [] : ['--port', '0'];
  const child = spawn(binary, ['serve', ...where, ...own, ...ports, '--management-port', 'off', ...args],
    {stdio: ['ignore', 'pipe', 'pipe'], env: {...process.env, ...variables}});
  let banner = '';
  let log = '';
  child.stderr.on('data', (data) => { log += data; });
  await new Promise((done, failed) => {
    child.once('exit', () => failed(new Error(`the server ended: ${log}`)));
    child.stdout.on('data', (data) => {
      banner += data;
      if (banner.includes('Try:')) done(undefined);
    });
  });
  child.removeAllListeners('exit');
  const line = (name) => banner.match(new RegExp(`^ +${name} +(http\\S+)`, 'm'))?.[1] ?? '';
  const stop = () => new Promise((done) => {
    if (child.exitCode !== null || child.signalCode !== null) return done(undefined);
    child.once('exit', () => done(undefined));
    child.kill('SIGKILL');
  });
  return {studio: line('studio'), endpoint: line('endpoint'), banner, stop, log: () => log};
}

/** One test's server, browser context and page. */
class Trial {
  constructor(browser, server, name) {
    this.browser = browser;
    this.server = server;
    this.name = name;
    this.faults = [];
    this.allowed = [];
    /** Every request of the browser: {method, path, body}. */
    this.requests = [];
    /** Those of them that have no end yet. */
    this.underWay = new Set();
    this.build = '';
  }

  get studio() { return this.server.studio; }

  /** What the page and the server's log say: where pictures are lost, it shows why a test has failed. */
  async seen() {
    const log = this.server.log().split('\n').slice(-8).join('\n');
    const page = await this.page.locator('main').innerText({timeout: 5_000});
    return `the page: ${page.replace(/\s+/g, ' ').slice(0, 2_000)}\nthe server's log ends with: ${log}`;
  }

  /** Faults that match this are expected. */
  allow(pattern) { this.allowed.push(pattern); }

  /** A browser context with a page; the first is made by itself. */
  async begin(options = {}) {
    this.context = await this.browser.newContext({viewport: {width: 1280, height: 800}, ...options});
    this.context.on('page', (page) => this.watch(page));
    this.page = await this.context.newPage();
    return this.page;
  }

  watch(page) {
    page.setDefaultTimeout(WAIT_MS_MAX);
    page.on('pageerror', (error) => this.faults.push(`page error: ${error.stack ?? error}`));
    page.on('console', (message) => {
      if (message.type() !== 'error') return;
      // The browser reports every answer of 400 and more; those of the API are part of its protocol.
      if (message.text().startsWith('Failed to load resource') && message.location().url.includes('/api/')) return;
      this.faults.push(`console: ${message.text()} (${message.location().url})`);
    });
    page.on('request', (request) => {
      const url = new URL(request.url());
      if (url.protocol === 'data:' || url.protocol === 'blob:') return;
      if (url.origin !== this.server.studio) this.faults.push(`a request to ${url.origin}`);
      this.requests.push({method: request.method(), path: url.pathname, body: request.postData()});
      // What the document before had asked for need not end.
      if (request.isNavigationRequest()) this.underWay.clear();
      this.underWay.add(request);
    });
    for (const end of ['requestfinished', 'requestfailed']) page.on(end, (request) => this.underWay.delete(request));
  }

  /** Opens a path of the studio. */
  async open(path = '/') { await this.page.goto(this.studio + path); }

  /** Goes to a path as a link in the page does: nothing is loaded that is there. */
  async go(path) {
    await this.page.evaluate((to) => {
      history.pushState(null, '', to);
      window.dispatchEvent(new PopStateEvent('popstate'));
    }, path);
  }

  /** The next page of a walk: as a link goes there, once a page is open; with LONG it is loaded anew. */
  async visit(path) {
    const isOpen = this.page.url().startsWith(this.studio);
    await (isOpen && !LONG ? this.go(path) : this.open(path));
  }

  /**
   * Waits until the page is drawn: something is in its view, no request is under way, no part is busy or moves, and
   * nothing was drawn meanwhile. What only a timer brings later is waited for by its own sign.
   */
  async drawn() {
    await until('the page is drawn', async () => {
      const before = this.requests.length;
      if (this.underWay.size > 0) return false;
      const isStill = await this.page.evaluate(() => new Promise((done) => {
        let changes = 0;
        const watch = new MutationObserver(() => { changes += 1; });
        watch.observe(document, {subtree: true, childList: true, characterData: true, attributes: true});
        setTimeout(() => requestAnimationFrame(() => setTimeout(() => {
          watch.disconnect();
          const isBusy = document.querySelector('[aria-busy="true"]') || /** @type {any} */ (document.querySelector('kw-model'))?.ws?.busy;
          const isMoving = document.getAnimations().some((one) => one.playState === 'running' && one.effect?.getComputedTiming().endTime !== Infinity);
          done(changes === 0 && !isBusy && !isMoving && !!document.querySelector('main > *'));
        })), 60);
      }));
      return isStill && this.underWay.size === 0 && this.requests.length === before;
    });
  }

  /** Answers the question before something is lost, by its button. */
  async confirm(verb) { await this.page.getByRole('dialog').getByRole('button', {name: verb, exact: true}).click(); }

  /** Calls the studio's API from outside of the page: the last line of a stream, or the error. */
  async call(name, body = {}, place = {}) {
    if (!this.build) {
      const page = await (await fetch(this.studio + '/')).text();
      this.build = page.match(/name="keywright-build" content="([^"]*)"/)?.[1] ?? '';
    }
    const headers = {'x-keywright-studio': this.build};
    if (place.region) headers['x-keywright-region'] = place.region;
    if (place.account) headers['x-keywright-account'] = place.account;
    const answer = await fetch(`${this.studio}/api/${name}`, {method: 'POST', headers, body: JSON.stringify(body)});
    const lines = (await answer.text()).trim().split('\n');
    return JSON.parse(lines[lines.length - 1]);
  }

  /** A request of the API's port, as any client sends it. Throws the service's error. */
  async database(operation, body, {region = 'us-east-1', account = 'local'} = {}) {
    const streams = ['ListStreams', 'DescribeStream', 'GetShardIterator', 'GetRecords'].includes(operation);
    const answer = await fetch(this.server.endpoint, {
      method: 'POST',
      headers: {
        'content-type': 'application/x-amz-json-1.0',
        'x-amz-target': `${streams ? 'DynamoDBStreams' : 'DynamoDB'}_20120810.${operation}`,
        'x-amz-date': '20261121T000000Z',
        authorization: `AWS4-HMAC-SHA256 Credential=${account}/20261121/${region}/dynamodb/aws4_request, ` +
          'SignedHeaders=host, Signature=00',
      },
      body: JSON.stringify(body),
    });
    const json = JSON.parse(await answer.text());
    if (!answer.ok) throw new Error(`${operation}: ${json.__type}: ${json.message}`);
    return json;
  }

  /**
   * Fails if axe finds something of WCAG 2.0 to 2.2, A and AA. With "colours" it looks at contrast alone: the
   * rules that another theme can break. `known` selects what is as it was when it was last looked at.
   */
  async accessible(where = this.page, what = 'all', known = '') {
    // Through the protocol, so that the page's policy does not refuse the script.
    if (!await where.evaluate(() => 'axe' in globalThis)) {
      axe ||= readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
      await where.evaluate(axe);
    }
    const runOnly = what === 'colours' ? {type: 'rule', values: ['color-contrast', 'link-in-text-block']}
      : {type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']};
    // Of what is in order the browser need not describe every element. None of these rules reads style sheets.
    const violations = await where.evaluate(async ([only, out]) => {
      const found = await globalThis.axe.run(out ? {exclude: out} : document, {runOnly: only, resultTypes: ['violations'], preload: {assets: ['media']}});
      return found.violations;
    }, /** @type {[any, string]} */ ([runOnly, known]));
    const text = violations.map((one) =>
      `${one.id}: ${one.help}\n  ${one.nodes.slice(0, 5).map((node) => `${node.target} ${node.failureSummary}`).join('\n  ')}`);
    strictEqual(text.join('\n'), '', 'axe');
  }

  /** Waits for the frame after the next one, which has what the page is told before. */
  async painted() {
    await this.page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)))));
  }

  /**
   * `accessible`, then the colours of the dark theme; with a name, a picture of each. `unfold` opens what a page has
   * closed when it is loaded.
   */
  async accessibleInBoth({name = '', known = '', unfold = async () => {}} = {}) {
    const out = LONG ? '' : known;
    await unfold();
    await this.accessible(this.page, 'all', out);
    if (name) await this.picture(`${name}-light`);
    await this.page.emulateMedia({colorScheme: 'dark'});
    await this.painted();
    // A page without a name has something open that does not outlive its loading.
    if (name && LONG) {
      await this.page.reload();
      await this.drawn();
      await unfold();
    }
    await this.accessible(this.page, 'colours', out);
    if (name) await this.picture(`${name}-dark`);
    await this.page.emulateMedia({colorScheme: 'light'});
  }

  /** The element that has the focus, also within editors, and whether people can see where it is. */
  async seen(where = this.page) {
    const found = await where.evaluate(() => {
      let element = document.activeElement;
      while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
      if (!element || element === document.body) return {name: 'the page itself', sees: true};
      // A grid marks the cell that it points to.
      const marked = document.getElementById(element.getAttribute('aria-activedescendant') ?? '') ?? element;
      const style = getComputedStyle(marked);
      const editor = element.closest('.cm-editor');
      const outlined = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0;
      const host = element.getRootNode().host?.parentElement;
      const shadowed = [style.boxShadow, host ? getComputedStyle(host).boxShadow : 'none', host ? getComputedStyle(host).borderColor : 'none'].some((one) => one !== 'none');
      const box = marked.getBoundingClientRect();
      const inside = box.width > 0 && box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
      const at = document.elementFromPoint(Math.max(1, Math.min(innerWidth - 2, box.left + Math.min(box.width, 40) / 2)), Math.max(1, Math.min(innerHeight - 2, box.top + Math.min(box.height, 24) / 2)));
      const covered = !editor && at && !marked.contains(at) && !at.contains(marked) && !element.contains(at);
      return {name: `${element.tagName.toLowerCase()} ${(element.getAttribute('aria-label') ?? element.labels?.[0]?.textContent ?? element.textContent ?? '').trim().replace(/\s+/g, ' ').slice(0, 60)}`,
        sees: inside && !covered && (outlined || shadowed || !!editor), inside, covered: !!covered, outlined};
    });
    return found;
  }

  /** Presses a key until the focus is on an element, and fails if the focus is not seen on the way. */
  async keysTo(what, key = 'Tab', most = 120) {
    for (let pressed = 0; pressed < most; pressed += 1) {
      await this.page.keyboard.press(key);
      const {name, sees, ...more} = await this.seen();
      ok(sees, `the focus is seen on ${name}: ${JSON.stringify(more)}`);
      if (process.env.KEYWRIGHT_STUDIO_KEYS) console.log(name);
      if (what.test(name)) return name;
    }
    throw new Error(`${key} does not lead to ${what}`);
  }

  /** A picture for people to look at, if there is a folder for it. */
  async picture(name, folder = pictures) {
    if (!folder) return;
    mkdirSync(folder, {recursive: true});
    await this.page.screenshot({path: `${folder}/${name}.png`});
  }

  /** Kills the server and starts another one on the same ports. */
  async restart(args = []) {
    const port = (url) => new URL(url).port;
    const ports = ['--port', port(this.server.endpoint), '--studio-port', port(this.server.studio)];
    await this.server.stop();
    this.server = await serve([...ports, ...args]);
  }
}

/** One page with all pictures, for people who change how things look (S40). */
function album() {
  if (!pictures || !existsSync(pictures)) return;
  const names = readdirSync(pictures).filter((name) => name.endsWith('.png')).sort();
  const figure = (name) => `<figure><figcaption>${name.slice(0, -4)}</figcaption><a href="${name}"><img src="${name}" alt="" width="420" loading="lazy"></a></figure>`;
  writeFileSync(`${pictures}/index.html`, `<!doctype html><meta charset="utf-8"><title>Studio: ${names.length} pictures</title>` +
    `<style>body{font:13px system-ui;display:flex;flex-wrap:wrap;gap:12px}figure{margin:0}img{border:1px solid #ccc}</style>${names.map(figure).join('')}\n`);
}

const queue = [];

/**
 * Registers a test. `options`: `args` of the server, `context` of the browser, `waits` if it waits for a clock
 * more than it computes: such tests run beside the others of the file.
 */
export function test(name, options, run) {
  queue.push(typeof options === 'function' ? {name, options: {}, run: options} : {name, options, run});
}

async function runOne(browser, {name, options, run}) {
  const server = await serve(options.args);
  const trial = new Trial(browser, server, name);
  try {
    await trial.begin(options.context);
    let timer;
    const late = new Promise((_, failed) => {
      timer = setTimeout(() => failed(new Error(`longer than ${TEST_MS_MAX} ms`)), TEST_MS_MAX);
    });
    await Promise.race([run(trial), late]).finally(() => clearTimeout(timer));
    const faults = trial.faults.filter((fault) => !trial.allowed.some((allowed) => allowed.test(fault)));
    strictEqual(faults.join('\n'), '', 'faults of the page');
  } catch (error) {
    await trial.picture(`failed-${name.replace(/\W+/g, '-')}`, failures).catch(() => undefined);
    throw new Error(`${error.stack ?? error}\n${await trial.seen().catch(String)}`);
  } finally {
    await trial.context?.close().catch(() => undefined);
    await trial.server.stop();
  }
}

// All tests of the file that imports this, once it has registered them. One that fails runs once more after the others,
// and is named if it passes then: a browser on a busy machine does not always keep up.
setImmediate(async () => {
  const wanted = process.argv[2] ?? '';
  const chosen = queue.filter(({name}) => name.includes(wanted));
  if (chosen.length === 0) return;
  const browser = await require('playwright-core').chromium.launch({executablePath: chromium, args: FLAGS});
  const attempt = async (one) => {
    const begun = Date.now();
    try {
      await runOne(browser, one);
      console.log(`ok      ${one.name} (${Date.now() - begun} ms)`);
      return undefined;
    } catch (error) {
      return error.stack ?? String(error);
    }
  };
  const again = [];
  const inTurn = async (list) => {
    for (const one of list) {
      const first = await attempt(one);
      if (first) again.push({one, first});
    }
  };
  await Promise.all([true, false].map((waits) => inTurn(chosen.filter((one) => !!one.options.waits === waits))));
  let failed = 0;
  for (const {one, first} of again) {
    const second = await attempt(one);
    if (second) failed += 1;
    if (second) console.log(`FAILED  ${one.name}\n${first}\nand again: ${second}`);
    else console.log(`PASSED ONLY AT THE SECOND ATTEMPT  ${one.name}: ${first}`);
  }
  await browser.close();
  album();
  console.log(`${chosen.length - failed} of ${chosen.length} passed`);
  process.exitCode = failed === 0 ? 0 : 1;
});
