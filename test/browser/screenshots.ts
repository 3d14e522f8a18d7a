// Takes screenshots of the live page: `npm run update -- screenshots FOLDER`. Those in docs/images are from here.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { serveAdminPage } from '../../packages/page/src';
import { launchBrowser } from '../support/browser';
import { DemoMesh } from '../support/demo-mesh';
import { startScene } from '../support/page-scene';

const WIDTHS = [360, 768, 1280];
const VIEWS = ['graph', 'topology', 'resources', 'routes', 'servers', 'events'];

async function main(folder: string): Promise<void> {
  const { mesh, shop } = await startScene();
  const page = await serveAdminPage({ port: 0 });
  const browser = await launchBrowser();
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const width of WIDTHS) {
      const tab = await browser.newPage({ colorScheme, viewport: { width, height: 720 } });
      tab.on('console', (message) => process.stderr.write(`${message.text()}\n`));
      tab.on('pageerror', (error) => process.stderr.write(`${error.stack ?? error.message}\n`));
      await tab.goto(page.url);
      for (const view of VIEWS) {
        await tab.click(`#tab-${view}`);
        await tab.waitForSelector(view === 'graph' ? '.mesh .node' : '#view tbody tr');
        if (view === 'graph') {
          await tab.waitForSelector('.node[data-state="failing"]');
          await tab.locator('.node[aria-label^="cluster catalog"]').focus();
        }
        if (view === 'topology') {
          for (let call = 0; call < 12; call++) await shop.say();
          await tab.waitForSelector('#view td:has-text("latency")');
        }
        if (view === 'routes') {
          await tab.fill('#method', '/shop.Pay/Charge');
          await tab.click('#call button');
          await tab.waitForSelector('#explanation:not([hidden])');
        }
        await tab.screenshot({
          path: join(folder, `${view}-${colorScheme}-${width}.png`),
          fullPage: true,
        });
        if (view === 'graph') await shootWay(tab, join(folder, `way-${colorScheme}-${width}.png`));
      }
      await tab.close();
    }
  }
  await takeDemo(browser, folder);
  await browser.close();
  await page.close();
  mesh.stop();
}

/** Steps of `demo --page` until a zone is lost. */
const STEPS = 5;
/** The time until what happens is in the page and its ages. */
const SETTLE_MS = 3000;

/** Takes a picture of `demo --page` while a zone is lost. */
async function takeDemo(browser: Browser, folder: string): Promise<void> {
  const demo = await DemoMesh.start();
  for (let step = 0; step < STEPS; step++) {
    await sleep(SETTLE_MS);
    demo.next();
  }
  const tab = await browser.newPage({ viewport: { width: 1280, height: 720 } });
  await tab.goto(demo.url);
  await tab.waitForSelector('#notice:has-text("Zone eu/a is lost")');
  await tab.locator('#notice').getByRole('button', { name: 'Show xds:///payment' }).click();
  await tab.waitForSelector('#subject:text("xds:///payment")');
  await sleep(SETTLE_MS);
  await tab.screenshot({ path: join(folder, 'demo.png'), fullPage: true });
  await tab.close();
  demo.interrupt();
  await demo.closed;
}

/** The graph with the way of an explained call. */
async function shootWay(tab: Page, path: string): Promise<void> {
  await tab.fill('#method', '/shop.Catalog/List');
  await tab.click('#call button');
  await tab.waitForSelector('.mesh.explained');
  await tab.screenshot({ path, fullPage: true });
}

void main(process.argv[2] ?? '.');
