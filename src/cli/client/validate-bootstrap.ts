import { parseBootstrap } from '../../bootstrap/bootstrap-parser';
import { createClientParts, createServerAccess, type ClientSurroundings } from './client-parts';

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
