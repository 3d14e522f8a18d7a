import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { TestCertificates } from '../support/test-certificates';

const certificates = new TestCertificates();
afterAll(() => certificates.close());

it('no key and no certificate is in any trace, log line, status or CSDS answer of a process', async () => {
  const ca = certificates.authority('root');
  const server = ca.sign('server', { names: ['URI:spiffe://a.test/server'] });
  const clients = [ca.sign('client 1'), ca.sign('client 2')];
  const pem = ({ certificate, privateKey }: typeof server) => [certificate, privateKey];
  const child = spawn(
    process.execPath,
    [
      ...['--require', join(__dirname, '../support/run-typescript.cjs')],
      join(__dirname, '../e2e/children/traced-handshakes.ts'),
    ],
    { env: { ...process.env, GRPC_TRACE: 'all', GRPC_VERBOSITY: 'DEBUG' } },
  );
  let [output, errors] = ['', ''];
  child.stdout.on('data', (chunk) => (output += String(chunk)));
  child.stderr.on('data', (chunk) => (errors += String(chunk)));
  child.stdin.end(
    JSON.stringify({ ca: ca.certificate, server: pem(server), clients: clients.map(pem) }),
  );
  await once(child, 'close');
  // 1. All of it happened: calls before, between and after two rotations, and a refused server.
  expect(JSON.parse(output)).toMatchObject({
    results: ['b', 'b', 'b', expect.stringContaining('certificate check failure')],
    csds: { config: expect.any(Array) },
  });
  // 2. The traces are on, and the broken pair and the broken authorities were logged.
  expect(errors).toMatch(/subchannel /);
  expect(errors).toMatch(/cannot be used together: .*failing since/);
  expect(errors).toMatch(/ca_certificate_file .* cannot be used: .*failing since/);
  // 3. No line of any PEM file is in either.
  const all = [ca, server, ...clients].flatMap(({ certificate, privateKey }) =>
    `${certificate}${privateKey}`.split('\n').filter((line) => /^[\w+/=]{20,}$/.test(line)),
  );
  expect(all.length).toBeGreaterThan(20);
  expect(all.filter((line) => `${output}${errors}`.includes(line))).toEqual([]);
  expect(`${output}${errors}`).not.toMatch(/-----BEGIN/);
}, 120_000);
