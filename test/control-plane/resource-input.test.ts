import { Client, credentials } from '@grpc/grpc-js';
import { once } from 'node:events';
import {
  DeltaDiscoveryRequest,
  DeltaDiscoveryResponse,
  DiscoveryRequest,
  DiscoveryResponse,
} from '../../src/wire/generated/envoy/service/discovery/v3/discovery';
import {
  checkConsistency,
  clusterKind,
  ControlPlane,
  endpointKind,
  listenerKind,
  otherResourceKind,
  parseResourceFile,
  Snapshot,
  type ResourceJson,
  type SnapshotInput,
} from '../../src/control-plane';
import { AdsClient } from './ads-client';
import { CDS, EDS, cluster, echo, endpoints, listener } from './resources';

const wrapper = 'type.googleapis.com/envoy.service.discovery.v3.Resource';
const collection = 'type.googleapis.com/envoy.config.endpoint.v3.LbEndpointCollection';

function problemsOf(input: SnapshotInput): readonly string[] {
  try {
    Snapshot.from(input);
    return [];
  } catch (error) {
    return error instanceof Error ? error.message.split('\n') : [];
  }
}

describe('a Resource wrapper', () => {
  const wrapped = (more: object, resource: object = cluster('a')): ResourceJson => ({
    '@type': wrapper,
    resource: { '@type': CDS, ...resource },
    ...more,
  });

  it('sets version, aliases and time to live', () => {
    const more = { version: 'v7', aliases: ['b', 'c'], ttl: '1.5s' };
    const snapshot = Snapshot.from({ clusters: [wrapped(more)] });
    const resource = snapshot.get(clusterKind, 'a');
    expect(resource).toMatchObject({ version: 'v7', aliases: ['b', 'c'], ttlMs: 1500 });
    const plain = Snapshot.from({ clusters: [cluster('a')] }).get(clusterKind, 'a');
    expect(resource?.value).toEqual(plain?.value);
    expect(snapshot.shortestTtlMs).toBe(1500);
  });

  it('is equal to the bare resource if it sets nothing', () => {
    const bare = Snapshot.from({ clusters: [cluster('a')] });
    const snapshot = bare.with({ clusters: [wrapped({ name: 'a' })] });
    expect(snapshot.get(clusterKind, 'a')).toBe(bare.get(clusterKind, 'a'));
  });

  it('changes the digest of the resource when its fields change', () => {
    const make = (more: object) =>
      Snapshot.from({ clusters: [wrapped(more)] }).set(clusterKind).version;
    const versions = [{}, { ttl: '1s' }, { ttl: '2s' }, { version: '1' }, { aliases: ['b'] }].map(
      make,
    );
    expect(new Set(versions).size).toBe(5);
    expect(make({ ttl: '1s' })).toBe(versions[1]);
  });

  it('has the same fields as an encoded resource', () => {
    const value = Buffer.from('not a cluster');
    const beside = { name: 'n', version: '1', aliases: ['m'], ttlMs: 20 };
    const snapshot = Snapshot.from({ clusters: [{ typeUrl: CDS, value, ...beside }] });
    expect(snapshot.get(clusterKind, 'n')).toMatchObject({ value, ...beside });
  });

  it.each([
    ['of another type', { resource: { '@type': EDS } }, 'resource.@type: expected'],
    ['with an unknown field', { tttl: '1s' }, 'unknown field "tttl"'],
    ['with a time to live of 0', { ttl: '0s' }, 'ttl: must be more than 0'],
    ['without a resource', { resource: 7 }, 'resource: expected an object, got 7'],
    [
      'with a mistake inside',
      { resource: { '@type': CDS, name: 'a', typ: 1 } },
      '("a"): resource: unknown field "typ"',
    ],
  ])('is rejected %s', (_what, more, message) => {
    const problems = problemsOf({ clusters: [wrapped(more)] });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(message);
  });

  it('is accepted in a resource file, with the lines of its problems', () => {
    const good = `
resources:
  - "@type": ${wrapper}
    ttl: 5s
    resource: { "@type": ${CDS}, name: a, type: EDS }
endpoints:
  - cluster_name: a
`;
    const parsed = parseResourceFile(good, 'f.yaml');
    expect(parsed.ok && parsed.value.get(clusterKind, 'a')?.ttlMs).toBe(5000);
    const bad = parseResourceFile(good.replace('cluster_name: a', 'cluster_name: b'), 'f.yaml');
    expect(bad.ok ? '' : bad.error.message).toBe(
      'f.yaml:5:79: cluster "a": name: endpoint assignment "a" is not in the snapshot',
    );
  });
});

