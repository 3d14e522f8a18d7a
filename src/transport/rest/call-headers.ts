import { Status, type CallCredentials, type Metadata } from '../../grpc-js';
import { errorMessage } from '../../util/error-message';
import { createHandle, type Handle } from '../../util/handle';
import { err, ok, type Result } from '../../util/result';
import type { Refusal } from './refusal';

/** Headers by name. */
export type Headers = Readonly<Record<string, string>>;

/**
 * Finds out what call credentials add to a request.
 * @returns a handle that gives up without a call back.
 */
export function callHeaders(
  credentials: readonly CallCredentials[],
  url: URL,
  callback: (headers: Result<Headers, Refusal>) => void,
): Handle {
  if (credentials.length === 0) {
    callback(ok({}));
    return createHandle(() => {});
  }
  let isWanted = true;
  const settle = (headers: Result<Headers, Refusal>): void => {
    if (isWanted) callback(headers);
  };
  const call = { method_name: url.pathname, service_url: `${url.origin}${url.pathname}` };
  Promise.all(credentials.map((each) => each.generateMetadata(call))).then(
    (all) => settle(ok(toHeaders(all))),
    (error: unknown) => settle(err(toRefusal(error))),
  );
  return createHandle(() => (isWanted = false));
}

function toHeaders(all: readonly Metadata[]): Headers {
  const headers: Record<string, string> = {};
  for (const metadata of all) {
    for (const [name, value] of Object.entries(metadata.getMap())) {
      if (typeof value === 'string') headers[name] = value;
    }
  }
  return headers;
}

function toRefusal(error: unknown): Refusal {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return {
    code: typeof code === 'number' ? code : Status.UNKNOWN,
    details: errorMessage(error),
  };
}
