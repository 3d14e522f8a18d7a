// A client with a call every 20 ms to xds:///good, which says over IPC how long its event loop paused, what memory it took
// and how many calls failed; and which calls xds:///bad on request.
import {
  addAdminServicesToServer,
  credentials,
  Client,
  Server,
  ServerCredentials,
} from '@grpc/grpc-js';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { ControlPlane, Snapshot } from '../../src/control-plane';
import { register } from '../../src';
import { OrcaReporter } from '../../src/orca';
import { echoMethod } from '../support/echo-backend';

const CALL_INTERVAL_MS = 20;
const DEADLINE_MS = 10_000;
const RESOLUTION_MS = 5;

/** What the parent asks. */
export type Question = 'reset' | 'read' | 'call';

/** Where the servers in the process of the client listen. */
export interface ServerPorts {
  /** CSDS, and out-of-band load reports. */
  readonly admin: number;
  readonly controlPlane: number;
}

/** What a client answers when it is asked to read its figures. */
export interface Figures {
  readonly pauseMs: number;
  /** The most of the heap and of buffers beside it, over that at the last reset. */
  readonly memoryMb: number;
  readonly calls: number;
  readonly failed: number;
  readonly lastError: string;
}

register({ bootstrap: process.argv[2] ?? '' });

const good = new Client('xds:///good', credentials.createInsecure());
const bad = new Client('xds:///bad', credentials.createInsecure());
const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
let baseMb = 0;
let peakMb = 0;
let calls = 0;
let failed = 0;
let lastError = '';

function say(client: Client, done: (error: Error | null) => void): void {
  client.makeUnaryRequest(
    echoMethod.path,
    echoMethod.requestSerialize,
    echoMethod.responseDeserialize,
    Buffer.alloc(0),
    { deadline: Date.now() + DEADLINE_MS },
    done,
  );
}

function usedMb(): number {
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 2 ** 20;
}

function callGood(): void {
  peakMb = Math.max(peakMb, usedMb());
  say(good, (error) => {
    calls++;
    if (error === null) return;
    failed++;
    lastError = error.message;
  });
}

function reset(): void {
  globalThis.gc?.();
  baseMb = usedMb();
  peakMb = baseMb;
  [calls, failed, lastError] = [0, 0, ''];
  delay.reset();
}

function figures(): Figures {
  const pauseMs = Math.max(0, delay.max / 1e6 - RESOLUTION_MS);
  return { pauseMs, memoryMb: peakMb - baseMb, calls, failed, lastError };
}

function startAdmin(): Promise<number> {
  const server = new Server();
  addAdminServicesToServer(server);
  new OrcaReporter().addTo(server);
  return new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
      error === null ? resolve(port) : reject(error),
    );
  });
}

async function startServers(): Promise<ServerPorts> {
  const controlPlane = new ControlPlane({ snapshot: Snapshot.from({}) });
  return { admin: await startAdmin(), controlPlane: (await controlPlane.start()).port };
}

process.on('message', (question: Question) => {
  if (question === 'reset') {
    reset();
    process.send?.('reset');
  } else if (question === 'read') {
    process.send?.(figures());
  } else {
    say(bad, (error) => process.send?.({ error: error?.message ?? '' }));
  }
});
process.on('disconnect', () => process.exit());

/** Begins once both targets are resolved, so that what is sent of them later is a change. */
function begin(): void {
  delay.enable();
  setInterval(callGood, CALL_INTERVAL_MS);
  void startServers().then((ports) => process.send?.(ports));
}

say(good, (error) => {
  if (error !== null) throw error;
  say(bad, (badError) => {
    if (badError !== null) throw badError;
    begin();
  });
});
