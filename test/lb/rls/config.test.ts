import { parseRlsConfig, validateLookup } from '../../../src/lb/rls/config';
import { parseRlsPlugin } from '../../../src/lb/rls/plugin';
import { CdsConfig } from '../../../src/lb/cds/config';
import { Violations } from '../../../src/util/violations';
import {
  RouteLookupClusterSpecifier,
  RouteLookupConfig,
} from '../../../src/wire/generated/grpc/lookup/v1/rls_config';
import { parseWith, stubConfig } from '../../support/lb-config-parser';

const SPECIFIER = 'grpc.lookup.v1.RouteLookupClusterSpecifier';

const lookupConfig = (changes: object = {}) => ({
  grpcKeybuilders: [{ names: [{ service: 's' }] }],
  lookupService: 'lookup.test:443',
  cacheSizeBytes: '1000',
  ...changes,
});

const policy = (changes: object = {}, lookup: object = {}) => ({
  routeLookupConfig: lookupConfig(lookup),
  childPolicy: [{ stub: {} }],
  childPolicyConfigTargetFieldName: 'target',
  ...changes,
});

const parse = (json: unknown) => parseWith(parseRlsConfig, json);

/** The result of a config with these fields; what is wrong with it if it is not valid. */
function read(lookup: object, changes: object = {}) {
  const { config, violations } = parse(policy(changes, lookup));
  return config?.lookup ?? violations;
}

describe('the config of rls', () => {
  it('has defaults', () => {
    expect(read({})).toMatchObject({
      lookupService: 'lookup.test:443',
      timeoutMs: 10_000,
      maxAgeMs: 300_000,
      staleAgeMs: 300_000,
      cacheSizeBytes: 1000,
      defaultTarget: '',
    });
  });

  it.each<[string, object, object]>([
    ['a timeout', { lookupServiceTimeout: '1.5s' }, { timeoutMs: 1500 }],
    ['names of fields in snake case', { lookup_service_timeout: '2s' }, { timeoutMs: 2000 }],
    ['a timeout of 0 as absent', { lookupServiceTimeout: '0s' }, { timeoutMs: 10_000 }],
    ['ages', { maxAge: '60s', staleAge: '50s' }, { maxAgeMs: 60_000, staleAgeMs: 50_000 }],
    ['a max_age beyond 5 minutes', { maxAge: '301s' }, { maxAgeMs: 300_000, staleAgeMs: 300_000 }],
    [
      'a max_age beyond 5 minutes with a stale_age',
      { maxAge: '600s', staleAge: '400s' },
      { maxAgeMs: 600_000, staleAgeMs: 300_000 },
    ],
    [
      'a stale_age beyond max_age',
      { maxAge: '10s', staleAge: '20s' },
      { maxAgeMs: 10_000, staleAgeMs: 10_000 },
    ],
    ['a cache beyond 5 MiB', { cacheSizeBytes: 6_000_000 }, { cacheSizeBytes: 5_242_880 }],
    ['a default target', { defaultTarget: 'd' }, { defaultTarget: 'd' }],
    ['what is ignored', { validTargets: 'x', httpKeybuilders: 5 }, { cacheSizeBytes: 1000 }],
  ])('takes %s', (_what, lookup, expected) => {
    expect(read(lookup)).toMatchObject(expected);
  });

  it.each<[string, object, readonly string[]]>([
    ['no lookup service', { lookupService: '' }, ['lookup_service: must not be empty']],
    [
      'a cache of no size',
      { cacheSizeBytes: 0 },
      ['cacheSizeBytes: must be a whole number from 1 to 9007199254740991'],
    ],
    ['a stale_age alone', { staleAge: '10s' }, ['stale_age: needs max_age']],
    [
      'a timeout that is none',
      { lookupServiceTimeout: '-1s' },
      ['lookupServiceTimeout: must be a duration that is not negative, such as "1.5s"'],
    ],
    ['no key builder', { grpcKeybuilders: [] }, ['grpc_keybuilders: must not be empty']],
    [
      'key builders that are none',
      { grpcKeybuilders: [{ names: [{ service: 5 }], headers: [{ key: 'k', names: [1] }] }] },
      [
        'grpcKeybuilders[0].names[0].service: must be a string',
        'grpcKeybuilders[0].headers[0].names[0]: must be a string',
      ],
    ],
  ])('refuses %s', (_what, lookup, expected) => {
    expect(read(lookup)).toEqual(expected.map((text) => `routeLookupConfig.${text}`));
  });

  it.each<[string, object, readonly string[]]>([
    [
      'a child policy that is not supported',
      { childPolicy: [{ unknown: {} }] },
      ['childPolicy: names no supported load-balancing policy, only unknown'],
    ],
    ['no child policy', { childPolicy: undefined }, [expect.stringMatching(/^childPolicy: must/)]],
    [
      'no field for the target',
      { childPolicyConfigTargetFieldName: '' },
      ['childPolicyConfigTargetFieldName: must not be empty'],
    ],
    [
      'a service config that grpc-js refuses',
      { routeLookupChannelServiceConfig: { loadBalancingConfig: 5 } },
      [expect.stringMatching(/^routeLookupChannelServiceConfig: /)],
    ],
  ])('refuses %s', (_what, changes, expected) => {
    expect(read({}, changes)).toEqual(expected);
  });

  it('gives each child its target, and the channel its service config', () => {
    const { config } = parse(policy({ routeLookupChannelServiceConfig: { methodConfig: [] } }));
    expect(config?.channelServiceConfig).toBe('{"methodConfig":[]}');
    expect(config?.targets.of('a')).toEqual({ ok: true, value: stubConfig });
    const same = parse(policy()).config;
    expect(config?.targets.equals(same?.targets)).toBe(true);
    const other = parse(policy({ childPolicy: [{ stub: { a: 1 } }] })).config;
    expect(config?.targets.equals(other?.targets)).toBe(false);
  });
});

