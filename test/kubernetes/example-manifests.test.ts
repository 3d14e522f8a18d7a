import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkServerIdentity } from 'node:tls';
import { X509Certificate } from 'node:crypto';
import { parseAllDocuments } from 'yaml';
import { WATCHED_RESOURCES } from '../../packages/kubernetes/src/api/watched-kinds';
import { listAt, valueAt } from '../../src/util/value-at';
import { FakeIo } from '../cli/fake-io';
import { faultsOfData } from '../docs/resource-samples';
import { TestCertificates } from '../support/test-certificates';
import { bootstrapOfPod, EXAMPLE, podOf, readExample } from './workload/example';

const controlPlane = readExample('control-plane.yaml');
const application = readExample('application.yaml');
const all = [...controlPlane, ...application, ...readExample('cert-manager/certificate.yaml')];

/** The container of the control plane. */
const [container] = listAt(podOf(controlPlane, 'grpc-xds'), 'containers');
const args = listAt(container, 'args').map(String);

/** The Services of a list of objects, as their clients name them. */
const serviceNames = controlPlane
  .filter(({ kind }) => kind === 'Service')
  .map(({ metadata }) => `${metadata.name}.${String(metadata.namespace)}.svc.cluster.local`);

const bootstrap: unknown = JSON.parse(bootstrapOfPod(application, 'frontend', { NODE_NAME: 'n' }));
const servers = listAt(bootstrap, 'xds_servers');

