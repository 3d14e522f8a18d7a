import { channel } from 'node:diagnostics_channel';
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { type AdminPage, serveAdminPage } from '../../packages/page/src';
import { chromiumPath, launchBrowser } from './browser';
import type { Mesh } from './mesh';

/** Chromium of a group of tests. What a test opens and starts ends with it. */
export class TestBrowser {
  private launched: Browser | undefined;
  private readonly tabs: Page[] = [];
  private readonly endings: (() => unknown)[] = [];
  /** What consoles say and what nothing catches: violations of the content security policy among it. */
  private readonly complaints: string[] = [];
  /** Parts of those that the test causes. */
  private readonly forgiven: string[] = [];

  async launch(): Promise<void> {
    this.launched = await launchBrowser();
  }

  get browser(): Browser {
    if (this.launched === undefined) throw new Error('the browser is not there yet');
    return this.launched;
  }

  /** The tab that was opened last. */
  get tab(): Page {
    const tab = this.tabs.at(-1);
    if (tab === undefined) throw new Error('no tab is open');
    return tab;
  }

  /** Opens a tab, with nothing in it. */
  async openTab(options: BrowserContextOptions = {}): Promise<Page> {
    const tab = await this.browser.newPage(options);
    tab.setDefaultTimeout(20_000);
    tab.on('console', (message) => this.complaints.push(message.text()));
    tab.on('pageerror', (error) => this.complaints.push(error.message));
    this.tabs.push(tab);
    return tab;
  }

  /** Serves the page of this process, while the test runs. */
  async servePage(options: Parameters<typeof serveAdminPage>[0] = { port: 0 }): Promise<AdminPage> {
    const page = await serveAdminPage(options);
    this.atEnd(() => page.close());
    return page;
  }

  /** Ends a mesh with the test. */
  stopping<T extends Pick<Mesh, 'stop'>>(started: T): T {
    this.atEnd(() => started.stop());
    return started;
  }

  /** Runs something when the tabs of the test are closed, the last one first. */
  atEnd(ending: () => unknown): void {
    this.endings.push(ending);
  }

  /** Shows a view. */
  async show(view: string): Promise<void> {
    await this.tab.click(`#tab-${view}`);
    await this.tab.waitForSelector('#view [aria-label]', { state: 'attached' });
  }

  /** The rows of the view with a text. */
  row(text: string): Locator {
    return this.tab.locator('#view tbody tr', { hasText: text });
  }

  /**
   * Publishes a notice of the application. The channel is looked up each time: Node.js 20 forgets one that it has made in place of
   * another one that was collected a moment before, such as that of the previous test file (`WeakRefMap` of its
   * `diagnostics_channel`).
   */
  publishNotice(notice: object): void {
    channel('grpc-xds:notice').publish(notice);
  }

  /** Takes complaints that the test causes out of those that fail it, also later ones: what failed is attempted again. */
  forgive(...texts: readonly string[]): void {
    this.forgiven.push(...texts);
  }

  /** Ends what the test has started. @throws if the console has said something. */
  async endTest(): Promise<void> {
    for (const tab of this.tabs.splice(0)) await tab.close();
    for (const end of this.endings.splice(0).reverse()) await end();
    const forgiven = this.forgiven.splice(0);
    const complaints = this.complaints.splice(0);
    const isForgiven = (each: string) => forgiven.some((text) => each.includes(text));
    expect(complaints.filter((each) => !isForgiven(each))).toEqual([]);
  }

  async close(): Promise<void> {
    await this.launched?.close();
  }
}

/** Tests in one Chromium, which CI has and `npm run browser` needs. Elsewhere they are skipped without one. */
export function describeInBrowser(name: string, tests: (chromium: TestBrowser) => void): void {
  const isNeeded = process.env.CI !== undefined || process.env['NEEDS_CHROMIUM'] !== undefined;
  const group = chromiumPath === undefined && !isNeeded ? describe.skip : describe;
  group(name, () => {
    const chromium = new TestBrowser();
    beforeAll(() => chromium.launch());
    afterEach(() => chromium.endTest());
    afterAll(() => chromium.close());
    tests(chromium);
  });
}
