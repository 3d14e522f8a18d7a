import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { inspect, type ClusterEvent } from '../../src';
import { serveAdminPage, type AdminPage } from '../../packages/page/src';
import { EchoBackend } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import { SERVICE, simpleResources, useSharedMesh } from '../support/mesh';
import { readRows } from '../support/page-reader';
import { endpointsJson } from '../support/xds-json';

const KINDS = ['endpoints-failed', 'endpoints-recovered', 'cluster-failed', 'cluster-recovered'];

describe('a zone whose endpoints are all refused', () => {
  const mesh = useSharedMesh();
  let page: AdminPage;
  const events: string[] = [];
  const listeners = KINDS.map((kind) => {
    const listener = (message: unknown) => {
      events.push(`${kind}: ${(message as ClusterEvent).text}`);
    };
    return [`grpc-xds:${kind}`, listener] as const;
  });
  const zone = [new EchoBackend('b1'), new EchoBackend('b2')];

  beforeAll(async () => {
    for (const [channel, listener] of listeners) subscribe(channel, listener);
    page = await serveAdminPage({ port: 0 });
  });
  afterAll(async () => {
    for (const [channel, listener] of listeners) unsubscribe(channel, listener);
    await page.close();
    for (const backend of zone) backend.stop();
  });

  const rollUp = () => inspect({ target: `xds:///${SERVICE}` }).targets[0]?.rollUp.text;
  const untilRolledUp = (text: string) => eventually(rollUp, text);
  const untilEvent = (pattern: RegExp) =>
    eventually(
      () => events.find((event) => pattern.test(event)),
      (event) => event !== undefined,
    );

  const rowsOf = (view: string, options = '') => readRows(page, view, `xds:///${SERVICE}`, options);

  /** Returns the states of the cluster and of the target in the graph as it was after the first event of a kind. */
  async function stateThen(kind: string) {
    const event = (await rowsOf('events')).findLast((row) => row.kind === kind);
    const { id = '' } = event ?? {};
    const rows = await eventually(
      () => rowsOf('graph', `&at=${encodeURIComponent(String(id))}`),
      ({ length }) => length > 0,
    );
    const stateOf = (column: string) => rows.find((row) => row.column === column)?.state;
    return { cluster: stateOf('cluster'), target: stateOf('target') };
  }

  it('makes the target degraded, then failing, and ready again, with an event for each change', async () => {
    const alive = new EchoBackend('a1');
    await alive.listen();
    // Their ports are free afterwards.
    for (const backend of zone) {
      await backend.listen();
      backend.stop();
    }
    mesh.serve({
      ...simpleResources([]),
      endpoints: [
        endpointsJson('echo', [
          { zone: 'a', ports: [alive.port] },
          { zone: 'b', ports: zone.map(({ port }) => port) },
        ]),
      ],
    });
    const client = mesh.client();
    expect(await client.say()).toBe('a1');

    await untilRolledUp('degraded (2 of 3 endpoints fail)');
    const failed = await untilEvent(/^endpoints-failed: Cluster "echo": 2 of 3 endpoints failing/);
    expect(failed).toContain('ECONNREFUSED');
    expect(events).toHaveLength(1);
    const [target] = await rowsOf('targets');
    expect(target).toMatchObject({ state: 'degraded', reason: '2 of 3 endpoints fail' });
    expect(target?.['faults']).toEqual([
      'test/b (echo): 2 of 2 endpoints fail: connect ECONNREFUSED',
    ]);
    const parts = (await rowsOf('graph')).filter(({ column }) =>
      ['cluster', 'locality'].includes(String(column)),
    );
    expect(parts).toMatchObject([
      { name: 'echo', state: 'degraded', text: '2 of 3 endpoints fail' },
      { name: 'test/a', state: 'ready', text: 'priority 0; 1 ready' },
      { name: 'test/b', state: 'failing', text: 'priority 0; 2 failing' },
    ]);

    alive.stop();
    await untilRolledUp('failing (3 of 3 endpoints fail)');
    await untilEvent(/^cluster-failed: Cluster "echo": /);

    for (const backend of [alive, ...zone]) await backend.listen();
    await untilRolledUp('ready');
    expect(await stateThen('endpoints-failed')).toEqual({
      cluster: 'degraded',
      target: 'degraded',
    });
    expect(await stateThen('config-published')).toEqual({ cluster: 'unknown', target: 'unknown' });
    await untilEvent(/^cluster-recovered: Cluster "echo": connected/);
    alive.stop();
  }, 60_000);
});
