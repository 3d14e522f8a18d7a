import type { KubernetesApi } from '../api/kubernetes-api';
import {
  namespacePath,
  ruleFor,
  WATCHED_RESOURCES,
  type WatchedResource,
} from '../api/watched-kinds';
import type { ServiceAccount } from '../access/token-review';
import { valueAt } from '../../../../src/util/value-at';
import { call, isAllowed } from './api-calls';
import type { KubernetesFinding, OnFinding } from './kubernetes-finding';

type Api = Pick<KubernetesApi, 'call'>;

/** Something that a control plane does. */
interface Permission {
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly verb: string;
  readonly isNamespaced: boolean;
  /** What is missing without it; a failure if clients are not served. */
  readonly without: string;
  readonly isNeeded: boolean;
  readonly rule: string;
}

const GATEWAY_API = 'gateway.networking.k8s.io';

const READS: readonly Permission[] = WATCHED_RESOURCES.flatMap((resource) => {
  const { group, resource: plural, isNamespaced } = resource;
  const { without, isNeeded } = effectOf(resource);
  const common = { group, resource: plural, isNamespaced, without, isNeeded };
  return ['list', 'watch'].map((verb) => ({ ...common, verb, rule: ruleFor(resource) }));
});

function effectOf({
  isOptional,
  lossIfForbidden,
}: WatchedResource): Pick<Permission, 'without' | 'isNeeded'> {
  if (isOptional) return { without: 'GRPCRoutes have no effect', isNeeded: false };
  return lossIfForbidden === undefined
    ? { without: 'no client is served', isNeeded: true }
    : { without: `Services are served, but ${lossIfForbidden}`, isNeeded: false };
}

const WRITES: readonly Permission[] = [
  {
    group: 'authentication.k8s.io',
    resource: 'tokenreviews',
    verb: 'create',
    isNamespaced: false,
    without: 'clients with service account tokens are refused',
    isNeeded: false,
    rule: '{apiGroups: ["authentication.k8s.io"], resources: ["tokenreviews"], verbs: ["create"]}',
  },
  {
    group: GATEWAY_API,
    resource: 'grpcroutes',
    subresource: 'status',
    verb: 'patch',
    isNamespaced: true,
    without: 'the conditions of GRPCRoutes are not written',
    isNeeded: false,
    rule: `{apiGroups: ["${GATEWAY_API}"], resources: ["grpcroutes/status"], verbs: ["patch"]}`,
  },
  {
    group: '',
    resource: 'events',
    verb: 'create',
    isNamespaced: true,
    without: 'wrong annotations of Services are not said by events',
    isNeeded: false,
    rule: '{apiGroups: [""], resources: ["events"], verbs: ["create"]}',
  },
];

/** Whether the API server answers. */
export async function checkServer(
  api: Api & { address: string },
  onFinding: OnFinding,
): Promise<boolean> {
  const answer = await call(api, { path: '/version' });
  const subject = api.address;
  if (answer.ok) {
    const version = valueAt(answer.value, 'gitVersion');
    onFinding({
      check: 'api-server',
      level: 'ok',
      subject,
      text: `is Kubernetes ${String(version)}`,
    });
    return true;
  }
  const { status, message } = answer.error;
  onFinding({
    check: 'api-server',
    level: 'fail',
    subject,
    text: message,
    remedy:
      status === 401
        ? 'check that the token or certificate of the kubeconfig has not expired and is of this cluster'
        : 'check that the API server runs and that this machine can reach it',
  });
  return false;
}

/** Whether Gateway API is installed. */
export async function checkGatewayApi(api: Api, onFinding: OnFinding): Promise<void> {
  const answer = await call(api, { path: `/apis/${GATEWAY_API}/v1` });
  const found = { check: 'gateway-api', subject: 'Gateway API' };
  if (answer.ok) onFinding({ ...found, level: 'ok', text: 'is installed' });
  else if (answer.error.status === 404) {
    const text =
      'is not installed: GRPCRoutes have no effect, and Services are served without them';
    onFinding({ ...found, level: 'note', text });
  } else onFinding({ ...found, level: 'skip', text: `not checked: ${answer.error.message}` });
}

/**
 * Whether a control plane may do what it does: as a service account, or as the user of the kubeconfig.
 *
 * @param namespace In which it reads. Default: all.
 */
export async function checkPermissions(
  api: Api,
  account: ServiceAccount | undefined,
  namespace: string | undefined,
  onFinding: OnFinding,
): Promise<void> {
  const subject =
    account === undefined ? 'this user' : `service account ${account.namespace}/${account.name}`;
  if (account !== undefined && !(await checkAccount(api, account, subject, onFinding))) return;
  let missing = 0;
  for (const permission of [...READS, ...WRITES]) {
    const { group, resource, subresource, verb } = permission;
    const isInOne = namespace !== undefined && permission.isNamespaced;
    const scope = {
      ...(subresource !== undefined && { subresource }),
      ...(isInOne && { namespace }),
    };
    const allowed = await isAllowed(api, { group, resource, verb, ...scope }, account);
    if (!allowed.ok) {
      const text = `permissions are not checked: ${allowed.error.message}`;
      onFinding({ check: 'permission', level: 'skip', subject, text });
      return;
    }
    if (allowed.value) continue;
    missing++;
    const role = isInOne ? `Role in the namespace ${namespace}` : 'ClusterRole';
    onFinding({ check: 'permission', subject, ...describeLack(permission, role) });
  }
  if (missing > 0) return;
  const text = 'may list, watch and write what a control plane does';
  onFinding({ check: 'permission', level: 'ok', subject, text });
}

function describeLack(
  { group, resource, subresource, verb, without, isNeeded, rule }: Permission,
  role: string,
): Pick<KubernetesFinding, 'level' | 'text' | 'remedy'> {
  const name = [resource, ...(subresource === undefined ? [] : [subresource])].join('/');
  return {
    level: isNeeded ? 'fail' : 'warn',
    text: `lacks ${verb} of ${group === '' ? name : `${name}.${group}`}: ${without}`,
    remedy: `add the rule ${rule} to its ${role}`,
  };
}

/** Whether a service account exists: roles may be bound to one that does not. @returns false if it does not. */
async function checkAccount(
  api: Api,
  { namespace, name }: ServiceAccount,
  subject: string,
  onFinding: OnFinding,
): Promise<boolean> {
  const path = `${namespacePath(namespace)}/serviceaccounts/${encodeURIComponent(name)}`;
  const answer = await call(api, { path });
  const found = { check: 'account', subject };
  if (answer.ok) return true;
  const { status, message } = answer.error;
  if (status === 404) {
    const remedy = `check its name and namespace: kubectl get serviceaccounts -n ${namespace}`;
    onFinding({ ...found, level: 'fail', text: 'does not exist', remedy });
    return false;
  }
  onFinding({ ...found, level: 'skip', text: `it is not checked that it exists: ${message}` });
  return true;
}
