import type { ApiFailure } from './api/kubernetes-api';
import type { NextStep } from './api/reflector-steps';
import { ruleFor, type WatchedKind, type WatchedResource } from './api/watched-kinds';
import type { ObjectKey } from './cluster-objects';
import type { ObjectProblem } from './read-objects';
import type { Clock } from '../../../src/util/clock';
import { inSeconds } from '../../../src/util/duration';
import type { Handle } from '../../../src/util/handle';
import type { Logger } from '../../../src/util/logger';
import { toIso } from '../../../src/util/since';
import { joinFirst, sanitizeText } from '../../../src/util/text';
import { afterRunning } from '../../../src/util/running-time';

/** Milliseconds for which the API server may be away without a line, while what is known is served. */
const OUTAGE_MS = 30_000;
/** Milliseconds after which saved objects are served if the cluster has not been listed. */
export const SAVED_START_MS = 5000;
/** Objects whose problems are remembered, so that each is logged once. */
const MAX_PROBLEMS = 1000;

/** What is watched: a kind, in one namespace or in all. */
export interface WatchName {
  readonly resource: WatchedResource;
  readonly namespace: string | undefined;
}

/** The last failure of a watch that does not work. */
interface Failing {
  readonly cause: NextStep['cause'];
  readonly message: string;
  /** What has been logged since it worked last. */
  readonly said: Set<NextStep['cause']>;
}

/** A time in which a watch does not work that should. */
interface Outage {
  readonly sinceMs: number;
  /** Milliseconds since the epoch. */
  readonly sinceTime: number;
  isSaid: boolean;
  readonly timer: Handle;
}

export interface WatchReportOptions {
  readonly address: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether something is served. */
  readonly isServing: () => boolean;
  /** When the objects were saved, in ISO 8601, that are served after 5 s; undefined if there are none. */
  readonly savedAt: () => string | undefined;
}

/** What is logged of the watches of a cluster: each failure once, however often it is tried again, and its end. */
export class WatchReport {
  private readonly failing = new Map<string, Failing>();
  private readonly problems = new Map<string, string>();
  private outage: Outage | undefined;

  constructor(private readonly options: WatchReportOptions) {}

  /** Since when a watch does not work that should, in milliseconds of the monotonic clock; undefined if all work. */
  get failingSinceMs(): number | undefined {
    return this.outage?.sinceMs;
  }

  /** Handles a request that has failed. */
  onFailure(watch: WatchName, cause: NextStep['cause'], failure: ApiFailure): void {
    const name = describe(watch);
    const said = this.failing.get(name)?.said ?? new Set();
    this.failing.set(name, { cause, message: failure.message, said });
    if (!said.has(cause)) this.logCause(watch, cause, failure);
    said.add(cause);
    if (isOutage(cause)) this.beginOutage();
    else this.endOutage();
  }

  /** Handles that a watch works. */
  onWorking(watch: WatchName): void {
    const name = describe(watch);
    const before = this.failing.get(name);
    if (before === undefined) return;
    this.failing.delete(name);
    for (const cause of before.said) {
      const text = endOf(cause);
      if (text === undefined) continue;
      this.options.logger.info(() => `kubernetes: ${name} ${text}`, {
        event: 'kubernetes-recovered',
      });
    }
    this.endOutage();
  }

  /** Handles an object that cannot be read. */
  onUnreadable({ resource }: WatchName, { key = '?', violations }: ObjectProblem): void {
    const error = sanitizeText(joinFirst(violations, String, '; '));
    const name = `${resource.kind} ${sanitizeText(key)}`;
    if (this.problems.get(name) === error) return;
    // Those without a key are one for each kind.
    if (key === '?' || this.problems.size < MAX_PROBLEMS) this.problems.set(name, error);
    const line = () =>
      `kubernetes: ${name} is not read, and what was received of it before stays in use: ${error}`;
    this.options.logger.error(line, { event: 'kubernetes-object-refused', name, error });
  }

  /** Handles that an object is read, or is gone. */
  onReadable(kind: WatchedKind, key: ObjectKey): void {
    if (this.problems.size > 0) this.problems.delete(`${kind} ${key}`);
  }