describe('a key builder', () => {
  const builder = (changes: object) => ({
    grpcKeybuilders: [{ names: [{ service: 's' }], ...changes }],
  });

  it.each<[string, object, readonly string[]]>([
    ['without a name', builder({ names: [] }), ['[0].names: must not be empty']],
    [
      'without a service',
      builder({ names: [{ method: 'm' }] }),
      ['[0].names[0].service: must not be empty'],
    ],
    [
      'whose method has a slash',
      builder({ names: [{ service: 's', method: 'a/b' }] }),
      ['[0].names[0].method: must not contain a slash'],
    ],
    [
      'for a method that has one',
      { grpcKeybuilders: [1, 2].map(() => ({ names: [{ service: 's', method: 'm' }] })) },
      ['[1].names[0]: duplicate name "/s/m"'],
    ],
    [
      'with required_match',
      builder({ headers: [{ key: 'k', names: ['h'], requiredMatch: true }] }),
      ['[0].headers[0].required_match: must not be set'],
    ],
    [
      'with an empty key',
      builder({ headers: [{ names: ['h'] }], constantKeys: { '': 'v' } }),
      ['[0].headers[0].key: must not be empty', '[0].constant_keys[""]: must not be empty'],
    ],
    [
      'with the same key for a header and a constant',
      builder({ headers: [{ key: 'k', names: ['h'] }], constantKeys: { k: 'v' } }),
      ['[0].constant_keys["k"]: duplicate key "k"'],
    ],
    [
      'with the same key for two parts of the call',
      builder({ extraKeys: { host: 'k', method: 'k' } }),
      ['[0].extra_keys.method: duplicate key "k"'],
    ],
  ])('is refused %s', (_what, lookup, expected) => {
    const texts = expected.map((text) => `routeLookupConfig.grpc_keybuilders${text}`);
    expect(read(lookup)).toEqual(texts);
  });
});

describe('a RouteLookupClusterSpecifier', () => {
  const specifier = (routeLookupConfig?: object) => ({
    kind: 'message' as const,
    typeName: SPECIFIER,
    bytes: RouteLookupClusterSpecifier.encode(
      RouteLookupClusterSpecifier.fromPartial({ routeLookupConfig }),
    ).finish(),
  });
  const message = {
    grpcKeybuilders: [{ names: [{ service: 's', method: '' }] }],
    lookupService: 'lookup.test:443',
    lookupServiceTimeout: { seconds: 3n, nanos: 0 },
    cacheSizeBytes: 7n,
  };

  it('has clusters as children, which it subscribes to itself', () => {
    const config = parseRlsPlugin(specifier(message), Violations.root());
    expect(config?.lookup).toMatchObject({ timeoutMs: 3000, cacheSizeBytes: 7 });
    expect(config?.targets.of('c')).toEqual({ ok: true, value: new CdsConfig('c', true) });
  });

  it.each<[string, Parameters<typeof parseRlsPlugin>[0], string]>([
    ['without a config', specifier(), 'route_lookup_config: field not present'],
    [
      'with an invalid config',
      specifier({ ...message, cacheSizeBytes: 0n }),
      'route_lookup_config.cache_size_bytes: must be greater than 0',
    ],
    [
      'that is malformed',
      { kind: 'message', typeName: SPECIFIER, bytes: Uint8Array.of(0x0a) },
      'malformed message: premature EOF',
    ],
    [
      'in a TypedStruct',
      { kind: 'json', typeName: SPECIFIER, json: {} },
      `must be a ${SPECIFIER} itself, not a TypedStruct that stands for one`,
    ],
  ])('is refused %s', (_what, config, expected) => {
    const violations = Violations.root();
    expect(parseRlsPlugin(config, violations)).toBeUndefined();
    expect(violations.all).toEqual([expected]);
  });

  it('is refused with a negative duration', () => {
    const violations = Violations.root();
    const config = RouteLookupConfig.fromPartial({
      ...message,
      maxAge: { seconds: -1n, nanos: 0 },
    });
    expect(validateLookup(config, violations)).toBeUndefined();
    expect(violations.all).toEqual([expect.stringMatching(/^max_age\.seconds: /)]);
  });
});
