import { DEFAULT_LIMITS } from '../../../src/bootstrap/limits';
import { MatchMeter } from '../../../src/resources/matching/match-meter';
import { silentLogger } from '../../../src/util/logger';
import type { Metadata } from '../../../src/grpc-js';
import { Status } from '../../../src/grpc-js';
import type { CallFilter, CallInfo } from '../../../src/http-filters/call-filter';
import { createCompositeFilter } from '../../../src/http-filters/composite/composite-filter';
import { defineHttpFilter } from '../../../src/http-filters/define-http-filter';
import { createFaultFilter, ActiveFaults } from '../../../src/http-filters/fault/fault-filter';
import {
  FilterStates,
  type ClientFilter,
  type FilterCall,
} from '../../../src/http-filters/client-filter';
import { HttpFilterRegistry } from '../../../src/http-filters/registry';
import { routerFilter } from '../../../src/http-filters/router/router-filter';
import { createHandle } from '../../../src/util/handle';
import { ok } from '../../../src/util/result';
import { Violations } from '../../../src/util/violations';
import { encodeMessage } from '../../resources/decode-json';
import { FakeClock } from '../../support/fake-clock';
import type { Json } from '../../support/xds-json';
import { callWith, failureOf, headersOf, statusOf } from '../calls';
import {
  action,
  composite,
  compositeOverride,
  equals,
  execute,
  list,
  nested,
  skip,
  tree,
} from './matcher-json';

const TYPE = 'type.googleapis.com';
const router: Json = { '@type': `${TYPE}/envoy.extensions.filters.http.router.v3.Router` };
const fault = (fields: Json): Json => ({
  '@type': `${TYPE}/envoy.extensions.filters.http.fault.v3.HTTPFault`,
  ...fields,
});
/** A filter that writes its name behind everything that passes. */
const mark = (name: string, value: Json = {}): Json => ({
  '@type': `${TYPE}/xds.type.v3.TypedStruct`,
  type_url: 'acme.Mark',
  value: { name, ...value },
});
const run = (...filters: readonly Json[]): Json =>
  action(execute({ filter_chain: { typed_config: filters.map((f, i) => nested(`n${i}`, f)) } }));

const meter = new MatchMeter(DEFAULT_LIMITS, silentLogger);

/** A registry with everything that can be nested. */
class Scene {
  readonly clock = new FakeClock();
  readonly activeFaults = new ActiveFaults();
  readonly calls: CallInfo[] = [];
  random = 0;
  readonly registry = new HttpFilterRegistry([
    routerFilter,
    createFaultFilter({ clock: this.clock, random: () => 0, activeFaults: this.activeFaults }),
    defineHttpFilter({
      configTypes: ['acme.Mark'],
      parseConfig: (input) => (input.kind === 'json' ? input.json : {}),
      createCallFilter: ({ name, only }, _override, call) => {
        this.calls.push(call);
        return marker(String(name), only);
      },
    }),
  ]);

  constructor() {
    const random = () => this.random;
    this.registry.register(createCompositeFilter({ filters: this.registry, random, meter }));
  }

  /** The filter of one call. */
  start(config: Json, override?: Json, call = callWith()): CallFilter | undefined {
    return this.prepare(config, override)?.create(call, 'f');
  }

  prepare(config: Json, override?: Json) {
    const violations = Violations.root();
    const parsed = this.registry.parseConfig(toAny(config), violations);
    const overriding =
      override && this.registry.parseOverride(toAny(override), violations.at('override'));
    if (parsed === undefined || (override !== undefined && overriding === undefined)) {
      throw new Error(violations.all.join('\n'));
    }
    return this.registry.prepare(parsed, overriding);
  }

  violations(config: Json): readonly string[] {
    const violations = Violations.root();
    expect(this.registry.parseConfig(toAny(config), violations)).toBeUndefined();
    return violations.all;
  }

  overrideViolations(override: Json): readonly string[] {
    const violations = Violations.root();
    expect(this.registry.parseOverride(toAny(override), violations)).toBeUndefined();
    return violations.all;
  }
}

function marker(name: string, only: unknown): CallFilter {
  const append = (message: Buffer) => Buffer.from(`${String(message)}${name}`);
  const add = (headers: Metadata) => {
    headers.add('by', name);
    return headers;
  };
  if (only === 'headers') return { onRequestHeaders: (headers) => Promise.resolve(add(headers)) };
  return {
    onRequestHeaders: add,
    onRequestMessage: append,
    onResponseHeaders: add,
    onResponseMessage: append,
    onStatus: (status) => ({ ...status, details: `${status.details}${name}` }),
  };
}

function toAny(json: Json) {
  const { '@type': typeUrl, ...fields } = json;
  const name = String(typeUrl).slice(TYPE.length + 1);
  return { typeUrl: String(typeUrl), value: encodeMessage(name, fields) };
}

