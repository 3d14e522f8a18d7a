import { Metadata } from '@grpc/grpc-js';
import { inspect } from '../../../src';
import { serveAdminPage } from '../../../packages/page/src';
import { eventually } from '../../support/eventually';
import { Mesh, SERVICE, simpleResources } from '../../support/mesh';
import { readPage } from '../../support/page-reader';
import { routerFilter } from '../../support/xds-json';
import {
  callServer,
  inlineRoutes,
  rbacFilter,
  serverChain,
  XdsServerWorld,
} from '../../support/xds-server-world';

const isBad = { header: { name: 'x-bad', exact_match: '1' } };

describe('the graph of the servers of a process', () => {
  it('has who called which filter chain, and what a policy refused, while the page is served', async () => {
    const mesh = await Mesh.start();
    mesh.serve(simpleResources([(await mesh.backend('a')).port]));
    await mesh.client({}, `xds:///${SERVICE}`).say();
    const world = await XdsServerWorld.start();
    const filters = { http_filters: [rbacFilter('DENY', [isBad]), routerFilter] };
    world.serve([world.listener([serverChain({ ...inlineRoutes(), ...filters }, { name: 'in' })])]);
    await world.bind(world.server());
    const client = world.client();
    const bad = new Metadata();
    bad.set('x-bad', '1');
    // Not counted, since no page is served.
    expect(await callServer(client)).toBe('OK');
    const reportOf = () => inspect().servers.find(({ address }) => address === world.address);
    expect(reportOf()?.recentCalls).toBeUndefined();
    const page = await serveAdminPage({ port: 0 });
    try {
      for (let i = 0; i < 3; i++) expect(await callServer(client)).toBe('OK');
      expect(await callServer(client, { metadata: bad })).toMatch(/^PERMISSION_DENIED/);
      expect(reportOf()?.recentCalls).toEqual([
        {
          identity: 'plain text',
          filterChain: 'in',
          calls: 4,
          refusals: [
            { status: 'PERMISSION_DENIED', filter: 'rbac', policy: 'the-policy', calls: 1 },
          ],
        },
      ]);
      const read = await readPage(page, 'view=graph&target=%23server');
      const [first] = await eventually(
        () => read.messages,
        (messages) => messages.length > 0,
      );
      read.request.destroy();
      const rows = first?.data.views['graph']?.rows ?? [];
      const named = (name: string) => rows.find((row) => row['name'] === name);
      expect(named(world.address)).toMatchObject({ column: 'address', state: 'ready' });
      expect(named('in')).toMatchObject({ column: 'chain', state: 'ready' });
      const refusal = named('refused by rbac, policy the-policy');
      expect(refusal).toMatchObject({ column: 'outcome', state: 'failing' });
      expect(rows).toContainEqual(
        expect.objectContaining({
          kind: 'edge',
          from: named('in')?.id,
          to: refusal?.id,
          share: 0.25,
          isMeasured: true,
          isUsed: true,
          text: '1 call in the last 5 minutes',
        }),
      );
      expect(rows.find(({ column, kind }) => kind === 'node' && column === 'client')).toMatchObject(
        {
          name: 'plain text',
          text: `${world.address}: 1 connection, 4 calls in the last 5 minutes, 1 refused by rbac, policy the-policy`,
        },
      );
    } finally {
      await page.close();
      expect(reportOf()?.recentCalls).toBeUndefined();
      world.stop();
      mesh.stop();
    }
  });
});
