import type { ClientState } from '../../../src/control-plane';
import { listCluster } from '../../../packages/kubernetes/src/report/inspect-cluster';
import type { InspectKubernetesOptions } from '../../../packages/kubernetes/src/report/kubernetes-report';
import {
  DRAINING,
  endpointManifest as endpoint,
  nodeManifest,
  objectsOf,
  serviceManifest as service,
  sliceManifest as slice,
  type Json,
} from '../../support/kubernetes-manifests';
import { tokenOf } from './access/reviewing-api';
import { CDS, LDS } from '../../control-plane/resources';

const NOT_READY: Json = { conditions: { ready: false, serving: false, terminating: false } };

/** A client with subscriptions by type. */
function client(
  streamId: number,
  subscribed: Readonly<Record<string, readonly string[]>>,
  more: Partial<ClientState> = {},
): ClientState {
  const types = Object.entries(subscribed).map(
    ([typeUrl, names]) =>
      [
        typeUrl,
        {
          typeUrl,
          subscribed: names,
          wildcard: names.length === 0,
          sentVersion: '2',
          ackedVersion: '1',
          rejection: undefined,
        },
      ] as const,
  );
  const nodeId = `node-${streamId}`;
  return {
    streamId,
    nodeId,
    peer: `10.0.0.1:${streamId}`,
    method: 'StreamAggregatedResources',
    connectedAtMs: 1000,
    types: new Map(types),
    node: {
      id: nodeId,
      cluster: '',
      userAgentName: '',
      userAgentVersion: '',
      clientFeatures: [],
      locality: undefined,
      metadata: {},
    },
    ...more,
  };
}

function list(options: InspectKubernetesOptions, ...manifests: readonly Json[]) {
  const objects = objectsOf(...manifests);
  return listCluster({ objects, problemsOf: () => [], domain: 'cluster.local' }, options);
}

describe('the report of a cluster', () => {
  it('counts endpoints by zone, each pod once, and the streams that subscribe to a Service', () => {
    const pod = { targetRef: { uid: 'p1' }, zone: 'a' };
    const clients = [
      client(1, { [LDS]: ['web.shop:80', 'web.shop.svc:80'] }),
      client(2, { [CDS]: ['outbound|80||web.shop.svc.cluster.local'] }),
      client(3, { [LDS]: ['other.shop:80'], 'type.googleapis.com/x': [] }),
      client(4, { [CDS]: [] }),
    ];
    const { services } = list(
      { clients, lists: ['services'] },
      service('web'),
      nodeManifest('n1', 'b'),
      slice('web', [
        endpoint('10.0.0.1', pod),
        endpoint('10.0.0.2', { nodeName: 'n1', ...DRAINING }),
        endpoint('10.0.0.3', NOT_READY),
      ]),
      slice('web', [endpoint('fd00::1', pod)], { name: 'web-v6', addressType: 'IPv6' }),
    );
    expect(services).toEqual({
      total: 1,
      offset: 0,
      items: [
        {
          namespace: 'shop',
          name: 'web',
          type: 'ClusterIP',
          problems: [],
          clients: 3,
          ports: [{ name: 'grpc', port: 80 }],
          endpoints: { total: 3, ready: 1, serving: 2, terminating: 1 },
          zones: [
            { zone: '', total: 1, ready: 0, serving: 0, terminating: 0 },
            { zone: 'a', total: 1, ready: 1, serving: 1, terminating: 0 },
            { zone: 'b', total: 1, ready: 0, serving: 1, terminating: 1 },
          ],
        },
      ],
    });
  });

  it('has the part of a list that is requested, in the order of names', () => {
    const names = Array.from({ length: 2500 }, (_, i) => `s${String(i).padStart(4, '0')}`);
    const manifests = [...names].reverse().map((name) => service(name));
    const all = list({}, ...manifests).services;
    expect([all.total, all.items.length, all.items[0]?.name]).toEqual([2500, 1000, 's0000']);
    const part = list({ offset: 2498, limit: 5 }, ...manifests).services;
    expect(part.items.map(({ name }) => name)).toEqual(['s2498', 's2499']);
    const found = list({ filter: 'SHOP/s24', limit: 2 }, ...manifests).services;
    expect([found.total, found.items.length]).toEqual([100, 2]);
    const none = list({ lists: ['clients'] }, ...manifests).services;
    expect(none).toEqual({ total: 0, offset: 0, items: [] });
  });

  it('says where a client is, what it has rejected, and 20 of its names, without secrets', () => {
    const names = Array.from({ length: 500 }, (_, i) => `n${i}`);
    const secret = tokenOf({ exp: 1, sub: 'x'.repeat(100) });
    const rejection = { version: '2', message: `bad: Bearer ${secret}` };
    const state = client(1, { [CDS]: names }, { nodeId: `id ${secret}`, principal: 'shop/web' });
    const types = new Map(Array.from(state.types, ([url, type]) => [url, { ...type, rejection }]));
    const node = { ...state.node, metadata: { NODE_NAME: 'n1', NAMESPACE: 'shop' } };
    const { clients } = list({ clients: [{ ...state, types, node }] }, nodeManifest('n1', 'b'));
    const [reported] = clients.items;
    expect(reported).toMatchObject({
      principal: 'shop/web',
      namespace: 'shop',
      zone: 'b',
      nodeName: 'n1',
      types: [
        { typeUrl: CDS, nameCount: 500, names: names.slice(0, 20), rejection: { version: '2' } },
      ],
    });
    expect(JSON.stringify(clients)).not.toContain(secret.slice(0, 20));
  });

  it('cuts what clients choose', () => {
    const nodeId = 'x'.repeat(1e6);
    const types = { [`type.googleapis.com/${nodeId}`]: [nodeId] };
    const { clients } = list({ clients: [client(1, types, { nodeId })] });
    expect(JSON.stringify(clients).length).toBeLessThan(5000);
  });
});
