// A process that shares its streams, and makes calls at a steady pace.
import { inspect, register, shutdown, type ShareReport } from '../../../src';
import { answerRequests } from '../../chaos/servers/remote-process';
import { EchoClient } from '../../support/echo-backend';

/** How a worker is set up. */
export interface WorkerSetup {
  readonly bootstrap: object;
  readonly target: string;
  /** Default: it does not share. */
  readonly share?: string;
}

/** What a worker has seen. */
export interface WorkerReport {
  readonly calls: number;
  readonly failures: readonly string[];
  /** The backend that answered last. */
  readonly answerer: string;
  /** Whether it is the relay. */
  readonly isServing: boolean;
  readonly lines: readonly string[];
  readonly servers: readonly { readonly serverUri: string; readonly state: string }[];
  readonly shares: readonly ShareReport[];
}

const lines: string[] = [];
const failures: string[] = [];
let calls = 0;
let answerer = '';
let client: EchoClient | undefined;
const others: EchoClient[] = [];
let timer: NodeJS.Timeout | undefined;

const requests = {
  open({ bootstrap, target, share }: WorkerSetup): Promise<string> {
    const logger = { log: ({ message }: { message: string }) => void lines.push(message) };
    register({ bootstrap: JSON.stringify(bootstrap), logger, ...(share && { share }) });
    client = new EchoClient(target);
    return client.say();
  },
  /** Begins to call. */
  call(callsPerSecond: number): void {
    timer = setInterval(() => {
      calls++;
      client?.say().then(
        (answer) => (answerer = answer),
        (error: Error) => failures.push(error.message),
      );
    }, 1000 / callsPerSecond);
  },
  say: () => client?.say(),
  /** Calls on a channel with a bootstrap of its own. */
  sayBy({ bootstrap, target }: WorkerSetup): Promise<string> {
    const added = new EchoClient(target, { 'grpc_xds.bootstrap': JSON.stringify(bootstrap) });
    others.push(added);
    return added.say();
  },
  report(): WorkerReport {
    return {
      calls,
      failures,
      answerer,
      lines,
      isServing: lines.some((line) => line.endsWith(`is served by this process (${process.pid})`)),
      shares: inspect().shares,
      servers: inspect().targets.flatMap(({ servers }) => servers),
    };
  },
  async shutDown(): Promise<void> {
    clearInterval(timer);
    await shutdown();
  },
  /** Closes everything, so that the process ends by itself. */
  close(): void {
    clearInterval(timer);
    client?.close();
  },
};

export type ShareWorker = typeof requests;

answerRequests(requests);
