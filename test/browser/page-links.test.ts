import type { Page } from 'playwright-core';
import type { AdminPage } from '../../packages/page/src';
import { audit } from '../support/audit';
import { describeInBrowser } from '../support/describe-in-browser';
import { Mesh, SERVICE, simpleResources } from '../support/mesh';
import { fillScene, SHOP, startScene } from '../support/page-scene';

/** An event that no process has. */
const UNKNOWN = 'AAAAAAAAAAAAAAAA.1';

/** Writes the parts of a link. */
function queryOf(state: Readonly<Record<string, string>>): string {
  return new URLSearchParams(state).toString();
}

describeInBrowser('links and states of the live page in Chromium', (chromium) => {
  let tab: Page;
  let page: AdminPage;

  /** Opens a tab with what a link has, besides the token. */
  async function visit(state: Readonly<Record<string, string>> = {}): Promise<void> {
    tab = await chromium.openTab();
    await tab.goto(`${page.url}&${queryOf(state)}`);
  }

  /** Goes to a link without the token in the tab that has the page. */
  async function follow(state: Readonly<Record<string, string>>): Promise<void> {
    await tab.goto(`${page.url.split('#')[0]}#${queryOf(state)}`);
  }

  async function startShop(): Promise<Mesh> {
    const { mesh } = await startScene();
    page = await chromium.servePage();
    return chromium.stopping(mesh);
  }

  const status = (text: string) => tab.locator('#statuses p', { hasText: text });
  const fragment = async () =>
    new URLSearchParams(await tab.evaluate<string>('location.hash.slice(1)'));
  const token = () => page.url.slice(page.url.indexOf('=') + 1);
  const target = (name: string) => `xds:///${name}`;
  const nowhere = target('nowhere.example:8080');
  const untilShown = (subject: string) => tab.waitForSelector(`#subject[title="${subject}"]`);
  const untilView = (name: string) => tab.waitForSelector(`#tab-${name}[aria-selected="true"]`);
  const untilConnection = (text: string) => tab.waitForSelector(`#connection:text-is("${text}")`);

  it('names the parts of a link that cannot be used, and shows what the others say', async () => {
    await startShop();
    await visit({
      target: nowhere,
      view: 'resources',
      filter: 'x'.repeat(300),
      opened: 'z'.repeat(9000),
      at: 'garbage',
      event: `${UNKNOWN}<script>`,
      colour: 'red',
    });
    await untilShown(nowhere);
    await untilView('resources');
    await untilConnection('Live');
    expect(await tab.getByLabel('Filter').inputValue()).toBe('');
    const named = await status('link').textContent();
    for (const part of ['filter', 'opened', 'at', 'event', 'colour']) {
      expect(named).toContain(`"${part}"`);
    }
    expect(named).toContain('at most 256 characters');
    expect([...(await fragment()).keys()]).toEqual(['token', 'target', 'view']);
    expect(await audit(tab)).toEqual([]);

    await follow({ target: 't'.repeat(9000), view: '__proto__' });
    await status('"target"').filter({ hasText: '"view"' }).waitFor();
    await untilConnection('Live');
    await untilView('graph');
  });

  it('shows why a request is refused, and does not repeat it', async () => {
    await startShop();
    // Such as those that a proxy adds. All parts of a link fit into a request, but not beside them.
    tab = await chromium.openTab({ extraHTTPHeaders: { 'x-added': 'x'.repeat(6500) } });
    let streams = 0;
    tab.on('request', (request) => (streams += request.url().includes('/api/stream') ? 1 : 0));
    await tab.clock.install();
    await tab.goto(`${page.url}&${queryOf({ target: target(SHOP), filter: '界'.repeat(256) })}`);
    await status('too long').waitFor();
    await untilConnection('Refused');
    const before = streams;
    await tab.clock.runFor(60_000);
    expect(streams).toBe(before);
    await tab.getByLabel('Filter').fill('shop');
    await tab.clock.runFor(1000);
    await untilConnection('Live');
    expect(await status('too long').count()).toBe(0);
    chromium.forgive('431 (Request Header Fields Too Large)');
  });

  it('says of each table why it has no rows', async () => {
    page = await chromium.servePage();
    await visit();
    await untilConnection('Live');
    const said = tab.locator('#view .range');
    const reasons: string[] = [];
    for (const name of await tab.getByRole('tab').allTextContents()) {
      if (name === 'Graph') continue;
      await tab.getByRole('tab', { name }).click();
      await said.filter({ hasText: /./ }).waitFor();
      reasons.push((await said.textContent()) ?? '');
    }
    expect(reasons).toHaveLength(5);
    expect(reasons.filter((reason) => !/^[A-Z].*\.$/.test(reason))).toEqual([]);
    await tab.getByLabel('Filter').fill('payment');
    await said.filter({ hasText: 'Nothing has "payment" in it.' }).waitFor();
  });

  it('follows a link that is pasted into its tab, and keeps the token', async () => {
    await startShop();
    await visit({ target: target(SHOP), opened: 'A'.repeat(16) });
    await untilShown(target(SHOP));
    await follow({ target: nowhere, view: 'routes', filter: 'pay' });
    await untilShown(nowhere);
    await untilView('routes');
    expect(await tab.getByLabel('Filter').inputValue()).toBe('pay');
    expect(Object.fromEntries(await fragment())).toEqual({
      token: token(),
      target: nowhere,
      view: 'routes',
      filter: 'pay',
    });
    await tab.reload();
    await untilShown(nowhere);
    await untilView('routes');

    await tab.goBack();
    await untilShown(target(SHOP));
    await untilView('graph');
    // What is no link of this page, such as the one that skips to the view, leaves the address as it is.
    await tab.locator('.skip').focus();
    await tab.keyboard.press('Enter');
    await tab.waitForSelector('#panel:focus');
    expect((await fragment()).get('view')).toBe('graph');
    await follow({ target: target('gone'), view: 'servers' });
    await status('xds:///gone').waitFor();
    await untilShown('All targets');
    await untilView('graph');

    await follow({ token: 'wrong'.repeat(4), view: 'servers' });
    await tab.getByLabel('Token').fill(token());
    await tab.keyboard.press('Enter');
    await untilView('servers');
    chromium.forgive('401 (Unauthorized)');
  });

  it('says that an event is no longer kept and that the present is shown, until that is dismissed', async () => {
    const mesh = chromium.stopping(await Mesh.start());
    page = await chromium.servePage();
    const backend = await mesh.backend('a');
    mesh.serve(simpleResources([backend.port]));
    await mesh.client().say();
    const link = { target: target(SERVICE), at: UNKNOWN };
    await visit(link);
    await status('what is shown is the present').waitFor();
    // The messages of the stream do not replace it.
    mesh.serve(simpleResources([backend.port, 1]));
    await tab.locator('.mesh .node', { hasText: '127.0.0.1:1' }).first().waitFor();
    expect(await status('no longer kept').isVisible()).toBe(true);
    expect((await fragment()).has('at')).toBe(false);
    await status('no longer kept').getByRole('button', { name: 'Dismiss' }).focus();
    await tab.keyboard.press('Enter');
    expect(await status('no longer kept').count()).toBe(0);
    await tab.waitForSelector('#statuses:focus', { state: 'attached' });

    await follow({ target: link.target, event: UNKNOWN });
    await status('no longer kept').waitFor();
    chromium.forgive('404 (Not Found)');
  });

  it('says why there is no graph, from when a paused page is, and that its process is gone', async () => {
    const mesh = chromium.stopping(await Mesh.start());
    page = await chromium.servePage();
    await visit();
    const reason = (text: string) => tab.locator('.graph-reason', { hasText: text });
    await reason('There is no target at the moment.').waitFor();
    expect(await tab.getByText('Point at a node').isVisible()).toBe(false);
    expect(await tab.locator('#call').isVisible()).toBe(false);
    await fillScene(mesh);
    await tab.getByRole('button', { name: target(SHOP), exact: true }).click();
    await tab.waitForSelector('.node[aria-label^="endpoint"]');
    expect(await reason('').isVisible()).toBe(false);
    await tab.getByRole('button', { name: nowhere, exact: true }).click();
    await reason(`${nowhere} is waiting: Listener "nowhere.example:8080"`).waitFor();
    expect(await tab.locator('#call').isVisible()).toBe(false);
    expect(await audit(tab)).toEqual([]);
    await tab.getByRole('button', { name: target(SHOP), exact: true }).click();
    await tab.waitForSelector('.node[aria-label^="endpoint"]');
    await tab.getByLabel('Filter').fill('no such name');
    await reason('Nothing has "no such name" in its name').waitFor();
    expect(await tab.locator('#call').isVisible()).toBe(true);

    expect(await tab.locator('#moment').isVisible()).toBe(false);
    await tab.getByRole('button', { name: 'Pause updates' }).click();
    await untilConnection('Paused');
    await tab.waitForSelector('#moment:has-text("as it was at")');
    await tab.locator('#tab-resources').click();
    await chromium.row('NACKED').getByRole('button').click();
    await tab.waitForSelector('#details-moment:has-text("Read at")');
    await tab.keyboard.press('Escape');
    await page.close();
    await tab.locator('#tab-routes').click();
    await untilConnection('Paused; not connected, trying again');
    await tab.waitForSelector('#moment:has-text("as it was at")');
    await tab.locator('#tab-graph').click();
    await reason('Not received yet').waitFor();
    chromium.forgive('ERR_CONNECTION_REFUSED', 'ERR_CONNECTION_RESET', 'ERR_INCOMPLETE_CHUNKED');
  });
});
