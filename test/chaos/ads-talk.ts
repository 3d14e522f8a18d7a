import {
  DeltaDiscoveryRequest,
  DeltaDiscoveryResponse,
  DiscoveryRequest,
  DiscoveryResponse,
} from '../../src/wire/generated/envoy/service/discovery/v3/discovery';

/** A resource as the server holds it. */
export interface HeldResource {
  readonly name: string;
  readonly value: Uint8Array;
  readonly version: string;
  readonly digest: string;
}

/** What a conversation needs from the server it belongs to. */
export interface TalkHost {
  /** All resources of a type. */
  held(typeUrl: string): ReadonlyMap<string, HeldResource>;
  /** Version of everything together. */
  version(): string;
  nextNonce(): string;
  /** Bytes that each response is made larger by. */
  paddingBytes(): number;
  /** Whether a resource is kept back although it was asked for. */
  isWithheld(typeUrl: string, name: string): boolean;
  /** Resources that go with each first answer although nobody asked for them. */
  uncalledFor(typeUrl: string): readonly HeldResource[];
  /** Whether names are not taken in that are asked for in the course of a stream. */
  isDeaf(typeUrl: string): boolean;
  /** Whether nothing is read of a request that rejects something, or that answers an earlier response than the last. */
  ignoresRejections(): boolean;
  /** Whether what was rejected is sent again at once. */
  resendsRejected(): boolean;
  onRejected(): void;
  send(bytes: Uint8Array): void;
}

/** One stream's worth of protocol, in one of the two variants. */
export interface AdsTalk {
  /** Answers a request. */
  onRequest(bytes: Uint8Array): void;
  /** Sends what the client does not have. */
  push(): void;
  /** Sends everything that was asked for of a type, whether the client has it or not. */
  pushAgain(typeUrl: string): void;
}

interface TypeState {
  names: ReadonlySet<string>;
  nonce: string;
  /** By name, the digest of what was sent. */
  readonly sent: Map<string, string>;
}

/** What is referred to goes before what refers to it. */
const ORDER = ['Cluster', 'ClusterLoadAssignment', 'Listener', 'RouteConfiguration'];

function inOrder(typeUrls: Iterable<string>): readonly string[] {
  const rank = (typeUrl: string) => ORDER.indexOf(typeUrl.split('.').at(-1) ?? '');
  return [...typeUrls].sort((a, b) => rank(a) - rank(b));
}

/** What both variants have in common. */
class TypeStates {
  private readonly states = new Map<string, TypeState>();

  constructor(private readonly host: TalkHost) {}

  get typeUrls(): readonly string[] {
    return inOrder(this.states.keys());
  }

  find(typeUrl: string): TypeState | undefined {
    return this.states.get(typeUrl);
  }

  create(typeUrl: string): TypeState {
    const state: TypeState = { names: new Set(), nonce: '', sent: new Map() };
    this.states.set(typeUrl, state);
    return state;
  }

  /** What may be sent of what was asked for, and what nobody asked for. */
  wanted(typeUrl: string, { names }: TypeState): readonly HeldResource[] {
    const held = this.host.held(typeUrl);
    const wanted = [...names].flatMap((name) => {
      const resource = held.get(name);
      return resource === undefined || this.host.isWithheld(typeUrl, name) ? [] : [resource];
    });
    return [...wanted, ...this.host.uncalledFor(typeUrl)];
  }

  /** Those of them that the client does not have. */
  news(typeUrl: string, state: TypeState): readonly HeldResource[] {
    return this.wanted(typeUrl, state).filter(
      ({ name, digest }) => state.sent.get(name) !== digest,
    );
  }

  markSent(state: TypeState, resources: readonly HeldResource[]): void {
    state.nonce = this.host.nextNonce();
    for (const { name, digest } of resources) state.sent.set(name, digest);
  }
}

/** State of the world. */
export class SotwTalk implements AdsTalk {
  private readonly states: TypeStates;

  constructor(private readonly host: TalkHost) {
    this.states = new TypeStates(host);
  }

  onRequest(bytes: Uint8Array): void {
    const { typeUrl, resourceNames, responseNonce, errorDetail } = DiscoveryRequest.decode(bytes);
    const known = this.states.find(typeUrl);
    const state = known ?? this.states.create(typeUrl);
    const names = new Set(resourceNames);
    if (known === undefined) {
      state.names = names;
      this.answer(typeUrl, state);
      return;
    }
    if (errorDetail !== undefined) this.host.onRejected();
    if (responseNonce !== state.nonce) return;
    if (errorDetail !== undefined && this.host.ignoresRejections()) return;
    if (errorDetail !== undefined && this.host.resendsRejected()) this.answer(typeUrl, state);
    const isMore = [...names].some((name) => !state.names.has(name));
    if (isMore && this.host.isDeaf(typeUrl)) return;
    state.names = names;
    if (isMore) this.answer(typeUrl, state);
  }

