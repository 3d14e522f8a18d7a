import { createHash } from 'node:crypto';
import { err, ok, type Result } from '../util/result';
import { MAX_STATUS_CODE } from '../util/status-code';
import type { ResourceKind } from './resource-kind';
import type { SnapshotProblem } from './snapshot-problem';

/** Why clients do not get a resource they ask for (xRFC TP3, gRFC A88). */
export interface ResourceErrorInput {
  /** The type of the resource. */
  readonly kind: ResourceKind;
  readonly name: string;
  /**
   * A gRPC status code other than OK. To clients, NOT_FOUND (5) and PERMISSION_DENIED (7) are errors of the
   * data, and all others pass.
   */
  readonly code: number;
  readonly message: string;
}

/** An error in a snapshot. */
export interface ResourceError extends ResourceErrorInput {
  /** 16 hexadecimal digits, the same in any process for the same error. */
  readonly digest: string;
}

/** Errors by kind and name. */
export type ErrorsByKind = ReadonlyMap<ResourceKind, ReadonlyMap<string, ResourceError>>;

/**
 * Sorts errors by kind and name.
 *
 * @returns the errors, or everything that is wrong with them.
 */
export function createResourceErrors(
  inputs: readonly ResourceErrorInput[],
): Result<ErrorsByKind, readonly SnapshotProblem[]> {
  const problems: SnapshotProblem[] = [];
  const byKind = new Map<ResourceKind, Map<string, ResourceError>>();
  inputs.forEach((input, index) => {
    const { kind, name, code } = input;
    const errors = byKind.get(kind) ?? new Map<string, ResourceError>();
    byKind.set(kind, errors);
    const add = (field: string, reason: string) =>
      problems.push({ list: 'errors', index, name, path: [field], reason });
    if (name === '') add('name', 'must not be empty');
    else if (errors.has(name)) add('name', `another error is for this ${kind.label}`);
    if (!Number.isInteger(code) || code < 1 || code > MAX_STATUS_CODE) {
      add('code', `must be from 1 to ${MAX_STATUS_CODE}, not ${code}`);
    }
    errors.set(name, createResourceError(input));
  });
  return problems.length > 0 ? err(problems) : ok(byKind);
}

function createResourceError({ kind, name, code, message }: ResourceErrorInput): ResourceError {
  const hash = createHash('sha256').update(JSON.stringify(['error', name, code, message]));
  return { kind, name, code, message, digest: hash.digest('hex').slice(0, 16) };
}
