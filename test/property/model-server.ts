import type {
  DeltaDiscoveryRequest,
  DiscoveryRequest,
  ResourceError,
} from '../../src/wire/generated/envoy/service/discovery/v3/discovery';
import type { FakeStream } from '../support/fake-transport';
import { wrap, wrapper, type TestResourceType } from '../xds-client/test-resource';
import { TYPES, type Truth, type Versioned } from './truth';

/** How one management server differs from others that also keep to the protocol. */
export interface ServerHabits {
  /** Requests that answer an older response than the last one are not looked at (state of the world). */
  readonly ignoresStaleNonces: boolean;
  /** Resources in one response at most (incremental). */
  readonly chunkSize: number;
  /** Whether `fail_on_data_errors` is set for it. */
  readonly failOnDataErrors: boolean;
  /** Whether there is something under every name at first. */
  readonly isFull: boolean;
}

/** A management server that says as little as the protocol allows, on scripted streams. */
export interface ModelServer {
  /** What clients have said that does not keep to the protocol. */
  readonly complaints: readonly string[];
  /** The names asked for on a stream, as the server understands it, sorted; each with the name of its type. */
  subscriptions(stream: FakeStream): readonly string[];
  /** Reads at most this many of the requests that have come, and says what is due. */
  serve(stream: FakeStream, atMost: number): void;
  /** Says of everything that was sent that it is still good. */
  heartbeat(stream: FakeStream): void;
  /** Sends one resource twice in one response. */
  repeat(stream: FakeStream): void;
}

const UNAVAILABLE = 14;

function resourceError(name: string, message: string): ResourceError {
  return {
    resourceName: { name },
    errorDetail: { code: UNAVAILABLE, message, details: [] },
  };
}

function ofEach<T>(states: WeakMap<FakeStream, T>, stream: FakeStream, create: () => T): T {
  const state = states.get(stream) ?? create();
  states.set(stream, state);
  return state;
}

/** What such a server remembers of one type on one stream. */
interface SotwProgress {
  names: readonly string[];
  readonly sent: Set<string>;
  version: number;
  nonce: string;
}

/**
 * State of the world: a type is sent if something of it has changed, or if a name is asked for that was not sent
 * since it last came onto the list.
 */
export class SotwModelServer implements ModelServer {
  readonly complaints: string[] = [];
  private readonly streams = new WeakMap<FakeStream, Map<TestResourceType, SotwProgress>>();
  private nonces = 0;

  constructor(
    private readonly truth: Truth,
    private readonly habits: ServerHabits,
  ) {}

  serve(stream: FakeStream, atMost: number): void {
    for (const request of stream.requests.splice(0, atMost)) this.read(stream, request);
    for (const [type, progress] of this.progressOf(stream)) {
      if (stream.isOpen) this.answer(stream, type, progress);
    }
  }

  subscriptions(stream: FakeStream): readonly string[] {
    const types = [...this.progressOf(stream)];
    return types
      .flatMap(([{ typeName }, { names }]) => names.map((name) => `${typeName} ${name}`))
      .sort();
  }

  heartbeat(stream: FakeStream): void {
    for (const [type, progress] of this.progressOf(stream)) {
      const names = [...progress.sent].filter(
        (name) => 'text' in this.truth.get(type, name).content,
      );
      if (names.length === 0 || !stream.isOpen) continue;
      stream.respond({
        typeUrl: type.typeUrl,
        versionInfo: `${progress.version}`,
        nonce: this.nextNonce(progress),
        resources: names.map((name) => wrap(name, undefined)),
      });
    }
  }

  repeat(stream: FakeStream): void {
    for (const [type, progress] of this.progressOf(stream)) {
      const present = this.present(type, progress);
      if (present.length === 0 || !stream.isOpen) continue;
      stream.respond({
        typeUrl: type.typeUrl,
        versionInfo: `${progress.version}`,
        nonce: this.nextNonce(progress),
        resources: [...present, ...present.slice(0, 1)],
      });
      // It is rejected, so that it has to be said again.
      progress.version = -1;
    }
  }

  private read(stream: FakeStream, request: DiscoveryRequest): void {
    const { typeUrl, resourceNames: names, responseNonce } = request;
    const type = TYPES.find((one) => one.typeUrl === typeUrl);
    if (type === undefined) return;
    const types = this.progressOf(stream);
    const known = types.get(type);
    if (known !== undefined && known.nonce !== responseNonce && this.habits.ignoresStaleNonces)
      return;
    if (known === undefined && names.length === 0) this.complaints.push('asks for everything');
    if (known === undefined && responseNonce !== '')
      this.complaints.push('a nonce of another stream');
    const progress = known ?? { names: [], sent: new Set<string>(), version: -1, nonce: '' };
    for (const name of progress.sent) if (!names.includes(name)) progress.sent.delete(name);
    progress.names = names;
    types.set(type, progress);
  }

  private answer(stream: FakeStream, type: TestResourceType, progress: SotwProgress): void {
    const version = this.truth.versionOf(type);
    const { names, sent } = progress;
    if (version === progress.version && names.every((name) => sent.has(name))) return;
    progress.version = version;
    for (const name of names) sent.add(name);
    stream.respond({
      typeUrl: type.typeUrl,
      versionInfo: `${version}`,
      nonce: this.nextNonce(progress),
      resources: this.present(type, progress),
      resourceErrors: names.flatMap((name) => {
        const { content } = this.truth.get(type, name);
        return content.kind === 'error' ? [resourceError(name, content.text)] : [];
      }),
    });
  }

