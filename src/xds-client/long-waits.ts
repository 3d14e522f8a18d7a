import type { Clock } from '../util/clock';
import type { Handle } from '../util/handle';
import type { ClientContext } from './client-context';
import { diagnostics } from './diagnostics';
import type { WatchedResource } from './watched-resource';
import { describePending, describeResource } from './xds-errors';
import { inSeconds } from '../util/duration';
import { afterRunning } from '../util/running-time';

/** Milliseconds after which a wait is reported: for a resource, a DNS name or a connection. */
export const LONG_WAIT_MS = 5000;

/** The number of long waits that have a line of their own in the log, of those that are reported together. */
const MAX_WAIT_LINES = 10;

/**
 * Reports resources that have been pending for long, of every target of a bootstrap and with one timer: in the log once
 * each, however many targets watch them, and on the diagnostics channel for each target.
 */
export class LongWaits {
  /** Since when the resources that were not reported have been pending, on the monotonic clock; the oldest first. */
  private readonly waits = new Map<WatchedResource, number>();
  /** Since when the resources that were logged as an error have been pending, by type and name. */
  private readonly logged = new Map<string, number>();
  private timer: Handle | undefined;

  constructor(private readonly context: ClientContext) {}

  /** Handles that a resource has become pending. */
  begin(resource: WatchedResource): void {
    this.waits.set(resource, this.context.clock.monotonicMs());
    this.timer ??= this.startTimer(LONG_WAIT_MS);
  }

  /** Handles that a resource is no longer pending, or no longer watched. */
  end(resource: WatchedResource): void {
    this.reportEnd(resource);
    this.waits.delete(resource);
    if (this.waits.size > 0) return;
    this.timer?.release();
    this.timer = undefined;
  }

  private startTimer(delayMs: number): Handle {
    const { clock, serializer } = this.context;
    return afterRunning(clock, () => serializer.run(() => this.onTimer()), delayMs);
  }

  private onTimer(): void {
    if (this.timer === undefined) return;
    this.timer = undefined;
    const long = new Map<WatchedResource, number>();
    const nowMs = this.context.clock.monotonicMs();
    for (const [resource, sinceMs] of this.waits) {
      const restMs = sinceMs + LONG_WAIT_MS - nowMs;
      if (restMs > 0) {
        this.timer = this.startTimer(restMs);
        break;
      }
      this.waits.delete(resource);
      long.set(resource, sinceMs);
    }
    this.report(long);
  }

  /** Logs that a resource has been received after it was reported, for the first target that has it. */
  private reportEnd({ type, name, id, accepted }: WatchedResource): void {
    if (this.logged.size === 0) return;
    const key = keyOf(type.typeUrl, name);
    const sinceMs = this.logged.get(key);
    if (sinceMs === undefined) return;
    this.logged.delete(key);
    if (accepted === undefined) return;
    const { clock, logger, node } = this.context;
    const nodeId = node.id;
    const text = () =>
      `${describeResource(id)}: received after ${inSeconds(clock.monotonicMs() - sinceMs)}`;
    logger.info(text, { event: 'resource-received', nodeId, typeUrl: type.typeUrl, name });
  }

  private report(waits: ReadonlyMap<WatchedResource, number>): void {
    const { clock, logger, node } = this.context;
    const nodeId = node.id;
    const { resourceWaiting } = diagnostics;
    const logged = new Set<string>();
    for (const [resource, sinceMs] of waits) {
      const { name, type, owner } = resource;
      const { typeUrl } = type;
      const { target } = owner;
      const key = keyOf(typeUrl, name);
      const describe = () => withBlock(owner.describeWait(resource), clock);
      if (!logged.has(key) && logged.size < MAX_WAIT_LINES) {
        const fields = { event: 'resource-waiting', nodeId, typeUrl, name };
        if (owner.serverFailures.length > 0) {
          logger.info(describe, fields);
        } else {
          logger.error(describe, fields);
          this.logged.set(key, sinceMs);
        }
      }
      logged.add(key);
      if (!resourceWaiting.hasSubscribers) continue;
      const about = { nodeId, target, typeUrl, name, serverUri: undefined };
      resourceWaiting.publish({ ...about, text: describe() });
    }
    const left = logged.size - MAX_WAIT_LINES;
    if (left > 0) logger.error(() => describePending(left));
  }
}

function keyOf(typeUrl: string, name: string): string {
  return `${typeUrl} ${name}`;
}

/** Returns the text with the time for which this process was blocked meanwhile, if it was. */
function withBlock(text: string, { eventLoop }: Clock): string {
  const block = eventLoop?.describeBlock(LONG_WAIT_MS);
  return block === undefined ? text : `${text}; ${block}`;
}
