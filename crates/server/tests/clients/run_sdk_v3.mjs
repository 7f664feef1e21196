// Runs shared scenarios with the JavaScript SDK v3. Usage: node run_sdk_v3.mjs ENDPOINT SCENARIO [ENDPOINT SCENARIO]
import { readFileSync } from 'node:fs'
import * as dynamodb from '@aws-sdk/client-dynamodb'

const RETRIES = 100

const isBinary = (value) => value && typeof value === 'object' && Object.keys(value).join() === 'B'
const decodeBinary = (value) => {
  if (isBinary(value)) return { B: new Uint8Array(Buffer.from(value.B, 'base64')) }
  if (Array.isArray(value)) return value.map(decodeBinary)
  if (value && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, decodeBinary(inner)]))
  }
  return value
}

// The first difference, or undefined. An object may have more members than expected, an element of a list may not.
function differs(expected, actual, path = '') {
  if (isBinary(expected)) {
    return Buffer.from(actual?.B ?? []).toString('base64') === expected.B ? undefined : `${path}: other bytes`
  }
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) return `${path}: expected ${expected.length} elements`
    for (const [place, inner] of expected.entries()) {
      const found = differs(inner, actual[place], `${path}[${place}]`)
      if (found) return found
    }
    return undefined
  }
  if (expected && typeof expected === 'object') {
    for (const [key, inner] of Object.entries(expected)) {
      if (actual?.[key] === undefined) return `${path}.${key}: missing`
      const found = differs(inner, actual[key], `${path}.${key}`)
      if (found) return found
    }
    return undefined
  }
  return expected === actual ? undefined : `${path}: expected ${expected}, got ${actual}`
}

async function fault(client, step) {
  let output
  try {
    output = await client.send(new dynamodb[`${step.operation}Command`](decodeBinary(step.input)))
  } catch (error) {
    const said = `${error.name}: ${error.message}`
    if (!step.error) return said
    const typed = dynamodb[step.error.code]
    if (typed && !(error instanceof typed)) return `${error.name} is of no class of its own`
    return said === `${step.error.code}: ${step.error.message}` ? undefined : `got ${said}`
  }
  if (step.error) return `expected ${step.error.code}, got an answer`
  const present = (step.absent ?? []).find((member) => output[member] !== undefined)
  return present ? `${present} is there` : differs(step.expect, output)
}

async function run(endpoint, scenario) {
  const client = new dynamodb.DynamoDBClient({
    endpoint,
    region: 'us-east-1',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
  })
  const steps = JSON.parse(readFileSync(scenario))
  for (const step of steps) {
    let found
    for (let attempt = 0; attempt < (step.retry_until_expected ? RETRIES : 1); attempt += 1) {
      found = await fault(client, step)
      if (!found) break
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    if (found) {
      console.error(`${step.name}: ${found}`)
      process.exit(1)
    }
  }
  console.log(`${steps.length} steps passed`)
}

for (let place = 2; place < process.argv.length; place += 2) await run(process.argv[place], process.argv[place + 1])
