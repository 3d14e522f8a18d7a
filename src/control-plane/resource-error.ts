import { createHash } from 'node:crypto';
import type { ResourceKind } from './resource-kind';

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

/** Completes an error. */
export function createResourceError({
  kind,
  name,
  code,
  message,
}: ResourceErrorInput): ResourceError {
  const hash = createHash('sha256').update(JSON.stringify(['error', name, code, message]));
  return { kind, name, code, message, digest: hash.digest('hex').slice(0, 16) };
}
