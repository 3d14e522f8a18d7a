import { DEFAULT_LIMITS } from '../../../src/bootstrap/limits';
import { Status } from '../../../src/grpc-js';
import { countWork } from '../../support/count-work';
import {
  denyPrefix,
  host,
  judge,
  ORIGIN,
  probe,
  probing,
  rbac,
  rbacOverride,
  served,
  ServerScene,
} from './tables';

const unavailable = (details: string, fact: string) => ({
  code: Status.UNAVAILABLE,
  details,
  policy: undefined,
  reason: `${fact}; configured by ${ORIGIN}`,
});
const denied = expect.objectContaining({
  code: Status.PERMISSION_DENIED,
  details: 'unauthorized RPC request rejected',
});

let scene: ServerScene;
beforeEach(() => {
  scene = new ServerScene();
});

describe('the virtual host of a request', () => {
  const hosts = ['shop:8080', '*.example.org', 'api.*', '*'].map((domain) =>
    host(domain, [domain], [served(`/${domain}/`)]),
  );

  it.each([
    ['shop:8080', 'shop:8080'],
    ['SHOP:8080', 'shop:8080'],
    ['a.Example.ORG', '*.example.org'],
    ['api.example.org', '*.example.org'],
    ['api.example.com', 'api.*'],
    ['shop', '*'],
    ['shop:8081', '*'],
    ['.example.org', '*'],
    ['api.', '*'],
    ['', '*'],
  ])('is found by the authority %j as received: %s', (authority, domain) => {
    const table = scene.table([], hosts);
    expect(judge(table, `/${domain}/m`, authority)).toBeUndefined();
    expect(judge(table, '/none/m', authority)?.reason).toContain(`virtual host "${domain}"`);
  });

  it('is found by the header host where there is no authority', () => {
    const table = scene.table([], [host('v', ['shop'], [served('')])]);
    expect(judge(table, '/s/m', 'other', { headers: { host: 'shop' } })).toBeDefined();
    const header = (name: string) => (name === 'host' ? 'shop' : undefined);
    const ends = { local: { address: '', port: 0 }, remote: { address: '', port: 0 } };
    expect(table.judge({ path: '/s/m', header, ...ends, tls: undefined })).toBeUndefined();
  });

  it('is named as missing', () => {
    const table = scene.table([], [host('v', ['other'], [served('')])]);
    expect(judge(table, '/s/m', 'a"b')).toEqual(
      unavailable(
        'no virtual host of this server is for the authority of the request',
        'No virtual host of RouteConfiguration "routes" has the domain "a\\"b": add one, or the domain "*"',
      ),
    );
    const unnamed = scene.table([], [host('v', ['other'], [served('')])], '');
    expect(judge(unnamed, '/s/m', 'a')?.reason).toContain(
      'No virtual host of the routes of the listener',
    );
  });
});

