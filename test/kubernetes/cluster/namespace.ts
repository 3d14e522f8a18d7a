import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';

/** Set for the program that runs in the namespace. */
const MARK = 'GRPC_XDS_TEST_NAMESPACE';

/** The address of the machine among those of pods. Each address of 10.244.0.0/16 can be listened on. */
export const HOST_ADDRESS = '10.244.0.1';

/**
 * A network without a way out, since EndpointSlices refuse loopback addresses; and processes of its own, which end with the
 * first of them.
 */
const UNSHARE = ['--net', '--pid', '--fork', '--kill-child', '--mount-proc'];
const SET_UP = `ip link set lo up && ip addr add ${HOST_ADDRESS}/16 dev lo && exec "$@"`;

export function isInNamespace(): boolean {
  return process.env[MARK] === '1';
}

/** Returns why a namespace cannot be made; undefined if it can. */
export function findNamespaceProblem(): string | undefined {
  const { status, stderr } = spawnSync('unshare', [...unshareFlags(), '--', 'true']);
  return status === 0 ? undefined : String(stderr).trim();
}

/**
 * Runs this program again in a namespace of its own.
 * @param parameters Its arguments. Default: those of this one.
 * @returns its exit code.
 */
export async function runInNamespace(parameters = process.argv.slice(2)): Promise<number> {
  const [node = '', script = ''] = process.argv;
  const program = [node, ...process.execArgv, script, ...parameters];
  const args = [...unshareFlags(), '--', 'sh', '-c', SET_UP, 'sh', ...program];
  const child = spawn('unshare', args, {
    stdio: 'inherit',
    env: { ...process.env, [MARK]: '1' },
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => child.kill('SIGKILL'));
  }
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}

/** Without the rights of root, those of a user namespace. */
function unshareFlags(): readonly string[] {
  return process.getuid?.() === 0 ? UNSHARE : ['--map-root-user', ...UNSHARE];
}
