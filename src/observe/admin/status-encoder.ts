import { ClientConfig } from '../../wire/generated/envoy/service/status/v3/csds';
import type { Steps } from '../../util/steps';
import {
  describeClient,
  describeResource,
  type DescriptionOptions,
  type ObservedClient,
} from './client-config';

/** Resources that are encoded in one step. */
const STEP_RESOURCES = 64;
/** Bytes of resources that are encoded in one step. */
const STEP_BYTES = 256 * 1024;

/** `ClientStatusResponse.config`: field 1, length-delimited. */
const CONFIG_TAG = 0x0a;

/**
 * Encodes a `ClientStatusResponse` (gRFC A40). Resources are copied from the clients as they are reached, so that there
 * are never objects for all of them; parts are released as they are put together.
 */
export function* encodeStatus(
  clients: readonly ObservedClient[],
  options: DescriptionOptions,
): Steps<Buffer> {
  const parts: Uint8Array[] = [];
  for (const client of clients) {
    const own: Uint8Array[] = [ClientConfig.encode(describeClient(client)).finish()];
    yield* encodeResources(client, options, own);
    parts.push(Buffer.from([CONFIG_TAG, ...varint(totalLength(own))]));
    for (const part of own) parts.push(part);
  }
  return yield* concatenate(parts);
}

/**
 * Encodes the resources of one client. Each part is a `ClientConfig` with some of them: concatenated messages are
 * the message with the elements of all (https://protobuf.dev/programming-guides/encoding/#last-one-wins).
 */
function* encodeResources(
  { resources }: ObservedClient,
  options: DescriptionOptions,
  parts: Uint8Array[],
): Steps<void> {
  let slice: ClientConfig = ClientConfig.create();
  let bytes = 0;
  for (const resource of resources) {
    slice.genericXdsConfigs.push(describeResource(resource, options));
    const { accepted, failure } = resource;
    bytes += (accepted?.bytes.length ?? 0) + (failure?.rejected?.length ?? 0);
    if (slice.genericXdsConfigs.length < STEP_RESOURCES && bytes < STEP_BYTES) continue;
    parts.push(ClientConfig.encode(slice).finish());
    slice = ClientConfig.create();
    bytes = 0;
    yield;
  }
  parts.push(ClientConfig.encode(slice).finish());
}

/** Puts the parts together and removes each from the list once it is copied. */
function* concatenate(parts: Uint8Array[]): Steps<Buffer> {
  const whole = Buffer.allocUnsafeSlow(totalLength(parts));
  let offset = 0;
  for (let part = parts.shift(); part !== undefined; part = parts.shift()) {
    whole.set(part, offset);
    offset += part.length;
    if (part.length >= STEP_BYTES / 16) yield;
  }
  return whole;
}

function totalLength(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, part) => sum + part.length, 0);
}

/** The bytes of a base 128 varint. */
function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  bytes.push(rest);
  return bytes;
}
