import { abortable } from '../../../../src/util/abort';
import type { Clock } from '../../../../src/util/clock';
import { err } from '../../../../src/util/result';
import type { ExamineKubernetesOptions } from '../kubernetes-options';
import { loadApiAccess } from '../api/api-access';
import { unanswered } from '../api/api-failure';
import { HttpsApi } from '../api/https-api';
import type { KubernetesApi } from '../api/kubernetes-api';
import { namespacePath, WATCHED_RESOURCES } from '../api/watched-kinds';
import { DEFAULT_CLUSTER_DOMAIN, type ServiceAddress } from '../names';
import { keyOf } from '../object-key';
import { StoredObjects } from '../stored-objects';
import { call, list } from './api-calls';
import type { KubernetesFinding, OnFinding } from './kubernetes-finding';
import { checkGatewayApi, checkPermissions, checkServer } from './permission-checks';
import { checkService, type ListedObjects } from './service-checks';
import { checkToken } from './token-checks';

type ExaminedApi = Pick<KubernetesApi, 'address' | 'call'>;

interface ExaminationOptions extends ExamineKubernetesOptions {
  readonly clock: Clock;
}

/**
 * Checks what a control plane for a Kubernetes cluster and its clients need: the API server, the permissions, Gateway API, a Service
 * with its ports and endpoints, and a token.
 *
 * @returns the findings, in the order of the checks.
 */
export async function examineKubernetes(
  options: ExaminationOptions,
): Promise<readonly KubernetesFinding[]> {
  const { clock, signal } = options;
  signal?.throwIfAborted();
  const findings: KubernetesFinding[] = [];
  const onFinding: OnFinding = (finding) => {
    // What fails after that is no finding.
    signal?.throwIfAborted();
    findings.push(finding);
    options.onFinding?.(finding);
  };
  const access = loadApiAccess(options);
  if (!access.ok) {
    const found = { check: 'kubeconfig', subject: 'configuration of the cluster' };
    const remedy = 'name a kubeconfig with --kubeconfig, or run this in a pod';
    onFinding({ ...found, level: 'fail', text: access.error, remedy });
    return findings;
  }
  const server = new HttpsApi({ access: access.value, clock });
  let cancelCall = () => {};
  const api: ExaminedApi = {
    address: server.address,
    call(request, onAnswer) {
      signal?.throwIfAborted();
      const sent = server.call(request, onAnswer);
      cancelCall = () => {
        sent.release();
        onAnswer(err(unanswered('the examination was aborted')));
      };
      return sent;
    },
  };
  const start = async () => {
    if (await checkServer(api, onFinding)) await examine(api, options, onFinding);
  };
  try {
    await abortable(signal, start, () => cancelCall());
  } finally {
    server.close();
  }
  return findings;
}

async function examine(
  api: ExaminedApi,
  options: ExaminationOptions,
  onFinding: OnFinding,
): Promise<void> {
  const { account, namespace, tokenPath: path, audience = 'grpc-xds', clock } = options;
  await checkPermissions(api, account, namespace, onFinding);
  await checkGatewayApi(api, onFinding);
  await examineServices(api, options, onFinding);
  if (path !== undefined) {
    await checkToken(api, { path, audience, nowMs: clock.now() }, onFinding);
  }
}

async function examineServices(
  api: ExaminedApi,
  options: ExaminationOptions,
  onFinding: OnFinding,
): Promise<void> {
  const { target, clusterDomain: domain = DEFAULT_CLUSTER_DOMAIN } = options;
  const address = target === undefined ? undefined : addressOf(target, domain);
  if (target !== undefined && address === undefined) {
    onFinding({
      check: 'target',
      level: 'fail',
      subject: target,
      text: 'names no port of a Service',
      remedy: `use xds:///NAME.NAMESPACE.svc.${domain}:PORT`,
    });
    return;
  }
  const namespace = address?.namespace ?? options.namespace;
  if (namespace === undefined) {
    const text = 'give --target or --namespace to check Services and their endpoints';
    onFinding({ check: 'service', level: 'note', subject: 'Services', text });
    return;
  }
  const loaded = await loadObjects(api, namespace, options.clock, onFinding);
  if (loaded === undefined) return;
  const { services } = loaded.objects;
  if (services.size === 0 && !(await checkNamespace(api, namespace, onFinding))) return;
  if (address !== undefined) examineAddress(loaded, address, domain, onFinding);
  else for (const each of services.values()) checkService(loaded, each, { domain }, onFinding);
}

/** Checks the Service of a target. */
function examineAddress(
  loaded: ListedObjects,
  address: ServiceAddress,
  domain: string,
  onFinding: OnFinding,
): void {
  const key = keyOf(address);
  const service = loaded.objects.services.get(key);
  if (service !== undefined) {
    checkService(loaded, service, { port: address.port, domain }, onFinding);
    return;
  }
  onFinding({
    check: 'service',
    level: 'fail',
    subject: `Service ${key}`,
    text: 'does not exist',
    remedy: `check the name and the namespace of the target: kubectl get services -n ${address.namespace}`,
  });
}

async function loadObjects(
  api: ExaminedApi,
  namespace: string,
  clock: Clock,
  onFinding: OnFinding,
): Promise<ListedObjects | undefined> {
  let hasNodes = true;
  const objects = new StoredObjects(clock);
  for (const resource of WATCHED_RESOURCES) {
    const scope = resource.isNamespaced ? namespace : undefined;
    const listed = await list(api, resource, scope);
    if (listed.ok) {
      for (const object of listed.value) if (object.kind !== 'Namespace') objects.put(object);
    } else if (!resource.isOptional) {
      const text = `not checked: ${resource.resource} cannot be listed: ${listed.error.message}`;
      if (resource.lossIfForbidden === undefined) {
        const subject = `Services of the namespace ${namespace}`;
        onFinding({ check: 'service', level: 'skip', subject, text });
        return undefined;
      }
      onFinding({ check: 'zones', level: 'warn', subject: 'zones of Nodes', text });
      hasNodes = false;
    }
  }
  return { objects, hasNodes };
}

/** Whether a namespace without Services exists: lists of one that does not are empty. @returns false if it does not. */
async function checkNamespace(
  api: ExaminedApi,
  namespace: string,
  onFinding: OnFinding,
): Promise<boolean> {
  const answer = await call(api, { path: namespacePath(namespace) });
  const found = { check: 'namespace', subject: `namespace ${namespace}` };
  if (answer.ok || answer.error.status !== 404) {
    onFinding({ ...found, level: 'note', text: 'has no Services' });
    return true;
  }
  const remedy = 'check its name: kubectl get namespaces';
  onFinding({ ...found, level: 'fail', text: 'does not exist', remedy });
  return false;
}

/** Returns the port of a Service that a target names by one of its three names. */
function addressOf(target: string, domain: string): ServiceAddress | undefined {
  const pattern =
    /^xds:(?:\/\/[^/]*\/)?([a-z0-9-]+)\.([a-z0-9-]+)(?:\.svc(?:\.([^:]+))?)?:(\d{1,5})$/;
  const [, name, namespace, given = domain, port] = pattern.exec(target) ?? [];
  if (name === undefined || namespace === undefined || given !== domain) return undefined;
  return { name, namespace, port: Number(port) };
}
