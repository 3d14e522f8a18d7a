import { Metadata } from '@grpc/grpc-js';
import type { BrowserContextOptions, Page } from 'playwright-core';
import type { AdminPage } from '../../packages/page/src';
import { audit } from '../support/audit';
import { describeInBrowser } from '../support/describe-in-browser';
import { eventually } from '../support/eventually';
import { speedTime } from '../support/fast-clock';
import { longestTask } from './longest-task';
import { Mesh, SERVICE, simpleResources, type MeshResources } from '../support/mesh';
import { SHOP, startScene } from '../support/page-scene';
import {
  edsClusterJson,
  endpointsJson,
  listenerJson,
  routeConfigJson,
  routerFilter,
  routeToCluster,
  type Json,
} from '../support/xds-json';
import {
  callServer,
  inlineRoutes,
  rbacFilter,
  serverChain,
  XdsServerWorld,
} from '../support/xds-server-world';

describeInBrowser('the live page in Chromium', (chromium) => {
  let tab: Page;
  let mesh: Mesh;
  let resources: MeshResources;
  let page: AdminPage;

  /** @param target What the address has besides the token. */
  async function open(options?: BrowserContextOptions, target = ''): Promise<void> {
    page = await chromium.servePage();
    await visit(page.url + target, options);
  }

  async function visit(url: string, options?: BrowserContextOptions): Promise<void> {
    tab = await chromium.openTab(options);
    await tab.addInitScript(COUNT_UPDATES);
    // The graph, which is the first view, has tests of its own.
    await tab.goto(`${url}&view=topology`);
    await tab.waitForSelector('#overview tbody tr');
  }

  async function openScene(): Promise<void> {
    ({ mesh, resources } = await startScene());
    chromium.stopping(mesh);
    await open({}, `&target=xds:///${SHOP}`);
  }

  const show = (view: string) => chromium.show(view);
  const row = (text: string) => chromium.row(text);

  describe('with a mesh', () => {
    beforeEach(() => openScene());

    it('has the verdicts of the targets, and shows the one that is chosen', async () => {
      await tab.getByRole('button', { name: 'xds:///nowhere.example:8080', exact: true }).click();
      await tab.waitForSelector('#subject:text("xds:///nowhere.example:8080")');
      expect(await tab.textContent('#verdict')).toContain('waiting');
      await tab.getByRole('button', { name: `xds:///${SHOP}` }).click();
      await tab.waitForSelector(`#subject:text("xds:///${SHOP}")`);
      await tab.waitForSelector('#verdict:has-text("2 clusters")');
      expect(await tab.textContent('#verdict')).toMatch(/^degraded catalog degraded \(3 of 4/);
      expect(await tab.textContent('#connection')).toBe('Live');
    });

    it('has every view of a target', async () => {
      await row('TRANSIENT_FAILURE').filter({ hasText: 'endpoint' }).waitFor();
      expect(await row('127.0.0.1:1').last().textContent()).toContain('ECONNREFUSED');
      await show('resources');
      await row('NACKED').waitFor();
      expect(await row('NACKED').textContent()).toContain('must be ROUND_ROBIN');
      await show('routes');
      await row('/shop.Pay/').waitFor();
      await show('servers');
      await row(mesh.address).waitFor();
      await show('events');
      await row('Cluster pay').first().waitFor();
    });

    it('shows the details of a resource, with the rejection beside the value in use', async () => {
      await show('resources');
      await row('NACKED').getByRole('button').click();
      const dialog = tab.getByRole('dialog', { name: 'Cluster pay' });
      await dialog.waitFor();
      const text = await dialog.textContent();
      for (const part of ['Rejected version', 'MAGLEV', 'Contents', '"type": "EDS"']) {
        expect(text).toContain(part);
      }
      await tab.keyboard.press('Escape');
      await dialog.waitFor({ state: 'hidden' });
    });

    it('explains a call', async () => {
      await show('routes');
      await tab.getByText('Explain a call').click();
      await tab.getByLabel('Method').fill('/shop.Pay/Charge');
      await tab.getByLabel('Headers, one per line').fill('x-region: eu');
      await tab.keyboard.press('Tab');
      await tab.keyboard.press('Enter');
      await tab.waitForSelector('#explanation:has-text("100 % to cluster \\"pay\\"")');
    });

    it('filters resources by what they are and by their name', async () => {
      await show('resources');
      await tab.getByLabel('Filter').fill('loadassignment');
      await tab.waitForSelector('#view .range:text("2 rows")');
      expect(await tab.locator('#view tbody tr').count()).toBe(2);
    });

    it('shows a change of the process, and none while it is paused', async () => {
      await tab.getByRole('button', { name: 'Pause updates' }).click();
      await tab.waitForSelector('#connection:text("Paused")');
      mesh.serve({
        ...resources,
        endpoints: [endpointsJson('catalog', [{ zone: 'new', ports: [2] }])],
      });
      await tab.locator('#tab-resources').click();
      await row('catalog').first().waitFor();
      await tab.getByRole('button', { name: 'Pause updates' }).click();
      await show('topology');
      await row('test/new').waitFor();
    });

    it('shows a change in the task in which the message with it arrives', async () => {
      await row('endpoint').first().waitFor();
      await tab.evaluate('updates = { inTask: 0, later: 0 }');
      mesh.serve({
        ...resources,
        endpoints: [endpointsJson('catalog', [{ zone: 'new', ports: [2] }])],
      });
      await row('test/new').waitFor();
      const { inTask, later } = await updatesOf(tab);
      expect(inTask).toBeGreaterThan(0);
      expect(later).toBe(0);
    });

    it('connects again after the connection has ended', async () => {
      const { port } = page;
      const token = new URLSearchParams(new URL(page.url).hash.slice(1)).get('token') ?? '';
      await page.close();
      await tab.waitForSelector('#connection:text("Not connected, trying again")');
      await chromium.servePage({ port, token });
      await tab.waitForSelector('#connection:text("Live")');
      // The attempts in between.
      chromium.forgive(
        'ERR_CONNECTION_REFUSED',
        'ERR_INCOMPLETE_CHUNKED_ENCODING',
        'ERR_CONNECTION_RESET',
      );
    });

    it('asks for the token if the URL has none', async () => {
      await tab.goto('about:blank');
      await tab.goto(page.url.replace(/#.*/, '#'));
      await tab.getByLabel('Token').waitFor();
      expect(await tab.isVisible('#content')).toBe(false);
      await tab.getByLabel('Token').fill(page.url.split('#token=')[1] ?? '');
      await tab.getByRole('button', { name: 'Show the page' }).click();
      await tab.waitForSelector('#overview tbody tr');
      chromium.forgive('401 (Unauthorized)');
    });

    it('walks, closes and opens the topology with the keyboard', async () => {
      await row('endpoint').first().waitFor();
      const focused = () => tab.locator('#view tr:focus');
      await tab.locator('#view tr[tabindex="0"]').focus();
      expect(await focused().getAttribute('aria-level')).toBe('1');
      const before = await tab.locator('#view tbody tr').count();
      await tab.keyboard.press('ArrowLeft');
      await tab.waitForSelector('#view tr:focus[aria-expanded="false"]');
      expect(await tab.locator('#view tbody tr').count()).toBeLessThan(before);
      await tab.keyboard.press('ArrowRight');
      await tab.waitForSelector('#view tr:focus[aria-expanded="true"]');
      await tab.keyboard.press('ArrowRight');
      expect(await focused().getAttribute('aria-level')).toBe('2');
      await tab.keyboard.press('ArrowLeft');
      await tab.waitForSelector('#view tr:focus[aria-expanded="false"]');
      await tab.keyboard.press('ArrowLeft');
      expect(await focused().getAttribute('aria-level')).toBe('1');
      await tab.keyboard.press('End');
      await tab.keyboard.press('Home');
      await tab.keyboard.press('ArrowDown');
      expect(await focused().getAttribute('aria-level')).toBe('2');
      expect(await tab.locator('#view tr[tabindex="0"]').count()).toBe(1);
    });

    it('walks the views with the keyboard', async () => {
      await tab.locator('#tab-topology').focus();
      await tab.keyboard.press('ArrowRight');
      await tab.waitForSelector('#tab-resources:focus[aria-selected="true"]');
      await tab.keyboard.press('ArrowLeft');
      await tab.keyboard.press('ArrowLeft');
      await tab.waitForSelector('#tab-graph:focus[aria-selected="true"]');
      await tab.keyboard.press('ArrowLeft');
      await tab.waitForSelector('#tab-events:focus[aria-selected="true"]');
    });
  });

  describe('with notices of the application', () => {
    const strip = () => tab.locator('#notice');

    beforeEach(() => openScene());

    it('has the latest one above the views, with markup as text', async () => {
      expect(await strip().isVisible()).toBe(false);
      chromium.publishNotice({ name: 'Cluster <i>pay', text: '<b>one' });
      await strip().filter({ hasText: '<b>one Cluster <i>pay' }).waitFor();
      chromium.publishNotice({ text: 'two' });
      await strip().filter({ hasText: 'two' }).waitFor();
      expect(await strip().textContent()).not.toContain('one');
      expect(await strip().getAttribute('role')).toBe('status');
      await show('events');
      await row('<b>one').waitFor();
      expect(await tab.locator('#view b, #notice b').count()).toBe(0);
    });

    it('leads to the target that it is about, and is among the events of that alone', async () => {
      const target = `xds:///${SHOP}`;
      chromium.publishNotice({ text: 'The canary gets 10 %', target });
      await tab.getByRole('button', { name: 'xds:///nowhere.example:8080', exact: true }).click();
      await show('events');
      await tab.waitForSelector('#view tbody tr');
      expect(await row('The canary').count()).toBe(0);
      await strip()
        .getByRole('button', { name: `Show ${target}` })
        .click();
      await tab.locator('#subject', { hasText: target }).waitFor();
      await row('The canary gets 10 %').waitFor();
    });

    it('keeps it while another view is shown, and as it was while it is paused', async () => {
      chromium.publishNotice({ text: 'one' });
      await strip().filter({ hasText: 'one' }).waitFor();
      await show('resources');
      await row('pay').first().waitFor();
      expect(await strip().textContent()).toContain('one');
      await tab.getByRole('button', { name: 'Pause updates' }).click();
      await tab.waitForSelector('#connection:text("Paused")');
      chromium.publishNotice({ text: 'two' });
      await tab.getByRole('button', { name: 'Pause updates' }).click();
      await strip().filter({ hasText: 'two' }).waitFor();
    });
  });

  it('has rates beside groups and endpoints, with a trend that has a name for screen readers', async () => {
    const scene = await startScene();
    chromium.stopping(scene.mesh);
    // A slot of ten seconds is over in one.
    const speeding = speedTime(10);
    chromium.atEnd(() => speeding.release());
    const calling = setInterval(() => void scene.shop.say().catch(() => undefined), 50);
    chromium.atEnd(() => clearInterval(calling));
    await open({}, `&target=xds:///${SHOP}`);
    const catalog = row('catalog').first();
    await catalog.locator('.traffic .rate', { hasText: /\d attempts\/s/ }).waitFor();
    const trend = catalog.locator('.traffic svg.sparkline');
    await trend.waitFor();
    const label = await trend.getAttribute('aria-label');
    expect(label).toMatch(/^attempts a second in the last \d+0 seconds, by ten seconds: \d/);
    expect(await catalog.locator('.traffic').textContent()).toMatch(/p50 .* ms, p99 .* ms/);
    expect(await tab.textContent('#verdict')).toMatch(/\d calls\/s/);
    expect(await audit(tab)).toEqual([]);
  });

  it('shows hostile names as text', async () => {
    const hostile = '<img src=x onerror=alert(1)>"\'`${1}</script><script>alert(2)</script>';
    mesh = chromium.stopping(await Mesh.start());
    const backend = await mesh.backend('a');
    mesh.serve({
      listeners: [listenerJson(SERVICE, hostile)],
      routes: [routeConfigJson(hostile, [routeToCluster(hostile)])],
      clusters: [edsClusterJson(hostile)],
      endpoints: [endpointsJson(hostile, [{ zone: hostile, ports: [backend.port] }])],
    });
    await mesh.client().say();
    await open();
    for (const view of ['topology', 'resources', 'routes', 'events']) {
      await show(view);
      await row(hostile).first().waitFor();
    }
    await show('resources');
    await row(hostile).first().getByRole('button').click();
    await tab.getByRole('dialog').waitFor();
    expect(await tab.locator('img, script:not([src="/assets/page.js"])').count()).toBe(0);
  });

  it('shows the servers of the process, with hostile names as text and without findings of axe', async () => {
    const hostile = '<img src=x onerror=alert(1)>"</script><script>alert(2)</script>';
    mesh = chromium.stopping(await Mesh.start());
    const world = await XdsServerWorld.start();
    const { typed_config } = rbacFilter('DENY', [{ any: true }], [{ any: true }], hostile);
    const filters = [{ name: hostile, typed_config }, routerFilter];
    const chain = serverChain({ ...inlineRoutes(), http_filters: filters }, { name: hostile });
    world.serve([world.listener([chain])]);
    await world.bind(world.server());
    await callServer(world.client());
    try {
      await open();
      await tab.getByRole('button', { name: '#server' }).click();
      await show('addresses');
      await row(world.address).filter({ hasText: 'SERVING' }).waitFor();
      const refusal = row('refusal').filter({ hasText: hostile });
      await refusal.filter({ hasText: '1 call' }).waitFor();
      await row('filter chain')
        .filter({ hasText: `${hostile}: deny, 1 policy` })
        .waitFor();
      await row('client').filter({ hasText: 'plain text' }).waitFor();
      expect(await audit(tab)).toEqual([]);
      await callServer(world.client());
      await refusal.filter({ hasText: '2 calls' }).waitFor();
      await tab.getByLabel('Filter').fill('refusal');
      await tab.waitForSelector('#view .range:text("1 row")');
      world.serve([]);
      await tab.getByLabel('Filter').fill('');
      await row(world.address).filter({ hasText: 'NOT_SERVING' }).waitFor();
      await show('events');
      await row('serving-state').filter({ hasText: world.address }).first().waitFor();
      expect(await tab.locator('img, script:not([src="/assets/page.js"])').count()).toBe(0);
    } finally {
      world.stop();
    }
  });

  it('shows 10,000 endpoints, and their changes, without a long task', async () => {
    mesh = chromium.stopping(await Mesh.start());
    const backend = await mesh.backend('a');
    const simple = simpleResources([backend.port]);
    // A ring connects to an endpoint at a time, and none of them is there.
    const rings = ['ring-0', 'ring-1', 'ring-2'];
    const serve = (weight: number) =>
      mesh.serve({
        ...simple,
        routes: [
          routeConfigJson(`${SERVICE}-routes`, [
            ...rings.map((name) => ({
              match: { prefix: '', headers: [{ name: 'x-ring', exact_match: name }] },
              route: { cluster: name },
            })),
            routeToCluster('echo'),
          ]),
        ],
        clusters: [
          ...simple.clusters,
          ...rings.map((name) => edsClusterJson(name, { lb_policy: 'RING_HASH' })),
        ],
        endpoints: [...simple.endpoints, ...rings.map((name) => ringJson(name, weight))],
      });
    serve(1);
    const client = mesh.client();
    await client.say();
    for (const ring of rings) {
      const metadata = new Metadata();
      metadata.set('x-ring', ring);
      void client.say({ metadata, deadlineMs: 5000 }).catch(() => undefined);
    }
    await open({ viewport: { width: 1280, height: 800 } });
    const closed = tab
      .locator('#view tr[aria-expanded="false"]', { hasText: 'priority' })
      .filter({ hasText: 'ring size' });
    await closed.nth(2).waitFor();
    const longest = await longestTask(chromium.browser, tab, async () => {
      for (const left of [2, 1, 0]) {
        await closed.nth(left).click();
        // Changes of the process go on meanwhile: a row that is still closed would be the wrong one for the next click.
        await eventually(
          () => closed.count(),
          (count) => count === left,
        );
      }
      await tab.waitForSelector('#view .range:has-text("of 10012")');
      expect(await tab.locator('#view tbody tr').count()).toBe(100);
      await tab.evaluate('updates = { inTask: 0, later: 0 }');
      for (const weight of [2, 3, 4]) {
        serve(weight);
        await tab.waitForSelector(`#view tr:last-child .weight:text-is("${weight}")`);
      }
      const { inTask, later } = await updatesOf(tab);
      expect(inTask).toBeGreaterThan(0);
      expect(later).toBe(0);
      await tab.locator('#view .pager').getByRole('button', { name: 'Next' }).click();
      await tab.waitForSelector('#view .range:has-text("Rows 101 to 200")');
      await tab.locator('#view tr[tabindex="0"]').press('End');
      await tab.locator('#view tr:focus').press('ArrowDown');
      await tab.waitForSelector('#view .range:has-text("Rows 201 to 300")');
      await tab.waitForSelector('#view tbody tr:first-child:focus');
    });
    expect(longest).toBeGreaterThan(0);
    expect(longest).toBeLessThan(100);
  }, 90_000);
});

/**
 * Counts the changes of the view in the task in which a message arrives, and those after it. A message leaves the process
 * at most a second after the change: see the test of the rest between captures in `test/observe/live-page`. A clock would show how
 * busy the machine is.
 */
const COUNT_UPDATES = `
  globalThis.updates = { inTask: 0, later: 0 };
  {
    let isArriving = false;
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => (isArriving = false);
    const { parse } = JSON;
    JSON.parse = (...args) => {
      const value = parse(...args);
      if (value?.revision !== undefined) {
        isArriving = true;
        port2.postMessage(0);
      }
      return value;
    };
    new MutationObserver((mutations) => {
      const isOfView = ({ target }) =>
        (target instanceof Element ? target : target.parentElement)?.closest('#view tbody');
      if (mutations.some(isOfView)) globalThis.updates[isArriving ? 'inTask' : 'later']++;
    }).observe(document, { subtree: true, childList: true, characterData: true });
  }
`;

async function updatesOf(tab: Page): Promise<{ inTask: number; later: number }> {
  const updates: unknown = await tab.evaluate('updates');
  return updates as { inTask: number; later: number };
}

/** The number of endpoints of a ring. */
const RING = 3334;

function ringJson(cluster: string, weight: number): Json {
  return {
    cluster_name: cluster,
    endpoints: [
      {
        locality: { region: 'test', zone: 'a' },
        load_balancing_weight: 1,
        lb_endpoints: Array.from({ length: RING }, (_, i) => ({
          load_balancing_weight: weight,
          endpoint: {
            address: { socket_address: { address: `127.1.${i >> 8}.${i & 255}`, port_value: 1 } },
          },
        })),
      },
    ],
  };
}