const x1 = equals('x', '1');

describe('the composite filter', () => {
  let scene: Scene;
  beforeEach(() => {
    scene = new Scene();
  });

  it('runs the filters chosen by the headers, in order and back', async () => {
    const config = composite(
      list([x1, run(mark('a'), mark('b'))], [equals('x', '2'), run(mark('c'))]),
    );
    const filter = scene.start(config);
    const headers = await filter?.onRequestHeaders?.(headersOf({ x: '1' }));
    expect(headers?.get('by')).toEqual(['a', 'b']);
    expect(String(await filter?.onRequestMessage?.(Buffer.from('>')))).toBe('>ab');
    expect(filter?.onResponseHeaders?.(headersOf()).get('by')).toEqual(['b', 'a']);
    expect(String(await filter?.onResponseMessage?.(Buffer.from('<')))).toBe('<ba');
    expect(filter?.onStatus?.(statusOf(Status.OK, '=')).details).toBe('=ba');
    const other = await scene.start(config)?.onRequestHeaders?.(headersOf({ x: '2' }));
    expect(other?.get('by')).toEqual(['c']);
  });

  it('passes its own headers to the filters', async () => {
    const config = composite(list([x1, run(mark('a'))]));
    const call = callWith(headersOf({ x: 'before' }));
    await scene.start(config, undefined, call)?.onRequestHeaders?.(headersOf({ x: '1' }));
    expect(
      scene.calls.map(({ method, cluster, headers }) => [method, cluster, headers.get('x')]),
    ).toEqual([['/test.Echo/Say', 'echo', ['1']]]);
  });

  it('passes their own names and the channel of the call to the filters', async () => {
    const seen: [string, FilterCall['routing']][] = [];
    const nested: ClientFilter = {
      configTypes: ['acme.Nested'],
      overrideTypes: [],
      isTerminal: false,
      parseConfig: () => ({ configType: 'acme.Nested' }),
      parseOverride: () => undefined,
      prepare: () => ({
        create(call, instance) {
          seen.push([instance, call.routing]);
          return undefined;
        },
        describe: () => ({}),
      }),
    };
    scene.registry.register(nested);
    const config = composite(list([x1, run({ ...mark('a'), type_url: 'acme.Nested' })]));
    const routing: FilterCall['routing'] = {
      target: 'xds:///a',
      states: new FilterStates(),
      clusterMetadata: () => ok(undefined),
      reportError: () => {},
      addCallCredentials: () => {},
      count: () => {},
      startChild: (start) => start(Infinity),
      match: (find) => find(new MatchMeter(DEFAULT_LIMITS, silentLogger)),
    };
    const call: FilterCall = { ...callWith(), routing };
    await scene
      .prepare(config)
      ?.create(call, 'f')
      ?.onRequestHeaders?.(headersOf({ x: '1' }));
    expect(seen).toEqual([['n0', routing]]);
  });

  it('keeps what its filters keep', () => {
    const scene = new Scene();
    let kept = 0;
    const retain = () => {
      kept++;
      return createHandle(() => kept--);
    };
    scene.registry.register({
      configTypes: ['acme.Kept'],
      overrideTypes: [],
      isTerminal: false,
      parseConfig: () => ({ configType: 'acme.Kept' }),
      parseOverride: () => undefined,
      prepare: () => ({ create: () => undefined, describe: () => ({}) }),
      retain,
    } as ClientFilter);
    const own = { ...mark('a'), type_url: 'acme.Kept' };
    const factory = scene.prepare(composite(list([x1, run(own, mark('b'))], [x1, run(own)])));
    const handle = factory?.retain?.();
    expect(kept).toBe(2);
    handle?.release();
    expect(kept).toBe(0);
  });

  it('passes the current cluster to the filters', async () => {
    let cluster = 'drawn';
    const call: CallInfo = {
      ...callWith(),
      get cluster() {
        return cluster;
      },
    };
    const config = composite(list([x1, run(mark('a'))]));
    await scene.start(config, undefined, call)?.onRequestHeaders?.(headersOf({ x: '1' }));
    cluster = 'chosen';
    expect(scene.calls.map((given) => given.cluster)).toEqual(['chosen']);
  });

  it('has only the methods of the chosen filters', async () => {
    const config = composite(list([x1, run(mark('a', { only: 'headers' }))]));
    const filter = scene.start(config);
    const headers = filter?.onRequestHeaders?.(headersOf({ x: '1' }));
    expect((await headers)?.get('by')).toEqual(['a']);
    expect([
      filter?.onRequestMessage,
      filter?.onResponseHeaders,
      filter?.onResponseMessage,
    ]).toEqual([undefined, undefined, undefined]);
  });

  it.each([
    ['that are to be skipped', list([x1, action(skip)])],
    ['that lead to no filters', list([x1, run()])],
    ['that lead to filters without anything to do', list([x1, run(fault({}))])],
  ])('leaves calls alone %s', (_case, matcher) => {
    const headers = headersOf({ x: '1' });
    const filter = scene.start(composite(matcher));
    expect(filter?.onRequestHeaders?.(headers)).toBe(headers);
    expect(filter?.onRequestMessage).toBeUndefined();
    const status = statusOf(Status.OK);
    expect(filter?.onStatus?.(status)).toBe(status);
  });

  it('fails calls without a match', async () => {
    const filter = scene.start(composite(list([x1, action(skip)])));
    expect(await failureOf(() => filter?.onRequestHeaders?.(headersOf()))).toBe(
      '14: No match of the composite HTTP filter "f" fits the headers of the call: add one, or on_no_match',
    );
    const status = statusOf(Status.UNAVAILABLE);
    expect(filter?.onStatus?.(status)).toBe(status);
  });

  it('does nothing without a matcher', () => {
    expect(scene.prepare(composite())).toBeUndefined();
    expect(
      scene.prepare(composite(list([x1, run(mark('a'))])), compositeOverride()),
    ).toBeUndefined();
  });

  it('takes the matcher of an override instead of its own', async () => {
    const config = composite(list([x1, run(mark('a'))]));
    const override = compositeOverride(list([x1, run(mark('b'))]));
    const headers = await scene.start(config, override)?.onRequestHeaders?.(headersOf({ x: '1' }));
    expect(headers?.get('by')).toEqual(['b']);
  });

  it.each([
    [25, 0.2499, ['a']],
    [25, 0.25, []],
    [0, 0, []],
    [100, 0.9999, ['a']],
  ])(
    'runs filters for %i %% of the calls, here with the number %f',
    async (numerator, random, by) => {
      scene.random = random;
      const sample_percent = { default_value: { numerator } };
      const typed_config = nested('n', mark('a'));
      const config = composite(list([x1, action(execute({ typed_config, sample_percent }))]));
      const headers = await scene.start(config)?.onRequestHeaders?.(headersOf({ x: '1' }));
      expect(headers?.get('by')).toEqual(by);
    },
  );

  it('can be nested in itself', async () => {
    const inner = composite(list([equals('y', '1'), run(mark('b'))]));
    const config = composite(list([x1, run(mark('a', { only: 'headers' }), inner, mark('c'))]));
    const filter = scene.start(config);
    const headers = await filter?.onRequestHeaders?.(headersOf({ x: '1', y: '1' }));
    expect(headers?.get('by')).toEqual(['a', 'b', 'c']);
    expect(String(await filter?.onRequestMessage?.(Buffer.from('>')))).toBe('>bc');
    expect(filter?.onStatus?.(statusOf(Status.OK, '=')).details).toBe('=cb');
  });

  it('lets nested filters fail the call and end with it', async () => {
    const delay = { fixed_delay: '10s', percentage: { numerator: 100 } };
    const filter = scene.start(composite(list([x1, run(fault({ delay }), mark('a'))])));
    const pending = filter?.onRequestHeaders?.(headersOf({ x: '1' }));
    expect(pending).toBeInstanceOf(Promise);
    expect([scene.activeFaults.count, scene.clock.pendingTimers]).toEqual([1, 1]);
    filter?.onStatus?.(statusOf(Status.CANCELLED));
    expect([scene.activeFaults.count, scene.clock.pendingTimers]).toEqual([0, 0]);

    const abort = { grpc_status: 9, percentage: { numerator: 100 } };
    const failing = scene.start(composite(list([x1, run(mark('a'), fault({ abort }))])));
    expect(await failureOf(() => failing?.onRequestHeaders?.(headersOf({ x: '1' })))).toBe(
      '9: Aborted by fault injection: HTTP filter "n1": see its config in the listener or route',
    );
    expect(failing?.onStatus?.(statusOf(9, 'as told'))).toMatchObject({
      code: 9,
      details:
        'Aborted by fault injection: HTTP filter "n1": see its config in the listener or routea',
    });
  });

  it('prepares nested filters once', () => {
    const config = toAny(composite(list([x1, run(fault({ abort: { grpc_status: 1 } }))])));
    const parsed = scene.registry.parseConfig(config, Violations.root());
    if (parsed === undefined) throw new Error('The config is valid');
    const prepare = jest.spyOn(scene.registry, 'prepare');
    const factory = scene.registry.prepare(parsed, undefined);
    for (let i = 0; i < 3; i++) {
      void factory?.create(callWith(), 'f')?.onRequestHeaders?.(headersOf({ x: '1' }));
    }
    expect(prepare).toHaveBeenCalledTimes(2);
  });
});

