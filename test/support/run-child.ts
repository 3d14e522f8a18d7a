import { execFile, type ExecFileOptions } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { BootstrapConfig } from '../../src';

/** Lets a process of Node.js run a script in TypeScript. */
export const TYPESCRIPT = ['--require', join(__dirname, 'run-typescript.cjs')];

interface ChildOptions {
  readonly args?: readonly string[];
  readonly bootstrap?: BootstrapConfig;
  readonly env?: Readonly<Record<string, string>>;
  /** Of Node.js, such as `--expose-gc`. */
  readonly flags?: readonly string[];
}

/** Returns the environment of a process that has a bootstrap. */
export function environmentOf({ bootstrap, env }: ChildOptions): NodeJS.ProcessEnv {
  const config = bootstrap && { GRPC_XDS_BOOTSTRAP_CONFIG: JSON.stringify(bootstrap) };
  return { ...process.env, ...config, ...env };
}

/** Runs a script of `test/e2e/children` to its own end. @returns what it printed. */
export async function runChild(
  name: string,
  options: ChildOptions = {},
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const { args = [], flags = [] } = options;
  const script = join(__dirname, '../e2e/children', `${name}.ts`);
  const execution: ExecFileOptions = { env: environmentOf(options), timeout: 80_000 };
  const all = [...flags, ...TYPESCRIPT, script, ...args];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, all, execution);
  return { stdout: String(stdout), stderr: String(stderr) };
}
