import type { ChannelOptions } from '../grpc-js';
import type { EndpointsResource } from '../resources/endpoints/endpoints';
import type { Clock } from '../util/clock';
import { createHandle, type Handle } from '../util/handle';
import { silentLogger, type Logger } from '../util/logger';
import { err, type Result } from '../util/result';
import type * as Waits from './dns-waits';
import type * as HostDns from './host-dns-watch';
import type { DnsWatch } from './host-dns-watch';
import type { DnsTarget } from './observations';
import { WatchSet } from './watch-set';
import { lazy } from '../util/lazy';
import { withSince } from '../util/since';
import type { ResourceSource, ResourceWatcher, WatchError } from '../xds-client/resource-watcher';

/** Loaded for the first name, of which most targets have none. */
const loadHostDns = lazy<typeof HostDns>(() => require('./host-dns-watch'));
const loadWaits = lazy<typeof Waits>(() => require('./dns-waits'));

/** Resolves DNS names; `onResult` is never called before `start` has returned. */
export interface DnsWatcherFactory {
  start(target: DnsTarget, onResult: (result: Result<EndpointsResource, string>) => void): DnsWatch;
}

/**
 * Creates watches of DNS names through the resolver of grpc-js.
 *
 * @param logger For answers that cannot be used as a whole. Default: none.
 */
export function createDnsWatcherFactory(
  options: ChannelOptions,
  logger: Logger = silentLogger,
): DnsWatcherFactory {
  // Service configs are ignored (gRFC A37), so they need not be queried.
  const resolverOptions = { ...options, 'grpc.service_config_disable_resolution': 1 };
  return {
    start: (target, onResult) =>
      new (loadHostDns().HostDnsWatch)(target, onResult, resolverOptions, logger),
  };
}

/** Constructor options of the watches. */
export interface DnsWatchesOptions {
  readonly dns: DnsWatcherFactory;
  /** The queue in which names are watched and reports made. */
  readonly source: Pick<ResourceSource, 'run'>;
  /** Called after each report. */
  readonly onReport: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Names the management servers and the node, as `describeServers` does. */
  readonly clientNote: string;
  /** Returns the clusters that use a name. */
  readonly usersOf: (key: string) => readonly string[];
}

/** The watches of the DNS names of one target. A name without an answer in time counts as failed until there is one. */
export class DnsWatches {
  readonly set: WatchSet<DnsTarget, EndpointsResource>;
  private readonly started = new Set<DnsWatch>();
  private waits: Waits.DnsWaits | undefined;

  constructor(private readonly options: DnsWatchesOptions) {
    this.set = new WatchSet<DnsTarget, EndpointsResource>(
      (key, watcher, target) => this.start(key, watcher, target),
      options.onReport,
    );
  }

  /** Returns one line for each name without an answer, and one with the number of those beyond `atMost`. */
  waitingFor(atMost: number): readonly string[] {
    return this.waits?.lines(atMost) ?? [];
  }

  /** Describes what a name waits for, as a sentence; `undefined` if it does not. */
  describeWait(key: string): string | undefined {
    return this.waits?.line(key);
  }

  /** Requests that every name is resolved again. */
  requestReresolution(): void {
    for (const watch of this.started) watch.requestReresolution();
  }

  private start(
    key: string,
    watcher: ResourceWatcher<EndpointsResource>,
    target: DnsTarget,
  ): Handle {
    const { dns, source, clock } = this.options;
    const waits = (this.waits ??= new (loadWaits().DnsWaits)(this.options));
    let failingSinceMs: number | undefined;
    const onResult = (result: Result<EndpointsResource, string>, sinceMs = clock.now()) => {
      if (result.ok) {
        failingSinceMs = undefined;
        source.run(() => watcher.onResourceChanged(result));
        return;
      }
      const message = withSince(result.error, (failingSinceMs ??= sinceMs));
      source.run(() => this.onError(key, watcher, { kind: 'unreachable', message }));
    };
    const wait = waits.begin({
      key,
      resolver: () => watch.resolverName ?? 'the DNS resolver',
      onTimeout: (reason, sinceMs) => onResult(err(reason), sinceMs),
    });
    const watch = dns.start(target, (result) => {
      waits.onAnswer(key);
      onResult(result);
    });
    this.started.add(watch);
    return createHandle(() => {
      this.started.delete(watch);
      wait.release();
      watch.release();
    });
  }

  /** An error leaves the last result in use (gRFC A37). */
  private onError(
    key: string,
    watcher: ResourceWatcher<EndpointsResource>,
    error: WatchError,
  ): void {
    if (this.set.get(key)?.kind === 'value') watcher.onAmbientError(error);
    else watcher.onResourceChanged(err(error));
  }
}
