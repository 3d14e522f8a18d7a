import { logVerbosity, setLogger, setLogVerbosity } from '@grpc/grpc-js';
// Loaded before the first call, which otherwise takes a part of its deadline for that.
import '../../src/runtime/xds-runtime';
import { serviceName } from './case-resources';
import { TOKEN } from './echo-server';
import { MatrixWorld } from './matrix-world';
import type { TlsCase } from './tls-case';
import { Trial } from './trial';
import { registerAnew } from '../support/mesh';

const AT_A_TIME = 12;
/** What no line of the log may have. */
const SECRET = new RegExp(`PRIVATE KEY|${TOKEN}|BEGIN CERTIFICATE`);

/** A case with what was not as expected. */
export interface Judgement {
  readonly row: TlsCase;
  readonly problem: string | undefined;
}

/** Judges cases, several at a time; those that set variables of the process one by one. @param folder For files. */
export async function judgeAll(
  cases: readonly TlsCase[],
  folder: string,
): Promise<readonly Judgement[]> {
  const lines: string[] = [];
  const log = (...parts: readonly unknown[]): void => void lines.push(parts.join(' '));
  setLogger({ error: log, info: log, debug: log });
  setLogVerbosity(logVerbosity.INFO);
  const world = await new MatrixWorld(folder, cases).start(cases);
  registerAnew({ bootstrap: world.bootstrap('unused') });
  const problems = new Map<TlsCase, string | undefined>();
  const judge = async (row: TlsCase) => {
    const id = `case-${cases.indexOf(row)}`;
    const problem = await Trial.run(world, row, id);
    problems.set(row, problem ?? judgeLog(row, serviceName(id), lines));
  };
  const [alone, together] = partition(cases, ({ environment }) => environment !== undefined);
  // First those that take longest.
  const queue = together.sort((a, b) => weight(b) - weight(a));
  await Promise.all(
    Array.from({ length: AT_A_TIME }, async () => {
      for (let row = queue.shift(); row !== undefined; row = queue.shift()) await judge(row);
    }),
  );
  for (const row of alone) await judge(row);
  world.stop();
  return cases.map((row) => ({ row, problem: problems.get(row) }));
}

function judgeLog(
  { logged }: TlsCase,
  service: string,
  lines: readonly string[],
): string | undefined {
  const own = lines.filter((line) => line.includes(service));
  if (own.some((line) => SECRET.test(line))) return 'a secret was logged';
  if (logged === undefined || own.some((line) => line.includes(logged))) return undefined;
  return `not logged: ${logged}`;
}

function weight({ isSlow = false, steps = [] }: TlsCase): number {
  return isSlow ? Number.MAX_SAFE_INTEGER : steps.length;
}

function partition<T>(items: readonly T[], isFirst: (item: T) => boolean): readonly [T[], T[]] {
  return [items.filter(isFirst), items.filter((item) => !isFirst(item))];
}
