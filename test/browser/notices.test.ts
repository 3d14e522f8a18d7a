import { channel } from 'node:diagnostics_channel';
import type { Browser, Page } from 'playwright-core';
import { type AdminPage, serveAdminPage } from '../../src';
import { audit } from '../support/audit';
import { launchBrowser, openTab } from '../support/browser';
import { describeInBrowser } from '../support/describe-in-browser';
import type { Mesh } from '../support/mesh';
import { SHOP, startScene } from '../support/page-scene';

const notices = channel('grpc-xds:notice');

describeInBrowser('the notices of an application in Chromium', () => {
  let browser: Browser;
  let tab: Page;
  let mesh: Mesh;
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
    ({ mesh } = await startScene());
    page = await serveAdminPage({ port: 0 });
    complaints = [];
    tab = await openTab(browser, (text) => complaints.push(text), options);
    await tab.goto(page.url);
    await tab.waitForSelector('#overview tbody tr');
  }

  it('are above the views, the latest alone, with markup as text', async () => {
    await open();
    const strip = tab.locator('#notice');
    expect(await strip.isVisible()).toBe(false);
    notices.publish({ name: 'Cluster <i>pay', text: '<b>one' });
    await strip.filter({ hasText: '<b>one Cluster <i>pay' }).waitFor();
    notices.publish({ text: 'two' });
    await strip.filter({ hasText: 'two' }).waitFor();
    expect(await strip.textContent()).not.toContain('one');
    expect(await strip.getAttribute('role')).toBe('status');
    await tab.click('#tab-events');
    await tab.locator('#view tbody tr', { hasText: '<b>one' }).waitFor();
    expect(await tab.locator('#view b, #notice b').count()).toBe(0);
  });

  it('lead to the target that they are about, and are among its events alone', async () => {
    await open();
    const target = `xds:///${SHOP}`;
    notices.publish({ text: 'The canary gets 10 %', target });
    const other = tab.locator('#overview button').filter({ hasNotText: SHOP }).first();
    await other.click();
    await tab.click('#tab-events');
    await tab.waitForSelector('#view tbody tr');
    expect(await tab.locator('#view', { hasText: 'The canary' }).count()).toBe(0);
    await tab
      .locator('#notice')
      .getByRole('button', { name: `Show ${target}` })
      .click();
    await tab.locator('#subject', { hasText: target }).waitFor();
    await tab.locator('#view tbody tr', { hasText: 'The canary gets 10 %' }).waitFor();
  });

  it('stay while another view is shown, and are as they were while the page is paused', async () => {
    await open();
    notices.publish({ text: 'one' });
    await tab.locator('#notice', { hasText: 'one' }).waitFor();
    await tab.click('#tab-resources');
    await tab.locator('#view tbody tr').first().waitFor();
    expect(await tab.textContent('#notice')).toContain('one');
    await tab.getByRole('button', { name: 'Pause updates' }).click();
    await tab.waitForSelector('#connection:text("Paused")');
    notices.publish({ text: 'two' });
    await tab.getByRole('button', { name: 'Pause updates' }).click();
    await tab.locator('#notice', { hasText: 'two' }).waitFor();
  });

  it.each([
    ['light', 360],
    ['dark', 1280],
  ] as const)('have no findings of axe in %s at a width of %i', async (colorScheme, width) => {
    await open({ colorScheme, viewport: { width, height: 800 } });
    await tab.click('#tab-resources');
    await tab.locator('#view tbody tr').first().waitFor();
    notices.publish({ name: 'RouteConfiguration '.repeat(20), text: 'x'.repeat(500) });
    await tab.locator('#notice', { hasText: 'xxx' }).waitFor();
    expect(await audit(tab)).toEqual([]);
    const overflow = await tab.evaluate(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    );
    expect(overflow).toBe(0);
  });
});
