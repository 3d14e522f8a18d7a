// A day of live pages in Chromium: `npm run trial -- day`, or a part of it by `--updates 10000`, or one page by `--only client`. Fails if a page, or the process that
// serves it, keeps more and more.
import { launchBrowser } from '../support/browser';
import { checkDay, type DayReport, runDay } from './day';
import { readOptions } from '../support/options';

async function main(): Promise<void> {
  const { only, updates } = readOptions('npm run trial -- day', {
    updates: { default: 86_400, about: 'updates in all' },
    only: { default: '', about: 'only pages whose name contains this' },
  });
  const browser = await launchBrowser();
  const report = await runDay(browser, updates, only);
  await browser.close();
  print(report, updates);
  const problems = checkDay(report);
  for (const problem of problems) process.stderr.write(`FAILED ${problem}\n`);
  process.exitCode = problems.length > 0 ? 1 : 0;
}

function print({ hours, pages, process: heap, growth }: DayReport, updates: number): void {
  const inKb = (bytes: number) => `${Math.round(bytes / 1000)}`;
  const lines = [
    `${updates} updates of each page, in ${hours.toFixed(1)} hours of their time; heaps in kB, from a quarter of it on`,
    ...Object.entries(pages).flatMap(([name, samples]) => [
      `${name}: ${samples.map(({ heapBytes }) => inKb(heapBytes)).join(' ')}; detached nodes ${samples.map(({ detached }) => detached).join(' ')}; listeners ${samples.map(({ listeners }) => listeners).join(' ')}`,
    ]),
    `process: ${heap.map(inKb).join(' ')}`,
    ...Object.entries(growth).map(
      ([name, bytes]) => `growth of ${name} with 1,000 updates: ${inKb(bytes)} kB`,
    ),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

void main();
