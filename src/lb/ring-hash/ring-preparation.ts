import type { XdsEndpoint } from '../../resources/endpoints';
import type { Handle } from '../../util/handle';
import { allEndpoints } from '../endpoint-children';
import type { EndpointSet } from '../endpoint-set';
import type { LbHost } from '../lb-policy';
import type { RingMembers } from './ring-members';

/** With fewer new endpoints than this, an update takes a few milliseconds as it is. */
const MIN_NEW = 5000;
/** How long endpoints are prepared without a break. */
const SLICE_MS = 4;
/** So many endpoints between two looks at the clock. */
const STEP = 256;
/** The shortest time a timer takes. */
const BREAK_MS = 1;

/**
 * Prepares an update that brings thousands of endpoints, some milliseconds' worth at a time, so that other work is not
 * kept waiting. Until it is done, calls go by the ring there is.
 */
export class RingPreparation {
  private timer: Handle | undefined;

  constructor(
    private readonly host: LbHost,
    private readonly members: RingMembers,
  ) {}

  /** Calls back in the batch when all is prepared: at once if there is little to do. Takes the place of one under way. */
  start(set: EndpointSet, onPrepared: () => void): void {
    this.cancel();
    let size = 0;
    for (const { endpoints } of set.localities) size += endpoints.length;
    if (size - this.members.size < MIN_NEW) {
      onPrepared();
      return;
    }
    this.members.reserve(size);
    this.runSlice(allEndpoints(set), onPrepared);
  }

  /** Does not call back any more. */
  cancel(): void {
    this.timer?.release();
    this.timer = undefined;
  }

  private runSlice(rest: Iterator<XdsEndpoint, unknown>, onPrepared: () => void): void {
    const { batch, clock } = this.host.environment;
    const end = clock.monotonicMs() + SLICE_MS;
    do {
      for (let i = 0; i < STEP; i++) {
        const next = rest.next();
        if (next.done === true) {
          onPrepared();
          return;
        }
        this.members.prepare(next.value);
      }
    } while (clock.monotonicMs() < end);
    this.timer = clock.setTimer(() => batch.run(() => this.runSlice(rest, onPrepared)), BREAK_MS);
  }
}
