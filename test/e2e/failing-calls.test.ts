import { serveAdminPage, type AdminPage } from '../../packages/page/src';
import { eventually } from '../support/eventually';
import { SERVICE, simpleResources, useSharedMesh } from '../support/mesh';
import { readRows } from '../support/page-reader';
import { endpointsJson } from '../support/xds-json';

describe('calls that fail on connections that are ready', () => {
  const mesh = useSharedMesh();
  let page: AdminPage;
  beforeAll(async () => {
    page = await serveAdminPage({ port: 0 });
  });
  afterAll(() => page.close());

  const rowsOf = (view: string) => readRows(page, view, `xds:///${SERVICE}`);

  it('are what is wrong, at the endpoint where they fail, on the way to it, and what changed last', async () => {
    const [good, bad] = [await mesh.backend('good'), await mesh.backend('bad')];
    bad.refusals = Infinity;
    mesh.serve({
      ...simpleResources([]),
      endpoints: [
        endpointsJson('echo', [
          { zone: 'a', ports: [good.port] },
          { zone: 'b', ports: [bad.port] },
        ]),
      ],
    });
    const client = mesh.client();
    const readTarget = async () => {
      await Promise.allSettled([client.say(), client.say()]);
      return (await rowsOf('targets'))[0];
    };
    const target = await eventually(readTarget, (row) => row?.flaw === 'calls failing');
    const where = `test/b (echo), 127.0.0.1:${bad.port}`;
    expect(target).toMatchObject({
      // All connections are ready.
      state: 'ready',
      // A call may end in the second after it started, so the share is not always 100 %.
      faults: expect.arrayContaining([
        expect.stringMatching(new RegExp(`^${escapeText(where)}: \\d+ % of .*UNAVAILABLE`)),
      ]) as unknown,
      faultsSince: expect.arrayContaining([expect.stringMatching(/^20\d\d-.*Z$/)]) as unknown,
    });

    const nodes = (await rowsOf('graph')).filter(({ kind }) => kind === 'node');
    const flawed = nodes.filter(({ flaw }) => /^(calls|attempts) failing$/.test(String(flaw)));
    const names = flawed.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining([`xds:///${SERVICE}`, 'echo', 'test/b', `127.0.0.1:${bad.port}`]),
    );
    for (const name of ['test/a', `127.0.0.1:${good.port}`]) expect(names).not.toContain(name);
  });
});

function escapeText(text: string): string {
  return text.replace(/[.()]/g, '\\$&');
}
