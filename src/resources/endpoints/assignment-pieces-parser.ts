import { ClusterLoadAssignment } from '../../wire/generated/envoy/config/endpoint/v3/endpoint';
import {
  LbEndpoint,
  LocalityLbEndpoints,
} from '../../wire/generated/envoy/config/endpoint/v3/endpoint_components';
import { splitMessage } from '../../wire/protobuf/encoded-elements';
import { asBuffer } from '../../util/bytes';
import type { Steps } from '../../util/steps';
import { Violations } from '../../util/violations';
import { decodeEach, decodePieces, type PieceField } from '../shared/any';
import { sliceMessage, toSlices, type SlicedMessage } from '../encoded/sliced-message';

/** The field of the localities of an assignment. */
export const LOCALITIES: PieceField = { number: 2, name: 'endpoints' };
/** The field of the endpoints of a locality. */
export const LB_ENDPOINTS: PieceField = { number: 2, name: 'lb_endpoints' };

/** Small operations that a locality takes besides its endpoints: as many as four of them. */
const LOCALITY_SIZE = 16;

/** A locality of an assignment. */
export interface LocalityPiece {
  /** May lack its endpoints. */
  readonly message: LocalityLbEndpoints;
  /** Can be iterated once. */
  readonly endpoints: Iterable<LbEndpoint>;
}

/** An assignment whose localities are read one after the other. */
export interface AssignmentPieces {
  /** May lack its localities. */
  readonly message: ClusterLoadAssignment;
  readonly localityCount: number;
  /** Returns how many small operations a locality takes, about. */
  sizeOf(index: number): number;
  /** The malformed pieces of the localities read so far. */
  readonly malformed: Violations;
  /** Reads a locality, in steps. Called in order, once for each. @returns `undefined` if it is malformed. */
  readLocality(index: number): Steps<LocalityPiece | undefined>;
  /** Returns the encoded endpoints of a locality that was read; `undefined` where other fields are between them. */
  slicesOf(index: number): SlicedMessage | undefined;
}

/** An assignment that has been decoded as a whole. */
class WholeAssignment implements AssignmentPieces {
  readonly malformed = Violations.root();
  /** Where the localities are in the bytes, once that is needed. */
  private bounds: readonly number[] | undefined;

  constructor(
    readonly message: ClusterLoadAssignment,
    private readonly bytes: Buffer,
  ) {}

  get localityCount(): number {
    return this.message.endpoints.length;
  }

  sizeOf(): number {
    return LOCALITY_SIZE;
  }

  // eslint-disable-next-line require-yield -- all is decoded
  *readLocality(index: number): Steps<LocalityPiece | undefined> {
    const message = this.message.endpoints[index];
    return message && { message, endpoints: message.lbEndpoints };
  }

  slicesOf(index: number): SlicedMessage | undefined {
    this.bounds ??= splitMessage(this.bytes, LOCALITIES.number).bounds;
    const slice = this.bytes.subarray(this.bounds[2 * index], this.bounds[2 * index + 1]);
    return sliceMessage(slice, LB_ENDPOINTS.number);
  }
}

/** An assignment of which each piece is decoded when it is read. */
class EncodedAssignment implements AssignmentPieces {
  readonly malformed: Violations;
  private readonly slices: (SlicedMessage | undefined)[] = [];

  /** @param bounds Where the localities are in the bytes. */
  constructor(
    readonly message: ClusterLoadAssignment,
    private readonly bytes: Buffer,
    private readonly bounds: readonly number[],
    violations: Violations,
  ) {
    this.malformed = Violations.root(violations.budget);
  }

  get localityCount(): number {
    return this.bounds.length / 2;
  }

  sizeOf(index: number): number {
    const { bounds } = this;
    return LOCALITY_SIZE + ((bounds[2 * index + 1] ?? 0) - (bounds[2 * index] ?? 0)) / 8;
  }

  *readLocality(index: number): Steps<LocalityPiece | undefined> {
    const { bounds, bytes, malformed } = this;
    const slice = bytes.subarray(bounds[2 * index], bounds[2 * index + 1]);
    malformed.budget.renew();
    const inner = yield* decodePieces(LocalityLbEndpoints, slice, LB_ENDPOINTS, malformed);
    if (inner === undefined) return undefined;
    this.slices[index] = toSlices(slice, inner);
    const endpoints = decodeEach(LbEndpoint, slice, inner.bounds, malformed);
    return { message: inner.message, endpoints };
  }

  slicesOf(index: number): SlicedMessage | undefined {
    return this.slices[index];
  }
}

/** Returns the pieces of an assignment that has been decoded as a whole. */
export function piecesOf(message: ClusterLoadAssignment, bytes: Uint8Array): AssignmentPieces {
  return new WholeAssignment(message, asBuffer(bytes));
}

/**
 * Returns the pieces of an encoded assignment, each decoded when it is read. They end at the first one that is malformed.
 *
 * @returns `undefined` after adding a violation.
 */
export function* decodeAssignment(
  bytes: Uint8Array,
  violations: Violations,
): Steps<AssignmentPieces | undefined> {
  const pieces = yield* decodePieces(ClusterLoadAssignment, bytes, LOCALITIES, violations);
  if (pieces === undefined) return undefined;
  return new EncodedAssignment(pieces.message, asBuffer(bytes), pieces.bounds, violations);
}
