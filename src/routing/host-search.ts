import type {
  RouteConfigChange,
  RouteConfigResource,
  VirtualHost,
} from '../resources/route-config/route-config';
import { runSteps, type Steps } from '../util/steps';
import { findVirtualHost, isStillFound } from './virtual-host';

/** Domains of changed virtual hosts that are compared at once, rather than in steps. */
const MAX_DOMAINS_AT_ONCE = 1024;

/** Searches the virtual host of a target, once for each version of the routes. */
export class HostSearch {
  private latest:
    | { readonly routeConfig: RouteConfigResource; readonly virtualHost: VirtualHost | undefined }
    | undefined;

  /** @param host The data-plane authority, by which the virtual host is chosen. */
  constructor(private readonly host: string) {}

  /** Searches in steps, so that {@link find} has the result at once. */
  *prepare(routeConfig: RouteConfigResource): Steps<void> {
    const virtualHost = yield* findVirtualHost(routeConfig, this.host);
    this.latest = { routeConfig, virtualHost };
  }

  /** Returns the virtual host of the target; `undefined` if there is none. */
  find(routeConfig: RouteConfigResource): VirtualHost | undefined {
    if (this.latest?.routeConfig !== routeConfig) runSteps(this.prepare(routeConfig));
    return this.latest?.virtualHost;
  }

  /** Whether the virtual host found in one version is surely that of the next. */
  isStillFound(found: VirtualHost, next: RouteConfigResource, change: RouteConfigChange): boolean {
    const { latest, host } = this;
    if (latest?.routeConfig === next) return latest.virtualHost === found;
    let domains = 0;
    for (const virtualHost of change.present) domains += virtualHost.domains.length;
    return domains <= MAX_DOMAINS_AT_ONCE && isStillFound(found, host, change);
  }
}
