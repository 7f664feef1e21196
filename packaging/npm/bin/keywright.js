#!/usr/bin/env node
// The command `keywright`: runs the binary with the same arguments and ends as it does.
import { spawn } from 'node:child_process'
import { binary } from '../binary.js'

let path
try {
  path = binary()
} catch (error) {
  console.error(`keywright: ${error.message}`)
  process.exit(1)
}
const child = spawn(path, process.argv.slice(2), { stdio: 'inherit' })
// A signal from the terminal reaches both processes; one sent to this process alone is handed on.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
child.on('error', (error) => {
  console.error(`keywright: cannot run ${path}: ${error.message}`)
  process.exit(1)
})
child.on('exit', (code, signal) => {
  if (signal) process.exit(1)
  process.exit(code ?? 1)
})
