import { MAX_MAGLEV_TABLE_SIZE } from '../../util/limits';
import type { Weigher } from '../endpoints/endpoint-weights';
import type { LbPolicyType } from '../lb-policy';
import {
  hashPolicyFactory,
  type HashPolicyKind,
  type RingHashPolicyOptions,
} from '../ring-hash/balancer';
import { MAGLEV, maglevConverter, parseMaglevConfig } from './config';
import { MaglevTable } from './table';

/** Returns shares as doubles, like Envoy: a rounding difference moves entries. */
const shareWeigher: Weigher = ({ locality, weight: localityWeight }, sums) => {
  const localityShare = localityWeight / sums.localities;
  const sum = sums.endpoints.get(locality) ?? 1;
  return (weight) => (weight * localityShare) / sum;
};

/** The parts of the policy that are its own. */
export const maglevKind: HashPolicyKind = {
  name: 'maglev',
  sizeName: 'tableSize',
  empty: MaglevTable.empty,
  weigher: shareWeigher,
};

/** Creates the policy that does the same as ring_hash with the table of Maglev in place of a ring. */
export function createMaglevPolicyType(options: RingHashPolicyOptions): LbPolicyType {
  const limits = { maxRingSize: MAX_MAGLEV_TABLE_SIZE };
  return {
    name: MAGLEV,
    connectsOnDemand: true,
    parseConfig: parseMaglevConfig,
    converter: maglevConverter,
    create: hashPolicyFactory({ ...options, limits }, maglevKind),
  };
}
