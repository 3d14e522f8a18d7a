import type { Bootstrap } from '../../src/bootstrap/bootstrap';
import { ClientPool } from '../../src/xds-client/client-pool';
import { authorityConfig, bootstrap, serverConfig } from './harness';

class PooledThing {
  closed = 0;

  constructor(readonly bootstrap: Bootstrap) {}

  close(): void {
    this.closed++;
  }
}

const pool = () => new ClientPool((made) => new PooledThing(made));

describe('a client pool', () => {
  it('has one client for all whose bootstraps say the same, wherever they were read', () => {
    const clients = pool();
    const first = clients.acquire(bootstrap(), 'xds:a');
    const second = clients.acquire({ ...bootstrap(), source: 'elsewhere.json' }, 'xds:a');
    expect(second.client).toBe(first.client);
    expect(clients.clients()).toEqual([{ client: first.client, scopes: ['xds:a'] }]);
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

  it('closes a client when the last holder lets go, once', () => {
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

  it('knows for what each client is in use', () => {
    const clients = pool();
    clients.acquire(bootstrap(), 'xds:b');
    clients.acquire(bootstrap(), 'xds:a');
    const again = clients.acquire(bootstrap(), 'xds:a');
    const shortLived = clients.acquire(bootstrap(), 'xds:c');
    again.release();
    shortLived.release();
    clients.acquire({ ...bootstrap(), servers: [] }, 'xds:d');
    expect(clients.clients().map(({ scopes }) => scopes)).toEqual([['xds:a', 'xds:b'], ['xds:d']]);
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
