import type { EndpointSet } from '../../../src/lb/endpoints/endpoint-set';
import { endpointKey } from '../../../src/lb/endpoints/endpoint-key';
import type { RingLimits } from '../../../src/lb/ring-hash/counts';
import {
  RingMembers,
  type Entry,
  type Member,
  type RingMembersOptions,
} from '../../../src/lb/ring-hash/members';
import { combinedWeigher } from '../../../src/lb/endpoints/endpoint-weights';
import { Ring } from '../../../src/lb/ring-hash/ring';
import type { XdsEndpoint } from '../../../src/resources/endpoints/endpoints';
import { runSteps } from '../../../src/util/steps';
import type { XxHash64 } from '../../../src/util/hashes';

/** A ring with its members, updated at once. */
export class BuiltRing {
  readonly members: RingMembers;
  ring = Ring.empty;

  constructor(
    private readonly hash: Pick<XxHash64, 'hash'>,
    options: Partial<RingMembersOptions> = {},
  ) {
    this.members = new RingMembers({ usesHashKeys: true, weigher: combinedWeigher, ...options });
  }

  /** Applies a set of endpoints. @returns The members with another endpoint object. */
  update(set: EndpointSet, limits: RingLimits): readonly Member[] {
    const listing = this.members.beginUpdate(set);
    while (this.members.listSome(listing));
    const rebound = this.members.endUpdate(listing);
    this.ring = runSteps(this.ring.update(this.members, limits, this.hash));
    return rebound;
  }

  /** The entries, in order. */
  get entries(): readonly Entry[] {
    return Array.from({ length: this.ring.size }, (_, position) => {
      const entry = this.ring.at(position);
      if (entry === undefined) throw new Error(`A ring has no entry at ${position}`);
      return entry;
    });
  }

  /** The hashes of all entries, in order. */
  get hashes(): readonly bigint[] {
    const unsigned = (half: number) => BigInt(half + 2 ** 31);
    return this.entries.map(({ high, low }) => (unsigned(high) << 32n) | unsigned(low));
  }

  /** The endpoint of each entry, in order. */
  get endpoints(): readonly XdsEndpoint[] {
    return this.entries.map(({ member }) => member.endpoint);
  }

  /** The identity of the endpoint of each entry, in order. */
  get keys(): readonly string[] {
    return this.endpoints.map(endpointKey);
  }
}
