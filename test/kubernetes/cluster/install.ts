import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { eventually } from '../../support/eventually';
import { ApiError, type ApiClient, type ApiObject } from './api-client';

const CRDS = join(__dirname, '../crds');
const MANIFESTS = join(__dirname, '../../../examples/kubernetes');
/** What of the manifests is needed where no pods run. */
const KINDS = new Set([
  ...['ClusterRole', 'ClusterRoleBinding', 'Namespace', 'Role', 'RoleBinding', 'ServiceAccount'],
]);

/** An account of a control plane. */
export interface ServiceAccount {
  readonly name: string;
  readonly namespace: string;
}

/** Reads the objects of a file in YAML. */
export function readObjects(path: string): readonly ApiObject[] {
  return parseAllDocuments(readFileSync(path, 'utf8'))
    .map((document) => document.toJS() as ApiObject | null)
    .filter((object) => object !== null);
}

/** Installs the kinds of Gateway API, and waits until they are served. */
export async function installGatewayApi(api: ApiClient): Promise<void> {
  for (const name of readdirSync(CRDS)) {
    for (const object of readObjects(join(CRDS, name))) await api.apply(object);
  }
  const group = '/apis/gateway.networking.k8s.io';
  for (const plural of ['v1/grpcroutes', 'v1beta1/referencegrants']) {
    await eventually(
      () => api.send('GET', `${group}/${plural}`).catch((error: Error) => error),
      (answer) => !(answer instanceof Error),
    );
  }
}

/** Gives the control plane its account and its rights, which are those of the manifests for users. */
export async function installControlPlane(api: ApiClient): Promise<ServiceAccount> {
  const objects = manifests().filter(({ kind }) => KINDS.has(kind));
  for (const object of inOrder(objects)) await api.apply(object);
  const account = objects.find(({ kind }) => kind === 'ServiceAccount');
  if (account === undefined) throw new Error(`no ServiceAccount in ${MANIFESTS}`);
  const { name, namespace = 'default' } = account.metadata;
  return { name, namespace };
}

/** Creates a namespace unless it is there. */
export async function ensureNamespace(api: ApiClient, name: string): Promise<void> {
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
  await api.create(namespace).catch((error: unknown) => {
    if (!(error instanceof ApiError && error.status === 409)) throw error;
  });
}

function manifests(): readonly ApiObject[] {
  if (!existsSync(MANIFESTS)) throw new Error(`${MANIFESTS} is not there`);
  return readdirSync(MANIFESTS, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.yaml') && !name.includes('kustomization'))
    .flatMap((name) => readObjects(join(MANIFESTS, name)))
    .filter(({ apiVersion, kind }) => apiVersion !== undefined && kind !== undefined);
}

/** Namespaces before what is in them. */
function inOrder(objects: readonly ApiObject[]): readonly ApiObject[] {
  const rank = ({ kind }: ApiObject) => (kind === 'Namespace' ? 0 : 1);
  return [...objects].sort((a, b) => rank(a) - rank(b));
}
