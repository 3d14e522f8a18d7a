import { types } from '../../resources/decode-json';
import { serverConfig } from '../../xds-client/harness';
import { listenerJson, socketListenerJson, filterChainJson } from '../../support/xds-json';
import { listenerOf, ListenerWorld, routesOf } from './listener-world';

const SERVER = 'management server xds.test:1 (node "node-1")';
const INVALID = socketListenerJson('inbound', []);
const NACK = `Listener "inbound": update from ${SERVER} rejected (NACK): must have filter_chains or default_filter_chain`;
const NO_ROUTES = `RouteConfiguration "r": no such resource: ${SERVER} did not send it within 15 s: check the name, and that the server has it for this node`;
const INVALID_ROUTES = { name: 'r', virtual_hosts: [{ name: 'v', domains: [] }] };
const NACKED_ROUTES = `RouteConfiguration "r": update from ${SERVER} rejected (NACK): virtual_hosts[0].domains: must not be empty`;

/** A server that serves one listener with one route configuration. */
function servingWorld(...features: readonly string[]): ListenerWorld {
  const world = new ListenerWorld({
    servers: [serverConfig('xds.test:1', features)],
    dataErrorHandling: features.length > 0 && features[0] !== 'ignore_resource_deletion',
  });
  world.lds('1', listenerOf(['r'])).rds('1', routesOf('r', '/a'));
  expect(world.take()).toEqual(['serving chain r (/a)']);
  return world;
}

