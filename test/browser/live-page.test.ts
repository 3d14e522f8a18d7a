import { join } from 'node:path';
import { Metadata } from '@grpc/grpc-js';
import type { Browser, Page } from 'playwright-core';
import { type AdminPage, serveAdminPage } from '../../src';
import { FakeIo } from '../cli/fake-io';
import { AdsClient } from '../control-plane/ads-client';
import { LDS } from '../control-plane/resources';
import { audit } from '../support/audit';
import { launchBrowser, openTab } from '../support/browser';
import { describeInBrowser } from '../support/describe-in-browser';
import { eventually } from '../support/eventually';
import { longestTask } from '../support/longest-task';
import { bootstrapFor, Mesh, SERVICE, simpleResources, type MeshResources } from '../support/mesh';
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

const VIEWS = [
  ...['topology', 'resources', 'routes', 'servers', 'addresses', 'certificates', 'events'],
];
/** Without servers that a control plane configures, and without TLS. */
const MAYBE_EMPTY = ['addresses', 'certificates'];

describeInBrowser('the live page in Chromium', () => {
  let browser: Browser;
  let tab: Page;
  let mesh: Mesh;
  let resources: MeshResources;
  let page: AdminPage;
  /** What the console and uncaught errors say: violations of the content security policy among it. */
  let complaints: string[];

  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser.close());

  afterEach(async () => {
    await tab.close();
    await page.close();
    mesh.stop();
    expect(complaints).toEqual([]);
  });

  async function open(options: Parameters<Browser['newPage']>[0] = {}): Promise<void> {
    page = await serveAdminPage({ port: 0 });
    await visit(options);
  }

  async function visit(options: Parameters<Browser['newPage']>[0] = {}): Promise<void> {
    complaints = [];
    tab = await openTab(browser, (text) => complaints.push(text), options);
    await tab.addInitScript(COUNT_UPDATES);
    // The graph, which is the first view, has tests of its own.
    await tab.goto(`${page.url}&view=topology`);
    await tab.waitForSelector('#overview tbody tr');
  }

  async function openScene(options?: Parameters<Browser['newPage']>[0]): Promise<void> {
    ({ mesh, resources } = await startScene());
    await open(options);
  }

  const show = async (view: string) => {
    await tab.click(`#tab-${view}`);
    await tab.waitForSelector('#view [aria-label]', { state: 'attached' });
  };
  const row = (text: string) => tab.locator('#view tbody tr', { hasText: text });

  describe('with a mesh', () => {
    beforeEach(() => openScene());

    it('has the verdicts of the targets, and shows the one that is chosen', async () => {
      await tab.getByRole('button', { name: 'xds:///nowhere.example:8080' }).click();
      await tab.waitForSelector('#subject:text("xds:///nowhere.example:8080")');
      expect(await tab.textContent('#verdict')).toContain('waiting');
      await tab.getByRole('button', { name: `xds:///${SHOP}` }).click();
      await tab.waitForSelector(`#subject:text("xds:///${SHOP}")`);
      await tab.waitForSelector('#verdict:has-text("2 clusters")');
      expect(await tab.textContent('#verdict')).toContain('ready');
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
      await tab.getByLabel('Method').fill('/shop.Pay/Charge');
      await tab.getByLabel('Headers, one a line').fill('x-region: eu');
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
      page = await serveAdminPage({ port, token });
      await tab.waitForSelector('#connection:text("Live")');
      // The attempts in between.
      complaints = complaints.filter((text) => !text.includes('ERR_CONNECTION_REFUSED'));
      complaints = complaints.filter((text) => !text.includes('ERR_INCOMPLETE_CHUNKED_ENCODING'));
      complaints = complaints.filter((text) => !text.includes('ERR_CONNECTION_RESET'));
    });

    it('asks for the token if the URL has none', async () => {
      await tab.goto('about:blank');
      await tab.goto(page.url.replace(/#.*/, '#'));
      await tab.getByLabel('Token').waitFor();
      expect(await tab.isVisible('#content')).toBe(false);
      await tab.getByLabel('Token').fill(page.url.split('#token=')[1] ?? '');
      await tab.getByRole('button', { name: 'Show the page' }).click();
      await tab.waitForSelector('#overview tbody tr');
      complaints = complaints.filter((text) => !text.includes('401 (Unauthorized)'));
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

  describe.each(['light', 'dark'] as const)('in %s', (colorScheme) => {
    it.each([360, 768, 1280])('has no findings of axe at a width of %i', async (width) => {
      await openScene({ colorScheme, viewport: { width, height: 800 } });
      for (const view of VIEWS) {
        await show(view);
        if (!MAYBE_EMPTY.includes(view)) await tab.waitForSelector('#view tbody tr');
        expect({ view, findings: await audit(tab) }).toEqual({ view, findings: [] });
        const overflow = await tab.evaluate(
          'document.documentElement.scrollWidth - document.documentElement.clientWidth',
        );
        expect({ view, overflow }).toEqual({ view, overflow: 0 });
      }
      await show('resources');
      await row('NACKED').getByRole('button').click();
      await tab.getByRole('dialog').waitFor();
      expect(await audit(tab)).toEqual([]);
    });
  });

  it('shows the clients of grpc-xds serve, what they rejected, and the log, without findings of axe', async () => {
    mesh = await Mesh.start();
    const io = new FakeIo();
    const file = join(__dirname, '../../examples/echo.yaml');
    const running = io.run('serve', file, '--port', '0', '--page', '0');
    const address = (await io.until(/^Serving /)).split(' ').at(-1) ?? '';
    const url = (await io.until(/^Live page: /)).slice('Live page: '.length);
    page = { url, port: 0, close: () => Promise.resolve() };
    const stream = new AdsClient(address).open();
    stream.subscribe(LDS, ['echo.example.com:50051'], { node: { id: '<b>shop' } });
    stream.nack(await stream.next(), ['echo.example.com:50051'], 'a listener that is <i>bad');
    await visit();
    await tab.waitForSelector('#subject:text-is("<b>shop")');
    await tab.waitForSelector('#verdict:has-text("a listener that is <i>bad")');
    await tab.getByRole('button', { name: /^Cluster echo-canary/i }).waitFor();
    expect(await tab.locator('#call').isVisible()).toBe(false);
    expect(await audit(tab)).toEqual([]);
    await show('types');
    await row('Listener').filter({ hasText: 'rejected' }).waitFor();
    expect(await audit(tab)).toEqual([]);
    await show('served');
    await row('echo-canary').first().waitFor();
    await show('events');
    await row('REJECTED listeners').waitFor();
    expect(await audit(tab)).toEqual([]);
    stream.end();
    await tab.waitForSelector('#verdict:text("There is no client at the moment.")');
    await tab.goto('about:blank');
    io.pressCtrlC();
    expect(await running).toBe(0);
  });

  it('shows a relay: its clients, what they rejected, and the server above it, without findings of axe', async () => {
    mesh = await Mesh.start();
    mesh.serve(simpleResources([1]));
    const io = new FakeIo();
    io.env = { GRPC_XDS_BOOTSTRAP_CONFIG: JSON.stringify(bootstrapFor(mesh.address)) };
    const running = io.run('relay', '--listen', '127.0.0.1:0', '--page', '0');
    const url = (await io.until(/^Live page: /)).slice('Live page: '.length);
    const address = (await io.until(/^Relaying on /)).split(' ').at(-1) ?? '';
    page = { url, port: 0, close: () => Promise.resolve() };
    const client = new AdsClient(address);
    const stream = client.open();
    stream.subscribe(LDS, [SERVICE], { node: { id: '<b>shop' } });
    stream.nack(await stream.next(), [SERVICE], 'a listener that is <i>bad');
    await visit();
    await tab.waitForSelector('#subject:text-is("<b>shop")');
    await tab.waitForSelector('#verdict:has-text("a listener that is <i>bad")');
    await row('Listener').filter({ hasText: 'rejected' }).waitFor();
    const shown = { upstream: mesh.address, relayed: 'Listener', events: '<i>bad' };
    for (const [view, text] of Object.entries(shown)) {
      await show(view);
      await row(text).first().waitFor();
      expect({ view, findings: await audit(tab) }).toEqual({ view, findings: [] });
    }
    await show('loads');
    await tab.waitForSelector('#view .range:text("Nothing to show")');
    stream.end();
    client.close();
    await tab.waitForSelector('#verdict:text("There is no client at the moment.")');
    await tab.goto('about:blank');
    io.pressCtrlC();
    expect(await running).toBe(0);
  });

  it('shows hostile names as text', async () => {
    const hostile = '<img src=x onerror=alert(1)>"\'`${1}</script><script>alert(2)</script>';
    mesh = await Mesh.start();
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
    mesh = await Mesh.start();
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

  it('shows 10,000 endpoints, and their changes, without a task of 100 ms', async () => {
    mesh = await Mesh.start();
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
    const longest = await longestTask(browser, tab, async () => {
      for (const left of [2, 1, 0]) {
        await closed.nth(left).click();
        // Changes of the process go on meanwhile: a row that is still closed would be the wrong one for the next click.
        await eventually(
          () => closed.count(),
          (count) => count === left,
        );
      }
      await tab.waitForSelector('#view .range:has-text("of 10012")');
      expect(await tab.locator('#view tbody tr').count()).toBe(200);
      await tab.evaluate('updates = { inTask: 0, later: 0 }');
      for (const weight of [2, 3, 4]) {
        serve(weight);
        await tab.waitForSelector(`#view tr:last-child .weight:text-is("${weight}")`);
      }
      const { inTask, later } = await updatesOf(tab);
      expect(inTask).toBeGreaterThan(0);
      expect(later).toBe(0);
      await tab.locator('#view .pager').getByRole('button', { name: 'Next' }).click();
      await tab.waitForSelector('#view .range:has-text("Rows 201 to 400")');
      await tab.locator('#view tr[tabindex="0"]').press('End');
      await tab.locator('#view tr:focus').press('ArrowDown');
      await tab.waitForSelector('#view .range:has-text("Rows 401 to 600")');
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
        ...{ locality: { region: 'test', zone: 'a' }, load_balancing_weight: 1 },
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
