import type { ClientFilter } from '../../src/http-filters/client-filter';
import { HttpFilterRegistry } from '../../src/http-filters/registry';
import { routerFilter } from '../../src/http-filters/router/router-filter';
import type { ServerHttpFilter } from '../../src/http-filters/server-filter';
import type { HttpFilterConfig } from '../../src/resources/extension-points';
import type { ExtensionConfig } from '../../src/resources/shared/extension-parser';
import { Violations } from '../../src/util/violations';
import { encodeMessage } from '../resources/decode-json';

/** What {@link customFilter} was given. */
interface CustomConfig extends HttpFilterConfig {
  readonly given: ExtensionConfig;
  readonly isOverride: boolean;
}

/** A filter of an application, with another message for overrides. */
const customFilter: ClientFilter = {
  configTypes: ['acme.Filter', 'constructor'],
  overrideTypes: ['acme.FilterPerRoute'],
  isTerminal: false,
  parseConfig: (given): CustomConfig => ({ configType: given.typeName, given, isOverride: false }),
  parseOverride: (given): CustomConfig => ({ configType: given.typeName, given, isOverride: true }),
  prepare: () => undefined,
};
const ROUTER = 'envoy.extensions.filters.http.router.v3.Router';
const registry = new HttpFilterRegistry([customFilter, routerFilter]);
const any = (typeName: string, value: Uint8Array = new Uint8Array(0)) => ({
  typeUrl: `type.googleapis.com/${typeName}`,
  value,
});

