import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Metadata, status, type ServiceError } from '@grpc/grpc-js';
import { createCredentials, tokenCredentials } from './application-credentials';
import { serviceName } from './case-resources';
import { CONNECTION_HEADER, METHOD_PATH } from './echo-server';
import { judgeCall, TOKEN_IN_PLAIN, type CallOutcome } from './judge-call';
import type { MatrixWorld } from './matrix-world';
import type { ProviderFiles } from './provider-files';
import type { ConnectionRecord, RecordingBackend } from './recording-backend';
import type { ClusterSettings, Expectation, Step, TlsCase } from './tls-case';

const DEADLINE_MS = 25_000;
/** How long a step may take. Only one that fails takes so long. */
const PATIENCE_MS = 15_000;
const POLL_MS = 20;
type ExpectStep = Extract<Step, { readonly do: 'expect' }>;
const same = (buffer: Buffer) => buffer;

/** One run of a case: its server, its files, its clients. */
export class Trial {
  private backend!: RecordingBackend;
  private files: ProviderFiles | undefined;
  private readonly clients = new Map<number, Client>();
  private connectionBefore: number | undefined;
  private seen = 0;
  private load: Promise<string | undefined> | undefined;
  private isOver = false;
  private restore = () => {};

  private constructor(
    private readonly world: MatrixWorld,
    private readonly row: TlsCase,
    private readonly id: string,
  ) {}

  /** Runs a case. @param id Unique. @returns what was not as expected; `undefined` if everything was. */
  static async run(world: MatrixWorld, row: TlsCase, id: string): Promise<string | undefined> {
    const trial = new Trial(world, row, id);
    try {
      return await trial.run();
    } catch (error) {
      return error instanceof Error ? String(error.stack) : String(error);
    } finally {
      trial.stop();
    }
  }

  private async run(): Promise<string | undefined> {
    const { row, world } = this;
    this.backend = await world.backend(row.server);
    this.restore = setEnvironment(row.environment ?? {}, this.backend.port);
    if (row.files !== undefined) {
      this.files = world.ownFiles(this.id, row.isMounted ?? false);
      this.files.write(row.files);
    }
    this.serve(row);
    const first = judgeCall(this.resolve(row.expected), await this.call(0));
    if (first !== undefined) return first;
    if (row.isUnderLoad === true) this.load = this.callAllTheTime();
    for (const [index, step] of (row.steps ?? []).entries()) {
      const problem = await this.take(step);
      if (problem !== undefined) return `step ${index + 1} (${step.do}): ${problem}`;
    }
    this.isOver = true;
    return this.load;
  }

  private stop(): void {
    this.isOver = true;
    this.restore();
    for (const client of this.clients.values()) client.close();
    // It is missing if it could not be started.
    (this.backend as RecordingBackend | undefined)?.stop();
  }

  private serve(settings: ClusterSettings): void {
    this.world.serve(this.id, this.id, settings, this.backend.port);
  }

  private async take(step: Step): Promise<string | undefined> {
    switch (step.do) {
      case 'expect':
        return this.expect(step);
      case 'cluster':
        this.serve(step.cluster);
        return undefined;
      case 'server':
        this.backend.configure(step.server);
        return undefined;
      case 'files':
        this.files?.write(step.files);
        return undefined;
      case 'swap':
        this.files?.swap(step.files);
        return undefined;
      case 'disconnect':
        this.backend.disconnect();
        return undefined;
    }
  }

  /** Calls until the outcome is as expected. Changes arrive when they do. */
  private async expect(step: ExpectStep): Promise<string | undefined> {
    const { service = 0, reconnect } = step;
    const expected = this.resolve(step.expected);
    const since = performance.now();
    // A call that has failed may have come before its connection: that one is not ended.
    for (let isConnected = true; ; await sleep(POLL_MS)) {
      if (isConnected && reconnect === 'disconnect') this.backend.disconnect();
      if (isConnected && reconnect === 'drain') this.backend.drain();
      const outcome = await this.call(service);
      isConnected = outcome.code === status.OK;
      const problem = judgeCall(expected, outcome);
      const isFinal = problem === TOKEN_IN_PLAIN || performance.now() - since > PATIENCE_MS;
      if (problem === undefined || isFinal) return problem;
    }
  }

  private async callAllTheTime(): Promise<string | undefined> {
    while (!this.isOver) {
      const { code, details } = await this.send(0);
      if (code !== status.OK) return `a call under load failed with status ${code}: ${details}`;
      await sleep(1);
    }
    return undefined;
  }

  private async call(service: number): Promise<CallOutcome> {
    const { connections } = this.backend;
    for (const record of connections) record.calls = 0;
    const { seen, connectionBefore } = this;
    const { code, details, connection } = await this.send(service);
    this.seen = connections.length;
    this.connectionBefore = connection ?? connectionBefore;
    const records = connections.filter((record, index) => index >= seen || record.calls > 0);
    return { code, details, connection, connectionBefore, records: records.map(copyOf) };
  }

  private send(
    service: number,
  ): Promise<{ readonly code: status; readonly details: string; readonly connection?: number }> {
    const { token } = this.row;
    const client = this.clientOf(service);
    return new Promise((resolve) => {
      let connection: number | undefined;
      const call = client.makeUnaryRequest(
        METHOD_PATH,
        same,
        same,
        Buffer.alloc(0),
        new Metadata(),
        {
          deadline: Date.now() + DEADLINE_MS,
          ...(token === 'call' && { credentials: tokenCredentials() }),
        },
        (error: ServiceError | null) => {
          const { code = status.OK, details = '' } = error ?? {};
          resolve({ code, details, ...(connection !== undefined && { connection }) });
        },
      );
      call.on('metadata', (headers: Metadata) => {
        connection = Number(headers.get(CONNECTION_HEADER)[0]);
      });
    });
  }

  private clientOf(service: number): Client {
    const existing = this.clients.get(service);
    if (existing !== undefined) return existing;
    const { row, world } = this;
    const channelCredentials = createCredentials(
      world.certificates,
      row.credentials ?? 'xds+insecure',
      row.token,
    );
    const own = row.files && this.files?.bootstrap(row.files);
    const bootstrap = world.bootstrap(this.id, own);
    const target = `xds:///${serviceName(this.id, service)}`;
    const client = new Client(target, channelCredentials, {
      'grpc_xds.bootstrap': bootstrap,
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': 200,
    });
    this.clients.set(service, client);
    return client;
  }

  /** Replaces the name of the target in an expectation. */
  private resolve(expected: Expectation): Expectation {
    if (expected.kind !== 'tls' || expected.serverName !== '{target}') return expected;
    return { ...expected, serverName: serviceName(this.id) };
  }
}

function copyOf(record: ConnectionRecord): ConnectionRecord {
  return { ...record };
}

/** Sets variables of the process. @returns what restores them. */
function setEnvironment(variables: Readonly<Record<string, string>>, port: number): () => void {
  const before = Object.keys(variables).map((name) => [name, process.env[name]] as const);
  for (const [name, value] of Object.entries(variables)) {
    process.env[name] = value.replaceAll('{port}', String(port));
  }
  return () => {
    for (const [name, value] of before) {
      if (value === undefined) Reflect.deleteProperty(process.env, name);
      else process.env[name] = value;
    }
  };
}
