import type { BrowserContextOptions, Page } from 'playwright-core';
import { audit, auditLayout } from '../support/audit';
import { describeInBrowser } from '../support/describe-in-browser';
import { eventually } from '../support/eventually';
import { longestTask } from './longest-task';
import { Mesh, SERVICE, type MeshResources } from '../support/mesh';
import { SHOP, startScene } from '../support/page-scene';
import {
  routeToSplit,
  edsClusterJson,
  endpointsJson,
  listenerJson,
  routeConfigJson,
  routeToCluster,
} from '../support/xds-json';

/** Those of the large mesh, with 10 endpoints each. */
const CLUSTERS = 1000;

describeInBrowser('the graph of the live page in Chromium', (chromium) => {
  let tab: Page;
  let mesh: Mesh;
  let resources: MeshResources;
  let url: string;

  /** @param target What the address has besides the token. */
  async function open(options: BrowserContextOptions = {}, target = ''): Promise<void> {
    ({ url } = await chromium.servePage({ port: 0 }));
    tab = await chromium.openTab({ viewport: { width: 1280, height: 900 }, ...options });
    await tab.goto(url + target);
    await tab.waitForSelector('.mesh .node');
  }

  async function openScene(): Promise<void> {
    ({ mesh, resources } = await startScene());
    chromium.stopping(mesh);
    await open({}, `&target=xds:///${SHOP}`);
    await tab.waitForSelector('.mesh .node');
  }

  /** Opens the form that explains a call. */
  const explainForm = () => tab.getByText('Explain a call').click();
  const node = (name: RegExp) => tab.getByRole('button', { name });
  const focused = async () => (await tab.getAttribute('.node:focus', 'aria-label')) ?? '';

  describe('with a mesh', () => {
    beforeEach(() => openScene());

    it('is the first view, and has each part with its state', async () => {
      expect(await tab.getAttribute('#tab-graph', 'aria-selected')).toBe('true');
      await node(/^route 0: pay: ready/).waitFor();
      await node(/^cluster catalog: degraded/).waitFor();
      await node(/^cluster pay: ready, update rejected/).waitFor();
      await node(/^locality example\/us-2a: unused, priority 1/).waitFor();
      await node(/^endpoint 127\.0\.0\.1:1: failing, .*ECONNREFUSED/).waitFor();
      const mark = tab.locator('.node[data-state="failing"] .mark');
      expect(await mark.textContent()).toBe('▲');
    });

    it('is there with the first stream: the page need not know the targets before', async () => {
      const streams: string[] = [];
      tab.on('request', (request) => {
        if (request.url().includes('/api/stream')) streams.push(request.url());
      });
      await tab.goto('about:blank');
      await tab.goto(url);
      await tab.waitForSelector('.mesh .node');
      expect(streams).toHaveLength(1);
      const target = await tab.textContent('#subject');
      expect(target).toBe('All targets');
      expect(new URLSearchParams(new URL(tab.url()).hash.slice(1)).get('target')).toBe('#all');
    });

    it.each([
      [1280, 800],
      [390, 844],
    ])('opens on what fails at %d x %d: its box, and why and since when', async (width, height) => {
      await tab.setViewportSize({ width, height });
      await tab.reload();
      const selected = tab.locator('.node[aria-current="true"]');
      await tab.waitForSelector('.node[aria-current="true"][data-state="failing"]');
      expect(await selected.getAttribute('aria-label')).toMatch(
        /^endpoint 127\.0\.0\.1:1: failing/,
      );
      const facts = tab.locator('.facts');
      expect(await facts.textContent()).toMatch(
        /^endpoint 127\.0\.0\.1:1failing .*ECONNREFUSED.* since \d\d:\d\d:\d\d UTC \(\d+ s ago\)/,
      );
      const peek = tab.locator('.peek');
      const { y = 0, height: tall = 0 } = (await peek.boundingBox()) ?? {};
      expect(y + tall).toBeLessThanOrEqual(height);
      // On a phone it is two lines, until it is tapped.
      if (width < 640) expect(tall).toBeLessThan(60);
      const isExpanded = await tab.locator('.more').isVisible();
      expect(isExpanded).toBe(width >= 960);
      await tab.getByRole('button', { name: 'Details' }).click();
      expect(await tab.locator('.more').isVisible()).toBe(!isExpanded);
      await node(/^cluster catalog/).focus();
      expect(await selected.getAttribute('aria-label')).toMatch(/^cluster catalog/);
      expect(await tab.textContent('.facts h3')).toBe('cluster catalog');
    });

    it('draws what takes no calls with dashes, and what does as wide as its share', async () => {
      await node(/^endpoint 127\.0\.0\.1:1: failing/).waitFor();
      const widths = await tab
        .locator('.mesh .edge:not(.unused, .connection)')
        .evaluateAll((edges) => edges.map((edge) => Number(edge.getAttribute('stroke-width'))));
      // Two routes, their clusters, three localities, and four endpoints that take calls.
      expect(widths).toHaveLength(11);
      const [all = 0] = widths;
      expect(Math.min(...widths)).toBeCloseTo(all / 4, 0);
      expect(await tab.locator('.mesh .edge.unused').count()).toBe(3);
    });

    it('is walked with the keyboard, with the numbers of each node', async () => {
      await node(/^endpoint 127\.0\.0\.1:1: failing/).waitFor();
      await tab.locator('.node[tabindex="0"]').focus();
      expect(await focused()).toMatch(/^target /);
      await tab.keyboard.press('ArrowRight');
      expect(await focused()).toMatch(/^route 0: pay/);
      // What fails is above it.
      await tab.keyboard.press('ArrowUp');
      expect(await focused()).toMatch(/^route 1: all/);
      await tab.keyboard.press('ArrowRight');
      await tab.keyboard.press('ArrowRight');
      expect(await focused()).toMatch(/^locality example\/eu-1a/);
      const facts = await tab.textContent('.facts');
      expect(facts).toContain('catalog: in use, weight 75 %');
      await tab.keyboard.press('ArrowDown');
      await tab.keyboard.press('ArrowDown');
      expect(await focused()).toMatch(/^locality example\/us-2a/);
      expect(await tab.textContent('.facts')).toContain('priority 1: not in use');
      await tab.keyboard.press('ArrowLeft');
      expect(await focused()).toMatch(/^cluster catalog/);
      expect(await tab.locator('.node[tabindex="0"]').count()).toBe(1);
    });

    it('has the management server below the calls, which the keyboard reaches', async () => {
      await tab.locator('.node[tabindex="0"]').focus();
      await tab.keyboard.press('ArrowDown');
      expect(await focused()).toMatch(/^process pid \d+: ready, node test-node/);
      await tab.keyboard.press('ArrowRight');
      expect(await focused()).toMatch(/^management server 127\.0\.0\.1:\d+: ready, connected/);
      expect(await tab.textContent('.facts')).toContain('Connected from');
      expect(await tab.locator('.mesh .edge.connection').count()).toBe(1);
    });

    it('shows the numbers of a line on hover', async () => {
      const [x = 0, y = 0] = await tab.evaluate<readonly number[]>(END_OF_FIRST_LINE);
      await tab.mouse.move(x, y);
      await tab.waitForSelector('.facts h3:has-text("→")');
      expect(await tab.textContent('.facts')).toContain('in use');
    });

    it('keeps elements and the focus when the process changes', async () => {
      await node(/^cluster catalog/).focus();
      await tab
        .locator('.node')
        .evaluateAll((nodes) => nodes.forEach((each) => each.setAttribute('data-kept', '')));
      mesh.serve({
        ...resources,
        endpoints: [endpointsJson('catalog', [{ zone: 'new', ports: [2] }])],
      });
      await node(/^locality test\/new/).waitFor();
      expect(await focused()).toMatch(/^cluster catalog/);
      expect(await tab.getAttribute('.node:focus', 'data-kept')).toBe('');
      expect(await node(/^locality test\/new/).getAttribute('data-kept')).toBeNull();
    });

    it('finds an endpoint by its address, with what leads to it', async () => {
      await node(/^endpoint 127\.0\.0\.1:1: /).waitFor();
      await tab.getByLabel('Filter').fill('ECONNREFUSED');
      await eventually(
        () => tab.locator('.node').count(),
        (count) => count === 5,
      );
      await node(/^cluster catalog/).waitFor();
      expect(await node(/^cluster pay/).count()).toBe(0);
    });

    it('lights the way of a call, and fades the others', async () => {
      await explainForm();
      await tab.getByLabel('Method').fill('/shop.Pay/Charge');
      await tab.getByRole('button', { name: 'Explain', exact: true }).click();
      await tab.waitForSelector('.mesh.explained');
      expect(await tab.textContent('.steps')).toContain('✕ 0: pay: header x-region');
      expect(await tab.textContent('.steps')).toContain('→ 1: all: matches');
      expect(await tab.textContent('.steps')).toContain('→ example/eu-1b: 25 % by weight');
      const lit = () =>
        tab
          .locator('.node.on-way')
          .evaluateAll((nodes) =>
            nodes.map((each) => (each.getAttribute('aria-label') ?? '').replace(/: .*/, '')),
          );
      expect(await lit()).toContain('cluster catalog');
      expect(await lit()).not.toContain('cluster pay');
      expect(await tab.evaluate(OPACITY_OF_FAILING)).toBe('1');
      expect(await tab.locator('.mesh .share:text-is("25 %")').count()).toBeGreaterThan(0);
      expect(await tab.textContent('.explaining')).toMatch(
        /^Explaining \/shop.Pay\/Charge: predicted shares/,
      );
      expect(await audit(tab)).toEqual([]);
      await tab.getByRole('button', { name: 'Show all paths' }).click();
      await tab.waitForSelector('.mesh:not(.explained)');
      expect(await tab.locator('.explaining').isVisible()).toBe(false);
      await tab.getByLabel('Headers, one per line').fill('x-region: eu');
      await tab.getByRole('button', { name: 'Explain', exact: true }).click();
      await tab.waitForSelector('.mesh.explained');
      expect(await lit()).toContain('cluster pay');
    });

    it('does not say the way of a call of a target that is no longer shown', async () => {
      let answer: (() => void) | undefined;
      const mayAnswer = new Promise<void>((resolve) => (answer = resolve));
      await tab.route('**/api/explain?*', async (request) => {
        const response = await request.fetch();
        await mayAnswer;
        await request.fulfill({ response });
      });
      await explainForm();
      await tab.getByLabel('Method').fill('/shop.Pay/Charge');
      await tab.getByRole('button', { name: 'Explain', exact: true }).click();
      await tab.getByRole('button', { name: 'xds:///nowhere.example:8080' }).click();
      await tab.waitForSelector('#subject:text("xds:///nowhere.example:8080")');
      const arrived = tab.waitForResponse('**/api/explain?*');
      answer?.();
      await (await arrived).finished();
      expect(await tab.textContent('#explanation')).toBe('');
      await tab.getByRole('button', { name: `xds:///${SHOP}` }).click();
      await tab.waitForSelector('.mesh .node');
      expect(await tab.textContent('#explanation')).toBe('');
      expect(await tab.locator('.mesh.explained').count()).toBe(0);
    });
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
    const cluster = tab.locator('.node[aria-label^="cluster <img"]');
    await cluster.focus();
    expect(await tab.textContent('.facts h3')).toBe(`cluster ${hostile}`);
    expect(await tab.locator('img, script:not([src="/assets/page.js"])').count()).toBe(0);
  });

  it('asks for the way again when the weights change, and lights none in a picture of another time', async () => {
    mesh = chromium.stopping(await Mesh.start());
    const [a, b] = await Promise.all(['a', 'b'].map((name) => mesh.backend(name)));
    const split = (first: number): MeshResources => ({
      listeners: [listenerJson(SERVICE)],
      routes: [routeConfigJson(`${SERVICE}-routes`, [routeToSplit({ a: first, b: 100 - first })])],
      clusters: [edsClusterJson('a'), edsClusterJson('b')],
      endpoints: [
        endpointsJson('a', [{ zone: 'z', ports: [a?.port ?? 0] }]),
        endpointsJson('b', [{ zone: 'z', ports: [b?.port ?? 0] }]),
      ],
    });
    mesh.serve(split(60));
    await mesh.client().say();
    await open();
    await explainForm();
    await tab.getByLabel('Method').fill('/test.Echo/Say');
    await tab.getByRole('button', { name: 'Explain', exact: true }).click();
    await tab.locator('.mesh .share', { hasText: '60 %' }).first().waitFor();
    mesh.serve(split(90));
    await tab.locator('.mesh .share', { hasText: '90 %' }).first().waitFor();
    await tab.locator('.steps', { hasText: '90 %, weight 90' }).waitFor();
    expect(await tab.locator('.mesh .share', { hasText: '60 %' }).count()).toBe(0);
    await tab.locator('#explanation', { hasText: '90 %' }).waitFor();

    await tab.getByRole('button', { name: 'Pause updates' }).click();
    await tab.waitForSelector('#connection:text("Paused")');
    await tab.getByRole('button', { name: 'Explain', exact: true }).click();
    await tab.locator('#explanation', { hasText: 'The picture is that of the pause' }).waitFor();
    expect(await tab.locator('.mesh.explained').count()).toBe(0);
    await tab.getByRole('button', { name: 'Pause updates' }).click();
    await tab.waitForSelector('.mesh.explained');
  });

  it('is not wider than the window for a target with a long name that has no graph', async () => {
    mesh = chromium.stopping(await Mesh.start());
    void mesh
      .client({}, `xds:///${'w'.repeat(900)}`)
      .say()
      .catch(() => undefined);
    await open();
    await tab.locator('.graph-reason', { hasText: 'www' }).waitFor();
    for (const width of [360, 1280]) {
      await tab.setViewportSize({ width, height: 800 });
      expect(await auditLayout(tab)).toEqual([]);
    }
  });

  it('shows 1,000 clusters with 10,000 endpoints by their groups, without a long task', async () => {
    mesh = chromium.stopping(await Mesh.start());
    mesh.serve(largeMesh());
    await mesh
      .client()
      .say()
      .catch(() => undefined);
    await open();
    await node(/^cluster 960 more/).waitFor();
    const firstPictureMs = await tab.evaluate<number>(FIRST_PICTURE);
    // On a machine that is not busy it is less than 500.
    expect(firstPictureMs).toBeGreaterThan(0);
    expect(firstPictureMs).toBeLessThan(10_000);
    const longest = await longestTask(chromium.browser, tab, async () => {
      await node(/^cluster 960 more/).click();
      await node(/^cluster 900 more/).click();
      await node(/^cluster 960 more/).waitFor();
      await tab.getByLabel('Filter').fill('cluster-777');
      await node(/^cluster cluster-777/).waitFor();
      await node(/^endpoint 127\.3\.9\.9:1/).waitFor();
    });
    expect(longest).toBeGreaterThan(0);
    expect(longest).toBeLessThan(100);
    expect(await tab.locator('.node').count()).toBeLessThan(60);
  }, 120_000);
});

