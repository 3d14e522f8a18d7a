import { Client, credentials, type ServiceError } from '@grpc/grpc-js';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { encodedSamples } from '../fuzz/samples/messages';
import type { Field } from '../../src/wire/protobuf/field-table';
import { EchoBackend } from '../support/echo-backend';
import { encodeMessage } from '../resources/decode-json';
import type { Figures, Question, ServerPorts } from './client-child';
import { fill, type Way } from './fillings';
import { HostileDeltaServer } from './hostile-delta-server';
import { CLUSTER, ENDPOINTS, HostileServer, LISTENER, ROUTES, type Answer } from './hostile-server';
import { loadMessageTypes } from './message-types';
import { PlaceFinder, type Place } from './places';
import { requests, type Request } from './requests';

const RESPONSE = 'envoy.service.discovery.v3.DiscoveryResponse';
const DELTA = 'envoy.service.discovery.v3.DeltaDiscoveryResponse';
const LOAD_STATS = 'envoy.service.load_stats.v3.LoadStatsResponse';
/** Those that routes are read from come first, so that their fields are filled there. */
const RESOURCES = [ROUTES, LISTENER, CLUSTER, ENDPOINTS];

/** What a response has around its resources, and one in a wrapper. */
const ENVELOPE = {
  version_info: '1',
  control_plane: { identifier: 'amplified' },
  resource_errors: [
    { resource_name: { name: 'other' }, error_detail: { code: 5, message: 'none' } },
  ],
  resources: [
    {
      '@type': 'type.googleapis.com/envoy.service.discovery.v3.Resource',
      name: 'other',
      resource: { '@type': `type.googleapis.com/${CLUSTER}`, name: 'other' },
    },
  ],
};

/** The same of an incremental response. What identifies it follows the filling. */
const DELTA_ENVELOPE = {
  system_version_info: '1',
  control_plane: { identifier: 'amplified' },
  resources: [
    {
      name: 'other',
      version: '1',
      aliases: ['alias'],
      ttl: '60s',
      resource: { '@type': `type.googleapis.com/${CLUSTER}`, name: 'other' },
    },
  ],
  removed_resources: ['removed'],
  removed_resource_names: [{ name: 'removed' }],
  resource_errors: ENVELOPE.resource_errors,
};

const TYPE = 'type.googleapis.com';
const EXTENSIONS = `${TYPE}/envoy.extensions`;

/** Messages that are in an Any and in no sample. */
const OVERRIDES = {
  name: 'routes',
  virtual_hosts: [
    {
      name: 'all',
      domains: ['*'],
      typed_per_filter_config: {
        composite: { '@type': `${EXTENSIONS}.common.matching.v3.ExtensionWithMatcherPerRoute` },
        session: {
          '@type': `${EXTENSIONS}.filters.http.stateful_session.v3.StatefulSessionPerRoute`,
        },
      },
    },
  ],
};
const EXTENDED_CLUSTER = {
  name: 'extended',
  upstream_config: {
    name: 'u',
    typed_config: {
      '@type': `${EXTENSIONS}.upstreams.http.v3.HttpProtocolOptions`,
      common_http_protocol_options: { idle_timeout: '60s' },
    },
  },
  load_balancing_policy: {
    policies: [
      {
        typed_extension_config: {
          name: 'p',
          typed_config: { '@type': `${TYPE}/udpa.type.v1.TypedStruct`, type_url: 'p', value: {} },
        },
      },
    ],
  },
};

/** How long a client has until a call of the good configuration succeeds again, in milliseconds. */
const RECOVERY_MS = 10_000;
const PAUSE_BETWEEN_CALLS_MS = 50;
/** How long what is not answered is waited for, in milliseconds. */
const SETTLE_MS = 500;

/** What came of filling one place in one way. */
export interface Outcome extends Figures {
  readonly place: Place;
  readonly way: Way;
  readonly bytes: number;
  /** `accepted`, `rejected: …`, `stream ended`, `read`, or a status; what must not be is in capitals. */
  readonly verdict: string;
  /** Milliseconds until a call obeyed the good configuration that follows. */
  readonly recoveryMs: number;
}

