import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';

const hook = join(__dirname, '../../support/run-typescript.cjs');

/** Runs a program of `test/kubernetes/children`. */
export function forkChild(
  name: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): ChildProcess {
  return fork(join(__dirname, '../children', `${name}.ts`), args, {
    execArgv: ['--require', hook],
    env: { ...process.env, GRPC_VERBOSITY: 'NONE', ...env },
  });
}
