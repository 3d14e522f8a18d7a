import type { Page } from 'playwright-core';
import { PACKAGE_VERSION } from '../../src/util/version';
import { FakeIo } from '../cli/fake-io';
import { AdsClient } from '../control-plane/ads-client';
import { LDS } from '../control-plane/resources';
import { audit, auditLayout } from '../support/audit';
import { describeInBrowser, type TestBrowser } from '../support/describe-in-browser';
import { bootstrapFor, Mesh, SERVICE, simpleResources, registerAnew } from '../support/mesh';
import { unreached } from './unreached';
import { runCommand } from './scenes';

const THEMES = ['light', 'dark'] as const;
const WIDTHS = [360, 768, 1280];
/** A text that each view has before it is looked at. */
const VIEWS = {
  types: 'Listener',
  graph: 'connected',
  connections: 'odd',
  differences: 'odd',
  upstream: '127.0.0.1:',
  relayed: 'Listener',
  loads: 'No client has',
  events: 'odd',
};

/** Names that would be markup, that reverse what follows them, that end a line, and that fill a page. */
const SPIFFE_ID = 'spiffe://mesh.example/ns/shop/sa/<img src=x onerror=alert(1)>';
const LONG = `<img src=x>${'W'.repeat(10_000)}`;
const ODD = '\u202e\u200f<b>odd\u0000\u001b[31m\r\n\t\u2066\u05d0';
const SHOWN_ODD = '\\u{202e}\\u{200f}<b>odd\\x00\\x1b[31m\\r\\n\\t\\u{2066}\u05d0';

const agentOf = (text: string) => ({ user_agent_name: text, user_agent_version: text });

