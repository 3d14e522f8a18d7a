import type { ServerConfig } from '../../bootstrap/bootstrap';
import type { Clock } from '../../util/clock';
import { errorStack } from '../../util/errors';
import { createHandle, type Handle } from '../../util/handle';
import { lazy } from '../../util/lazy';
import { Serializer } from '../../util/serializer';
import { DRAIN_TIMEOUT_MS } from '../limits';
import type { ClusterId, ClusterLoadReference } from './cluster-load';
import type * as Lrs from './lrs-stream';
import type { MetricRules } from './metrics';

/** Loaded with the first cluster whose load is reported. */
const loadLrs = lazy<typeof Lrs>(() => require('./lrs-stream'));

/** Constructor options of a reporter. */
export type LoadReporterOptions = Omit<Lrs.LrsStreamOptions, 'server' | 'serializer'>;

/** A cluster whose load is reported, and its server. */
export interface LoadSource extends ClusterId {
  readonly server: ServerConfig;
  /** `lrs_report_endpoint_metrics` of the cluster. */
  readonly metrics: readonly string[];
}

/** A reference to the load of a cluster. */
export interface LoadReference extends ClusterLoadReference {
  /** Which metrics of backends are reported; `undefined` if none are. */
  readonly metrics: MetricRules | undefined;
}

/**
 * Reports the load of clusters over LRS (gRFC A27): one stream for each server named by a cluster, which exists only
 * while a cluster of that server is in use.
 */
export class LoadReporter {
  private readonly streams = new Map<string, Lrs.LrsStream>();
  private readonly serializer: Serializer;

  constructor(private readonly options: LoadReporterOptions) {
    this.serializer = new Serializer((error) =>
      options.logger.error(() => `unexpected error in load reporting: ${errorStack(error)}`),
    );
  }

  /** Acquires the load of a cluster, which is reported until the release. */
  acquire({ server, cluster, edsServiceName, metrics }: LoadSource): LoadReference {
    let stream = this.streams.get(server.key);
    if (stream === undefined) {
      const { LrsStream } = loadLrs();
      stream = new LrsStream({ ...this.options, server, serializer: this.serializer });
      this.streams.set(server.key, stream);
    }
    return stream.acquire({ cluster, edsServiceName }, metrics);
  }
}

/** The LRS streams of a process that are in use, from their start until their last report. */
export class LoadStreams {
  private readonly streams = new Set<Lrs.LrsStream>();
  private readonly onRemoved = new Set<() => void>();

  constructor(private readonly clock: Pick<Clock, 'setTimer'>) {}

  /** Adds a stream until the handle is released. */
  add(stream: Lrs.LrsStream): Handle {
    this.streams.add(stream);
    return createHandle(() => {
      this.streams.delete(stream);
      for (const onRemoved of [...this.onRemoved]) onRemoved();
    });
  }

  /** Ends the streams that are in use at once. */
  close(): void {
    for (const stream of [...this.streams]) stream.close();
  }

  /**
   * Waits for the end of the streams that are in use now. They are finished a little before the timeout, for which calls
   * in progress are waited, and closed after it.
   *
   * @param timeoutMs Milliseconds.
   * @returns A promise that is never rejected.
   */
  end(timeoutMs: number): Promise<void> {
    const left = new Set(this.streams);
    if (left.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const keepsAlive = true;
      const after = (delayMs: number, act: (stream: Lrs.LrsStream) => void) =>
        this.clock.setTimer(() => [...left].forEach(act), delayMs, keepsAlive);
      const timers = [
        after(Math.max(0, timeoutMs - DRAIN_TIMEOUT_MS), (stream) => stream.finish()),
        after(timeoutMs, (stream) => stream.close()),
      ];
      const onRemoved = () => {
        for (const stream of left) if (!this.streams.has(stream)) left.delete(stream);
        if (left.size > 0) return;
        this.onRemoved.delete(onRemoved);
        for (const timer of timers) timer.release();
        resolve();
      };
      this.onRemoved.add(onRemoved);
    });
  }
}
