import type { Node } from '../generated/envoy/config/core/v3/base';
import {
  DiscoveryRequest,
  DiscoveryResponse,
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
import { itemFromAny } from './response-items';

/** How far one type has come on this stream. */
interface TypeProgress {
  /** Of the latest response; empty before there was one. */
  nonce: string;
  /** A request must be sent. */
  isDue: boolean;
  /** The names wanted may be others than in the last request. */
  hasChanged: boolean;
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

const NOTHING_ASKED: ReadonlySet<string> = new Set();

/** The state-of-the-world variant: every request of a type names everything that is wanted of it. */
export class SotwProtocol implements AdsProtocol {
  readonly isDelta = false;
  readonly verb = 'Stream';
  /** By type, the versions last accepted from this server. They outlive streams, nonces do not. */
  private readonly versions = new Map<string, string>();

  constructor(
    private readonly source: RequestSource,
    private readonly node: Node,
  ) {}

  /** See `AdsProtocol`. */
  begin(): AdsConversation {
    const wanted = new Set(this.source.typeUrls());
    // Of a type that nobody wants nothing is kept, so the server must not be told that we have it.
    for (const typeUrl of this.versions.keys()) {
      if (!wanted.has(typeUrl)) this.versions.delete(typeUrl);
    }
    return new SotwConversation(this.source, this.node, this.versions);
  }

  /** See `AdsProtocol`. */
  forgetVersions(): void {
    this.versions.clear();
  }
}

/** However much has happened to a type since its last request, it takes one request to say so. */
class SotwConversation implements AdsConversation {
  private readonly types = new Map<string, TypeProgress>();
  private nodeSent = false;

  constructor(
    private readonly source: RequestSource,
    private readonly node: Node,
    private readonly versions: Map<string, string>,
  ) {}

  addType(typeUrl: string): void {
    const progress = this.progressOf(typeUrl);
    progress.isDue = true;
    progress.hasChanged = true;
  }

  addName(typeUrl: string, _name: string): void {
    this.addType(typeUrl);
  }

  dropName(typeUrl: string, name: string): void {
    const progress = this.progressOf(typeUrl);
    progress.hasChanged = true;
    if (!progress.asked.has(name)) return;
    progress.dropped.add(name);
    progress.isDue = true;
  }

  read(bytes: Uint8Array): Result<AdsResponse, string> {
    let response: DiscoveryResponse;
    try {
      response = DiscoveryResponse.decode(bytes);
    } catch (error) {
      return err(`sent a response that cannot be decoded: ${errorMessage(error)}`);
    }
    const { typeUrl, nonce, versionInfo: version, resources, resourceErrors: errors } = response;
    const items = resources.map((element) => itemFromAny(element, version));
    return ok({ typeUrl, nonce, version, items, removed: [], errors, isComplete: true });
  }

  /**
   * The request that answers a response carries its nonce, and so do later ones. One that is about names cannot
   * do without it, or the server would ignore it as outdated.
   */
  answer(
    { typeUrl, nonce, version }: AdsResponse,
    rejection: string | undefined,
    isHeld = false,
  ): void {
    if (rejection === undefined) this.versions.set(typeUrl, version);
    const progress = this.progressOf(typeUrl);
    progress.nonce = nonce;
    progress.rejection = rejection;
    progress.hasVerdict = true;
    if (!isHeld) progress.isDue = true;
  }

  release(typeUrl: string): void {
    const progress = this.progressOf(typeUrl);
    if (progress.hasVerdict) progress.isDue = true;
  }

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
    // To acknowledge a response, the list that was sent before will do.
    const names = progress.hasChanged ? this.takeNames(typeUrl, progress) : [...progress.asked];
    const newNames = progress.hasChanged ? names.filter((name) => !progress.asked.has(name)) : [];
    const { hasVerdict, rejection, hasAsked } = progress;
    progress.hasChanged = progress.isDue;
    progress.hasVerdict = false;
    progress.rejection = undefined;
    const isNews = newNames.length > 0 || names.length < progress.asked.size;
    if (!isNews && !hasVerdict) return undefined;
    // A first request without names would mean that everything of the type is wanted (wildcard). So a
    // response that nobody asked for is acknowledged by silence.
    if (names.length === 0 && !hasAsked && rejection === undefined) return undefined;
    if (isNews) progress.asked = new Set(names);
    progress.hasAsked = true;
    const versionInfo = this.versions.get(typeUrl) ?? '';
    const bytes = DiscoveryRequest.encode({
      versionInfo,
      node: this.takeNode(),
      resourceNames: names,
      typeUrl,
      responseNonce: progress.nonce,
      errorDetail: errorDetail(rejection),
    }).finish();
    return { typeUrl, bytes, newNames, isFirst: !hasAsked, claims: versionInfo !== '' };
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
        hasChanged: false,
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
