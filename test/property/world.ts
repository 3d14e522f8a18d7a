import type { Handle } from '../../src/util/handle';
import type { Result } from '../../src/util/result';
import type { ResourceSnapshot } from '../../src/xds-client/client-snapshot';
import type { ResourceWatcher, WatchError } from '../../src/xds-client/resource-watcher';
import { XdsClient } from '../../src/xds-client/xds-client';
import { FakeClock } from '../support/fake-clock';
import { FakeNetwork, type FakeStream } from '../support/fake-transport';
import type { TestResourceType, TestValue } from '../xds-client/test-resource';
import {
  DeltaModelServer,
  SotwModelServer,
  type ModelServer,
  type ServerHabits,
} from './model-server';
import type { Step, Target } from './steps';
import { NAMES, TYPES, type Truth } from './truth';

const SERVER = 'xds.test:1';

interface Watching extends Target {
  /** The value last told. */
  value: string | undefined;
  readonly handle: Handle;
}

/** What a client has of one watched resource, in words that can be compared. */
export interface Cached {
  readonly status: ResourceSnapshot['status'];
  readonly value: string | undefined;
}

/** One client of one variant and its server. */
export class World {
  readonly problems: string[] = [];
  private readonly clock = new FakeClock();
  private readonly network = new FakeNetwork(this.clock);
  private readonly client: XdsClient;
  private readonly server: ModelServer;
  private readonly watches: Watching[] = [];

  constructor(
    readonly variant: 'sotw' | 'delta',
    private readonly truth: Truth,
    private readonly habits: ServerHabits,
  ) {
    this.server =
      variant === 'delta'
        ? new DeltaModelServer(truth, habits)
        : new SotwModelServer(truth, habits);
    this.client = createClient(this.clock, this.network, {
      features: [
        ...(variant === 'delta' ? ['grpc_xds_delta'] : []),
        ...(habits.failOnDataErrors ? ['fail_on_data_errors'] : []),
      ],
      onError: (text) => {
        if (text.startsWith('unexpected error')) this.complain(text);
      },
    });
  }

  /** Lets a step happen, except for what it does to the truth. */
  play(step: Step): void {
    switch (step.kind) {
      case 'watch':
        this.watch(step);
        break;
      case 'release':
        this.release(step);
        break;
      case 'exchange':
        this.client.run(() => {
          for (const target of step.released) this.release(target);
          for (const target of step.watched) this.watch(target);
        });
        break;
      case 'set':
      case 'touch':
        break;
      case 'reachable':
        this.network.server(SERVER).isReachable = step.isReachable;
        if (step.isReachable) this.onStream((stream) => stream.confirmSent());
        break;
      case 'wait':
        this.clock.advance(step.ms);
        break;
      case 'disconnect':
        if (this.stream?.isOpen === true) this.stream.end();
        break;
      case 'serve':
        this.onStream((stream) => this.server.serve(stream, step.atMost));
        break;
      default:
        this.onStream((stream) => this.say(stream, step.kind));
    }
    this.clock.flush();
  }

  /** Lets the network and the server be well for long enough. */
  settle(): void {
    const server = this.network.server(SERVER);
    server.isReachable = true;
    for (let round = 0; round < 400 && this.watches.length > 0; round++) {
      this.serveAll();
      if (this.stream?.isOpen === true) break;
      this.clock.advance(500);
    }
    // Rejections are held back for a while.
    for (let round = 0; round < 6; round++) {
      this.clock.advance(1000);
      this.serveAll();
    }
    const { length } = server.streams;
    for (let round = 0; round < 10; round++) {
      this.clock.advance(4000);
      this.serveAll();
    }
    // A server that has not read of a name being given up does not see it come back, while a rejection is held back.
    if (server.streams.length > length && !this.habits.ignoresStaleNonces && !this.lacksPart()) {
      this.complain('asked again although everything was answered');
    }
  }

  /** What the client has, by type and name. */
  cache(): ReadonlyMap<string, Cached> {
    const { resources } = this.client.snapshot();
    return new Map(
      resources.map(({ typeUrl, name, status, accepted }) => {
        const value =
          accepted &&
          Buffer.from(accepted.bytes)
            .toString()
            .slice(name.length + 1);
        return [`${typeUrl.slice(typeUrl.lastIndexOf('.') + 1)} ${name}`, { status, value }];
      }),
    );
  }

  /** The watched resources, each once. */
  watched(): ReadonlyMap<string, Target> {
    return new Map(this.watches.map((watch) => [describeTarget(watch), watch]));
  }

  /** Compares what watchers were told, and what the server believes is wanted, with what the client has. */
  check(): void {
    const cache = this.cache();
    for (const watch of this.watches) {
      const key = describeTarget(watch);
      const { value } = cache.get(key) ?? {};
      if (watch.value !== value) {
        this.complain(`${key}: a watcher was told ${watch.value}, the cache has ${value}`);
      }
    }
    const watched = [...this.watched().keys()].sort().join();
    const cached = [...cache.keys()].sort().join();
    if (cached !== watched) this.complain(`cached: ${cached}, watched: ${watched}`);
    const asked = this.stream?.isOpen === true ? this.server.subscriptions(this.stream).join() : '';
    if (asked !== watched) this.complain(`the server believes in ${asked}, watched: ${watched}`);
  }