  private present(type: TestResourceType, { names }: SotwProgress) {
    return names.flatMap((name) => {
      const { content } = this.truth.get(type, name);
      const exists = content.kind === 'valid' || content.kind === 'invalid';
      return exists ? [type.resource(name, content.text)] : [];
    });
  }

  private nextNonce(progress: SotwProgress): string {
    progress.nonce = `s${++this.nonces}`;
    return progress.nonce;
  }

  private progressOf(stream: FakeStream): Map<TestResourceType, SotwProgress> {
    return ofEach(this.streams, stream, () => new Map<TestResourceType, SotwProgress>());
  }
}

/** By name, the version that the client was sent or says to have; `undefined` if it must be told something. */
type Subscriptions = Map<string, string | undefined>;

/** Incremental: a resource is sent if it has changed, or if it is subscribed to once more. */
export class DeltaModelServer implements ModelServer {
  readonly complaints: string[] = [];
  private readonly streams = new WeakMap<FakeStream, Map<TestResourceType, Subscriptions>>();

  constructor(
    private readonly truth: Truth,
    private readonly habits: ServerHabits,
  ) {}

  serve(stream: FakeStream, atMost: number): void {
    for (const request of stream.deltaRequests.splice(0, atMost)) this.read(stream, request);
    for (const [type, subscriptions] of this.subscriptionsOf(stream)) {
      this.answer(stream, type, subscriptions);
    }
  }

  subscriptions(stream: FakeStream): readonly string[] {
    const types = [...this.subscriptionsOf(stream)];
    return types
      .flatMap(([{ typeName }, names]) => [...names.keys()].map((name) => `${typeName} ${name}`))
      .sort();
  }

  heartbeat(stream: FakeStream): void {
    for (const [type, subscriptions] of this.subscriptionsOf(stream)) {
      const sent = [...subscriptions].filter(([, version]) => version?.startsWith('v') === true);
      if (sent.length === 0 || !stream.isOpen) continue;
      const resources = sent.map(([name, version = '']) => wrapper(name, undefined, { version }));
      stream.respondDelta({ typeUrl: type.typeUrl, resources });
    }
  }

  repeat(stream: FakeStream): void {
    for (const [type, subscriptions] of this.subscriptionsOf(stream)) {
      for (const name of subscriptions.keys()) {
        const state = this.truth.get(type, name);
        if (!('text' in state.content) || state.content.kind === 'error' || !stream.isOpen)
          continue;
        const resource = type.resource(name, state.content.text);
        const sent = wrapper(name, resource, { version: deltaVersion(state) });
        stream.respondDelta({ typeUrl: type.typeUrl, resources: [sent, sent] });
        // It is rejected, so that it has to be said again.
        subscriptions.set(name, undefined);
      }
    }
  }

  private read(stream: FakeStream, request: DeltaDiscoveryRequest): void {
    const { resourceNamesSubscribe: added, resourceNamesUnsubscribe: dropped } = request;
    const type = TYPES.find(({ typeUrl }) => typeUrl === request.typeUrl);
    if (type === undefined) return;
    const types = this.subscriptionsOf(stream);
    const isFirst = !types.has(type);
    const subscriptions: Subscriptions = types.get(type) ?? new Map<string, string | undefined>();
    types.set(type, subscriptions);
    if (isFirst && added.length === 0) this.complaints.push('asks for everything');
    if (!isFirst && request.initialResourceVersions.size > 0)
      this.complaints.push('versions too late');
    for (const name of dropped) {
      if (!subscriptions.delete(name)) this.complaints.push(`unsubscribes from ${name}, unasked`);
      if (added.includes(name)) this.complaints.push(`asks for ${name} and gives it up in one`);
    }
    for (const name of added) {
      subscriptions.set(name, isFirst ? request.initialResourceVersions.get(name) : undefined);
    }
  }

  private answer(stream: FakeStream, type: TestResourceType, subscriptions: Subscriptions): void {
    const due = [...subscriptions].filter(
      ([name, sent]) => sent !== deltaVersion(this.truth.get(type, name)),
    );
    const names = due.map(([name]) => name);
    while (names.length > 0 && stream.isOpen) {
      const some = names.splice(0, this.habits.chunkSize);
      const states = some.map((name) => [name, this.truth.get(type, name)] as const);
      for (const [name, state] of states) subscriptions.set(name, deltaVersion(state));
      stream.respondDelta({
        typeUrl: type.typeUrl,
        resources: states.flatMap(([name, state]) => {
          const { content } = state;
          if (content.kind !== 'valid' && content.kind !== 'invalid') return [];
          const resource = type.resource(name, content.text);
          return [wrapper(name, resource, { version: deltaVersion(state) })];
        }),
        removedResources: states.flatMap(([name, { content }]) =>
          content.kind === 'absent' ? [name] : [],
        ),
        resourceErrors: states.flatMap(([name, { content }]) =>
          content.kind === 'error' ? [resourceError(name, content.text)] : [],
        ),
      });
    }
  }

  private subscriptionsOf(stream: FakeStream): Map<TestResourceType, Subscriptions> {
    return ofEach(this.streams, stream, () => new Map<TestResourceType, Subscriptions>());
  }
}

/** What tells one state of a resource from another on an incremental stream. */
function deltaVersion({ content, version }: Versioned): string {
  if (content.kind === 'absent') return 'absent';
  return content.kind === 'error' ? `error ${version}` : `v${version}`;
}
