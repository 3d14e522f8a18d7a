import type { Clock } from '../../util/clock';
import type { Random } from '../../util/random';
import type { SlowStartConfig } from './config';

/** Passed-over endpoints after which the next one is used: while all endpoints have small shares, none needs to wait for the others. */
const MAX_PASSED = 100;

/** Until then, the share does not grow. */
const FIRST_MS = 1000;

/** An endpoint that has had its full share since it became READY. */
const WARM = -Infinity;

/**
 * Passes over endpoints that became READY a short time ago (draft gRFC A100): as often as needed for them to have the share of calls
 * that their age gives them. Works with any order in which a policy draws endpoints.
 */
export class SlowStart<Endpoint> {
  /** `undefined`: every endpoint has its full share. */
  config: SlowStartConfig | undefined;
  private readonly readySince = new Map<Endpoint, number>();

  constructor(
    private readonly clock: Pick<Clock, 'monotonicMs'>,
    private readonly random: Random,
  ) {}

  /** An endpoint that is READY on another connection than before goes on. */
  onReady(endpoint: Endpoint): void {
    if (!this.readySince.has(endpoint)) this.readySince.set(endpoint, this.clock.monotonicMs());
  }

  onNotReady(endpoint: Endpoint): void {
    this.readySince.delete(endpoint);
  }

  /** Draws endpoints until one is not passed over. */
  choose(draw: () => Endpoint | undefined): Endpoint | undefined {
    let endpoint = draw();
    for (let passed = 0; endpoint !== undefined && passed < MAX_PASSED; passed++) {
      if (this.accepts(endpoint)) break;
      endpoint = draw();
    }
    return endpoint;
  }

  private accepts(endpoint: Endpoint): boolean {
    const { config } = this;
    const since = this.readySince.get(endpoint) ?? WARM;
    if (config === undefined || since === WARM) return true;
    const ageMs = this.clock.monotonicMs() - since;
    if (ageMs < config.windowMs) return this.random() < shareAt(ageMs, config);
    this.readySince.set(endpoint, WARM);
    return true;
  }
}

/** Returns the share of an endpoint at an age within the window, compared with that of another one. */
export function shareAt(
  ageMs: number,
  { windowMs, aggression, minShare }: SlowStartConfig,
): number {
  return Math.max(minShare, (Math.max(ageMs, FIRST_MS) / windowMs) ** (1 / aggression));
}
