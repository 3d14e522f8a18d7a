import {
  describeWrongActions,
  RbacConfig,
  type ServerWatch,
  type SocketListener,
} from 'grpc-xds/internal';
import { quoteText } from '../../../../src/util/text';

type RouteConfigResource = NonNullable<ReturnType<ServerWatch['routesOf']>>;
type FilterChain = NonNullable<SocketListener['defaultFilterChain']>;
type HttpFilterInstance = FilterChain['httpConnectionManager']['httpFilters'][number];
type Policy = NonNullable<RbacConfig['rules']>['policies'][number];
type Condition = Policy['permissions'];

/** A filter chain of a Listener, as `doctor` shows it. */
export interface DescribedChain {
  /** Such as `filter chain "x"`. */
  readonly subject: string;
  /** The certificate providers of its TLS. */
  readonly providers: readonly string[];
  /** The name of its routes, if they are not in the Listener itself. */
  readonly routeConfigName: string | undefined;
  /** Its TLS, and what each RBAC filter does. */
  readonly text: string;
}

/** Describes the filter chains of a Listener that a server would serve by. */
export function describeChains({
  filterChains,
  defaultFilterChain,
}: SocketListener): readonly DescribedChain[] {
  const chains = filterChains.map((chain) =>
    describeChain(`filter chain ${quoteText(chain.name)}`, chain),
  );
  if (defaultFilterChain !== undefined) {
    chains.push(describeChain('default filter chain', defaultFilterChain));
  }
  return chains;
}

function describeChain(subject: string, chain: FilterChain): DescribedChain {
  const { tls, httpConnectionManager } = chain;
  const { routes } = httpConnectionManager;
  return {
    subject,
    providers: tls === undefined ? [] : providersOf(tls),
    routeConfigName: routes.kind === 'rds' ? routes.routeConfigName : undefined,
    text: [describeTls(tls), ...policiesOf(chain)].join('; '),
  };
}

function providersOf({
  identity,
  clientValidation,
}: NonNullable<FilterChain['tls']>): readonly string[] {
  const roots = clientValidation?.rootCertificates;
  return roots?.kind === 'instance'
    ? [identity.instanceName, roots.instanceName]
    : [identity.instanceName];
}

function describeTls(tls: FilterChain['tls']): string {
  if (tls === undefined) return 'no TLS: the fallback credentials of the server are used';
  const { identity, clientValidation, requireClientCertificate } = tls;
  const own = `certificate of provider ${quoteText(identity.instanceName)}`;
  if (clientValidation === undefined) return `TLS, ${own}, clients without certificates`;
  const { rootCertificates: roots } = clientValidation;
  const signer =
    roots.kind === 'system' ? 'the system' : `provider ${quoteText(roots.instanceName)}`;
  const demand = requireClientCertificate ? 'required' : 'optional';
  return `TLS, ${own}, certificates of clients ${demand} and checked by the roots of ${signer}`;
}

/** What each RBAC filter of a chain does. */
function policiesOf({ httpConnectionManager }: FilterChain): readonly string[] {
  return httpConnectionManager.httpFilters.flatMap(({ name, config, disabled }) => {
    if (!(config instanceof RbacConfig)) return [];
    const { rules } = config;
    const count = rules?.policies.length ?? 0;
    const isOff = disabled ? ', unless an override enables it' : '';
    const effect =
      rules === undefined
        ? 'has no rules'
        : `${rules.action === 'allow' ? 'ALLOW' : 'DENY'} by ${count} ${count === 1 ? 'policy' : 'policies'}`;
    return [`RBAC ${quoteText(name)}: ${effect}${isOff}`];
  });
}

/** Returns a route configuration that is not in the Listener itself; `undefined` if it is not known. */
type FindRoutes = (name: string) => RouteConfigResource | undefined;

/** Describes what of a valid Listener of a server has no effect, or another one than it seems to have, each with the next step. */
export function describeUseless(
  listener: SocketListener,
  findRoutes: FindRoutes = () => undefined,
): readonly string[] {
  const { filterChains, defaultFilterChain, unmatchable } = listener;
  const warnings = unmatchable.map(
    ({ name, criterion }) =>
      `filter chain ${quoteText(name)} matches no connection of a gRPC server, because of ${criterion}: ` +
      'choose by prefix_ranges, source_type, source_prefix_ranges or source_ports, or remove it',
  );
  if (!listener.isTcp) {
    warnings.push(
      'no gRPC server uses it, since it is not for TCP: set protocol TCP in its address',
    );
  }
  const named: (readonly [string, FilterChain])[] = filterChains.map((chain) => [
    `filter chain ${quoteText(chain.name)}`,
    chain,
  ]);
  if (defaultFilterChain !== undefined) named.push(['default_filter_chain', defaultFilterChain]);
  for (const [subject, chain] of named) {
    for (const warning of warningsOf(chain, findRoutes)) warnings.push(`${subject}: ${warning}`);
  }
  return warnings;
}

