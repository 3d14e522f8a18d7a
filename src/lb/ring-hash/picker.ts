import { ConnectivityState, Status, UnavailablePicker } from '../../grpc-js';
import type { PickArgs, Picker, PickResult } from '../../grpc-js';
import type { Random } from '../../util/random';
import { callAttributes } from '../call-attributes';
import { createFailurePicker, WaitPicker, type DescribedPicker } from '../connectivity';
import type { HeaderHashes } from './header-hashes';
import type { LiveRing } from './live-ring';
import type { RingConnections } from './ring-connections';

export interface RingHashPickerOptions {
  readonly live: LiveRing;
  /** The header to hash; empty if the hash of the route is used. */
  readonly requestHashHeader: string;
  /** Shared by the pickers of a policy. */
  readonly hashes: HeaderHashes;
  readonly random: Random;
  readonly connections: Pick<RingConnections, 'request' | 'isPending' | 'leafOf'>;
  /** Returns the error of a failed pick. @param failed The slot of the endpoint of the call. */
  readonly describeFailure: (failed: number) => string;
  /** Returns why calls are queued, as a sentence. */
  readonly describeWait: () => string;
}

const HALF_HASH_RANGE = 2 ** 32;
const NONE = -1;

const missingHash: Picker = new UnavailablePicker({
  code: Status.INTERNAL,
  details:
    'ring_hash: the request has no hash: the config has no requestHashHeader, and the channel has no xds target',
});

/** Picks the endpoint on the ring that follows the hash of the call (gRFCs A42, A61, A76). */
export class RingHashPicker implements DescribedPicker {
  private readonly waiting: WaitPicker;
  /** Picks by the hash of the header, if the call has it (gRFC A76). One function, so that picks allocate none. */
  private readonly pickByHeader = (hash: bigint | undefined, args: PickArgs): PickResult =>
    hash === undefined
      ? this.pickAny(args)
      : this.pickFrom(this.options.live.ring.find(hash), args);

  constructor(private readonly options: RingHashPickerOptions) {
    this.waiting = new WaitPicker(options.describeWait);
  }

  describeWait(): string {
    return this.options.describeWait();
  }

  pick(args: PickArgs): PickResult {
    const { requestHashHeader, hashes } = this.options;
    if (requestHashHeader === '') return this.pickByRoute(args);
    return hashes.pick(requestHashHeader, args, this.pickByHeader);
  }

  /** Picks by the hash of the route (gRFC A42). */
  private pickByRoute(args: PickArgs): PickResult {
    const hash = callAttributes(args)?.requestHash?.();
    if (hash === undefined) return missingHash.pick(args);
    return this.pickFrom(this.options.live.ring.find(hash), args);
  }

  /** Picks the endpoint at a position, or the next one that has not failed. Connects to it if it is IDLE. */
  private pickFrom(start: number, args: PickArgs): PickResult {
    const { connections, live } = this.options;
    const { owners, size } = live.ring;
    const { IDLE, READY, TRANSIENT_FAILURE } = ConnectivityState;
    for (let i = 0; i < size; i++) {
      const position = start + i < size ? start + i : start + i - size;
      const state = live.stateAt(position);
      if (state === TRANSIENT_FAILURE) continue;
      const owner = owners[position] ?? 0;
      if (state === READY) return this.pickOwner(owner, args);
      if (state === IDLE) connections.request(owner);
      return this.queue();
    }
    return this.fail(start, args);
  }

  /**
   * Picks the first endpoint that is READY, from a random position on. If an IDLE one is before it and no endpoint is
   * connecting, that one is connected, so that in time all are (gRFC A76).
   */
  private pickAny(args: PickArgs): PickResult {
    const { connections, live, random } = this.options;
    const { CONNECTING, IDLE, READY } = ConnectivityState;
    const { ring } = live;
    const high = Math.floor((random() - 0.5) * HALF_HASH_RANGE);
    const start = ring.findSplit({ high, low: 0 });
    const ready = live.findState(READY, start);
    if (ready === start) return this.pickOwner(ring.owners[ready], args);
    let isConnecting = connections.isPending || live.count(CONNECTING) > 0;
    const idle = isConnecting ? NONE : live.findState(IDLE, start);
    if (idle !== NONE && (ready === NONE || this.isBefore(idle, ready, start))) {
      const owner = ring.owners[idle];
      if (owner !== undefined) connections.request(owner);
      isConnecting = true;
    }
    if (ready !== NONE) return this.pickOwner(ring.owners[ready], args);
    return isConnecting ? this.queue() : this.fail(start, args);
  }

  /** Whether one position is before another, cyclically from `start`. */
  private isBefore(position: number, other: number, start: number): boolean {
    const { size } = this.options.live.ring;
    return (position - start + size) % size < (other - start + size) % size;
  }

  private pickOwner(owner: number | undefined, args: PickArgs): PickResult {
    const leaf = owner === undefined ? undefined : this.options.connections.leafOf(owner);
    return leaf?.picker.pick(args) ?? this.queue();
  }

  private queue(): PickResult {
    this.options.live.hasQueued = true;
    return this.waiting.pick();
  }

  private fail(start: number, args: PickArgs): PickResult {
    const { describeFailure, live } = this.options;
    // A call that waits for ready is queued.
    live.hasQueued = true;
    const owner = live.ring.owners[start];
    return owner === undefined
      ? this.queue()
      : createFailurePicker(describeFailure(owner)).pick(args);
  }
}
