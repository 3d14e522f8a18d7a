import { Metadata, Server, type Client } from '@grpc/grpc-js';
import { ROUTING_CASES, type Outcome, type RoutingCase } from './routing-cases';
import { bytesCodec } from '../../support/bytes-codec';
import { bind } from '../../support/listen';

const same = (buffer: Buffer): Buffer => buffer;

/** Starts a server that answers each path of the cases with its name. @param address Default: a port of the system. */
export async function startBackend(
  name: string,
  address = '127.0.0.1:0',
): Promise<{ readonly server: Server; readonly port: number }> {
  const server = new Server();
  for (const path of new Set(ROUTING_CASES.map(({ call }) => call.path))) {
    const definition = {
      path,
      requestStream: false,
      responseStream: false,
      ...bytesCodec,
    } as const;
    server.addService(
      { call: definition },
      {
        call: (_call: unknown, callback: (error: null, answer: Buffer) => void) =>
          callback(null, Buffer.from(name)),
      },
    );
  }
  return { server, port: await bind(server, undefined, address) };
}

/** The outcome of one call: who has answered, or the status. */
export function callOnce(
  client: Client,
  { path, headers = {} }: RoutingCase['call'],
): Promise<Outcome> {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  return new Promise((resolve) => {
    const deadline = Date.now() + 25_000;
    client.makeUnaryRequest(
      path,
      same,
      same,
      Buffer.from(''),
      metadata,
      { deadline },
      (error, answer) => resolve(error === null ? String(answer) : error.code),
    );
  });
}
