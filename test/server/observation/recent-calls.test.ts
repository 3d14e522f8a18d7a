import { status } from '@grpc/grpc-js';
import { nameOfClient, RecentCalls } from '../../../src/server/observation/recent-calls';
import { FakeClock } from '../../support/fake-clock';

const chain = 'inbound';
const end = { address: '127.0.0.1', port: 1 };

/** A request of a client with a certificate. */
const requestOf = (uri: string) => ({
  path: '/a/b',
  local: end,
  remote: end,
  header: () => undefined,
  tls: { peer: { uriSans: [uri], dnsSans: [], subject: '' } },
});

const refusedBy = (policy: string) => ({
  code: status.PERMISSION_DENIED,
  details: '',
  reason: '',
  policy,
  decidedBy: { filter: 'rbac', action: 'deny' } as const,
});

describe('RecentCalls', () => {
  const clock = new FakeClock();

  it('counts the calls of each client, and what refused them, for 5 minutes', () => {
    const recent = new RecentCalls(clock);
    recent.add(chain, requestOf('spiffe://td/web'), undefined);
    clock.advance(60_000);
    recent.add(chain, requestOf('spiffe://td/web'), refusedBy('no-writes'));
    recent.add(chain, { path: '/a/b' }, refusedBy('no-writes'));
    const refusals = [
      { status: 'PERMISSION_DENIED', filter: 'rbac', policy: 'no-writes', calls: 1 },
    ];
    expect(recent.all()).toEqual([
      { filterChain: chain, identity: 'spiffe://td/web', calls: 2, refusals },
      { filterChain: chain, identity: 'unknown', calls: 1, refusals },
    ]);
    clock.advance(4 * 60_000);
    expect(recent.all().map(({ calls }) => calls)).toEqual([1, 1]);
    clock.advance(60_000);
    expect(recent.all()).toEqual([]);
  });

  it('counts 1,000 clients of a minute, and 20 causes of each, and the others as one', () => {
    const recent = new RecentCalls(clock);
    for (let i = 0; i < 3000; i++) recent.add(chain, requestOf(`spiffe://td/${i}`), undefined);
    for (let i = 0; i < 100; i++) recent.add(chain, requestOf('spiffe://td/0'), refusedBy(`p${i}`));
    const all = recent.all();
    expect(all).toHaveLength(1001);
    expect(all.find(({ identity }) => identity === 'others')?.calls).toBe(2000);
    const { calls, refusals = [] } = all.find(({ identity }) => identity === 'spiffe://td/0') ?? {};
    expect([calls, refusals.length]).toEqual([101, 21]);
    expect(refusals.at(-1)).toEqual({
      status: 'UNKNOWN',
      filter: 'others',
      policy: 'others',
      calls: 80,
    });
    recent.clear();
    expect(recent.all()).toEqual([]);
  });

  it('cuts the name of a client', () => {
    const recent = new RecentCalls(clock);
    recent.add(chain, requestOf('x'.repeat(10_000)), undefined);
    expect(recent.all()[0]?.identity).toHaveLength(513);
    // As the connections of the client have it.
    expect(recent.all()[0]?.identity).toBe(nameOfClient(requestOf('x'.repeat(10_000)).tls));
  });
});
