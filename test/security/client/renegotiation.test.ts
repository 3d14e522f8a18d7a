import { connect, type Socket } from 'node:net';
import { tlsOptions } from '../../../src/security/contexts/tls-options';
import { clientContext } from '../../../src/security/contexts/client-contexts';
import { TestCertificates } from '../../support/test-certificates';

// A server that starts renegotiation over and over would make the client compute handshake after handshake on one connection.

import tls, { createServer, type Server, type TLSSocket } from 'node:tls';
import { listen } from '../../support/listen';

const certificates = new TestCertificates();
const ca = certificates.authority('CA');
const { certificateChain: cert, privateKey: key } = ca.sign('server');
const servers: Server[] = [];
afterAll(() => {
  for (const each of servers) each.close();
  certificates.close();
});

/** Connects to a server that starts renegotiation at once. @returns whether there was a second handshake. */
async function renegotiates(options: tls.ConnectionOptions): Promise<boolean> {
  const server = createServer({ cert, key, maxVersion: 'TLSv1.2' });
  servers.push(server);
  server.on('tlsClientError', () => {});
  const asked = new Promise<TLSSocket>((resolve) => {
    server.once('secureConnection', (socket) => {
      socket.on('error', () => {});
      socket.on('data', () => {
        // With a client that refuses, nothing calls back in some versions of Node.js.
        socket.renegotiate({}, () => {});
        resolve(socket);
      });
    });
  });
  const port = await listen(server);
  const socket: Socket = connect(port, '127.0.0.1');
  const secured = tls.connect({ socket, checkServerIdentity: () => undefined, ...options });
  secured.on('error', () => {});
  await new Promise((resolve) => secured.once('secureConnect', resolve));
  const first = secured.getFinished();
  let last = first;
  const ended = new Promise((resolve) => secured.once('close', resolve));
  secured.on('data', () => (last = secured.getFinished()));
  secured.write('x');
  const serverSocket = await asked;
  // By then the client has answered.
  setTimeout(() => serverSocket.end('y'), 200);
  await ended;
  return last !== undefined && first?.equals(last) === false;
}

it('a client without the option renegotiates, so that the server of this test does start it', async () => {
  expect(await renegotiates({ ca: ca.certificate })).toBe(true);
});

it('a client of a cluster or a management server does not renegotiate', async () => {
  const roots = [ca.certificate];
  const secureContext = clientContext(roots, undefined);
  expect(await renegotiates({ secureContext })).toBe(false);
});

it('a client of a management server over HTTPS does not renegotiate', async () => {
  expect(await renegotiates({ ca: ca.certificate, ...tlsOptions() })).toBe(false);
});
