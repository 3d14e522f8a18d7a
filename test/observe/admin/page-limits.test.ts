import { channel } from 'node:diagnostics_channel';
import { clusterKind, Snapshot } from '../../../src/control-plane';
import { ClientState } from '../../../packages/page/src/process/client-state';
import { ProcessEvents } from '../../../packages/page/src/process/events';
import { KeptViews } from '../../../packages/page/src/process/kept-views';
import { eventView, listEvents } from '../../../packages/page/src/process/history';
import { noticeView } from '../../../packages/page/src/process/notices';
import { PastStates } from '../../../packages/page/src/process/past-states';
import { explainResource } from '../../../packages/page/src/process/resource-rows';
import type { InspectedProcess } from '../../../src/observe/admin/inspected-process';
import type { PolicyState } from '../../../src';
import type { EndpointState } from '../../../src/lb/tree/policy-state';
import { rowId } from '../../../packages/page/src/live-page/view';
import type { ClientSnapshot } from '../../../src/xds-client/client-snapshot';
import { err } from '../../../src/util/result';
import type { LiveResolution } from '../../../src/resolver/resolver-dependencies';
import { FakeClock } from '../../support/fake-clock';
import { clusterPolicies, endpointState, graphConfig, policiesWith } from '../../support/graphs';
import { FakeClusterStore } from '../../support/lb-xds-config';
import { virtualHostTo } from '../../support/xds-builders';
import { edsClusterJson } from '../../support/xds-json';

const REQUEST = {
  name: 'x',
  target: 'xds:///shop',
  filter: '',
  offset: 0,
  opened: new Set<string>(),
};

const inspected: InspectedProcess = {
  shares: [],
  clients: [],
  servers: () => [],
  certificates: [],
  describePolicies: () => undefined,
  policyFailures: () => new Map(),
  describeUnusedFields: () => Array.from({ length: 500 }, (_, i) => `field_${i}`),
  resolve: () => Promise.resolve(err('not resolved here')),
};

/** The snapshot of a client with one cluster, of which there have been 50 changes. */
function snapshotOf(bytes: Uint8Array): ClientSnapshot {
  const { typeUrl } = clusterKind;
  const change = {
    serverUri: 'https://user:secret@cp',
    typeUrl,
    name: 'echo',
    kind: 'accepted',
  } as const;
  return {
    servers: [],
    resources: [
      {
        typeUrl,
        name: 'echo',
        status: 'ACKED',
        failure: undefined,
        watchers: 1,
        accepted: { version: '1', bytes, updatedAtMs: 0 },
        waitingSinceMs: undefined,
      },
    ],
    changes: Array.from({ length: 50 }, (_, i) => ({
      ...change,
      atMs: i,
      version: `${i}`,
      text: 'x'.repeat(5000),
      before: undefined,
      rejected: undefined,
    })),
  };
}

function explain(bytes: Uint8Array): Record<string, unknown> {
  const id = rowId(clusterKind.typeUrl, 'echo');
  return { ...explainResource(inspected, snapshotOf(bytes), id) };
}

function encode(extra: object): Uint8Array {
  const snapshot = Snapshot.from({ clusters: [edsClusterJson('echo', { ...extra })] });
  const cluster = snapshot.set(clusterKind).byName.get('echo');
  if (cluster === undefined) throw new Error('the snapshot has no such cluster');
  return cluster.value;
}

describe('the details of a resource', () => {
  it('have the last 20 changes, the newest first, and 200 unused fields', () => {
    const { changes, unusedFields } = explain(encode({}));
    expect(changes).toHaveLength(20);
    expect(changes).toMatchObject([
      { version: '49', server: 'https://[redacted]@cp' },
      ...Array(19).fill({}),
    ]);
    expect(JSON.stringify(changes).length).toBeLessThan(20 * 1300);
    expect(unusedFields).toHaveLength(200);
  });

  const named = (length: number) => ({
    eds_cluster_config: { eds_config: { ads: {} }, service_name: 'x'.repeat(length) },
  });

  it('leave contents out that are larger than 256 KiB', () => {
    expect(explain(encode(named(250 * 1024))).contents).toMatchObject({
      name: 'echo',
    });
    expect(explain(encode(named(256 * 1024))).contents).toMatch(/^left out: \d+ bytes/);
  });

  it('have no private key', () => {
    const tls = {
      '@type': 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext',
      common_tls_context: {
        tls_certificates: [{ private_key: { inline_string: 'THE PRIVATE KEY' } }],
      },
    };
    const bytes = encode({ transport_socket: { name: 'tls', typed_config: tls } });
    expect(Buffer.from(bytes).toString('latin1')).toContain('THE PRIVATE KEY');
    const text = JSON.stringify(explain(bytes));
    expect(text).toContain('[redacted]');
    expect(text).not.toContain('THE PRIVATE KEY');
  });
});