describe('the route of a request', () => {
  const table = (...routes: Parameters<typeof host>[2]) =>
    scene.table([], [host('v', ['*'], routes)]);

  it('is the first one that matches', () => {
    const sut = table(
      served('/a/b'),
      { match: { prefix: '/a/' }, route: { cluster: 'c' } },
      served('/'),
    );
    expect(judge(sut, '/a/bc')).toBeUndefined();
    expect(judge(sut, '/a/c')?.reason).toContain('has the action route');
    expect(judge(sut, '/b/c')).toBeUndefined();
  });

  it('is named as missing', () => {
    expect(judge(table(served('/a')), '/s/m')).toEqual(
      unavailable(
        'no route of this server matches the request',
        'No route of virtual host "v" of RouteConfiguration "routes" matches "/s/m": add one',
      ),
    );
  });

  it.each([
    [{ route: { cluster: 'c' } }, 'route'],
    [{ redirect: {} }, 'redirect'],
    [{ direct_response: { status: 200 } }, 'direct_response'],
    [{ filter_action: {} }, 'filter_action'],
    [{}, 'unset'],
  ])('with another action than non_forwarding_action fails: %j', (action, name) => {
    expect(judge(table({ match: { prefix: '' }, ...action }), '/s/m')).toEqual(
      unavailable(
        'the route of the request is not one that a server handles',
        'The route of virtual host "v" of RouteConfiguration "routes" for "/s/m" has the action ' +
          `${name}, which a gRPC server cannot carry out: use the action non_forwarding_action`,
      ),
    );
  });

  it('is not found by binary headers, but by those of the request otherwise', () => {
    const matching = (name: string, value: string) =>
      table(
        served('', { match: { prefix: '', headers: [{ name, string_match: { exact: value } }] } }),
      );
    const headers = { 'x-a': '1,2', 'x-bin': 'AA==', 'user-agent': 'grpc-go/1', te: 'trailers' };
    const isServed = (name: string, value: string) =>
      judge(matching(name, value), '/s/m', 'shop', { headers }) === undefined;
    expect(isServed('X-A', '1,2')).toBe(true);
    expect(isServed('x-bin', 'AA==')).toBe(false);
    expect(isServed('user-agent', 'grpc-go/1')).toBe(true);
    expect(isServed('te', 'trailers')).toBe(false);
    expect(isServed(':method', 'POST')).toBe(true);
    expect(isServed(':authority', 'shop')).toBe(true);
  });

  it('takes its share of the requests', () => {
    const sut = table({
      match: { prefix: '', runtime_fraction: { default_value: { numerator: 25 } } },
      non_forwarding_action: {},
    });
    scene.random = 0.24;
    expect(judge(sut, '/s/m')).toBeUndefined();
    scene.random = 0.26;
    expect(judge(sut, '/s/m')?.code).toBe(Status.UNAVAILABLE);
  });

  it('ignores what is for clients', () => {
    const sut = table(
      served('', {
        typed_per_filter_config: {
          fault: {
            '@type': 'type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault',
          },
        },
      }),
    );
    expect(judge(sut, '/s/m')).toBeUndefined();
  });

  it('cannot be determined with more steps than a call may take, and the next request is judged again', () => {
    scene = new ServerScene({ ...DEFAULT_LIMITS, maxMatchStepsPerCall: 2000 });
    const routes = Array.from({ length: 200 }, (_, i) => ({
      match: { prefix: '', headers: [{ name: 'x', string_match: { exact: `${i}` } }] },
      non_forwarding_action: {},
    }));
    const sut = table(...routes);
    expect(judge(sut, '/s/m', 'shop', { headers: { x: 'none' } })?.reason).toBe(
      'The route of virtual host "v" of RouteConfiguration "routes" for "/s/m" cannot be determined: ' +
        'matching its path and headers takes more than 2000 steps (limit maxMatchStepsPerCall), at header "x" of 4 characters; ' +
        `configured by ${ORIGIN}`,
    );
    expect(judge(sut, '/s/m', 'shop', { headers: { x: '0' } })).toBeUndefined();
  });

  it('is logged if it fails its requests', () => {
    expect(table(served('')).problem).toBeUndefined();
    const wrong = { match: { prefix: '/a' }, route: { cluster: 'c' }, name: 'old' };
    expect(table(served(''), wrong, { match: { prefix: '/b' }, redirect: {} }).problem).toBe(
      'RouteConfiguration "routes": 2 of 3 routes fail their requests with UNAVAILABLE, because their action is not ' +
        'non_forwarding_action, as it must be on a server: the first one is route 1 ("old") of virtual host "v", with the action route',
    );
  });
});

it('indexes the routes of a virtual host once, however many tables have it', () => {
  const routes = Array.from({ length: 2000 }, (_, i) => served(`/s${i}/`));
  const listener = scene.listener([], [host('v', ['*'], routes)]);
  const work = () => countWork(() => scene.tableOf(listener));
  const first = work();
  expect(work()).toBeLessThan(first / 10);
  expect(judge(scene.tableOf(listener), '/s1999/m')).toBeUndefined();
});

