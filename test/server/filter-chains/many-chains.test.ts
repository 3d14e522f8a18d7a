import { countWork, workRatio } from '../../support/count-work';
import { indexOf, listenerOf, type ShortMatch } from './listeners';

const local = { address: '10.1.2.3', port: 8080 };
const remote = { address: '192.168.7.9', port: 4711 };

const addressOf = (first: number, i: number) => `${first}.${i >> 16}.${(i >> 8) & 255}.${i & 255}`;

/** Chains that differ in the networks of their clients. */
const byNetwork = (count: number) => {
  const chains = Array.from({ length: count }, (_, i): [string, ShortMatch] => [
    `c${i}`,
    { from: [`${addressOf(11, 256 * i)}/24`] },
  ]);
  return listenerOf({ ...Object.fromEntries(chains), mine: { from: ['192.168.0.0/16'] } });
};

/** Chains with as many ranges and ports each, which they have in common. */
const withEntries = (count: number, entries: number) => {
  const list = <T>(make: (i: number) => T) => Array.from({ length: entries }, (_, i) => make(i));
  const to = list((i) => `${addressOf(10, i)}/32`);
  const from = list((i) => `${addressOf(11, i)}/32`);
  const ports = list((i) => i + 1);
  const { filterChains, ...listener } = listenerOf({ all: { to, from, ports } });
  const [chain] = filterChains;
  if (chain === undefined) throw new Error('no chain');
  const chains = Array.from({ length: count }, (_, i) => ({ ...chain, name: `c${i}` }));
  return { ...listener, filterChains: chains };
};

describe('FilterChainIndex', () => {
  it('takes no more work to find a chain among more of them', () => {
    const workOf = (count: number) => {
      const index = indexOf(byNetwork(count));
      expect(index.find(local, remote)?.name).toBe('mine');
      return countWork(() => index.find(local, remote));
    };
    expect(workOf(1000)).toBe(workOf(1));
  });

  it('takes work for each value of each criterion, and none for their combinations', () => {
    expect(
      workRatio(10, (count) => {
        const listener = withEntries(count, 1000);
        return () => indexOf(listener);
      }),
    ).toBeLessThan(2.2);
  });
});
