import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { type AdminPage, serveAdminPage } from '../../packages/page/src';
import { eventually } from '../support/eventually';
import { SERVICE, simpleResources, type MeshResources, useMesh } from '../support/mesh';
import { getPage, readPage } from '../support/page-reader';
import {
  routeToSplit,
  edsClusterJson,
  endpointsJson,
  routeConfigJson,
  routeToCluster,
} from '../support/xds-json';

const TARGET = `xds:///${SERVICE}`;

/** What `/api/event` answers. */
interface EventAnswer {
  readonly id: string;
  readonly kind: string;
  readonly subject: string;
  readonly before?: string;
  readonly after?: string;
  readonly lines?: readonly { readonly change?: string; readonly text: string }[];
  readonly note?: string;
  readonly state: { readonly isKnown: boolean; readonly note: string };
}

describe('the history of the page of a client', () => {
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

  async function ask<Answer>(path: string, query: Record<string, string>): Promise<Answer> {
    const search = new URLSearchParams({ target: TARGET, ...query });
    const { status, text } = await getPage(page, `/api/${path}?${search.toString()}`);
    expect([status, text]).toEqual([200, expect.stringMatching(/^\{/)]);
    return JSON.parse(text) as Answer;
  }

  async function rows(view: string, query: Record<string, string> = {}) {
    const search = new URLSearchParams({ view, target: TARGET, ...query });
    const stream = await readPage(page, search.toString());
    await eventually(() => stream.messages.length > 0, true);
    stream.request.destroy();
    return stream.messages[0]?.data.views[view.split(':', 1)[0] ?? '']?.rows ?? [];
  }

  /** The rows of the graph, or of that after an event: what is not computed yet has none. */
  const graphAt = (query: { readonly at?: string }) =>
    eventually(
      () => rows('graph', query),
      ({ length }) => length > 0,
    );

  /** The nodes of the same. */
  const partsOf = async (query: { readonly at?: string }) =>
    (await graphAt(query)).flatMap(({ kind, column, name, state, text }) =>
      kind === 'node'
        ? [`${String(column)} ${String(name)}: ${String(state)}; ${String(text)}`]
        : [],
    );

  /** The ids of events, the newest first, by kind and subject. */
  async function events(): Promise<readonly { id: string; name: string }[]> {
    return (await rows('events')).map(({ id, kind, subject }) => ({
      id: String(id),
      name: `${String(kind)} ${String(subject)}`,
    }));
  }

  async function event(name: string, isDone = (found: readonly unknown[]) => found.length > 0) {
    const found = await eventually(
      async () => (await events()).filter((each) => each.name === name),
      isDone,
    );
    return ask<EventAnswer>('event', { id: found[0]?.id ?? '' });
  }

  it('has the difference of each change, by its paths', async () => {
    const { endpoints, ...others } = resources;
    mesh.serve({
      ...others,
      endpoints,
      clusters: [edsClusterJson('echo', { lb_policy: 'RING_HASH' })],
    });
    const change = await event('accepted Cluster echo', ({ length }) => length === 2);
    expect(change.before).toMatch(/./);
    expect(change.after).not.toBe(change.before);
    expect(change.lines).toEqual([{ change: 'added', text: 'lb_policy "RING_HASH"' }]);
    const first = await event(`accepted Listener ${SERVICE}`);
    expect(first.before).toBeUndefined();
    expect(first.lines?.every(({ change: kind }) => kind === 'added')).toBe(true);
  });

  it('has the value that was rejected beside the one in use', async () => {
    mesh.serve({ ...resources, clusters: [edsClusterJson('echo', { lb_policy: 'MAGLEV' })] });
    const rejection = await event('rejected Cluster echo');
    expect(rejection.before).toMatch(/./);
    expect(rejection.after).not.toBe(rejection.before);
    expect(rejection.state).toEqual({ isKnown: true, note: '' });
    expect(rejection.lines).toContainEqual({ change: 'added', text: 'lb_policy "MAGLEV"' });
  });

  it('shows a target as it was after an event, also what nothing watches any more', async () => {
    const [published] = (await events()).filter(({ name }) => name.startsWith('config-published'));
    mesh.serve({
      ...resources,
      routes: [routeConfigJson(`${SERVICE}-routes`, [routeToCluster('other')])],
      clusters: [edsClusterJson('other')],
      endpoints: [endpointsJson('other', [{ zone: 'later', ports: [1] }])],
    });
    await eventually(
      () => partsOf({}),
      (parts) => parts.some((part) => part.startsWith('locality test/later')),
    );
    expect(await partsOf({})).toContainEqual(expect.stringMatching(/^cluster other: /));
    const then = await partsOf({ at: published?.id ?? '' });
    expect(then).toContainEqual(expect.stringMatching(/^cluster echo: /));
    expect(then).toContainEqual(expect.stringMatching(/^endpoint 127\.0\.0\.1:\d+: /));
    expect(then.filter((part) => part.includes('other'))).toEqual([]);
    const answer = await ask<EventAnswer>('event', { id: published?.id ?? '' });
    expect(answer.state).toEqual({ isKnown: true, note: '' });
  });

  // 1. Calls move to another cluster; then its policy changes, which is in no state of a node.
  // 2. The graph after each event has what that event has changed, and no more.
  // 3. The first config has replaced none, and a rejected resource has changed nothing.
  it('has the weights of then also after a change whose config is no longer among the events', async () => {
    const CHANGES = 250;
    const routes = (weight: number) =>
      routeConfigJson(`${SERVICE}-routes`, [
        routeToSplit({ echo: weight, other: CHANGES - weight }),
      ]);
    let published = 0;
    const count = () => published++;
    subscribe('grpc-xds:config-published', count);
    for (let weight = 1; weight <= CHANGES; weight++) {
      const before = published;
      mesh.serve({
        ...resources,
        routes: [routes(weight)],
        clusters: [edsClusterJson('echo'), edsClusterJson('other')],
        endpoints: [
          ...(resources.endpoints ?? []),
          endpointsJson('other', [{ zone: 'z', ports: [1] }]),
        ],
      });
      await eventually(() => published > before, true);
    }
    unsubscribe('grpc-xds:config-published', count);
    // The newest first: the one of weight 250 is at 0.
    const [change] = await rows('events:200', { filter: 'RouteConfiguration' });
    const then = await graphAt({ at: String(change?.['id']) });
    expect(then).toContainEqual(expect.objectContaining({ kind: 'edge', share: 0.2 }));
    const answer = await ask<EventAnswer>('event', { id: String(change?.['id']) });
    expect(answer.state).toEqual({ isKnown: true, note: '' });
  });

  it('marks what an event has changed in the graph', async () => {
    const serveOther = (settings = {}) =>
      mesh.serve({
        ...resources,
        routes: [routeConfigJson(`${SERVICE}-routes`, [routeToCluster('other')])],
        clusters: [edsClusterJson('other', settings)],
        endpoints: [endpointsJson('other', [{ zone: 'later', ports: [1] }])],
      });
    const changesAt = async ({ id }: EventAnswer) => {
      const found = await graphAt({ at: id });
      const changed = found.filter(({ kind }) => kind === 'change');
      const texts = changed.map(({ change, text }) => [change, text]);
      const marked = found.flatMap(({ name, change }) =>
        change === undefined || name === undefined ? [] : [`${String(change)} ${String(name)}`],
      );
      return { texts, marked };
    };
    const [first] = (await events()).filter(({ name }) => name.startsWith('config-published'));
    serveOther();
    const moved = await event(
      `accepted RouteConfiguration ${SERVICE}-routes`,
      ({ length }) => length === 2,
    );
    await event('accepted ClusterLoadAssignment other');
    serveOther({ lb_policy: 'RING_HASH' });
    const tuned = await event('accepted Cluster other', ({ length }) => length === 2);
    mesh.serve({ ...resources, clusters: [edsClusterJson('other', { lb_policy: 'MAGLEV' })] });
    const rejected = await event('rejected Cluster other');

    const { texts, marked } = await changesAt(moved);
    expect(marked).toEqual(
      expect.arrayContaining(['added other', 'removed echo', `changed ${TARGET}`]),
    );
    expect(texts).toEqual(expect.arrayContaining([['removed', 'cluster echo']]));
    expect(await changesAt(tuned)).toEqual({
      texts: [['changed', expect.stringMatching(/^cluster other: .*added lb_policy$/)]],
      marked: ['changed other'],
    });
    expect(await changesAt(rejected)).toEqual({
      texts: [[undefined, 'nothing in the graph']],
      marked: [],
    });
    const unknown = { ...rejected, id: first?.id ?? '' };
    expect(await changesAt(unknown)).toEqual({ texts: [], marked: [] });
  });

  it('has the ejection of an endpoint, and shows the time at which it was ejected', async () => {
    const [a, b] = [await mesh.backend('good'), await mesh.backend('failing')];
    b.refusals = Infinity;
    const ejecting = simpleResources([a.port, b.port]);
    const detection = {
      interval: '0.1s',
      base_ejection_time: '0.1s',
      max_ejection_time: '0.1s',
      failure_percentage_minimum_hosts: 2,
      failure_percentage_request_volume: 1,
      enforcing_failure_percentage: 100,
      max_ejection_percent: 50,
    };
    mesh.serve({
      ...ejecting,
      clusters: [edsClusterJson('echo', { outlier_detection: detection })],
    });
    const client = mesh.client();
    const address = `127.0.0.1:${b.port}`;
    await eventually(
      async () => {
        await client.say().catch(() => undefined);
        return events();
      },
      (found) => found.some(({ name }) => name === `endpoint-ejected echo ${address}`),
    );
    b.refusals = 0;
    const unejected = await event(`endpoint-unejected echo ${address}`);
    const ejected = await event(`endpoint-ejected echo ${address}`);
    const lineOf = async ({ id }: EventAnswer) =>
      (await partsOf({ at: id })).find((part) => part.includes(address));
    expect(await lineOf(ejected)).toMatch(/: ejected; 0 calls succeeded/);
    expect(await lineOf(unejected)).toMatch(/: unknown; was ejected/);
  });

  it('says that there is no such event, or no longer', async () => {
    const search = new URLSearchParams({ target: TARGET, id: `${'x'.repeat(16)}.0` });
    expect((await getPage(page, `/api/event?${search.toString()}`)).status).toBe(404);
  });

  it('refuses an id that is none', async () => {
    const { status } = await getPage(page, '/api/stream?view=graph&at=now');
    expect(status).toBe(400);
  });
});
