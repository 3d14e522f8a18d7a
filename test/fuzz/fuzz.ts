import { setImmediate } from 'node:timers/promises';
import { createReadyHash } from '../support/ready-hash';
import { seededRandom } from '../support/seeded-random';
import { createTargets, type FuzzTarget } from './targets';
import { chooseCases } from '../support/choose-cases';

/** How much to try, and how. */
export interface FuzzOptions {
  readonly inputs: number;
  readonly seed: number;
  /** Milliseconds of CPU that one input may take. */
  readonly limitMs: number;
  /** What the names of the targets contain that have a turn. Default: all of them. */
  readonly only?: string;
  /** Milliseconds after which there are no more inputs. Default: none. */
  readonly durationMs?: number;
  /** Called with the inputs so far, a hundred times. */
  readonly onProgress?: (inputs: number) => void;
}

/** What came of it. */
export interface FuzzReport {
  /** Inputs by target. */
  readonly inputs: ReadonlyMap<string, number>;
  /** What went wrong first, with the input in hexadecimal. */
  readonly failures: readonly string[];
  /** How often something went wrong. */
  readonly failureCount: number;
  /** The input that took longest, of those that were looked at more closely. */
  readonly slowest: { readonly target: string; readonly ms: number; readonly bytes: number };
}

const RETRIES = 4;
/** How many failures are told. They do not end a run: the rest of its inputs may find others. */
const TOLD_FAILURES = 10;

/** Inputs after which the event loop has its turn: until then, the engine keeps whatever was weakly referred to. */
const INPUTS_PER_TURN = 500;

/** Gives every target its share of inputs, one after the other. */
export async function fuzz(options: FuzzOptions): Promise<FuzzReport> {
  const { inputs, seed, limitMs, only = '', durationMs = Infinity, onProgress } = options;
  const endsAt = performance.now() + durationMs;
  const hash = await createReadyHash();
  const all = createTargets(seededRandom(seed), hash);
  const targets = chooseCases(all, ({ name }) => name, { option: '--only', text: only });
  const turns = targets.flatMap((target) => new Array<FuzzTarget>(target.share ?? 4).fill(target));
  const counts = new Map(targets.map(({ name }) => [name, 0]));
  const failures: string[] = [];
  let failureCount = 0;
  const fail = (target: FuzzTarget, input: Uint8Array | string, problem: string) => {
    failureCount++;
    if (failures.length < TOLD_FAILURES) failures.push(describe(target, input, problem));
  };
  let slowest: FuzzReport['slowest'] = { target: 'none', ms: 0, bytes: 0 };
  const part = Math.max(1, Math.floor(inputs / 100));
  for (let index = 0; index < inputs; index++) {
    const target = turns[index % turns.length];
    if (target === undefined || performance.now() > endsAt) break;
    const input = target.make();
    counts.set(target.name, (counts.get(target.name) ?? 0) + 1);
    const startedAt = performance.now();
    const problem = await attempt(target, input);
    if (problem !== undefined) fail(target, input, problem);
    // Being slow is only a suspicion: the process may not have been running.
    const allowedMs = allowedFor(target, input.length, limitMs);
    if (performance.now() - startedAt > allowedMs) {
      const ms = await cpuMs(target, input);
      if (ms > slowest.ms) slowest = { target: target.name, ms, bytes: input.length };
      if (ms > allowedMs)
        fail(target, input, `takes ${ms.toFixed(1)} ms, more than ${allowedMs.toFixed(1)}`);
    }
    if (index % INPUTS_PER_TURN === 0) await setImmediate();
    if (index % part === 0) onProgress?.(index);
  }
  return { inputs: counts, failures, failureCount, slowest };
}

/** Milliseconds that an input may take. */
function allowedFor({ maxMsPerKiB }: FuzzTarget, bytes: number, limitMs: number): number {
  if (maxMsPerKiB === undefined) return limitMs;
  return Math.min(limitMs, limitMs / 10 + (bytes / 1024) * maxMsPerKiB);
}

/** The CPU time of the fastest of some attempts, in milliseconds. */
async function cpuMs(target: FuzzTarget, input: Uint8Array | string): Promise<number> {
  let least = Infinity;
  for (let retry = 0; retry < RETRIES; retry++) {
    const before = process.cpuUsage();
    await attempt(target, input);
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1000);
  }
  return least;
}

async function attempt(
  target: FuzzTarget,
  input: Uint8Array | string,
): Promise<string | undefined> {
  try {
    return await target.run(input);
  } catch (error) {
    return `threw ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
  }
}

function describe({ name }: FuzzTarget, input: Uint8Array | string, problem: string): string {
  const bytes = Buffer.from(input);
  const shown = bytes.length > 4000 ? `${bytes.length} bytes` : bytes.toString('hex');
  return `${name}: ${problem}\n  input: ${shown}`;
}
