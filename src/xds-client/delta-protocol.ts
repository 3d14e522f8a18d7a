import type { Node } from '../generated/envoy/config/core/v3/base';
import {
  DeltaDiscoveryRequest,
  DeltaDiscoveryResponse,
} from '../generated/envoy/service/discovery/v3/discovery';
import { errorMessage } from '../util/error-message';
import { err, ok, type Result } from '../util/result';
import {
  errorDetail,
  type AdsConversation,
  type AdsProtocol,
  type AdsResponse,
  type NextRequest,
  type RequestSource,
} from './ads-protocol';
import { itemFromWrapper } from './response-items';

/** What is to be said about a response. */
interface Answer {
  readonly nonce: string;
  /** `undefined` to acknowledge it. */
  readonly rejection: string | undefined;
}

/** How far one type has come on this stream. */
interface TypeProgress {
  /** What the server believes is wanted. */
  readonly asked: Set<string>;
  /** There was a request. */
  hasAsked: boolean;
  /** Names to ask for, or to ask for again. */
  readonly toSubscribe: Set<string>;
  /** Names to give up. */
  readonly toUnsubscribe: Set<string>;
  /** One for each response, oldest first: each of them is about other resources. */
  readonly answers: Answer[];
  /** The newest rejection that has to wait; those before it say the same or are outdated. */
  held: Answer | undefined;
}

/**
 * The incremental variant: requests say what is wanted or no longer wanted from now on, and responses have
 * what has changed. What a server believes that we have is a matter of the stream, and a new stream begins
 * by telling it.
 */
export class DeltaProtocol implements AdsProtocol {
  readonly isDelta = true;
  readonly verb = 'Delta';

  /** What we have must not be told, so that everything is sent. */
  private hidesVersions = false;

  constructor(
    private readonly source: RequestSource,
    private readonly node: Node,
  ) {}

  /** See `AdsProtocol`. */
  begin(): AdsConversation {
    return new DeltaConversation(
      this.source,
      this.node,
      (typeUrl) => (this.hidesVersions ? new Map<string, string>() : this.heldVersions(typeUrl)),
      () => {
        this.hidesVersions = false;
      },
    );
  }

  /** See `AdsProtocol`. A server that was told that we have everything would say nothing. */
  forgetVersions(): void {
    this.hidesVersions = true;
  }

  private heldVersions(typeUrl: string): Map<string, string> {
    const versions = new Map<string, string>();
    for (const [name, { heldVersion }] of this.source.resources(typeUrl)) {
      if (heldVersion !== undefined) versions.set(name, heldVersion);
    }
    return versions;
  }
}

class DeltaConversation implements AdsConversation {
  private readonly types = new Map<string, TypeProgress>();
  /** Types about which something may have to be said, so that it need not be looked for. */
  private readonly due = new Set<string>();
  private nodeSent = false;

  constructor(
    private readonly source: RequestSource,
    private readonly node: Node,
    /** By name, the versions of a type to send with its first request. */
    private readonly heldVersions: (typeUrl: string) => Map<string, string>,
    private readonly onAnswered: () => void,
  ) {}

  addType(typeUrl: string): void {
    for (const name of this.source.resources(typeUrl).keys()) this.addName(typeUrl, name);
  }

  addName(typeUrl: string, name: string): void {
    const progress = this.progressOf(typeUrl);
    // A name given up and wanted again has lost its value. Asking for it once more is enough to have it
    // sent again, even if the server never learns that it was given up.
    progress.toUnsubscribe.delete(name);
    progress.toSubscribe.add(name);
    this.due.add(typeUrl);
  }

  dropName(typeUrl: string, name: string): void {
    const progress = this.progressOf(typeUrl);
    progress.toSubscribe.delete(name);
    if (!progress.asked.has(name)) return;
    progress.toUnsubscribe.add(name);
    this.due.add(typeUrl);
  }

  /** Names go out in requests without a nonce, which no response makes outdated. */
  confirmName(): void {}

