import { ClusterLoadAssignment } from '../../generated/envoy/config/endpoint/v3/endpoint';
import {
  LbEndpoint,
  LocalityLbEndpoints,
} from '../../generated/envoy/config/endpoint/v3/endpoint_components';
import { Violations } from '../../util/violations';
import { decodeMessage } from '../shared/any';
import { splitMessage, type SplitMessage } from '../wire/sliced-message';

/** The field of the localities of an assignment. */
export const LOCALITIES_FIELD = 2;
/** The field of the endpoints of a locality. */
export const LB_ENDPOINTS_FIELD = 2;

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
export function decodePieces(
  bytes: Uint8Array,
  violations: Violations,
): AssignmentPieces | undefined {
  const split = splitMessage(bytes, LOCALITIES_FIELD);
  // Decoding reports why bytes cannot be split.
  const message = decodeMessage(ClusterLoadAssignment, split?.rest ?? bytes, violations);
  if (split === undefined || message === undefined) return undefined;
  const malformed = Violations.root();
  return { message, localities: decodeLocalities(bytes, split, malformed), malformed };
}

function* decodeLocalities(
  bytes: Uint8Array,
  split: SplitMessage,
  malformed: Violations,
): IterableIterator<LocalityPiece> {
  for (const slice of elementsOf(bytes, split)) {
    const inner = splitMessage(slice, LB_ENDPOINTS_FIELD);
    const message = decodeMessage(LocalityLbEndpoints, inner?.rest ?? slice, malformed);
    if (inner === undefined || message === undefined) return;
    yield { message, endpoints: decodeEndpoints(slice, inner, malformed) };
    if (malformed.count > 0) return;
  }
}

function* decodeEndpoints(
  bytes: Uint8Array,
  split: SplitMessage,
  malformed: Violations,
): IterableIterator<LbEndpoint> {
  for (const slice of elementsOf(bytes, split)) {
    const message = decodeMessage(LbEndpoint, slice, malformed);
    if (message === undefined) return;
    yield message;
  }
}

function* elementsOf(bytes: Uint8Array, { offsets }: SplitMessage): IterableIterator<Uint8Array> {
  for (let i = 0; i < offsets.length; i += 2) yield bytes.subarray(offsets[i], offsets[i + 1]);
}
