// The process with the clients of the server: makes calls at a steady pace and counts connections.
import { Client, credentials, Metadata, status, type ChannelCredentials } from '@grpc/grpc-js';
import { createXdsChannelCredentials, register, type BootstrapConfig } from '../../../src';
import { eventually } from '../../support/eventually';
import type { Identity } from '../../../src/security/providers/certificate-provider';
import { chatMethod, probeMethod, sayMethod } from './methods';
import { answerRequests } from './remote-process';

/** The identity of a client, and the authority that it trusts. */
export interface ClientTls extends Identity {
  readonly root: string;
}

/** One client with one channel. */
export interface ClientStart {
  readonly target: string;
  /** Default: plain text, or as the cluster says if the target is of xDS. */
  readonly tls?: ClientTls | undefined;
}

/** The calls of a case. */
export interface LoadStart {
  readonly bootstrap: BootstrapConfig;
  readonly clients: readonly ClientStart[];
  /** Of all clients together. */
  readonly callsPerSecond: number;
  readonly waitForReady: boolean;
  /** Streams that stay open, each on the connection of its client at the start. */
  readonly streams: number;
}

/** How a stream ended. */
export interface StreamEnd {
  readonly code: number;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
}

export interface LoadReport {
  readonly calls: number;
  /** The messages of failed calls. */
  readonly failures: readonly string[];
  /** For each client, the connections that its calls have used. */
  readonly connections: readonly number[];
  /** For each client, the ids of the server processes that have answered its calls. */
  readonly processes: readonly (readonly number[])[];
  readonly streamEnds: readonly StreamEnd[];
}

/** A call that has not ended by then has failed. */
const DEADLINE_MS = 30_000;
/** On a machine that is too slow for the pace, more calls than that would queue up without end. */
const MAX_PENDING = 500;

class CallingClient {
  readonly connections = new Set<string>();
  readonly processes = new Set<number>();
  private readonly client: Client;

  constructor({ target, tls }: ClientStart) {
    this.client = new Client(target, credentialsOf(target, tls), {
      'grpc.use_local_subchannel_pool': 1,
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': 100,
      'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
    });
  }

  /** @returns why it failed, if it did. */
  call({ path }: { readonly path: string }, waitForReady: boolean): Promise<string | undefined> {
    const same = (bytes: Buffer) => bytes;
    const metadata = new Metadata({ waitForReady });
    const deadline = performance.timeOrigin + performance.now() + DEADLINE_MS;
    return new Promise((resolve) => {
      const onEnd = (error: Error | null, answer?: Buffer) => {
        if (error === null) this.onAnswer(String(answer));
        resolve(error?.message);
      };
      this.client.makeUnaryRequest(
        path,
        same,
        same,
        Buffer.alloc(0),
        metadata,
        { deadline },
        onEnd,
      );
    });
  }

  /** @param answer The process, and its connection. */
  private onAnswer(answer: string): void {
    this.connections.add(answer);
    this.processes.add(Number.parseInt(answer, 10));
  }

  /** Opens a stream, and waits until it echoes. */
  async openStream(onEnd: (end: StreamEnd) => void): Promise<void> {
    const { path, requestSerialize, responseDeserialize } = chatMethod;
    const call = this.client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize);
    call.on('error', () => undefined);
    call.on('status', ({ code }: { code: number }) => onEnd({ code, atMs: nowMs() }));
    await new Promise((resolve) => {
      call.once('data', resolve);
      call.once('status', resolve);
      call.write(Buffer.from('x'));
    });
  }

  close(): void {
    this.client.close();
  }
}

function credentialsOf(target: string, tls: ClientTls | undefined): ChannelCredentials {
  if (tls !== undefined) {
    const [root, key, chain] = [tls.root, tls.privateKey, tls.certificateChain];
    return credentials.createSsl(Buffer.from(root), Buffer.from(key), Buffer.from(chain));
  }
  const plain = credentials.createInsecure();
  return target.startsWith('xds:') ? createXdsChannelCredentials(plain) : plain;
}

function nowMs(): number {
  return performance.timeOrigin + performance.now();
}

/** Calls at a steady pace, by one client after another. */
class Load {
  private readonly clients: readonly CallingClient[];
  private readonly failures: string[] = [];
  private readonly streamEnds: StreamEnd[] = [];
  private timer: NodeJS.Timeout | undefined;
  private calls = 0;
  private pending = 0;

  constructor(private readonly options: LoadStart) {
    this.clients = options.clients.map((each) => new CallingClient(each));
  }

  /** Begins after a first call of each client. */
  async start(): Promise<void> {
    const { callsPerSecond, streams } = this.options;
    for (const client of this.clients) {
      const error = await client.call(sayMethod, true);
      if (error !== undefined) throw new Error(`the first call failed: ${error}`);
    }
    for (const client of this.clients.slice(0, streams)) {
      await client.openStream((end) => this.streamEnds.push(end));
    }
    let due = 0;
    let lastMs = performance.now();
    this.timer = setInterval(() => {
      const now = performance.now();
      due += ((now - lastMs) * callsPerSecond) / 1000;
      lastMs = now;
      for (; due >= 1; due--) if (this.pending < MAX_PENDING) void this.send();
    }, 5);
  }

  /** Waits for the calls that are pending, too. */
  async stop(): Promise<LoadReport> {
    clearInterval(this.timer);
    await eventually(
      () => this.pending,
      (pending) => pending === 0,
      2 * DEADLINE_MS,
    );
    const report = this.report();
    for (const client of this.clients) client.close();
    return report;
  }

  report(): LoadReport {
    const { calls, failures, streamEnds } = this;
    const connections = this.clients.map((client) => client.connections.size);
    const processes = this.clients.map((client) => [...client.processes]);
    return { calls, failures, streamEnds, connections, processes };
  }

  private async send(): Promise<void> {
    const client = this.clients[this.calls++ % this.clients.length];
    this.pending++;
    const error = await client?.call(sayMethod, this.options.waitForReady);
    this.pending--;
    if (error !== undefined) this.failures.push(error);
  }
}

let load: Load | undefined;

const requests = {
  async start(options: LoadStart): Promise<void> {
    register({ bootstrap: options.bootstrap });
    load = new Load(options);
    await load.start();
  },
  report: () => load?.report(),
  stop: () => load?.stop(),
  /** Calls on a new connection. @returns the name of the status. */
  async probe({ client, method }: { client: ClientStart; method: 'say' | 'probe' }) {
    const fresh = new CallingClient(client);
    const error = await fresh.call(method === 'say' ? sayMethod : probeMethod, false);
    fresh.close();
    if (error === undefined) return 'OK';
    return status[Number(/^\d+/.exec(error)?.[0])] ?? error;
  },
};

export type ClientRequests = typeof requests;

answerRequests(requests);