describe('the manifests of examples/kubernetes', () => {
  it('are valid YAML, which parsers of version 1.1 read as well', () => {
    const files = readdirSync(EXAMPLE, { recursive: true, encoding: 'utf8' });
    for (const file of files.filter((name) => name.endsWith('.yaml'))) {
      const text = readFileSync(join(EXAMPLE, file), 'utf8');
      const of = (version: '1.1' | '1.2') =>
        parseAllDocuments(text, { version }).map((document) => {
          expect([...document.errors, ...document.warnings]).toEqual([]);
          return document.toJS() as unknown;
        });
      expect(of('1.1')).toEqual(of('1.2'));
    }
  });

  it('are all in a folder that kustomize reads', () => {
    for (const folder of ['', 'cert-manager']) {
      const [kustomization] = readExample(join(folder, 'kustomization.yaml'));
      const listed = listAt(kustomization, 'resources');
      for (const name of listed) expect(readExample(join(folder, String(name)))).not.toEqual([]);
    }
  });

  it('have selectors that match the labels of pods, and ports that containers have', () => {
    const labels = valueAt(named('Deployment'), 'spec', 'template', 'metadata', 'labels');
    for (const path of [['Deployment'], ['PodDisruptionBudget']]) {
      expect(valueAt(named(...path), 'spec', 'selector', 'matchLabels')).toEqual(labels);
    }
    expect(valueAt(named('NetworkPolicy'), 'spec', 'podSelector', 'matchLabels')).toEqual(labels);
    const ports = listAt(container, 'ports').map((port) => valueAt(port, 'name'));
    const services = controlPlane.filter(({ kind }) => kind === 'Service');
    for (const service of services) {
      expect(valueAt(service, 'spec', 'selector')).toEqual(labels);
      for (const port of listAt(valueAt(service, 'spec'), 'ports')) {
        expect(ports).toContain(valueAt(port, 'targetPort'));
      }
    }
    expect(services).toHaveLength(2);
  });

  it('mount what they name, of volumes that there are', () => {
    const pods = [podOf(controlPlane, 'grpc-xds'), podOf(application, 'frontend')];
    for (const pod of pods) {
      const volumes = listAt(pod, 'volumes').map((volume) => valueAt(volume, 'name'));
      const mounts = listAt(pod, 'containers').flatMap((one) => listAt(one, 'volumeMounts'));
      expect(mounts.map((mount) => valueAt(mount, 'name')).sort()).toEqual([...volumes].sort());
    }
    const paths = listAt(container, 'volumeMounts').map((mount) => valueAt(mount, 'mountPath'));
    for (const file of args.flatMap((arg) => /=(\/\w+)\//.exec(arg)?.[1] ?? [])) {
      expect(paths).toContain(file);
    }
  });
});

/** The object of a kind, of the control plane. */
function named(kind = '') {
  const found = controlPlane.find((object) => object.kind === kind);
  if (found === undefined) throw new Error(`no ${kind}`);
  return found;
}

describe('the Deployment of the control plane', () => {
  it('has a command line that is accepted', async () => {
    const io = new FakeIo();
    expect(await io.run('kubernetes', '--help')).toBe(0);
    const help = io.out.join('\n');
    for (const arg of args.slice(1)) expect(help).toContain(`${arg.split('=', 1).join()} <`);
    const certificates = new TestCertificates();
    const folder = mkdtempSync(join(tmpdir(), 'example-manifests-'));
    try {
      const own = certificates.authority('control-plane');
      writeFileSync(join(folder, 'tls.crt'), own.certificate);
      writeFileSync(join(folder, 'tls.key'), own.privateKey);
      const mounted = args.map((arg) => arg.replace('=/tls/', `=${folder}/`));
      // The kubeconfig, and what reads it, are looked for after the flags and their files were checked.
      expect(await io.run(...mounted, '--kubeconfig', '/nowhere')).toBe(2);
      expect(io.errors.join('\n')).toMatch(/^error: the (?:kubeconfig|package) /);
    } finally {
      certificates.close();
      rmSync(folder, { recursive: true });
    }
  });

  it('has probes of the paths and of the port that are served', () => {
    const { args: flags, ports } = container as { args: string[]; ports: { name: string }[] };
    const port = ports.find(({ name }) => name === 'probes');
    expect(flags).toContain(`--probe=0.0.0.0:${String(valueAt(port, 'containerPort'))}`);
    const pathOf = (probe: string) => valueAt(container, probe, 'httpGet', 'path');
    expect(['startupProbe', 'readinessProbe', 'livenessProbe'].map(pathOf)).toEqual([
      '/healthz',
      '/readyz',
      '/healthz',
    ]);
  });

  it('is given more time to end than it needs to move its clients', async () => {
    const io = new FakeIo();
    await io.run('kubernetes', '--help');
    const help = io.out.join(' ').replace(/\s+/g, ' ');
    const secondsOf = (flag: string) =>
      Number(new RegExp(`${flag} <seconds>[^(]*\\(default: (\\d+)\\)`).exec(help)?.[1]);
    const needed = secondsOf('--drain-delay') + secondsOf('--drain');
    expect(needed).toBeGreaterThan(0);
    const grace = valueAt(podOf(controlPlane, 'grpc-xds'), 'terminationGracePeriodSeconds');
    expect(grace).toBeGreaterThan(needed);
  });

  it('has the permissions that it needs, and writes nothing but status, events and reviews', () => {
    const rules = listAt(named('ClusterRole'), 'rules').map((rule) => ({
      groups: listAt(rule, 'apiGroups'),
      resources: listAt(rule, 'resources'),
      verbs: listAt(rule, 'verbs'),
    }));
    const may = (group: string, resource: string, verb: string) =>
      rules.some(
        ({ groups, resources, verbs }) =>
          groups.includes(group) && resources.includes(resource) && verbs.includes(verb),
      );
    for (const { group, resource } of WATCHED_RESOURCES) {
      for (const verb of ['list', 'watch']) expect(may(group, resource, verb)).toBe(true);
    }
    const writes = rules.flatMap(({ resources, verbs }) =>
      verbs
        .filter((verb) => !['get', 'list', 'watch'].includes(String(verb)))
        .map((verb) => [resources, verb]),
    );
    expect(writes).toEqual([
      [['grpcroutes/status'], 'patch'],
      [['events'], 'create'],
      [['tokenreviews'], 'create'],
    ]);
    expect(rules.flatMap(({ resources }) => resources)).not.toContain('secrets');
  });
});

describe('the application', () => {
  it('has a bootstrap that the client accepts without a warning', async () => {
    const sample = { page: 'application.yaml', line: 1, language: 'json', words: [] as string[] };
    expect(await faultsOfData({ ...sample, text: JSON.stringify(bootstrap) })).toEqual([]);
    expect(valueAt(bootstrap, 'node', 'metadata')).toEqual({ NAMESPACE: 'shop', NODE_NAME: 'n' });
  });

  it('names the Services of the control plane, and files that it mounts', () => {
    const uris = servers.map((server) => valueAt(server, 'server_uri'));
    expect(uris).toEqual(serviceNames.map((name) => `dns:///${name}:18000`));
    const [frontend] = listAt(podOf(application, 'frontend'), 'containers');
    const folders = listAt(frontend, 'volumeMounts').map((mount) => valueAt(mount, 'mountPath'));
    const files = JSON.stringify(servers).match(/"\/[^"]+(?=")/g) ?? [];
    expect(files).toHaveLength(4);
    for (const file of files) expect(folders).toContain(file.slice(1, file.lastIndexOf('/')));
  });

  it('has a token for the audience that the control plane accepts', () => {
    const token = listAt(podOf(application, 'frontend'), 'volumes').flatMap((volume) =>
      listAt(valueAt(volume, 'projected'), 'sources'),
    );
    expect(args).toContain(
      `--audience=${String(valueAt(token[0], 'serviceAccountToken', 'audience'))}`,
    );
  });
});

describe('the certificate of the control plane', () => {
  it('has the names of both Services by cert-manager', () => {
    const names = all
      .filter(({ kind }) => kind === 'Certificate')
      .flatMap(({ spec }) => listAt(spec, 'dnsNames'));
    for (const name of serviceNames) expect(names).toContain(name);
    const secrets = all.flatMap(({ spec }) => valueAt(spec, 'secretName') ?? []);
    expect(secrets).toContain('grpc-xds-tls');
  });

  it('has them by certificate.sh, and the authority is kept when it runs again', () => {
    const cwd = mkdtempSync(join(tmpdir(), 'grpc-xds-example-'));
    const run = () => execFileSync('sh', [join(EXAMPLE, 'certificate.sh')], { cwd, stdio: 'pipe' });
    const certificateOf = (name: string) => new X509Certificate(readFileSync(join(cwd, name)));
    try {
      run();
      const [authority, first] = [certificateOf('ca.crt'), certificateOf('tls.crt')];
      run();
      const certificate = certificateOf('tls.crt');
      expect(certificateOf('ca.crt').fingerprint256).toBe(authority.fingerprint256);
      expect(certificate.fingerprint256).not.toBe(first.fingerprint256);
      expect(certificate.verify(authority.publicKey)).toBe(true);
      for (const name of serviceNames) {
        const peer = certificate.toLegacyObject();
        expect(checkServerIdentity(name, peer)).toBeUndefined();
      }
    } finally {
      rmSync(cwd, { recursive: true });
    }
  });
});
