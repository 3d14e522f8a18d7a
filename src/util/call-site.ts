import { fileURLToPath } from 'node:url';

/** A frame of a stack with a file, such as `    at main (/app/main.js:3:1)`. */
const FRAME = /^\s+at (?:.*\()?(.+:\d+:\d+)\)?$/m;

/**
 * Returns where a function was called, such as `/app/main.js:3:1`. Call it while that function runs.
 *
 * @param callee The function, which is on the stack.
 */
export function callSiteOf(callee: (...args: never) => unknown): string {
  const trace: { readonly stack?: unknown } = {};
  Error.captureStackTrace(trace, callee);
  // An application may have replaced the form of stacks.
  const { stack } = trace;
  const site = typeof stack === 'string' ? FRAME.exec(stack)?.[1] : undefined;
  if (site === undefined) return 'an unknown place';
  return site.startsWith('file:') ? fileURLToPath(site) : site;
}
