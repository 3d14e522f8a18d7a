import type { SocketListener } from '../../../src/resources/listener/listener';
import { findFilterChain } from '../../../src/server/listener/find-filter-chain';
import { listenerOf } from './listeners';

const HERE = '10.1.2.3';
const THERE = '192.168.7.9';

interface Connection {
  readonly to?: string;
  readonly from?: string;
  readonly port?: number;
}

/** The name of the chain that is found. */
function find(listener: SocketListener, { to = HERE, from = THERE, port = 4711 }: Connection = {}) {
  const [local, remote] = [
    { address: to, port: 8080 },
    { address: from, port },
  ];
  return findFilterChain(listener, local, remote)?.name;
}

// generated-listeners.test.ts compares it with a second matcher.
describe('findFilterChain (gRFC A36)', () => {
  it.each(['', '/run/socket', 'no address'])('finds no range for the address %j', (address) => {
    const listener = listenerOf({ a: { to: ['0.0.0.0/0'] }, b: { from: ['::/0'] }, c: {} });
    expect(find(listener, { to: address, from: address })).toBe('c');
  });

  it('finds chains at every position of a listener', () => {
    const names = Array.from({ length: 130 }, (_, i) => `c${i}`);
    const listener = listenerOf(
      Object.fromEntries(names.map((name, i) => [name, { raw: i % 2 === 0, ports: [i + 1] }])),
    );
    for (const [i, name] of names.entries()) {
      // The step of the transport leaves only the even ones.
      expect(find(listener, { port: i + 1 })).toBe(i % 2 === 0 ? name : undefined);
    }
  });
});

describe('the reasons for a filter chain', () => {
  it('names the criteria that are set', () => {
    const listener = listenerOf({
      wide: { to: ['10.0.0.0/8'] },
      plain: { to: ['10.1.0.0/16', '1.0.0.0/8'] },
      raw: { to: ['10.1.0.0/16'], raw: true },
      net: { to: ['10.1.0.0/16'], raw: true, from: ['192.168.0.0/16'] },
      port: { to: ['10.1.0.0/16'], raw: true, from: ['192.168.0.0/16'], ports: [4711] },
    });
    const explain = (address: string, port: number) => {
      const remote = { address, port };
      const reasons: string[] = [];
      findFilterChain(listener, { address: HERE, port: 8080 }, remote, reasons);
      return reasons;
    };
    expect(explain(THERE, 4711)).toEqual([
      'prefix_ranges: 10.1.0.0/16 is the longest range with 10.1.2.3',
      'transport_protocol: raw_buffer is more specific than not set',
      'source_prefix_ranges: 192.168.0.0/16 is the longest range with 192.168.7.9',
      'source_ports: 4711 is listed',
    ]);
    expect(explain('2001:db8::1', 1)).toHaveLength(2);
  });

  it('ends with the criterion that leaves nothing', () => {
    const listener = listenerOf({ a: { to: ['2001:db8::/32'] } }, true);
    const local = { address: HERE, port: 1 };
    const reasons: string[] = [];
    expect(findFilterChain(listener, local, local, reasons)).toBe(listener.defaultFilterChain);
    expect(reasons).toEqual([
      'prefix_ranges: 10.1.2.3 is in none of the ranges',
      'it is the default_filter_chain',
    ]);
  });
});
