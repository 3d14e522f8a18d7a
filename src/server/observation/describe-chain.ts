import { RbacConfig } from '../../authorization/rules';
import type { FilterChainReport } from '../../observe/admin/server-report';
import type {
  FilterChain,
  FilterChainMatch,
  MatchedFilterChain,
} from '../../resources/listener/listener';
import { cidrRangeText, type CidrRange } from '../../resources/shared/address-parser';

/** Values of one criterion that are listed. */
const MAX_VALUES = 10;

/**
 * Describes a filter chain as it is served.
 *
 * @param isTlsUnused Whether the credentials of the application are used whatever TLS the chain has.
 */
export function describeChain(
  chain: FilterChain,
  {
    isSecure,
    routeFailure: failure,
  }: { readonly isSecure: boolean; readonly routeFailure: string | undefined },
  isTlsUnused: boolean,
): FilterChainReport {
  const { routes, httpFilters } = chain.httpConnectionManager;
  const isOfApplication = isSecure && (isTlsUnused || chain.tls === undefined);
  return {
    name: chain.name,
    match: matchOf(chain),
    tls: isOfApplication ? 'TLS of the application' : describeTls(isTlsUnused ? {} : chain),
    rbac: httpFilters.flatMap(({ name: filter, config }) => {
      if (!(config instanceof RbacConfig)) return [];
      const { rules } = config;
      return [{ filter, action: rules?.action ?? 'none', policies: rules?.policies.length ?? 0 }];
    }),
    routes: {
      ...(routes.kind === 'rds' && { name: routes.routeConfigName }),
      ...(failure !== undefined && { failure }),
    },
  };
}

/** Returns the name of a chain; without one, which connections it is for. */
export function labelOf(chain: FilterChain): string {
  return chain.name || matchOf(chain);
}

/** Describes the TLS that a chain demands. */
export function describeTls({ tls }: Partial<Pick<FilterChain, 'tls'>>): string {
  if (tls === undefined) return 'plain text';
  if (tls.clientValidation === undefined) return 'TLS, no client certificate';
  return tls.requireClientCertificate
    ? 'TLS, client certificate required'
    : 'TLS, client certificate optional';
}

function matchOf(chain: FilterChain): string {
  return isMatched(chain) ? describeMatch(chain.match) : 'default';
}

function isMatched(chain: FilterChain): chain is MatchedFilterChain {
  return 'match' in chain;
}

/** Describes the connections that a match is for, such as `to 10.0.0.0/8, from EXTERNAL`. */
function describeMatch(match: FilterChainMatch): string {
  const { prefixRanges, isRawBuffer, source, sourcePrefixRanges, sourcePorts } = match;
  const criteria = [
    ...rangesText('to', prefixRanges),
    ...(isRawBuffer ? ['raw_buffer'] : []),
    ...(source === 'any'
      ? []
      : [`from ${source === 'external' ? 'EXTERNAL' : 'SAME_IP_OR_LOOPBACK'}`]),
    ...rangesText('from', sourcePrefixRanges),
    ...(sourcePorts.length === 0 ? [] : [`from port ${listText(sourcePorts)}`]),
  ];
  return criteria.length === 0 ? 'every connection' : criteria.join(', ');
}

function rangesText(word: string, ranges: readonly CidrRange[]): readonly string[] {
  return ranges.length === 0 ? [] : [`${word} ${listText(ranges, cidrRangeText)}`];
}

function listText<T>(values: readonly T[], toText: (value: T) => string = String): string {
  const listed = values.slice(0, MAX_VALUES).map(toText).join(' or ');
  const others = values.length - MAX_VALUES;
  return others > 0 ? `${listed} or ${others} others` : listed;
}