describe('the watch of the Listener of a server (gRFC A36)', () => {
  describe('without a listener', () => {
    it('is notified of nothing while the listener is pending', () => {
      const world = new ListenerWorld();
      expect(world.requested(types.listener)).toEqual(['inbound']);
      world.harness.clock.advance(14_999);
      expect(world.take()).toEqual([]);
    });

    it.each<[string, (world: ListenerWorld) => void, string]>([
      [
        'not sent in time',
        ({ harness }) => harness.clock.advance(15_000),
        `Listener "inbound": no such resource: ${SERVER} did not send it within 15 s and has not answered this node at all: is node.id known to the server?`,
      ],
      ['rejected', (world) => world.lds('1', INVALID), NACK],
      [
        'of a server that cannot be reached',
        ({ harness }) => harness.stream.end(),
        `Listener "inbound": ${SERVER} cannot be reached: connection refused`,
      ],
    ])('does not serve one that is %s, and serves once it is there', (_what, act, reason) => {
      const world = new ListenerWorld();
      act(world);
      expect(world.take()).toEqual([expect.stringContaining(`not serving: ${reason}`)]);
      expect(world.reasons[0]).toMatch(/ \(failing since 2023-11-14T22:13:\d\d\.000Z\)$/);
      world.harness.clock.advance(1000);
      world.lds('2', listenerOf(['r'])).rds('2', routesOf('r', '/a'));
      expect(world.take()).toEqual(['serving chain r (/a)']);
    });
  });

  describe('with a listener in use', () => {
    it.each<[string, (world: ListenerWorld) => void]>([
      ['is sent again', (world) => world.lds('1', listenerOf(['r']))],
      ['has another version', (world) => world.lds('2', listenerOf(['r']))],
      ['is rejected', (world) => world.lds('2', INVALID)],
      [
        'is rejected, and then sent again',
        (world) => world.lds('2', INVALID).lds('3', listenerOf(['r'])),
      ],
      ['cannot be reached', ({ harness }) => harness.stream.end()],
      [
        'comes from a new stream',
        ({ harness, ...world }) => {
          harness.stream.end();
          harness.clock.advance(60_000);
          expect(world.told).toEqual([]);
        },
      ],
      [
        'is changed to what needs routes that are pending, and back',
        (world) => world.lds('2', listenerOf(['r', 's'])).lds('3', listenerOf(['r'])),
      ],
    ])('changes nothing if it %s', (_what, act) => {
      const world = servingWorld();
      act(world);
      world.harness.clock.advance(2000);
      expect(world.take()).toEqual([]);
      expect(world.routes('r')).toBe('/a');
    });

    it('swaps a changed listener at once if its routes are known', () => {
      const world = servingWorld();
      world.lds('2', listenerOf(['r', 'r'].map((name) => name)));
      expect(world.take()).toEqual(['serving chain r (/a), chain r (/a)']);
    });

    it('keeps the listener until the routes of the next one are there, and then drops its own', () => {
      const world = servingWorld();
      world.lds('2', listenerOf(['s', 't']));
      expect(world.requested(types.routeConfig)).toEqual(['r', 's', 't']);
      world.rds('2', routesOf('t', '/t'), routesOf('r', '/b'));
      expect(world.take()).toEqual(['routes r: /b']);
      world.rds('3', routesOf('s', '/s'));
      expect(world.take()).toEqual(['serving chain s (/s), chain t (/t)']);
      expect(world.requested(types.routeConfig)).toEqual(['s', 't']);
      expect(world.watch.routesOf('r')).toEqual({
        ok: false,
        error: 'RouteConfiguration "r": not of the listener in use',
      });
    });

    it('swaps to the latest of several listeners, whose routes count from the first that needed them', () => {
      const world = servingWorld();
      world.lds('2', listenerOf(['r', 's']));
      world.harness.clock.advance(10_000);
      world.lds('3', listenerOf(['s', 'r']));
      world.harness.clock.advance(4999);
      expect(world.take()).toEqual([]);
      world.harness.clock.advance(1);
      expect(world.take()[0]).toMatch(
        /^serving chain s \(RouteConfiguration "s": waiting for 15.0 s: .*\), chain r \(\/a\)$/,
      );
    });

    it('uses changed routes without a new generation', () => {
      const world = servingWorld();
      world.rds('2', routesOf('r', '/b')).rds('3', routesOf('r', '/b'));
      expect(world.take()).toEqual(['routes r: /b']);
    });

    it('keeps routes whose update is rejected', () => {
      const world = servingWorld();
      world.rds('2', INVALID_ROUTES);
      expect(world.take()).toEqual([]);
      expect(world.routes('r')).toBe('/a');
    });

    it('stops for a removed listener, keeps watching, and serves the same one again', () => {
      const world = servingWorld();
      world.lds('2');
      const reason = `Listener "inbound": no such resource: ${SERVER} has removed it: add it there, or change what refers to it`;
      expect(world.take()).toEqual([`not serving: ${reason}`]);
      expect(world.reasons[0]).toMatch(/ \(failing since 2023-11-14T22:13:20\.000Z\)$/);
      expect(world.requested(types.routeConfig)).toEqual([]);
      world.lds('3', listenerOf(['r'])).rds('3', routesOf('r', '/a'));
      expect(world.take()).toEqual(['serving chain r (/a)']);
    });

    it('stops for a removed listener while another one is pending', () => {
      const world = servingWorld();
      world.lds('2', listenerOf(['s'])).lds('3');
      expect(world.take()).toEqual([expect.stringContaining('not serving: Listener "inbound"')]);
      world.rds('3', routesOf('s', '/s'));
      expect(world.take()).toEqual([]);
    });

    it('keeps a removed listener with ignore_resource_deletion (gRFC A53)', () => {
      const world = servingWorld('ignore_resource_deletion');
      world.lds('2');
      expect(world.take()).toEqual([]);
      world.lds('3', listenerOf(['r'], { traffic_direction: 'INBOUND' }));
      expect(world.take()).toEqual([]);
      world.lds('4', listenerOf(['r'], { default_filter_chain: filterChainJson('r') }));
      expect(world.take()).toEqual(['serving chain r (/a)']);
    });

    it('keeps a removed listener, and one with a data error, as an ambient error (gRFC A88)', () => {
      const world = servingWorld('resource_timer_is_transient_error');
      world.lds('2').lds('3', INVALID);
      expect(world.take()).toEqual([]);
    });

    it.each<[string, (world: ListenerWorld) => void, string]>([
      ['removed', (world) => world.lds('2'), 'has removed it'],
      ['rejected', (world) => world.lds('2', INVALID), 'rejected (NACK)'],
    ])('stops for one that is %s with fail_on_data_errors (gRFC A88)', (_what, act, reason) => {
      const world = servingWorld('fail_on_data_errors');
      act(world);
      expect(world.take()).toEqual([expect.stringContaining(reason)]);
    });
  });

  describe('with a listener that it cannot serve', () => {
    const at = (address: string, port_value: number, extra = {}) =>
      listenerOf(['r'], { address: { socket_address: { address, port_value, ...extra } } });
    const wrong = (found: string) =>
      `Listener "inbound": wrong address: ${SERVER} sent one for ${found}, but the server is bound to 10.0.0.1:8080: correct the address there, or server_listener_resource_name_template of the bootstrap`;

    it.each([
      ['another IP address', at('10.0.0.2', 8080), wrong('10.0.0.2:8080')],
      ['another port', at('10.0.0.1', 8081), wrong('10.0.0.1:8081')],
      ['another family', at('::1', 8080), wrong('[::1]:8080')],
      ['the wildcard', at('0.0.0.0', 8080), wrong('0.0.0.0:8080')],
      [
        'UDP',
        at('10.0.0.1', 8080, { protocol: 'UDP' }),
        `Listener "inbound": not for TCP: ${SERVER} sent one for another protocol: set protocol TCP in its address`,
      ],
      [
        'clients',
        listenerJson('inbound', 'r'),
        `Listener "inbound": not for a server: ${SERVER} sent an API listener: give it the address 10.0.0.1:8080 and filter_chains instead of api_listener`,
      ],
    ])('accepts and does not serve one for %s, and recovers', (_what, json, reason) => {
      const world = new ListenerWorld();
      world.lds('1', json);
      expect(world.take()).toEqual([`not serving: ${reason}`]);
      const { request } = world.harness.stream;
      expect([request.versionInfo, request.errorDetail]).toEqual(['1', undefined]);
      expect(world.requested(types.routeConfig)).toEqual([]);
      world.lds('2', listenerOf(['r'])).rds('2', routesOf('r', '/a'));
      expect(world.take()).toEqual(['serving chain r (/a)']);
      world.harness.clock.advance(5000);
      world.lds('3', json);
      expect(world.take()).toEqual([`not serving: ${reason}`]);
      expect(
        world.reasons.map((text) => / \(failing since .*?:(\d\d\.\d{3})Z\)$/.exec(text)?.[1]),
      ).toEqual(['20.000', '25.000']);
    });

    it.each([
      ['10.0.0.1', '10.0.0.1', 0],
      ['::1', '0:0:0:0:0:0:0:1', 8080],
      ['2001:db8::a', '2001:DB8:0::000a', 8080],
      ['::', '0::0', 8080],
      ['10.0.0.1', '::ffff:10.0.0.1', 8080],
    ])('serves %s with one for %s, port %s', (host, address, port) => {
      const world = new ListenerWorld({}, { host, port: 8080 });
      world.lds('1', at(address, port)).rds('1', routesOf('r', '/a'));
      expect(world.take()).toEqual(['serving chain r (/a)']);
    });

    it.each([
      ['0.0.0.0', '::'],
      ['::', '0.0.0.0'],
    ])('does not serve %s with one for %s', (host, address) => {
      const world = new ListenerWorld({}, { host, port: 8080 });
      world.lds('1', at(address, 8080));
      expect(world.take()).toEqual([expect.stringContaining('wrong address')]);
    });
  });

  describe('with routes that are missing', () => {
    it('serves after 15 s, and uses the routes once they are there', () => {
      const world = new ListenerWorld();
      world.lds('1', listenerOf(['r']));
      expect(world.take()).toEqual([]);
      expect(world.routes('r')).toContain('RouteConfiguration "r": waiting for');
      world.harness.clock.advance(15_000);
      expect(world.take().at(-1)).toContain(NO_ROUTES);
      world.harness.clock.advance(1000);
      const { errors, infos } = world.harness.logger;
      expect(errors.filter((text) => text.startsWith('server '))).toEqual([
        `server 10.0.0.1:8080: calls fail with UNAVAILABLE: ${NO_ROUTES}`,
      ]);
      world.rds('1', routesOf('r', '/a'));
      expect(world.take()).toEqual(['routes r: /a']);
      world.harness.clock.advance(1000);
      expect(infos).toContain(
        'server 10.0.0.1:8080: RouteConfiguration "r": received: calls no longer fail',
      );
    });

    it('serves at once if they are rejected without a good copy', () => {
      const world = new ListenerWorld();
      world.lds('1', listenerOf(['r', 's'])).rds('1', INVALID_ROUTES, routesOf('s', '/s'));
      expect(world.take()).toEqual([`serving chain r (${NACKED_ROUTES}), chain s (/s)`]);
    });

    it('serves after 15 s though the management server cannot be reached', () => {
      const world = new ListenerWorld();
      world.lds('1', listenerOf(['r']));
      world.harness.server.isReachable = false;
      world.harness.stream.end(14, 'gone');
      world.harness.clock.advance(15_000);
      expect(world.take()).toEqual([
        expect.stringMatching(/^serving chain r \(RouteConfiguration "r": /),
      ]);
    });

    it('watches a route configuration of several chains once', () => {
      const world = new ListenerWorld();
      const other = filterChainJson('r', {
        name: 'other',
        filter_chain_match: { source_ports: [9] },
      });
      world.lds('1', listenerOf(['r'], { default_filter_chain: other }));
      expect(world.requested(types.routeConfig)).toEqual(['r']);
      world.rds('1', routesOf('r', '/a'));
      expect(world.take()).toEqual(['serving chain r (/a)']);
    });
  });

  it('starts no generation when another management server sends the same listener (gRFC A71)', () => {
    const servers = [serverConfig('xds.test:1'), serverConfig('xds.test:2')];
    const world = new ListenerWorld({ servers });
    const { network, clock } = world.harness;
    world.lds('1', listenerOf(['r'])).rds('1', routesOf('r', '/a'));
    expect(world.take()).toEqual(['serving chain r (/a)']);
    // What is not cached makes the client fall back, once the first server cannot be reached.
    world.lds('2', listenerOf(['r', 's']));
    network.server('xds.test:1').stream.end();
    clock.advance(2000);
    network.server('xds.test:1').stream.end();
    clock.flush();
    const { stream } = network.server('xds.test:2');
    world.stream = stream;
    world.lds('1', listenerOf(['r'])).rds('1', routesOf('r', '/a'));
    // Its routes are compiled again, which ends no connection.
    expect(world.take()).toEqual(['routes r: /a']);
    world.lds('2', listenerOf(['r', 's'])).rds('2', routesOf('s', '/s'), routesOf('r', '/a'));
    expect(world.take()).toEqual(['serving chain r (/a), chain s (/s)']);
  });

  it('is not notified after its release', () => {
    const world = new ListenerWorld();
    world.lds('1', listenerOf(['r']));
    world.watch.release();
    world.rds('1', routesOf('r', '/a'));
    world.harness.clock.advance(20_000);
    expect(world.take()).toEqual([]);
    expect(world.harness.clock.pendingTimers).toBe(0);
  });

  it.each<[string, (world: ListenerWorld) => void, number]>([
    ['a generation', (world) => world.lds('2', listenerOf(['r', 'r'])), 1],
    ['routes', (world) => world.rds('2', routesOf('r', '/b')), 1],
    ['the end', (world) => world.lds('2'), 1],
  ])('may be released by the notification of %s', (_what, act, notifications) => {
    const world = servingWorld();
    world.onNotification = () => world.watch.release();
    act(world);
    world.lds('3', listenerOf(['s'])).rds('3', routesOf('r', '/c'));
    world.harness.clock.advance(20_000);
    expect(world.take()).toHaveLength(notifications);
    expect(world.harness.clock.pendingTimers).toBe(0);
  });
});