  /** Ends the client, of which nothing must be left. */
  close(): void {
    this.client.close();
    this.clock.flush();
    const { pendingTimers } = this.clock;
    const { openConnections } = this.network;
    if (pendingTimers > 0) this.complain(`${pendingTimers} timers are left`);
    if (openConnections > 0) this.complain(`${openConnections} connections are left`);
    for (const complaint of this.server.complaints) this.complain(`the client ${complaint}`);
  }

  private complain(text: string): void {
    this.problems.push(`${this.variant}: ${text}`);
  }

  private say(stream: FakeStream, kind: 'garbage' | 'stranger' | 'heartbeat' | 'repeat'): void {
    switch (kind) {
      case 'garbage':
        stream.respondBytes(Buffer.from([0x0a, 0x7f]));
        break;
      case 'stranger':
        if (stream.isDelta) stream.respondDelta({ typeUrl: 'type.googleapis.com/test.Stranger' });
        else stream.respond({ typeUrl: 'type.googleapis.com/test.Stranger' });
        break;
      case 'heartbeat':
        this.server.heartbeat(stream);
        break;
      case 'repeat':
        this.server.repeat(stream);
        break;
    }
  }

  private watch(target: Target): void {
    const { type, name } = resolveTarget(target);
    const watch: { value: string | undefined } & Target = {
      type: target.type,
      name: target.name,
      value: undefined,
    };
    const watcher: ResourceWatcher<TestValue> = {
      onResourceChanged: (update: Result<TestValue, WatchError>) => {
        watch.value = update.ok ? update.value.text : undefined;
        const { value } = watch;
        if (value !== undefined && !this.truth.everHad(type, name, value)) {
          this.complain(`${describeTarget(target)}: told "${value}", which there never was`);
        }
      },
      onAmbientError: () => undefined,
    };
    const handle = this.client.watch(type, name, watcher);
    this.watches.push(Object.assign(watch, { handle }));
  }

  private release({ type, name }: Target): void {
    const index = this.watches.findIndex((watch) => watch.type === type && watch.name === name);
    if (index === -1) return;
    for (const { handle } of this.watches.splice(index, 1)) handle.release();
  }

  private serveAll(): void {
    for (let turn = 0; turn < 4; turn++) {
      this.onStream((stream) => stream.confirmSent());
      this.clock.flush();
      this.onStream((stream) => this.server.serve(stream, 100));
      this.clock.flush();
    }
  }

  /** Whether something is missing of which the server has no way to say so. */
  private lacksPart(): boolean {
    return this.watches.some((target) => {
      const { type, name } = resolveTarget(target);
      const isAbsent = this.truth.get(type, name).content.kind === 'absent';
      return isAbsent && !type.allResourcesRequiredInSotw && this.variant === 'sotw';
    });
  }

  private get stream(): FakeStream | undefined {
    return this.network.server(SERVER).streams.at(-1);
  }

  /** While the server cannot be reached, nothing gets to it or from it. */
  private onStream(use: (stream: FakeStream) => void): void {
    const { stream } = this;
    if (stream?.isOpen === true && this.network.server(SERVER).isReachable) use(stream);
  }
}

/** The type and the name that a target stands for. */
export function resolveTarget(target: Target): {
  readonly type: TestResourceType;
  readonly name: string;
} {
  const type = TYPES[target.type];
  const name = NAMES[target.name];
  if (type === undefined || name === undefined) throw new Error('no such target');
  return { type, name };
}

function describeTarget(target: Target): string {
  const { type, name } = resolveTarget(target);
  return `${type.typeName} ${name}`;
}

interface ClientOptions {
  readonly features: readonly string[];
  readonly onError: (text: string) => void;
}

function createClient(
  clock: FakeClock,
  network: FakeNetwork,
  { features, onError }: ClientOptions,
): XdsClient {
  const server = {
    serverUri: SERVER,
    channelCreds: { type: 'insecure', config: undefined },
    callCreds: [],
    features: new Set(features),
    key: SERVER,
  };
  return new XdsClient({
    bootstrap: {
      source: 'bootstrap.json',
      servers: [server],
      node: { id: 'node-1', cluster: '', locality: undefined, metadata: undefined },
      authorities: new Map(),
      clientDefaultListenerResourceNameTemplate: '%s',
      certificateProviders: new Map(),
    },
    transportFactory: network,
    clock,
    random: () => 0.5,
    logger: {
      trace: (_, text) => void text(),
      info: (text) => void text(),
      error: (text) => onError(text()),
    },
    userAgent: { name: 'test-agent', version: '1.2.3' },
    dataErrorHandling: true,
  });
}
