// Makes inputs from valid ones and gives them to everything that takes input from outside, or to the targets whose names
// contain what `--only` says: `npm run trial -- fuzz --inputs 1000000 --seed 1`, for as long as `--minutes` say. Fails if an
// input makes a target throw, takes 50 ms of CPU, is refused without a reason or comes to something else than it should,
// or if memory grows. `npm run trial -- fuzz amplify` fills fields instead; see test/amplify/run-amplify.ts.
import { runAmplify } from '../amplify/run-amplify';
import { fuzz, type FuzzReport } from './fuzz';
import { HeapRecord } from './heap-record';
import { readOptions } from '../support/options';

/**
 * Bytes by which the heap without machine code may grow from the third quarter to the last, whatever the number of
 * inputs. With a million of them, that is 3 bytes for each. What the engine notes about code that it has compiled anew
 * takes some of it.
 */
const ALLOWED_GROWTH = 700_000;

const [command, ...commandArgs] = process.argv.slice(2);
const options = {
  inputs: { default: 1_000_000, about: 'inputs in all' },
  seed: { default: 1, about: 'the seed of what is random' },
  minutes: { default: Infinity, about: 'the most time that it takes' },
  only: { default: '', about: 'only targets whose name contains this' },
  limit: { default: 50, about: 'milliseconds of CPU that an input may take' },
};
const values = readOptions(
  'npm run trial -- fuzz [amplify]',
  options,
  command === 'amplify' ? [] : process.argv.slice(2),
);

async function main(): Promise<void> {
  const heap = new HeapRecord();
  const before = process.cpuUsage();
  let parts = 0;
  const report = await fuzz({
    inputs: values.inputs,
    seed: values.seed,
    limitMs: values.limit,
    only: values.only,
    durationMs: values.minutes * 60_000,
    onProgress: (done) => {
      heap.take();
      if (++parts % 10 === 0) process.stderr.write(`${done} inputs …\n`);
    },
  });
  const { user, system } = process.cpuUsage(before);
  print(report, heap, (user + system) / 1e6);
  const failures = [...report.failures];
  const untold = report.failureCount - failures.length;
  if (untold > 0) failures.push(`${untold} times more`);
  if (heap.growth > ALLOWED_GROWTH) failures.push(`the heap has grown by ${inMb(heap.growth)} MB`);
  for (const failure of failures) process.stderr.write(`FAILED ${failure}\n`);
  process.exitCode = failures.length > 0 ? 1 : 0;
}

function print({ inputs, slowest }: FuzzReport, heap: HeapRecord, cpuSeconds: number): void {
  const total = [...inputs.values()].reduce((sum, count) => sum + count, 0);
  const asked = values.inputs;
  const quarters = heap.quarters.map((size) => `${inMb(size.values)} + ${inMb(size.code)}`);
  const lines = [
    ...[...inputs].map(([name, count]) => `${String(count).padStart(9)}  ${name}`),
    `${String(total).padStart(9)}  inputs, ${cpuSeconds.toFixed(0)} s of CPU`,
    ...(total < asked ? [`the time was up before all ${asked} were made`] : []),
    slowest.ms === 0
      ? `no input took longer than ${values.limit} ms`
      : `slowest: ${slowest.target}, ${slowest.bytes} bytes, ${slowest.ms.toFixed(1)} ms of CPU`,
    `heap + machine code, lowest of each quarter: ${quarters.join(', ')} MB`,
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

function inMb(bytes: number): string {
  return (bytes / 1e6).toFixed(2);
}

void (command === 'amplify' ? runAmplify(commandArgs) : main());
