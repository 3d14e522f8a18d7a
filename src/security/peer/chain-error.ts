import type { TLSSocket } from 'node:tls';

/** The error of a chain in a runtime that does not say what is wrong with it. */
export const NOT_VERIFIED = 'NOT_VERIFIED';

/**
 * Returns the code of what OpenSSL found wrong with the chain of a peer; `undefined` if nothing is. It is known before Node.js says it,
 * by the method that Node.js itself calls, which is not public.
 */
export function chainErrorOf(socket: TLSSocket): string | undefined {
  const handle: unknown = Reflect.get(socket, '_handle');
  if (!hasVerifyError(handle)) return NOT_VERIFIED;
  const error = handle.verifyError() ?? undefined;
  if (error === undefined) return undefined;
  const code: unknown = typeof error === 'object' ? Reflect.get(error, 'code') : undefined;
  return typeof code === 'string' ? code : NOT_VERIFIED;
}

function hasVerifyError(handle: unknown): handle is { verifyError(): unknown } {
  if (typeof handle !== 'object' || handle === null || !('verifyError' in handle)) return false;
  return typeof handle.verifyError === 'function';
}
