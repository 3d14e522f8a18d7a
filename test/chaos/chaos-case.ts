import type { Json } from '../support/xds-json';
import type { FaultyLink } from './faulty-link';
import type { UnreliableServer } from './unreliable-server';

/** Where the service goes when something is changed, and how. */
export interface Move {
  /** The name of a backend. */
  readonly backend: string;
  /** Clusters that share the calls. Default: one, which does not change its name. */
  readonly clusters?: readonly string[];
  /** Fields of the clusters. */
  readonly clusterExtra?: Json;
  /** What the first cluster is where others have the calls. Default: as they are. */
  readonly unused?: { readonly backend: string; readonly clusterExtra: Json };
}

/** What a fault can act on. */
export interface Scene {
  readonly server: UnreliableServer;
  readonly link: FaultyLink;
  readonly isDelta: boolean;
  /** Has the server say that the service has moved. */
  serve(move: Move): void;
  /** Makes the wall clock of the clients jump. */
  jumpClock(byMs: number): void;
}

/** A fault, from its beginning to its end. The connection and the stream are good before. */
export interface ChaosCase {
  readonly name: string;
  /** How long it lasts. */
  readonly seconds: number;
  /** How long it lasts in the short mode. Default: it is not part of that. */
  readonly shortSeconds?: number;
  readonly serverFeatures?: readonly string[];
  begin(scene: Scene): void | Promise<void>;
  /** What goes on again and again while it lasts. */
  readonly meanwhile?: {
    readonly everyMs: number;
    readonly act: (scene: Scene, round: number) => void | Promise<void>;
  };
  /** Afterwards the service moves once more, to `AFTER`. */
  end(scene: Scene): void | Promise<void>;
  /** What clusters have the calls then. */
  readonly clustersAfter?: readonly string[];
  /** What the first cluster is then, where others have the calls. Default: as it is. */
  readonly unusedAfter?: Move['unused'];
  /** Whether the server sends something that the client has to reject. Default: false. */
  readonly isRejected?: boolean;
  /** Milliseconds until the client can know of the fault at all; the backoff comes after that. */
  readonly noticeMs?: number;
}

/** The backend the service moves to while the fault lasts. */
export const DURING: Move = { backend: 'during' };

/**
 * An incremental client says what versions it has, and what is moved next must not have one of them: 1 and 2 are
 * those of before the fault.
 */
export function skipVersions(serve: Scene['serve']): void {
  serve(DURING);
  serve(DURING);
}