describe('a resource of any type', () => {
  const name = 'xdstp://auth/envoy.config.endpoint.v3.LbEndpointCollection/a';
  const resources = [{ typeUrl: collection, name, value: Buffer.from([10, 0]) }];

  it('is stored by type and name', () => {
    const snapshot = Snapshot.from({ ...echo, resources });
    expect(snapshot.get(otherResourceKind(collection), name)?.value).toEqual(Buffer.from([10, 0]));
    expect(snapshot.with({ resources: [] }).set(otherResourceKind(collection)).byName.size).toBe(1);
    expect(otherResourceKind(CDS)).toBe(clusterKind);
  });

  it('is sent to a client that requests it', async () => {
    const server = new ControlPlane({ snapshot: Snapshot.from({ resources }) });
    const client = new AdsClient((await server.start()).address);
    const stream = client.open();
    const unheard = 'type.googleapis.com/never.heard.Of';
    stream.subscribe(unheard, ['u'], { node: { id: 'n' } });
    stream.subscribe(collection, [name]);
    expect(await stream.next()).toMatchObject({
      type_url: collection,
      resources: [{ type_url: collection, value: Buffer.from([10, 0]) }],
    });
    server.setSnapshot(
      Snapshot.from({ resources: [{ typeUrl: unheard, name: 'u', value: Buffer.from('x') }] }),
    );
    expect(await stream.next()).toMatchObject({ type_url: unheard, resources: [{}] });
    client.close();
    await server.close();
  });

  it('requires a name, and bytes if its type is unknown', () => {
    const value = Buffer.from('x');
    const nameless = { typeUrl: 'a/nameless.Type', value };
    expect(problemsOf({ resources: [nameless] })).toEqual([
      'resources[0]: typeUrl: unknown resource type "a/nameless.Type"',
    ]);
    const json = { '@type': wrapper, name: 'n', resource: { '@type': 'a/unheard.Of' } };
    expect(problemsOf({ resources: [json] })).toEqual([
      'resources[0] ("n"): resource.@type: no message unheard.Of in the schema',
    ]);
    expect(problemsOf({ clusters: [{ typeUrl: CDS, value, name: 'n', ttlMs: 0 }] })).toEqual([
      'clusters[0]: ttlMs: must be more than 0',
    ]);
  });
});

describe('an error for a resource', () => {
  const error = { kind: endpointKind, name: 'echo', code: 14, message: 'later' };

  it('resolves references to its name', () => {
    const snapshot = Snapshot.from({ ...echo, endpoints: [], errors: [error] });
    expect(checkConsistency(snapshot)).toEqual([]);
  });

  it('is replaced by `with`, added by `merge`, and kept without the list `errors`', () => {
    const base = Snapshot.from({ errors: [error] });
    const names = (snapshot: Snapshot) =>
      [listenerKind, endpointKind].map((kind) => [...snapshot.set(kind).errors.keys()]);
    const other = { ...error, kind: listenerKind, name: 'l' };
    expect(names(base.with({ errors: [other] }))).toEqual([['l'], []]);
    expect(names(base.merge({ errors: [other] }))).toEqual([['l'], ['echo']]);
    expect(names(base.with({ endpoints: [], listeners: [listener('l')] }))).toEqual([[], ['echo']]);
    expect(names(base.with({ errors: [] }))).toEqual([[], []]);
    expect(base.with({ errors: [] }).set(endpointKind).version).toBe('0000000000000000');
  });

  it('requires a unique name and a status code other than OK', () => {
    const errors = [{ ...error, code: 0 }, error, { ...error, name: '', code: 17 }];
    expect(problemsOf({ endpoints: [endpoints('a', 1), {}], errors })).toEqual([
      'endpoints[1]: cluster_name: field not present',
      'errors[0] ("echo"): code: must be from 1 to 16, not 0',
      'errors[1] ("echo"): name: another endpoint assignment error has this name',
      'errors[2] (""): name: must not be empty',
      'errors[2] (""): code: must be from 1 to 16, not 17',
    ]);
  });

  const sotw = DiscoveryRequest.fromPartial({ typeUrl: EDS, resourceNames: ['echo'] });
  const delta = DeltaDiscoveryRequest.fromPartial({
    typeUrl: EDS,
    resourceNamesSubscribe: ['echo'],
  });

  it.each([
    ['Stream', DiscoveryRequest.encode(sotw), DiscoveryResponse],
    ['Delta', DeltaDiscoveryRequest.encode(delta), DeltaDiscoveryResponse],
  ] as const)('is encoded in responses: %s', async (variant, request, Response) => {
    const server = new ControlPlane({ snapshot: Snapshot.from({ errors: [error] }) });
    const { address } = await server.start();
    const client = new Client(address, credentials.createInsecure());
    const call = client.makeBidiStreamRequest(
      `/envoy.service.discovery.v3.AggregatedDiscoveryService/${variant}AggregatedResources`,
      (bytes: Uint8Array) => Buffer.from(bytes),
      (bytes) => Response.decode(bytes),
    );
    call.on('error', () => {});
    // The installed official schema does not have this field.
    const received = once(call, 'data');
    call.write(request.finish());
    expect(await received).toMatchObject([
      {
        resources: [],
        resourceErrors: [
          { resourceName: { name: 'echo' }, errorDetail: { code: 14, message: 'later' } },
        ],
      },
    ]);
    client.close();
    await server.close();
  });
});
