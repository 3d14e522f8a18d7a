import { CallCredentials, Metadata } from '../../../src/grpc-js';
import {
  FilterStates,
  type CallRouting,
  type FoundMetadata,
} from '../../../src/http-filters/client-filter';
import {
  createGcpAuthnFilter,
  GCP_AUTHN,
  GcpAuthnConfig,
} from '../../../src/http-filters/gcp-authn/gcp-authn-filter';
import { HttpFilterRegistry } from '../../../src/http-filters/registry';
import { routerFilter } from '../../../src/http-filters/router/router-filter';
import type { MetadataValue, ResourceMetadata } from '../../../src/resources/cluster/cluster';
import { err, ok, type Result } from '../../../src/util/result';
import { Violations } from '../../../src/util/violations';
import { encodeMessage } from '../../resources/decode-json';
import type { Json } from '../../support/xds-json';
import { callWith, failureOf } from '../calls';

/** The audiences that credentials were created for. */
let created: string[];
const audienceOf = new Map<CallCredentials, string>();
const filter = createGcpAuthnFilter((audience) => {
  created.push(audience);
  const credentials = CallCredentials.createFromMetadataGenerator((_options, callback) =>
    callback(null, new Metadata()),
  );
  audienceOf.set(credentials, audience);
  return credentials;
});
const registry = new HttpFilterRegistry([filter, routerFilter]);

beforeEach(() => {
  created = [];
});

/** What a call knows of its channel. */
class Routing implements CallRouting {
  readonly target = 'xds:///a';
  readonly added: (string | undefined)[] = [];

  constructor(
    private readonly metadata: FoundMetadata | Promise<FoundMetadata>,
    readonly states = new FilterStates(),
  ) {}

  clusterMetadata(): FoundMetadata | Promise<FoundMetadata> {
    return this.metadata;
  }

  match(): never {
    throw new Error('The filter matches no headers');
  }

  reportError(where: string): never {
    throw new Error(where);
  }

  startChild(): never {
    throw new Error('The filter calls nothing');
  }

  count(): never {
    throw new Error('The filter counts nothing');
  }

  addCallCredentials(credentials: CallCredentials): void {
    this.added.push(audienceOf.get(credentials));
  }
}

const audience = (url: string): MetadataValue => ({ kind: 'audience', url });
const metadataOf = (values: Record<string, MetadataValue>) => ok(new Map(Object.entries(values)));

/** Runs the filter `authn` on a call. @returns the audiences whose credentials were added. */
function run(routing: Routing, cacheSize = 10, override?: GcpAuthnConfig) {
  const factory = filter.prepare(new GcpAuthnConfig(cacheSize), override);
  const headers = new Metadata();
  const call = { ...callWith(headers), routing };
  expect(factory?.create(call, 'authn')?.onRequestHeaders?.(headers)).toBe(headers);
  return routing.added;
}

