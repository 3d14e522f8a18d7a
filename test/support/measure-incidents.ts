// Measures the seconds after which the page of the demo shows each row of docs/guides/incidents, and writes their medians into the
// tables: `npm run trial -- incidents`, or one of them by `--only nack`.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { INCIDENTS } from '../../packages/cli/src/commands/demo';
import { DemoMesh } from './demo-mesh';
import { INCIDENT_FOLDER, readSections, untilClaim, untilStep } from './incident-pages';
import { chooseCases } from './choose-cases';

const RUNS = 3;

/** Returns the seconds from the beginning of its step to each row of an incident, in the order of its page. */
async function measure(name: string): Promise<readonly number[]> {
  const shown = await DemoMesh.start(`--incident=${name}`);
  const seconds: number[] = [];
  for (const [index, { title, claims }] of readSections(name).entries()) {
    const startedMs = performance.now();
    if (index > 0) shown.next();
    const shownAt = claims.map(async (claim) => {
      await untilClaim(shown, title, claim);
      // What is well in the beginning has been so before anyone looks.
      return index === 0 ? 0 : (performance.now() - startedMs) / 1000;
    });
    seconds.push(...(await Promise.all(shownAt)));
    await untilStep(shown, title);
  }
  shown.interrupt();
  await shown.closed;
  return seconds;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}

/** Writes the seconds into the rows of a page, in their order. */
function write(name: string, seconds: readonly number[]): void {
  const file = join(INCIDENT_FOLDER, `${name}.md`);
  const left = [...seconds];
  const text = readFileSync(file, 'utf8').replaceAll(
    /^\| \d+\.\d s/gm,
    () => `| ${left.shift()?.toFixed(1)} s`,
  );
  writeFileSync(file, text);
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { only: { type: 'string', default: '' } } });
  const only = { option: '--only', text: values.only };
  for (const name of chooseCases(INCIDENTS, (each) => each, only)) {
    const runs: (readonly number[])[] = [];
    for (let run = 0; run < RUNS; run++) runs.push(await measure(name));
    const medians = (runs[0] ?? []).map((_, row) => median(runs.map((run) => run[row] ?? NaN)));
    write(name, medians);
    process.stdout.write(`${name}: ${medians.map((each) => each.toFixed(1)).join(' ')}\n`);
  }
}

void main();
