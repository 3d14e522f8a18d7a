import { Metadata } from '@grpc/grpc-js';
import { type AdminPage, serveAdminPage } from '../../packages/page/src';
import { eventually } from '../support/eventually';
import { NODE_ID, SERVICE, simpleResources, type MeshResources, useMesh } from '../support/mesh';
import { getPage, readPage, type PageMessage, type PageStream } from '../support/page-reader';
import { edsClusterJson, endpointsJson } from '../support/xds-json';

const TARGET = `xds:///${SERVICE}`;

const LOCALITY = { locality: { region: 'test', zone: 'a' }, load_balancing_weight: 1 };

type PageRow = PageMessage['data']['views'][string]['rows'][number];

/** The rows of a view, after all messages so far. */
function rowsOf(name: string, messages: readonly PageMessage[]): readonly PageRow[] {
  const rows = new Map<unknown, PageRow>();
  let order: readonly string[] = [];
  for (const { data } of messages) {
    const view = data.views[name];
    for (const row of view?.rows ?? []) rows.set(row.id, row);
    order = view?.order ?? order;
  }
  return order.flatMap((id): readonly PageRow[] => {
    const row = rows.get(id);
    return row === undefined ? [] : [row];
  });
}

describe('the page of a client', () => {
  const mesh = useMesh();
  let page: AdminPage;
  let resources: MeshResources;

  beforeEach(async () => {
    page = await serveAdminPage({ port: 0 });
    const backends = [await mesh.backend('a'), await mesh.backend('b')];
    resources = simpleResources(backends.map(({ port }) => port));
    mesh.serve(resources);
    await mesh.client().say();
  });
  afterEach(async () => {
    await page.close();
  });

  const open = (views: string) => readPage(page, `${views}&target=${encodeURIComponent(TARGET)}`);
  const until = (
    stream: PageStream,
    view: string,
    isDone: (rows: readonly PageRow[]) => boolean,
  ): Promise<readonly PageRow[]> => eventually(() => rowsOf(view, stream.messages), isDone);

  it('has a verdict of each target', async () => {
    const stream = await open('view=targets');
    expect(await until(stream, 'targets', ([row]) => row?.state === 'ready')).toMatchObject([
      {
        target: TARGET,
        nodeId: NODE_ID,
        listener: SERVICE,
        clusters: 1,
        waiting: 0,
      },
    ]);
    mesh.serve({ ...resources, listeners: [] });
    await until(stream, 'targets', ([row]) => row?.state === 'failing');
    const [failed] = rowsOf('targets', stream.messages);
    expect(failed).toMatchObject({
      reason: expect.stringContaining(`Listener "${SERVICE}"`) as string,
    });
  });

  it.each([
    ['is healthy', { health_status: 'UNHEALTHY' }, /1 UNHEALTHY/],
    // Nothing listens at the port.
    ['can be connected to', {}, /ECONNREFUSED/],
  ])(
    'has a target as failed of which no endpoint %s, until one is',
    async (_case, more, reason) => {
      const stream = await open('view=targets');
      const address = { socket_address: { address: '127.0.0.1', port_value: 1 } };
      const lb_endpoints = [{ ...more, endpoint: { address } }];
      const endpoints = [
        { ...endpointsJson('echo', []), endpoints: [{ ...LOCALITY, lb_endpoints }] },
      ];
      mesh.serve({ ...resources, endpoints });
      const [failed] = await until(stream, 'targets', ([row]) => row?.state === 'failing');
      expect(failed?.reason).toMatch(reason);
      mesh.serve(resources);
      await until(stream, 'targets', ([row]) => row?.state === 'ready');
    },
  );

  it('has the servers, the resources and the routes of a target', async () => {
    const stream = await open('view=servers&view=resources&view=routes');
    expect(await until(stream, 'servers', ({ length }) => length > 0)).toMatchObject([
      { server: mesh.address, state: 'open' },
    ]);
    const rows = rowsOf('resources', stream.messages);
    expect(
      rows
        .map(({ type, name, status }) => `${String(type)} ${String(name)} ${String(status)}`)
        .sort(),
    ).toEqual([
      'Cluster echo ACKED',
      'ClusterLoadAssignment echo ACKED',
      `Listener ${SERVICE} ACKED`,
      `RouteConfiguration ${SERVICE}-routes ACKED`,
    ]);
    expect(rows[0]).toMatchObject({
      version: expect.any(String) as string,
      watchers: 1,
      unused: 0,
    });
    expect(rowsOf('routes', stream.messages)).toMatchObject([
      { index: 0, match: 'every path', action: 'cluster echo' },
    ]);
  });

  it('has a rejection beside the version in use, first of all, and its details', async () => {
    const stream = await open('view=resources');
    const clusters = [
      edsClusterJson('echo', { lb_policy: 'MAGLEV', transport_socket: { name: 'secret-key' } }),
    ];
    mesh.serve({ ...resources, clusters });
    const [row] = await until(stream, 'resources', ([first]) => first?.status === 'NACKED');
    expect(row).toMatchObject({
      type: 'Cluster',
      name: 'echo',
      failure: expect.stringContaining('MAGLEV') as string,
      version: expect.any(String) as string,
    });
    const query = new URLSearchParams({ target: TARGET, id: String(row?.id) });
    const { text } = await getPage(page, `/api/resource?${query.toString()}`);
    expect(JSON.parse(text)).toMatchObject({
      type: 'Cluster',
      name: 'echo',
      status: 'NACKED',
      contents: { name: 'echo', type: 'EDS' },
      changes: [{ kind: 'rejected' }, { kind: 'accepted' }],
    });
    const other = new URLSearchParams({ target: 'xds:///other', id: String(row?.id) });
    expect(await getPage(page, `/api/resource?${other.toString()}`)).toMatchObject({ status: 404 });
  });

  it('shows only rows that contain the filter', async () => {
    const stream = await open('view=resources&filter=LOADASS');
    expect(await until(stream, 'resources', ({ length }) => length > 0)).toMatchObject([
      { type: 'ClusterLoadAssignment' },
    ]);
  });

  it('has the clusters down to each endpoint, with the error of one that has been added', async () => {
    const stream = await open('view=graph');
    const partsOf = (rows: readonly PageRow[]) =>
      rows.flatMap(({ kind, column, name, state }) =>
        kind === 'node' ? [`${String(column)} ${String(name)}: ${String(state)}`] : [],
      );
    const rows = await until(stream, 'graph', (all) =>
      partsOf(all).includes('locality test/a: ready'),
    );
    expect(partsOf(rows)).toEqual([
      `target ${TARGET}: ready`,
      'route 0: every path: ready',
      'cluster echo: ready',
      'locality test/a: ready',
      expect.stringMatching(/^endpoint 127\.0\.0\.1:\d+: ready$/),
      expect.stringMatching(/^endpoint 127\.0\.0\.1:\d+: ready$/),
      `process pid ${process.pid}: ready`,
      `management server ${mesh.address}: ready`,
    ]);
    mesh.serve({ ...resources, endpoints: [endpointsJson('echo', [{ zone: 'a', ports: [1] }])] });
    await until(stream, 'graph', (all) =>
      all.some(({ name, text }) => name === '127.0.0.1:1' && String(text).includes('ECONNREFUSED')),
    );
  });

  it('marks a cluster whose update was rejected, and lists the fault with since when', async () => {
    const stream = await open('view=targets&view=graph');
    mesh.serve({ ...resources, clusters: [edsClusterJson('echo', { lb_policy: 'MAGLEV' })] });
    const [row] = await until(stream, 'targets', ([first]) => first?.['flaw'] !== undefined);
    expect(row).toMatchObject({
      state: 'ready',
      flaw: 'update rejected',
      faults: [
        expect.stringMatching(
          /^Cluster "echo": update rejected: lb_policy: .*; the earlier version stays in use$/,
        ),
      ],
      faultsSince: [expect.stringMatching(/^\d{4}-/)],
      changed: 'rejected Cluster echo',
      affected: expect.stringMatching(/^no calls/) as string,
    });
    await until(stream, 'graph', (all) =>
      all.some(({ column, flaw }) => column === 'cluster' && flaw === 'update rejected'),
    );
  });

  it('has the changes of resources and the events of the process, the newest first', async () => {
    mesh.serve({ ...resources, listeners: [] });
    const stream = await open('view=events');
    const rows = await until(stream, 'events', (all) =>
      ['removed', 'config-failed'].every((wanted) => all.some(({ kind }) => kind === wanted)),
    );
    expect(rows.map(({ kind, subject }) => `${String(kind)} ${String(subject)}`)).toContain(
      `accepted Listener ${SERVICE}`,
    );
    expect(rows.map(({ kind }) => kind)).toContain('config-published');
    const times = rows.map(({ at }) => String(at));
    expect(times).toEqual([...times].sort().reverse());
  });

  it('explains a call', async () => {
    const ask = async (method: string, headers: string) => {
      const query = new URLSearchParams({ target: TARGET, method, headers });
      const { text } = await getPage(page, `/api/explain?${query.toString()}`);
      return (JSON.parse(text) as { text: string }).text;
    };
    expect(await ask('/echo.Echo/Say', 'x-user: 1\nx-blob-bin: AQI=\n')).toContain(
      '100 % to cluster "echo"',
    );
    expect(await ask('/echo.Echo/Say', 'no header')).toBe(
      'not a header: "no header"; expected name: value',
    );
    expect(await ask('/echo.Echo/Say', 'not valid!: 1')).toContain('not valid!');
    expect(() => new Metadata().add('not valid!', '1')).toThrow();
  });

  it('has nothing of a target that no channel uses', async () => {
    const views = ['servers', 'resources', 'routes', 'graph'];
    const stream = await readPage(
      page,
      `${views.map((view) => `view=${view}`).join('&')}&target=other`,
    );
    await eventually(() => stream.messages.length > 0, true);
    for (const view of views) expect(rowsOf(view, stream.messages)).toEqual([]);
  });
});
