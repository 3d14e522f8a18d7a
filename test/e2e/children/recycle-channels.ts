// Opens channels, makes a call on each, and closes those of the round before; round after round. In the end
// closes all of them. Prints what the heap held after each round's garbage collection and what is left at
// the end, as JSON. Needs `--expose-gc`.
import { parseArgs } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { register } from '../../../src';
import { EchoClient } from '../../support/echo-backend';

/** What came of it. */
export interface RecycleReport {
  readonly calls: number;
  readonly failures: readonly string[];
  /** Bytes in use after the garbage collection of each measured round. */
  readonly heap: readonly number[];
  /** What still keeps the process from ending. */
  readonly left: readonly string[];
}

/** What a process has that has nothing to do: the pipes to its parent. */
const OWN_RESOURCES = new Set(['PipeWrap', 'TTYWrap']);
/** The host library looks for unused connections every 10 s. */
const MAX_REST_SECONDS = 60;

async function recycle(rounds: number, size: number, pauseMs: number): Promise<RecycleReport> {
  const heap: number[] = [];
  const failures: string[] = [];
  let open: EchoClient[] = [];
  for (let round = 0; round < rounds; round++) {
    const startedAt = performance.now();
    const next = Array.from({ length: size }, (_, i) => createClient(round * size + i));
    const ended = await Promise.allSettled(next.map((client) => client.say()));
    for (const end of ended) if (end.status === 'rejected') failures.push(String(end.reason));
    for (const client of open) client.close();
    open = next;
    heap.push(await heapInUse());
    await sleep(Math.max(0, pauseMs - (performance.now() - startedAt)));
  }
  for (const client of open) client.close();
  return { calls: rounds * size, failures, heap, left: await whatIsLeft() };
}

/** No two channels are the same for the host library, so each is a client of its own. */
function createClient(serial: number): EchoClient {
  return new EchoClient(process.argv[2] ?? '', { 'acme.test': serial });
}

async function heapInUse(): Promise<number> {
  // Ends of calls and closed channels are events that come later.
  await sleep(10);
  global.gc?.();
  return process.memoryUsage().heapUsed;
}

async function whatIsLeft(): Promise<string[]> {
  const read = () => process.getActiveResourcesInfo().filter((name) => !OWN_RESOURCES.has(name));
  const deadline = performance.now() + MAX_REST_SECONDS * 1000;
  // The pause between two looks is an active timer only while it lasts.
  while (read().length > 0 && performance.now() < deadline) await sleep(100);
  return read();
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    args: process.argv.slice(3),
    options: {
      rounds: { type: 'string', default: '3' },
      size: { type: 'string', default: '5' },
      pause: { type: 'string', default: '0' },
    },
  });
  register();
  const report = await recycle(Number(values.rounds), Number(values.size), Number(values.pause));
  process.stdout.write(JSON.stringify(report));
}

void main();
