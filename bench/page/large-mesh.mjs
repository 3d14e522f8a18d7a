// The live page of a client with 1,000 clusters and 10,000 endpoints, and what a browser downloads for it.
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { startChild } from '../support/child.mjs';
import { median } from '../support/statistics.mjs';
import { printTable } from '../support/table.mjs';

const PICTURES = 7;
/** The time in which the CPU is measured, of a reader and without one. */
const WATCHED_MS = 10_000;
/** The time in which frames are measured. */
const FRAMES_MS = 30_000;
/** The time of the mark that the page sets, from its navigation on. */
const FIRST_PICTURE = `new Promise((resolve) => {
  new PerformanceObserver((list) => {
    const [drawn] = list.getEntriesByName('graph drawn');
    if (drawn !== undefined) resolve(drawn.startTime);
  }).observe({ type: 'mark', buffered: true });
})`;
const TASKS = ['toplevel', 'disabled-by-default-devtools.timeline'];
const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** Reads a stream as a page that shows the graph does. @returns the time to its first message, and what ends it. */
async function openStream(url, target) {
  const [origin, token] = url.split('/#token=');
  const views = 'view=targets&view=graph&view=events&view=notices';
  const path = `/api/stream?${views}&target=${encodeURIComponent(target)}`;
  const ending = new AbortController();
  const startMs = performance.now();
  const headers = { Authorization: `Bearer ${token}` };
  const { body } = await fetch(origin + path, { headers, signal: ending.signal });
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  while (!text.includes('\n\n')) {
    text += decoder.decode((await reader.read()).value, { stream: true });
  }
  const firstMs = performance.now() - startMs;
  const drain = async () => {
    while (!(await reader.read()).done);
  };
  drain().catch(() => {});
  return { firstMs, close: () => ending.abort() };
}

async function measureFirstMessage({ url, target }) {
  const times = [];
  for (let turn = 0; turn < PICTURES; turn++) {
    const { firstMs, close } = await openStream(url, target);
    times.push(firstMs);
    close();
    await sleep(500);
  }
  return median(times);
}

/** The share of a core that the client takes. */
async function measureShare(child) {
  await child.ask({});
  const startMs = performance.now();
  await sleep(WATCHED_MS);
  const { cpuMs } = await child.ask({});
  return cpuMs / (performance.now() - startMs);
}

/** Runs a measurement in Chromium. @returns `undefined` without one on this machine. */
async function inBrowser(measure) {
  const executablePath = [process.env.CHROMIUM_PATH ?? '', ...CHROMIUM].find(existsSync);
  if (executablePath === undefined) return undefined;
  const { chromium } = await import('playwright-core');
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  try {
    return await measure(browser);
  } finally {
    await browser.close();
  }
}

async function openPage(browser, { url }) {
  const tab = await browser.newPage();
  await tab.goto(url);
  await tab.locator('.mesh [data-id]').first().waitFor({ state: 'attached' });
  return tab;
}

/** The time from the request of the page to the end of the frame that shows the graph first. */
async function measurePicture(browser, ready) {
  const times = [];
  for (let turn = 0; turn < PICTURES; turn++) {
    const tab = await openPage(browser, ready);
    times.push(await tab.evaluate(FIRST_PICTURE));
    await tab.close();
  }
  return median(times);
}

/**
 * The CPU time of the longest task of the thread that draws, with the graph open while calls fail: a frame waits for one task at
 * most.
 */
async function measureFrames(browser, child) {
  const tab = await openPage(browser, child.ready);
  await child.ask({ calls: true });
  await sleep(1000);
  await browser.startTracing(tab, { categories: TASKS });
  await sleep(FRAMES_MS);
  const { traceEvents } = JSON.parse(await browser.stopTracing());
  await tab.close();
  const drawing = new Set(
    traceEvents
      .filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain')
      .map(({ pid, tid }) => `${pid} ${tid}`),
  );
  const tasks = traceEvents.filter(
    ({ name, pid, tid }) => name.endsWith('RunTask') && drawing.has(`${pid} ${tid}`),
  );
  if (tasks.length === 0) throw new Error('the trace of Chromium has no tasks');
  return tasks.reduce((longest, { tdur = 0 }) => Math.max(longest, tdur), 0) / 1000;
}

/** The compressed size of the page and of every file that it names. */
async function measureBundle({ url }) {
  const [origin] = url.split('/#token=');
  const read = new Map();
  const pending = ['/'];
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    if (read.has(path)) continue;
    const text = await (await fetch(origin + path)).text();
    read.set(path, gzipSync(text).length);
    for (const [, name] of text.matchAll(/["'](?:\.|\/assets)\/([\w-]+\.(?:js|css|svg))["']/g)) {
      pending.push(`/assets/${name}`);
    }
  }
  return [...read.values()].reduce((sum, size) => sum + size, 0);
}

const inMs = (ms) => (ms === undefined ? 'no Chromium' : `${ms.toFixed(0)} ms`);
const inPercent = (share) => `${(100 * share).toFixed(1)} %`;

export async function measureLargeMesh() {
  const script = new URL('mesh-child.cjs', import.meta.url).pathname;
  const child = await startChild(script);
  try {
    const { ready } = child;
    const firstMs = await measureFirstMessage(ready);
    const pictureMs = await inBrowser((browser) => measurePicture(browser, ready));
    const unread = await measureShare(child);
    const { close } = await openStream(ready.url, ready.target);
    const read = await measureShare(child);
    close();
    const bytes = await measureBundle(ready);
    const frameMs = await inBrowser((browser) => measureFrames(browser, child));
    console.log('\nThe live page of 1,000 clusters with 10 endpoints each');
    printTable([
      ['', 'measured', 'target'],
      ['First message of the graph', inMs(firstMs), ''],
      ['First picture in Chromium', inMs(pictureMs), '500 ms'],
      ['Longest task of a frame, 30 s of failing calls', inMs(frameMs), '50 ms'],
      ['Share of a core, page not open', inPercent(unread), ''],
      ['Share of a core, graph open', inPercent(read), '5 %'],
      ['Files of the page, compressed', `${(bytes / 1000).toFixed(0)} kB`, '250 kB'],
    ]);
  } finally {
    await child.stop();
  }
}
