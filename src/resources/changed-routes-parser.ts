import type { ServerConfig } from '../bootstrap/bootstrap';
import { RouteConfiguration } from '../generated/envoy/config/route/v3/route';
import { VirtualHost as VirtualHostMessage } from '../generated/envoy/config/route/v3/route_components';
import { asBuffer } from '../util/as-buffer';
import { Violations } from '../util/violations';
import { parseClusterSpecifierPlugins } from './cluster-specifier-plugins-parser';
import { isTrusted, type ParseContext } from './parse-context';
import { regexesOf } from './regexes-of';
import type { RouteConfigResource, VirtualHost } from './route-config';
import { decodeMessage } from './shared/any';
import { compareSlices, type SlicePart } from './shared/slice-comparison';
import { restOf, sliceMessage, type SlicedMessage } from './shared/sliced-message';
import { parseVirtualHost } from './virtual-host-parser';

const VIRTUAL_HOSTS_FIELD = 2;

/** What a route configuration was decoded from, and what its virtual hosts depend on besides their own bytes. */
interface KnownRoutes {
  readonly slices: SlicedMessage;
  readonly isTrusted: boolean;
}

const known = new WeakMap<RouteConfigResource, KnownRoutes>();

/** Keeps what a valid route configuration was decoded from, for as long as it is in use. */
export function rememberRoutes(
  value: RouteConfigResource,
  bytes: Uint8Array,
  server: ServerConfig,
): void {
  const slices = sliceMessage(asBuffer(bytes), VIRTUAL_HOSTS_FIELD);
  if (slices !== undefined) known.set(value, { slices, isTrusted: isTrusted(server) });
}

/**
 * Decodes a route configuration that differs little from the previous one: only the virtual hosts whose bytes changed.
 * Control planes put all services into one, and whoever uses another of them has nothing to do then.
 *
 * @returns `undefined` if there is anything unusual about it, invalid or not: then it is to be decoded as a whole,
 * which knows how to say what is wrong.
 */
export function decodeChangedRoutes(
  bytes: Uint8Array,
  previous: RouteConfigResource,
  context: ParseContext,
): RouteConfigResource | undefined {
  const before = known.get(previous);
  if (before === undefined || before.isTrusted !== isTrusted(context.server)) return undefined;
  const comparison = compareSlices(asBuffer(bytes), VIRTUAL_HOSTS_FIELD, before.slices);
  if (comparison === undefined) return undefined;
  const { parts, slices, rest } = comparison;
  if (Buffer.compare(rest, restOf(before.slices)) !== 0) return undefined;
  const violations = Violations.root();
  const parse = createSliceParser(slices.bytes, rest, context, violations);
  const virtualHosts = join(parts, previous.virtualHosts, parse);
  if (violations.count > 0 || !areRegexesWithinLimit(virtualHosts, context)) return undefined;
  const value = { name: previous.name, virtualHosts };
  known.set(value, { ...before, slices });
  return value;
}

/** Those of the virtual hosts that were kept have not been counted yet. */
function areRegexesWithinLimit(
  virtualHosts: readonly VirtualHost[],
  { regexes }: ParseContext,
): boolean {
  return virtualHosts.every((host) => regexesOf(host).every((regex) => regexes.keep(regex)));
}

type SliceParser = (start: number, end: number) => VirtualHost | undefined;

function createSliceParser(
  bytes: Buffer,
  rest: Uint8Array,
  context: ParseContext,
  violations: Violations,
): SliceParser {
  const message = decodeMessage(RouteConfiguration, rest, violations);
  const plugins = parseClusterSpecifierPlugins(message?.clusterSpecifierPlugins ?? [], violations);
  return (start, end) => {
    const host = decodeMessage(VirtualHostMessage, bytes.subarray(start, end), violations);
    return host && parseVirtualHost(host, plugins, context, violations);
  };
}

/** Puts the virtual hosts together: those kept from the previous version, and the new ones. */
function join(
  parts: readonly SlicePart[],
  previous: readonly VirtualHost[],
  parse: SliceParser,
): readonly VirtualHost[] {
  const joined: VirtualHost[] = [];
  for (const part of parts) {
    if (part.kind === 'kept') {
      for (const virtualHost of previous.slice(part.from, part.to)) joined.push(virtualHost);
    } else {
      const parsed = parse(part.start, part.end);
      if (parsed !== undefined) joined.push(parsed);
    }
  }
  return joined;
}
