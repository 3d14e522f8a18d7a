// Runs the application of the matrix with a runtime, once for each check.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { certificates, kinds, startServers, typed } from './servers.mjs';

const run = promisify(execFile);
const RUN_TIMEOUT_MS = 60_000;

export const CHECKS = [
  'state of the world',
  'incremental',
  'a change of endpoints',
  'resources in a file',
  'resources over REST',
  'TLS to the control plane',
  'mutual TLS to backends',
  'the embedded control plane',
  'load reports',
  'metrics',
  'the live page and inspect()',
  'a worker thread',
];

/** The environment of a user, who has not set the variables of npm scripts, of grpc-js and of this package. */
export function plainEnvironment(extra = {}) {
  const isForeign = ([name]) =>
    !/^(npm_(package|lifecycle)|GRPC_|NODE_OPTIONS$|INIT_CWD$)/.test(name);
  return { ...Object.fromEntries(Object.entries(process.env).filter(isForeign)), ...extra };
}

/**
 * Runs a program with some of the checks, and calls the application by these arguments.
 * @returns what failed, with the reason.
 */
export async function runChecks(program, args, options, checks = CHECKS) {
  const failures = [];
  for (const check of checks) {
    // Servers of its own: some checks change them.
    const servers = await startServers();
    const { port, tlsPort, restPort, shop } = servers;
    const resources = kinds.flatMap((kind) => typed(shop, kind));
    const settings = { port, tlsPort, restPort, certificates, shop, resources };
    try {
      const command = [...args, check, JSON.stringify(settings)];
      const { stdout } = await run(program, command, { ...options, timeout: RUN_TIMEOUT_MS });
      // A worker prints it, too.
      if (!/^(ok\s*)+$/.test(stdout)) throw new Error(`printed ${stdout}`);
      if (check === 'load reports' && servers.reportedCalls() !== 1) {
        throw new Error(`${servers.reportedCalls()} calls were reported instead of 1`);
      }
    } catch (error) {
      const reason = error.killed ? `does not end within ${RUN_TIMEOUT_MS / 1000} s` : error;
      failures.push({ check, reason });
    } finally {
      servers.stop();
    }
  }
  return failures;
}