describe('the GCP authentication filter', () => {
  it('adds the credentials for the audience under its name in the metadata of the cluster', () => {
    const metadata = metadataOf({ authn: audience('a'), other: audience('b') });
    expect(run(new Routing(metadata))).toEqual(['a']);
    expect(created).toEqual(['a']);
  });

  it.each<[string, Result<ResourceMetadata | undefined, string>]>([
    ['no metadata', ok(undefined)],
    ['an audience of another filter only', metadataOf({ other: audience('b') })],
  ])('does nothing for a cluster with %s', (_case, metadata) => {
    expect(run(new Routing(metadata))).toEqual([]);
    expect(created).toEqual([]);
  });

  it.each<[string, Result<ResourceMetadata | undefined, string>, string]>([
    ['is not in the config', err('not part of the xDS config'), 'not part of the xDS config'],
    [
      'has JSON in place of an audience',
      metadataOf({ authn: { kind: 'json', json: { url: 'a' } } }),
      'its metadata "authn" is not an Audience',
    ],
    [
      'has an address in place of an audience',
      metadataOf({ authn: { kind: 'address', address: { host: '::1', port: 1 } } }),
      'its metadata "authn" is not an Audience',
    ],
  ])('fails calls to a cluster that %s', async (_case, metadata, reason) => {
    const routing = new Routing(metadata);
    expect(await failureOf(() => run(routing))).toBe(
      `14: GCP authentication: Cluster "echo": ${reason}`,
    );
    expect(routing.added).toEqual([]);
  });

  it.each<[string, Result<ResourceMetadata | undefined, string>, readonly string[]]>([
    ['has an audience', metadataOf({ authn: audience('a') }), ['a']],
    ['has none', ok(undefined), []],
  ])('waits for a cluster that is late and %s', async (_case, metadata, added) => {
    let settle: (metadata: Result<ResourceMetadata | undefined, string>) => void = () => {};
    const routing = new Routing(
      new Promise((resolve) => {
        settle = resolve;
      }),
    );
    const headers = new Metadata();
    const factory = filter.prepare(new GcpAuthnConfig(10), undefined);
    const held = factory
      ?.create({ ...callWith(headers), routing }, 'authn')
      ?.onRequestHeaders?.(headers);
    expect(routing.added).toEqual([]);
    settle(metadata);
    expect(await held).toBe(headers);
    expect(routing.added).toEqual(added);
  });

  it('fails a call whose late cluster cannot be used', async () => {
    const routing = new Routing(Promise.resolve(err('no such resource')));
    const headers = new Metadata();
    const created = filter
      .prepare(new GcpAuthnConfig(10), undefined)
      ?.create({ ...callWith(headers), routing }, 'authn');
    expect(await failureOf(() => created?.onRequestHeaders?.(headers))).toBe(
      '14: GCP authentication: Cluster "echo": no such resource',
    );
  });

  it('does nothing for a call that belongs to no channel', () => {
    const headers = new Metadata();
    const call = filter.prepare(new GcpAuthnConfig(1), undefined)?.create(callWith(), 'authn');
    expect(call?.onRequestHeaders?.(headers)).toBe(headers);
  });

  it('keeps the credentials of the audiences used last, over calls and configs', () => {
    const states = new FilterStates();
    const call = (url: string, size: number) =>
      run(new Routing(metadataOf({ authn: audience(url) }), states), size);
    for (const url of ['a', 'b', 'a', 'c']) call(url, 2);
    expect(created).toEqual(['a', 'b', 'c']);
    call('a', 2);
    expect(created).toHaveLength(3);
    call('b', 3);
    for (const url of ['a', 'b', 'c']) call(url, 3);
    expect(created).toEqual(['a', 'b', 'c', 'b']);
    // The size of a new config applies at once.
    call('a', 1);
    expect(created).toHaveLength(4);
    call('c', 1);
    expect(created).toEqual(['a', 'b', 'c', 'b', 'c']);
  });

  it('ignores overrides', () => {
    const states = new FilterStates();
    for (const url of ['a', 'b', 'a']) {
      const routing = new Routing(metadataOf({ authn: audience(url) }), states);
      run(routing, 10, new GcpAuthnConfig(1));
    }
    expect(created).toEqual(['a', 'b']);
  });
});

describe('the config of the GCP authentication filter', () => {
  function parse(json: Json, kind: 'parseConfig' | 'parseOverride' = 'parseConfig') {
    const violations = Violations.root();
    const value = encodeMessage(GCP_AUTHN, json);
    const config = registry[kind](
      { typeUrl: `type.googleapis.com/${GCP_AUTHN}`, value },
      violations,
    );
    return config ?? violations.all;
  }

  it.each<[string, Json, number]>([
    ['nothing', {}, 10],
    ['a cache without a size', { cache_config: {} }, 10],
    ['a size', { cache_config: { cache_size: 3 } }, 3],
    ['a size beyond the maximum', { cache_config: { cache_size: 1001 } }, 1000],
    ['the largest size', { cache_config: { cache_size: '18446744073709551615' } }, 1000],
  ])('may have %s', (_case, json, size) => {
    expect(parse(json)).toEqual(new GcpAuthnConfig(size));
    expect(parse(json, 'parseOverride')).toEqual(new GcpAuthnConfig(size));
  });

  it('must not have a cache of size 0', () => {
    const violation = 'cache_config.cache_size: must be at least 1, not 0';
    expect(parse({ cache_config: { cache_size: 0 } })).toEqual([violation]);
    expect(parse({ cache_config: { cache_size: 0 } }, 'parseOverride')).toEqual([violation]);
  });
});
