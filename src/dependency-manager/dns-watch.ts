import type { ChannelOptions } from '../grpc-js';
import type { EndpointsResource } from '../resources/endpoints/endpoints';
import { createHandle } from '../util/handle';
import { silentLogger, type Logger } from '../util/logger';
import type { Result } from '../util/result';
import type * as HostDns from './host-dns-watch';
import type { DnsWatch } from './host-dns-watch';
import { waiting, type DnsTarget, type Observed } from './observations';
import { WatchSet, type RunInSlices } from './watch-set';
import { late } from '../util/late';
import type { ResourceSource } from '../xds-client/resource-watcher';

/** Loaded for the first name, of which most targets have none. */
const loadHostDns = late<typeof HostDns>(() => require('./host-dns-watch'));

/** Resolves DNS names; `onResult` is never called before `start` has returned. */
export interface DnsWatcherFactory {
  start(target: DnsTarget, onResult: (result: Result<EndpointsResource, string>) => void): DnsWatch;
}

/**
 * Creates watches of DNS names through the resolver of the host library.
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

export interface DnsWatchesOptions {
  readonly dns: DnsWatcherFactory;
  /** The queue in which names are watched and reports made. */
  readonly source: Pick<ResourceSource, 'run'>;
  /** Called after each report, with the key of the name. */
  readonly onReport: (key: string) => void;
  readonly runInSlices: RunInSlices;
}

/** The watches of the DNS names of one target. */
export class DnsWatches {
  readonly set: WatchSet<DnsTarget, Observed<EndpointsResource>>;
  private readonly started = new Set<DnsWatch>();

  constructor({ dns, source, onReport, runInSlices }: DnsWatchesOptions) {
    this.set = new WatchSet<DnsTarget, Observed<EndpointsResource>>(
      waiting,
      (_key, target, report) => {
        const watch = dns.start(target, (result) =>
          source.run(() => report((before) => nextDnsObservation(before, result))),
        );
        this.started.add(watch);
        return createHandle(() => {
          this.started.delete(watch);
          watch.release();
        });
      },
      onReport,
      runInSlices,
    );
  }

  /** Requests that every name is resolved again. */
  requestReresolution(): void {
    for (const watch of this.started) watch.requestReresolution();
  }
}

/** Returns the observation after a result: an error leaves the last result in use (gRFC A37). */
function nextDnsObservation(
  before: Observed<EndpointsResource>,
  result: Result<EndpointsResource, string>,
): Observed<EndpointsResource> {
  if (result.ok) return { kind: 'value', value: result.value, ambient: undefined };
  const error = { kind: 'unreachable', message: result.error } as const;
  return before.kind === 'value' ? { ...before, ambient: error } : { kind: 'error', error };
}
