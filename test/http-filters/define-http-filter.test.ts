import type { CallFilter, CallInfo } from '../../src/http-filters/call-filter';
import {
  defineHttpFilter,
  type FilterConfigInput,
  type HttpFilterDefinition,
} from '../../src/http-filters/define-http-filter';
import {
  processHttpFilters,
  registerHttpFilter,
  HttpFilterRegistry,
} from '../../src/http-filters/registry';
import { Violations } from '../../src/util/violations';
import { encodeMessage } from '../resources/decode-json';
import type { Json } from '../support/xds-json';
import { callWith } from './calls';
import { noNested } from '../support/no-nested-filters';

const QUOTA = 'acme.v1.Quota';
const struct = (value: Json, type = QUOTA) => ({
  typeUrl: 'type.googleapis.com/xds.type.v3.TypedStruct',
  value: encodeMessage('xds.type.v3.TypedStruct', {
    type_url: `type.googleapis.com/${type}`,
    value,
  }),
});
const message = (...bytes: readonly number[]) => ({
  typeUrl: `type.googleapis.com/${QUOTA}`,
  value: Uint8Array.from(bytes),
});

interface Quota {
  readonly max: number;
}

/** Something that is not for the compiler to look at. */
const anything = (value: unknown): never => value as never;

function parseQuota(input: FilterConfigInput): Quota {
  const max = input.kind === 'json' ? input.json['max'] : input.bytes[0];
  if (typeof max !== 'number') throw new Error('max: must be a number');
  return { max };
}

/** A definition whose filters show their config and override. */
function quota(change: Partial<HttpFilterDefinition<Quota>> = {}) {
  const made: (readonly [Quota, Quota | undefined, CallInfo])[] = [];
  const filter: CallFilter = {};
  const definition: HttpFilterDefinition<Quota> = {
    configTypes: [QUOTA],
    parseConfig: parseQuota,
    parseOverride: parseQuota,
    createCallFilter(config, override, call) {
      made.push([config, override, call]);
      return filter;
    },
    ...change,
  };
  return { made, filter, registry: new HttpFilterRegistry([defineHttpFilter(definition)]) };
}

function parse(
  registry: HttpFilterRegistry,
  kind: 'Config' | 'Override',
  value: ReturnType<typeof struct>,
) {
  const violations = Violations.root();
  const parsed = registry[`parse${kind}`](value, violations.at('typed_config'));
  if (parsed === undefined) throw new Error(violations.all.join('\n'));
  return parsed;
}

/** Everything wrong with a config. */
function violationsOf(
  change: Partial<HttpFilterDefinition<Quota>>,
  kind: 'Config' | 'Override' = 'Config',
): readonly string[] {
  const violations = Violations.root();
  const { registry } = quota(change);
  expect(registry[`parse${kind}`](struct({}), violations.at('typed_config'))).toBeUndefined();
  return violations.all;
}