describe('the targets of a page', () => {
  const client = (scope: string) => ({
    scope,
    xdsClient: {},
    nodeId: 'node',
    resolution: () => undefined,
    snapshot: () => ({ ...snapshotOf(encode({})), changes: [] }),
    history: () => ({ changes: [], sinceMs: -Infinity }),
  });

  it('have ids that fit into a request, and differ for two clients of one target', () => {
    const long = `xds:///${'x'.repeat(8000)}`;
    const clients = ['xds:///shop', 'xds:///shop', long].map(client);
    const events = new ProcessEvents(new FakeClock());
    const state = new ClientState({ ...inspected, clients }, events, new PastStates());
    events.release();
    const { rows } = state.view({ ...REQUEST, name: 'targets' });
    expect(rows.map(({ id }) => id)).toEqual([
      '#all',
      'xds:///shop',
      'xds:///shop #2',
      expect.stringMatching(/^[\w-]{16}$/),
    ]);
    expect(String(rows[3]?.target)).toMatch(/^xds:\/\/\/x+…$/);
    for (const { id } of rows.slice(1)) {
      expect(state.view({ ...REQUEST, name: 'resources', target: id }).total).toBe(1);
    }
    expect(state.view({ ...REQUEST, name: 'resources', target: 'xds:///shop #3' }).total).toBe(0);
  });
});

const clusters = new FakeClusterStore();
const config = graphConfig(virtualHostTo('cart'), {});

/** A client with one cluster, whose policies these are. */
function stateOf(describePolicies: () => PolicyState, kept?: KeptViews): ClientState {
  const xdsClient = {};
  const client = {
    scope: 'xds:///shop',
    xdsClient,
    nodeId: 'node',
    snapshot: () => snapshotOf(encode({})),
    history: () => ({ changes: [], sinceMs: -Infinity }),
  };
  const resolution: LiveResolution = {
    target: client.scope,
    xdsClient,
    clusters,
    live: {
      config,
      get table(): never {
        throw new Error('the page has no use for it');
      },
    },
    failure: undefined,
    failingSince: undefined,
    waitingFor: () => [],
    heldBack: () => [],
  };
  const parts = {
    clients: [{ ...client, resolution: () => resolution }],
    describePolicies,
  };
  const events = new ProcessEvents(new FakeClock());
  const past = new PastStates();
  const state = new ClientState({ ...inspected, ...parts }, events, past, undefined, kept);
  events.release();
  return state;
}

describe('the state of a client', () => {
  it('has the policies of its channel described once for all views', () => {
    let described = 0;
    const state = stateOf(() => {
      described++;
      return policiesWith(clusterPolicies('cart', [[endpointState('10.0.0.1:80')]]));
    });
    for (const name of ['targets', 'graph']) {
      for (const filter of ['', 'cart', 'shop']) {
        expect(state.view({ ...REQUEST, name, filter }).total).toBeGreaterThan(0);
      }
    }
    expect(described).toBe(1);
  });

  it('has the rows of a graph once while nothing changes', () => {
    const kept = new KeptViews();
    const request = { ...REQUEST, name: 'graph', target: '' };
    const policies = () => policiesWith(clusterPolicies('cart', [[endpointState('10.0.0.1:80')]]));
    const look = () => stateOf(policies, kept).view(request).rows;
    const rows = new Set(look());
    expect(look().filter((row) => !rows.has(row))).toEqual([]);
  });

  it.each<[EndpointState['state'], string, string]>([
    ['READY', 'ready', ''],
    ['CONNECTING', 'ready', ''],
    ['TRANSIENT_FAILURE', 'degraded', '1 of 2 endpoints fails'],
  ])('with an endpoint that is %s says once that it is %s', (second, state, reason) => {
    const endpoints = [
      endpointState('10.0.0.1:80'),
      endpointState('10.0.0.2:80', { state: second }),
    ];
    const page = stateOf(() => policiesWith(clusterPolicies('cart', [endpoints])));
    expect(page.view({ ...REQUEST, name: 'targets' }).rows).toMatchObject([{ state, reason }]);
  });
});

