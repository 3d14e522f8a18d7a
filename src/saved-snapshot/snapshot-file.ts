import { createHash } from 'node:crypto';
import { DiscoveryResponse, Resource } from '../generated/envoy/service/discovery/v3/discovery';
import type { Any } from '../generated/google/protobuf/any';
import { errorMessage } from '../util/error-message';
import { err, ok, type Result } from '../util/result';

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
 * Decodes a file.
 * @param identity The one that the file must have.
 * @returns the snapshot, or why it must not be used.
 */
export function decodeSnapshot(content: Buffer, identity: string): Result<SavedSnapshot, string> {
  const end = content.indexOf('\n');
  const [format, savedFor, savedAt = '', digest] = content.toString('latin1', 0, end).split(' ');
  if (end < 0 || format !== FORMAT) return err(`is not a snapshot of the form ${FORMAT}`);
  if (savedFor !== identity) return err('was saved for another node or other servers');
  const payload = content.subarray(end + 1);
  const savedAtMs = Date.parse(savedAt);
  if (digestOf(payload) !== digest || Number.isNaN(savedAtMs)) return err('is damaged');
  try {
    const resources = DiscoveryResponse.decode(payload).resources.map(unwrap);
    return ok({ identity, savedAtMs, resources });
  } catch (error) {
    return err(`is damaged: ${errorMessage(error)}`);
  }
}

function wrap({ typeUrl, name, version, bytes }: SavedResource): Any {
  const wrapped = Resource.fromPartial({ name, version, resource: { typeUrl, value: bytes } });
  return { typeUrl: WRAPPER_URL, value: Resource.encode(wrapped).finish() };
}

function unwrap({ value }: Any): SavedResource {
  const { name, version, resource } = Resource.decode(value);
  if (resource === undefined) throw new Error('a wrapper contains no resource');
  return { typeUrl: resource.typeUrl, name, version, bytes: resource.value };
}

function digestOf(payload: Uint8Array): string {
  return createHash('sha256').update(payload).digest('hex');
}
