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
import { UnconfirmedNames } from './unconfirmed-names';

/** The rejection of the latest response, until it is sent. */
interface Nack {
  readonly rejection: string;
  /** Whether it waits for `release`. */
  isHeld: boolean;
}

/** The state of one type on this stream. */
interface TypeProgress {
  /** Of the latest response; empty before there was one. */
  nonce: string;
  nack: Nack | undefined;
  /** A request other than the NACK may have to be sent. */
  isDue: boolean;
  /** It must be sent even with the names of the last request: as an ACK, or to repeat these names. */
  mustSend: boolean;
  /** The names wanted may be others than in the last request. */
  hasChanged: boolean;
  /** The names in the last request: what the server believes is wanted. */
  asked: ReadonlySet<string>;
  /** There was such a request. */
  hasAsked: boolean;
  /** Names given up since that request. */
  readonly dropped: Set<string>;
  readonly unconfirmed: UnconfirmedNames;
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

/**
 * However much has happened to a type since its last request, it takes one request to say so, and another one for a
 * NACK: that one repeats the names of the last request, and changes of names go out in requests without
 * `error_detail`, with the same nonce. Some servers ignore the names in a NACK (docs/decisions/0010-names-around-a-nack.md).
 */
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

  confirmName(typeUrl: string, name: string): void {
    this.types.get(typeUrl)?.unconfirmed.confirm(name);
  }

  read(bytes: Uint8Array): Result<AdsResponse, string> {
    let response: DiscoveryResponse;
    try {
      response = DiscoveryResponse.decode(bytes);
    } catch (error) {
      return err(`sent a response that cannot be decoded: ${errorMessage(error)}`);
    }
    const { typeUrl, nonce, versionInfo: version, resources, resourceErrors: errors } = response;
    const isRequested = this.types.get(typeUrl)?.hasAsked ?? false;
    const items = resources.map((element) => itemFromAny(element, version));
    const rest = { items, removed: [], errors, isComplete: true };
    return ok({ typeUrl, isRequested, nonce, version, ...rest });
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
    const progress = this.progressOf(typeUrl);
    progress.nonce = nonce;
    if (rejection === undefined) {
      this.versions.set(typeUrl, version);
      progress.nack = undefined;
      progress.mustSend = true;
      progress.unconfirmed.onAck();
    } else {
      progress.nack = { rejection, isHeld };
      progress.mustSend = progress.unconfirmed.onNack() || progress.mustSend;
    }
    if (progress.mustSend) progress.isDue = true;
  }

  release(typeUrl: string): void {
    const nack = this.types.get(typeUrl)?.nack;
    if (nack !== undefined) nack.isHeld = false;
  }

  next(): NextRequest | undefined {
    for (const [typeUrl, progress] of this.types) {
      const next = this.composeNack(typeUrl, progress) ?? this.compose(typeUrl, progress);
      if (next !== undefined) return next;
    }
    return undefined;
  }

  /** The names of the last request are all it has: the server may look at them or not. */
  private composeNack(typeUrl: string, progress: TypeProgress): NextRequest | undefined {
    const { nack, asked, unconfirmed } = progress;
    if (nack === undefined || nack.isHeld) return undefined;
    progress.nack = undefined;
    if (!unconfirmed.isEmpty) {
      progress.mustSend = true;
      progress.isDue = true;
    }
    const bytes = this.encode(typeUrl, progress, [...asked], nack.rejection);
    return { typeUrl, bytes, newNames: [], isFirst: false, claims: this.claims(typeUrl) };
  }

  private compose(typeUrl: string, progress: TypeProgress): NextRequest | undefined {
    if (!progress.isDue) return undefined;
    progress.isDue = false;
    // To acknowledge a response, the list that was sent before will do.
    const names = progress.hasChanged ? this.takeNames(typeUrl, progress) : [...progress.asked];
    const newNames = progress.hasChanged ? names.filter((name) => !progress.asked.has(name)) : [];
    const { mustSend, hasAsked } = progress;
    progress.hasChanged = progress.isDue;
    const isNews = newNames.length > 0 || names.length < progress.asked.size;
    if (!isNews && !mustSend) return undefined;
    // A first request without names would mean that everything of the type is wanted (wildcard).
    if (names.length === 0 && !hasAsked) return undefined;
    progress.mustSend = false;
    if (isNews) changeNames(progress, names, newNames);
    progress.hasAsked = true;
    const bytes = this.encode(typeUrl, progress, names, undefined);
    return { typeUrl, bytes, newNames, isFirst: !hasAsked, claims: this.claims(typeUrl) };
  }

  private encode(
    typeUrl: string,
    { nonce }: TypeProgress,
    resourceNames: string[],
    rejection: string | undefined,
  ): Uint8Array {
    return DiscoveryRequest.encode({
      versionInfo: this.versions.get(typeUrl) ?? '',
      node: this.takeNode(),
      resourceNames,
      typeUrl,
      responseNonce: nonce,
      errorDetail: errorDetail(rejection),
    }).finish();
  }

  /** Whether requests of a type tell the server that we have something already. */
  private claims(typeUrl: string): boolean {
    return (this.versions.get(typeUrl) ?? '') !== '';
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
    const names = [...this.source.resources(typeUrl).keys()];
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
        nack: undefined,
        isDue: false,
        mustSend: false,
        hasChanged: false,
        asked: NOTHING_ASKED,
        hasAsked: false,
        dropped: new Set(),
        unconfirmed: new UnconfirmedNames(),
      };
      this.types.set(typeUrl, progress);
    }
    return progress;
  }
}

/** The first request of a stream reaches every server: it is the one thing that no response can cross. */
function changeNames(
  progress: TypeProgress,
  names: readonly string[],
  newNames: readonly string[],
): void {
  const { asked, hasAsked, unconfirmed } = progress;
  const next = new Set(names);
  progress.asked = next;
  if (!hasAsked) return;
  for (const name of newNames) unconfirmed.add(name);
  if (names.length - newNames.length === asked.size) return;
  for (const name of asked) {
    if (!next.has(name)) unconfirmed.remove(name);
  }
}
