import type { Node } from '../generated/envoy/config/core/v3/base';
import type { ClientRequest, DeltaClientRequest, TypeState } from './client-state';
import type { ImitatedServer } from './imitation';
import type { Verdict } from './response-ledger';
import type { Snapshot } from './snapshot';

/** A response ready to be written, and what there is to tell of it. */
export interface Outgoing<Message> {
  readonly message: Message;
  readonly typeUrl: string;
  readonly version: string;
  /** Names of the resources in it. */
  readonly names: readonly string[];
  /** Names the client is told to forget. */
  readonly removed: readonly string[];
  /** Names the client is sent an error for. */
  readonly failed: readonly string[];
}

/** What a request meant and what to write because of it. */
export interface ConversationOutcome<Message> {
  readonly verdict: Verdict | undefined;
  /** The subscription after the request, if the request changed it. */
  readonly subscribed: TypeState | undefined;
  readonly responses: readonly Outgoing<Message>[];
}

/** One variant of the protocol on one stream. Does no I/O; what it returns counts as written. */
export interface Conversation<Request, Message> {
  onRequest(request: Request): ConversationOutcome<Message>;
  onSnapshot(snapshot: Snapshot): readonly Outgoing<Message>[];
  /** What keeps the client's resources alive; nothing when none of them expires. */
  heartbeats(): readonly Outgoing<Message>[];
  /** By type URL, in the order of first subscription. */
  describe(): ReadonlyMap<string, TypeState>;
}

/** What a conversation starts with. */
export interface ConversationStart {
  readonly snapshot: Snapshot;
  /** Name of this server in its responses. */
  readonly identifier: string;
  /** Puts each resource of a state-of-the-world response into a `Resource`, if the client understands it. */
  readonly wrapResources: boolean;
  /** The server that requests are treated as by. */
  readonly imitate: ImitatedServer | undefined;
  /** `client_features` of the node. */
  readonly clientFeatures: ReadonlySet<string>;
  /** Shown a state-of-the-world request before it is answered. */
  onRequest(request: ClientRequest): void;
  /** Shown an incremental request before it is answered. */
  onDeltaRequest(request: DeltaClientRequest): void;
}

/** What both variants' requests have. */
export interface AnyRequest {
  readonly typeUrl: string;
  readonly node: Node | undefined;
}
