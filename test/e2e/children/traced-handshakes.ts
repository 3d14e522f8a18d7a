// Handshakes that succeed and fail, with certificates that rotate and are broken in between. The process that starts this one
// has all traces on, and looks for secrets in them. Prints what CSDS and channelz show, and the results of the calls.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  addAdminServicesToServer,
  CallCredentials,
  Client,
  credentials,
  getChannelzServiceDefinition,
  Metadata,
  Server,
  ServerCredentials,
  setLogger,
} from '@grpc/grpc-js';
import { createXdsChannelCredentials } from '../../../src';
import { EchoBackend, EchoClient } from '../../support/echo-backend';
import { eventually } from '../../support/eventually';
import { bootstrapFor, Mesh, registerAnew, SERVICE, simpleResources } from '../../support/mesh';
import { StatusClient } from '../../support/status-client';
import { edsClusterJson } from '../../support/xds-json';
import { bind } from '../../support/listen';
import { mutualTlsSocket } from '../../support/mutual-tls';

/** Certificates in PEM, as the other process made them, and a token. */
interface Material {
  readonly token: string;
  readonly ca: string;
  readonly server: readonly [certificate: string, key: string];
  readonly clients: readonly (readonly [certificate: string, key: string])[];
}

async function main({ ca, server, clients, token }: Material): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'traced-handshakes-'));
  const path = (name: string) => join(folder, name);
  const write = (name: string, text = '') => writeFileSync(path(name), text);
  const [first, second] = clients;
  write('ca.pem', ca);
  write('cert.pem', first?.[0]);
  write('key.pem', first?.[1]);
  const mesh = await Mesh.start();
  const pair = { cert_chain: Buffer.from(server[0]), private_key: Buffer.from(server[1]) };
  const backend = await EchoBackend.start(
    'b',
    ServerCredentials.createSsl(Buffer.from(ca), [pair], true),
  );
  serve(mesh, backend.port, 'spiffe://a.test/server');
  registerAnew({
    bootstrap: {
      ...bootstrapFor(mesh.address),
      certificate_providers: {
        mesh: {
          plugin_name: 'file_watcher',
          config: {
            certificate_file: path('cert.pem'),
            private_key_file: path('key.pem'),
            ca_certificate_file: path('ca.pem'),
            refresh_interval: '1s',
          },
        },
      },
    },
  });
  const bearer = CallCredentials.createFromMetadataGenerator((_options, callback) => {
    const metadata = new Metadata();
    metadata.set('authorization', `Bearer ${token}`);
    callback(null, metadata);
  });
  const connect = () => {
    const secured = createXdsChannelCredentials(credentials.createInsecure());
    return new EchoClient(`xds:///${SERVICE}`, {}, secured.compose(bearer));
  };
  const results: string[] = [await connect().say()];
  write('key.pem', second?.[1]);
  write('ca.pem', ca.slice(0, 100));
  await eventually(() => logged.length >= 2, true);
  results.push(await connect().say());
  write('cert.pem', second?.[0]);
  write('ca.pem', ca);
  results.push(await connect().say());
  serve(mesh, backend.port, 'spiffe://a.test/other');
  const refused = connect();
  const refusal = await eventually(
    () => refused.say().catch((error: Error) => error.message),
    (text) => text !== 'b',
  );
  results.push(refusal);
  process.stdout.write(JSON.stringify({ results, ...(await fetchStatus()) }));
  rmSync(folder, { recursive: true });
  process.exit(0);
}

function serve(mesh: Mesh, port: number, exact: string): void {
  const transport_socket = mutualTlsSocket('mesh', { match_subject_alt_names: [{ exact }] });
  mesh.serve({
    ...simpleResources([port]),
    clusters: [edsClusterJson('echo', { transport_socket })],
  });
}

async function fetchStatus(): Promise<object> {
  const admin = new Server();
  addAdminServicesToServer(admin);
  const port = await bind(admin);
  const address = `127.0.0.1:${port}`;
  return { csds: await new StatusClient(address).fetch(), channelz: await fetchSockets(address) };
}

/** The connections of all subchannels, as the bytes of the answers in base64. */
async function fetchSockets(address: string): Promise<readonly string[]> {
  const { GetSubchannel, GetSocket } = getChannelzServiceDefinition();
  const client = new Client(address, credentials.createInsecure());
  const ask = (method: typeof GetSubchannel | typeof GetSocket, request: object) =>
    new Promise<{ readonly value: ChannelzAnswer; readonly bytes: Buffer } | undefined>(
      (resolve) => {
        const { path, requestSerialize, responseDeserialize } = method;
        const decode = (bytes: Buffer) => ({
          bytes,
          value: responseDeserialize(bytes) as ChannelzAnswer,
        });
        client.makeUnaryRequest(path, requestSerialize, decode, request, (_error, answer) =>
          resolve(answer),
        );
      },
    );
  const answers: string[] = [];
  for (let id = 1; id < 200; id++) {
    const subchannel = await ask(GetSubchannel, { subchannel_id: id });
    for (const { socket_id } of subchannel?.value.subchannel?.socket_ref ?? []) {
      const socket = await ask(GetSocket, { socket_id });
      if (socket !== undefined) answers.push(socket.bytes.toString('base64'));
    }
  }
  client.close();
  return answers;
}

/** The part of the answers of channelz that leads to connections. */
interface ChannelzAnswer {
  readonly subchannel?: { readonly socket_ref: readonly { readonly socket_id: number }[] };
}

/** Lines of the log about files that cannot be used. */
const logged: string[] = [];
setLogger({
  error(line: string) {
    if (line.includes('failing since')) logged.push(line);
    process.stderr.write(`${line}\n`);
  },
});

let input = '';
process.stdin.on('data', (chunk) => (input += String(chunk)));
process.stdin.on('end', () => void main(JSON.parse(input) as Material));
