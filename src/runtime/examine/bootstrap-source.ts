import type { Bootstrap } from '../../bootstrap/bootstrap';
import { findUnknownKeys } from '../../bootstrap/bootstrap-keys';
import { parseBootstrap } from '../../bootstrap/bootstrap-parser';
import { readBootstrapJson, type BootstrapError } from '../../bootstrap/load-bootstrap';
import { withRelay } from '../../bootstrap/relay-server';
import { ok, type Result } from '../../util/result';
import type { OpenedBootstrap } from './client-parts';

/** Where the bootstrap is. */
export interface BootstrapSource {
  /** A file; default: as the environment variables have it. */
  readonly path?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What to do instead, in the text of a bootstrap that is missing; '' for nothing. */
  readonly otherwise: string;
  /** Put before the servers, as its `server_uri`. Default: none. */
  readonly relay?: string | undefined;
}

/** A bootstrap that was read, and not parsed yet. */
export interface ReadBootstrap {
  /** As it is written. */
  readonly json: unknown;
  /** As a process uses it, with the relay. */
  readonly used: unknown;
  readonly unknownKeys: ReturnType<typeof findUnknownKeys>;
  /** Returns the bootstrap that is used, or all violations of it. */
  parse(client: Pick<OpenedBootstrap, 'access' | 'parts'>): Result<Bootstrap, readonly string[]>;
}

/** Reads the JSON of a bootstrap. @returns which kind of problem there is, otherwise. */
export function readBootstrapSource({
  path,
  env,
  relay,
  otherwise,
}: BootstrapSource): Result<ReadBootstrap, BootstrapError> {
  const read = readBootstrapJson({ file: path, env, otherwise });
  if (!read.ok) return read;
  const { json, source } = read.value;
  const used = relay === undefined ? json : withRelay(json, relay);
  return ok({
    json,
    used,
    unknownKeys: findUnknownKeys(json),
    parse: ({ access, parts }) =>
      parseBootstrap(used, source, access.support, parts.environment.flags),
  });
}
