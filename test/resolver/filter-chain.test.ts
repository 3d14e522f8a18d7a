import type { ClientFilter } from '../../src/http-filters/client-filter';
import { HttpFilterRegistry } from '../../src/http-filters/registry';
import { routerFilter } from '../../src/http-filters/router/router-filter';
import { compileFilterChain } from '../../src/resolver/filter-chain';
import type { HttpFilterConfig } from '../../src/resources/extension-points';
import type { HttpFilterInstance } from '../../src/resources/listener/listener';
import type {
  HttpFilterOverride,
  HttpFilterOverrides,
} from '../../src/resources/route-config/route-config';
import { Violations } from '../../src/util/violations';
import { callWith, failureOf } from '../http-filters/calls';

/** A config of one byte; a filter with byte 0 does nothing. */
class ByteConfig implements HttpFilterConfig {
  constructor(
    readonly configType: string,
    readonly byte: number,
  ) {}
}

const byteOf = (config: HttpFilterConfig | undefined) =>
  config instanceof ByteConfig ? config.byte : undefined;

/** A filter under its own type. */
function byteFilter(type: string): ClientFilter {
  const parse = ({ typeName, ...config }: Parameters<ClientFilter['parseConfig']>[0]) =>
    new ByteConfig(typeName, config.kind === 'message' ? (config.bytes[0] ?? 0) : 0);
  return {
    configTypes: [type],
    overrideTypes: [type],
    isTerminal: false,
    parseConfig: parse,
    parseOverride: parse,
    prepare: (config, override) =>
      byteOf(override ?? config) === 0
        ? undefined
        : { create: () => undefined, describe: () => [byteOf(config), byteOf(override)] },
  };
}

const registry = new HttpFilterRegistry([byteFilter('acme.A'), byteFilter('acme.B'), routerFilter]);

function parse(kind: 'parseConfig' | 'parseOverride', type: string, ...bytes: readonly number[]) {
  const value = Uint8Array.from(bytes);
  const config = registry[kind]({ typeUrl: `x/${type}`, value }, Violations.root());
  if (config === undefined) throw new Error(`${type} is not valid`);
  return config;
}

const filter = (name: string, byte: number, disabled = false): HttpFilterInstance => ({
  name,
  config: parse('parseConfig', 'acme.A', byte),
  disabled,
});
const router: HttpFilterInstance = {
  name: 'router',
  config: parse('parseConfig', 'envoy.extensions.filters.http.router.v3.Router'),
  disabled: false,
};
const override = (byte: number, disabled = false): HttpFilterOverride => ({
  config: parse('parseOverride', 'acme.A', byte),
  disabled,
});
const off: HttpFilterOverride = { config: undefined, disabled: true };
const none: HttpFilterOverrides = new Map();
const byName = (...entries: readonly (readonly [string, HttpFilterOverride])[]) => new Map(entries);

/** The chain as `name [config, override]`. */
function compile(
  filters: readonly HttpFilterInstance[],
  ...overrides: readonly HttpFilterOverrides[]
): readonly string[] {
  return compileFilterChain(
    { filters, preparer: registry },
    overrides.map((filterOverrides) => ({ filterOverrides })),
  ).map(({ name, factory }) => `${name} ${JSON.stringify(factory.describe())}`);
}

describe('the filter chain of a route', () => {
  it('has the filters that do something, in order', () => {
    expect(compile([filter('a', 1), filter('idle', 0), filter('b', 2), router])).toEqual([
      'a [1,null]',
      'b [2,null]',
    ]);
  });

  it('is empty where there is only a router', () => {
    expect(compile([router], none, none)).toEqual([]);
  });

  it.each<[string, readonly HttpFilterOverrides[], readonly string[]]>([
    ['the virtual host', [none, none, byName(['a', override(9)])], ['a [1,9]']],
    ['the route', [none, byName(['a', override(8)]), byName(['a', override(9)])], ['a [1,8]']],
    [
      'the weighted cluster',
      [byName(['a', override(7)]), byName(['a', override(8)]), byName(['a', override(9)])],
      ['a [1,7]'],
    ],
    ['nobody, for an override of another name', [byName(['b', override(7)])], ['a [1,null]']],
    ['the route, with nothing to do', [none, byName(['a', override(0)])], []],
  ])('takes the override of %s', (_case, overrides, expected) => {
    expect(compile([filter('a', 1), router], ...overrides)).toEqual(expected);
  });

  it.each<[string, boolean, readonly HttpFilterOverrides[], readonly string[]]>([
    ['a disabled filter', true, [], []],
    ['a filter disabled by an override', false, [byName(['a', off])], []],
    [
      'a filter disabled by an override that has a config, too',
      false,
      [byName(['a', override(5, true)])],
      [],
    ],
    [
      'a filter whose route disables what its virtual host configures',
      false,
      [byName(['a', off]), byName(['a', override(5)])],
      [],
    ],
    ['a disabled filter whose override is disabled', true, [byName(['a', off])], []],
  ])('leaves out %s', (_case, disabled, overrides, expected) => {
    expect(compile([filter('a', 1, disabled), router], ...overrides)).toEqual(expected);
  });

  it('has a disabled filter that an override enables', () => {
    const filters = [filter('a', 1, true), router];
    expect(compile(filters, byName(['a', override(5)]))).toEqual(['a [1,5]']);
    expect(compile(filters, byName(['a', override(5)]), byName(['a', off]))).toEqual(['a [1,5]']);
  });

  it('accepts any name', () => {
    const filters = [filter('__proto__', 1), filter('constructor', 2), router];
    expect(compile(filters, none, byName(['constructor', override(5)]))).toEqual([
      '__proto__ [1,null]',
      'constructor [2,5]',
    ]);
  });

  it('fails the calls of a route whose override is that of another filter', async () => {
    const wrong = byName(['a', { config: parse('parseOverride', 'acme.B', 1), disabled: false }]);
    const [prepared] = compileFilterChain(
      { filters: [filter('a', 1), router], preparer: registry },
      [{ filterOverrides: wrong }],
    );
    const details = 'The override of HTTP filter "a" is acme.B, which does not fit acme.A';
    expect(await failureOf(() => prepared?.factory.create(callWith(), 'f'))).toBe(`14: ${details}`);
    expect(prepared?.factory.describe()).toEqual({ error: details });
  });

  it('makes a config ready once for all routes', () => {
    const filters = [filter('a', 1), router];
    const shared = byName(['a', override(5)]);
    const factoryOf = (...overrides: readonly HttpFilterOverrides[]) =>
      compileFilterChain(
        { filters, preparer: registry },
        overrides.map((filterOverrides) => ({ filterOverrides })),
      )[0]?.factory;
    expect(factoryOf(none)).toBe(factoryOf(none));
    expect(factoryOf(shared)).toBe(factoryOf(shared));
    expect(factoryOf(shared)).not.toBe(factoryOf(none));
  });
});
