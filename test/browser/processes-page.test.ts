import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { FakeIo } from '../cli/fake-io';
import { audit } from '../support/audit';
import { launchBrowser, openTab } from '../support/browser';
import { describeInBrowser } from '../support/describe-in-browser';

const HOSTILE = '<img src=x onerror=alert(1)></script><script>alert(2)</script>';
const TARGET = 'xds:///<b>shop';

/** The report of a process that has a Cluster in a version. */
function reportOf(version: string): object {
  const resource = { type: 'Cluster', name: HOSTILE, status: 'ACKED', version };
  const servers = [{ serverUri: 'cp.test:1', state: 'open' }];
  const target = {
    target: TARGET,
    nodeId: HOSTILE,
    state: 'ready',
    resources: [resource],
    servers,
  };
  return { schema: 1, pid: 1, time: '2026-01-01T00:00:00.000Z', targets: [target] };
}

describeInBrowser('the live page of several processes in Chromium', () => {
  let browser: Browser;
  let folder: string;
  beforeAll(async () => {
    browser = await launchBrowser();
    folder = mkdtempSync(join(tmpdir(), 'processes-'));
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await browser.close();
  });

  /** Visits the page of three processes, the last of which differs. */
  async function visit(tab: Page, io: FakeIo): Promise<void> {
    const files = ['8', '8', '7'].map((version, index) => {
      const file = join(folder, `${index + 1}.json`);
      writeFileSync(file, JSON.stringify(reportOf(version)));
      return file;
    });
    void io.run('page', ...files);
    const url = (await io.until(/^Live page: /)).slice('Live page: '.length);
    tab.setDefaultTimeout(15_000);
    await tab.goto(url);
    await tab.locator('#overview tbody tr', { hasText: 'differs' }).waitFor();
  }

  it.each([
    ['light', 1280],
    ['dark', 700],
    ['light', 380],
  ] as const)('names the one that differs: %s, %d pixels wide', async (colorScheme, width) => {
    const complaints: string[] = [];
    const tab = await openTab(browser, (text) => complaints.push(text), {
      colorScheme,
      viewport: { width, height: 800 },
    });
    const io = new FakeIo();
    await visit(tab, io);
    const row = (text: string) => tab.locator('#view tbody tr', { hasText: text });
    await row(HOSTILE).filter({ hasText: 'version 7' }).waitFor();
    expect(await tab.textContent('#verdict')).toContain('3.json differs in 1 of 4: Cluster "<img');
    // By keyboard alone, in the order of the page.
    await tab.locator('#overview button', { hasText: '3.json' }).focus();
    await tab.keyboard.press('Enter');
    await tab.waitForSelector('#verdict:has-text("Differs: Cluster")');
    await tab.locator('#tab-differences').focus();
    const views = {
      sides: 'others version 8',
      facts: 'differs: others version 8',
      events: 'differs',
    };
    for (const [view, text] of Object.entries(views)) {
      await tab.keyboard.press('ArrowRight');
      await row(text).first().waitFor();
      expect({ view, findings: await audit(tab) }).toEqual({ view, findings: [] });
    }
    expect(await tab.locator('img, script:not([src="/assets/page.js"])').count()).toBe(0);
    expect(complaints).toEqual([]);
    await tab.close();
    io.pressCtrlC();
  });
});
