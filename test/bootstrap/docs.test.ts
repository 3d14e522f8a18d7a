import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseBootstrap } from '../../src/bootstrap/bootstrap-parser';
import { CertificateProviderRegistry } from '../../src/security/providers/certificate-providers';
import { createFileWatcher } from '../../src/security/providers/file-watcher';
import { readResourceFile } from '../../src/transport/file/watched-files';

const root = join(__dirname, '..', '..');
const text = readFileSync(join(root, 'docs', 'control-plane-connections.md'), 'utf8');
const examples = (language: string, page = text) =>
  [...page.matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 'gs'))].map(
    ([, example = '']) => example,
  );
const certificateProviders = new CertificateProviderRegistry();
certificateProviders.register(createFileWatcher({ spiffeBundles: true }));
const support = {
  channelCreds: new Set(['insecure', 'tls', 'acme_vault']),
  callCreds: new Set(['jwt_token_file']),
  certificateProviders,
};

describe('docs/guides/istio.md', () => {
  const page = readFileSync(join(root, 'docs', 'guides', 'istio.md'), 'utf8');
  const [first = ''] = examples('json', page);

  it('shows the certificates that the agent of Istio writes', () => {
    const istio = parseBootstrap(JSON.parse(first), 'docs', support);
    const { certificateProviders: instances, servers } = istio.ok ? istio.value : {};
    expect(instances?.get('default')).toMatchObject({
      pluginName: 'file_watcher',
      config: { refresh_interval: '900s' },
    });
    expect(servers?.[0]?.features.has('ignore_resource_deletion')).toBe(true);
  });
});

describe('docs/control-plane-connections.md', () => {
  it.each(examples('json'))('shows a bootstrap that is valid: %s', (example) => {
    expect(parseBootstrap(JSON.parse(example), 'docs', support)).toMatchObject({ ok: true });
  });

  it('shows a file of resources that is valid', () => {
    const [example = ''] = examples('yaml');
    const options = { ignoreUnknownFields: false };
    expect(readResourceFile('x.yaml', Buffer.from(example), options)).toMatchObject({
      ok: true,
      value: { version: '7', resources: [{ name: 'echo' }, { name: 'echo' }] },
    });
  });

  it('shows the message of an error in it', () => {
    const [example = ''] = examples('yaml');
    const broken = example.replace('lb_endpoints:', 'lb_endpoint:');
    const read = readResourceFile('/etc/xds/resources.yaml', Buffer.from(broken), {
      ignoreUnknownFields: false,
    });
    const [message = ''] = read.ok ? [] : read.error;
    expect(message).not.toBe('');
    expect(text).toContain(`\n${message}; the resources read before stay in use\n`);
  });

  it('accepts files of the embedded control plane, as it claims', () => {
    const files = readdirSync(join(root, 'examples'), { recursive: true, encoding: 'utf8' });
    // Not those of the packages of an example.
    const own = files.filter((name) => !name.includes('node_modules'));
    // Nor manifests of Kubernetes.
    const isManifest = (name: string) =>
      /^apiVersion:/m.test(readFileSync(join(root, 'examples', name), 'utf8'));
    const yaml = own.filter((name) => name.endsWith('.yaml') && !isManifest(name));
    expect(yaml.length).toBeGreaterThan(1);
    for (const name of yaml) {
      const path = join(root, 'examples', name);
      const read = readResourceFile(path, readFileSync(path), { ignoreUnknownFields: false });
      expect(read).toMatchObject({ ok: true });
    }
  });
});
