import type { Node } from '../generated/envoy/config/core/v3/base';
import type { DiscoveryRequest } from '../generated/envoy/service/discovery/v3/discovery';

/** What must be known beyond the stream to compose its requests. */
export interface RequestSource {
  /** The names wanted of a type now. */
  names(typeUrl: string): string[];
  /** The version last accepted from the server, on this stream or an earlier one; empty if none. */
  version(typeUrl: string): string;
}

/** How far one type has come on this stream. */
interface TypeProgress {
  /** Of the latest response; empty before there was one. */
  nonce: string;
  /** A request must be sent. */
  isDue: boolean;
  /** A response has not been acknowledged or rejected yet. */
  hasVerdict: boolean;
  /** The text to reject the response with; `undefined` to acknowledge it. */
  rejection: string | undefined;
  /** The names in the last request: what the server believes is wanted. */
  asked: ReadonlySet<string>;
  /** There was such a request. */
  hasAsked: boolean;
  /** Names given up since that request. */
  readonly dropped: Set<string>;
}

/** A request and what it asks for that no request on this stream had asked for. */
export interface NextRequest {
  readonly request: DiscoveryRequest;
  readonly newNames: readonly string[];
}

const INVALID_ARGUMENT = 3;
const NOTHING_ASKED: ReadonlySet<string> = new Set();

/**
 * Composes the requests of one stream and dies with it: nonces, what was asked for, and whether the server
 * knows who is asking. However much has happened to a type since its last request, it takes one request
 * to say so.
 */
export class AdsRequests {
  private readonly types = new Map<string, TypeProgress>();
  private nodeSent = false;

  constructor(
    private readonly source: RequestSource,
    private readonly node: Node,
  ) {}

  /** Notes that a name is wanted that was not before. */
  addName(typeUrl: string): void {
    this.progressOf(typeUrl).isDue = true;
  }

  /** Notes that a name is no longer wanted. */
  dropName(typeUrl: string, name: string): void {
    const progress = this.progressOf(typeUrl);
    if (!progress.asked.has(name)) return;
    progress.dropped.add(name);
    progress.isDue = true;
  }

  /** Notes that a response was read. The request that answers it carries its nonce, and so do later ones. */
  answer(typeUrl: string, nonce: string, rejection: string | undefined): void {
    const progress = this.progressOf(typeUrl);
    progress.nonce = nonce;
    progress.rejection = rejection;
    progress.hasVerdict = true;
    progress.isDue = true;
  }

  /** The request to send next, to be treated as sent; `undefined` when there is nothing to say. */
  next(): NextRequest | undefined {
    for (const [typeUrl, progress] of this.types) {
      if (!progress.isDue) continue;
      progress.isDue = false;
      const next = this.compose(typeUrl, progress);
      if (next !== undefined) return next;
    }
    return undefined;
  }

  private compose(typeUrl: string, progress: TypeProgress): NextRequest | undefined {
    const names = this.takeNames(typeUrl, progress);
    const newNames = names.filter((name) => !progress.asked.has(name));
    const { hasVerdict, rejection } = progress;
    progress.hasVerdict = false;
    progress.rejection = undefined;
    const isNews = newNames.length > 0 || names.length < progress.asked.size;
    if (!isNews && !hasVerdict) return undefined;
    // A first request without names would mean that everything of the type is wanted (wildcard). So a
    // response that nobody asked for is acknowledged by silence.
    if (names.length === 0 && !progress.hasAsked && rejection === undefined) return undefined;
    progress.asked = new Set(names);
    progress.hasAsked = true;
    const request: DiscoveryRequest = {
      versionInfo: this.source.version(typeUrl),
      node: this.takeNode(),
      resourceNames: names,
      typeUrl,
      responseNonce: progress.nonce,
      errorDetail:
        rejection === undefined
          ? undefined
          : { code: INVALID_ARGUMENT, message: rejection, details: [] },
    };
    return { request, newNames };
  }

  /** Once per stream is enough for the server to remember it (gRFC A27). */
  private takeNode(): Node | undefined {
    if (this.nodeSent) return undefined;
    this.nodeSent = true;
    return this.node;
  }

  /**
   * A name that was given up and is wanted again has lost its cached value. A server sends it again only if
   * it sees the name go and come back, so one request goes without it and a second one follows.
   */
  private takeNames(typeUrl: string, progress: TypeProgress): string[] {
    const names = this.source.names(typeUrl);
    if (progress.dropped.size === 0) return names;
    const kept = names.filter((name) => !progress.dropped.has(name));
    progress.dropped.clear();
    progress.isDue = kept.length < names.length;
    return kept;
  }

  private progressOf(typeUrl: string): TypeProgress {
    let progress = this.types.get(typeUrl);
    if (progress === undefined) {
      progress = {
        nonce: '',
        isDue: false,
        hasVerdict: false,
        rejection: undefined,
        asked: NOTHING_ASKED,
        hasAsked: false,
        dropped: new Set(),
      };
      this.types.set(typeUrl, progress);
    }
    return progress;
  }
}
