import { Status } from '../../grpc-js';
import { CallerDetails, type CallerDetail, type Refusal } from '../../authorization/refusal';
import { readHeader, type AuthorizationRequest, serverHeaders } from '../../authorization/request';
import type { HttpFilterRegistry } from '../../http-filters/registry';
import { enabledFilters } from '../../http-filters/filter-overrides';
import { ServerFilterChain, type NamedExplanation } from '../../http-filters/server-filter-chain';
import type { Judgement, ServerRequest } from '../../http-filters/server-filter';
import type { HttpFilterInstance } from '../../resources/listener/listener';
import type { MatchMeter } from '../../resources/matching/match-meter';
import type {
  HttpFilterOverrides,
  Route,
  RouteConfigResource,
  VirtualHost,
} from '../../resources/route-config/route-config';
import { actionName } from '../../routing/action-name';
import { MatchedCall } from '../../routing/matched-call';
import { RouteIndex } from '../../routing/route-index';
import { VirtualHostIndex } from '../../routing/virtual-host-index';
import { errorMessage } from '../../util/errors';
import { madeOnce } from '../../util/made-once';
import type { Random } from '../../util/random';
import { quoteName, quoteText } from '../../util/text';
import { describeWrongActions } from './wrong-actions';

/** Constructor options of a table. */
interface ServerRouteTableOptions {
  readonly routeConfig: RouteConfigResource;
  /** Those of the filter chain. */
  readonly httpFilters: readonly HttpFilterInstance[];
  /** Creates the filters. */
  readonly registry: HttpFilterRegistry;
  /** The management server and the node, such as `management server "xds:443", node "n"`, for the reasons of refusals. */
  readonly origin: string;
  /** Draws the shares of routes. */
  readonly random: Random;
  /** Counts the steps of matching a request, those of the regular expressions of the routes included. */
  readonly meter: MatchMeter;
}

/** What decides about a request: its virtual host and route, as far as there are any, and the filters that have judged it. */
export interface ExplainedDecision {
  readonly virtualHost?: VirtualHost;
  readonly route?: Route;
  readonly filters: readonly NamedExplanation[];
  /** `undefined` if the request is passed on. */
  readonly refusal: Refusal | undefined;
}

/** A virtual host with the index of its routes. */
interface HostEntry {
  readonly virtualHost: VirtualHost;
  readonly index: RouteIndex;
}

/** Made once for a virtual host that an update leaves. */
const entryOf = madeOnce((virtualHost: VirtualHost): HostEntry => ({
  virtualHost,
  index: new RouteIndex(virtualHost.routes),
}));

/** A route configuration as it is served. */
interface IndexedRoutes {
  readonly hosts: VirtualHostIndex<HostEntry>;
  readonly problem: string | undefined;
}

/** Made once for a route configuration that several chains have in common. */
const indexRoutes = madeOnce((routeConfig: RouteConfigResource): IndexedRoutes => {
  const { virtualHosts } = routeConfig;
  return {
    hosts: new VirtualHostIndex(virtualHosts, virtualHosts.map(entryOf)),
    problem: describeWrongActions(describeRoutes(routeConfig), virtualHosts),
  };
});

/** Of routes and virtual hosts without overrides. */
const NO_OVERRIDES: HttpFilterOverrides = new Map();

/**
 * The routes of a filter chain of a server, which decide about each request (gRFC A36). Filters are created when a request first
 * needs them, and are kept over updates that leave their configs.
 */
export class ServerRouteTable {
  private readonly call: MatchedCall<AuthorizationRequest>;
  private readonly routes: IndexedRoutes;
  /** By the overrides of the route, or by those of the virtual host if the route has none. */
  private readonly filters = new Map<HttpFilterOverrides, ServerFilterChain>();

  constructor(private readonly options: ServerRouteTableOptions) {
    const { random, meter, routeConfig } = options;
    this.call = new MatchedCall(random, serverHeaders, meter);
    this.routes = indexRoutes(routeConfig);
  }

  /** Describes the routes that no request can use, and the cure, for the log; `undefined` if there are none. */
  get problem(): string | undefined {
    return this.routes.problem;
  }

  /**
   * Returns the status with which a request ends, by the virtual host of its `:authority`, its route, the filters of that, and at
   * last its action (gRFC A36); `undefined` if the request is passed on. Never throws or rejects: what cannot be evaluated is refused.
   */
  judge(request: ServerRequest): Judgement {
    try {
      return this.decide(request);
    } catch (error) {
      const details = CallerDetails.NOT_JUDGED;
      const reason = `${details}: ${errorMessage(error)}`;
      return { code: Status.INTERNAL, details, reason };
    }
  }

