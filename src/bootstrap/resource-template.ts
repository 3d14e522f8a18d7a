import { err, ok, type Result } from '../util/result';
import type { Bootstrap } from './bootstrap';
import { percentEncodePath } from './percent-encoding';

/**
 * The name of the Listener resource for a target (gRFC A47).
 *
 * @param target The authority of an `xds:` target, empty if it has none, and its path without a leading slash.
 * @returns the name, or why there is none.
 */
export function listenerResourceName(
  bootstrap: Bootstrap,
  target: { readonly authority: string; readonly path: string },
): Result<string, string> {
  if (target.path === '') return err('the xds: target has no name');
  const template = findTemplate(bootstrap, target.authority);
  if (!template.ok) return template;
  const name = template.value.startsWith('xdstp:') ? percentEncodePath(target.path) : target.path;
  // A function, because in a string `$&` would have a meaning.
  return ok(template.value.replaceAll('%s', () => name));
}

function findTemplate(bootstrap: Bootstrap, authority: string): Result<string, string> {
  if (authority === '') return ok(bootstrap.clientDefaultListenerResourceNameTemplate);
  const entry = bootstrap.authorities.get(authority);
  if (entry !== undefined) return ok(entry.clientListenerResourceNameTemplate);
  const known = [...bootstrap.authorities.keys()].map((name) => JSON.stringify(name));
  const there = known.length === 0 ? 'it has none' : `it has ${known.join(', ')}`;
  return err(
    `authority ${JSON.stringify(authority)} is not among the authorities of the bootstrap ${bootstrap.source} (${there})`,
  );
}
