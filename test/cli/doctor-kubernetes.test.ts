import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { loadClientNode } from '../kubernetes/watch/kubernetes-access';
import { acceptedAs, tokenOf } from '../kubernetes/watch/access/reviewing-api';
import { CommandProcess } from '../support/command-process';
import { KubernetesApiServer, serviceObject, sliceObject } from '../support/kubernetes-api-server';
import { FakeIo } from './fake-io';

let clientNode: unknown;

jest.mock('../../src/util/optional-package', () => ({ requireOptional: () => clientNode }));

const endpoint = (ready: boolean, more: object = {}) => ({
  addresses: ['127.0.0.1'],
  conditions: { ready, ...more },
});

describe('grpc-xds doctor --kubernetes', () => {
  const folder = mkdtempSync(join(tmpdir(), 'doctor-kubernetes-'));
  let api: KubernetesApiServer;
  let kubeconfig: string;
  /** The names of the resources that the user may not read. */
  let forbidden: ReadonlySet<unknown>;

  beforeAll(async () => {
    clientNode = await loadClientNode();
  });
  beforeEach(async () => {
    api = new KubernetesApiServer();
    kubeconfig = await api.start();
    forbidden = new Set();
    for (const kind of ['selfsubjectaccessreviews', 'subjectaccessreviews']) {
      api.reviews.set(kind, ({ resourceAttributes, user }) => {
        const { resource, verb } = resourceAttributes as Readonly<Record<string, unknown>>;
        const isDenied = forbidden.has(`${String(verb)} ${String(resource)}`);
        return { allowed: !isDenied && user !== 'system:serviceaccount:a:none' };
      });
    }
  });
  afterEach(() => api.stop());
  afterAll(() => rmSync(folder, { recursive: true }));

  /** Runs it, and returns its lines and its exit code. */
  async function run(...args: readonly string[]) {
    const io = new FakeIo();
    const code = await io.run('doctor', '--kubernetes', '--kubeconfig', kubeconfig, ...args);
    return { code, text: [...io.out, ...io.errors, ''].join('\n') };
  }

  it('finds nothing wrong with a Service whose endpoints are ready', async () => {
    api.putService(serviceObject('web'));
    api.putSlice(sliceObject('web', 50051));
    const { code, text } = await run('--target', 'xds:///web.shop.svc.cluster.local:80');
    expect(text.replace(/127\.0\.0\.1:\d+/, 'HOST').split('\n')).toEqual([
      'ok    http://HOST  is Kubernetes v1.34.1',
      'ok    this user  may list, watch and write what a control plane does',
      'note  Gateway API  is not installed: GRPCRoutes have no effect, and Services are served without them',
      'ok    Service shop/web  has port 80 named grpc for gRPC',
      'ok    Service shop/web  has 1 endpoints that are ready',
      '4 ok, 1 note, 0 warn, 0 fail, 0 skip',
      '',
    ]);
    expect(code).toBe(0);
  });

  it('says what of Services is not as gRPC needs it', async () => {
    const ports = [
      { name: 'http', port: 80, protocol: 'TCP' },
      { name: 'a', port: 81, protocol: 'TCP', appProtocol: 'http' },
      { name: 'dns', port: 53, protocol: 'UDP' },
    ];
    const annotations = { 'grpc-xds/lb-polisy': 'x' };
    api.putService(serviceObject('a', { ports }, { annotations }));
    api.putSlice(
      sliceObject('a', 1, [
        endpoint(false),
        endpoint(false, { serving: true, terminating: true }),
        { ...endpoint(false), nodeName: 'n1' },
      ]),
    );
    api.putService(serviceObject('b'));
    api.putService(serviceObject('c'));
    const [ending, starting] = [endpoint(false, { terminating: true }), endpoint(false)];
    api.putSlice(sliceObject('c', 1, [{ ...endpoint(true), nodeName: 'n1' }, ending, starting]));
    const external = { type: 'ExternalName', externalName: 'd.example.com' };
    api.putService(serviceObject('d', external));
    api.putService(serviceObject('e', { ...external, ports: [] }));
    const { code, text } = await run('-n', 'shop');
    expect(code).toBe(1);
    for (const line of [
      'warn  Service shop/a  has port 80 named http, has no appProtocol: it is served, though it is not grpc',
      'warn  Service shop/a  has port 81 named a, appProtocol is "http", which is not grpc',
      'fix: set appProtocol: kubernetes.io/h2c (grpc for Istio) if this port has gRPC; use another port if not',
      'note  Service shop/a  has port 53 named dns of UDP, which is not served',
      'fail  Service shop/a  no endpoint is ready: 2 are not ready, 1 are terminating',
      'fix: check the readiness probes of its pods: kubectl describe pods',
      'fail  Service shop/b  has no EndpointSlice',
      'ok    Service shop/c  has 1 endpoints that are ready; 1 are not ready, 1 are terminating',
      'warn  Service shop/c  zone of Node n1 unknown: its endpoints are in no zone',
      'fix: label the Node with topology.kubernetes.io/zone',
      'warn  Service shop/e  has no ports, and so no names that clients can call: add one to spec.ports',
      'note  Service shop/d  is the DNS name "d.example.com", which clients resolve themselves',
    ]) {
      expect(text).toContain(line);
    }
  });

  it.each([
    ['xds:///none.shop.svc.cluster.local:80', 'fail  Service shop/none  does not exist'],
    ['xds:///web.shop:99', 'fail  Service shop/web  has no port 99'],
    ['xds:///web', 'names no port of a Service'],
    ['xds:///web.shop.svc.other.domain:80', 'names no port of a Service'],
  ])('says what is wrong with the target %s', async (target, line) => {
    api.putService(serviceObject('web'));
    const { code, text } = await run('--target', target);
    expect(text).toContain(line);
    expect(code).toBe(1);
  });

  it('names the rules that a role lacks', async () => {
    forbidden = new Set(['watch endpointslices', 'create tokenreviews']);
    const { code, text } = await run();
    expect(text).toContain(
      'fail  this user  lacks watch of endpointslices.discovery.k8s.io: no client is served',
    );
    expect(text).toContain(
      'fix: add the rule {apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: ["get", "list", "watch"]} to its ClusterRole',
    );
    expect(text).toContain(
      'warn  this user  lacks create of tokenreviews.authentication.k8s.io: clients with service account tokens are refused',
    );
    expect(code).toBe(1);
  });

  it('says what is missing without Nodes, and examines Services all the same', async () => {
    forbidden = new Set(['list nodes', 'watch nodes']);
    api.remove('nodes');
    api.putService(serviceObject('web'));
    api.putSlice(sliceObject('web', 1, [{ ...endpoint(true), nodeName: 'n1' }]));
    const { code, text } = await run('-n', 'shop');
    expect(text).toContain(
      'warn  this user  lacks list of nodes: Services are served, but the regions of endpoints are not known',
    );
    expect(text).toContain('ok    Service shop/web  has 1 endpoints that are ready');
    expect(text).toContain(
      'warn  zones of Nodes  not checked: nodes cannot be listed: HTTP status',
    );
    expect(text).not.toContain('zone of Node n1 unknown');
    expect(code).toBe(0);
  });

  it('names a namespace and a service account that do not exist', async () => {
    const nowhere = await run('-n', 'nowhere', '--account', 'shop/none');
    expect(nowhere.text).toContain('fail  namespace nowhere  does not exist');
    expect(nowhere.text).toContain('fail  service account shop/none  does not exist');
    expect(nowhere.text).not.toContain('lacks');
    expect(nowhere.code).toBe(1);
    expect((await run('-n', 'shop')).text).toContain('note  namespace shop  has no Services');
  });

  it('examines the permissions of a service account', async () => {
    api.putAccount({ metadata: { name: 'none', namespace: 'a' } });
    const { code, text } = await run('--account', 'a/none');
    expect(text).toContain('fail  service account a/none  lacks list of services');
    expect(code).toBe(1);
    expect(api.reviewed.get('selfsubjectaccessreviews')).toBeUndefined();
    api.reviews.delete('selfsubjectaccessreviews');
    expect((await run()).text).toContain('skip  this user  permissions are not checked');
  });

  it('says whether a token is accepted, and why not', async () => {
    const path = join(folder, 'token');
    const exp = Date.now() / 1000 + 3600;
    writeFileSync(path, tokenOf({ aud: ['other'], exp }));
    expect((await run('--token', path)).text).toContain(
      `this token is refused: the bearer token is for the audience "other": project one with the audience "grpc-xds"`,
    );
    api.reviews.set('tokenreviews', () => acceptedAs('system:serviceaccount:shop:web', ['other']));
    const { code, text } = await run('--token', path, '--audience', 'other');
    expect(text).toContain(`token ${path}  is that of the service account shop/web`);
    expect(code).toBe(0);
    api.reviews.set('tokenreviews', () => ({ authenticated: false }));
    expect((await run('--token', path, '--audience', 'other')).text).toContain(
      'this token is refused: the API server does not accept the bearer token',
    );
  });

  it('finds the tokenFile of a user in any of the files of KUBECONFIG', async () => {
    const [cluster, users] = [join(folder, 'cluster'), join(folder, 'users')];
    const content = readFileSync(kubeconfig, 'utf8').replace('"user":"test"', '"user":"other"');
    writeFileSync(cluster, content);
    writeFileSync(users, 'users: [{ name: other, user: { tokenFile: other-token } }]');
    const KUBECONFIG = [cluster, users].join(delimiter);
    const command = new CommandProcess(['doctor', '--kubernetes'], { KUBECONFIG });
    expect(await command.end()).toBe(1);
    expect(command.output).toContain(
      `no credentials: the tokenFile ${join(folder, 'other-token')} of the kubeconfig cannot be read: ENOENT`,
    );
  });

  it('says that the API server is away, or that there is no configuration', async () => {
    const path = join(folder, 'kubeconfig');
    const cluster = { server: 'http://127.0.0.1:1', 'insecure-skip-tls-verify': true };
    const context = { cluster: 'a', user: 'a' };
    const named = { clusters: [{ name: 'a', cluster }], users: [{ name: 'a', user: {} }] };
    const contexts = [{ name: 'a', context }];
    writeFileSync(path, JSON.stringify({ ...named, contexts, 'current-context': 'a' }));
    const away = await run('--kubeconfig', path);
    expect(away.text).toContain('fail  http://127.0.0.1:1  connect ECONNREFUSED');
    const missing = await run('--kubeconfig', '/nowhere');
    expect(missing.text).toContain('the kubeconfig /nowhere cannot be read');
    expect([away.code, missing.code]).toEqual([1, 1]);
  });

  it.each([
    [['--kubeconfig', 'a'], 'error: --kubeconfig needs --kubernetes'],
    [['--token', 'a'], 'error: --token needs --kubernetes'],
    [['--kubernetes', '--account', 'a'], 'Expected NAMESPACE/NAME.'],
    [['--kubernetes', '-n', 'A'], 'Expected the name of a namespace.'],
  ])('refuses %j', async (args, error) => {
    const io = new FakeIo();
    expect(await io.run('doctor', ...args)).toBe(2);
    expect(io.errors.join('\n')).toContain(error);
  });
});
