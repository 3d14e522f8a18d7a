import { connect as connectTcp } from 'node:net';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import { credentials } from '@grpc/grpc-js';
import { createContainedConnector } from '../../../src/security/client/contained-connector';
import { TestCertificates } from '../../support/test-certificates';
import { listen } from '../../support/listen';

describe('a connector of grpc-js', () => {
  const certificates = new TestCertificates();
  const root = certificates.authority('root');
  let server: Server;
  afterEach(() => server.close());
  afterAll(() => certificates.close());

  /** Connects to a server with these names in its certificate. @returns the server name that it received. */
  async function connect(host: string, ...names: readonly string[]): Promise<unknown> {
    const { certificateChain, privateKey } = root.sign('server', { names });
    let received: unknown;
    const options = { cert: certificateChain, key: privateKey, ALPNProtocols: ['h2'] };
    server = createServer(options, (socket: TLSSocket & { servername?: unknown }) => {
      received = socket.servername;
      socket.on('error', () => {}).destroy();
    });
    const port = await listen(server);
    const secured = credentials.createSsl(Buffer.from(root.certificate));
    const connector = createContainedConnector(
      secured,
      { scheme: 'dns', path: `${host}:${port}` },
      {},
    );
    const socket = connectTcp(port, '127.0.0.1');
    try {
      const connected = await connector.connect(socket);
      await new Promise((resolve) => connected.socket.on('error', () => {}).once('close', resolve));
      return received;
    } finally {
      socket.destroy();
    }
  }

  // RFC 6066, 3: Node.js warns of an address (DEP0123), and refuses it from version 26 on.
  it('sends the name of a server, and no address', async () => {
    expect(await connect('localhost', 'DNS:localhost')).toBe('localhost');
    server.close();
    expect(await connect('127.0.0.1', 'IP:127.0.0.1')).toBe(false);
  });

  it('verifies the certificate for the address', async () => {
    await expect(connect('127.0.0.1', 'IP:127.0.0.2', 'DNS:localhost')).rejects.toThrow(
      "IP: 127.0.0.1 is not in the cert's list",
    );
  });
});
