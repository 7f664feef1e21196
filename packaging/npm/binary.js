// Finds the binary: KEYWRIGHT_BINARY, or the package of this platform, an optional dependency of this one.
import { createRequire } from 'node:module'

export function binary() {
  if (process.env.KEYWRIGHT_BINARY) return process.env.KEYWRIGHT_BINARY
  const platform = `${process.platform}-${process.arch}`
  const file = process.platform === 'win32' ? 'keywright.exe' : 'keywright'
  try {
    return createRequire(import.meta.url).resolve(`@keywright/${platform}/${file}`)
  } catch {
    throw new Error(
      `the package @keywright/${platform} is not installed: this platform has none, or optional dependencies ` +
        'were left out; KEYWRIGHT_BINARY can name a binary',
    )
  }
}
