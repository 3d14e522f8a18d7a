import { spawn } from 'node:child_process';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { TestCertificates } from '../../support/test-certificates';

const certificates = new TestCertificates();
const ca = certificates.authority('root');
const server = ca.sign('server', { names: ['URI:spiffe://a.test/server'] });
const clients = [ca.sign('client 1'), ca.sign('client 2')];
const TOKEN = 'token-0123456789-abcdefghij';
afterAll(() => certificates.close());

/** Runs a program with all traces on, which is given the certificates and a token. */
async function run(name: string): Promise<{ readonly output: string; readonly errors: string }> {
  const pem = ({ certificate, privateKey }: typeof server) => [certificate, privateKey];
  const child = spawn(
    process.execPath,
    [
      '--require',
      join(__dirname, '../../support/run-typescript.cjs'),
      join(__dirname, '../../e2e/children', name),
    ],
    { env: { ...process.env, GRPC_TRACE: 'all', GRPC_VERBOSITY: 'DEBUG' } },
  );
  let [output, errors] = ['', ''];
  child.stdout.on('data', (chunk) => (output += String(chunk)));
  child.stderr.on('data', (chunk) => (errors += String(chunk)));
  child.stdin.end(
    JSON.stringify({
      token: TOKEN,
      ca: ca.certificate,
      server: pem(server),
      clients: clients.map(pem),
    }),
  );
  await once(child, 'close');
  return { output, errors };
}

const BEGIN = Buffer.from('-----BEGIN');

/** The beginning of PEM in every form in which bytes are printed: text, decimal, hexadecimal and base64. */
const BEGINNINGS = [
  BEGIN.toString(),
  BEGIN.join(),
  BEGIN.join(', '),
  BEGIN.toString('hex'),
  Array.from(BEGIN, (byte) => byte.toString(16)).join(' '),
  // What is before it decides which of three texts it is.
  ...[0, 1, 2].map((before) =>
    Buffer.concat([Buffer.alloc(before), BEGIN])
      .toString('base64')
      .slice(4, 12),
  ),
];

/** Returns what must not be in the text, and is. */
function secretsIn(text: string): readonly string[] {
  // No line of any PEM file is in it.
  const lines = [ca, server, ...clients].flatMap(({ certificate, privateKey }) =>
    `${certificate}${privateKey}`.split('\n').filter((line) => /^[\w+/=]{20,}$/.test(line)),
  );
  expect(lines.length).toBeGreaterThan(20);
  return [...lines, ...BEGINNINGS].filter((secret) => text.includes(secret));
}

it('no key, no token and no certificate in PEM is in any trace, log line, status, CSDS or channelz answer of a process', async () => {
  const { output, errors } = await run('traced-handshakes.ts');
  // 1. All of it happened: calls before, between and after two rotations, and a refused server.
  expect(JSON.parse(output)).toMatchObject({
    results: ['b', 'b', 'b', expect.stringContaining('certificate check failure')],
    csds: { config: expect.any(Array) },
  });
  const { channelz, ...rest } = JSON.parse(output) as { readonly channelz: readonly string[] };
  const shown = JSON.stringify(rest) + errors;
  // 2. The traces are on, and the broken pair and the broken authorities were logged.
  expect(errors).toMatch(/subchannel /);
  expect(errors).toMatch(/cannot be used together: .*failing since/);
  expect(errors).toMatch(/ca_certificate_file .* cannot be used: .*failing since/);
  // 3. None of it shows a secret.
  expect(secretsIn(shown)).toEqual([]);
  // The server of the test is in the same process: grpc-js traces what headers a server has received.
  const ofClients = shown.split('\n').filter((line) => !line.includes('| server_call |'));
  expect(ofClients.filter((line) => line.includes(TOKEN))).toEqual([]);
  // 4. Channelz has the certificates of connections, as it is meant to, and no key.
  const sockets = Buffer.concat(channelz.map((text) => Buffer.from(text, 'base64')));
  expect(sockets.includes(new X509Certificate(server.certificate).raw)).toBe(true);
  expect(sockets.includes(TOKEN)).toBe(false);
  for (const { privateKey } of [ca, server, ...clients]) {
    const { d = '' } = createPrivateKey(privateKey).export({ format: 'jwk' });
    expect(sockets.includes(Buffer.from(d, 'base64url'))).toBe(false);
    expect(sockets.includes(privateKey)).toBe(false);
  }
}, 120_000);

it('no part of a secret from a secret discovery server is in anything that a process shows or saves', async () => {
  const { output, errors } = await run('traced-secrets.ts');
  // 1. All of it happened: calls with the first secrets, after each kind of rejection, and after a rotation.
  expect(JSON.parse(output)).toMatchObject({
    results: ['b', 'b', 'b'],
    nacks: expect.arrayContaining([
      expect.stringContaining('key values mismatch'),
      expect.stringContaining('malformed message'),
      expect.stringContaining('no certificate in PEM found'),
      expect.stringContaining('must be tls_certificate, not validation_context'),
    ]),
    events: expect.stringContaining('resource-nacked'),
    explained: { routes: expect.any(Array) },
    snapshot: expect.stringContaining('UpstreamTlsContext'),
    csds: { config: expect.any(Array) },
  });
  // 2. The traces are on, and show the streams.
  expect(errors).toMatch(/SecretDiscoveryService\/StreamSecrets/);
  expect(errors).toMatch(/rejected \(NACK\): .*what was read before stays in use/);
  // 3. Where resources are listed, secrets are not.
  const { csds, snapshot } = JSON.parse(output) as { csds: unknown; snapshot: string };
  for (const shown of [JSON.stringify(csds), snapshot])
    expect(shown).not.toMatch(/ROOTCA|tls\.v3\.Secret/);
  // 4. None of it shows a secret.
  expect(secretsIn(`${output}${errors}`)).toEqual([]);
}, 120_000);
