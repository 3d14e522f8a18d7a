import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import { promisify } from 'node:util';
import { TestCertificates } from '../../support/test-certificates';

it('no roots are not the public ones, which are used only where none are configured', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'trusted-roots-'));
  const certificates = new TestCertificates();
  const root = certificates.authority('public');
  const { certificate, privateKey } = root.sign('server');
  writeFileSync(join(folder, 'public.pem'), root.certificate);
  const server = createServer({ cert: certificate, key: privateKey });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const { port } = server.address() as AddressInfo;
    const child = join(__dirname, '../../e2e/children/trusted-roots.ts');
    const register = join(__dirname, '../../support/run-typescript.cjs');
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--require', register, child, String(port), folder],
      { env: { ...process.env, NODE_EXTRA_CA_CERTS: join(folder, 'public.pem') } },
    );
    expect(JSON.parse(stdout)).toEqual({
      systemRoots: true,
      noRoots: false,
      tlsWithoutFiles: true,
      tlsWithEmptyMap: false,
    });
  } finally {
    server.close();
    certificates.close();
    rmSync(folder, { recursive: true });
  }
}, 60_000);
