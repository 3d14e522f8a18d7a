import type { BrowserContextOptions, Page } from 'playwright-core';
import type { AdminPage } from '../../packages/page/src';
import { audit } from '../support/audit';
import { describeInBrowser } from '../support/describe-in-browser';
import { speedTime } from '../support/fast-clock';
import { Mesh, SERVICE, type MeshResources } from '../support/mesh';
import { SHOP, startScene } from '../support/page-scene';
import {
  edsClusterJson,
  endpointsJson,
  listenerJson,
  routeConfigJson,
  routerFilter,
  routeToCluster,
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
    await tab.goto(`${url}&view=resources`);
    await tab.waitForSelector('#overview tbody tr');
  }

  async function openScene(): Promise<void> {
    ({ mesh, resources } = await startScene());
    chromium.stopping(mesh);
    await open({}, `&target=xds:///${SHOP}`);
  }

  const show = (view: string) => chromium.show(view);
  const row = (text: string) => chromium.row(text);
  /** The boxes of the graph whose names for screen readers have these texts. */
  const part = (...texts: readonly string[]) =>
    tab.locator(`.node${texts.map((text) => `[aria-label*=${JSON.stringify(text)}]`).join('')}`);

  describe('with a mesh', () => {
    beforeEach(() => openScene());

    it('has the verdicts of the targets, and shows the one that is chosen', async () => {
      await tab.getByRole('button', { name: 'xds:///nowhere.example:8080', exact: true }).click();
      await tab.waitForSelector('#subject:text("xds:///nowhere.example:8080")');
      expect(await tab.textContent('#verdict')).toContain('waiting');
      await tab.getByRole('button', { name: `xds:///${SHOP}` }).click();
      await tab.waitForSelector(`#subject:text("xds:///${SHOP}")`);
      await tab.waitForSelector('#verdict:has-text("2 clusters")');
      expect(await tab.textContent('#verdict')).toMatch(
        /^degraded, update rejected catalog degraded \(1 of 4 endpoints fails\)/,
      );
      expect(await tab.textContent('#connection')).toBe('Live');
    });

    it('breaks the name of a target at its separators, not in a word', async () => {
      await tab.getByRole('button', { name: `xds:///${SHOP}`, exact: true }).waitFor();
      const lines = await tab.evaluate<readonly string[]>(LINES);
      expect(lines.join('')).toBe(`xds:///${SHOP}`);
      expect(lines.length).toBeGreaterThan(1);
      for (const line of lines.slice(0, -1)) expect(line).toMatch(/[/:.]$/);
    });

    it('has every view of a target', async () => {
      await show('graph');
      await part('endpoint 127.0.0.1:1:', 'ECONNREFUSED').waitFor();
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
      await show('graph');
      await part('locality test/new').waitFor();
    });

    it('shows a change in the task in which the message with it arrives', async () => {
      await show('graph');
      await part('endpoint').first().waitFor();
      await tab.evaluate('updates = { inTask: 0, later: 0 }');
      mesh.serve({
        ...resources,
        endpoints: [endpointsJson('catalog', [{ zone: 'new', ports: [2] }])],
      });
      await part('locality test/new').waitFor();
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

    it('lists what is wrong with since when, what changed, and who is affected', async () => {
      const faults = tab.locator('#faults li');
      await faults.nth(1).waitFor();
      const [first, second] = await faults.allTextContents();
      expect(first).toMatch(
        /^example\/eu-1a \(catalog\): 1 of 3 endpoints fails: connect ECONNREFUSED since \d\d:\d\d:\d\d UTC \(\d+ s ago\)$/,
      );
      expect(second).toMatch(
        /^Cluster "pay": update rejected: .*MAGLEV.* since \d\d:\d\d:\d\d UTC/,
      );
      expect(await tab.textContent('#changed')).toMatch(
        /^\d\d:\d\d:\d\d UTC \(\d+ s ago\) (rejected Cluster pay|example\/eu-1a \(catalog\): 2 of 3 endpoints can be used)/,
      );
      expect(await tab.textContent('#affected')).toMatch(/^no calls/);
      expect(await tab.textContent('#overview-title')).toMatch(/^Targets: 1 of 2 targets degraded/);
      expect(await tab.getAttribute('#overview-title .badge', 'data-mark')).toBe('◭');
      expect(await tab.textContent('#about')).toMatch(/^test-node · grpc-xds /);
    });

    it('begins with the worst of all targets, also with one that has waited for 5 s', async () => {
      await tab.getByRole('button', { name: 'All targets' }).click();
      const first = tab.locator('#faults li').first();
      await first
        .filter({ hasText: /^xds:\/\/\/nowhere\.example:8080 (waits|fails): .* since / })
        .waitFor();
      expect(await tab.locator('#faults').textContent()).toContain('1 of 3 endpoints fails');
    });

    it('walks the views with the keyboard', async () => {
      await tab.locator('#tab-resources').focus();
      await tab.keyboard.press('ArrowRight');
      await tab.waitForSelector('#tab-routes:focus[aria-selected="true"]');
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
      expect(await tab.locator('#notice strong').count()).toBe(0);
      expect(await tab.textContent('#changed')).not.toContain('one');
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

  it('has rates of routes and of parts of the graph, with a trend that has a name for screen readers', async () => {
    const scene = await startScene();
    chromium.stopping(scene.mesh);
    // A slot of ten seconds is over in one.
    const speeding = speedTime(10);
    chromium.atEnd(() => speeding.release());
    const calling = setInterval(() => void scene.shop.say().catch(() => undefined), 50);
    chromium.atEnd(() => clearInterval(calling));
    await open({}, `&target=xds:///${SHOP}`);
    await show('graph');
    await part('cluster catalog').focus();
    await tab
      .locator('.facts .rates', { hasText: /\d attempts\/s, p50 .* ms, p99 .* ms/ })
      .waitFor();
    await show('routes');
    const route = row('every path');
    await route.locator('.traffic .rate', { hasText: /\d calls\/s/ }).waitFor();
    const trend = route.locator('.traffic svg.sparkline');
    await trend.waitFor();
    const label = await trend.getAttribute('aria-label');
    expect(label).toMatch(/^calls a second in the last \d+0 seconds, by ten seconds: \d/);
    expect(await route.locator('.traffic').textContent()).toMatch(/p50 .* ms, p99 .* ms/);
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
    for (const view of ['resources', 'routes', 'events']) {
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
      await tab.getByRole('button', { name: 'Served addresses' }).click();
      await show('graph');
      await part(`address ${world.address}: ready`).waitFor();
      await part('outcome refused by', hostile, '1 call since').waitFor();
      await part('chain', `${hostile}: deny, 1 policy`).waitFor();
      await part('client plain text').waitFor();
      expect(await audit(tab)).toEqual([]);
      await callServer(world.client());
      await part('outcome refused by', hostile, '2 calls since').waitFor();
      world.serve([]);
      await part(`address ${world.address}: failing`).waitFor();
      await tab.locator('#faults', { hasText: `${world.address} is not served: ` }).waitFor();
      await show('events');
      await row('serving-state').filter({ hasText: world.address }).first().waitFor();
      expect(await tab.locator('img, script:not([src="/assets/page.js"])').count()).toBe(0);
    } finally {
      world.stop();
    }
  });
});

/**
 * Counts the changes of the view in the task in which a message arrives, and those after it. A message leaves the process
 * at most a second after the change: see the test of the rest between captures in `test/observe/live-page`. A clock would show how
 * busy the machine is.
 */
/** The lines of the name of the target that is shown, in the list of targets. */
const LINES = `(() => {
  const element = document.querySelector('#overview button[aria-current]');
  const lines = new Map();
  const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text !== null; text = texts.nextNode()) {
    for (let at = 0; at < text.length; at++) {
      const range = document.createRange();
      range.setStart(text, at);
      range.setEnd(text, at + 1);
      const { top } = range.getBoundingClientRect();
      lines.set(top, (lines.get(top) ?? '') + text.data[at]);
    }
  }
  return [...lines.values()];
})()`;

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
        (target instanceof Element ? target : target.parentElement)?.closest('.mesh');
      if (mutations.some(isOfView)) globalThis.updates[isArriving ? 'inTask' : 'later']++;
    }).observe(document, { subtree: true, childList: true, characterData: true });
  }
`;

async function updatesOf(tab: Page): Promise<{ inTask: number; later: number }> {
  const updates: unknown = await tab.evaluate('updates');
  return updates as { inTask: number; later: number };
}
