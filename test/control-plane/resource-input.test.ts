import { Client, credentials } from '@grpc/grpc-js';
import { once } from 'node:events';
import {
  DeltaDiscoveryRequest,
  DeltaDiscoveryResponse,
  DiscoveryRequest,
  DiscoveryResponse,
} from '../../src/generated/envoy/service/discovery/v3/discovery';
import {
  checkConsistency,
  clusterKind,
  ControlPlane,
  endpointKind,
  listenerKind,
  otherResourceKind,
  parseResourceFile,
  Snapshot,
  type SnapshotInput,
} from '../../src/control-plane';
import { AdsClient } from './ads-client';
import { cluster, echo, endpoints, listener } from './resources';

const CDS = 'type.googleapis.com/envoy.config.cluster.v3.Cluster';
const EDS = 'type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment';
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

describe('a resource in a wrapper', () => {
  const wrapped = (more: object, resource: object = cluster('a')) => ({
    '@type': wrapper,
    resource: { '@type': CDS, ...resource },
    ...more,
  });

  it('has a version, aliases and a time to live beside it', () => {
    const more = { version: 'v7', aliases: ['b', 'c'], ttl: '1.5s' };
    const snapshot = Snapshot.from({ clusters: [wrapped(more)] });
    const resource = snapshot.get(clusterKind, 'a');
    expect(resource).toMatchObject({ version: 'v7', aliases: ['b', 'c'], ttlMs: 1500 });
    const plain = Snapshot.from({ clusters: [cluster('a')] }).get(clusterKind, 'a');
    expect(resource?.value).toEqual(plain?.value);
    expect(snapshot.shortestTtlMs).toBe(1500);
  });

  it('equals the bare one when nothing is beside it', () => {
    const bare = Snapshot.from({ clusters: [cluster('a')] });
    const snapshot = bare.with({ clusters: [wrapped({ name: 'a' })] });
    expect(snapshot.get(clusterKind, 'a')).toBe(bare.get(clusterKind, 'a'));
  });

  it('is another one when what is beside it changes', () => {
    const make = (more: object) =>
      Snapshot.from({ clusters: [wrapped(more)] }).set(clusterKind).version;
    const versions = [{}, { ttl: '1s' }, { ttl: '2s' }, { version: '1' }, { aliases: ['b'] }].map(
      make,
    );
    expect(new Set(versions).size).toBe(5);
    expect(make({ ttl: '1s' })).toBe(versions[1]);
  });

  it('may be given as bytes with the same beside them', () => {
    const value = Buffer.from('not a cluster');
    const beside = { name: 'n', version: '1', aliases: ['m'], ttlMs: 20 };
    const snapshot = Snapshot.from({ clusters: [{ typeUrl: CDS, value, ...beside }] });
    expect(snapshot.get(clusterKind, 'n')).toMatchObject({ value, ...beside });
  });

  it.each([
    ['of another type', { resource: { '@type': EDS } }, 'resource.@type: expected'],
    ['with a field nobody knows', { tttl: '1s' }, 'unknown field "tttl"'],
    ['that lives for no time', { ttl: '0s' }, 'ttl: must be more than 0'],
    ['without a resource', { resource: 7 }, 'resource: expected an object, got 7'],
    [
      'with a mistake inside',
      { resource: { '@type': CDS, name: 'a', typ: 1 } },
      '("a"): resource: unknown field "typ"',
    ],
  ])('is refused %s', (_what, more, message) => {
    const problems = problemsOf({ clusters: [wrapped(more)] });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(message);
  });

  it('may stand in a resource file, where its problems have their line', () => {
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
      'f.yaml:5:79: cluster "a": name: there is no endpoint assignment "a"',
    );
  });
});

describe('a resource of any type', () => {
  const name = 'xdstp://auth/envoy.config.endpoint.v3.LbEndpointCollection/a';
  const resources = [{ typeUrl: collection, name, value: Buffer.from([10, 0]) }];

  it('is held by type and name', () => {
    const snapshot = Snapshot.from({ ...echo, resources });
    expect(snapshot.get(otherResourceKind(collection), name)?.value).toEqual(Buffer.from([10, 0]));
    expect(snapshot.with({ resources: [] }).set(otherResourceKind(collection)).byName.size).toBe(1);
    expect(otherResourceKind(CDS)).toBe(clusterKind);
  });

  it('is sent to whoever asks for it', async () => {
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
    await server.stop();
  });

  it('needs a name, and bytes if the schema does not have it', () => {
    const value = Buffer.from('x');
    const nameless = { typeUrl: 'a/nameless.Type', value };
    expect(problemsOf({ resources: [nameless] })).toEqual([
      'resources[0]: typeUrl: this server does not hold resources of type "a/nameless.Type"',
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

  it('counts as there when others refer to it', () => {
    const snapshot = Snapshot.from({ ...echo, endpoints: [], errors: [error] });
    expect(checkConsistency(snapshot)).toEqual([]);
  });

  it('is replaced by `with`, added by `merge`, and stays when nothing is said of errors', () => {
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

  it('needs a name of its own and a status that is no success', () => {
    const errors = [{ ...error, code: 0 }, error, { ...error, name: '', code: 17 }];
    expect(problemsOf({ endpoints: [endpoints('a', 1), {}], errors })).toEqual([
      'endpoints[1]: cluster_name: field not present',
      'errors[0] ("echo"): code: must be from 1 to 16, not 0',
      'errors[1] ("echo"): name: another error is for this endpoint assignment',
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
  ] as const)('goes over the wire whole: %s', async (variant, request, Response) => {
    const server = new ControlPlane({ snapshot: Snapshot.from({ errors: [error] }) });
    const { address } = await server.start();
    const client = new Client(address, credentials.createInsecure());
    const call = client.makeBidiStreamRequest(
      `/envoy.service.discovery.v3.AggregatedDiscoveryService/${variant}AggregatedResources`,
      (bytes: Uint8Array) => Buffer.from(bytes),
      (bytes) => Response.decode(bytes),
    );
    call.on('error', () => {});
    // The official schema that is installed is older than this field.
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
    await server.stop();
  });
});
