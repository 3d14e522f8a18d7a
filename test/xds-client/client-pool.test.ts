import type { Bootstrap } from '../../src/bootstrap/bootstrap';
import { ClientPool } from '../../src/xds-client/client-pool';
import type { ConnectionOptions } from '../../src/xds-client/transport';
import { authorityConfig, bootstrap, serverConfig } from './harness';

class PooledThing {
  closed = 0;

  constructor(
    readonly bootstrap: Bootstrap,
    readonly scope: string,
  ) {}

  close(): void {
    this.closed++;
  }
}

class ThingGroup {
  constructor(
    readonly bootstrap: Bootstrap,
    readonly clients: () => Iterable<PooledThing>,
  ) {}

  createClient(scope: string): PooledThing {
    return new PooledThing(this.bootstrap, scope);
  }
}

const pool = () =>
  new ClientPool<PooledThing, ThingGroup>((made, clients) => new ThingGroup(made, clients));

describe('a client pool', () => {
  it('has one client for a target whose bootstraps say the same, wherever they were read', () => {
    const clients = pool();
    const first = clients.acquire(bootstrap(), 'xds:a');
    const second = clients.acquire({ ...bootstrap(), source: 'elsewhere.json' }, 'xds:a');
    expect(second.client).toBe(first.client);
    expect(clients.clients()).toEqual([{ client: first.client, scope: 'xds:a' }]);
  });

  it.each<[string, Partial<Bootstrap>]>([
    ['servers', { servers: [serverConfig('other:1')] }],
    ['features of servers', { servers: [serverConfig('xds.test:1', ['x'])] }],
    ['nodes', { node: { ...bootstrap().node, id: 'node-2' } }],
    ['node metadata', { node: { ...bootstrap().node, metadata: new Map([['k', 'v']]) } }],
    ['authorities', { authorities: new Map([['x', authorityConfig([])]]) }],
    ['templates', { clientDefaultListenerResourceNameTemplate: 'x/%s' }],
    [
      'certificate providers',
      { certificateProviders: new Map([['p', { pluginName: 'file_watcher', config: {} }]]) },
    ],
  ])('has clients of their own for different %s', (_what, change) => {
    const clients = pool();
    const first = clients.acquire(bootstrap(), 'xds:a');
    const second = clients.acquire({ ...bootstrap(), ...change }, 'xds:a');
    expect(second.client).not.toBe(first.client);
    expect(clients.clients()).toHaveLength(2);
  });

  it('has the connection options of the first channel of a bootstrap, until its last is released (gRFC A110)', () => {
    const clients = new ClientPool<
      PooledThing,
      ThingGroup & { readonly connectionOptions: ConnectionOptions | undefined }
    >((made, all, connectionOptions) =>
      Object.assign(new ThingGroup(made, all), { connectionOptions }),
    );
    const [one, two] = [{ equals: () => false }, { equals: () => false }];
    const first = clients.acquire(bootstrap(), 'xds:a', one);
    const second = clients.acquire(bootstrap(), 'xds:b', two);
    const other = clients.acquire(
      { ...bootstrap(), node: { ...bootstrap().node, id: 'x' } },
      'xds:b',
    );
    expect([first, second, other].map(({ group }) => group.connectionOptions)).toEqual([
      one,
      one,
      undefined,
    ]);
    first.release();
    expect(clients.acquire(bootstrap(), 'xds:c', two).group.connectionOptions).toBe(one);
    expect(other.group.connectionOptions).toBeUndefined();
    clients.acquire(bootstrap(), 'xds:c', two).release();
  });

  it('closes a client with the last release, once', () => {
    const clients = pool();
    const first = clients.acquire(bootstrap(), 'xds:a');
    const second = clients.acquire(bootstrap(), 'xds:a');
    first.release();
    first.release();
    expect(first.client.closed).toBe(0);
    second.release();
    expect(first.client.closed).toBe(1);
    expect(clients.clients()).toEqual([]);
  });

  it('has a client for each target, with one group for those of a bootstrap', () => {
    const clients = pool();
    const b = clients.acquire(bootstrap(), 'xds:b');
    const a = clients.acquire(bootstrap(), 'xds:a');
    const again = clients.acquire(bootstrap(), 'xds:a');
    const shortLived = clients.acquire(bootstrap(), 'xds:c');
    again.release();
    shortLived.release();
    const other = clients.acquire({ ...bootstrap(), servers: [] }, 'xds:a');
    expect(clients.clients().map(({ scope }) => scope)).toEqual(['xds:b', 'xds:a', 'xds:a']);
    expect(shortLived.client.closed).toBe(1);
    expect(a.group).toBe(b.group);
    expect(other.group).not.toBe(a.group);
    expect([...a.group.clients()]).toEqual([b.client, a.client]);
  });

  it('makes a new client after the last one was closed', () => {
    const clients = pool();
    const first = clients.acquire(bootstrap(), 'xds:a');
    first.release();
    const reread = bootstrap();
    const second = clients.acquire(reread, 'xds:a');
    expect(second.client).not.toBe(first.client);
    expect(second.client.bootstrap).toBe(reread);
    first.release();
    expect(second.client.closed).toBe(0);
  });
});
