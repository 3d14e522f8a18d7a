import { RbacConfig } from '../../http-filters/rbac/rules';
import type { FilterChain, SocketListener } from '../../resources/listener/listener';
import type { DownstreamTls } from '../../resources/tls/tls';
import { quoteText } from '../../util/text';
import { describeUseless, type FindRoutes } from './server-warnings';

/** A filter chain of a Listener, as `doctor` shows it. */
interface DescribedChain {
  /** Such as `filter chain "x"`. */
  readonly subject: string;
  /** The certificate providers of its TLS. */
  readonly providers: readonly string[];
  /** The name of its routes, if they are not in the Listener itself. */
  readonly routeConfigName: string | undefined;
  /** Its TLS, and what each RBAC filter does. */
  readonly text: string;
}

/** A Listener that a server would serve by. */
export interface ServedListener {
  readonly name: string;
  readonly chains: readonly DescribedChain[];
  /** Describes what of it has no effect, or another one than it seems to have, by the routes that are known now. */
  describeUseless(): readonly string[];
}

/** Describes a Listener that a server would serve by. */
export function describeServedListener(
  listener: SocketListener,
  findRoutes: FindRoutes,
): ServedListener {
  const { name, filterChains, defaultFilterChain } = listener;
  const chains = filterChains.map((chain) =>
    describeChain(`filter chain ${quoteText(chain.name)}`, chain),
  );
  if (defaultFilterChain !== undefined) {
    chains.push(describeChain('default filter chain', defaultFilterChain));
  }
  return { name, chains, describeUseless: () => describeUseless(listener, findRoutes) };
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

function providersOf({ identity, clientValidation }: DownstreamTls): readonly string[] {
  const roots = clientValidation?.rootCertificates;
  return roots?.kind === 'instance'
    ? [identity.instanceName, roots.instanceName]
    : [identity.instanceName];
}

function describeTls(tls: DownstreamTls | undefined): string {
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