function warningsOf(
  { tls, httpConnectionManager }: FilterChain,
  findRoutes: FindRoutes,
): readonly string[] {
  const { httpFilters, routes } = httpConnectionManager;
  const known = routes.kind === 'inline' ? routes.routeConfig : findRoutes(routes.routeConfigName);
  const isAsked = tls?.clientValidation !== undefined;
  const stranger = isAsked ? undefined : tls === undefined ? PLAIN_TEXT : NO_CERTIFICATES;
  const warnings = tls === undefined ? [NO_TLS] : [];
  for (const filter of httpFilters) {
    const subject = `HTTP filter ${quoteText(filter.name)}`;
    for (const warning of describeFilter(filter, known, stranger)) {
      warnings.push(`${subject}: ${warning}`);
    }
  }
  const wrong = known && describeWrongActions(subjectOf(known), known.virtualHosts);
  return wrong === undefined ? warnings : [...warnings, wrong];
}

const NO_TLS =
  'it has no TLS, so that clients have no identity, unless the fallback credentials of the server are TLS: ' +
  'PERMISSIVE of Istio arrives so; use STRICT for mutual TLS';

const PLAIN_TEXT =
  'it demands a principal, and clients in plain text have none: add a transport_socket with mutual TLS (STRICT)';

const NO_CERTIFICATES =
  'it demands a principal, and clients are not asked for certificates: add a validation context to the transport_socket';

const NO_METADATA =
  'it demands what no request of a gRPC server has, such as metadata of a JWT or a server name: use headers or principals';

function describeFilter(
  { name, config, disabled }: HttpFilterInstance,
  routeConfig: RouteConfigResource | undefined,
  stranger: string | undefined,
): readonly string[] {
  if (!(config instanceof RbacConfig) || disabled) return [];
  const { rules } = config;
  if (rules === undefined) {
    const isOverridden = routeConfig === undefined || overridesOf(routeConfig).has(name);
    return isOverridden
      ? []
      : ['it has no rules that allow or deny, and so no effect: give it rules, or remove it'];
  }
  const { action, policies } = rules;
  if (policies.length === 0) {
    return action === 'allow'
      ? [
          'it allows nothing, since it has no policies: every request is denied; add the policies that allow',
        ]
      : ['it denies nothing, since it has no policies: add them, or remove it'];
  }
  const judged = policies.map((policy) => judgePolicy(policy, stranger));
  const all = judged.flatMap(({ warnings }) => warnings);
  const everything = judged.find(({ outcome }) => outcome === true);
  if (action === 'allow' && everything !== undefined) {
    all.push(
      `it allows every request, by the policy ${quoteText(everything.name)}: narrow that, or remove the filter`,
    );
  }
  return all;
}

/** The names of the filters that a route or virtual host overrides. */
function overridesOf({ virtualHosts }: RouteConfigResource): ReadonlySet<string> {
  const names = virtualHosts.flatMap(({ filterOverrides, routes }) => [
    ...filterOverrides.keys(),
    ...routes.flatMap((route) => [...route.filterOverrides.keys()]),
  ]);
  return new Set(names);
}

/** What a policy is for every request of a chain. */
interface JudgedPolicy {
  readonly name: string;
  /** Whether it matches; `undefined` if that depends on the request. */
  readonly outcome: boolean | undefined;
  /** Which of its conditions are never true, and why. */
  readonly warnings: readonly string[];
}

function judgePolicy({ name, permissions, principals }: Policy, stranger?: string): JudgedPolicy {
  const reasons = new Set<string>();
  const outcome = outcomeOfAll([permissions, principals], stranger, reasons);
  const subject = `policy ${quoteText(name)}`;
  const warnings = [...reasons].map((reason) =>
    outcome === false
      ? `${subject} matches no request: ${reason}`
      : `a condition of ${subject}: ${reason}`,
  );
  return { name, outcome, warnings };
}

/**
 * Returns what a condition is for every request of a chain; `undefined` if that depends on the request.
 *
 * @param stranger Why clients have no principal; `undefined` if they may have one.
 * @param reasons Gets why a part of the condition is never true.
 */
function outcomeOf(
  condition: Condition,
  stranger: string | undefined,
  reasons: Set<string>,
): boolean | undefined {
  switch (condition.kind) {
    case 'constant':
      if (!condition.value) reasons.add(NO_METADATA);
      return condition.value;
    case 'not': {
      const inner = outcomeOf(condition.of, stranger, reasons);
      return inner === undefined ? undefined : !inner;
    }
    case 'and':
      return outcomeOfAll(condition.of, stranger, reasons);
    case 'or': {
      const inner = condition.of.map((each) => outcomeOf(each, stranger, reasons));
      if (inner.includes(true)) return true;
      return inner.every((each) => each === false) ? false : undefined;
    }
    case 'authenticated':
      // A TLS connection without a name of the client is authenticated, unless a name is demanded.
      if (stranger === undefined) return undefined;
      if (stranger !== PLAIN_TEXT && condition.name === undefined) return undefined;
      reasons.add(stranger);
      return false;
    default:
      return undefined;
  }
}

function outcomeOfAll(
  conditions: readonly Condition[],
  stranger: string | undefined,
  reasons: Set<string>,
): boolean | undefined {
  const inner = conditions.map((each) => outcomeOf(each, stranger, reasons));
  if (inner.includes(false)) return false;
  return inner.every((each) => each === true) ? true : undefined;
}

function subjectOf({ name }: RouteConfigResource): string {
  return name === '' ? 'its routes' : `the routes ${quoteText(name)}`;
}
