import type { Browser, Page } from 'playwright-core';

/**
 * Returns the CPU time, in milliseconds, of the longest task of the page's main thread during a run. A frame waits for a
 * task at most; the time on the clock would be that of the machine's other work too.
 */
export async function longestTask(
  browser: Browser,
  tab: Page,
  run: () => Promise<void>,
): Promise<number> {
  await browser.startTracing(tab, {
    categories: ['toplevel', 'disabled-by-default-devtools.timeline'],
  });
  await run();
  const trace = JSON.parse((await browser.stopTracing()).toString()) as {
    traceEvents: {
      name: string;
      pid: number;
      tid: number;
      tdur?: number;
      args: { name?: string };
    }[];
  };
  const mains = new Set(
    trace.traceEvents
      .filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain')
      .map(({ pid, tid }) => `${pid} ${tid}`),
  );
  const tasks = trace.traceEvents.filter(
    ({ name, pid, tid }) => name.endsWith('RunTask') && mains.has(`${pid} ${tid}`),
  );
  return Math.max(...tasks.map(({ tdur = 0 }) => tdur)) / 1000;
}