  /** Ends without a further line. */
  stop(): void {
    this.outage?.timer.release();
    this.outage = undefined;
  }

  private logCause(watch: WatchName, cause: NextStep['cause'], { message }: ApiFailure): void {
    const { logger } = this.options;
    const name = describe(watch);
    if (cause === 'missing') {
      const line = () =>
        `kubernetes: ${name} are not installed in the cluster, and have no effect until they are`;
      logger.info(line, { event: 'kubernetes-waiting' });
      return;
    }
    if (cause !== 'forbidden') return;
    const { namespace, resource } = watch;
    const loss =
      resource.lossIfForbidden === undefined ? '' : `; ${resource.lossIfForbidden} until then`;
    const role = namespace === undefined ? 'ClusterRole' : `Role in the namespace ${namespace}`;
    const line = () =>
      `kubernetes: this process may not list and watch ${name}: add the rule ${ruleFor(resource)} to its ${role}${loss}: ${message}`;
    logger.error(line, { event: 'kubernetes-failed', error: message });
  }

  private beginOutage(): void {
    const { clock, isServing } = this.options;
    if (this.outage !== undefined) {
      if (!isServing()) this.sayOutage();
      return;
    }
    const timer = afterRunning(clock, () => this.sayOutage(), OUTAGE_MS);
    const [sinceMs, sinceTime] = [clock.monotonicMs(), clock.now()];
    this.outage = { sinceMs, sinceTime, isSaid: false, timer };
    // A start that waits looks like one that hangs.
    if (!isServing()) this.sayOutage();
  }

  private sayOutage(): void {
    const { outage } = this;
    if (outage === undefined || outage.isSaid) return;
    outage.isSaid = true;
    const { address, clock, logger, isServing, savedAt } = this.options;
    const names = [...this.failing].filter(([, { cause }]) => isOutage(cause));
    const [cause, message] = [names[0]?.[1].cause, names[0]?.[1].message ?? ''];
    const lastedMs = clock.monotonicMs() - outage.sinceMs;
    const line = () => {
      const what = `${address} cannot be watched (${joinFirst(names.map(([name]) => name))})`;
      const effect = isServing()
        ? `, for ${inSeconds(lastedMs)} since ${toIso(outage.sinceTime)}; what was known then is served on`
        : `: no client is served until it can${orSaved(savedAt())}`;
      return `kubernetes: ${what}${effect}: ${message}; ${adviceFor(cause)}`;
    };
    logger.error(line, { event: 'kubernetes-failed', serverUri: address, error: message });
  }

  private endOutage(): void {
    const { outage } = this;
    if (outage === undefined) return;
    if ([...this.failing.values()].some(({ cause }) => isOutage(cause))) return;
    this.stop();
    if (!outage.isSaid) return;
    const { address, clock, logger } = this.options;
    const lastedMs = clock.monotonicMs() - outage.sinceMs;
    logger.info(() => `kubernetes: ${address} is watched again, after ${inSeconds(lastedMs)}`, {
      event: 'kubernetes-recovered',
      serverUri: address,
    });
  }
}

function orSaved(savedAt: string | undefined): string {
  if (savedAt === undefined) return '';
  return `, or the objects that were saved at ${savedAt} are, after ${inSeconds(SAVED_START_MS)}`;
}

/** Whether the API server or the credentials are the cause, and not what a role or the cluster lacks. */
function isOutage(cause: NextStep['cause']): boolean {
  return cause === 'failed' || cause === 'unauthorized';
}

function endOf(cause: NextStep['cause']): string | undefined {
  if (cause === 'missing') return 'are installed now';
  return cause === 'forbidden' ? 'can be listed and watched now' : undefined;
}

function adviceFor(cause: NextStep['cause'] | undefined): string {
  return cause === 'unauthorized'
    ? 'check that its token or certificate has not expired and is of this cluster'
    : 'check that the API server runs and that this process can reach it';
}

function describe({ resource, namespace }: WatchName): string {
  const name = resource.group === '' ? resource.resource : `${resource.resource}.${resource.group}`;
  return namespace === undefined ? name : `${name} in ${namespace}`;
}
