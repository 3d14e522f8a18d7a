import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { eventually } from '../../support/eventually';
import { ApiError, pathOf, type ApiClient, type ApiObject } from './api-client';

const CRDS = join(__dirname, '../crds');
const EXAMPLES = join(__dirname, '../../../examples');
const MANIFESTS = join(EXAMPLES, 'kubernetes');
/** What of the manifests is needed where no pods run. */
const KINDS = new Set([
  'ClusterRole',
  'ClusterRoleBinding',
  'Namespace',
  'Role',
  'RoleBinding',
  'ServiceAccount',
]);

/** An account of a control plane. */
export interface ServiceAccount {
  readonly name: string;
  readonly namespace: string;
}

/** Installs the kinds of Gateway API, and waits until they are served. */
export async function installGatewayApi(api: ApiClient): Promise<void> {
  for (const object of readFolder(CRDS)) await api.apply(object);
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
  const objects = readFolder(MANIFESTS).filter(({ kind }) => KINDS.has(kind));
  for (const object of inOrder(objects)) await api.apply(object);
  const account = objects.find(isControlPlaneAccount(objects));
  if (account === undefined) throw new Error(`no ServiceAccount in ${MANIFESTS}`);
  const { name, namespace = 'default' } = account.metadata;
  return { name, namespace };
}

/**
 * Has the API server check every manifest of the examples, without writing it.
 *
 * @returns how many there are.
 */
export async function checkManifests(api: ApiClient): Promise<number> {
  const objects = ['kubernetes', 'relay']
    .map((folder) => join(EXAMPLES, folder))
    .flatMap(readFolder);
  const namespaces = objects.map(({ metadata }) => metadata.namespace ?? 'default');
  for (const namespace of new Set(namespaces)) await ensureNamespace(api, namespace);
  for (const object of objects) await check(api, object);
  return objects.length;
}

/** Creates a namespace unless it is there, with the account that the controller manager gives each one. */
export async function ensureNamespace(api: ApiClient, name: string): Promise<void> {
  const account = { name: 'default', namespace: name };
  const objects = [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: account },
  ];
  for (const object of objects) {
    await api.create(object).catch((error: unknown) => {
      if (!(error instanceof ApiError && error.status === 409)) throw error;
    });
  }
}

/** @throws for a field that does not exist or has no such value. */
async function check(api: ApiClient, object: ApiObject): Promise<void> {
  const query = 'fieldManager=check&force=true&dryRun=All&fieldValidation=Strict';
  const placed = IN_NAMESPACES.has(object.kind) ? inDefaultNamespace(object) : object;
  const type = 'application/apply-patch+yaml';
  await api.send('PATCH', `${pathOf(placed)}?${query}`, placed, type).catch((error: Error) => {
    throw new Error(`${object.kind} ${object.metadata.name}: ${error.message}`);
  });
}

const IN_NAMESPACES = new Set([
  'ConfigMap',
  'DaemonSet',
  'Deployment',
  'GRPCRoute',
  'NetworkPolicy',
  'Pod',
  'PodDisruptionBudget',
  'Role',
  'RoleBinding',
  'Secret',
  'Service',
  'ServiceAccount',
]);

function inDefaultNamespace(object: ApiObject): ApiObject {
  return { ...object, metadata: { namespace: 'default', ...object.metadata } };
}

/** The account that has a ClusterRole; others are those of applications. */
function isControlPlaneAccount(objects: readonly ApiObject[]) {
  const bound = objects
    .filter(({ kind }) => kind === 'ClusterRoleBinding')
    .flatMap(({ subjects }) => subjects as readonly { readonly name: string }[])
    .map(({ name }) => name);
  return ({ kind, metadata }: ApiObject) =>
    kind === 'ServiceAccount' && bound.includes(metadata.name);
}

/** Reads the manifests of a folder. */
function readFolder(folder: string): readonly ApiObject[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.yaml'))
    .flatMap((name) => readObjects(join(folder, name)));
}

/** Kinds of kustomize and of cert-manager are not those of the API server. */
function isObjectOfApi(object: Partial<ApiObject> | null): object is ApiObject {
  return (
    object?.apiVersion !== undefined && !/^(?:kustomize|cert-manager)\./.test(object.apiVersion)
  );
}

/** Reads the objects of a file that the API server has. */
function readObjects(path: string): readonly ApiObject[] {
  return parseAllDocuments(readFileSync(path, 'utf8'))
    .map((document) => document.toJS() as Partial<ApiObject> | null)
    .filter((object) => isObjectOfApi(object));
}

/** Namespaces before what is in them. */
function inOrder(objects: readonly ApiObject[]): readonly ApiObject[] {
  const rank = ({ kind }: ApiObject) => (kind === 'Namespace' ? 0 : 1);
  return [...objects].sort((a, b) => rank(a) - rank(b));
}
