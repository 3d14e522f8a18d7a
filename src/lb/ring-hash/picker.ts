import {
  ConnectivityState,
  PickResultType,
  Status,
  UnavailablePicker,
  type PickArgs,
  type PickResult,
} from '../../grpc-js';
import type { Random } from '../../util/random';
import type { XxHash64 } from '../../util/hashes';
import { callAttributes } from '../call-attributes';
import { createFailurePicker, createWait, type DescribedPicker } from '../connectivity';
import type { RingConnections } from './connections';

export interface RingHashPickerOptions {
  /** The name of the policy in texts. */
  readonly policy: string;
  readonly connections: RingConnections;
  /** The header to hash; empty if the hash of the route is used. */
  readonly requestHashHeader: string;
  /** Shared by the pickers of a policy. */
  readonly hashes: HeaderHashes;
  readonly random: Random;
  /** Returns the error of a failed pick. @param failed The endpoint of the call. */
  readonly describeFailure: (failed: number) => string;
  /** Returns why calls are queued, as a sentence. @param awaited The endpoint of one call. Default: any. */
  readonly describeWait: (awaited?: number) => string;
}

/** Picks the endpoint on the ring that follows the hash of the call (gRFCs A42, A61, A76). */
export class RingHashPicker implements DescribedPicker {
  /** Picks by the hash of the header, if the call has it (gRFC A76). One function, so that picks allocate none. */
  private readonly pickByHeader = (hash: bigint | undefined, args: PickArgs): PickResult =>
    hash === undefined ? this.pickAny(args) : this.pickByHash(hash, args);

  constructor(private readonly options: RingHashPickerOptions) {}

  describeWait(): string {
    return this.options.describeWait();
  }

  pick(args: PickArgs): PickResult {
    const { requestHashHeader, hashes } = this.options;
    if (requestHashHeader !== '') return hashes.pick(requestHashHeader, args, this.pickByHeader);
    // The hash of the route (gRFC A42).
    const hash = callAttributes(args)?.requestHash?.();
    return hash === undefined ? this.failWithoutHash(args) : this.pickByHash(hash, args);
  }

  private failWithoutHash(args: PickArgs): PickResult {
    const { policy } = this.options;
    const details = `${policy}: the request has no hash: the config has no requestHashHeader, and the channel has no xds target`;
    return new UnavailablePicker({ code: Status.INTERNAL, details }).pick(args);
  }

  /** Picks the endpoint that follows the hash, or the next one that has not failed. Connects to it if it is IDLE. */
  private pickByHash(hash: bigint, args: PickArgs): PickResult {
    const { IDLE, READY, TRANSIENT_FAILURE } = ConnectivityState;
    const { connections } = this.options;
    const { ring } = connections;
    const start = ring.find(hash);
    const hasUsable = connections.count(TRANSIENT_FAILURE) < ring.memberCount;
    for (let i = 0; hasUsable && i < ring.size; i++) {
      const member = ring.memberAt(start + i);
      const state = connections.stateOf(member);
      if (state === TRANSIENT_FAILURE) continue;
      if (state === READY) return this.pickMember(member, args);
      if (state === IDLE) connections.request(member);
      return this.queue(member);
    }
    return this.fail(start, args);
  }

  /**
   * Picks the first endpoint that is READY, from a random position on. If an IDLE one is before it and no endpoint is
   * connecting, that one is connected, so that in time all are (gRFC A76).
   */
  private pickAny(args: PickArgs): PickResult {
    const { IDLE, READY } = ConnectivityState;
    const { connections, random } = this.options;
    const { ring } = connections;
    const start = ring.findRandom(random);
    const hasReady = connections.count(READY) > 0;
    const hasIdle = connections.count(IDLE) > 0;
    let { isConnecting } = connections;
    for (let i = 0; i < ring.size && (hasReady || (hasIdle && !isConnecting)); i++) {
      const member = ring.memberAt(start + i);
      const state = connections.stateOf(member);
      if (state === READY) return this.pickMember(member, args);
      if (state !== IDLE || isConnecting) continue;
      connections.request(member);
      isConnecting = true;
    }
    return isConnecting ? this.queue() : this.fail(start, args);
  }

  private pickMember(member: number, args: PickArgs): PickResult {
    return this.options.connections.get(member)?.leaf.picker.pick(args) ?? this.queue();
  }

  /** @param awaited The endpoint that the call belongs to; absent if it may go to any. */
  private queue(awaited?: number): PickResult {
    this.options.connections.hasQueued = true;
    return createWait(() => this.options.describeWait(awaited));
  }

  private fail(start: number, args: PickArgs): PickResult {
    const { connections, describeFailure } = this.options;
    const member = connections.ring.memberAt(start);
    if (member < 0) return this.queue();
    // A call that waits for ready is queued.
    connections.hasQueued = true;
    return createFailurePicker(describeFailure(member)).pick(args);
  }
}

/** The hash of one call. */
interface KnownHash {
  readonly header: string;
  /** `undefined` if the call lacks the header. */
  readonly hash: bigint | undefined;
}

/**
 * Hashes calls by a header (gRFC A76). A call that waits is picked with every new picker, whose number the control plane and
 * the endpoints determine: its header, which can be long, is hashed once. A call that is picked at once leaves nothing behind.
 */
export class HeaderHashes {
  /** The hashes of the calls that wait: grpc-js passes the same metadata to each pick of an attempt. Created for the first. */
  private waiting: WeakMap<PickArgs['metadata'], KnownHash> | undefined;

  constructor(private readonly engine: Pick<XxHash64, 'hash'>) {}

  /**
   * Picks by the hash of a call.
   * @param pick Receives the hash; `undefined` if the call lacks the header.
   */
  pick(
    header: string,
    args: PickArgs,
    pick: (hash: bigint | undefined, args: PickArgs) => PickResult,
  ): PickResult {
    const { metadata } = args;
    const known = this.waiting?.get(metadata);
    if (known?.header === header) return pick(known.hash, args);
    const value = metadata.get(header).join(',');
    const hash = value === '' ? undefined : this.engine.hash(value);
    const result = pick(hash, args);
    if (result.pickResultType !== PickResultType.COMPLETE) {
      (this.waiting ??= new WeakMap()).set(metadata, { header, hash });
    }
    return result;
  }
}
