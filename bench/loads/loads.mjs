// What load reports cost each call.
import { startChild } from '../support/child.mjs';
import { printTable } from '../support/table.mjs';

const here = (name) => new URL(name, import.meta.url).pathname;

async function run() {
  const child = await startChild(here('./count-child.cjs'));
  await child.stop();
  const { counting, noReport, report } = child.ready;
  console.log(
    '\nCounting a call for load reports, start and end (fastest of 21 runs of 200,000 calls)',
  );
  printTable([
    ['', 'µs'],
    ['calls only', counting.toFixed(3)],
    ['with metrics of backends, which report none', noReport.toFixed(3)],
    ['with metrics of backends, decoded and added up', report.toFixed(3)],
  ]);
  console.log('  Target: at most 0.2 µs to count a call.');
}

export { run };
