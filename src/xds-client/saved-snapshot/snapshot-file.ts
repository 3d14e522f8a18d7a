import { createHash } from 'node:crypto';
import {
  DiscoveryResponse,
  Resource,
} from '../../wire/generated/envoy/service/discovery/v3/discovery';
import { Any } from '../../wire/generated/google/protobuf/any';
import { errorMessage } from '../../util/error-message';
import { FieldScanner } from '../../wire/protobuf/field-scanner';
import { MESSAGE_LIMIT, ReadBudget, type ReadLimit } from '../../util/read-budget';
import { err, ok, type Result } from '../../util/result';
import { runSteps, STEP_SIZE, type Steps } from '../../util/steps';

/** One resource as it was accepted. */
export interface SavedResource {
  readonly typeUrl: string;
  readonly name: string;
  readonly version: string;
  readonly bytes: Uint8Array;
}

/** The content of a file of saved resources. */
export interface SavedSnapshot {
  /** Identifies the node and the servers that sent them. */
  readonly identity: string;
  /** Milliseconds since the epoch. */
  readonly savedAtMs: number;
  readonly resources: readonly SavedResource[];
}

/** A larger file is neither written nor read. */
export const MAX_SNAPSHOT_BYTES = 256 * 1024 * 1024;

/** Resources of a file, of any size. */
export const MAX_SAVED_RESOURCES = 250_000;

/** Of a file as a whole, without those of its resources. */
const FILE_LIMIT: ReadLimit = { maxFields: MAX_SAVED_RESOURCES + 10, scope: 'file' };

/** The number of `DiscoveryResponse.resources`. */
const RESOURCES = 2;

/** Bytes of the first line, which is shorter. */
const MAX_HEADER_BYTES = 1024;

// Changes with every change of the format that older versions would misread.
const FORMAT = 'grpc-xds-snapshot/1';
const WRAPPER_URL = 'type.googleapis.com/envoy.service.discovery.v3.Resource';

/**
 * Encodes a file: a line of text with the format, the identity, the time and a digest of the rest, and a
 * `DiscoveryResponse` with every resource in a `Resource` wrapper.
 */
export function encodeSnapshot({ identity, savedAtMs, resources }: SavedSnapshot): Buffer {
  const payload = DiscoveryResponse.encode({
    ...DiscoveryResponse.fromPartial({}),
    resources: resources.map(wrap),
  }).finish();
  const header = [FORMAT, identity, new Date(savedAtMs).toISOString(), digestOf(payload)].join(' ');
  return Buffer.concat([Buffer.from(`${header}\n`), payload]);
}

/**
 * Decodes a file at once.
 * @param identity The one that the file must have.
 * @returns the snapshot, or why it must not be used.
 */
export function decodeSnapshot(content: Buffer, identity: string): Result<SavedSnapshot, string> {
  return runSteps(decodeSnapshotInSteps(content, identity));
}

/** Does the same as `decodeSnapshot` in steps. */
export function* decodeSnapshotInSteps(
  content: Buffer,
  identity: string,
): Steps<Result<SavedSnapshot, string>> {
  const end = content.subarray(0, MAX_HEADER_BYTES).indexOf('\n');
  const header = content.toString('latin1', 0, Math.max(0, end));
  const [format, savedFor, savedAt = '', digest] = header.split(' ');
  if (end < 0 || format !== FORMAT) return err(`is not a snapshot of the form ${FORMAT}`);
  if (savedFor !== identity) return err('was saved for another node or other servers');
  const payload = content.subarray(end + 1);
  const savedAtMs = Date.parse(savedAt);
  const hash = createHash('sha256');
  for (let start = 0; start < payload.length; start += HASH_BYTES) {
    hash.update(payload.subarray(start, start + HASH_BYTES));
    yield;
  }
  if (hash.digest('hex') !== digest || Number.isNaN(savedAtMs)) return err('is damaged');
  try {
    const resources: SavedResource[] = [];
    // The response is not decoded as a whole, which would take one step.
    const scanner = new FieldScanner(payload, new ReadBudget(FILE_LIMIT));
    while (scanner.next()) {
      if (scanner.count % STEP_SIZE === 0) yield;
      if (!scanner.isDelimited(RESOURCES)) continue;
      if (resources.length === MAX_SAVED_RESOURCES) {
        return err(`has more than ${MAX_SAVED_RESOURCES} resources`);
      }
      resources.push(unwrap(payload.subarray(scanner.start, scanner.end)));
    }
    return ok({ identity, savedAtMs, resources });
  } catch (error) {
    return err(`is damaged: ${errorMessage(error)}`);
  }
}

/** Bytes that are hashed in one step. */
const HASH_BYTES = 2 ** 17;

function wrap({ typeUrl, name, version, bytes }: SavedResource): Any {
  const wrapped = Resource.fromPartial({ name, version, resource: { typeUrl, value: bytes } });
  return { typeUrl: WRAPPER_URL, value: Resource.encode(wrapped).finish() };
}

function unwrap(bytes: Uint8Array): SavedResource {
  const budget = new ReadBudget(MESSAGE_LIMIT);
  const { value } = Any.decode(bytes, undefined, budget);
  const { name, version, resource } = Resource.decode(value, undefined, budget);
  if (resource === undefined) throw new Error('a wrapper contains no resource');
  return { typeUrl: resource.typeUrl, name, version, bytes: resource.value };
}

function digestOf(payload: Uint8Array): string {
  return createHash('sha256').update(payload).digest('hex');
}
