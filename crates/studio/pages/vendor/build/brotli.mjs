// Files that are kept compressed with Brotli beside themselves, which takes seconds for the largest.

import { brotliCompressSync, constants } from "node:zlib";

/** From this size on a file is also kept compressed. */
const BROTLI_BYTES_MIN = 4096;

/** The compressed form of a file that has one. */
export function compressed(bytes) {
  if (bytes.length < BROTLI_BYTES_MIN) return null;
  const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
  return brotliCompressSync(bytes, { params });
}
