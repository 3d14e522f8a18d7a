import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseBootstrap } from '../../src/bootstrap/bootstrap-parser';
import { readResourceFile } from '../../src/transport/file/read-resource-file';

const root = join(__dirname, '..', '..');
const text = readFileSync(join(root, 'docs', 'control-plane-connections.md'), 'utf8');
const examples = (language: string) =>
  [...text.matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 'gs'))].map(
    ([, example = '']) => example,
  );
const support = {
  channelCreds: new Set(['insecure', 'tls', 'acme_vault']),
  callCreds: new Set(['jwt_token_file']),
};

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

  it('shows the message that a mistake in it leads to', () => {
    const [example = ''] = examples('yaml');
    const broken = example.replace('lb_endpoints:', 'lb_endpoint:');
    const read = readResourceFile('/etc/xds/resources.yaml', Buffer.from(broken), {
      ignoreUnknownFields: false,
    });
    const [message = ''] = read.ok ? [] : read.error;
    expect(message).not.toBe('');
    expect(text).toContain(`\n${message}; the resources read before stay in use\n`);
  });

  it('is right in that files for the embedded control plane will do', () => {
    const files = readdirSync(join(root, 'examples'), { recursive: true, encoding: 'utf8' });
    const yaml = files.filter((name) => name.endsWith('.yaml'));
    expect(yaml.length).toBeGreaterThan(1);
    for (const name of yaml) {
      const path = join(root, 'examples', name);
      const read = readResourceFile(path, readFileSync(path), { ignoreUnknownFields: false });
      expect(read).toMatchObject({ ok: true });
    }
  });
});
