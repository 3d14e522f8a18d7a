import { err, ok, type Result } from '../util/result';
import { MAX_NAME_LENGTH } from './limits';

/** A resource name taken apart as far as the client needs it (gRFC A47). */
export interface ResourceName {
  /** The authority of an `xdstp:` name, possibly empty; `undefined` for a name in the old style. */
  readonly authority: string | undefined;
  /** The one spelling under which the resource is asked for and cached. */
  readonly canonical: string;
}

const SCHEME = 'xdstp:';
const TYPE_URL_PREFIX = 'type.googleapis.com/';

/**
 * Reads a resource name (gRFC A47). A name that does not begin with `xdstp:` is opaque. In one that does,
 * context parameters are sorted by key, of a repeated key the last counts, and directives are dropped:
 * none of them make it another resource.
 * @param typeUrl The type that the name must be of.
 * @returns the name, or what is wrong with it.
 */
export function parseResourceName(name: string, typeUrl: string): Result<ResourceName, string> {
  if (name.length > MAX_NAME_LENGTH) return err(`longer than ${MAX_NAME_LENGTH} characters`);
  if (!name.startsWith(SCHEME)) return ok({ authority: undefined, canonical: name });
  const parts = /^xdstp:\/\/([^/?#]*)\/([^/?#]+)\/([^?#]+)(?:\?([^#]*))?(?:#.*)?$/s.exec(name);
  if (parts === null) return err('not of the form xdstp://authority/type/id');
  const [, authority = '', type = '', id = '', context = ''] = parts;
  const expected = typeUrl.startsWith(TYPE_URL_PREFIX)
    ? typeUrl.slice(TYPE_URL_PREFIX.length)
    : typeUrl;
  if (type !== expected) return err(`its type is "${type}", expected "${expected}"`);
  const parameters = canonicalContext(context);
  if (!parameters.ok) return parameters;
  return ok({ authority, canonical: `${SCHEME}//${authority}/${type}/${id}${parameters.value}` });
}

/** Keys and values are compared as they are spelled: percent-encoding is not undone. */
function canonicalContext(text: string): Result<string, string> {
  if (text === '') return ok('');
  const parameters = new Map<string, string>();
  for (const pair of text.split('&')) {
    const equals = pair.indexOf('=');
    if (equals < 1) return err(`its context parameter "${pair}" is not of the form key=value`);
    parameters.set(pair.slice(0, equals), pair.slice(equals + 1));
  }
  const sorted = [...parameters].sort(([a], [b]) => (a < b ? -1 : 1));
  return ok(`?${sorted.map(([key, value]) => `${key}=${value}`).join('&')}`);
}
