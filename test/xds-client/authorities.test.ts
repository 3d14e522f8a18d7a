import { authorityConfig, Harness, serverConfig } from './harness';

const TYPE = 'test.Listener';

describe('names with an authority, without federation (gRFC A47)', () => {
  const h = () => new Harness({ federation: false });

  it('are opaque: requested from the top-level servers as they are written', () => {
    const harness = h();
    const names = [
      `xdstp://unknown/${TYPE}/x?b=2&a=1#directive`,
      `xdstp://unknown/${TYPE}/x?a=1&b=2`,
      'xdstp:of another form',
    ];
    const watchers = names.map((name) => harness.watch(harness.listener, name));
    expect(harness.stream.request.resourceNames).toEqual(names);
    harness.send(harness.listener, '1', Object.fromEntries(names.map((name) => [name, name])));
    expect(watchers.map(({ told }) => told)).toEqual(names.map((name) => [`value ${name}`]));
  });
});

describe('names with an authority (gRFC A47)', () => {
  const shared = serverConfig('xds.test:1');
  const other = serverConfig('other.test:2');
  const harness = () =>
    new Harness({
      authorities: new Map([
        ['other', authorityConfig([other])],
        ['same', authorityConfig([serverConfig('xds.test:1')])],
        ['', authorityConfig([shared])],
      ]),
    });

  it('are requested from the servers of their authority, over one connection per server', () => {
    const h = harness();
    h.watch(h.listener, 'plain');
    h.watch(h.listener, `xdstp://same/${TYPE}/x`);
    h.watch(h.listener, `xdstp:///${TYPE}/empty`);
    h.watch(h.listener, `xdstp://other/${TYPE}/x`);
    expect(h.server.openConnections).toBe(1);
    expect(h.stream.request.resourceNames).toEqual([
      'plain',
      `xdstp://same/${TYPE}/x`,
      `xdstp:///${TYPE}/empty`,
    ]);
    expect(h.network.server('other.test:2').stream.request.resourceNames).toEqual([
      `xdstp://other/${TYPE}/x`,
    ]);
  });

  it('reach all authorities that share a server, and their deletions too', () => {
    const h = harness();
    const plain = h.watch(h.listener, 'plain');
    const same = h.watch(h.listener, `xdstp://same/${TYPE}/x`);
    h.send(h.listener, '1', { plain: 'one', [`xdstp://same/${TYPE}/x`]: 'two' });
    h.send(h.listener, '2', { plain: 'one' });
    expect(plain.told).toEqual(['value one']);
    expect(same.told).toEqual([
      'value two',
      `error Listener "xdstp://same/${TYPE}/x": no such resource: management server xds.test:1 ` +
        '(node "node-1") has removed it: add it there, or change what refers to it',
    ]);
  });

  it('are one resource whatever the order of their context parameters', () => {
    const h = harness();
    const first = h.watch(h.listener, `xdstp://same/${TYPE}/x?b=2&a=1`);
    const second = h.watch(h.listener, `xdstp://same/${TYPE}/x?a=0&b=2&a=1#directive`);
    expect(h.stream.request.resourceNames).toEqual([`xdstp://same/${TYPE}/x?a=1&b=2`]);
    h.send(h.listener, '1', { [`xdstp://same/${TYPE}/x?b=2&a=1`]: 'one' });
    expect([first.told, second.told]).toEqual([['value one'], ['value one']]);
  });

  it('are one resource however their escapes are spelled', () => {
    const h = harness();
    const first = h.watch(h.listener, `xdstp://same/${TYPE}/%c3%bc/a%2Db`);
    const second = h.watch(h.listener, `xdstp://s%61me/${TYPE}/%C3%BC/a-b`);
    expect(h.stream.request.resourceNames).toEqual([`xdstp://same/${TYPE}/%C3%BC/a-b`]);
    h.send(h.listener, '1', { [`xdstp://same/${TYPE}/%C3%bc/%61-b`]: 'one' });
    expect([first.told, second.told]).toEqual([['value one'], ['value one']]);
  });

  // 1. The bootstrap writes the authority as it is. 2. Names write it with escapes, as their template does.
  it('may have an authority that has to be escaped', () => {
    const authorities = new Map([['a b', authorityConfig([other])]]);
    const h = new Harness({ authorities });
    const watcher = h.watch(h.listener, `xdstp://a%20b/${TYPE}/x`);
    h.network.server('other.test:2').stream.respond({
      typeUrl: h.listener.typeUrl,
      versionInfo: '1',
      resources: [h.listener.resource(`xdstp://a%20b/${TYPE}/x`, 'one')],
    });
    expect(watcher.told).toEqual(['value one']);
  });

  it('of an authority that is not in the bootstrap are refused, naming those that are', () => {
    const h = harness();
    const watcher = h.watch(h.listener, `xdstp://unknown/${TYPE}/x`);
    expect(watcher.told).toEqual([
      `error Listener "xdstp://unknown/${TYPE}/x": not a usable resource name: authority "unknown" ` +
        'is not among the authorities of the bootstrap bootstrap.json ' +
        '(there are "other", "same", "") (node "node-1")',
    ]);
    expect(watcher.errors[0]?.kind).toBe('bad-name');
    expect(h.network.openConnections).toBe(0);
  });

  it.each(['constructor', '__proto__'])('of the authority %s are refused as well', (authority) => {
    const h = new Harness();
    const watcher = h.watch(h.listener, `xdstp://${authority}/${TYPE}/x`);
    expect(watcher.told).toEqual([
      `error Listener "xdstp://${authority}/${TYPE}/x": not a usable resource name: authority ` +
        `"${authority}" is not among the authorities of the bootstrap bootstrap.json ` +
        '(there are none) (node "node-1")',
    ]);
  });

  it('that are malformed are refused', () => {
    const h = harness();
    const watcher = h.watch(h.listener, 'xdstp://same/x');
    expect(watcher.told).toEqual([
      'error Listener "xdstp://same/x": not a usable resource name: ' +
        'not of the form xdstp://authority/type/id (node "node-1")',
    ]);
    watcher.release();
    expect(h.network.openConnections).toBe(0);
  });

  it('let go of the server when the last of them is no longer watched', () => {
    const h = harness();
    h.watch(h.listener, 'plain');
    const watcher = h.watch(h.listener, `xdstp://other/${TYPE}/x`);
    expect(h.network.openConnections).toBe(2);
    watcher.release();
    expect(h.network.openConnections).toBe(1);
    expect(h.server.openConnections).toBe(1);
  });

  it('fail with the server of their own authority only', () => {
    const h = harness();
    const plain = h.watch(h.listener, 'plain');
    const away = h.watch(h.listener, `xdstp://other/${TYPE}/x`);
    h.network.server('other.test:2').stream.end();
    expect(plain.told).toEqual([]);
    expect(away.told).toEqual([
      `error Listener "xdstp://other/${TYPE}/x": management server other.test:2 (node "node-1") ` +
        'cannot be reached: connection refused',
    ]);
  });
});
