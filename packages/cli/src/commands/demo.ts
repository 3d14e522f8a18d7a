import { join } from 'node:path';
import { spawn } from 'node:child_process';
import { exitCode, type CliIo } from '../io';

/** In the folder of the package: the demo of the terminal, and that of the live page. */
const DEMO = join('examples', 'demo', 'main.mjs');
const MESH = join('examples', 'demo', 'mesh', 'main.mjs');

/** What `examples/demo/mesh/story.mjs` has besides its story. */
export const INCIDENTS = ['bad-weight', 'nack', 'ejected-endpoint', 'wrong-split', 'lost-zone'];

/** Flags of `demo`. */
export interface DemoFlags {
  /** The port of the live page, 0 for any; true for the flag without a port. Without it there is no page. */
  readonly page?: number | true;
  /** One of the incidents in place of the story. */
  readonly incident?: string;
  /** Go on by Enter, and not by time. */
  readonly step?: boolean;
}

/**
 * Runs the demo in a process of its own, to which the terminal belongs, and ends it when it is interrupted.
 *
 * @returns the exit code of the demo; bad input for a flag that is one of the page without one.
 */
export function demo(
  flags: DemoFlags,
  io: Pick<CliIo, 'packageFolder' | 'onInterrupt' | 'printError'>,
): Promise<number> {
  const program = programOf(flags);
  if (program === undefined) {
    io.printError('error: --incident and --step are for the live page: add --page');
    return Promise.resolve(exitCode.badInput);
  }
  const [file, ...args] = program;
  const child = spawn(process.execPath, [join(io.packageFolder, file), ...args], {
    stdio: 'inherit',
  });
  const interrupt = io.onInterrupt(() => child.kill());
  return new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? exitCode.findings));
  }).finally(() => interrupt.release());
}

/** Returns the program with its arguments; undefined if the flags do not fit together. */
function programOf({
  page,
  incident,
  step,
}: DemoFlags): readonly [string, ...string[]] | undefined {
  if (page === undefined) {
    return incident === undefined && step !== true ? [DEMO] : undefined;
  }
  return [
    ...([MESH, `--page=${page === true ? 0 : page}`] as const),
    ...(incident === undefined ? [] : [`--incident=${incident}`]),
    ...(step === true ? ['--step'] : []),
  ];
}
