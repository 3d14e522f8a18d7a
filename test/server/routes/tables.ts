// Tables of routes of a server, made of resources as JSON, and requests for them.

import { DEFAULT_LIMITS } from '../../../src/bootstrap/limits';
import { defineHttpFilter } from '../../../src/http-filters/define-http-filter';
import { createCompositeFilter } from '../../../src/http-filters/composite/composite-filter';
import { createFaultFilter } from '../../../src/http-filters/fault/fault-filter';
import { AuditLoggerRegistry } from '../../../src/authorization/audit-logger';
import { createRbacFilter } from '../../../src/http-filters/rbac/rbac-filter';
import { HttpFilterRegistry } from '../../../src/http-filters/registry';
import { routerFilter as router } from '../../../src/http-filters/router/router-filter';
import type { Refusal } from '../../../src/authorization/refusal';
import type { SocketListener } from '../../../src/resources/listener/listener';
import { MatchMeter } from '../../../src/resources/matching/match-meter';
import { createResourceTypes } from '../../../src/resources/resource-types';
import { Re2Compiler } from '../../../src/resources/matching/re2-compiler';
import { ServerRouteTable } from '../../../src/server/routes/server-route-table';
import { silentLogger } from '../../../src/util/logger';
import { judgedAtOnce, requestOf } from '../../authorization/rbac-world';
import { extensions, valueOf } from '../../resources/decode-json';
import { FakeClock } from '../../support/fake-clock';
import type { ReferenceRequest } from '../../support/reference-authorization';
import { routerFilter, type Json } from '../../support/xds-json';

const TYPE = 'type.googleapis.com';

export const ORIGIN = 'management server "xds:443", node "n"';

export const RBAC = `${TYPE}/envoy.extensions.filters.http.rbac.v3.RBAC`;
const RBAC_PER_ROUTE = `${TYPE}/envoy.extensions.filters.http.rbac.v3.RBACPerRoute`;

/** Rules that deny the paths with a prefix. */
export const denyPrefix = (prefix: string): Json => ({
  action: 'DENY',
  policies: {
    denied: {
      permissions: [{ url_path: { path: { prefix } } }],
      principals: [{ any: true }],
    },
  },
});

/** An RBAC filter of a listener. */
export const rbac = (name: string, rules?: Json): Json => ({
  name,
  typed_config: { '@type': RBAC, ...(rules && { rules }) },
});

/** An override of an RBAC filter; without rules, it is off. */
export const rbacOverride = (rules?: Json): Json => ({
  '@type': RBAC_PER_ROUTE,
  ...(rules && { rbac: { rules } }),
});

/** A route that is served. */
export const served = (prefix: string, extra: Json = {}): Json => ({
  match: { prefix },
  non_forwarding_action: {},
  ...extra,
});

export const host = (name: string, domains: readonly string[], routes: readonly Json[]): Json => ({
  name,
  domains,
  routes,
});

/** The filters of a process, and what parses their listeners. */
export class ServerScene {
  random = 0;
  readonly meter: MatchMeter;
  readonly registry: HttpFilterRegistry;
  /** What the filter `acme.Probe` did with each request. */
  readonly probed: string[] = [];
  created = 0;
  private readonly type;

  constructor(limits = DEFAULT_LIMITS) {
    const random = () => this.random;
    this.meter = new MatchMeter(limits, silentLogger);
    const { meter } = this;
    const regexes = new Re2Compiler(limits, meter);
    const auditLoggers = new AuditLoggerRegistry();
    this.registry = new HttpFilterRegistry([
      router,
      createFaultFilter({ clock: new FakeClock(), random }),
      createRbacFilter({ regexes, meter, auditLoggers, logger: silentLogger }),
      this.probe(),
    ]);
    const { registry } = this;
    registry.register(createCompositeFilter({ filters: registry, random, meter }));
    const types = createResourceTypes({ ...extensions, httpFilters: registry, regexes });
    this.type = types.listener;
  }

  /** Parses a listener with one filter chain. @throws Error with the violations. */
  listener(filters: readonly Json[], hosts: readonly Json[], name = 'routes'): SocketListener {
    const manager = {
      '@type': `${TYPE}/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager`,
      route_config: { name, virtual_hosts: hosts },
      http_filters: [...filters, routerFilter],
    };
    return this.parse({
      name: 'inbound',
      address: { socket_address: { address: '0.0.0.0', port_value: 8080 } },
      filter_chains: [{ filters: [{ name: 'hcm', typed_config: manager }] }],
    });
  }

  /** Parses a listener. @throws Error with the violations. */
  parse(json: Json): SocketListener {
    const value = valueOf(this.type, json);
    if (value.kind !== 'socket') throw new Error('not a socket listener');
    return value;
  }

  table(filters: readonly Json[], hosts: readonly Json[], name?: string): ServerRouteTable {
    return this.tableOf(this.listener(filters, hosts, name));
  }

  tableOf({ filterChains: [chain] }: SocketListener): ServerRouteTable {
    const manager = chain?.httpConnectionManager;
    if (manager?.routes.kind !== 'inline') throw new Error('no inline routes');
    const options = { origin: ORIGIN, random: () => this.random, meter: this.meter };
    const { routes, httpFilters } = manager;
    const { routeConfig } = routes;
    return new ServerRouteTable({ ...options, routeConfig, httpFilters, registry: this.registry });
  }

  /** A filter of an application, which does what its config says. */
  private probe() {
    return defineHttpFilter<string, string>({
      configTypes: ['acme.Probe'],
      parseConfig: (input) => (input.kind === 'json' ? String(input.json['text']) : ''),
      parseOverride: (input) => (input.kind === 'json' ? String(input.json['text']) : ''),
      createServerFilter: (config, override) => {
        this.created++;
        const text = override ?? config;
        if (text === 'uncreated') throw new Error('no luck');
        if (text === 'nothing') return undefined;
        return {
          onRequest: ({ path }) => {
            this.probed.push(`${text} ${path}`);
            if (text === 'throws') throw new Error('oh');
          },
        };
      },
    });
  }
}

/** The filter `acme.Probe` of a listener. */
export const probe = (name: string, text = name): Json => ({ name, typed_config: probing(text) });

/** Its config, or an override of it. */
export const probing = (text: string): Json => ({
  '@type': `${TYPE}/xds.type.v3.TypedStruct`,
  type_url: 'acme.Probe',
  value: { text },
});

export const judge = (
  table: ServerRouteTable,
  path: string,
  authority = 'shop:8080',
  request: Partial<ReferenceRequest> = {},
): Refusal | undefined =>
  judgedAtOnce(
    table.judge(
      requestOf({ path, ...request, headers: { ':authority': authority, ...request.headers } }),
    ),
  );
