// Work of a view that its user can stop.

/**
 * Runs work whose signal the view's `stop` ends, and shows its fault as the view's `error`.
 * @param {{error: string, stop: AbortController | null, update: () => void}} view
 * @param {(signal: AbortSignal) => Promise<unknown>} run
 */
export async function stoppable(view, run) {
  view.error = "";
  const stop = new AbortController();
  view.stop = stop;
  view.update();
  try {
    await run(stop.signal);
  } catch (error) {
    if (!stop.signal.aborted) view.error = /** @type {Error} */ (error).message;
  }
  view.stop = null;
  view.update();
}
