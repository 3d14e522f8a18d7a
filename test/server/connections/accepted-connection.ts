import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { Server, ServerCredentials, type ServerInterceptor } from '@grpc/grpc-js';
import {
  createServerCredentialsWithInterceptors,
  type ConnectionInjector,
} from '../../../src/grpc-js';
import type { AuthorizationRequest } from '../../../src/authorization/request';
import type { ListenerSnapshot } from '../../../src/server/connections/listener-snapshot';
import type { ServedChain } from '../../../src/server/connections/served-chain';
import { endsOf, ServerConnection } from '../../../src/server/connections/server-connection';
import { CallCounts } from '../../../src/server/observation/server-events';
import type { RunningClock } from '../../../src/util/running-time';
import { echoMethod } from '../../support/echo-backend';

/** The two ends of a connection that has been accepted, and is not open yet. */
export interface AcceptedConnection {
  readonly client: Socket;
  readonly socket: Socket;
  /** By a server of grpc-js that echoes. */
  serve(clock: RunningClock): ServerConnection;
  /** The requests that were judged. */
  readonly judged: readonly AuthorizationRequest[];
  stop(): void;
}

/** Connects to a port of its own. */
export async function acceptConnection(): Promise<AcceptedConnection> {
  const listening = createServer();
  await once(listening.listen(0, '127.0.0.1'), 'listening');
  const { port } = listening.address() as AddressInfo;
  const client = connect(port, '127.0.0.1').on('error', () => undefined);
  const [socket] = (await once(listening, 'connection')) as [Socket];
  const server = new Server();
  server.addService(
    { chat: { ...echoMethod, requestStream: true, responseStream: true } },
    { chat: (call: NodeJS.ReadWriteStream) => void call.pipe(call) },
  );
  const judged: AuthorizationRequest[] = [];
  const report = () => {
    throw new Error('not refused');
  };
  const logger = {
    error: (text: () => string) => {
      throw new Error(text());
    },
  };
  const serve = (clock: RunningClock) => {
    const chain = {
      environment: {
        createInjector: (interceptors: ServerInterceptor[]) =>
          server.createConnectionInjector(
            createServerCredentialsWithInterceptors(
              ServerCredentials.createInsecure(),
              interceptors,
            ),
          ),
        sessions: {
          inject(injector: ConnectionInjector, stream: Socket) {
            injector.injectConnection(stream);
            return (callback: () => void) => callback();
          },
        },
        credentials: ServerCredentials.createInsecure(),
        events: { calls: new CallCounts() },
        client: { clock, logger },
        subject: '',
      },
      judge: (request: AuthorizationRequest) => void judged.push(request),
      report,
    };
    const snapshot = { onLastCall: () => undefined };
    const ends = endsOf(socket);
    if (ends === undefined) throw new Error('the connection has closed');
    return new ServerConnection(
      socket,
      ends,
      chain as unknown as ServedChain,
      snapshot as unknown as ListenerSnapshot,
    );
  };
  const stop = () => {
    client.destroy();
    socket.destroy();
    listening.close();
    server.forceShutdown();
  };
  return { client, socket, serve, judged, stop };
}
