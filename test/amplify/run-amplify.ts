// Fills every field of every message that the client reads with megabytes, in three ways, while calls go on, and prints what
// came of each: `npm run trial -- fuzz amplify`, with `--only TEXT` for the fields whose names contain it, `--every N` for one in N of
// them, and `--bytes N` for another size.
import { Amplifier, findPlaces, ignoredPlace, type Outcome } from './amplify';
import { WAYS } from './fillings';
import { readOptions } from '../support/options';

/** Milliseconds that a pause may be longer than that of a message of the size whose bytes are ignored. */
const ALLOWED_PAUSE_MS = 50;
const ALLOWED_MEMORY_MB = 200;
const ALLOWED_RECOVERY_MS = 2000;

/** @param args The arguments of the command after its name. */
export async function runAmplify(args: readonly string[]): Promise<void> {
  const options = {
    only: { default: '', about: 'only fields whose name contains this' },
    every: { default: 1, about: 'one in so many fields' },
    bytes: { default: 8_000_000, about: 'the size of a filling' },
  };
  const values = readOptions('npm run trial -- fuzz amplify', options, args);
  const { places, others } = findPlaces();
  const chosen = places
    .filter(({ name }) => name.includes(values.only))
    .filter((_, i) => i % values.every === 0);
  const amplifier = await Amplifier.start();
  const outcomes: Outcome[] = [];
  const size = values.bytes;
  const ignored: Outcome[] = [];
  try {
    for (let i = 0; i < 5; i++) ignored.push(await amplifier.run(ignoredPlace(), 'deepest', size));
    for (const place of chosen) {
      for (const way of WAYS) {
        const outcome = await amplifier.run(place, way, size);
        outcomes.push(outcome);
        print(outcome);
      }
    }
  } finally {
    await amplifier.stop();
  }
  const pauses = ignored.map(({ pauseMs }) => pauseMs).sort((a, b) => a - b);
  report(outcomes, pauses[2] ?? 0, others);
}

function print({ place, way, pauseMs, memoryMb, recoveryMs, verdict }: Outcome): void {
  const figures = [pauseMs, memoryMb, recoveryMs].map((value) => value.toFixed(0).padStart(6));
  process.stdout.write(`${figures.join(' ')}  ${place.name}, ${way}: ${verdict.slice(0, 160)}\n`);
}

function faultsOf(outcome: Outcome, ignoredMs: number): string[] {
  const { pauseMs, memoryMb, recoveryMs, verdict } = outcome;
  return [
    ...(/^[A-Z]{2}/.test(verdict) ? [verdict] : []),
    ...(pauseMs > ignoredMs + ALLOWED_PAUSE_MS ? [`a pause of ${pauseMs.toFixed(0)} ms`] : []),
    ...(memoryMb > ALLOWED_MEMORY_MB ? [`${memoryMb.toFixed(0)} MB`] : []),
    ...(recoveryMs > ALLOWED_RECOVERY_MS ? [`in use after ${recoveryMs.toFixed(0)} ms`] : []),
  ];
}

function report(outcomes: readonly Outcome[], ignoredMs: number, others: readonly string[]): void {
  let failures = 0;
  for (const outcome of outcomes) {
    const faults = faultsOf(outcome, ignoredMs);
    if (faults.length === 0) continue;
    failures++;
    process.stdout.write(`FAILED ${outcome.place.name}, ${outcome.way}: ${faults.join(', ')}\n`);
  }
  const most = (key: 'pauseMs' | 'memoryMb' | 'recoveryMs') =>
    Math.max(0, ...outcomes.map((outcome) => outcome[key])).toFixed(0);
  const fields = new Set(outcomes.map(({ place }) => place.name)).size;
  process.stdout.write(
    `${fields} fields, ${outcomes.length} fillings, ${failures} failed; longest pause ${most('pauseMs')} ms ` +
      `(ignored bytes: ${ignoredMs.toFixed(0)} ms), most memory ${most('memoryMb')} MB, latest in use ${most('recoveryMs')} ms\n` +
      `not reached, since they are only written, or read in messages of other bounds: ${others.length} fields\n`,
  );
  process.exitCode = failures > 0 ? 1 : 0;
}
