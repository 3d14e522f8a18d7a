import type { Metadata, StatusObject } from '../../grpc-js';
import type { Clock } from '../../util/clock';
import { createHandle, type Handle } from '../../util/handle';
import type { Random } from '../../util/random';
import { quoteName } from '../../util/text';
import { CallFailedError, type CallFilter } from '../call-filter';
import {
  meteredHeaders,
  type CallFilterFactory,
  type ClientFilter,
  type FilterCall,
} from '../client-filter';
import { asConfig } from '../http-filter';
import { chooseFault, type Fault } from './choose-fault';
import { FaultConfig, HTTP_FAULT, parseFaultConfig } from './fault-parser';

interface FaultFilterOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** The fault counter of the process (gRFC A33). Default: one of this filter. */
  readonly activeFaults?: ActiveFaults;
}

interface FaultContext {
  readonly config: FaultConfig;
  readonly clock: Clock;
  readonly random: Random;
  readonly activeFaults: ActiveFaults;
}

/** Creates the fault filter, which delays and fails a share of the calls (gRFC A33). */
export function createFaultFilter(options: FaultFilterOptions): ClientFilter {
  const { clock, random, activeFaults = new ActiveFaults() } = options;
  return {
    configTypes: [HTTP_FAULT],
    overrideTypes: [HTTP_FAULT],
    isTerminal: false,
    parseConfig: parseFaultConfig,
    parseOverride: parseFaultConfig,
    prepare(config, override) {
      const effective = asConfig(FaultConfig, override ?? config);
      if (!canInject(effective)) return undefined;
      return createFactory({ config: effective, clock, random, activeFaults });
    },
  };
}

function canInject({ delay, abort, maxActiveFaults }: FaultConfig): boolean {
  const isPossible = (fault: FaultConfig['delay'] | FaultConfig['abort']) =>
    fault !== undefined && fault.share.perMillion > 0;
  return maxActiveFaults !== 0 && (isPossible(delay) || isPossible(abort));
}

function createFactory(context: FaultContext): CallFilterFactory {
  const { config, random } = context;
  const { delay, abort, maxActiveFaults } = config;
  // Filters before this one may change headers, so a choice that depends on them has to wait.
  const dependsOnHeaders = delay?.source.kind === 'header' || abort?.source.kind === 'header';
  return {
    create(call: FilterCall, instance: string) {
      if (dependsOnHeaders) {
        const choose = (headers: Metadata) =>
          chooseFault(config, meteredHeaders(headers, call), random);
        return new FaultCall(choose, context, instance);
      }
      const fault = chooseFault(config, call.headers, random);
      return fault && new FaultCall(() => fault, context, instance);
    },
    describe: () => ({ delay, abort, maxActiveFaults }),
  };
}

/** The fault of one call, if it gets one. */
class FaultCall implements CallFilter {
  /** The pending delay: its timer and its active fault. */
  private delay: Handle | undefined;

  constructor(
    private readonly choose: (headers: Metadata) => Fault | undefined,
    private readonly context: FaultContext,
    /** The name of the filter. */
    private readonly instance: string,
  ) {}

  onRequestHeaders(headers: Metadata): Metadata | Promise<Metadata> {
    const fault = this.choose(headers);
    if (fault === undefined) return headers;
    const { activeFaults, config } = this.context;
    const active = activeFaults.acquire(config.maxActiveFaults);
    if (active === undefined) return headers;
    if (fault.delayMs !== undefined) {
      return this.wait(fault.delayMs, active).then(() => this.goOn(fault, headers));
    }
    // A fault without a delay is over at once.
    active.release();
    return this.goOn(fault, headers);
  }

  /** The call may end during the delay: cancelled, or past its deadline. */
  onStatus(status: StatusObject): StatusObject {
    this.delay?.release();
    return status;
  }

  /** Fails or continues the call after its delay, if any. */
  private goOn({ abortCode }: Fault, headers: Metadata): Metadata {
    if (abortCode === undefined) return headers;
    const filter = `HTTP filter ${quoteName(this.instance)}`;
    const details = `Aborted by fault injection: ${filter}: see its config in the listener or route`;
    throw new CallFailedError({ code: abortCode, details });
  }

  /** Delays the call. The promise stays pending if the call ends first. */
  private wait(delayMs: number, active: Handle): Promise<void> {
    return new Promise((resolve) => {
      // Without a deadline nothing else keeps the process alive for the call.
      const keepsAlive = true;
      const onOver = () => {
        active.release();
        resolve();
      };
      const timer = this.context.clock.setTimer(onOver, delayMs, keepsAlive);
      this.delay = createHandle(() => {
        timer.release();
        active.release();
      });
    });
  }
}

/** Counts the active faults of the process, over all channels (gRFC A33). */
export class ActiveFaults {
  private active = 0;

  get count(): number {
    return this.active;
  }

  /**
   * Counts one fault until released.
   *
   * @param limit The maximum, this fault included; `undefined` for no maximum.
   * @returns `undefined` at the maximum.
   */
  acquire(limit: number | undefined): Handle | undefined {
    if (limit !== undefined && this.active >= limit) return undefined;
    this.active++;
    return createHandle(() => {
      this.active--;
    });
  }
}