/** Every field that can be filled and delivered, and the names of those that cannot. */
export function findPlaces(): {
  readonly places: readonly Place[];
  readonly others: readonly string[];
} {
  const finder = new PlaceFinder(loadMessageTypes());
  for (const root of [...RESOURCES, LOAD_STATS]) {
    for (const sample of encodedSamples(root)) finder.add(root, sample);
  }
  finder.add(ROUTES, encodeMessage(ROUTES, OVERRIDES));
  finder.add(CLUSTER, encodeMessage(CLUSTER, EXTENDED_CLUSTER));
  finder.add(RESPONSE, encodeMessage(RESPONSE, ENVELOPE));
  finder.add(DELTA, encodeMessage(DELTA, DELTA_ENVELOPE));
  for (const [root, { sample }] of requests) finder.add(root, encodeMessage(root, sample));
  const { places, unreached } = finder.found();
  return { places, others: unreached };
}

/** A child process with the client, which is started again when it has ended. */
class ClientProcess {
  private child: ChildProcess | undefined;
  ports: ServerPorts = { admin: 0, controlPlane: 0 };

  constructor(private readonly bootstrap: object) {}

  get hasEnded(): boolean {
    return (
      this.child === undefined || this.child.exitCode !== null || this.child.signalCode !== null
    );
  }

