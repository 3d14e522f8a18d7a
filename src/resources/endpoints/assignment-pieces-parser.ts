import { ClusterLoadAssignment } from '../../generated/envoy/config/endpoint/v3/endpoint';
import {
  LbEndpoint,
  LocalityLbEndpoints,
} from '../../generated/envoy/config/endpoint/v3/endpoint_components';
import { Violations } from '../../util/violations';
import { decodeEach, decodePieces, type PieceField } from '../shared/any';

/** The field of the localities of an assignment. */
export const LOCALITIES: PieceField = { number: 2, name: 'endpoints' };
/** The field of the endpoints of a locality. */
export const LB_ENDPOINTS: PieceField = { number: 2, name: 'lb_endpoints' };

/** A locality of an assignment. */
export interface LocalityPiece {
  /** May lack its endpoints. */
  readonly message: LocalityLbEndpoints;
  /** Can be iterated once. */
  readonly endpoints: Iterable<LbEndpoint>;
}

/** An assignment whose localities are iterated. */
export interface AssignmentPieces {
  /** May lack its localities. */
  readonly message: ClusterLoadAssignment;
  /** Can be iterated once. */
  readonly localities: Iterable<LocalityPiece>;
  /** The malformed pieces of the localities iterated so far. */
  readonly malformed: Violations;
}

/** Returns the pieces of an assignment that has been decoded as a whole. */
export function piecesOf(message: ClusterLoadAssignment): AssignmentPieces {
  const localities = message.endpoints.map((locality) => ({
    message: locality,
    endpoints: locality.lbEndpoints,
  }));
  return { message, localities, malformed: Violations.root() };
}

/**
 * Returns the pieces of an encoded assignment, each decoded when it is iterated. The iteration ends at the first piece that is
 * malformed.
 *
 * @returns `undefined` after adding a violation.
 */
export function decodeAssignment(
  bytes: Uint8Array,
  violations: Violations,
): AssignmentPieces | undefined {
  const pieces = decodePieces(ClusterLoadAssignment, bytes, LOCALITIES, violations);
  if (pieces === undefined) return undefined;
  const malformed = Violations.root(violations.budget);
  const localities = decodeLocalities(bytes, pieces.bounds, malformed);
  return { message: pieces.message, localities, malformed };
}

function* decodeLocalities(
  bytes: Uint8Array,
  bounds: readonly number[],
  malformed: Violations,
): IterableIterator<LocalityPiece> {
  for (let i = 0; i < bounds.length; i += 2) {
    const slice = bytes.subarray(bounds[i], bounds[i + 1]);
    malformed.budget.renew();
    const inner = decodePieces(LocalityLbEndpoints, slice, LB_ENDPOINTS, malformed);
    if (inner === undefined) return;
    const endpoints = decodeEach(LbEndpoint, slice, inner.bounds, malformed);
    yield { message: inner.message, endpoints };
    if (malformed.count > 0) return;
  }
}
