// Secrets from a secret discovery server that are used, rotated, rejected, lost and found again, as identity and as
// authorities of trust domains. The process that starts this one has all traces on, and looks for secrets in them. Prints
// everything that shows state: CSDS, the saved snapshot, explainCall, diagnostics channels, statuses of calls, and what the
// server was sent.
import { subscribe } from 'node:diagnostics_channel';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import {
  addAdminServicesToServer,
  credentials,
  Metadata,
  Server,
  ServerCredentials,
} from '@grpc/grpc-js';
import { createXdsChannelCredentials, explainCall } from '../../../src';
import { diagnostics } from '../../../src/xds-client/diagnostics';
import { EchoBackend, EchoClient } from '../../support/echo-backend';
import { eventually } from '../../support/eventually';
import { bootstrapFor, Mesh, registerAnew, SERVICE, simpleResources } from '../../support/mesh';
import { mutualTlsSocket } from '../../support/mutual-tls';
import { identitySecret, rootsSecret, SdsServer } from '../../support/sds-server';
import { StatusClient } from '../../support/status-client';
import { edsClusterJson } from '../../support/xds-json';
import { bind } from '../../support/listen';

/** Certificates in PEM, as the other process made them. */
interface Material {
  readonly ca: string;
  readonly server: readonly [certificate: string, key: string];
  readonly clients: readonly (readonly [certificate: string, key: string])[];
}

const folder = mkdtempSync(join(tmpdir(), 'traced-secrets-'));
const snapshotPath = join(folder, 'snapshot');
const events: unknown[] = [];
for (const name of Object.keys(diagnostics)) {
  const channel = `grpc-xds:${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  subscribe(channel, (event) => void events.push({ channel, event }));
}

async function main({ ca, server, clients }: Material): Promise<void> {
  const [first, second] = clients.map(([certificateChain, privateKey]) => ({
    certificateChain,
    privateKey,
  }));
  if (first === undefined || second === undefined) throw new Error('two clients are needed');
  const mesh = await Mesh.start();
  const pair = { cert_chain: Buffer.from(server[0]), private_key: Buffer.from(server[1]) };
  const secured = ServerCredentials.createSsl(Buffer.from(ca), [pair], true);
  const backend = await EchoBackend.start('b', secured);
  mesh.serve({
    ...simpleResources([backend.port]),
    clusters: [edsClusterJson('echo', { transport_socket: mutualTlsSocket('agent') })],
  });
  const sds = new SdsServer();
  const uri = await sds.start(`unix:${join(folder, 'agent.sock')}`);
  const sds_server = { server_uri: uri, channel_creds: [{ type: 'insecure' }] };
  const certificate_providers = { agent: { plugin_name: 'sds', config: { sds_server } } };
  registerAnew({
    bootstrap: { ...bootstrapFor(mesh.address), certificate_providers },
    snapshotPath,
  });
  sds.set('default', identitySecret(first));
  sds.set('ROOTCA', rootsSecret(ca));
  const results: string[] = [await say()];
  // 1. What is rejected has parts of keys and certificates.
  const bad = [
    identitySecret({ ...first, privateKey: second.privateKey }),
    identitySecret({ ...first, privateKey: first.privateKey.slice(0, 150) }),
    identitySecret({ ...second, certificateChain: second.certificateChain.slice(0, 300) }),
    identitySecret({ certificateChain: second.privateKey, privateKey: second.certificateChain }),
    rootsSecret(ca),
  ];
  for (const [position, secret] of bad.entries()) {
    sds.set('default', secret);
    await eventually(() => sds.nacks().length > position, true);
  }
  sds.setBytes('ROOTCA', Buffer.from(`\n\u0006ROOTCA"${second.privateKey}`));
  sds.set('ROOTCA', rootsSecret(ca.slice(0, 200)));
  await eventually(() => sds.nacks().length > bad.length, true);
  results.push(await say());
  // 2. A rotation, and a server that goes away and returns.
  sds.set('default', identitySecret(second));
  sds.set('ROOTCA', rootsSecret(ca));
  sds.stop();
  await sds.start(uri);
  await eventually(() => sds.openStreams, 2);
  results.push(await say());
  process.stdout.write(
    JSON.stringify({
      results,
      nacks: sds.nacks(),
      events: inspect(events, { depth: 20, maxArrayLength: null }),
      requests: inspect(sds.requests, { depth: 20, maxArrayLength: null }),
      explained: explainCall(`xds:///${SERVICE}`, '/test.Echo/Say', new Metadata()),
      snapshot: await eventually(
        () => readFileSync(snapshotPath, 'latin1'),
        (content) => content.includes('UpstreamTlsContext'),
      ),
      csds: await fetchStatus(),
    }),
  );
  rmSync(folder, { recursive: true });
  process.exit(0);
}

/** Calls over a connection of its own, which stays open. */
function say(): Promise<string> {
  const secured = createXdsChannelCredentials(credentials.createInsecure());
  return new EchoClient(`xds:///${SERVICE}`, {}, secured).say();
}

async function fetchStatus(): Promise<unknown> {
  const admin = new Server();
  addAdminServicesToServer(admin);
  const port = await bind(admin);
  return new StatusClient(`127.0.0.1:${port}`).fetch();
}

let input = '';
process.stdin.on('data', (chunk) => (input += String(chunk)));
process.stdin.on('end', () => void main(JSON.parse(input) as Material));
