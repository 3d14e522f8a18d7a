import type { SocketListener } from '../../../src/resources/listener/listener';
import {
  explainFilterChain,
  findFilterChain,
} from '../../../src/server/listener/find-filter-chain';
import { listenerOf, type ShortMatch } from './listeners';

const HERE = '10.1.2.3';
const THERE = '192.168.7.9';

interface Connection {
  readonly to?: string;
  readonly from?: string;
  readonly port?: number;
}

/** The name of the chain that is found, by the search and by the explanation alike. */
function find(listener: SocketListener, { to = HERE, from = THERE, port = 4711 }: Connection = {}) {
  const [local, remote] = [
    { address: to, port: 8080 },
    { address: from, port },
  ];
  const found = findFilterChain(listener, local, remote);
  const { chain, isDefault } = explainFilterChain(listener, local, remote);
  expect(chain).toBe(found);
  expect(isDefault).toBe(found === listener.defaultFilterChain);
  return found?.name;
}

type Case = readonly [
  what: string,
  matches: Readonly<Record<string, ShortMatch>>,
  connection: Connection,
  expected: string | undefined,
];

describe('findFilterChain (gRFC A36)', () => {
  it.each<Case>([
    ['no criterion', { a: {} }, {}, 'a'],
    ['the longest range', { a: { to: ['10.0.0.0/8'] }, b: { to: ['10.1.0.0/16'] } }, {}, 'b'],
    ['a range of several', { a: { to: ['1.0.0.0/8', '10.1.2.3/32'] }, b: {} }, {}, 'a'],
    ['a range of all over none', { a: {}, b: { to: ['0.0.0.0/0'] } }, {}, 'b'],
    ['a range of all of its family only', { a: {}, b: { to: ['0.0.0.0/0'] } }, { to: '::1' }, 'a'],
    ['no range that the address is not in', { a: { to: ['10.1.2.2/32'] } }, {}, undefined],
    ['a range that ends inside of a byte', { a: { to: ['10.0.0.0/15'] }, b: {} }, {}, 'a'],
    ['no range beside it', { a: { to: ['10.2.0.0/15'] }, b: {} }, {}, 'b'],
    ['raw_buffer over no transport protocol', { a: {}, b: { raw: true } }, {}, 'b'],
    ['an external source over any', { a: {}, b: { source: 'external' } }, {}, 'b'],
    ['any over the wrong source', { a: {}, b: { source: 'same-ip-or-loopback' } }, {}, 'a'],
    [
      'the longest source range',
      { a: { from: ['192.0.0.0/8'] }, b: { from: ['192.168.0.0/16'] } },
      {},
      'b',
    ],
    ['the same source range', { a: { from: ['192.168.7.9/32'] }, b: {} }, {}, 'a'],
    ['a listed port', { a: {}, b: { ports: [1, 4711] } }, {}, 'b'],
    ['any port over those not listed', { a: {}, b: { ports: [1] } }, {}, 'a'],
  ])('chooses %s', (_what, matches, connection, expected) => {
    expect(find(listenerOf(matches), connection)).toBe(expected);
  });

  it.each<Case>([
    [
      'range of a transport',
      { a: { to: ['10.1.0.0/16'] }, b: { to: ['10.0.0.0/8'], raw: true } },
      {},
      'a',
    ],
    [
      'range of a source',
      { a: { to: ['10.1.0.0/16'], source: 'same-ip-or-loopback' }, b: { to: ['10.0.0.0/8'] } },
      {},
      undefined,
    ],
    [
      'transport of a source range',
      { a: { raw: true, from: ['1.0.0.0/8'] }, b: {} },
      {},
      undefined,
    ],
    [
      'source of a source range',
      { a: { source: 'external', from: ['1.0.0.0/8'] }, b: {} },
      {},
      undefined,
    ],
    ['source range of a port', { a: { from: ['192.0.0.0/8'], ports: [1] }, b: {} }, {}, undefined],
  ])('does not go back from the most specific %s', (_what, matches, connection, expected) => {
    expect(find(listenerOf(matches), connection)).toBe(expected);
    expect(find(listenerOf(matches, true), connection)).toBe(expected ?? 'default');
  });

  it('finds a less specific range if another criterion of the same step decides', () => {
    // Both chains with the longer local range are for other sources; those with the shorter source range remain.
    const listener = listenerOf({
      a: { to: ['10.1.0.0/16'], from: ['192.0.0.0/8'] },
      b: { to: ['10.0.0.0/8'], from: ['192.168.0.0/16'] },
    });
    expect(find(listener)).toBe('a');
  });

  it.each([
    ['127.0.0.1', HERE, 'loop'],
    ['127.8.9.10', HERE, 'loop'],
    ['::1', '2001:db8::1', 'loop'],
    ['::ffff:127.3.2.1', HERE, 'loop'],
    [HERE, HERE, 'loop'],
    [`::ffff:${HERE}`, HERE, 'loop'],
    [HERE, '::ffff:10.1.2.3', 'loop'],
    ['fe80::1%eth0', 'fe80::1', 'loop'],
    ['128.0.0.1', HERE, 'external'],
    ['::2', '2001:db8::1', 'external'],
    ['::127.0.0.1', '2001:db8::1', 'external'],
    ['10.1.2.4', HERE, 'external'],
  ])('takes a connection from %s to %s as %s', (from, to, expected) => {
    const listener = listenerOf({
      loop: { source: 'same-ip-or-loopback' },
      external: { source: 'external' },
    });
    expect(find(listener, { from, to })).toBe(expected);
  });

  it.each([
    ['::ffff:10.1.2.3', '10.0.0.0/8'],
    ['10.1.2.3', '::ffff:10.0.0.0/104'],
    ['::ffff:10.1.2.3', '::ffff:10.0.0.0/104'],
    ['fe80::1:2%lo0', 'fe80::/10'],
    ['fe80::1', 'fe80::1/128'],
  ])('finds %s in %s, on both sides', (address, range) => {
    const listener = listenerOf({ local: { to: [range] }, remote: { from: [range] } });
    expect(find(listener, { to: address })).toBe('local');
    expect(find(listener, { to: '1.1.1.1', from: address })).toBe('remote');
  });

  it.each([
    ['::ffff:10.1.2.3', '::/0'],
    ['10.1.2.3', '::/0'],
    ['::10.1.2.3', '10.0.0.0/8'],
  ])('does not find %s in %s', (address, range) => {
    expect(find(listenerOf({ a: { to: [range] } }), { to: address })).toBeUndefined();
  });

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

describe('explainFilterChain', () => {
  it('has what each criterion leaves, and why', () => {
    const listener = listenerOf({
      wide: { to: ['10.0.0.0/8'] },
      plain: { to: ['10.1.0.0/16', '1.0.0.0/8'] },
      raw: { to: ['10.1.0.0/16'], raw: true },
      net: { to: ['10.1.0.0/16'], raw: true, from: ['192.168.0.0/16'] },
      port: { to: ['10.1.0.0/16'], raw: true, from: ['192.168.0.0/16'], ports: [4711] },
    });
    const explain = (address: string, port: number) => {
      const remote = { address, port };
      const found = explainFilterChain(listener, { address: HERE, port: 8080 }, remote);
      return found.steps.map(({ criterion, reason, remaining }) => [
        criterion,
        reason,
        remaining.map(({ name }) => name).join(' '),
      ]);
    };
    expect(explain(THERE, 4711)).toEqual([
      ['prefix_ranges', '10.1.0.0/16 is the longest range with 10.1.2.3', 'plain raw net port'],
      ['transport_protocol', 'raw_buffer is more specific than not set', 'raw net port'],
      ['source_type', 'any source', 'raw net port'],
      ['source_prefix_ranges', '192.168.0.0/16 is the longest range with 192.168.7.9', 'net port'],
      ['source_ports', '4711 is listed', 'port'],
    ]);
    expect(explain('2001:db8::1', 1).slice(3)).toEqual([
      ['source_prefix_ranges', 'not set', 'raw'],
      ['source_ports', 'not set', 'raw'],
    ]);
  });

  it('ends with the criterion that leaves nothing', () => {
    const listener = listenerOf({ a: { to: ['2001:db8::/32'] } }, true);
    const local = { address: HERE, port: 1 };
    expect(explainFilterChain(listener, local, local)).toEqual({
      steps: [
        {
          criterion: 'prefix_ranges',
          reason: '10.1.2.3 is in none of the ranges',
          isSet: true,
          remaining: [],
        },
      ],
      chain: listener.defaultFilterChain,
      isDefault: true,
    });
  });
});
