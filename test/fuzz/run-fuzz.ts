// Makes inputs from valid ones and gives them to everything that takes input from outside:
// `npm run fuzz -- --inputs 1000000 --seed 1`, for as long as `--minutes` say. Fails if one makes it throw, takes 50 ms
// of CPU or is refused without a reason, or if memory grows.
import { parseArgs } from 'node:util';
import { fuzz } from './fuzz';

/** Bytes by which the heap may be bigger in the last quarter than in the second. */
const ALLOWED_GROWTH = 2_000_000;

const { values } = parseArgs({
  options: {
    inputs: { type: 'string', default: '1000000' },
    seed: { type: 'string', default: '1' },
    minutes: { type: 'string', default: 'Infinity' },
    limit: { type: 'string', default: '50' },
  },
});
const inputs = Number(values.inputs);
const heap: number[] = [];
const before = process.cpuUsage();
const report = fuzz({
  inputs,
  seed: Number(values.seed),
  limitMs: Number(values.limit),
  durationMs: Number(values.minutes) * 60_000,
  onProgress: (done) => {
    global.gc?.();
    heap.push(process.memoryUsage().heapUsed);
    if (heap.length % 10 === 0) process.stderr.write(`${done} inputs …\n`);
  },
});
const { user, system } = process.cpuUsage(before);
const quarter = Math.floor(heap.length / 4);
const growth = lowest(heap.slice(-quarter)) - lowest(heap.slice(quarter, 2 * quarter));
const total = [...report.inputs.values()].reduce((sum, count) => sum + count, 0);
const lines = [
  ...[...report.inputs].map(([name, count]) => `${String(count).padStart(9)}  ${name}`),
  `${String(total).padStart(9)}  inputs, ${((user + system) / 1e6).toFixed(0)} s of CPU`,
  `slowest: ${report.slowest.target}, ${report.slowest.bytes} bytes, ${report.slowest.ms.toFixed(1)} ms of CPU`,
  `heap: ${inMb(heap[quarter] ?? 0)} MB after a quarter, ${inMb(heap.at(-1) ?? 0)} MB in the end`,
];
process.stdout.write(`${lines.join('\n')}\n`);
const failures = [...report.failures];
if (growth > ALLOWED_GROWTH) failures.push(`the heap has grown by ${inMb(growth)} MB`);
for (const failure of failures) process.stderr.write(`FAILED ${failure}\n`);
process.exitCode = failures.length > 0 ? 1 : 0;

function lowest(list: readonly number[]): number {
  return Math.min(...list);
}

function inMb(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}
