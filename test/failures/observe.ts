import { tmpdir } from 'node:os';
import { isDeepStrictEqual } from 'node:util';
import { credentials, Metadata, status } from '@grpc/grpc-js';
import { createXdsChannelCredentials } from '../../src';
import { EchoClient } from '../support/echo-backend';
import type { Failure } from './failures';
import type { Golden, GoldenRow } from './expected';
import { World } from './world';
import { registerAnew } from '../support/mesh';

/** How a call is made. */
export interface Attempt {
  readonly deadlineMs: number;
  readonly waitForReady: boolean;
}

/** How a call ended. */
export interface Outcome extends Attempt {
  /** Such as `UNAVAILABLE: xDS bootstrap is missing`. */
  readonly status: string;
  readonly ms: number;
}

/** A line of the log, and when it was written. */
export interface Line {
  readonly ms: number;
  readonly text: string;
}

/** A failure that lasts until it is stopped. */
export class Observation {
  readonly lines: Line[] = [];
  /** When the first call started. */
  private startMs = performance.now();
  private hasCalls = false;
  private readonly world: World;

  /** @param index The number of the failure. */
  private constructor(
    private readonly failure: Failure,
    index: number,
  ) {
    this.world = new World(`service-${index}.test`);
  }

  static async start(failure: Failure, index: number): Promise<Observation> {
    const observation = new Observation(failure, index);
    const bootstrap = await failure.start(observation.world);
    registerAnew({
      ...(bootstrap !== undefined && { bootstrap: JSON.stringify(bootstrap) }),
      logger: {
        level: 'error',
        log: ({ message }) =>
          observation.lines.push({ ms: performance.now() - observation.startMs, text: message }),
      },
    });
    await failure.bind?.(observation.world);
    return observation;
  }

  /** Makes the first call of a new channel. */
  async call(attempt: Attempt): Promise<Outcome> {
    const { service } = this.world;
    const insecure = credentials.createInsecure();
    const client = new EchoClient(
      this.failure.target?.(service) ?? `xds:///${service}`,
      {},
      this.failure.isSecure === true ? createXdsChannelCredentials(insecure) : insecure,
    );
    const { deadlineMs, waitForReady } = attempt;
    const startMs = performance.now();
    if (!this.hasCalls) this.startMs = startMs;
    this.hasCalls = true;
    try {
      const metadata = new Metadata({ waitForReady });
      const { code, details } = await client.failure({ deadlineMs, metadata });
      const ms = performance.now() - startMs;
      return { ...attempt, status: `${status[code] ?? code}: ${details}`, ms };
    } finally {
      client.close();
    }
  }

  async stop(): Promise<void> {
    registerAnew({});
    await this.world.stop();
  }
}

/** Returns when something happened: what is due at once may take a while on a busy machine. */
function phaseOf(ms: number): string {
  if (ms < 4000) return 'at once';
  if (ms < 10_000) return 'after 5 s';
  return ms < 25_000 ? 'after 15 s' : 'after 30 s';
}

/** Returns the part of what was observed that is the same in each run. */
export function toRow(outcomes: readonly Outcome[], lines: readonly Line[]): GoldenRow {
  const statuses = outcomes.map(({ deadlineMs, waitForReady, status: text, ms }) => {
    const when = text.startsWith('DEADLINE_EXCEEDED') ? 'at the deadline' : phaseOf(ms);
    const key = `${deadlineMs / 1000} s${waitForReady ? ' wait-for-ready' : ''}`;
    return [key, `${when}: ${withoutNumbers(text)}`];
  });
  const first = new Map<string, string>();
  for (const { ms, text } of lines) {
    const shown = withoutNumbers(text);
    if (!first.has(shown)) first.set(shown, phaseOf(ms));
  }
  const shown = Array.from(first, ([text, phase]) => `${phase}: ${text}`);
  return { statuses: Object.fromEntries(statuses), lines: shown.sort() };
}

/** Removes from a text what differs from run to run: times, ports, and how long grpc-js has spent in each stage. */
function withoutNumbers(text: string): string {
  return (
    text
      .replace(/(?:name resolution|configuration and filters|metadata filters): [\d.]+s,/g, '')
      .replace(/(?:wait_for_ready,)?LB pick: [\d.]+s,/, '')
      .replace(/\d+\.\d+ ?s\b/g, '# s')
      .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
      .replace(/(127\.0\.0\.\d):\d{2,5}/g, '$1:PORT')
      .replaceAll(tmpdir(), 'FOLDER')
      .replace(/grpc-xds-failures-\w+/g, 'NAME')
      // Of a call that is made again, as calls with longer deadlines are.
      .replace(/, \d+ times since TIME/g, '')
      // Of a busy machine.
      .replace(/; this process was blocked for # s/g, '')
  );
}

/** In a fraction of a second: `npm run trial -- failures` has longer deadlines. On a busy machine, the next one may be needed. */
const DEADLINES_MS = [250, 500, 1000, 2000, 4000];

/** Observes a failure for a short time; again for a longer one unless it looks as expected. */
export async function observeShortly(
  failure: Failure,
  index: number,
  expected: unknown,
): Promise<Golden> {
  let observed: Golden = { statuses: ['', ''], lines: [] };
  const observation = await Observation.start(failure, index);
  try {
    for (const deadlineMs of DEADLINES_MS) {
      const [call, patient] = await Promise.all([
        observation.call({ deadlineMs, waitForReady: false }),
        observation.call({ deadlineMs, waitForReady: true }),
      ]);
      observed = toGolden(call, patient, observation.lines);
      if (isDeepStrictEqual(observed, expected)) break;
    }
  } finally {
    await observation.stop();
  }
  return observed;
}

function toGolden(call: Outcome, patient: Outcome, lines: readonly Line[]): Golden {
  const texts = new Set(lines.map(({ text }) => withoutNumbers(text)));
  return {
    statuses: [withoutNumbers(call.status), withoutNumbers(patient.status)],
    lines: [...texts].sort(),
  };
}
