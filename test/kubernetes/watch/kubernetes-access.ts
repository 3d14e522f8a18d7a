import { writeFileSync } from 'node:fs';
import { constants, Script } from 'node:vm';
import type * as ClientNode from '@kubernetes/client-node' with { 'resolution-mode': 'import' };
import { loadApiAccess, type ApiAccess } from '../../../packages/kubernetes/src/api/api-access';

/** Loads the official client by Node.js itself: Jest does not load modules of ECMAScript. */
export async function loadClientNode(): Promise<typeof ClientNode> {
  const { USE_MAIN_CONTEXT_DEFAULT_LOADER: importModuleDynamically } = constants;
  const code = "import('@kubernetes/client-node')";
  const script = new Script(code, { filename: __filename, importModuleDynamically });
  return (await script.runInThisContext()) as typeof ClientNode;
}

/** What a kubeconfig has, in its own names. */
export interface KubeconfigOptions {
  readonly path: string;
  readonly server: string;
  readonly cluster?: object;
  readonly user?: object;
}

/** Writes a kubeconfig with one context, `test`. */
export function writeKubeconfig({
  path,
  server,
  cluster = {},
  user = {},
}: KubeconfigOptions): void {
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'test',
    clusters: [{ name: 'c', cluster: { server, ...cluster } }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'test', context: { cluster: 'c', user: 'u' } }],
  };
  writeFileSync(path, JSON.stringify(config));
}

/** Writes a kubeconfig and reads it with the official client, which has been loaded. */
export function accessTo(client: unknown, options: KubeconfigOptions): ApiAccess {
  writeKubeconfig(options);
  const access = loadApiAccess({ kubeconfig: options.path }, () => client);
  if (!access.ok) throw new Error(access.error);
  return access.value;
}
