import { runChild } from '../../support/run-child';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import { TestCertificates } from '../../support/test-certificates';
import { listen } from '../../support/listen';

it('no roots are not the public ones, which are used only where none are configured', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'trusted-roots-'));
  const certificates = new TestCertificates();
  const root = certificates.authority('public');
  const { certificate, privateKey } = root.sign('server');
  writeFileSync(join(folder, 'public.pem'), root.certificate);
  const server = createServer({ cert: certificate, key: privateKey });
  await listen(server);
  try {
    const { port } = server.address() as AddressInfo;
    const { stdout } = await runChild('trusted-roots', {
      args: [String(port), folder],
      env: { NODE_EXTRA_CA_CERTS: join(folder, 'public.pem') },
    });
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
