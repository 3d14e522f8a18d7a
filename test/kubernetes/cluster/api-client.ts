import { Agent, request } from 'node:https';

/** An object of the API, as JSON. */
export interface ApiObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly resourceVersion?: string;
    readonly [member: string]: unknown;
  };
  readonly [member: string]: unknown;
}

/** What the tests write. */
const PLURALS: Readonly<Record<string, string>> = {
  ClusterRole: 'clusterroles',
  ClusterRoleBinding: 'clusterrolebindings',
  ConfigMap: 'configmaps',
  CustomResourceDefinition: 'customresourcedefinitions',
  DaemonSet: 'daemonsets',
  Deployment: 'deployments',
  EndpointSlice: 'endpointslices',
  Event: 'events',
  GRPCRoute: 'grpcroutes',
  Namespace: 'namespaces',
  NetworkPolicy: 'networkpolicies',
  Node: 'nodes',
  Pod: 'pods',
  PodDisruptionBudget: 'poddisruptionbudgets',
  ReferenceGrant: 'referencegrants',
  Role: 'roles',
  RoleBinding: 'rolebindings',
  Secret: 'secrets',
  Service: 'services',
  ServiceAccount: 'serviceaccounts',
};

/** The API server refused a request. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(`${status}: ${message}`);
  }
}

/** How to reach an API server. */
export interface ApiAddress {
  readonly port: number;
  /** Certificates in PEM. */
  readonly ca: string;
  readonly token: string;
}

/** Makes requests of the Kubernetes API. It shares nothing with the code under test. */
export class ApiClient {
  private readonly agent = new Agent({ keepAlive: true, maxSockets: 16 });

  constructor(private readonly address: ApiAddress) {}

  /** Creates an object, or changes it to what is given (server-side apply). */
  apply(object: ApiObject): Promise<ApiObject> {
    const query = '?fieldManager=test&force=true';
    return this.send('PATCH', pathOf(object) + query, object, 'application/apply-patch+yaml');
  }

  create(object: ApiObject): Promise<ApiObject> {
    return this.send('POST', collectionOf(object), object);
  }

  /** Replaces an object, whichever version it has. */
  replace(object: ApiObject): Promise<ApiObject> {
    return this.send('PUT', pathOf(object), object);
  }

  delete(object: ApiObject): Promise<unknown> {
    return this.send('DELETE', pathOf(object));
  }

  read(object: Pick<ApiObject, 'apiVersion' | 'kind' | 'metadata'>): Promise<ApiObject> {
    return this.send('GET', pathOf(object));
  }

  /** Returns a token of a service account, as pods get them. */
  async token(
    account: { readonly name: string; readonly namespace: string },
    audience: string,
    expirationSeconds = 3600,
  ): Promise<string> {
    const path = `/api/v1/namespaces/${account.namespace}/serviceaccounts/${account.name}/token`;
    const spec = { audiences: [audience], expirationSeconds };
    const { status } = await this.send<{ status: { token: string } }>('POST', path, { spec });
    return status.token;
  }

  /** Makes a request. @returns the answer, which is JSON or text. */
  send<T = ApiObject>(
    method: string,
    path: string,
    body?: unknown,
    contentType = 'application/json',
  ): Promise<T> {
    const { port, ca, token } = this.address;
    const headers = { authorization: `Bearer ${token}`, 'content-type': contentType };
    const options = { host: '127.0.0.1', port, ca, method, path, headers, agent: this.agent };
    return new Promise((resolve, reject) => {
      const sent = request(options, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = String(Buffer.concat(chunks));
          const { statusCode = 0 } = response;
          if (statusCode < 300) resolve(parse(text) as T);
          else reject(new ApiError(statusCode, messageOf(text)));
        });
      });
      sent.on('error', reject);
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  close(): void {
    this.agent.destroy();
  }
}

/** The path of an object. */
export function pathOf(object: Pick<ApiObject, 'apiVersion' | 'kind' | 'metadata'>): string {
  return `${collectionOf(object)}/${object.metadata.name}`;
}

function collectionOf({
  apiVersion,
  kind,
  metadata: { namespace },
}: Pick<ApiObject, 'apiVersion' | 'kind' | 'metadata'>): string {
  const plural = PLURALS[kind];
  if (plural === undefined) throw new Error(`${kind} has no path`);
  const group = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  return namespace === undefined
    ? `${group}/${plural}`
    : `${group}/namespaces/${namespace}/${plural}`;
}

function parse(text: string): unknown {
  return text.startsWith('{') ? JSON.parse(text) : text;
}

function messageOf(text: string): string {
  const answer = parse(text);
  return typeof answer === 'object' && answer !== null && 'message' in answer
    ? String(answer.message)
    : text;
}
