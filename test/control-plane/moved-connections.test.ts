import { ControlPlane, Snapshot, type ClientEvent } from '../../src/control-plane';
import { eventually } from '../support/eventually';
import { FakeClock } from '../support/fake-clock';
import { AdsClient } from './ads-client';
import { CDS, cluster, endpoints } from './resources';

const snapshot = Snapshot.from({ clusters: [cluster('a')], endpoints: [endpoints('a', 1)] });

describe('the connections of a control plane', () => {
  const cleanUp: (() => void | Promise<void>)[] = [];
  afterEach(async () => {
    for (const task of cleanUp.splice(0).reverse()) await task();
  });

  /** @param isApart Whether each of its streams has a connection of its own. */
  const connect = (address: string, isApart = true) => {
    const client = new AdsClient(address, { isApart });
    cleanUp.push(() => client.close());
    const open = () => {
      const stream = client.open();
      stream.subscribe(CDS, [], { node: { id: 'n' } });
      return stream;
    };
    return { open };
  };

  it('are moved when they are old, and the next stream is on another one', async () => {
    const server = new ControlPlane({ snapshot, maxConnectionAgeMs: 300 });
    const { address } = await server.start();
    cleanUp.push(() => server.close());
    const { open } = connect(address);
    const first = open();
    await first.next();
    const [before] = server.clients();
    expect(await first.ended).toEqual({
      code: 14,
      details: 'the control plane moves the client to another connection',
    });
    const second = open();
    expect((await second.next()).resources).toHaveLength(1);
    expect(server.clients()[0]?.peer).not.toBe(before?.peer);
  });

  it('are moved when the credentials of their clients expire, at the first expiry of one', async () => {
    const expiries = [3_600_000, 200, 3_600_000];
    const authenticate = () => ({
      principal: { name: 'web', expiresAtMs: Date.now() + (expiries.shift() ?? 0) },
    });
    const server = new ControlPlane({ snapshot, authenticate });
    const { address } = await server.start();
    cleanUp.push(() => server.close());
    const { open } = connect(address, false);
    const streams = [open()];
    await streams[0]?.next();
    streams.push(open());
    await streams[1]?.next();
    const [before] = server.clients();
    const details = 'the credentials of the client have expired';
    for (const { ended } of streams) expect(await ended).toEqual({ code: 14, details });
    const next = open();
    await next.next();
    expect(server.clients().map(({ peer }) => peer)).not.toContain(before?.peer);
    expect(expiries).toEqual([]);
  });

  it('whose credentials are valid for longer than a timer lasts are not moved', async () => {
    const clock = new FakeClock();
    const expiresAtMs = clock.now() + 2 ** 33;
    const authenticate = () => ({ principal: { name: 'web', expiresAtMs } });
    const server = new ControlPlane({ snapshot, authenticate }, { clock });
    const { address } = await server.start();
    cleanUp.push(() => void server.close({ force: true }));
    const stream = connect(address).open();
    await stream.next();
    clock.advance(2 ** 33 - 1);
    expect(server.clients()).toHaveLength(1);
    clock.advance(5001);
    expect((await stream.ended).code).toBe(14);
  });

  it('are moved one after the other when it stops', async () => {
    const ended: number[] = [];
    const onClientEvent = ({ kind }: ClientEvent) => {
      if (kind === 'disconnected') ended.push(performance.now());
    };
    const first = new ControlPlane({ snapshot, onClientEvent });
    const { address } = await first.start();
    const streams = Array.from({ length: 10 }, () => connect(address).open());
    for (const stream of streams) await stream.next();
    const startMs = performance.now();
    const stopped = first.close({ moveMs: 1000 });
    await expect(connect(address).open().next()).rejects.toThrow('UNAVAILABLE');
    await stopped;
    const ends = await Promise.all(streams.map(async ({ ended: end }) => (await end).details));
    expect(new Set(ends)).toEqual(
      new Set(['the control plane moves the client to another connection']),
    );
    expect(ended).toHaveLength(10);
    // A timer is late, and never early.
    for (const [i, endMs] of ended.entries()) expect(endMs - startMs).toBeGreaterThan(i * 95);
  });

  it('are accepted at several addresses', async () => {
    const server = new ControlPlane({ snapshot, listen: ['127.0.0.1:0', '[::1]:0'] });
    const { address } = await server.start();
    cleanUp.push(() => server.close());
    expect(address).toMatch(/^127\.0\.0\.1:\d+$/);
    expect((await connect(address).open().next()).resources).toHaveLength(1);
    await eventually(
      () => server.clients().length,
      (count) => count === 1,
    );
  });

  it('are accepted nowhere if one of the addresses cannot be used', async () => {
    const taken = new ControlPlane();
    const { address } = await taken.start();
    cleanUp.push(() => taken.close());
    const server = new ControlPlane({ listen: ['127.0.0.1:0', address] });
    await expect(server.start()).rejects.toThrow('EADDRINUSE');
    await taken.close();
    await server.start();
    await server.close();
  });

  it.each([[['127.0.0.1']], [['127.0.0.1:99999']], [[]], [['a:b:1']], [[7]], ['127.0.0.1:1']])(
    'are not listened for at %j',
    (listen) => {
      expect(() => Reflect.construct(ControlPlane, [{ listen }])).toThrow(
        'a list of addresses with ports',
      );
    },
  );
});