describe('the notices of a page', () => {
  const notice = channel('grpc-xds:notice');

  it('are those of the application, the newest first, before its first channel too', () => {
    const events = new ProcessEvents(new FakeClock());
    const state = new ClientState(undefined, events, new PastStates());
    expect(state.view({ ...REQUEST, name: 'notices' }).total).toBe(0);
    notice.publish({ name: 'Cluster cart', text: '<b>one</b> https://user:secret@cp' });
    channel('grpc-xds:fallback').publish({ toServerUri: 'server', direction: 'down' });
    notice.publish({ text: 'x'.repeat(5000) });
    events.release();
    const { rows } = state.view({ ...REQUEST, name: 'notices' });
    expect(rows).toEqual([
      expect.objectContaining({ subject: '', text: `${'x'.repeat(1024)}…` }),
      expect.objectContaining({
        subject: 'Cluster cart',
        text: '<b>one</b> https://[redacted]@cp',
      }),
    ]);
    const { rows: shown } = eventView(listEvents([], events.latest(), REQUEST.target), REQUEST);
    expect(shown.map(({ kind }) => kind)).toEqual(['notice', 'fallback', 'notice']);
  });

  it('are those of the last 1000 events, whatever they are', () => {
    const events = new ProcessEvents(new FakeClock());
    for (const message of [undefined, 1, 'text', {}, { text: 2 }]) notice.publish(message);
    for (let i = 0; i < 3000; i++) notice.publish({ name: 'canary', text: `step ${i}` });
    events.release();
    const { total, rows } = noticeView(events.latest(), REQUEST);
    expect([total, rows[0]?.text]).toEqual([1000, 'step 2999']);
    expect(notice.hasSubscribers).toBe(false);
  });
});

describe('the events of a page', () => {
  it('are 200 of a target at most, so that one with many leaves those of others', () => {
    const events = new ProcessEvents(new FakeClock());
    const ejected = channel('grpc-xds:endpoint-ejected');
    const endpoint = { cluster: 'c', address: '10.0.0.1:80', text: '9 failed' };
    ejected.publish({ ...endpoint, target: 'xds:///quiet' });
    for (let i = 0; i < 100_000; i++) ejected.publish({ ...endpoint, target: 'xds:///noisy' });
    events.release();
    const of = (target: string) => events.latest().filter((event) => event.target === target);
    expect([of('xds:///quiet').length, of('xds:///noisy').length]).toEqual([1, 200]);
    expect(of('xds:///quiet')[0]).toMatchObject({
      kind: 'endpoint-ejected',
      subject: 'c 10.0.0.1:80',
      text: '9 failed',
      endpoint: { cluster: 'c', address: '10.0.0.1:80' },
    });
  });

  it('are the last 1000, of all kinds together', () => {
    const events = new ProcessEvents(new FakeClock());
    const fallback = channel('grpc-xds:fallback');
    for (let i = 0; i < 5000; i++)
      fallback.publish({ toServerUri: `server-${i}`, direction: 'down' });
    expect(events.latest()).toHaveLength(1000);
    const { changes } = snapshotOf(encode({}));
    const { total, rows } = eventView(
      listEvents(changes, events.latest(), REQUEST.target),
      REQUEST,
    );
    expect([total, rows.length]).toEqual([1000, 200]);
    expect(rows[0]).toMatchObject({ kind: 'fallback', text: 'down' });
    expect(new Set(rows.map(({ id }) => id)).size).toBe(200);
    events.release();
    expect(fallback.hasSubscribers).toBe(false);
  });

  it('are those of the target and those of the process', () => {
    const events = new ProcessEvents(new FakeClock());
    const failed = channel('grpc-xds:config-failed');
    failed.publish({ target: 'xds:///shop', error: 'mine' });
    failed.publish({ target: 'xds:///other', error: 'of another target' });
    channel('grpc-xds:server-failed').publish({
      serverUri: 'https://u:p@cp',
      error: 'of the process',
    });
    const { rows } = eventView(listEvents([], events.latest(), REQUEST.target), REQUEST);
    events.release();
    expect(rows.map(({ text }) => text).sort()).toEqual(['mine', 'of the process']);
    expect(rows.map(({ subject }) => subject)).toContain('https://[redacted]@cp');
  });

  it.each([null, undefined, 7, 'text', { error: { toString: 1 } }])(
    'take the message %j',
    (message) => {
      const events = new ProcessEvents(new FakeClock());
      channel('grpc-xds:fallback').publish(message);
      events.release();
      expect(events.latest()).toMatchObject([{ kind: 'fallback', subject: '', text: '' }]);
    },
  );
});
