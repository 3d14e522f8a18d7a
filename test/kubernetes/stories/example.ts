import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { examineKubernetes } from '../../../packages/kubernetes/src';
import { listAt } from '../../../src/util/value-at';
import { eventually } from '../../support/eventually';
import type { ApiObject } from '../cluster/api-client';
import { HOST_ADDRESS } from '../cluster/namespace';
import { Program } from '../cluster/process';
import { ADMIN_TOKEN } from '../cluster/test-cluster';
import { bootstrapOfPod, EXAMPLE, podOf, readExample } from '../workload/example';
import type { Story, StoryContext } from './story';

const COMMAND_LINE = join(__dirname, '../../../packages/cli/dist/main.js');
const START_MS = 30_000;
const PODS = ['echo-a', 'echo-b', 'echo-c'];

const controlPlane = readExample('control-plane.yaml');
const application = readExample('application.yaml');

/** Has the names of Services lead to this machine, for the processes of this namespace alone. */
function resolveServices(folder: string): void {
  const names = controlPlane
    .filter(({ kind }) => kind === 'Service')
    .map(({ metadata }) => `${metadata.name}.${String(metadata.namespace)}.svc.cluster.local`);
  const hosts = join(folder, 'hosts');
  writeFileSync(hosts, `127.0.0.1 localhost\n${HOST_ADDRESS} ${names.join(' ')}\n`);
  execFileSync('mount', ['--bind', hosts, '/etc/hosts']);
}

/** What the control plane runs as in its pod, with volumes in a folder. */
async function controlPlaneOf({ cluster, account }: StoryContext, folder: string) {
  const [container] = listAt(podOf(controlPlane, 'grpc-xds'), 'containers');
  const args = listAt(container, 'args').map((arg) =>
    String(arg).replace(/=\/(?:tls|saved)\//, `=${folder}/`),
  );
  const token = await cluster.api.token(account, 'https://kubernetes.default.svc');
  const kubeconfig = cluster.kubeconfig({ token });
  return new Program(
    [process.execPath, COMMAND_LINE, ...args, '--kubeconfig', kubeconfig],
    join(folder, 'control-plane.log'),
  );
}

/** Waits until the readiness probe of the control plane succeeds. */
async function untilReady(): Promise<void> {
  const probe = () => fetch('http://127.0.0.1:18001/readyz').catch(() => undefined);
  await eventually(probe, (response) => response?.status === 200, START_MS);
}

/** What a pod of the application runs. */
function programOf(folder: string, name: string, env: Readonly<Record<string, string>>): Program {
  const script = join(EXAMPLE, 'app', `${name}.mjs`);
  return new Program([process.execPath, script], join(folder, `${name}.log`), env);
}

const addressOf = (index: number) => `10.244.250.${index + 1}`;

/** The slice that the controllers of a cluster write for the pods. */
function sliceOf(ready: readonly string[]): ApiObject {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: 'echo-1',
      namespace: 'shop',
      labels: { 'kubernetes.io/service-name': 'echo' },
    },
    addressType: 'IPv4',
    ports: [{ name: 'grpc', port: 50_051, protocol: 'TCP' }],
    endpoints: PODS.map((name, i) => ({
      addresses: [addressOf(i)],
      conditions: { ready: ready.includes(name) },
    })),
  };
}

/** Waits until the last answers of the frontend come from these pods alone, each of them. */
async function untilAnswers(frontend: Program, pods: readonly string[]): Promise<void> {
  const wanted = [...pods].sort().join();
  const answers = () => frontend.log.split('\n').filter((line) => line !== '');
  await eventually(
    () => answers().slice(-2 * pods.length),
    (lines) => [...new Set(lines.map((line) => line.split(' ').at(-1)))].sort().join() === wanted,
    START_MS,
  );
}

/** Runs the application, as the manifests and the page have it. @returns the answers of its frontend. */
async function follow(
  context: StoryContext,
  folder: string,
  programs: Program[],
): Promise<readonly string[]> {
  const { api } = context.cluster;
  const start = (program: Program) => {
    programs.push(program);
    program.start();
    return program;
  };
  execFileSync('sh', [join(EXAMPLE, 'certificate.sh')], { cwd: folder, stdio: 'pipe' });
  resolveServices(folder);
  for (const object of application) await api.apply(object);
  const account = { name: 'default', namespace: 'shop' };
  await api.apply({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: account });
  writeFileSync(join(folder, 'token'), await api.token(account, 'grpc-xds'));
  start(await controlPlaneOf(context, folder));
  await untilReady();
  for (const [i, NAME] of PODS.entries()) {
    start(programOf(folder, 'echo', { NAME, ADDRESS: `${addressOf(i)}:50051` }));
  }
  await api.apply(sliceOf(PODS));
  const bootstrap = bootstrapOfPod(application, 'frontend', { NODE_NAME: 'unknown' });
  const GRPC_XDS_BOOTSTRAP_CONFIG = bootstrap
    .replaceAll('/etc/grpc-xds/', `${folder}/`)
    .replaceAll('/var/run/grpc-xds/', `${folder}/`);
  const frontend = start(programOf(folder, 'frontend', { GRPC_XDS_BOOTSTRAP_CONFIG }));
  await untilAnswers(frontend, PODS);
  const rest = PODS.slice(1);
  await api.apply(sliceOf(rest));
  await untilAnswers(frontend, rest);
  return frontend.log.trimEnd().split('\n');
}

/** What the doctor says of the account of the control plane, of the Service and of the token. */
async function examine({ cluster, account }: StoryContext, folder: string) {
  const findings = await examineKubernetes({
    kubeconfig: cluster.kubeconfig({ token: ADMIN_TOKEN }),
    account,
    target: 'xds:///echo.shop.svc.cluster.local:50051',
    tokenPath: join(folder, 'token'),
  });
  return findings.map(({ level, subject, text }) => ({ level, text: `${subject} ${text}` }));
}

/** The manifests, the certificate and the programs of the guide, run as they are: only volumes are elsewhere, and pods are processes. */
export const example: Story = {
  name: 'example of the guide',
  isInShortForm: false,
  async run(context) {
    const folder = context.cluster.pathOf('example');
    mkdirSync(folder);
    const programs: Program[] = [];
    try {
      const answers = await follow(context, folder, programs);
      const findings = await examine(context, folder);
      return {
        facts: [`${answers.length} calls`, `${findings.length} findings of doctor`],
        misses: [
          ...answers.filter((answer) => !answer.includes(' from ')),
          ...findings.filter(({ level }) => level !== 'ok').map(({ text }) => text),
        ],
      };
    } catch (error) {
      const logs = programs.map((program) => program.lastLog);
      throw new Error([String(error), ...logs].join('\n'), { cause: error });
    } finally {
      await Promise.all(programs.map((program) => program.kill()));
    }
  },
};
