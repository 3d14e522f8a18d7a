// Channels come and go for a long time: `npm run trial -- soak --rounds 300 --size 50`. Memory must not grow, and
// nothing may be left in the end.
import { bootstrapFor, Mesh, SERVICE, simpleResources } from '../../support/mesh';
import { slopeOf } from '../../support/slope';
import { runChild } from '../../support/run-child';
import type { RecycleReport } from './recycle-channels';
import { readOptions } from '../../support/options';

/** How long and how much. */
export interface SoakOptions {
  readonly rounds: number;
  /** Channels in each round. */
  readonly size: number;
  /** Milliseconds from the beginning of one round to that of the next. */
  readonly roundMs: number;
}

/** What came of it. */
export interface SoakReport extends RecycleReport {
  /** By how many bytes the heap grows with each channel, and how uncertain that is (standard error). */
  readonly bytesPerChannel: { readonly slope: number; readonly error: number };
  /** Clients the control plane still has in the end. */
  readonly clientsLeft: number;
}

/** Runs until the last channel is closed and nothing is left, or has been waited for in vain. */
export async function runSoak({ rounds, size, roundMs }: SoakOptions): Promise<SoakReport> {
  const mesh = await Mesh.start();
  try {
    const backend = await mesh.backend('b1');
    mesh.serve(simpleResources([backend.port]));
    const flags = [`--rounds=${rounds}`, `--size=${size}`, `--pause=${roundMs}`];
    const { stdout } = await runChild('recycle-channels', {
      args: [`xds:///${SERVICE}`, ...flags],
      bootstrap: bootstrapFor(mesh.address),
      flags: ['--expose-gc'],
    });
    const report = parseReport(stdout);
    await mesh.untilNoClients().catch(() => undefined);
    const clientsLeft = mesh.controlPlane.clients().length;
    return { ...report, bytesPerChannel: growth(report.heap, size), clientsLeft };
  } finally {
    mesh.stop();
  }
}

function parseReport(text: string): RecycleReport {
  const report: RecycleReport = JSON.parse(text);
  return report;
}

/** By how much the heap grows with each channel. In the first half code is compiled and caches are filled. */
function growth(heap: readonly number[], size: number): SoakReport['bytesPerChannel'] {
  const { slope, error } = slopeOf(heap.slice(Math.floor(heap.length / 2)));
  return { slope: slope / size, error: error / size };
}

async function main(): Promise<void> {
  const values = readOptions('npm run trial -- soak', {
    rounds: { default: 300, about: 'rounds in all' },
    size: { default: 50, about: 'channels that are opened in a round' },
    'round-ms': { default: 1000, about: 'milliseconds of a round' },
  });
  const report = await runSoak({
    rounds: values.rounds,
    size: values.size,
    roundMs: values['round-ms'],
  });
  const { heap, bytesPerChannel, failures, left, clientsLeft, calls } = report;
  const inMiB = (bytes: number) => (bytes / 2 ** 20).toFixed(2);
  const tenths = Array.from({ length: 10 }, (_, i) => heap[Math.floor((i * heap.length) / 10)]);
  const { slope, error } = bytesPerChannel;
  const lines = [
    `channels opened, called and closed: ${calls}; failed calls: ${failures.length}`,
    `heap, MiB, at each tenth of the time: ${tenths.map((bytes) => inMiB(bytes ?? 0)).join(' ')} ${inMiB(heap.at(-1) ?? 0)}`,
    `growth per channel: ${slope.toFixed(0)} ± ${error.toFixed(0)} bytes`,
    `left in the end: ${[...left, ...(clientsLeft > 0 ? [`${clientsLeft} clients at the control plane`] : [])].join(', ') || 'nothing'}`,
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
  const grows = slope > Math.max(3 * error, 64);
  process.exitCode = grows || failures.length > 0 || left.length > 0 || clientsLeft > 0 ? 1 : 0;
}

if (require.main === module) void main();
