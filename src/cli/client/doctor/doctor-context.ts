import type { Bootstrap } from '../../../bootstrap/bootstrap';
import type { Clock } from '../../../util/clock';
import type { ClientParts, ServerAccess } from '../client-parts';
import type { Findings } from './finding';

/** What the checks of servers and resources have in common. */
export interface DoctorContext {
  readonly bootstrap: Bootstrap;
  readonly parts: ClientParts;
  readonly access: ServerAccess;
  readonly clock: Clock;
  readonly findings: Findings;
  /** Milliseconds for a step, such as a connection. */
  readonly stepMs: number;
  /** Milliseconds for the response of a management server. */
  readonly adsMs: number;
}
