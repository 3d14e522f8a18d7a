import type { PickArgs, PickResult } from '../../grpc-js';
import type { Clock } from '../../util/clock';
import type { Handle } from '../../util/handle';
import { CountedSubchannels } from '../cluster-impl/counted-subchannels';
import type { EndpointLeaf } from '../endpoint-leaf';

/** Numbers the turns of the event loop in which something was picked. */
export class PickTurns {
  private turn = 0;
  private ending: Handle | undefined;

  constructor(private readonly clock: Clock) {}

  /** The number of this turn, or of the last one that mattered. */
  get current(): number {
    return this.turn;
  }

  /** Sees to it that this turn ends. */
  begin(): void {
    this.ending ??= this.clock.setTimer(() => {
      this.ending = undefined;
      this.turn++;
    }, 0);
  }

  /** Stops counting. */
  release(): void {
    this.ending?.release();
    this.ending = undefined;
  }
}

/**
 * An endpoint and its calls in flight.
 *
 * A picked call starts a little later, or never. So a pick counts for the turn of the event loop in which it was
 * made, and from its start on the call itself. Without the former, calls that are made in one go would all see
 * the same counts.
 */
export class CountedEndpoint {
  /** Where it is in the list of those that are READY; -1 if it is not. See `ReadyEndpoints`. */
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

  /** Calls in flight and about to be. */
  get load(): number {
    return this.pickedIn === this.turns.current ? this.running + this.picked : this.running;
  }

  /** Picks the connection. */
  pick(args: PickArgs): PickResult {
    const result = this.leaf.picker.pick(args);
    if (result.subchannel === null) return result;
    this.countPick();
    return {
      pickResultType: result.pickResultType,
      subchannel: this.subchannels.get(result.subchannel),
      status: null,
      onCallStarted: result.onCallStarted,
      onCallEnded: result.onCallEnded,
    };
  }

  /** For {@link CountedSubchannels}: a call starts. */
  start(): void {
    this.running++;
    if (this.picked > 0) this.picked--;
  }

  /** For {@link CountedSubchannels}: a call that was started has ended. */
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
