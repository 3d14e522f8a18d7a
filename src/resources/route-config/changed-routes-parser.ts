import { RouteConfiguration } from '../../wire/generated/envoy/config/route/v3/route';
import { asBuffer } from '../../util/as-buffer';
import { MESSAGE_LIMIT, ReadBudget } from '../../util/read-budget';
import type { Steps } from '../../util/steps';
import { Violations } from '../../util/violations';
import type { DecodedValue } from '../../xds-client/resource-type';
import { isTrusted, type ParseContext } from '../extension-points';
import { decodeMessage } from '../shared/any';
import { ROUTES_LIMIT } from '../shared/read-limits';
import { compareSlices, type SlicePart } from '../wire/slice-comparison';
import { restOf } from '../wire/sliced-message';
import { parseClusterSpecifierPlugins } from './cluster-specifier-plugins-parser';
import type { RouteConfigChange, RouteConfigResource, VirtualHost } from './route-config';
import { VIRTUAL_HOSTS, type RoutesRecord } from './routes-record';
import { decodeVirtualHost } from './virtual-host-parser';

/** A valid route configuration. */
type DecodedRoutes = DecodedValue<RouteConfigResource, RouteConfigChange>;

/** The previous version of a route configuration. */
interface KnownRoutes {
  readonly value: RouteConfigResource;
  readonly record: RoutesRecord;
}

/** The context of the parsers, with what the response leaves of its budget. */
interface ChangeContext extends ParseContext {
  readonly budget: ReadBudget | undefined;
}

/**
 * Decodes a route configuration that differs little from the previous version: only the virtual hosts whose bytes
 * changed. Control planes put all services into one, so most changes do not concern a target.
 *
 * @returns `undefined` for one that differs too much, and for an invalid one, which is then decoded as a whole to report
 * its violations.
 */
export function* decodeChangedRoutes(
  bytes: Uint8Array,
  { value: previous, record }: KnownRoutes,
  context: ChangeContext,
): Steps<DecodedRoutes | undefined> {
  if (record.isTrusted !== isTrusted(context.server)) return undefined;
  const comparison = compareSlices(asBuffer(bytes), VIRTUAL_HOSTS.number, record.slices);
  if (comparison === undefined) return undefined;
  const { parts, slices, rest } = comparison;
  if (Buffer.compare(rest, restOf(record.slices)) !== 0) return undefined;
  const budget = new ReadBudget(MESSAGE_LIMIT, new ReadBudget(ROUTES_LIMIT, context.budget));
  const violations = Violations.root(budget);
  const decode = createSliceDecoder(slices.bytes, rest, context, violations);
  const { virtualHosts, change } = yield* join(parts, previous.virtualHosts, decode);
  if (violations.count > 0 || !areRegexesWithinLimit(virtualHosts, context)) return undefined;
  return { value: { name: previous.name, virtualHosts }, record: record.next(slices), change };
}

/** Counts the regular expressions of all virtual hosts, also of those kept. */
function areRegexesWithinLimit(
  virtualHosts: readonly VirtualHost[],
  { regexes }: ParseContext,
): boolean {
  return virtualHosts.every((host) => host.regexes.every((regex) => regexes.keep(regex)));
}

type SliceDecoder = (start: number, end: number) => Steps<VirtualHost | undefined>;

function createSliceDecoder(
  bytes: Buffer,
  rest: Uint8Array,
  context: ParseContext,
  violations: Violations,
): SliceDecoder {
  const message = decodeMessage(RouteConfiguration, rest, violations);
  const plugins = parseClusterSpecifierPlugins(message?.clusterSpecifierPlugins ?? [], violations);
  return (start, end) => {
    violations.budget.renew();
    return decodeVirtualHost(bytes.subarray(start, end), plugins, context, violations);
  };
}

/** Joins the virtual hosts: those kept from the previous version, and the new ones. */
function* join(
  parts: readonly SlicePart[],
  previous: readonly VirtualHost[],
  decode: SliceDecoder,
): Steps<Pick<RouteConfigResource, 'virtualHosts'> & { readonly change: RouteConfigChange }> {
  const virtualHosts: VirtualHost[] = [];
  const changed = new Set<string>();
  const present: VirtualHost[] = [];
  let next = 0;
  for (const part of parts) {
    if (part.kind === 'kept') {
      for (const dropped of previous.slice(next, part.from)) changed.add(dropped.name);
      for (const kept of previous.slice(part.from, part.to)) virtualHosts.push(kept);
      next = part.to;
      continue;
    }
    const parsed = yield* decode(part.start, part.end);
    if (parsed === undefined) continue;
    changed.add(parsed.name);
    present.push(parsed);
    virtualHosts.push(parsed);
  }
  for (const dropped of previous.slice(next)) changed.add(dropped.name);
  return { virtualHosts, change: { virtualHosts: changed, present } };
}