describe('the filters of a request', () => {
  const hostWith = (overrides: object, ...routes: Parameters<typeof host>[2]) => ({
    ...host('v', ['*'], routes),
    typed_per_filter_config: overrides,
  });
  const plain = [host('v', ['*'], [served('')])];

  it('judge in order, and the first refusal counts', () => {
    const sut = scene.table(
      [rbac('a', denyPrefix('/a')), probe('p'), rbac('b', denyPrefix('/'))],
      plain,
    );
    expect(judge(sut, '/a/m')).toEqual({
      code: Status.PERMISSION_DENIED,
      details: 'unauthorized RPC request rejected',
      reason: 'denied by "a": it matches the policy "denied"',
      policy: 'denied',
      decidedBy: { filter: 'a', action: 'deny' },
    });
    expect(scene.probed).toEqual([]);
    expect(judge(sut, '/b/m')?.reason).toBe('denied by "b": it matches the policy "denied"');
    expect(scene.probed).toEqual(['p /b/m']);
  });

  it('judge before a wrong action fails the request', () => {
    const wrong = [host('v', ['*'], [{ match: { prefix: '' }, route: { cluster: 'c' } }])];
    const sut = scene.table([rbac('a', denyPrefix('/a'))], wrong);
    expect(judge(sut, '/a/m')).toEqual(denied);
    expect(judge(sut, '/b/m')?.code).toBe(Status.UNAVAILABLE);
  });

  it('do not judge a request without a route', () => {
    const sut = scene.table([probe('p')], [host('v', ['*'], [served('/a')])]);
    expect(judge(sut, '/b/m')?.code).toBe(Status.UNAVAILABLE);
    expect(scene.probed).toEqual([]);
  });

  it('have the override of the route, or else of the virtual host, in place of their config', () => {
    const sut = scene.table(
      [rbac('r', denyPrefix('/'))],
      [
        hostWith(
          { r: rbacOverride(denyPrefix('/host')) },
          served('/host'),
          served('/off', { typed_per_filter_config: { r: rbacOverride() } }),
          served('/route', {
            typed_per_filter_config: { r: rbacOverride(denyPrefix('/route/x')) },
          }),
          served('/'),
        ),
        host('w', ['other'], [served('/')]),
      ],
    );
    expect(judge(sut, '/host/m')).toEqual(denied);
    expect(judge(sut, '/off/m')).toBeUndefined();
    expect(judge(sut, '/route/x')).toEqual(denied);
    expect(judge(sut, '/route/y')).toBeUndefined();
    expect(judge(sut, '/else')).toBeUndefined();
    expect(judge(sut, '/else', 'other')).toEqual(denied);
  });

  it('are overridden by the name of the instance, also twice of one type', () => {
    const off = { typed_per_filter_config: { b: rbacOverride(), none: rbacOverride() } };
    const sut = scene.table(
      [rbac('a', denyPrefix('/x/a')), rbac('b', denyPrefix('/x'))],
      [host('v', ['*'], [served('/x', off), served('/')])],
    );
    expect(judge(sut, '/x/a')?.reason).toContain('"a"');
    expect(judge(sut, '/x/b')).toBeUndefined();
  });

  it.each([
    [{ disabled: true }, {}, undefined],
    [{ disabled: true }, rbacOverride(denyPrefix('/')), denied],
    [
      {},
      { '@type': 'type.googleapis.com/envoy.config.route.v3.FilterConfig', disabled: true },
      undefined,
    ],
    [
      {},
      {
        '@type': 'type.googleapis.com/envoy.config.route.v3.FilterConfig',
        config: rbacOverride(denyPrefix('/a')),
      },
      undefined,
    ],
  ])('are on or off: %j with the override %j', (instance, override, expected) => {
    const routes = [
      served(
        '',
        Object.keys(override).length > 0 ? { typed_per_filter_config: { r: override } } : {},
      ),
    ];
    const sut = scene.table(
      [{ ...rbac('r', denyPrefix('/')), ...instance }],
      [host('v', ['*'], routes)],
    );
    expect(judge(sut, '/s/m')).toEqual(expected);
  });

  it('fail the requests of a route whose override is of another type', () => {
    const sut = scene.table(
      [rbac('r')],
      [host('v', ['*'], [served('', { typed_per_filter_config: { r: probing('x') } })])],
    );
    const misfit =
      'The override of HTTP filter "r" is acme.Probe, which does not fit envoy.extensions.filters.http.rbac.v3.RBAC';
    expect(judge(sut, '/s/m')).toEqual({
      code: Status.UNAVAILABLE,
      details: 'the request cannot be evaluated',
      reason: misfit,
      policy: undefined,
      decidedBy: { filter: 'r', action: undefined },
    });
  });

  it('are created once for a config and an override, and kept over updates that leave both', () => {
    const listener = scene.listener(
      [probe('p'), probe('q', 'nothing')],
      [hostWith({ p: probing('h') }, served('/a'), served('/b')), host('w', ['w'], [served('')])],
    );
    const tables = [scene.tableOf(listener), scene.tableOf(listener)];
    expect(scene.created).toBe(0);
    for (const table of tables) {
      for (const path of ['/a/1', '/a/2', '/b/1']) expect(judge(table, path)).toBeUndefined();
      expect(judge(table, '/c', 'w')).toBeUndefined();
    }
    // p with the override of the host, q, and p without an override.
    expect(scene.created).toBe(3);
    expect(scene.probed).toHaveLength(8);
  });

  it.each([
    ['throws', 'HTTP filter "p" failed: oh'],
    ['uncreated', 'HTTP filter "p" failed: no luck'],
  ])('refuse requests if one %s', (text, reason) => {
    const sut = scene.table([probe('p', text)], plain);
    for (let i = 0; i < 2; i++) {
      expect(judge(sut, '/s/m')).toEqual({
        code: Status.INTERNAL,
        details: 'the request cannot be evaluated',
        reason,
        policy: undefined,
        decidedBy: { filter: 'p', action: undefined },
      });
    }
  });
});

it('refuses a request that cannot be read', () => {
  const sut = scene.table([], [host('v', ['*'], [served('')])]);
  const header = () => {
    throw new Error('cut off');
  };
  const ends = { local: { address: '', port: 0 }, remote: { address: '', port: 0 } };
  expect(sut.judge({ path: '/s/m', header, ...ends, tls: undefined })).toEqual({
    code: Status.INTERNAL,
    details: 'the request cannot be evaluated',
    reason: 'the request cannot be evaluated: cut off',
    policy: undefined,
  });
});
