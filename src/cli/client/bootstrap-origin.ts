import { parseBootstrap } from '../../bootstrap/bootstrap-parser';
import { loadBootstrap, type LoadBootstrapOptions } from '../../bootstrap/load-bootstrap';
import { parseTarget } from '../../resolver/xds-scheme';
import { createClientParts, createServerAccess, type ClientSurroundings } from './client-parts';

/** Where the bootstrap is: a file, an object, or the environment. */
export type BootstrapOrigin =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'object'; readonly json: object }
  | { readonly kind: 'environment' };

/** Returns the options by which the bootstrap is loaded. */
export function bootstrapSource(
  origin: BootstrapOrigin,
  env: ClientSurroundings['env'],
): Pick<LoadBootstrapOptions, 'inline' | 'env'> {
  switch (origin.kind) {
    case 'file':
      return { env: { GRPC_XDS_BOOTSTRAP: origin.path } };
    case 'object':
      return { env: {}, inline: origin.json };
    case 'environment':
      return { env };
  }
}

/** Returns why a target or its bootstrap cannot be used; undefined if both can. */
export function findTargetProblem(
  target: string,
  origin: BootstrapOrigin,
  surroundings: ClientSurroundings,
): string | undefined {
  const parsed = parseTarget(target);
  if (!parsed.ok) return parsed.error;
  const parts = createClientParts(surroundings);
  const { support } = createServerAccess(parts);
  const { flags } = parts.environment;
  const source = bootstrapSource(origin, surroundings.env);
  const loaded = loadBootstrap({ ...source, support, flags });
  return loaded.ok ? undefined : loaded.error.message;
}

/** Reads a bootstrap as a client does. @returns all violations and warnings; none if it can be used as it is. */
export function validateBootstrap(
  json: unknown,
  surroundings: ClientSurroundings,
): readonly string[] {
  const parts = createClientParts(surroundings);
  const { support } = createServerAccess(parts);
  const parsed = parseBootstrap(json, 'command line', support, parts.environment.flags);
  return parsed.ok ? (parsed.value.warnings ?? []) : parsed.error;
}
