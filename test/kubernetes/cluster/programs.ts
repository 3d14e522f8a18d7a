import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** The module that requires the API server, and with it its version. */
const MODULE = join(__dirname, '../apiserver');

/** The programs of a cluster. */
export interface ClusterPrograms {
  readonly etcd: string;
  readonly apiServer: string;
}

/** The programs, or why there are none on this machine. */
export type FoundPrograms =
  | { readonly ok: true; readonly programs: ClusterPrograms }
  | { readonly ok: false; readonly reason: string };

/**
 * Finds etcd on the PATH and the API server among the files kept between runs.
 * @param canBuild Whether the API server is built if it is not there, which takes some minutes and loads its modules.
 */
export function findPrograms(canBuild: boolean): FoundPrograms {
  const missing = ['etcd', 'unshare', 'ip', 'openssl'].filter((name) => !isOnPath(name));
  if (missing.length > 0) return { ok: false, reason: `not on the PATH: ${missing.join(', ')}` };
  const apiServer = apiServerPath();
  if (!existsSync(apiServer)) {
    if (!canBuild) return { ok: false, reason: `${apiServer} was not built yet` };
    if (!isOnPath('go'))
      return { ok: false, reason: `${apiServer} is not there, and no Go to build it` };
    buildApiServer(apiServer);
  }
  return { ok: true, programs: { etcd: 'etcd', apiServer } };
}

function apiServerPath(): string {
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  const [, version] =
    /k8s\.io\/kubernetes (v\S+)/.exec(readFileSync(join(MODULE, 'go.mod'), 'utf8')) ?? [];
  return join(cache, 'grpc-xds', 'kubernetes', `kube-apiserver-${version}`);
}

/** Under another name until it is complete, since a build may be interrupted. */
function buildApiServer(path: string): void {
  process.stdout.write(`building ${path}\n`);
  mkdirSync(join(path, '..'), { recursive: true });
  const unfinished = `${path}.${process.pid}`;
  const args = ['build', '-mod=mod', '-o', unfinished, 'k8s.io/kubernetes/cmd/kube-apiserver'];
  execFileSync('go', args, { cwd: MODULE, stdio: 'inherit' });
  renameSync(unfinished, path);
}

function isOnPath(program: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
}