  push(): void {
    for (const typeUrl of this.states.typeUrls) {
      const state = this.states.find(typeUrl);
      if (state && this.states.news(typeUrl, state).length > 0) this.answer(typeUrl, state);
    }
  }

  pushAgain(typeUrl: string): void {
    const state = this.states.find(typeUrl);
    if (state !== undefined) this.answer(typeUrl, state);
  }

  private answer(typeUrl: string, state: TypeState): void {
    const resources = this.states.wanted(typeUrl, state);
    this.states.markSent(state, resources);
    const response = DiscoveryResponse.fromPartial({
      versionInfo: this.host.version(),
      resources: resources.map(({ value }) => ({ typeUrl, value })),
      typeUrl,
      nonce: state.nonce,
      controlPlane: { identifier: 'x'.repeat(this.host.paddingBytes()) },
    });
    this.host.send(DiscoveryResponse.encode(response).finish());
  }
}

/** Incremental. */
export class DeltaTalk implements AdsTalk {
  private readonly states: TypeStates;

  constructor(private readonly host: TalkHost) {
    this.states = new TypeStates(host);
  }

  onRequest(bytes: Uint8Array): void {
    const request = DeltaDiscoveryRequest.decode(bytes);
    const { typeUrl, errorDetail, resourceNamesSubscribe: subscribe } = request;
    const known = this.states.find(typeUrl);
    const state = known ?? this.states.create(typeUrl);
    if (known === undefined) this.recall(state, typeUrl, request.initialResourceVersions);
    if (errorDetail !== undefined) {
      this.host.onRejected();
      if (this.host.resendsRejected()) this.pushAgain(typeUrl);
    }
    if (this.isIgnored(request, state)) return;
    const isLost = known !== undefined && this.host.isDeaf(typeUrl);
    const names = new Set([...state.names, ...(isLost ? [] : subscribe)]);
    for (const name of request.resourceNamesUnsubscribe) {
      names.delete(name);
      state.sent.delete(name);
    }
    state.names = names;
    if (known !== undefined) for (const name of isLost ? [] : subscribe) state.sent.delete(name);
    this.answer(typeUrl, state);
  }

  push(): void {
    for (const typeUrl of this.states.typeUrls) {
      const state = this.states.find(typeUrl);
      if (state !== undefined) this.answer(typeUrl, state);
    }
  }

  pushAgain(typeUrl: string): void {
    const state = this.states.find(typeUrl);
    if (state === undefined) return;
    state.sent.clear();
    this.answer(typeUrl, state);
  }

  private isIgnored(request: DeltaDiscoveryRequest, { nonce }: TypeState): boolean {
    if (!this.host.ignoresRejections()) return false;
    const { errorDetail, responseNonce } = request;
    return errorDetail !== undefined || (responseNonce !== '' && responseNonce !== nonce);
  }

  /** What the client has from an earlier stream need not be sent if it is what there is. */
  private recall(state: TypeState, typeUrl: string, versions: ReadonlyMap<string, string>): void {
    for (const [name, version] of versions) {
      const resource = this.host.held(typeUrl).get(name);
      if (resource?.version === version) state.sent.set(name, resource.digest);
    }
  }

  private answer(typeUrl: string, state: TypeState): void {
    const resources = this.states.news(typeUrl, state);
    const held = this.host.held(typeUrl);
    const removed = [...state.sent.keys()].filter(
      // A control plane that answers with other names has never had these.
      (name) => state.names.has(name) && !held.has(name),
    );
    for (const name of removed) state.sent.delete(name);
    if (resources.length === 0 && removed.length === 0) return;
    this.states.markSent(state, resources);
    const response = DeltaDiscoveryResponse.fromPartial({
      systemVersionInfo: this.host.version(),
      resources: resources.map(({ name, version, value }) => ({
        name,
        version,
        resource: { typeUrl, value },
      })),
      removedResources: removed,
      typeUrl,
      nonce: state.nonce,
      controlPlane: { identifier: 'x'.repeat(this.host.paddingBytes()) },
    });
    this.host.send(DeltaDiscoveryResponse.encode(response).finish());
  }
}
