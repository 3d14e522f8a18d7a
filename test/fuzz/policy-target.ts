import type { XxHash64 } from '../../src/util/hashes';
import type { Random } from '../../src/util/random';
import { PolicySamples } from './policy-samples';
import { PolicyWorld } from './policy-world';
import type { FuzzTarget } from './targets';

/**
 * What may happen to a tree of any policies: configs, endpoints, connections that come and go, calls, time. A call is sent
 * to a connected endpoint of the configuration or fails with a reason, it does not wait for ever, and nothing is left of
 * a tree that is destroyed.
 */
export function createPolicyTarget(random: Random, hash: XxHash64): FuzzTarget {
  const samples = new PolicySamples(random);
  return {
    name: 'load-balancing policies',
    share: 2,
    maxMsPerKiB: 40,
    make: () => samples.make(),
    async run(input) {
      const text = Buffer.from(input).toString();
      const [kind, ...steps] = text.split('\n');
      // The pick_first of grpc-js stays at an address that is gone until it has a connection to another one.
      const isStrict = kind === 'steady' && !text.includes('pick_first');
      const world = new PolicyWorld(hash, isStrict);
      for (const [index, step] of steps.entries()) {
        const problem = await world.step(step);
        if (problem !== undefined) return `after step ${index}: ${problem}`;
      }
      return (await world.checkProgress()) ?? (await world.finish());
    },
  };
}
