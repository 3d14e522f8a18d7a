// Takes the pictures of the live page in docs/images: `npm run update -- screenshots`, or with a folder for others.
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { serveAdminPage } from '../../packages/page/src';
import { launchBrowser } from '../support/browser';
import { DemoMesh } from '../support/demo-mesh';
import { SHOP, startScene } from '../support/page-scene';

const WIDE = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 844 };
type Theme = 'light' | 'dark';

/** The time until trends have a beginning, and until what happens is in the page and its ages. */
const WARM_UP_MS = 25_000;
const SETTLE_MS = 8000;
/** The time until rates are those of several looks. */
const RATES_MS = 3000;
const CALL_INTERVAL_MS = 80;

class Camera {
  constructor(
    private readonly browser: Browser,
    private readonly folder: string,
  ) {}

  /** Takes a picture of what is seen without scrolling. @param show Brings the page into the state of the picture. */
  async take(
    name: string,
    url: string,
    [viewport, colorScheme]: readonly [typeof WIDE, Theme],
    show: (tab: Page) => Promise<unknown>,
  ): Promise<void> {
    const tab = await this.browser.newPage({ colorScheme, viewport });
    tab.on('console', (message) => process.stderr.write(`${message.text()}\n`));
    tab.on('pageerror', (error) => process.stderr.write(`${error.stack ?? error.message}\n`));
    await tab.goto(url);
    await show(tab);
    await tab.waitForTimeout(RATES_MS);
    await tab.screenshot({ path: join(this.folder, `live-page-${name}.png`) });
    await tab.close();
  }
}

async function takeScene(camera: Camera): Promise<void> {
  const { mesh, shop, backends } = await startScene();
  const page = await serveAdminPage({ port: 0 });
  const url = `${page.url}&target=xds:///${SHOP}`;
  const calling = setInterval(() => void shop.say().catch(() => undefined), CALL_INTERVAL_MS);
  const graph = (tab: Page) => tab.waitForSelector('.node[data-state="failing"]');
  await camera.take('graph', url, [WIDE, 'light'], graph);
  await camera.take('graph-phone', url, [PHONE, 'dark'], graph);
  await camera.take('graph-explain', url, [WIDE, 'light'], async (tab) => {
    await graph(tab);
    await tab.getByText('Explain a call').click();
    await tab.fill('#method', '/shop.Catalog/List');
    await tab.click('#call button');
    await tab.waitForSelector('.mesh.explained');
    await tab.evaluate('scrollTo(0, 0)');
  });
  await camera.take('phone', `${url}&view=resources`, [PHONE, 'light'], (tab) =>
    tab.waitForSelector('#view tbody tr'),
  );
  const [, , failing] = backends;
  if (failing !== undefined) failing.refusals = Infinity;
  await sleep(WARM_UP_MS);
  await camera.take('failing', url, [WIDE, 'light'], graph);
  clearInterval(calling);
  await page.close();
  mesh.stop();
}

/** Takes pictures of `demo --page` while all is well, and during a zone outage: the pages of web and of cart. */
async function takeDemo(camera: Camera): Promise<void> {
  const demo = await DemoMesh.start('--incident=lost-zone');
  const zone = (state: string) => (tab: Page) =>
    tab.waitForSelector(`.node[aria-label^="locality eu/a: ${state}"]`);
  await sleep(WARM_UP_MS);
  const healthy = [
    ['healthy', WIDE, 'light'],
    ['healthy-dark', WIDE, 'dark'],
    ['healthy-phone', PHONE, 'light'],
  ] as const;
  for (const [name, viewport, theme] of healthy) {
    await camera.take(name, demo.url, [viewport, theme], zone('ready'));
  }
  demo.next();
  await sleep(SETTLE_MS);
  await camera.take('demo', demo.url, [WIDE, 'light'], zone('failing'));
  await camera.take('demo-dark', demo.url, [WIDE, 'dark'], zone('failing'));
  await camera.take('demo-phone', demo.url, [PHONE, 'light'], zone('failing'));
  await camera.take('demo-phone-dark', demo.url, [PHONE, 'dark'], zone('failing'));
  const payment = `${demo.urlOf('cart')}&target=xds:///payment`;
  await camera.take('demo-payment', payment, [WIDE, 'light'], zone('failing'));
  demo.interrupt();
  await demo.closed;
}

async function main(folder: string): Promise<void> {
  const browser = await launchBrowser();
  const camera = new Camera(browser, folder);
  await takeDemo(camera);
  await takeScene(camera);
  await browser.close();
}

void main(process.argv[2] ?? join(__dirname, '../../docs/images'));