  read(bytes: Uint8Array): Result<AdsResponse, string> {
    let response: DeltaDiscoveryResponse;
    try {
      response = DeltaDiscoveryResponse.decode(bytes);
    } catch (error) {
      return err(`sent a response that cannot be decoded: ${errorMessage(error)}`);
    }
    const { typeUrl, nonce, systemVersionInfo: version, resourceErrors: errors } = response;
    const items = response.resources.map(itemFromWrapper);
    const named = response.removedResourceNames.map(({ name }) => name);
    const removed = [...response.removedResources, ...named];
    const isRequested = this.types.get(typeUrl)?.hasAsked ?? false;
    const controlPlane = response.controlPlane?.identifier;
    const rest = { items, removed, errors, controlPlane, isComplete: false };
    return ok({ typeUrl, isRequested, nonce, version, ...rest });
  }

  answer({ typeUrl, nonce }: AdsResponse, rejection: string | undefined, isHeld = false): void {
    this.onAnswered();
    const progress = this.progressOf(typeUrl);
    if (isHeld) {
      progress.held = { nonce, rejection };
      return;
    }
    progress.answers.push({ nonce, rejection });
    this.due.add(typeUrl);
  }

  release(typeUrl: string): void {
    const progress = this.progressOf(typeUrl);
    if (progress.held === undefined) return;
    progress.answers.push(progress.held);
    progress.held = undefined;
    this.due.add(typeUrl);
  }

  next(): NextRequest | undefined {
    for (const typeUrl of this.due) {
      const progress = this.progressOf(typeUrl);
      const next = this.composeAnswer(typeUrl, progress) ?? this.composeNames(typeUrl, progress);
      if (next !== undefined) return next;
      this.due.delete(typeUrl);
    }
    return undefined;
  }

  /**
   * An answer never carries names: istiod ignores those in a NACK, and those in an ACK whose nonce is outdated
   * (https://github.com/istio/istio/blob/1.27.0/pilot/pkg/xds/delta.go, `shouldRespondDelta`).
   */
  private composeAnswer(typeUrl: string, { answers }: TypeProgress): NextRequest | undefined {
    const answer = answers.shift();
    if (answer === undefined) return undefined;
    const bytes = DeltaDiscoveryRequest.encode({
      node: this.takeNode(),
      typeUrl,
      resourceNamesSubscribe: [],
      resourceNamesUnsubscribe: [],
      initialResourceVersions: new Map<string, string>(),
      responseNonce: answer.nonce,
      errorDetail: errorDetail(answer.rejection),
    }).finish();
    return { typeUrl, bytes, newNames: [], isFirst: false, claims: false };
  }

  private composeNames(typeUrl: string, progress: TypeProgress): NextRequest | undefined {
    const { toSubscribe, toUnsubscribe, asked, hasAsked } = progress;
    if (toSubscribe.size === 0 && toUnsubscribe.size === 0) return undefined;
    const newNames = [...toSubscribe];
    const goneNames = [...toUnsubscribe];
    for (const name of goneNames) asked.delete(name);
    for (const name of newNames) asked.add(name);
    toSubscribe.clear();
    toUnsubscribe.clear();
    progress.hasAsked = true;
    const held = hasAsked ? new Map<string, string>() : this.heldVersions(typeUrl);
    const bytes = DeltaDiscoveryRequest.encode({
      node: this.takeNode(),
      typeUrl,
      resourceNamesSubscribe: newNames,
      resourceNamesUnsubscribe: goneNames,
      initialResourceVersions: held,
      responseNonce: '',
      errorDetail: undefined,
    }).finish();
    return { typeUrl, bytes, newNames, isFirst: !hasAsked, claims: held.size > 0 };
  }

  /** Once per stream is enough for the server to remember it. */
  private takeNode(): Node | undefined {
    if (this.nodeSent) return undefined;
    this.nodeSent = true;
    return this.node;
  }

  private progressOf(typeUrl: string): TypeProgress {
    let progress = this.types.get(typeUrl);
    if (progress === undefined) {
      progress = {
        asked: new Set(),
        hasAsked: false,
        toSubscribe: new Set(),
        toUnsubscribe: new Set(),
        answers: [],
        held: undefined,
      };
      this.types.set(typeUrl, progress);
    }
    return progress;
  }
}
