import { findVirtualHost } from '../../src/routing/virtual-host';
import { VirtualHostIndex } from '../../src/routing/virtual-host-index';
import { countWork } from '../support/count-work';
import { seededRandom } from '../support/seeded-random';
import { virtualHost } from '../support/xds-builders';

const hostOf = (...domains: readonly string[]) => virtualHost([], { domains });

describe('VirtualHostIndex', () => {
  it('finds what a search through all domains finds', () => {
    const random = seededRandom(27);
    const word = () => ['a', 'B', 'ab', '.', 'ſ', ''][Math.floor(random() * 6)] ?? '';
    const domain = () => {
      const text = `${word()}${word()}${word()}`;
      return [text, `*${text}`, `${text}*`, '*'][Math.floor(random() * 4)] ?? '';
    };
    let found = 0;
    for (let round = 0; round < 3000; round++) {
      const hosts = Array.from({ length: 1 + random() * 8 }, () => hostOf(domain(), domain()));
      const index = new VirtualHostIndex(hosts, hosts);
      for (let i = 0; i < 5; i++) {
        const name = `${word()}${word()}${word()}`;
        const expected = findVirtualHost(hosts, name);
        if (expected !== undefined) found++;
        expect(index.find(name)).toBe(expected);
      }
    }
    expect(found).toBeGreaterThan(5000);
  });

  it('takes no more work with more hosts', () => {
    const workOf = (count: number) => {
      const hosts = Array.from({ length: count }, (_, i) =>
        hostOf(`h${i}.x`, `*.h${i}.y`, `h${i}.z.*`),
      );
      const index = new VirtualHostIndex(hosts, hosts);
      return ['h7.x', 'a.h7.y', 'h7.z.b', 'none'].map((name) => countWork(() => index.find(name)));
    };
    // At most one look-up for each character of the name.
    for (const work of workOf(10_000)) expect(work).toBeLessThan(8);
  });
});