/** The milliseconds from the beginning of the navigation to the first picture. */
const FIRST_PICTURE = `new Promise((resolve) => {
  new PerformanceObserver((list) => {
    const [drawn] = list.getEntriesByName('graph drawn');
    if (drawn !== undefined) resolve(drawn.startTime);
  }).observe({ type: 'mark', buffered: true });
})`;

const OPACITY_OF_FAILING = `getComputedStyle(
  document.querySelector('.node[data-state="failing"]'),
).opacity`;

/** Where the first line in use is nearly at its end, where no name is. */
const END_OF_FIRST_LINE = `(() => {
  const line = document.querySelector('.edge:not(.unused)');
  const { x, y } = line.getPointAtLength(0.8 * line.getTotalLength());
  const picture = line.ownerSVGElement.getBoundingClientRect();
  return [picture.x + x, picture.y + y];
})()`;

/** Each cluster has a route and 10 endpoints, which nothing listens at. */
function largeMesh(): MeshResources {
  const names = Array.from({ length: CLUSTERS }, (_, index) => `cluster-${index}`);
  return {
    listeners: [listenerJson(SERVICE)],
    routes: [
      routeConfigJson(
        `${SERVICE}-routes`,
        names.map((cluster) => ({ match: { prefix: `/${cluster}/` }, route: { cluster } })),
      ),
    ],
    clusters: names.map((name) => edsClusterJson(name)),
    endpoints: names.map((cluster, index) => ({
      cluster_name: cluster,
      endpoints: [
        {
          locality: { region: 'test', zone: 'a' },
          load_balancing_weight: 1,
          lb_endpoints: Array.from({ length: 10 }, (_, i) => ({
            endpoint: {
              address: {
                socket_address: { address: `127.${index >> 8}.${index & 255}.${i}`, port_value: 1 },
              },
            },
          })),
        },
      ],
    })),
  };
}
