import { fileURLToPath } from 'node:url';

/** The end of a frame of a stack with a file, such as `    at main (/app/main.js:3:1)`. */
const FRAME_END = /:\d+:\d+\)?$/;

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
  const frame =
    typeof stack === 'string' ? stack.split('\n').find((line) => FRAME_END.test(line)) : undefined;
  if (frame === undefined) return 'an unknown place';
  const begin = frame.includes('(') ? frame.indexOf('(') + 1 : frame.indexOf('at ') + 'at '.length;
  const site = frame.slice(begin).replace(/\)$/, '');
  return site.startsWith('file:') ? fileURLToPath(site) : site;
}
