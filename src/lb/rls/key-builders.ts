import type { Metadata } from '../../grpc-js';
import { quoteText } from '../../util/text';
import type { Violations } from '../../util/violations';
import type { GrpcKeyBuilder } from '../../wire/generated/grpc/lookup/v1/rls_config';

/** Which keys the calls of a method have. Names of extra keys are empty for none. */
interface KeyBuilder {
  readonly headers: readonly { readonly key: string; readonly names: readonly string[] }[];
  readonly hostKey: string;
  readonly serviceKey: string;
  readonly methodKey: string;
  readonly constants: ReadonlyMap<string, string>;
}

/** By the path of a method, such as `/package.Service/Method`, or of all other methods of a service, such as `/package.Service/`. */
export type KeyBuilders = ReadonlyMap<string, KeyBuilder>;

/** The part of a call that keys are built from. */
export interface KeyedCall {
  /** The full path, such as `/package.Service/Method`. */
  readonly path: string;
  /** The authority of the channel. */
  readonly host: string;
  readonly headers: Pick<Metadata, 'get'>;
}

/** Builds the keys of a call, always in the same order; none if no builder is for its method. */
export function buildKeys(
  builders: KeyBuilders,
  { path, host, headers }: KeyedCall,
): Map<string, string> {
  const keys = new Map<string, string>();
  const methodStart = path.lastIndexOf('/') + 1;
  const builder = builders.get(path) ?? builders.get(path.slice(0, methodStart));
  if (builder === undefined) return keys;
  for (const { key, names } of builder.headers) {
    for (const name of names) {
      const values = headers.get(name);
      if (values.length === 0) continue;
      // Binary values as they are sent.
      keys.set(
        key,
        values.map((v) => (typeof v === 'string' ? v : v.toString('base64'))).join(','),
      );
      break;
    }
  }
  const { hostKey, serviceKey, methodKey, constants } = builder;
  if (hostKey !== '') keys.set(hostKey, host);
  if (serviceKey !== '') keys.set(serviceKey, path.slice(1, methodStart - 1));
  if (methodKey !== '') keys.set(methodKey, path.slice(methodStart));
  for (const [key, value] of constants) keys.set(key, value);
  return keys;
}

/** Returns the key of the cache for the calls of a method with these keys. No other ones have the same. */
export function cacheKeyOf(path: string, keys: ReadonlyMap<string, string>): string {
  return JSON.stringify([path, ...[...keys].flat()]);
}

/** Validates key builders. @returns those without violations. */
export function readKeyBuilders(
  builders: readonly GrpcKeyBuilder[],
  violations: Violations,
): KeyBuilders {
  const read = new Map<string, KeyBuilder>();
  if (builders.length === 0) violations.add('must not be empty');
  for (const [i, message] of builders.entries()) {
    const at = violations.index(i);
    const builder = readBuilder(message, at);
    if (message.names.length === 0) at.at('names').add('must not be empty');
    for (const [j, { service, method }] of message.names.entries()) {
      const nameAt = at.at('names').index(j);
      const path = `/${service}/${method}`;
      if (service === '') nameAt.at('service').add('must not be empty');
      else if (method.includes('/')) nameAt.at('method').add('must not contain a slash');
      else if (read.has(path)) nameAt.add(`duplicate name ${quoteText(path)}`);
      else read.set(path, builder);
    }
  }
  return read;
}

function readBuilder(
  { headers, extraKeys, constantKeys }: GrpcKeyBuilder,
  violations: Violations,
): KeyBuilder {
  const seen = new Set<string>();
  const check = (key: string, at: Violations) => {
    if (key === '') at.add('must not be empty');
    else if (seen.has(key)) at.add(`duplicate key ${quoteText(key)}`);
    seen.add(key);
  };
  const { host = '', service = '', method = '' } = extraKeys ?? {};
  for (const [i, { key, requiredMatch }] of headers.entries()) {
    const at = violations.at('headers').index(i);
    check(key, at.at('key'));
    if (requiredMatch) at.at('required_match').add('must not be set');
  }
  for (const [name, key] of Object.entries({ host, service, method })) {
    if (key !== '') check(key, violations.at('extra_keys').at(name));
  }
  for (const key of constantKeys.keys()) check(key, violations.at('constant_keys').key(key));
  return {
    headers: headers.map(({ key, names }) => ({ key, names })),
    hostKey: host,
    serviceKey: service,
    methodKey: method,
    constants: constantKeys,
  };
}
