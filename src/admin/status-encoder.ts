import { ClientConfig } from '../generated/envoy/service/status/v3/csds';
import type { Clock } from '../util/clock';
import { createHandle, type Handle } from '../util/handle';
import {
  describeClient,
  describeResource,
  type DescriptionOptions,
  type ObservedClient,
} from './client-config';

/** Takes a snapshot of every client of the process. */
export type ObserveClients = () => readonly ObservedClient[];

/** Receives an encoded `ClientStatusResponse`. */
type StatusCallback = (response: Buffer) => void;

/** One encoding in progress. */
interface Job {
  readonly callbacks: Set<StatusCallback>;
  readonly slices: Iterator<void, Buffer>;
}

/** Resources that are encoded before other work of the process gets a turn. */
const SLICE_RESOURCES = 256;
/** Bytes of resources that are encoded before other work of the process gets a turn. */
const SLICE_BYTES = 1024 * 1024;

/** `ClientStatusResponse.config`: field 1, length-delimited. */
const CONFIG_TAG = 0x0a;

/**
 * Encodes CSDS responses (gRFC A40) at a bounded cost: in slices between which the process does other work, and one
 * response at a time. Requests that arrive during an encoding wait, and share the next one. Every response is
 * encoded from a snapshot that is taken after the request arrived.
 */
export class StatusEncoder {
  private job: Job | undefined;
  /** Callbacks that wait for the next encoding, by whether it excludes the contents of resources. */
  private readonly waiting = new Map<boolean, Set<StatusCallback>>();

  constructor(
    private readonly observe: ObserveClients,
    private readonly clock: Clock,
  ) {}

  /** Encodes a response. @returns a handle that cancels the request without calling back. */
  encode({ excludeContents }: DescriptionOptions, callback: StatusCallback): Handle {
    const callbacks = this.waiting.get(excludeContents) ?? new Set();
    // The same function may be passed for two requests.
    const request: StatusCallback = (response) => callback(response);
    callbacks.add(request);
    this.waiting.set(excludeContents, callbacks);
    this.startNext();
    return createHandle(() => callbacks.delete(request));
  }

  private startNext(): void {
    if (this.job !== undefined) return;
    for (const [excludeContents, callbacks] of this.waiting) {
      this.waiting.delete(excludeContents);
      if (callbacks.size === 0) continue;
      const slices = encodeStatus(this.observe(), { excludeContents });
      this.job = { callbacks, slices };
      this.continue(this.job);
      return;
    }
  }

  private continue(job: Job): void {
    const step = job.callbacks.size > 0 ? job.slices.next() : undefined;
    if (step?.done === false) {
      this.clock.setTimer(() => this.continue(job), 0);
      return;
    }
    this.job = undefined;
    if (step?.value !== undefined) for (const callback of job.callbacks) callback(step.value);
    this.startNext();
  }
}

/** Encodes a `ClientStatusResponse`, and yields after each slice. */
function* encodeStatus(
  clients: readonly ObservedClient[],
  options: DescriptionOptions,
): Generator<void, Buffer> {
  const chunks: Uint8Array[] = [];
  for (const client of clients) {
    const parts: Uint8Array[] = [ClientConfig.encode(describeClient(client)).finish()];
    yield* encodeResources(client, options, parts);
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    chunks.push(Buffer.from([CONFIG_TAG, ...varint(length)]));
    for (const part of parts) chunks.push(part);
  }
  return Buffer.concat(chunks);
}

/**
 * Encodes the resources of one client. Each part is a `ClientConfig` with some of them: concatenated messages are
 * the message with the elements of all (https://protobuf.dev/programming-guides/encoding/#last-one-wins).
 */
function* encodeResources(
  { snapshot: { resources } }: ObservedClient,
  options: DescriptionOptions,
  parts: Uint8Array[],
): Generator<void, void> {
  let slice: ClientConfig = ClientConfig.create();
  let bytes = 0;
  for (const resource of resources) {
    slice.genericXdsConfigs.push(describeResource(resource, options));
    const { accepted, failure } = resource;
    bytes += (accepted?.bytes.length ?? 0) + (failure?.rejected?.length ?? 0);
    if (slice.genericXdsConfigs.length < SLICE_RESOURCES && bytes < SLICE_BYTES) continue;
    parts.push(ClientConfig.encode(slice).finish());
    slice = ClientConfig.create();
    bytes = 0;
    yield;
  }
  parts.push(ClientConfig.encode(slice).finish());
}

/** The bytes of a base 128 varint. */
function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  bytes.push(rest);
  return bytes;
}
