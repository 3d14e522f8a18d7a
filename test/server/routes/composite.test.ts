import { DEFAULT_LIMITS } from '../../../src/bootstrap/limits';
import { Status } from '../../../src/grpc-js';
import {
  single,
  composite,
  compositeOverride,
  equals,
  execute,
  action,
  list,
  nested,
  skip,
} from '../../http-filters/composite/matcher-json';
import { requestOf } from '../../authorization/rbac-world';
import type { Json } from '../../support/xds-json';
import { denyPrefix, host, judge, probing, RBAC, served, ServerScene } from './tables';

const run = (...filters: readonly Json[]): Json =>
  action(execute({ filter_chain: { typed_config: filters.map((f, i) => nested(`n${i}`, f)) } }));
const deny = (prefix: string): Json => ({ '@type': RBAC, rules: denyPrefix(prefix) });
const instance = (typed_config: Json): Json => ({ name: 'c', typed_config });
const plain = [host('v', ['*'], [served('')])];
const AT = 'filter_chains[0].filters[0].typed_config.http_filters[0].typed_config';

let scene: ServerScene;
beforeEach(() => {
  scene = new ServerScene();
});

describe('the composite filter on a server (gRFC A103)', () => {
  const chosen = (matcher: Json) => scene.table([instance(composite(matcher))], plain);
  const withHeaders = (headers: Readonly<Record<string, string>>) => ({ headers });

  it('runs the filters that the headers of a request choose, in order', () => {
    const sut = chosen({
      ...list(
        [equals('team', 'a'), run(probing('1'), deny('/a'), probing('2'))],
        [equals(':path', '/b/m'), run(deny('/'))],
        [equals('team', 'skip'), action(skip)],
      ),
      on_no_match: run(probing('else')),
    });
    expect(judge(sut, '/a/m', 's', withHeaders({ team: 'a' }))).toMatchObject({
      code: Status.PERMISSION_DENIED,
      policy: 'denied',
    });
    expect(scene.probed).toEqual(['1 /a/m']);
    expect(judge(sut, '/c/m', 's', withHeaders({ team: 'a' }))).toBeUndefined();
    expect(judge(sut, '/b/m', 's', withHeaders({ team: 'b' }))?.policy).toBe('denied');
    expect(judge(sut, '/c/m', 's', withHeaders({ team: 'skip' }))).toBeUndefined();
    expect(judge(sut, '/c/m', 's', withHeaders({ team: 'x' }))).toBeUndefined();
    expect(scene.probed.slice(1)).toEqual(['1 /c/m', '2 /c/m', 'else /c/m']);
  });

  it('explains what the filters inside decide', () => {
    const sut = chosen(
      list([equals('team', 'a'), run(deny('/a'))], [equals('team', 'b'), action(skip)]),
    );
    const explain = (path: string, team: string) =>
      sut.explain(requestOf({ path, headers: { ':authority': 's', team } })).filters;
    const rules = [{ name: 'denied', mismatch: undefined }];
    expect(explain('/a/m', 'a')).toMatchObject([
      { name: 'c', action: 'deny', refusal: { policy: 'denied' }, rules },
    ]);
    expect(explain('/b/m', 'a')).toMatchObject([{ name: 'c', action: 'deny', refusal: undefined }]);
    expect(explain('/a/m', 'b')).toEqual([
      { name: 'c', action: undefined, refusal: undefined, rules: [] },
    ]);
    expect(explain('/a/m', 'x')).toMatchObject([{ refusal: { code: Status.UNAVAILABLE } }]);
  });

  it('fails a request that no action is for', () => {
    const sut = chosen(list([equals('team', 'a'), action(skip)]));
    const reason =
      'No match of the composite HTTP filter "c" fits the headers of the call: add one, or on_no_match';
    expect(judge(sut, '/s/m')).toEqual({
      code: Status.UNAVAILABLE,
      details: 'the request cannot be evaluated',
      reason,
      policy: undefined,
    });
  });

  it('has the override of a route in place of its config, and does nothing without a matcher', () => {
    const override = (config: Json) => ({ typed_per_filter_config: { c: config } });
    const routes = [
      served('/off', override(compositeOverride())),
      served(
        '/deny',
        override(
          compositeOverride({
            ...list([equals('a', 'b'), action(skip)]),
            on_no_match: run(deny('/')),
          }),
        ),
      ),
      served(''),
    ];
    const sut = scene.table([instance(composite())], [host('v', ['*'], routes)]);
    expect(judge(sut, '/off/m')).toBeUndefined();
    expect(judge(sut, '/deny/m')?.code).toBe(Status.PERMISSION_DENIED);
    expect(judge(sut, '/s/m')).toBeUndefined();
  });

  it('runs the filters of an action for its share of the requests', () => {
    const sampled = action(
      execute({
        typed_config: nested('n', deny('/')),
        sample_percent: { default_value: { numerator: 30 } },
      }),
    );
    const sut = chosen(list([equals('team', 'a'), sampled]));
    const judged = () => judge(sut, '/s/m', 's', withHeaders({ team: 'a' }))?.code;
    scene.random = 0.31;
    expect(judged()).toBeUndefined();
    scene.random = 0.29;
    expect(judged()).toBe(Status.PERMISSION_DENIED);
  });

  it('can be in itself, and creates each filter once', () => {
    const inner = composite(list([equals('inner', '1'), run(probing('deep'))]));
    const sut = chosen(list([equals('team', 'a'), run(inner)]));
    for (let i = 0; i < 2; i++) {
      expect(judge(sut, '/s/m', 's', withHeaders({ team: 'a', inner: '1' }))).toBeUndefined();
    }
    expect(judge(sut, '/s/m', 's', withHeaders({ team: 'a' }))?.code).toBe(Status.UNAVAILABLE);
    expect(scene.probed).toEqual(['deep /s/m', 'deep /s/m']);
    expect(scene.created).toBe(1);
  });

  it.each(['throws', 'uncreated'])('refuses requests if a filter in it %s', (text) => {
    const sut = chosen(list([equals('team', 'a'), run(probing(text))]));
    expect(judge(sut, '/s/m', 's', withHeaders({ team: 'a' }))).toMatchObject({
      code: Status.INTERNAL,
      details: 'the request cannot be evaluated',
    });
  });

  it('refuses a request that takes too many steps', () => {
    scene = new ServerScene({ ...DEFAULT_LIMITS, maxMatchStepsPerCall: 2000 });
    const sut = chosen(list([single('x', { contains: 'y'.repeat(3) }), action(skip)]));
    const refusal = judge(sut, '/s/m', 's', withHeaders({ x: 'x'.repeat(3000) }));
    expect(refusal).toMatchObject({
      code: Status.UNAVAILABLE,
      reason:
        'HTTP filter "c": matching its path and headers takes more than 2000 steps (limit maxMatchStepsPerCall), at header "x" of 3000 characters',
    });
    expect(judge(sut, '/s/m', 's', withHeaders({ x: 'zyyy' }))).toBeUndefined();
  });

  it('is rejected with filters that only clients can run, at any depth', () => {
    const fault = {
      '@type': 'type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault',
    };
    const inner = composite(list([equals('b', '1'), run(fault)]));
    const at =
      'xds_matcher.matcher_list.matchers[0].on_match.action.typed_config.filter_chain.typed_config[0].typed_config';
    expect(() => chosen(list([equals('a', '1'), run(inner)]))).toThrow(
      `${AT}.${at}.${at}: unsupported HTTP filter envoy.extensions.filters.http.fault.v3.HTTPFault`,
    );
  });

  it('refuses requests by an override with a filter that only clients can run', () => {
    const fault = {
      '@type': 'type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault',
    };
    const override = compositeOverride({
      ...list([equals('a', '1'), run(fault)]),
      on_no_match: run(fault),
    });
    const routes = [served('', { typed_per_filter_config: { c: override } })];
    const sut = scene.table([instance(composite())], [host('v', ['*'], routes)]);
    expect(judge(sut, '/s/m')).toMatchObject({
      code: Status.INTERNAL,
      reason:
        'HTTP filter "n0" failed: The HTTP filter of envoy.extensions.filters.http.fault.v3.HTTPFault is only for clients',
    });
  });
});
