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
  drawShare,
  type HeaderValues,
} from '../client-filter';
import { asConfig } from '../http-filter';
import {
  FaultConfig,
  HTTP_FAULT,
  parseFaultConfig,
  type FaultAbort,
  type FaultDelay,
  type FaultShare,
  MAX_HTTP_STATUS,
  MIN_HTTP_STATUS,
} from './fault-parser';
import { MAX_STATUS_CODE, statusOfHttp } from '../../util/status-code';

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

/** The fault of one call: at least one of the two. */
export interface Fault {
  /** Delay of the call in milliseconds; `undefined` for none. */
  readonly delayMs: number | undefined;
  /** The gRPC status code that ends the call after the delay; `undefined` if it continues. */
  readonly abortCode: number | undefined;
}

/** As many digits as the largest integer of 64 bits has, and one for a sign. */
const DECIMAL = /^\d{1,20}$/;

/**
 * Chooses the fault of one call (gRFC A33). Delay and abort each draw a random number, unless the share is 0 or 100 %.
 *
 * @returns `undefined` for none.
 */
export function chooseFault(
  { delay, abort }: FaultConfig,
  headers: HeaderValues,
  random: Random,
): Fault | undefined {
  const delayMs = delay && chooseDelay(delay, headers, random);
  const abortCode = abort && chooseAbort(abort, headers, random);
  return delayMs === undefined && abortCode === undefined ? undefined : { delayMs, abortCode };
}

function chooseDelay(
  { share, source }: FaultDelay,
  headers: HeaderValues,
  random: Random,
): number | undefined {
  if (source.kind === 'fixed')
    return drawShare(share.perMillion, random) ? source.delayMs : undefined;
  const delayMs = readNumber(headers, 'x-envoy-fault-delay-request');
  if (delayMs === undefined) return undefined;
  const perMillion = shareOf(share, headers, 'x-envoy-fault-delay-request-percentage');
  return drawShare(perMillion, random) ? delayMs : undefined;
}

function chooseAbort(
  { share, source }: FaultAbort,
  headers: HeaderValues,
  random: Random,
): number | undefined {
  if (source.kind === 'status')
    return drawShare(share.perMillion, random) ? source.code : undefined;
  const code = readAbortCode(headers);
  if (code === undefined) return undefined;
  const perMillion = shareOf(share, headers, 'x-envoy-fault-abort-request-percentage');
  return drawShare(perMillion, random) ? code : undefined;
}

/** The gRPC status takes precedence over the less specific HTTP status. */
function readAbortCode(headers: HeaderValues): number | undefined {
  const code = readNumber(headers, 'x-envoy-fault-abort-grpc-request', 0, MAX_STATUS_CODE);
  if (code !== undefined) return code;
  const name = 'x-envoy-fault-abort-request';
  const httpStatus = readNumber(headers, name, MIN_HTTP_STATUS, MAX_HTTP_STATUS);
  return httpStatus === undefined ? undefined : statusOfHttp(httpStatus);
}

/** A header may lower the share of the config, in the config's unit. */
function shareOf({ perMillion, unit }: FaultShare, headers: HeaderValues, name: string): number {
  const numerator = readNumber(headers, name);
  return numerator === undefined ? perMillion : Math.min(numerator * unit, perMillion);
}

/** Returns the first value that is a whole number in the range. */
function readNumber(
  headers: HeaderValues,
  name: string,
  min = 0,
  max = Number.MAX_SAFE_INTEGER,
): number | undefined {
  for (const value of headers.get(name)) {
    if (typeof value !== 'string' || !DECIMAL.test(value)) continue;
    const number = Number(value);
    if (number >= min && number <= max) return number;
  }
  return undefined;
}
