// The certificates of a server of this package rotate while clients of other languages call it with mutual TLS.
import { X509Certificate } from 'node:crypto';
import { copyFileSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { meshCertificates, meshProvider, REQUIRING } from '../harness/secure-service.mjs';
import { until } from './judging.mjs';
import { Setup, targetOf } from './xds-servers.mjs';

const CLIENTS = ['go', 'java', 'python'];
const ROTATIONS = 10;
const INTERVAL_MS = 5;
/** With fewer calls than this between two rotations, it was no rotation under load. */
const CALLS_BETWEEN = 10;

const serialOf = (path) => new X509Certificate(readFileSync(path)).serialNumber;

/** Connects as a client of the mesh. @returns the serial number of the certificate that the server presents. */
const presentedBy = ({ host, port }) =>
  new Promise((resolve, reject) => {
    const { client, root } = meshCertificates();
    const [cert, key, ca] = [client.certificate, client.key, root].map((path) =>
      readFileSync(path),
    );
    const socket = connect({
      host,
      port,
      cert,
      key,
      ca,
      servername: 'server.test',
      ALPNProtocols: ['h2'],
    });
    socket.once('error', reject);
    socket.once('secureConnect', () => {
      resolve(socket.getPeerCertificate().serialNumber);
      socket.destroy();
    });
  });

/** The files of a server, which are replaced one after the other. */
class RotatingFiles {
  folder = mkdtempSync(join(tmpdir(), 'grpc-xds-rotation-'));
  certificate = join(this.folder, 'certificate.pem');
  key = join(this.folder, 'key.pem');

  put(identity) {
    for (const name of ['certificate', 'key']) {
      copyFileSync(identity[name], `${this[name]}.new`);
      renameSync(`${this[name]}.new`, this[name]);
    }
  }
}

/** Waits for enough calls since the last rotation. A machine that is busy makes them slowly. */
const untilCalled = async (client, rotation) => {
  let all = 0;
  const measure = async () => {
    const { calls, failed } = await client.ask({ do: 'measured' });
    all += calls;
    if (failed > 0) throw new Error(`${rotation}: ${failed} of ${all} calls failed`);
    return all;
  };
  await until(
    measure,
    (calls) => calls >= CALLS_BETWEEN,
    `${CALLS_BETWEEN} calls after ${rotation}`,
  );
};

const rotate = async ({ setup, files }) => {
  const { server, nextServer } = meshCertificates();
  for (let i = 0; i < ROTATIONS; i++) {
    const identity = i % 2 === 0 ? nextServer : server;
    const serial = serialOf(identity.certificate);
    files.put(identity);
    await until(
      () => presentedBy(setup.at),
      (presented) => presented === serial,
      `new connections to get the certificate ${serial}`,
    );
    await untilCalled(setup.client, `rotation ${i + 1}`);
  }
};

const runWith = async ({ peers, step }, client) => {
  const files = new RotatingFiles();
  files.put(meshCertificates().server);
  const provider = meshProvider(files);
  provider.mesh.config.refresh_interval = '1s';
  const setup = new Setup(peers, { server: 'node', client });
  try {
    await setup.start(provider);
    setup.serve({ context: REQUIRING });
    await setup.untilServed('mutual');
    const load = { do: 'probe', target: targetOf('mutual'), intervalMs: INTERVAL_MS, secure: true };
    await setup.client.ask(load);
    await step(`client ${client}: ${ROTATIONS} rotations, no call fails`, () =>
      rotate({ setup, files }),
    );
  } finally {
    await setup.stop();
    rmSync(files.folder, { recursive: true, force: true });
  }
};

export const rotationCases = [
  {
    name: 'rotation of the certificates of a server under load',
    languages: CLIENTS,
    run: async (context) => {
      for (const client of CLIENTS) await runWith(context, client);
    },
  },
];
