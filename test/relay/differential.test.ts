import { VARIANTS } from '../support/mesh';
import { seededRandom } from '../support/seeded-random';
import { ChangingWorld } from './changing-world';
import { compareThroughChanges } from './compare-clients';

/** The number of changes in all mixes together. `RELAY_CHANGES=10000` takes about half an hour. */
const CHANGES = Number(process.env['RELAY_CHANGES'] ?? 32);
/** Chooses the changes. With the default, no server in state of the world removes a cluster, which would take 15 s to be known. */
const SEED = Number(process.env['RELAY_SEED'] ?? 32);

jest.setTimeout(180_000 + CHANGES * 400);

/** The variant of the relay at its server, and that of the clients. */
const mixes = VARIANTS.flatMap(([above, upstream]) =>
  VARIANTS.map(([below, features]) => [above, below, upstream, features] as const),
);

describe('a client behind a relay and one beside it', () => {
  it.concurrent.each(mixes)(
    'have the same config: %s above, %s below',
    async (above, below, upstream, features) => {
      const mix = mixes.findIndex((other) => other[0] === above && other[1] === below);
      const drop = mix % 2 === 0 ? ['fail_on_data_errors'] : [];
      await compareThroughChanges({
        upstream,
        features: [...features, ...drop],
        relay: { node: mix % 3 === 0 ? 'clients' : 'own' },
        world: new ChangingWorld(seededRandom(SEED + mix)),
        changes: Math.ceil(CHANGES / mixes.length),
      });
    },
  );
});