  /** Explains what {@link judge} decides, with what each step has found. Nothing is audited or logged. */
  explain(request: AuthorizationRequest): ExplainedDecision {
    const host = this.findHost(request);
    if ('code' in host) return { refusal: host, filters: [] };
    const { virtualHost } = host;
    const route = this.findRoute(host, request);
    if ('code' in route) return { virtualHost, refusal: route, filters: [] };
    const filters = this.filtersOf(route, virtualHost).explainEach(request);
    const refusal = filters.at(-1)?.refusal ?? this.checkAction(route, host, request);
    return { virtualHost, route, filters, refusal };
  }

  private decide(request: ServerRequest): Judgement {
    const host = this.findHost(request);
    if ('code' in host) return host;
    const route = this.findRoute(host, request);
    if ('code' in route) return route;
    const judgement = this.filtersOf(route, host.virtualHost).onRequest(request);
    return judgement instanceof Promise
      ? judgement.then((refusal) => refusal ?? this.checkAction(route, host, request))
      : (judgement ?? this.checkAction(route, host, request));
  }

  /** Returns the virtual host of the authority, or the refusal of a request without one. */
  private findHost(request: AuthorizationRequest): HostEntry | Refusal {
    const authority = readHeader(':authority', request) ?? '';
    return (
      this.routes.hosts.find(authority) ??
      this.unavailable(
        CallerDetails.NO_VIRTUAL_HOST,
        `No virtual host of ${this.name} has the domain ${quoteText(authority)}: add one, or the domain "*"`,
      )
    );
  }

  /** Returns the first route that matches, or the refusal of a request whose route is not known. */
  private findRoute(host: HostEntry, request: AuthorizationRequest): Route | Refusal {
    const { meter } = this.options;
    let route: Route | undefined;
    meter.begin();
    this.call.begin(request.path, request);
    try {
      route = host.index.find(this.call);
    } finally {
      this.call.end();
      meter.end();
    }
    const { exceeded } = meter;
    if (exceeded === undefined && route !== undefined) return route;
    const where = this.describeHost(host);
    const path = quoteText(request.path);
    if (exceeded === undefined) {
      return this.unavailable(
        CallerDetails.NO_ROUTE,
        `No route of ${where} matches ${path}: add one`,
      );
    }
    const reason = meter.describe(exceeded);
    return this.unavailable(
      CallerDetails.ROUTE_NOT_KNOWN,
      `The route of ${where} for ${path} cannot be determined: ${reason}`,
    );
  }

  private checkAction(
    { action }: Route,
    host: HostEntry,
    { path }: AuthorizationRequest,
  ): Refusal | undefined {
    if (action.kind === 'non-forwarding') return undefined;
    return this.unavailable(
      CallerDetails.WRONG_ACTION,
      `The route of ${this.describeHost(host)} for ${quoteText(path)} has the action ${actionName(action)}, ` +
        'which a gRPC server cannot carry out: use the action non_forwarding_action',
    );
  }

  private filtersOf(route: Route, virtualHost: VirtualHost): ServerFilterChain {
    const ofHost = orNone(virtualHost.filterOverrides);
    const ofRoute = orNone(route.filterOverrides);
    const key = ofRoute === NO_OVERRIDES ? ofHost : ofRoute;
    const known = this.filters.get(key);
    if (known !== undefined) return known;
    const { httpFilters, registry } = this.options;
    const created = ServerFilterChain.create(
      enabledFilters(httpFilters, [ofRoute, ofHost]),
      registry,
    );
    this.filters.set(key, created);
    return created;
  }

  private unavailable(details: CallerDetail, fact: string): Refusal {
    const reason = `${fact}; configured by ${this.options.origin}`;
    return { code: Status.UNAVAILABLE, details, reason };
  }

  private describeHost({ virtualHost }: HostEntry): string {
    return `virtual host ${quoteText(virtualHost.name)} of ${this.name}`;
  }

  /** Names the routes, for the log. */
  get name(): string {
    return describeRoutes(this.options.routeConfig);
  }
}

function orNone(overrides: HttpFilterOverrides): HttpFilterOverrides {
  return overrides.size === 0 ? NO_OVERRIDES : overrides;
}

/** Routes inside of a listener may have no name. */
function describeRoutes({ name }: RouteConfigResource): string {
  return name === '' ? 'the routes of the listener' : `RouteConfiguration ${quoteName(name)}`;
}
