import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { INCIDENTS } from '../../packages/cli/src/commands/demo';
import { DemoMesh } from '../support/demo-mesh';
import { expectNoFailures, incidentNames, untilClaim, untilStep } from '../support/incident-pages';

const STORY_START = 'All is well: web calls catalog and cart, these call stock and payment';
/** How the text of each step after the first begins, the resource that did it, and the share of the canary. */
const STORY: readonly (readonly [text: string, resource: string, share?: number])[] = [
  ['The canary cart-v2 gets 1 %', 'RouteConfiguration cart-routes', 1],
  ['The canary gets 10 %', 'RouteConfiguration cart-routes', 10],
  ['The canary gets 50 %', 'RouteConfiguration cart-routes', 50],
  ['The canary is over', 'RouteConfiguration cart-routes', 0],
  ['Zone eu/a is lost', '(no resource changed)'],
  ['The control plane has noticed', 'ClusterLoadAssignment of each cluster'],
  ['Zone eu/a is found again', 'ClusterLoadAssignment of each cluster'],
  ['The backend stock-b2 fails', 'Cluster stock: outlier_detection'],
  ['The backend stock-b2 is well', 'Cluster stock: outlier_detection'],
  ['A bad Cluster catalog', 'Cluster catalog: lb_policy MAGLEV'],
  ['The Cluster catalog is as before', 'Cluster catalog'],
];

jest.setTimeout(300_000);

let mesh: DemoMesh | undefined;
afterEach(() => mesh?.kill());

/** Starts the demo. */
async function start(...args: readonly string[]): Promise<DemoMesh> {
  mesh = await DemoMesh.start(...args);
  return mesh;
}

// test/browser/incidents.test.ts plays the incidents.
describe('grpc-xds demo --page', () => {
  it('has each incident in the documentation', () => {
    expect([...incidentNames()].sort()).toEqual([...INCIDENTS].sort());
  });

  it('says in one line that the port of the page is taken', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const text = `error: grpc-xds: listen EADDRINUSE: address already in use 127.0.0.1:${port}; --page chooses another port`;
    await expect(start(`--page=${port}`)).rejects.toThrow(
      new Error(`it has ended with 2: Starting a control plane and five services …\n${text}\n`),
    );
    server.close();
  });

  // 1. Each step of the story, by hand: its notice, with the resource that did it, on the page and the terminal.
  // 2. The shares of the canary, in the routes. The incidents have what the others show.
  // 3. The story begins again, and no call has failed.
  it('plays its story without a failed call', async () => {
    const shown = await start();
    await untilStep(shown, STORY_START);
    for (const [text, resource, share] of STORY) {
      shown.next();
      await shown.until('notices', '', ([newest = []]) => {
        return newest.includes(resource) && newest.some((cell) => cell.startsWith(text));
      });
      if (share === undefined) continue;
      const [v1, v2] = [100 - share, share].map((percent) => percent.toFixed(1));
      const texts = [`clusters cart-v1 ${v1} %`, ...(share > 0 ? [`cart-v2 ${v2} %`] : [])];
      await untilClaim(shown, text, { view: 'routes', target: 'xds:///cart', texts });
    }
    shown.next();
    await untilStep(shown, STORY_START);
    shown.interrupt();
    await expectNoFailures(shown);
  });

  it('names the incidents if there is no such one', async () => {
    await expect(start('--incident=other')).rejects.toThrow(
      'there is no incident other: bad-weight, nack',
    );
  });
});
