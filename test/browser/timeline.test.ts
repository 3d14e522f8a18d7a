import type { Page } from 'playwright-core';
import type { AdminPage } from '../../packages/page/src';
import { audit } from '../support/audit';
import { describeInBrowser } from '../support/describe-in-browser';
import { eventually } from '../support/eventually';
import { Mesh, SERVICE, simpleResources, type MeshResources } from '../support/mesh';
import {
  edsClusterJson,
  endpointsJson,
  routeConfigJson,
  routeToCluster,
} from '../support/xds-json';

const MARKS = '.event-mark';

describeInBrowser('the line of time in Chromium', (chromium) => {
  let tab: Page;
  let mesh: Mesh;
  let resources: MeshResources;
  let page: AdminPage;

  beforeEach(async () => {
    mesh = chromium.stopping(await Mesh.start());
    page = await chromium.servePage();
    const backends = [await mesh.backend('a'), await mesh.backend('b')];
    resources = simpleResources(backends.map(({ port }) => port));
    mesh.serve(resources);
    await mesh.client().say();
  });

  async function visit() {
    tab = await chromium.openTab();
    await tab.goto(page.url);
    await tab.waitForSelector(MARKS);
  }

  /** Moves the calls to another cluster, whose name has markup, and waits until the page has it. */
  async function moveToOther(): Promise<void> {
    const name = 'other <b>';
    mesh.serve({
      ...resources,
      routes: [routeConfigJson(`${SERVICE}-routes`, [routeToCluster(name)])],
      clusters: [edsClusterJson(name)],
      endpoints: [endpointsJson(name, [{ zone: 'later', ports: [1] }])],
    });
    await node('later').waitFor();
  }

  const node = (text: string) => tab.locator('.mesh .node .name', { hasText: text });
  /** The node of the cluster that calls go to at first. */
  const echo = () => tab.locator('.mesh .node[aria-label^="cluster echo:"]');
  const dialog = () => tab.getByRole('dialog');

  /** Opens the first event with a text, with the keyboard: it may be one of several of a mark. */
  async function openEvent(name: string): Promise<void> {
    await eventually(
      async () => {
        for (let index = 0; index < (await tab.locator(MARKS).count()); index++) {
          if (await openMark(index, name)) return true;
        }
        return false;
      },
      (isOpen) => isOpen,
    );
  }

  async function openMark(index: number, name: string): Promise<boolean> {
    await tab.locator(MARKS).nth(index).press('Enter');
    const [, kind = '', subject = name] = /^(accepted|config-published) (.*)$/.exec(name) ?? [];
    const row = tab.locator('#view tbody tr', { hasText: kind }).filter({ hasText: subject });
    const listed = row.getByRole('button');
    await tab.waitForSelector('dialog[open], #view td button:focus');
    if (!(await dialog().isVisible())) {
      if ((await listed.count()) === 0) return false;
      await listed.last().press('Enter');
      await dialog().waitFor();
      return true;
    }
    if ((await dialog().textContent())?.includes(name) === true) return true;
    await tab.keyboard.press('Escape');
    await dialog().waitFor({ state: 'hidden' });
    return false;
  }

  it('says what its marks, colours, numbers and times mean', async () => {
    await visit();
    const legend = await tab.locator('.legend span:not(:empty)').allTextContents();
    expect(legend).toEqual([
      '● accepted or recovered',
      '○ other event',
      '◭ warning',
      '▲ failed or rejected',
      '▁▃ calls/s',
      '┄ until now',
      '▆ failed',
      '— p99',
      'number: events',
      'UTC',
    ]);
    const [first = ''] = (await tab.locator(MARKS).first().textContent()) ?? '';
    expect(legend.some((text) => text.startsWith(first))).toBe(true);
  });

  it('shows how a resource differs at an event, with the keyboard alone', async () => {
    await visit();
    mesh.serve({ ...resources, clusters: [edsClusterJson('echo', { lb_policy: 'RING_HASH' })] });
    await eventually(
      async () => {
        await tab.locator('#tab-events').click();
        return tab.locator('#view tbody tr', { hasText: 'Cluster echo' }).count();
      },
      (count) => count === 2,
    );
    await openEvent('Cluster echo');
    expect(await dialog().textContent()).toContain('Version before');
    await tab.keyboard.press('Escape');
    await dialog().waitFor({ state: 'hidden' });
  });

  it('shows the graph as it was, goes back to now, and has a link that shows the same', async () => {
    await visit();
    await echo().waitFor();
    await moveToOther();
    expect(await echo().count()).toBe(0);
    await openEvent(`config-published ${SERVICE}`);
    await dialog().getByRole('button', { name: 'Show the graph as it was then' }).click();
    await tab.waitForSelector('#then:has-text("The graph is as it was at")');
    await echo().waitFor();
    expect(await node('later').count()).toBe(0);

    await tab.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await tab.getByRole('button', { name: 'Copy link' }).click();
    await tab.waitForSelector('#statuses:has-text("Link copied")');
    const link = await tab.evaluate<string>('navigator.clipboard.readText()');
    const token = page.url.slice(page.url.indexOf('token=') + 'token='.length);
    expect(link).not.toContain(token);

    await tab.getByRole('button', { name: 'Back to now' }).click();
    await node('later').waitFor();
    expect(await tab.locator('#then').isHidden()).toBe(true);

    // The page has room for the connections of one tab that has just been opened.
    await tab.close();
    tab = await chromium.openTab();
    await tab.goto(link);
    await tab.getByLabel('Token').fill(token);
    await tab.keyboard.press('Enter');
    // The link has no token, as it should be.
    chromium.forgive('401 (Unauthorized)');
    await tab.waitForSelector('#then:has-text("The graph is as it was at")');
    await echo().waitFor();
    chromium.forgive('401 (Unauthorized)');
  });

  it('marks what an event has changed in the graph of then, with signs and in words', async () => {
    await visit();
    await moveToOther();
    await tab.locator('#tab-events').click();
    await tab.waitForSelector('#view tbody tr:has-text("Cluster other <b>")');
    await openEvent('accepted Cluster other <b>');
    await dialog().getByRole('button', { name: 'Show the graph as it was then' }).click();
    const listed = tab.locator('.changes', { hasText: 'What the event has changed' });
    await listed.locator('li', { hasText: '+ cluster other <b>' }).waitFor();
    expect(await listed.locator('li', { hasText: '- cluster echo' }).count()).toBe(1);
    const added = tab.locator('.node[data-change="added"]', { hasText: '+ other <b>' });
    expect(await added.getAttribute('aria-label')).toMatch(
      /^cluster other <b>: .*, added by the event$/,
    );
    expect(await tab.locator('.mesh .share', { hasText: '+' }).count()).toBeGreaterThan(0);
    expect(await audit(tab)).toEqual([]);
    await tab.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' });
    expect(await audit(tab)).toEqual([]);
    await tab.getByRole('button', { name: 'Back to now' }).click();
    await listed.waitFor({ state: 'hidden' });
    expect(await tab.locator('.node[data-change]').count()).toBe(0);
  });

  it('opens events while updates are paused', async () => {
    await visit();
    await tab.getByRole('button', { name: 'Pause updates' }).click();
    await openEvent(`config-published ${SERVICE}`);
    await dialog().getByRole('button', { name: 'Show the graph as it was then' }).click();
    await echo().waitFor();
    expect(await tab.textContent('#connection')).toBe('Paused');
  });
});
