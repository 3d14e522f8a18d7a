import type { Browser, Page } from 'playwright-core';
import { serveAdminPage, type AdminPage } from '../../src';
import { audit } from '../support/audit';
import { launchBrowser, openTab } from '../support/browser';
import { describeInBrowser } from '../support/describe-in-browser';
import type { Mesh } from '../support/mesh';
import { startScene } from '../support/page-scene';

/** Until a whole slot of ten seconds has passed, on a busy machine. */
const TREND_TIMEOUT_MS = 60_000;

describeInBrowser('the rates of the live page in Chromium', () => {
  let browser: Browser;
  let tab: Page;
  let mesh: Mesh;
  let page: AdminPage;
  let calling: NodeJS.Timeout;
  let complaints: string[];

  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser.close());

  beforeEach(async () => {
    const scene = await startScene();
    ({ mesh } = scene);
    page = await serveAdminPage({ port: 0 });
    calling = setInterval(() => void scene.shop.say().catch(() => undefined), 50);
    complaints = [];
    tab = await openTab(browser, (text) => complaints.push(text));
  });
  afterEach(async () => {
    clearInterval(calling);
    await tab.close();
    await page.close();
    mesh.stop();
  });

  it(
    'are beside groups and endpoints, with a trend that has a name for screen readers',
    async () => {
      await tab.goto(`${page.url}&view=topology`);
      const catalog = tab.locator('#view tbody tr', { hasText: 'catalog' }).first();
      await catalog.locator('.traffic .rate', { hasText: /\d attempts\/s/ }).waitFor();
      const trend = catalog.locator('.traffic svg.sparkline');
      await trend.waitFor({ timeout: TREND_TIMEOUT_MS });
      const label = await trend.getAttribute('aria-label');
      expect(label).toMatch(/^attempts a second in the last \d+0 seconds, by ten seconds: \d/);
      expect(await catalog.locator('.traffic').textContent()).toMatch(/p50 .* ms, p99 .* ms/);
      expect(await tab.textContent('#verdict')).toMatch(/\d calls\/s/);
      expect(await audit(tab)).toEqual([]);
      expect(complaints).toEqual([]);
    },
    2 * TREND_TIMEOUT_MS,
  );
});
