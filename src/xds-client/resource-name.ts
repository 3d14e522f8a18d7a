import { MAX_NAME_LENGTH } from '../util/limits';
import { err, ok, type Result } from '../util/result';

/** The parts of a resource name that the client needs (gRFC A47). */
export interface ResourceName {
  /** The authority of an `xdstp:` name, decoded, possibly empty; `undefined` for a name in the old style. */
  readonly authority: string | undefined;
  /** The spelling under which the resource is requested and cached. */
  readonly canonical: string;
}

/** Reads a resource name: {@link parseResourceName}, or {@link parseOpaqueName} if federation is switched off. */
export type ParseResourceName = (name: string, typeUrl: string) => Result<ResourceName, string>;

const SCHEME = 'xdstp:';
const TYPE_URL_PREFIX = 'type.googleapis.com/';

/**
 * Reads a resource name (gRFC A47). A name that does not begin with `xdstp:` is opaque. In one that does,
 * context parameters are sorted by key, of a repeated key the last counts, directives are dropped, and escapes
 * are spelled in one way: none of them make it another resource.
 * @param typeUrl The type that the name must be of.
 * @returns the name, or what is wrong with it.
 */
export function parseResourceName(name: string, typeUrl: string): Result<ResourceName, string> {
  if (!name.startsWith(SCHEME) || name.length > MAX_NAME_LENGTH) return parseOpaqueName(name);
  const parts = /^xdstp:\/\/([^/?#]*)\/([^/?#]+)\/([^?#]+)(?:\?([^#]*))?(?:#.*)?$/s.exec(name);
  if (parts === null) return err('not of the form xdstp://authority/type/id');
  const [, authority = '', type = '', id = '', context = ''] = parts.map(
    (part: string | undefined) => part && canonicalEscapes(part),
  );
  const expected = typeUrl.startsWith(TYPE_URL_PREFIX)
    ? typeUrl.slice(TYPE_URL_PREFIX.length)
    : typeUrl;
  if (type !== expected) return err(`its type is "${type}", expected "${expected}"`);
  const parameters = canonicalContext(context);
  if (!parameters.ok) return parameters;
  const canonical = `${SCHEME}//${authority}/${type}/${id}${parameters.value}`;
  return ok({ authority: decodeText(authority), canonical });
}

/** Reads a resource name as a client without federation does: it has no parts, also if it begins with `xdstp:`. */
export function parseOpaqueName(name: string): Result<ResourceName, string> {
  if (name.length > MAX_NAME_LENGTH) return err(`longer than ${MAX_NAME_LENGTH} characters`);
  return ok({ authority: undefined, canonical: name });
}

const UNRESERVED = /^[A-Za-z0-9\-._~]$/;

/**
 * Characters that need no escape lose it, and the others get capital letters (RFC 3986, section 6.2.2). What is
 * escaped because it would mean something else otherwise, such as `%2F`, stays escaped.
 */
function canonicalEscapes(text: string): string {
  return text.replace(/%([0-9a-f]{2})/gi, (escape: string, hex: string) => {
    const character = String.fromCharCode(parseInt(hex, 16));
    return UNRESERVED.test(character) ? character : escape.toUpperCase();
  });
}

/** Undoes escapes; what is not a text then stays as it is. */
function decodeText(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

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