describe('the registry of HTTP filters', () => {
  it('supports the types of configs and those of overrides', () => {
    expect(
      ['acme.Filter', 'acme.FilterPerRoute', ROUTER, 'acme.Other'].map((type) => [
        registry.isSupported(type),
        registry.isOverrideSupported(type),
        registry.isTerminal(type),
      ]),
    ).toEqual([
      [true, false, false],
      [false, true, false],
      [true, true, true],
      [false, false, false],
    ]);
  });

  it('does not support a filter that only servers can run, but reads its configs and overrides', () => {
    const { configTypes, overrideTypes, isTerminal, parseConfig, parseOverride } = customFilter;
    const parts = { configTypes, overrideTypes, isTerminal, parseConfig, parseOverride };
    const sut = new HttpFilterRegistry([parts]);
    expect(sut.isSupported('acme.Filter')).toBe(false);
    expect(sut.isOverrideSupported('acme.FilterPerRoute')).toBe(true);
    const config = sut.parseConfig(any('acme.Filter'), Violations.root());
    expect(config?.configType).toBe('acme.Filter');
    expect(() => config && sut.prepare(config, undefined)).toThrow(
      'The HTTP filter of acme.Filter is only for servers',
    );
  });

  it('supports for servers what servers can run, and creates their filters', () => {
    const created: unknown[] = [];
    const filter = { onRequest: () => undefined };
    const guard: ServerHttpFilter = {
      configTypes: ['acme.Guard'],
      overrideTypes: ['acme.Guard'],
      isTerminal: false,
      parseConfig: ({ typeName }) => ({ configType: typeName }),
      parseOverride: ({ typeName }) => ({ configType: typeName }),
      createServerFilter(...args) {
        created.push(args);
        return filter;
      },
    };
    const sut = new HttpFilterRegistry([customFilter, routerFilter, guard]);
    const types = ['acme.Guard', 'acme.Filter', ROUTER, 'acme.Other'];
    expect(types.map((type) => sut.isSupported(type))).toEqual([false, true, true, false]);
    const { forServers } = sut;
    expect(types.map((type) => forServers.isSupported(type))).toEqual([true, false, true, false]);
    expect(forServers.isTerminal(ROUTER)).toBe(true);
    expect(forServers.isOverrideSupported('acme.FilterPerRoute')).toBe(true);
    const config = forServers.parseConfig(any('acme.Guard'), Violations.root());
    const override = forServers.parseOverride(any('acme.Guard'), Violations.root());
    const ofClients = sut.parseConfig(any('acme.Filter'), Violations.root());
    const router = sut.parseConfig(any(ROUTER), Violations.root());
    if (!config || !override || !ofClients || !router) throw new Error('rejected');
    expect(sut.isOverrideOf(override, config)).toBe(true);
    expect(sut.createServerFilter(config, override, 'guard')).toBe(filter);
    expect(created).toEqual([[config, override, 'guard']]);
    expect(sut.createServerFilter(router, undefined, 'router')).toBeUndefined();
    expect(() => sut.createServerFilter(ofClients, undefined, 'x')).toThrow(
      'The HTTP filter of acme.Filter is only for clients',
    );
  });

  it('does not support names of object members', () => {
    expect(
      ['constructor', '__proto__', 'toString'].map((type) => registry.isSupported(type)),
    ).toEqual([true, false, false]);
  });

  it('passes each config to its filter', () => {
    const value = Uint8Array.of(1);
    expect(registry.parseConfig(any('acme.Filter', value), Violations.root())).toEqual({
      configType: 'acme.Filter',
      given: { kind: 'message', typeName: 'acme.Filter', bytes: value },
      isOverride: false,
    });
    expect(registry.parseOverride(any('acme.FilterPerRoute', value), Violations.root())).toEqual({
      configType: 'acme.FilterPerRoute',
      given: { kind: 'message', typeName: 'acme.FilterPerRoute', bytes: value },
      isOverride: true,
    });
  });

  it('passes a TypedStruct to the filter of its type, as JSON', () => {
    const value = encodeMessage('xds.type.v3.TypedStruct', {
      type_url: 'type.googleapis.com/acme.Filter',
      value: { rate: 3 },
    });
    const config = any('xds.type.v3.TypedStruct', value);
    expect(registry.parseConfig(config, Violations.root())).toEqual({
      configType: 'acme.Filter',
      given: { kind: 'json', typeName: 'acme.Filter', json: { rate: 3 } },
      isOverride: false,
    });
  });

  it('rejects unregistered types and malformed configs', () => {
    const violations = Violations.root();
    expect([
      registry.parseConfig(any('acme.FilterPerRoute'), violations.at('a')),
      registry.parseOverride(any('acme.Filter'), violations.at('b')),
      registry.parseConfig(any(''), violations.at('c')),
      registry.parseOverride(
        any('udpa.type.v1.TypedStruct', Uint8Array.of(0x0a)),
        violations.at('d'),
      ),
    ]).toEqual([undefined, undefined, undefined, undefined]);
    expect(violations.all).toEqual([
      'a: unsupported HTTP filter acme.FilterPerRoute',
      'b: unsupported HTTP filter override acme.Filter',
      'c: must have a type',
      'd: malformed message: premature EOF',
    ]);
  });

  it('replaces a filter by a later registration', () => {
    const other: ClientFilter = { ...customFilter, isTerminal: true };
    const replaced = new HttpFilterRegistry([customFilter]);
    replaced.register(other);
    expect(replaced.isTerminal('acme.Filter')).toBe(true);
  });

  it('ignores a default whose types are registered in part', () => {
    const isTerminal = (types: Partial<ClientFilter>) => {
      const filled = new HttpFilterRegistry([customFilter]);
      filled.registerDefault({ ...customFilter, ...types, isTerminal: true });
      return ['acme.Filter', 'acme.New'].map((type) => filled.isTerminal(type));
    };
    expect([
      isTerminal({}),
      isTerminal({ configTypes: ['acme.New'] }),
      isTerminal({ configTypes: ['acme.New'], overrideTypes: [] }),
    ]).toEqual([
      [false, false],
      [false, false],
      [false, true],
    ]);
  });

  it('prepares a config once, by the filter that parsed it', () => {
    const prepared: unknown[] = [];
    const filter: ClientFilter = {
      ...customFilter,
      prepare(config, override) {
        prepared.push([config, override]);
        return undefined;
      },
    };
    const sut = new HttpFilterRegistry([filter]);
    const config = sut.parseConfig(any('acme.Filter'), Violations.root());
    const override = sut.parseOverride(any('acme.FilterPerRoute'), Violations.root());
    if (config === undefined || override === undefined) throw new Error('Both are valid');
    const other: ClientFilter = { ...customFilter, prepare: () => assertUnused() };
    sut.register(other);
    for (let i = 0; i < 2; i++) {
      sut.prepare(config, undefined);
      sut.prepare(config, override);
    }
    expect(prepared).toEqual([
      [config, undefined],
      [config, override],
    ]);
    const later = sut.parseOverride(any('acme.FilterPerRoute'), Violations.root());
    expect([override, later].map((o) => o && sut.isOverrideOf(o, config))).toEqual([true, false]);
  });

  it('prepares a config that was not parsed by the filter of its type, if there is one', () => {
    expect(registry.prepare({ configType: ROUTER }, undefined)).toBeUndefined();
    expect(() => registry.prepare({ configType: 'acme.Other' }, undefined)).toThrow(
      'There is no HTTP filter for acme.Other',
    );
  });
});

function assertUnused(): never {
  throw new Error('This filter made no config');
}
