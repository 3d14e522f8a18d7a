import type { PickArgs, PickResult } from '../../grpc-js';
import type { Clock } from '../../util/clock';
import type { Handle } from '../../util/handle';
import { CountedSubchannels } from '../cluster-impl/counted-subchannels';
import type { ReadyItem } from '../endpoints/connected-endpoints';
import type { EndpointLeaf } from '../endpoints/endpoint-leaf';

/** Numbers the turns of the event loop in which something was picked. */
export class PickTurns {
  private turn = 0;
  private ending: Handle | undefined;

  constructor(private readonly clock: Clock) {}

  /** The number of this turn, or of the last one with a pick. */
  get current(): number {
    return this.turn;
  }

  /** Starts the timer that ends this turn. */
  begin(): void {
    this.ending ??= this.clock.setTimer(() => {
      this.ending = undefined;
      this.turn++;
    }, 0);
  }

  release(): void {
    this.ending?.release();
    this.ending = undefined;
  }
}

/**
 * An endpoint and its calls in flight.
 *
 * A picked call starts a little later, or never. So a pick counts in the turn of the event loop in which it was made, and
 * the call counts from its start on. Without the former, calls made in one turn would all see the same counts.
 */
export class CountedEndpoint implements ReadyItem {
  readyIndex = -1;
  private readonly subchannels = new CountedSubchannels(this);
  private running = 0;
  private picked = 0;
  /** The turn in which `picked` was counted. */
  private pickedIn = -1;

  constructor(
    private readonly leaf: EndpointLeaf,
    private readonly turns: PickTurns,
  ) {}

  /** The number of calls in flight, and of picks whose calls have not started yet. */
  get load(): number {
    return this.pickedIn === this.turns.current ? this.running + this.picked : this.running;
  }

  /** Picks the connection. */
  pick(args: PickArgs): PickResult {
    const result = this.leaf.picker.pick(args);
    const { subchannel } = result;
    if (subchannel === null) return result;
    this.countPick();
    return this.subchannels.countPick(result, subchannel);
  }

  start(): void {
    this.running++;
    if (this.picked > 0) this.picked--;
  }

  end(): void {
    this.running--;
  }

  private countPick(): void {
    const { turns } = this;
    turns.begin();
    if (this.pickedIn !== turns.current) {
      this.pickedIn = turns.current;
      this.picked = 0;
    }
    this.picked++;
  }
}