describe('a filter that an application defines', () => {
  it('is created for each call from the parsed config', () => {
    const { registry, made, filter } = quota();
    const config = parse(registry, 'Config', struct({ max: 3 }));
    const override = parse(registry, 'Override', message(7));
    const call = callWith();
    expect(registry.prepare(config, undefined)?.create(call, 'f')).toBe(filter);
    expect(registry.prepare(config, override)?.create(call, 'f')).toBe(filter);
    expect(made).toEqual([
      [{ max: 3 }, undefined, call],
      [{ max: 3 }, { max: 7 }, call],
    ]);
    expect(made[0]?.[2]).toBe(call);
  });

  it('may skip a call', () => {
    const { registry } = quota({ createCallFilter: () => undefined });
    const config = parse(registry, 'Config', struct({ max: 3 }));
    expect(registry.prepare(config, undefined)?.create(callWith(), 'f')).toBeUndefined();
  });

  it('is called as a method of its definition', () => {
    class Definition implements HttpFilterDefinition<Quota> {
      readonly configTypes = [QUOTA];
      private readonly unit = 10;

      parseConfig(input: FilterConfigInput): Quota {
        return { max: parseQuota(input).max * this.unit };
      }

      parseOverride(input: FilterConfigInput): Quota {
        return this.parseConfig(input);
      }

      createCallFilter(): CallFilter {
        return {};
      }

      describe(config: Quota, override: Quota | undefined): unknown {
        return [config.max / this.unit, override?.max];
      }
    }
    const registry = new HttpFilterRegistry([defineHttpFilter(new Definition())]);
    const config = parse(registry, 'Config', struct({ max: 3 }));
    const override = parse(registry, 'Override', struct({ max: 4 }));
    expect(registry.prepare(config, override)?.describe()).toEqual([3, 40]);
    expect(registry.prepare(config, override)?.create(callWith(), 'f')).toEqual({});
  });

  it.each<[string, () => Quota, readonly string[]]>([
    [
      'with the message of an error',
      () => {
        throw new Error('max: must be a number');
      },
      ['typed_config: max: must be a number'],
    ],
    [
      'with each message of an aggregate',
      () => {
        throw new AggregateError([new Error('max: is missing'), 'unit: is missing'], 'unused');
      },
      ['typed_config: max: is missing', 'typed_config: unit: is missing'],
    ],
    [
      'with the message of an empty aggregate',
      () => {
        throw new AggregateError([], 'something is wrong');
      },
      ['typed_config: something is wrong'],
    ],
    [
      'without a message',
      () => {
        throw new Error();
      },
      ['typed_config: is invalid'],
    ],
    [
      'when it parses asynchronously',
      () => anything(Promise.reject(new Error('late'))),
      ['typed_config: the filter must parse its config at once, not return a promise'],
    ],
  ])('refuses a config %s', (_case, parseConfig, expected) => {
    expect(violationsOf({ parseConfig })).toEqual(expected);
    expect(violationsOf({ parseOverride: parseConfig }, 'Override')).toEqual(expected);
  });

  it('receives JSON unchanged, with any names', () => {
    const inputs: FilterConfigInput[] = [];
    const { registry } = quota({
      parseConfig(input) {
        inputs.push(input);
        return { max: 0 };
      },
    });
    const value: Json = { ['__proto__']: { polluted: true }, constructor: [1, null, 'a', false] };
    parse(registry, 'Config', struct(value));
    expect(inputs).toHaveLength(1);
    const [input] = inputs;
    if (input?.kind !== 'json') throw new Error('A TypedStruct is JSON');
    expect(input.typeName).toBe(QUOTA);
    expect(Object.keys(input.json).sort()).toEqual(['__proto__', 'constructor']);
    expect(input.json['constructor']).toEqual([1, null, 'a', false]);
    expect('polluted' in {}).toBe(false);
  });

  it('describes the received config by default', () => {
    const { registry } = quota();
    const config = parse(registry, 'Config', struct({ max: 3 }));
    const override = parse(registry, 'Override', message(7));
    expect(registry.prepare(config, undefined)?.describe()).toEqual({ config: { max: 3 } });
    expect(registry.prepare(config, override)?.describe()).toEqual({
      config: { max: 3 },
      override: { type: QUOTA, bytes: 'Bw==' },
    });
  });

  it('may have other types and values for overrides', () => {
    const registry = new HttpFilterRegistry([
      defineHttpFilter<Quota, string>({
        configTypes: [`type.googleapis.com/${QUOTA}`],
        overrideTypes: ['acme.v1.QuotaOff'],
        parseConfig: parseQuota,
        parseOverride: ({ typeName }) => typeName,
        createCallFilter: () => undefined,
        describe: (config, override) => ({ config, override }),
      }),
    ]);
    const config = parse(registry, 'Config', struct({ max: 3 }));
    const override = parse(registry, 'Override', struct({}, 'acme.v1.QuotaOff'));
    expect(registry.isOverrideSupported(QUOTA)).toBe(false);
    expect(registry.isOverrideOf(override, config)).toBe(true);
    expect(registry.prepare(config, override)?.describe()).toEqual({
      config: { max: 3 },
      override: 'acme.v1.QuotaOff',
    });
  });

  it('rejects overrides without a parser for them', () => {
    const filter = defineHttpFilter({
      configTypes: [QUOTA],
      parseConfig: parseQuota,
      createCallFilter: () => undefined,
    });
    expect(filter.overrideTypes).toEqual([]);
    const violations = Violations.root();
    const input = { kind: 'json', typeName: QUOTA, json: {} } as const;
    expect(filter.parseOverride(input, violations, noNested)).toBeUndefined();
    expect(violations.all).toEqual([`the HTTP filter ${QUOTA} cannot be overridden`]);
  });

  it('rejects configs of other filters', () => {
    const { registry } = quota();
    const config = parse(registry, 'Config', struct({ max: 3 }));
    const another = defineHttpFilter({
      configTypes: [QUOTA],
      parseConfig: parseQuota,
      createCallFilter: () => undefined,
    });
    expect(() => another.prepare?.(config, undefined)).toThrow(
      `A config of type ${QUOTA} was not parsed by its filter`,
    );
  });

  it('cannot create filters asynchronously', () => {
    const createCallFilter = () => anything(Promise.reject(new Error('late')));
    const { registry } = quota({ createCallFilter });
    const config = parse(registry, 'Config', struct({ max: 3 }));
    expect(() => registry.prepare(config, undefined)?.create(callWith(), 'f')).toThrow(
      'createCallFilter must not return a promise',
    );
  });

  it.each<[string, Partial<HttpFilterDefinition<Quota>>, string]>([
    ['no types', { configTypes: [] }, 'configTypes'],
    ['an empty type', { configTypes: [QUOTA, ''] }, 'configTypes'],
    ['no types of overrides', { overrideTypes: [] }, 'overrideTypes'],
  ])('cannot have %s', (_case, change, field) => {
    expect(() => quota(change)).toThrow(
      `grpc-xds: registerHttpFilter() needs ${field} that are names of types`,
    );
  });
});

describe('registerHttpFilter', () => {
  it('registers a filter in the process, in place of an earlier one', () => {
    const definition = {
      configTypes: ['acme.v1.Known'],
      parseConfig: parseQuota,
      createCallFilter: () => undefined,
    };
    expect(processHttpFilters.isSupported('acme.v1.Known')).toBe(false);
    registerHttpFilter({ ...definition, describe: () => 'first' });
    const first = parse(processHttpFilters, 'Config', struct({ max: 1 }, 'acme.v1.Known'));
    registerHttpFilter({ ...definition, describe: () => 'second' });
    const second = parse(processHttpFilters, 'Config', struct({ max: 1 }, 'acme.v1.Known'));
    // What the first one parsed is still its own.
    expect(
      [first, second].map((config) => processHttpFilters.prepare(config, undefined)?.describe()),
    ).toEqual(['first', 'second']);
  });

  it('does not replace the router', () => {
    const ROUTER = 'envoy.extensions.filters.http.router.v3.Router';
    expect(() =>
      registerHttpFilter({
        configTypes: [ROUTER],
        parseConfig: parseQuota,
        createCallFilter: () => undefined,
      }),
    ).toThrow(`${ROUTER} cannot be replaced`);
    expect(processHttpFilters.isTerminal(ROUTER)).toBe(true);
  });
});