  async start(): Promise<void> {
    this.child = fork(join(__dirname, 'client-child.ts'), [JSON.stringify(this.bootstrap)], {
      execArgv: [
        '--max-old-space-size=512',
        '--expose-gc',
        '--require',
        join(__dirname, '../support/run-typescript.cjs'),
      ],
      env: {
        ...process.env,
        GRPC_VERBOSITY: 'NONE',
        GRPC_EXPERIMENTAL_XDS_EXT_AUTHZ_ON_CLIENT: 'true',
        GRPC_XDS_NODE_ENVOY_FEATURES: 'true',
      },
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    this.ports = await this.next<ServerPorts>();
  }

  /** @returns `undefined` if the process ends instead of answering. */
  async ask<T>(question: Question): Promise<T | undefined> {
    if (this.hasEnded) return undefined;
    this.child?.send(question, () => undefined);
    return this.next<T | undefined>();
  }

  stop(): void {
    this.child?.kill('SIGKILL');
  }

  private async next<T>(): Promise<T> {
    const { child } = this;
    if (child === undefined) throw new Error('the client has not been started');
    const ended = new AbortController();
    const { signal } = ended;
    const message = once(child, 'message', { signal }).then(([value]: unknown[]) => value);
    const exit = once(child, 'exit', { signal }).then(() => undefined);
    for (const promise of [message, exit]) promise.catch(() => undefined);
    const first = await Promise.race([message, exit]);
    ended.abort();
    return first as T;
  }
}

/** A client of the incremental variant, and its server. */
interface DeltaWorld {
  readonly server: HostileDeltaServer;
  readonly client: ClientProcess;
}

/** Fills places one after the other, in clients with a heap of 512 MB and fifty calls a second each. */
export class Amplifier {
  /** Started for the first place that needs it. */
  private delta: Promise<DeltaWorld> | undefined;

  private constructor(
    private readonly backend: EchoBackend,
    private readonly server: HostileServer,
    private readonly client: ClientProcess,
  ) {}

  static async start(): Promise<Amplifier> {
    const backend = await EchoBackend.start('backend');
    const server = new HostileServer(backend.port);
    const server_uri = await server.start();
    const client = await startClient(server_uri, ['xds_v3', 'trusted_xds_server']);
    return new Amplifier(backend, server, client);
  }

  async stop(): Promise<void> {
    const delta = await this.delta;
    delta?.client.stop();
    delta?.server.stop();
    this.client.stop();
    this.server.stop();
    this.backend.stop();
  }

  /** @param size Bytes of the filling, about. */
  async run(place: Place, way: Way, size: number): Promise<Outcome> {
    const bytes = place.fill(fill(place, way, size));
    const client = place.root === DELTA ? (await this.startDelta()).client : this.client;
    await client.ask('reset');
    const sent = await this.deliver(place, bytes);
    const recoveryMs = await this.recover(place, client);
    const figures = await client.ask<Figures>('read');
    const verdict = verdictOf(sent, recoveryMs, figures);
    if (figures === undefined) await client.start();
    const none = { pauseMs: Infinity, memoryMb: Infinity, calls: 0, failed: 0, lastError: '' };
    return { place, way, bytes: bytes.length, verdict, recoveryMs, ...(figures ?? none) };
  }

  private startDelta(): Promise<DeltaWorld> {
    return (this.delta ??= startDeltaWorld(this.backend.port));
  }

  private async deliver({ root }: Place, bytes: Uint8Array): Promise<string> {
    switch (root) {
      case RESPONSE:
        return describe(await this.server.sendMore(CLUSTER, bytes));
      case DELTA:
        return describe(await (await this.startDelta()).server.sendMore(CLUSTER, bytes));
      case LOAD_STATS: {
        const isOpen = this.server.sendLoadStats(bytes);
        await sleep(SETTLE_MS);
        return isOpen ? 'read' : 'NO STREAM';
      }
    }
    const request = requests.get(root);
    return request === undefined
      ? describe(await this.server.send(root, bytes))
      : this.request(request, bytes);
  }

  /** Sends a request to the server that the client process has, and waits for the first response. */
  private request({ method, server }: Request, bytes: Uint8Array): Promise<string> {
    const client = new Client(
      `127.0.0.1:${this.client.ports[server]}`,
      credentials.createInsecure(),
      {
        'grpc.max_receive_message_length': -1,
      },
    );
    const same = (buffer: Buffer) => buffer;
    return new Promise((resolve) => {
      const done = (outcome: string) => {
        client.close();
        resolve(outcome);
      };
      const call = client.makeServerStreamRequest(method, same, same, Buffer.from(bytes));
      call.on('data', () => {
        done('answered');
        call.cancel();
      });
      call.on('end', () => done('read'));
      call.on('error', (error: ServiceError) => done(`rejected: ${error.details}`));
    });
  }

  /** Serves the good configuration again. @returns milliseconds until a call succeeded with it. */
  private async recover({ root }: Place, client: ClientProcess): Promise<number> {
    const startedMs = performance.now();
    if (root === DELTA) await (await this.startDelta()).server.sendMore(CLUSTER, new Uint8Array(0));
    else await this.server.send(RESOURCES.includes(root) ? root : CLUSTER);
    while (performance.now() - startedMs < RECOVERY_MS) {
      const answer = await client.ask<{ readonly error: string }>('call');
      if (answer === undefined) return Infinity;
      if (answer.error === '') return performance.now() - startedMs;
      await sleep(PAUSE_BETWEEN_CALLS_MS);
    }
    return Infinity;
  }
}

async function startClient(
  server_uri: string,
  server_features: readonly string[],
): Promise<ClientProcess> {
  const server = { server_uri, channel_creds: [{ type: 'insecure' }], server_features };
  const client = new ClientProcess({
    xds_servers: [server],
    node: { id: 'amplified' },
    certificate_providers: {
      mesh: { plugin_name: 'file_watcher', config: { ca_certificate_file: '/none' } },
    },
  });
  await client.start();
  return client;
}

async function startDeltaWorld(backendPort: number): Promise<DeltaWorld> {
  const server = new HostileDeltaServer(backendPort);
  const client = await startClient(await server.start(), [
    'xds_v3',
    'grpc_xds_delta',
    'trusted_xds_server',
  ]);
  return { server, client };
}

function verdictOf(sent: string, recoveryMs: number, figures: Figures | undefined): string {
  if (figures === undefined) return 'PROCESS ENDED';
  if (recoveryMs === Infinity) return `NOT RECOVERED after: ${sent}`;
  return figures.failed > 0 ? `CALLS FAILED: ${figures.lastError}` : sent;
}

function describe(answer: Answer): string {
  switch (answer.kind) {
    case 'rejected':
      return `rejected: ${answer.reason}`;
    case 'no answer':
      return 'NO ANSWER';
    default:
      return answer.kind;
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** A resource of a size in one field that is not known: what every client has to pay for. */
export function ignoredPlace(): Place {
  const cluster = encodeMessage(CLUSTER, {
    name: 'bad',
    type: 'EDS',
    eds_cluster_config: { eds_config: { ads: {} } },
  });
  const field: Field = {
    name: 'unknown',
    oneofCase: undefined,
    position: 0,
    tag: (1999 << 3) | 2,
    packedTag: undefined,
    kind: 'bytes',
    occurrence: 'single',
    type: undefined,
    initial: undefined,
  };
  return {
    name: 'a field that is not known',
    field,
    root: CLUSTER,
    path: '1999',
    element: undefined,
    fill: (content) => Buffer.concat([cluster, content]),
  };
}
