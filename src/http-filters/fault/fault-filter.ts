import type { Metadata, StatusObject } from '../../grpc-js';
import type { HttpFilterConfig } from '../../resources/extension-points';
import type { Clock } from '../../util/clock';
import { createHandle, type Handle } from '../../util/handle';
import type { Random } from '../../util/random';
import { CallFailedError, type CallFilter, type CallInfo } from '../call-filter';
import type { CallFilterFactory, HttpFilter } from '../http-filter';
import { ActiveFaults } from './active-faults';
import { chooseFault, type Fault } from './choose-fault';
import { FaultConfig, HTTP_FAULT } from './fault-config';
import { parseFaultConfig } from './fault-parser';

/** What the fault filter works with. */
export interface FaultFilterOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** What counts the faults going on. There is one in a process (gRFC A33), so one filter or one of these. */
  readonly activeFaults?: ActiveFaults;
}

/** What the filter of one call works with. */
interface FaultContext {
  readonly config: FaultConfig;
  readonly clock: Clock;
  readonly random: Random;
  readonly activeFaults: ActiveFaults;
}

/** Delays and fails a share of the calls, to see what the application makes of it (gRFC A33). */
export function createFaultFilter(options: FaultFilterOptions): HttpFilter {
  const { clock, random, activeFaults = new ActiveFaults() } = options;
  return {
    configTypes: [HTTP_FAULT],
    overrideTypes: [HTTP_FAULT],
    isTerminal: false,
    parseConfig: parseFaultConfig,
    parseOverride: parseFaultConfig,
    prepare(config, override) {
      const effective = asFaultConfig(override ?? config);
      if (!canInject(effective)) return undefined;
      return createFactory({ config: effective, clock, random, activeFaults });
    },
  };
}

function asFaultConfig(config: HttpFilterConfig): FaultConfig {
  if (config instanceof FaultConfig) return config;
  throw new Error(`The fault filter was given a ${config.configType}`);
}

/** Whether the config could ever do anything to a call. */
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
    create(call: CallInfo) {
      if (dependsOnHeaders) {
        return new FaultCall((headers) => chooseFault(config, headers, random), context);
      }
      const fault = chooseFault(config, call.headers, random);
      return fault && new FaultCall(() => fault, context);
    },
    describe: () => ({ delay, abort, maxActiveFaults }),
  };
}

/** The fault of one call, if it gets one. */
class FaultCall implements CallFilter {
  /** The delay under way: its timer and its place among the active faults. */
  private delay: Handle | undefined;

  constructor(
    private readonly choose: (headers: Metadata) => Fault | undefined,
    private readonly context: FaultContext,
  ) {}

  onRequestHeaders(headers: Metadata): Metadata | Promise<Metadata> {
    const fault = this.choose(headers);
    if (fault === undefined) return headers;
    const { activeFaults, config } = this.context;
    const active = activeFaults.acquire(config.maxActiveFaults);
    if (active === undefined) return headers;
    if (fault.delayMs !== undefined) {
      return this.wait(fault.delayMs, active).then(() => goOn(fault, headers));
    }
    // A fault without a delay is over at once.
    active.release();
    return goOn(fault, headers);
  }

  /** The call may end while it is held back: cancelled, or its deadline passed. */
  onStatus(status: StatusObject): StatusObject {
    this.delay?.release();
    return status;
  }

  /** Stays unsettled if the call ends first: nobody waits for it any more then. */
  private wait(delayMs: number, active: Handle): Promise<void> {
    return new Promise((resolve) => {
      // The call may have no deadline, and so nothing else that keeps the process alive.
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

/** What comes after the delay, if there was one. */
function goOn({ abortCode }: Fault, headers: Metadata): Metadata {
  if (abortCode === undefined) return headers;
  throw new CallFailedError({ code: abortCode, details: 'Aborted by fault injection' });
}
