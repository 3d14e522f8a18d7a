import type { ClusterResource } from '../resources/cluster/cluster';
import type { EndpointsResource } from '../resources/endpoints/endpoints';
import type { ListenerResource } from '../resources/listener/listener';
import type { RouteConfigResource } from '../resources/route-config/route-config';
import type { WatchError } from '../xds-client/resource-watcher';
import { joinHostPort } from '../util/text';

/** The last report of a watch. */
export type WatchReport<T> =
  /** Nothing yet. */
  | { readonly kind: 'waiting' }
  /** A value in use; `ambient` is an error at the same time (gRFC A88). */
  | {
      readonly kind: 'value';
      readonly value: T;
      readonly ambient: WatchError | undefined;
    }
  /** There is no value to use. */
  | { readonly kind: 'error'; readonly error: WatchError };

/** The report of a watch that has received nothing. */
export const waiting = { kind: 'waiting' } as const;

/** The last reports of the watches of one kind; `undefined` for a name that is not watched. */
export interface Reports<T> {
  get(name: string): WatchReport<T> | undefined;
}

/** The observations of all watches. */
export interface Observations {
  readonly listener: WatchReport<ListenerResource>;
  readonly routeConfigs: Reports<RouteConfigResource>;
  readonly clusters: Reports<ClusterResource>;
  /** By the name of the assignment. */
  readonly endpoints: Reports<EndpointsResource>;
  /** By `host:port` as given by `dnsTargetKey`. */
  readonly dns: Reports<EndpointsResource>;
}

/** The names that must be watched, besides the listener. */
export interface NeededWatches {
  readonly routeConfigs: ReadonlySet<string>;
  readonly clusters: ReadonlySet<string>;
  readonly endpoints: ReadonlySet<string>;
  readonly dns: ReadonlyMap<string, DnsTarget>;
}

/** A DNS name of a cluster (gRFC A37). */
export interface DnsTarget {
  readonly host: string;
  readonly port: number;
}

/** Returns the key of a DNS name among the observations. */
export function dnsTargetKey({ host, port }: DnsTarget): string {
  return joinHostPort(host, port);
}
