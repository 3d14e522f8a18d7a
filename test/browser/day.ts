// A day of live pages in Chromium: what each page, and the process that serves them, keep in memory while updates arrive.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { channel } from 'node:diagnostics_channel';
import type { Browser, CDPSession, Page } from 'playwright-core';
import { serveAdminPage } from '../../packages/page/src';
import { systemClock } from '../../src/util/clock';
import { FakeIo } from '../cli/fake-io';
import { AdsClient } from '../control-plane/ads-client';
import { LDS } from '../control-plane/resources';
import { speedWallClock } from '../support/fast-clock';
import { SHOP, startScene } from '../support/page-scene';
import { slopeOf } from '../support/slope';
import {
  edsClusterJson,
  endpointsJson,
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

/** How many times as fast as usual the time of the process and of the pages passes: a page gets an update a second at most. */
const SPEED = 60;
/** Longer timers guard connections, and calls and looks are measured: these take the time that they take. */
const LONGEST_OF_PROCESS_MS = 14_000;
const LONGEST_OF_PAGE_MS = 5000;
/** How often memory is looked at, from a quarter of the day on: until then histories fill, and code is compiled. */
const SAMPLES = 8;
/** Steps between two looks at the number of updates. */
const STEPS = 10;

/** By how much a heap may grow from a quarter of the day to its end, whatever the number of updates: what the engine learns. */
const ALLOWED_BYTES = 1_500_000;
/** The same of the process, whose histories and logs fill up to their bounds, those of all pages. */
const ALLOWED_PROCESS_BYTES = 8_000_000;
/** By how many the nodes outside of the document, and the listeners of a page may differ: those of its rows do. */
const ALLOWED_NODES = 200;
const ALLOWED_LISTENERS = 60;

/** A page that is open for a day. */
interface OpenPage {
  readonly url: string;
  /** Makes something happen that has not been before. */
  readonly change: (step: number) => unknown;
  /** What a person does now and then; in the end the page is as in the beginning. */
  readonly look: (tab: Page) => Promise<unknown>;
}

/** What a page keeps, without garbage. */
interface PageMemory {
  readonly heapBytes: number;
  /** Nodes that are not in the document, and those inside of form controls. */
  readonly detached: number;
  readonly listeners: number;
}

/** What came of a day. */
export interface DayReport {
  readonly hours: number;
  /** The samples of each page. */
  readonly pages: Readonly<Record<string, readonly PageMemory[]>>;
  /** The heap of the process. */
  readonly process: readonly number[];
  /** Bytes by which a heap grows with each 1,000 updates, by its name. */
  readonly growth: Readonly<Record<string, number>>;
  /** What consoles have said. */
  readonly complaints: readonly string[];
}

/**
 * @param updates Those that each page gets: 86,400 are a day with one a second.
 * @param only A part of the names of the pages.
 */
export async function runDay(browser: Browser, updates: number, only = ''): Promise<DayReport> {
  const endings: (() => unknown)[] = [];
  const startedAtMs = Date.now();
  const clock = speedWallClock(SPEED, LONGEST_OF_PROCESS_MS);
  endings.push(() => clock.release());
  try {
    const collect = garbageCollector();
    const complaints: string[] = [];
    const opened = await Promise.all(
      Object.entries(PAGES)
        .filter(([name]) => name.includes(only))
        .map(async ([name, start]) => {
          const page = await start((ending) => endings.push(ending));
          const day = await PageDay.open(browser, page, startedAtMs);
          day.onComplaint((text) => complaints.push(`${name}: ${text}`));
          return [name, day] as const;
        }),
    );
    const heap: number[] = [];
    for (let sample = 0; sample < SAMPLES; sample++) {
      const share = 1 / 4 + (3 / 4) * (sample / (SAMPLES - 1));
      await Promise.all(opened.map(([, day]) => day.advance(updates * share)));
      for (const [, day] of opened) await day.sample();
      collect();
      heap.push(process.memoryUsage().heapUsed);
    }
    const hours = ((Date.now() - startedAtMs) * SPEED) / 3_600_000;
    for (const [, day] of opened) await day.close();
    const pages = Object.fromEntries(opened.map(([name, { samples }]) => [name, samples]));
    const heaps = {
      process: heap,
      ...Object.fromEntries(
        opened.map(([name, { samples }]) => [name, samples.map(({ heapBytes }) => heapBytes)]),
      ),
    };
    const perSample = (0.75 * updates) / (SAMPLES - 1);
    const growth = Object.fromEntries(
      Object.entries(heaps).map(([name, values]) => [
        name,
        (slopeOf(values).slope / perSample) * 1000,
      ]),
    );
    return { hours, pages, process: heap, growth, complaints };
  } finally {
    for (const end of endings.reverse()) await end();
  }
}

/** Returns what has grown, and what consoles have said. */
export function checkDay({ pages, process: heap, complaints }: DayReport): readonly string[] {
  const grownBy = (values: readonly number[]) => slopeOf(values).slope * (values.length - 1);
  const problems = [...complaints];
  const check = (what: string, values: readonly number[], allowed: number) => {
    if (grownBy(values) > allowed) problems.push(`${what} has grown: ${values.join(' ')}`);
  };
  check('the heap of the process', heap, ALLOWED_PROCESS_BYTES);
  for (const [name, samples] of Object.entries(pages)) {
    const valuesOf = (key: keyof PageMemory) => samples.map((sample) => sample[key]);
    check(`${name}: the heap`, valuesOf('heapBytes'), ALLOWED_BYTES);
    check(`${name}: the number of detached nodes`, valuesOf('detached'), ALLOWED_NODES);
    check(`${name}: the number of listeners`, valuesOf('listeners'), ALLOWED_LISTENERS);
  }
  return problems;
}

function garbageCollector(): () => void {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  return () => {
    // What the first one finds unreachable may hold other things.
    collect();
    collect();
  };
}

/** A page in a tab, while time passes. */
class PageDay {
  readonly samples: PageMemory[] = [];
  private steps = 0;

  private constructor(
    private readonly page: OpenPage,
    private readonly tab: Page,
    private readonly session: CDPSession,
  ) {}

  static async open(browser: Browser, page: OpenPage, startedAtMs: number): Promise<PageDay> {
    const tab = await browser.newPage({ viewport: { width: 800, height: 600 } });
    tab.setDefaultTimeout(60_000);
    await tab.addInitScript(inFastTime(startedAtMs));
    await tab.goto(page.url);
    await tab.locator('#content').waitFor();
    const session = await tab.context().newCDPSession(tab);
    return new PageDay(page, tab, session);
  }

  onComplaint(listener: (text: string) => void): void {
    this.tab.on('console', (message) => listener(message.text()));
    this.tab.on('pageerror', (error) => listener(error.message));
  }

  /** Makes changes until the page has got so many updates. */
  async advance(updates: number): Promise<void> {
    for (;;) {
      const count = await this.tab.evaluate<number>('updates');
      if (count >= updates) return;
      for (let step = 0; step < STEPS; step++) {
        await this.page.change(this.steps++);
        await sleep(1000 / SPEED);
      }
    }
  }

  /**
   * Has a person look at everything, and then measures what the page keeps. Rows that a look has just replaced may be there for a moment:
   * of two looks, the one after which there is less counts.
   */
  async sample(): Promise<void> {
    const first = await this.measure();
    const second = await this.measure();
    this.samples.push({
      heapBytes: Math.min(first.heapBytes, second.heapBytes),
      detached: Math.min(first.detached, second.detached),
      listeners: Math.min(first.listeners, second.listeners),
    });
  }

  private async measure(): Promise<PageMemory> {
    await this.page.look(this.tab);
    for (let round = 0; round < 2; round++) await this.session.send('HeapProfiler.collectGarbage');
    const { usedSize } = await this.session.send('Runtime.getHeapUsage');
    const { nodes, jsEventListeners } = await this.session.send('Memory.getDOMCounters');
    const detached = nodes - (await this.tab.evaluate<number>(COUNT_ATTACHED));
    return { heapBytes: usedSize, detached, listeners: jsEventListeners };
  }

  async close(): Promise<void> {
    await this.tab.close();
  }
}

const COUNT_ATTACHED = `(() => {
  const walker = document.createTreeWalker(document);
  let count = 1;
  while (walker.nextNode() !== null) count++;
  return count;
})()`;

/** Makes the time of a page pass as that of the process does, and counts its updates. */
function inFastTime(startedAtMs: number): string {
  return `{
    const { now } = Date;
    Date.now = () => ${startedAtMs} + (now() - ${startedAtMs}) * ${SPEED};
    const { setTimeout: later, setInterval: often } = globalThis;
    const scaled = (ms) => (ms <= ${LONGEST_OF_PAGE_MS} ? ms / ${SPEED} : ms);
    globalThis.setTimeout = (callback, ms = 0) => later(callback, scaled(ms));
    globalThis.setInterval = (callback, ms) => often(callback, scaled(ms));
    globalThis.updates = 0;
    const { parse } = JSON;
    JSON.parse = (text) => {
      const value = parse(text);
      if (value?.revision !== undefined) updates++;
      return value;
    };
  }`;
}

/** Called with what ends a page. */
type AtEnd = (ending: () => unknown) => void;

/** Shows views one after the other, and then the first one again. Locators, unlike handles of elements, keep nothing in the page. */
async function showAll(tab: Page, first: string, ...views: readonly string[]): Promise<void> {
  for (const view of [...views, first]) {
    await tab.click(`#tab-${view}`);
    await tab.locator(`#tab-${view}[aria-selected="true"]`).waitFor();
    await tab.locator('#view [aria-label]').first().waitFor({ state: 'attached' });
  }
}

async function client(atEnd: AtEnd): Promise<OpenPage> {
  const { mesh, resources, shop } = await startScene();
  atEnd(() => mesh.stop());
  const page = await serveAdminPage({ port: 0 });
  atEnd(() => page.close());
  const notices = channel('grpc-xds:notice');
  // The events of a process are kept up to their bound from the beginning.
  for (let number = 0; number < 2500; number++) notices.publish({ text: `before ${number}` });
  const change = async (step: number) => {
    notices.publish({ name: `Cluster ${step}`, text: `change ${step}` });
    void shop.say().catch(() => undefined);
    if (step % 4 > 0) return;
    const cluster = `cluster-${Math.floor(step / 16)}`;
    mesh.serve({
      ...resources,
      routes: [routeConfigJson(`${SHOP}-routes`, [routeToCluster(cluster)])],
      clusters: [edsClusterJson(cluster)],
      endpoints: [endpointsJson(cluster, [{ zone: `zone-${step}`, ports: [1 + (step % 60_000)] }])],
    });
  };
  const look = async (tab: Page) => {
    await tab.getByRole('button', { name: 'Pause updates' }).click();
    await tab.getByRole('button', { name: 'Pause updates' }).click();
    const form = tab.locator('#call:not([open]) summary');
    if ((await form.count()) > 0) await form.click();
    await tab.getByLabel('Method').fill('/shop.Pay/Charge');
    await tab.getByRole('button', { name: 'Explain', exact: true }).click();
    await tab.locator('#explanation').waitFor();
    await tab.click('#tab-resources');
    await tab.locator('#view td button').first().click();
    await tab.getByRole('button', { name: 'Close' }).click();
    await tab.getByLabel('Filter').fill('cluster');
    await showAll(tab, 'graph', 'routes', 'servers', 'events');
    await tab.locator('.mesh .node').first().waitFor();
  };
  return { url: `${page.url}&target=xds:///${SHOP}`, change, look };
}

async function server(atEnd: AtEnd): Promise<OpenPage> {
  const world = await XdsServerWorld.start();
  atEnd(() => world.stop());
  const serve = (step: number) => {
    const { typed_config } = rbacFilter('DENY', [{ any: true }], [{ any: true }], `rule-${step}`);
    const filters = [{ name: `rbac-${step}`, typed_config }, routerFilter];
    const chain = serverChain({ ...inlineRoutes(), http_filters: filters }, { name: `c-${step}` });
    world.serve([world.listener([chain])]);
  };
  serve(0);
  await world.bind(world.server());
  const page = await serveAdminPage({ port: 0 });
  atEnd(() => page.close());
  const caller = world.client();
  const change = (step: number) => {
    if (step % 8 === 0) serve(step);
    return callServer(caller);
  };
  const look = (tab: Page) => showAll(tab, 'graph', 'resources', 'events');
  return { url: `${page.url}&target=%23server`, change, look };
}

/** Runs a command whose terminal has the time of the process. */
async function runCommand(atEnd: AtEnd, ...args: readonly string[]) {
  const io = new FakeIo();
  io.clock.now = () => systemClock.now();
  const running = io.run(...args);
  atEnd(async () => {
    io.pressCtrlC();
    await running;
  });
  const line = await io.until(/^Live page: /);
  return { io, url: line.slice('Live page: '.length) };
}

/** A folder that is removed in the end. */
function makeFolder(atEnd: AtEnd): string {
  const folder = mkdtempSync(join(tmpdir(), 'grpc-xds-day-'));
  atEnd(() => rmSync(folder, { recursive: true }));
  return folder;
}

async function controlPlane(atEnd: AtEnd): Promise<OpenPage> {
  const file = join(makeFolder(atEnd), 'echo.yaml');
  const text = readFileSync(join(__dirname, '../../examples/echo.yaml'), 'utf8');
  writeFileSync(file, text);
  const { io, url } = await runCommand(atEnd, 'serve', file, '--port', '0', '--page', '0');
  const address = (await io.until(/^Serving /)).split(' ').at(-1) ?? '';
  const open: (() => void)[] = [];
  atEnd(() => open.forEach((end) => end()));
  const change = async (step: number) => {
    const name = 'echo.example.com:50051';
    // A client of its own for each stream, since a client keeps what it has opened.
    const ads = new AdsClient(address);
    const stream = ads.open();
    open.push(() => {
      stream.end();
      ads.close();
    });
    stream.subscribe(LDS, [name], { node: { id: `node-${step}` } });
    stream.nack(await stream.next(), [name], `bad ${step}`);
    if (open.length > 4) open.shift()?.();
    if (step % 8 === 0) writeFileSync(file, text.replaceAll('echo-canary', `echo-${step}`));
  };
  return { url, change, look: (tab) => showAll(tab, 'graph', 'types', 'served', 'events') };
}

const PAGES = { client, server, 'control plane': controlPlane };
