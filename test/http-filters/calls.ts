import { Metadata, type StatusObject } from '../../src/grpc-js';
import {
  CallFailedError,
  type CallFilter,
  type CallInfo,
} from '../../src/http-filters/call-filter';
import type { PreparedFilter } from '../../src/http-filters/client-filter';

/** Headers of one value each, or of several. */
export function headersOf(entries: Record<string, string | readonly string[]> = {}): Metadata {
  const headers = new Metadata();
  for (const [name, values] of Object.entries(entries)) {
    for (const value of typeof values === 'string' ? [values] : values) headers.add(name, value);
  }
  return headers;
}

/** A call of `/test.Echo/Say` with these headers. */
export function callWith(headers: Metadata = new Metadata()): CallInfo {
  return { method: '/test.Echo/Say', headers, cluster: 'echo' };
}

/** A status without trailers. */
export function statusOf(code: number, details = ''): StatusObject {
  return { code, details, metadata: new Metadata() };
}

/** An instance that makes this filter for every call. */
export function instance(
  name: string,
  create: CallFilter | undefined | ((call: CallInfo) => CallFilter | undefined),
): PreparedFilter {
  return {
    name,
    factory: {
      create: (call) => (typeof create === 'function' ? create(call) : create),
      describe: () => name,
    },
  };
}

/** What an exception of a filter ends the call with: `code: details`. */
export async function failureOf(run: () => unknown): Promise<string> {
  try {
    const result = await run();
    throw new Error(`It did not fail, but gave ${String(result)}`);
  } catch (error) {
    if (!(error instanceof CallFailedError)) throw error;
    return `${error.failure.code}: ${error.failure.details}`;
  }
}
