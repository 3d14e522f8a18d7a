import { ControlPlane, Snapshot, type ClientEvent } from '../../src/control-plane';
import { eventually } from '../support/eventually';
import { AdsClient } from './ads-client';
import { CDS, cluster, endpoints } from './resources';

const snapshot = Snapshot.from({ clusters: [cluster('a')], endpoints: [endpoints('a', 1)] });

describe('the connections of a control plane', () => {
  const cleanUp: (() => void | Promise<void>)[] = [];
  afterEach(async () => {
    for (const task of cleanUp.splice(0).reverse()) await task();
  });

  const connect = (address: string) => {
    const client = new AdsClient(address, { isApart: true });
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
    cleanUp.push(() => server.stop());
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

  it('are moved one after the other when it stops', async () => {
    const ended: number[] = [];
    const onClientEvent = ({ kind }: ClientEvent) => {
      if (kind === 'disconnected') ended.push(performance.now());
    };
    const first = new ControlPlane({ snapshot, maxConnectionAgeMs: 1e9, onClientEvent });
    const { address } = await first.start();
    const streams = Array.from({ length: 10 }, () => connect(address).open());
    for (const stream of streams) await stream.next();
    const startMs = performance.now();
    const stopped = first.stop({ moveMs: 1000 });
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
    cleanUp.push(() => server.stop());
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
    cleanUp.push(() => taken.stop());
    const server = new ControlPlane({ listen: ['127.0.0.1:0', address] });
    await expect(server.start()).rejects.toThrow('EADDRINUSE');
    await taken.stop();
    await server.start();
    await server.stop();
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
