import type { Bootstrap } from '../bootstrap/bootstrap';
import type { HttpFilterRegistry } from '../http-filters/registry';
import type { ResourceTypes } from '../resources/resource-types';
import type { CertificateSource } from '../security/providers/certificate-provider';
import type { Clock } from '../util/clock';
import type { Handle } from '../util/handle';
import type { Logger } from '../util/logger';
import type { Random } from '../util/random';
import type { TimeSlices } from '../util/time-slices';
import type { WatchClient } from '../xds-client/xds-client';
import type { ServerRouteTableOptions } from './routes/server-route-table';

/** What an address of a server uses of the process. Its release releases the client. */
export interface ServerEnvironment extends Handle {
  readonly bootstrap: Bootstrap;
  readonly client: WatchClient;
  readonly types: Pick<ResourceTypes, 'listener' | 'routeConfig'>;
  readonly certificates: CertificateSource;
  readonly httpFilters: HttpFilterRegistry;
  readonly routing: ServerRouteTableOptions;
  readonly timeSlices: TimeSlices;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Aborted by `shutdown()` of the package. */
  readonly shutdown: AbortSignal;
}