describe('a composite filter is rejected', () => {
  const scene = new Scene();
  const AT = 'xds_matcher.matcher_list.matchers[0].on_match.action.typed_config';

  it.each<[string, Json, readonly string[]]>([
    [
      'without the filter it is about',
      { '@type': composite()['@type'] },
      ['extension_config.typed_config: field not present'],
    ],
    [
      'for another filter',
      { ...composite(), extension_config: { name: 'r', typed_config: router } },
      [
        'extension_config.typed_config: must be envoy.extensions.filters.http.composite.v3.Composite, not envoy.extensions.filters.http.router.v3.Router',
      ],
    ],
    [
      'with an action of another type',
      composite(list([x1, action(router)])),
      [
        `${AT}: must be envoy.extensions.filters.http.composite.v3.ExecuteFilterAction or envoy.extensions.filters.common.matcher.action.v3.SkipFilter, not envoy.extensions.filters.http.router.v3.Router`,
      ],
    ],
    ['with an empty action', composite(list([x1, { action: {} }])), [`${AT}: field not present`]],
    [
      'with nothing to run',
      composite(list([x1, action(execute({ sample_percent: {} }))])),
      [
        `${AT}: must have typed_config or filter_chain`,
        `${AT}.sample_percent.default_value: field not present`,
      ],
    ],
    [
      'with a share of an unknown unit',
      composite(
        list([
          x1,
          action(
            execute({
              filter_chain: {},
              sample_percent: { default_value: { numerator: 1, denominator: 7 } },
            }),
          ),
        ]),
      ),
      [
        `${AT}.sample_percent.default_value.denominator: must be HUNDRED, TEN_THOUSAND or MILLION, not 7`,
      ],
    ],
    [
      'with invalid filters',
      composite(
        list([
          x1,
          run(router, fault({ abort: { grpc_status: 17 } }), {
            '@type': `${TYPE}/google.protobuf.Struct`,
            value: {},
          }),
        ]),
      ),
      [
        `${AT}.filter_chain.typed_config[0].typed_config: terminal filter envoy.extensions.filters.http.router.v3.Router must not be nested`,
        `${AT}.filter_chain.typed_config[1].typed_config.abort.grpc_status: must not exceed 16, but is 17`,
        `${AT}.filter_chain.typed_config[2].typed_config: unsupported HTTP filter google.protobuf.Struct`,
      ],
    ],
    [
      'with a filter without config',
      composite(list([x1, action(execute({ typed_config: { name: 'n' } }))])),
      [`${AT}.typed_config.typed_config: field not present`],
    ],
    [
      'as a TypedStruct',
      {
        '@type': `${TYPE}/xds.type.v3.TypedStruct`,
        type_url: composite()['@type'],
        value: {},
      },
      [
        'must be a envoy.extensions.common.matching.v3.ExtensionWithMatcher itself, not a TypedStruct that stands for one',
      ],
    ],
  ])('%s', (_case, config, expected) => {
    expect(scene.violations(config)).toEqual(expected);
  });

  it('with more than eight nested filters', () => {
    const deep = (levels: number): Json =>
      levels === 1 ? mark('a') : composite(list([x1, run(deep(levels - 1))]));
    expect(scene.prepare(deep(8))).toBeDefined();
    const path = `${AT}.filter_chain.typed_config[0].typed_config`;
    expect(scene.violations(deep(9))).toEqual([
      `${Array.from({ length: 8 }, () => path).join('.')}: more than 8 filters inside one another`,
    ]);
  });

  it('in an override for the same reasons', () => {
    expect(scene.overrideViolations(compositeOverride(tree({}).matcher as Json))).toEqual([
      'xds_matcher: must have matcher_list or matcher_tree',
    ]);
  });

  it('with a filter that only servers can run, but not in an override, whose calls fail', () => {
    const guard = defineHttpFilter({
      configTypes: ['acme.Guard'],
      parseConfig: () => undefined,
      createServerFilter: () => undefined,
    });
    scene.registry.register(guard);
    const matcher = list([x1, run({ ...mark('g'), type_url: 'acme.Guard' })]);
    expect(scene.violations(composite(matcher))).toEqual([
      `${AT}.filter_chain.typed_config[0].typed_config: unsupported HTTP filter acme.Guard`,
    ]);
    const call = scene.start(composite(), compositeOverride(matcher));
    // An exception of a filter fails its call with INTERNAL.
    expect(() => call?.onRequestHeaders?.(headersOf({ x: '1' }))).toThrow(
      'The HTTP filter of acme.Guard is only for servers',
    );
  });

  it('with a config of another filter', () => {
    const filter = createCompositeFilter({ filters: scene.registry, random: () => 0, meter });
    expect(() => filter.prepare({ configType: 'acme.Other' }, undefined)).toThrow(
      'A config of type acme.Other was not parsed by its filter',
    );
  });
});
