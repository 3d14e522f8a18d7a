import type { Bootstrap } from '../bootstrap/bootstrap';
import type { HttpFilterRegistry } from '../http-filters/registry';
import type { MatchMeter } from '../resources/matching/match-meter';
import type { ResourceTypes } from '../resources/resource-types';
import type { CertificateSource } from '../security/providers/certificate-provider';
import type { Clock } from '../util/clock';
import type { Handle } from '../util/handle';
import type { Logger } from '../util/logger';
import type { Random } from '../util/random';
import type { XdsClient } from '../xds-client/xds-client';

/**
 * A reference to the client of the servers of the process, and what else they are configured by. Its release ends the client
 * with the last reference.
 */
export interface ServerClient extends Handle {
  readonly bootstrap: Bootstrap;
  /** Shares the streams and the resources of the channels with the same bootstrap (gRFC A71). */
  readonly client: XdsClient;
  readonly types: ResourceTypes;
  /** The filters of this package and of the application. */
  readonly httpFilters: HttpFilterRegistry;
  /** Of the certificate providers of the bootstrap (gRFC A29). */
  readonly certificates: CertificateSource;
  /** Counts the steps of matching for a request. */
  readonly meter: MatchMeter;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Aborted by `shutdown()`, which releases the client: its watchers are not notified any more. */
  readonly shutdown: AbortSignal;
}
