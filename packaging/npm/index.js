// Starts and stops a server for tests and scripts.
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { closeSync, openSync, rmSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { binary } from './binary.js'

export { binary }

const ACCOUNT_BASE = 100_000_000_000
const REGION = 'us-east-1'

const exists = async (path) => {
  try {
    return await readFile(path, 'utf8')
  } catch {
    return undefined
  }
}

// The number of this worker of Jest, Vitest or node:test, from 1; 1 in a process that is none.
export function worker() {
  const { JEST_WORKER_ID, VITEST_POOL_ID } = process.env
  return Number(VITEST_POOL_ID ?? JEST_WORKER_ID ?? 1) || 1
}

// An account for each worker: an access key of twelve digits names its account.
export function clientConfig(endpoint, { worker: number = worker(), region = REGION } = {}) {
  const accessKeyId = String(ACCOUNT_BASE + number)
  return { endpoint, region, credentials: { accessKeyId, secretAccessKey: 'local' } }
}

const place = ({ credentials, region }) => `${credentials.accessKeyId}/${region}`

async function call(endpoint, method, body) {
  const headers = { 'x-keywright': 'branch', 'content-type': 'application/json' }
  const response = await fetch(`${endpoint}/_keywright/branch`, { method, headers, body: JSON.stringify(body) })
  if (!response.ok) throw new Error((await response.json()).message)
  await response.arrayBuffer()
}

// A copy of all tables that these settings reach, at one instant, in a region of its own.
export async function branch(config) {
  const copy = { ...config, region: `${config.region}-${randomUUID().slice(-12)}` }
  await call(config.endpoint, 'POST', { from: place(config), to: place(copy) })
  return { config: copy, drop: () => call(config.endpoint, 'DELETE', { branch: place(copy) }) }
}

export async function start({ data, args = [], startMs = 30_000 } = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'keywright-'))
  const ready = join(folder, 'ready.json')
  const log = join(folder, 'log.txt')
  const storage = data === undefined ? ['--in-memory'] : ['--data', resolve(data)]
  // Settings of the caller's shell are not this server's; nor is a keywright.toml of the project.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('KEYWRIGHT_')))
  const output = openSync(log, 'w')
  let child
  try {
    child = spawn(binary(), ['serve', '--port', '0', '--ready-file', ready, ...storage, ...args], {
      cwd: folder,
      env,
      stdio: ['ignore', 'ignore', output],
    })
  } finally {
    closeSync(output)
  }
  let failure
  const ended = new Promise((settle) => {
    child.on('error', (error) => settle((failure = error.message)))
    child.on('exit', (code) => settle((failure ??= `it ended with status ${code}`)))
  })
  const kill = () => {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
  process.once('exit', kill)
  const cleanUp = async () => {
    process.off('exit', kill)
    await rm(folder, { recursive: true, force: true })
  }
  const deadline = Date.now() + startMs
  let text
  while ((text = await exists(ready)) === undefined) {
    if (failure !== undefined || Date.now() > deadline) {
      const said = ((await exists(log)) ?? '').trim()
      child.kill('SIGKILL')
      await cleanUp()
      throw new Error(`keywright did not start: ${said || failure || `not ready after ${startMs} ms`}`)
    }
    await new Promise((wake) => setTimeout(wake, 2))
  }
  const { endpoint } = JSON.parse(text)
  // The server must not keep the process alive that started it.
  child.unref()
  let stopping
  const stop = () =>
    (stopping ??= (async () => {
      child.ref()
      child.kill('SIGTERM')
      await ended
      await cleanUp()
    })())
  return {
    endpoint,
    pid: child.pid,
    clientConfig: (options) => clientConfig(endpoint, options),
    stop,
    [Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]: stop,
  }
}
