// The process with the xDS server.
import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { queryObjects } from 'node:v8';
import { ServerCredentials } from '@grpc/grpc-js';
import { register, type BootstrapConfig } from '../../../src';
import { XdsServer, XdsServerCredentials } from '../../../src/server';
import { ListenerSnapshot } from '../../../src/server/connections/listener-snapshot';
import { ServedChain } from '../../../src/server/connections/served-chain';
import { ServerConnection } from '../../../src/server/connections/server-connection';
import { RouteWatch } from '../../../src/server/listener/route-watch';
import { ServerRouteTable } from '../../../src/server/routes/server-route-table';
import { TlsHandshakes } from '../../../src/util/tls-handshakes';
import { chatMethod, probeMethod, sayMethod } from './methods';
import { answerRequests } from './remote-process';

/** How the server is started. */
export interface ServerStart {
  readonly address: string;
  readonly bootstrap: BootstrapConfig;
  readonly snapshotPath?: string | undefined;
  readonly drainGraceTimeMs: number;
  readonly drainJitterMs: number;
}

/** What the process holds. */
export interface ServerUsage {
  readonly heapBytes: number;
  /** Objects that are alive, by class. */
  readonly objects: Readonly<Record<string, number>>;
  /** What keeps the process from ending, by kind. */
  readonly resources: Readonly<Record<string, number>>;
}

const COUNTED = {
  ListenerSnapshot,
  ServedChain,
  ServerConnection,
  TlsHandshakes,
  RouteWatch,
  ServerRouteTable,
};

/** The number of the connection of each client, by its address: clients get the same port again some time. */
const connections = new Map<string, number>();
let lastConnection = 0;
subscribe('net.server.socket', (event) => {
  const { remoteAddress, remotePort } = (event as { socket: Socket }).socket;
  connections.set(`${remoteAddress}:${remotePort}`, ++lastConnection);
});

let server: XdsServer | undefined;
const states: string[] = [];

function start(options: ServerStart): Promise<number> {
  const { address, bootstrap, snapshotPath, drainGraceTimeMs, drainJitterMs } = options;
  register({ bootstrap, ...(snapshotPath !== undefined && { snapshotPath }) });
  server = new XdsServer({
    drainGraceTimeMs,
    drainJitterMs,
    onServingState: (_address, state) => states.push(state),
  });
  const answer = (
    call: { getPeer(): string },
    callback: (error: null, answer: Buffer) => void,
  ): void => {
    const peer = call.getPeer();
    callback(null, Buffer.from(`${process.pid} ${peer} ${connections.get(peer)}`));
  };
  const chat = (call: NodeJS.ReadWriteStream): void => void call.pipe(call);
  server.addService(
    { say: sayMethod, probe: probeMethod, chat: chatMethod },
    { say: answer, probe: answer, chat },
  );
  return bind(address);
}

function bind(address: string): Promise<number> {
  const credentials = new XdsServerCredentials(ServerCredentials.createInsecure());
  return new Promise((resolve, reject) => {
    server?.bindAsync(address, credentials, (error, port) =>
      error === null ? resolve(port) : reject(error),
    );
  });
}

function heapBytes(): number {
  global.gc?.();
  return process.memoryUsage().heapUsed;
}

function usage(): ServerUsage {
  const resources: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) resources[kind] = (resources[kind] ?? 0) + 1;
  const objects = Object.entries(COUNTED).map(([name, type]) => [name, queryObjects(type)]);
  return {
    heapBytes: heapBytes(),
    objects: Object.fromEntries(objects),
    resources,
  };
}

const requests = {
  start,
  bind,
  heapBytes,
  usage,
  states: () => states,
  shutdown: () => new Promise<void>((resolve) => server?.tryShutdown(() => resolve())),
};

export type ServerRequests = typeof requests;

answerRequests(requests);
