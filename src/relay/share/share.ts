import type { Result } from '../../util/result';
import type {
  ConnectionOptions,
  XdsTransport,
  XdsTransportFactory,
} from '../../xds-client/transport';
import type { ServerConfig } from '../../bootstrap/bootstrap';
import type { ShareReport } from '../../observe/admin/share-report';
import type { KnownRelay } from '../relay-identity';

/** How the processes, or the threads, of a host share their streams to the management servers: by a relay in one of them. */
export interface Share {
  /** The relay in the bootstraps of the process. */
  readonly serverUri: string;
  /** Finds the relay, or serves as it. Idempotent: called for the first transport. */
  start(): void;
  /**
   * Creates a transport to the relay, whichever process it is in.
   *
   * @param factory Creates the transports to management servers.
   */
  createTransport(
    server: ServerConfig,
    factory: XdsTransportFactory,
    options?: ConnectionOptions,
  ): Result<XdsTransport, string>;
  /** Describes it, for reports. */
  describe(): Omit<ShareReport, 'text'>;
  /**
   * Leaves it for good. A relay in this process ends: another process takes its place, and the loads that it has received are
   * reported.
   *
   * @returns A promise that is resolved when they are, or after `timeoutMs`.
   */
  stop(timeoutMs: number): Promise<void>;
}

/** Whether there is a relay at the moment. A new object with each relay. */
export type RelayState =
  /** It is being looked for. */
  | { readonly kind: 'electing' }
  | { readonly kind: 'ready'; readonly relay: KnownRelay }
  /** There is none, and this process cannot be one. */
  | { readonly kind: 'unavailable'; readonly reason: string };