describeInBrowser('the page of a relay in Chromium', (chromium) => {
  let tab: Page;
  let address: string;
  let mesh: Mesh;
  let ads: AdsClient;

  beforeEach(async () => {
    mesh = chromium.stopping(await Mesh.start());
    const backend = await mesh.backend('a');
    mesh.serve(simpleResources([backend.port]));
    const io = new FakeIo();
    io.env = { GRPC_XDS_BOOTSTRAP_CONFIG: JSON.stringify(bootstrapFor(mesh.address)) };
    const url = await runCommand(chromium, io, 'relay', '--listen', '127.0.0.1:0', '--page', '0');
    address = (await io.until(/^Relaying on /)).split(' ').at(-1) ?? '';
    ads = new AdsClient(address);
    chromium.atEnd(() => ads.close());
    await connectAll();
    tab = await chromium.openTab({ reducedMotion: 'reduce' });
    await tab.goto(url);
    await tab.locator('#overview tbody tr').nth(2).waitFor();
  });

  /** Connects this process, a client that accepts what it receives, and one that does not. */
  async function connectAll(): Promise<void> {
    registerAnew({
      bootstrap: { ...bootstrapFor(address, ['grpc_xds_relay']), node: { id: SPIFFE_ID } },
    });
    await mesh.client().say();
    const long = ads.open();
    long.subscribe(LDS, [SERVICE], { node: { id: LONG, ...agentOf(LONG) } });
    long.ack(await long.next(), [SERVICE]);
    const odd = ads.open();
    odd.subscribe(LDS, [SERVICE], { node: { id: ODD, ...agentOf(ODD) } });
    odd.nack(await odd.next(), [SERVICE], `a listener that is ${ODD}`);
  }

  async function show(view: string, text: string): Promise<void> {
    await chromium.show(view);
    await tab.locator('#view', { hasText: text }).waitFor();
  }

  const focused = async () => (await tab.getAttribute('.node:focus', 'aria-label')) ?? '';

  it('draws who connects to the relay, and what is above it, which the keyboard reaches', async () => {
    await show('graph', mesh.address);
    expect(await tab.locator('.mesh .node').count()).toBe(5);
    await tab.locator('.node[tabindex="0"]').focus();
    expect(await focused()).toContain(
      `process ${SPIFFE_ID} (stream 1): ready, grpc-xds (Node.js) ${PACKAGE_VERSION}, from 127`,
    );
    await tab.keyboard.press('ArrowRight');
    expect(await focused()).toContain(
      `relay ${address}: ready, pid ${process.pid}, grpc-xds ${PACKAGE_VERSION}, 3 clients`,
    );
    await tab.keyboard.press('ArrowRight');
    expect(await focused()).toContain(`management server ${mesh.address}: ready, connected`);
    expect(await tab.textContent('.facts')).toContain(`Connected from${address}: in use`);
  });

  it('shows names of clients as text, whatever is in them', async () => {
    await show('graph', mesh.address);
    for (const name of [SPIFFE_ID, LONG.slice(0, 500), SHOWN_ODD]) {
      await tab.getByRole('button', { name: `process ${name}` }).focus();
      expect(await tab.textContent('.facts h3')).toContain(name);
    }
    await tab.locator('#overview button', { hasText: 'odd' }).click();
    await tab.locator('#subject', { hasText: 'odd' }).waitFor();
    expect(await tab.textContent('#subject')).toBe(SHOWN_ODD);
    expect(await tab.textContent('#verdict')).toContain(`a listener that is ${SHOWN_ODD}`);
  });

  it('shows who connects, from where and since when, as far as it is known', async () => {
    await show('connections', 'odd');
    const cellsOf = (text: string) => chromium.row(text).locator('td').allTextContents();
    const [, stream, agent, version, peer, connected] = await cellsOf('spiffe://');
    expect([stream, agent, version]).toEqual(['1', 'grpc-xds (Node.js)', PACKAGE_VERSION]);
    expect(peer).toMatch(/^127\.0\.0\.1:\d+$/);
    expect(connected).toMatch(/ ago$/);
    const [name, , oddAgent, oddVersion] = await cellsOf('odd');
    expect([name, oddAgent, oddVersion]).toEqual([SHOWN_ODD, SHOWN_ODD, SHOWN_ODD]);
    await tab.locator('#overview button', { hasText: 'spiffe' }).click();
    const about = `grpc-xds (Node.js) ${PACKAGE_VERSION}, from 127.0.0.1:`;
    await tab.locator('#verdict', { hasText: about }).waitFor();
    expect(await tab.textContent('#about')).toBe(
      `grpc-xds ${PACKAGE_VERSION}, relay (pid ${process.pid})`,
    );
  });

  it('has no findings in any view, whatever clients are called', async () => {
    await tab.locator('#overview button', { hasText: 'WWW' }).click();
    await tab.locator('#subject', { hasText: 'WWW' }).waitFor();
    const problems: string[] = [];
    for (const [index, [view, text]] of Object.entries(VIEWS).entries()) {
      await show(view, text);
      for (const width of WIDTHS) {
        await tab.setViewportSize({ width, height: 800 });
        for (const colorScheme of THEMES) {
          await tab.emulateMedia({ colorScheme });
          // Each width and theme once with axe, and each view.
          const isChosen =
            WIDTHS.indexOf(width) === index % 3 && THEMES.indexOf(colorScheme) === index % 2;
          const found = isChosen ? await audit(tab) : await auditLayout(tab);
          const tall = await tallNames(chromium);
          problems.push(...[...found, ...tall].map((each) => `${view}, ${width}: ${each}`));
        }
      }
      problems.push(...(await unreached(tab)).map((each) => `${view}: not reached: ${each}`));
    }
    expect(problems).toEqual([]);
  }, 60_000);
});

/** The names that take more than a fifth of the window, which is 800 pixels high. */
async function tallNames({ tab }: TestBrowser): Promise<readonly string[]> {
  const heights = await tab
    .locator('#subject, #overview td button')
    .evaluateAll((names) => names.map((each) => each.getBoundingClientRect().height));
  return heights.filter((height) => height > 160).map((height) => `${height} pixels of a name`);
}
