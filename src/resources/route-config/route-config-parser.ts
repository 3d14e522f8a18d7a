import { asBuffer } from '../../util/bytes';
import { lazy } from '../../util/lazy';
import { ROUTES_LIMIT } from '../../util/limits';
import { Violations } from '../../util/violations';
import { RouteConfiguration } from '../../wire/generated/envoy/config/route/v3/route';
import type { PreviousVersion, ResourceType } from '../../xds-client/resource-type';
import {
  createParseContext,
  isTrusted,
  type ExtensionPoints,
  type LbConfig,
  type ParseContext,
} from '../extension-points';
import { createResourceType } from '../resource-parser';
import { decodeMessage, decodePieces, type PieceField } from '../shared/any';
import { readExtension } from '../shared/extension-parser';
import {
  ListReader,
  mapReader,
  readerOf,
  readWhole,
  type PartReader,
} from '../encoded/part-reader';
import {
  allNew,
  restOf,
  toSlices,
  type SlicePart,
  type SlicedMessage,
} from '../encoded/sliced-message';
import type * as Comparison from '../encoded/slice-comparison';
import { pluginChildName, type RouteConfigResource, type VirtualHost } from './route-config';
import type { DeclaredPlugins } from './route-parser';
import { readVirtualHost } from './virtual-host-parser';

/** Loaded for the first version that is compared with a previous one. */
const loadComparison = lazy<typeof Comparison>(() => require('../encoded/slice-comparison'));

/** RDS. An update keeps the identity of the virtual hosts whose bytes did not change. */
export function createRouteConfigResourceType(
  extensions: ExtensionPoints,
): ResourceType<RouteConfigResource> {
  return createResourceType({
    envoyFeatures: extensions.envoyFeatures,
    typeName: 'envoy.config.route.v3.RouteConfiguration',
    allResourcesRequiredInSotw: false,
    discoveryService: {
      service: 'envoy.service.route.v3.RouteDiscoveryService',
      noun: 'Routes',
    },
    limit: ROUTES_LIMIT,
    clusterSpecifiers: extensions.clusterSpecifiers,
    describeChange: describeChangedHosts,
    parse(bytes, { server, previous }, violations) {
      const context = createParseContext(extensions, server);
      const known = previous && knownRoutes(previous, isTrusted(server));
      const pieces = splitRouteConfig(asBuffer(bytes), known, violations);
      if (pieces === undefined) return undefined;
      const { slices } = pieces;
      const plugins = pieces.known?.plugins ?? parsePlugins(pieces.message, context, violations);
      const record = slices && new RoutesRecord(slices, isTrusted(server), plugins);
      const isPartial = pieces.known !== undefined;
      const reader = readHosts(pieces, plugins, context, violations);
      return mapReader(reader, (value) => ({ value, record, isPartial }));
    },
  });
}

function describeChangedHosts(before: RouteConfigResource, after: RouteConfigResource): string {
  const known = new Set(before.virtualHosts);
  const added = after.virtualHosts.filter((host) => !known.delete(host));
  // All of them are new objects where a route configuration is decoded as a whole.
  if (added.length === after.virtualHosts.length && known.size === before.virtualHosts.length) {
    return '';
  }
  const changed = new Set([...known, ...added].map(({ name }) => name));
  return `virtual hosts: ${changed.size} changed`;
}

/** Returns a reader of a route configuration that is part of a listener. It finishes with `undefined` after adding a violation. */
export function readRouteConfig(
  bytes: Uint8Array,
  context: ParseContext,
  violations: Violations,
): PartReader<RouteConfigResource | undefined> {
  const pieces = splitRouteConfig(asBuffer(bytes), undefined, violations);
  if (pieces === undefined) return readerOf(undefined);
  const plugins = parsePlugins(pieces.message, context, violations);
  return readHosts(pieces, plugins, context, violations);
}

/** The previous version of a route configuration. */
interface KnownRoutes {
  readonly virtualHosts: readonly VirtualHost[];
  readonly slices: SlicedMessage;
  readonly plugins: DeclaredPlugins;
}

/** Returns the previous version, if what its virtual hosts depend on besides their bytes is the same. */
function knownRoutes(
  { value, record }: PreviousVersion<RouteConfigResource>,
  trusted: boolean,
): KnownRoutes | undefined {
  if (!(record instanceof RoutesRecord) || record.isTrusted !== trusted) return undefined;
  const { slices, plugins } = record;
  return { virtualHosts: value.virtualHosts, slices, plugins };
}

/** An encoded route configuration. */
interface RouteConfigPieces {
  /** Without its virtual hosts. */
  readonly message: RouteConfiguration;
  readonly bytes: Buffer;
  /** The virtual hosts in order. Those kept are elements of the previous version. */
  readonly parts: readonly SlicePart[];
  readonly known: KnownRoutes | undefined;
  /** Where the virtual hosts are; `undefined` if other fields are between them. */
  readonly slices: SlicedMessage | undefined;
}

/**
 * Finds the virtual hosts. Control planes put all services into one route configuration, so most changes concern few of them: the
 * others are those of the previous version.
 *
 * @returns `undefined` after adding a violation.
 */
function splitRouteConfig(
  bytes: Buffer,
  known: KnownRoutes | undefined,
  violations: Violations,
): RouteConfigPieces | undefined {
  if (known !== undefined) {
    const compared = loadComparison().compareSlices(bytes, VIRTUAL_HOSTS.number, known.slices);
    // Virtual hosts depend on the plugins, too.
    if (compared !== undefined && restOf(known.slices).equals(compared.rest)) {
      const { parts, rest, slices } = compared;
      const message = decodeMessage(RouteConfiguration, rest, violations);
      return message && { message, bytes, parts, known, slices };
    }
  }
  const split = decodePieces(RouteConfiguration, bytes, VIRTUAL_HOSTS, violations);
  if (split === undefined) return undefined;
  const { bounds, message } = split;
  return {
    message,
    bytes,
    parts: allNew(bounds),
    known: undefined,
    slices: toSlices(bytes, split),
  };
}

/** Returns a reader that decodes the virtual hosts that are not kept. */
function readHosts(
  { message: { name }, bytes, parts, known, slices }: RouteConfigPieces,
  plugins: DeclaredPlugins,
  context: ParseContext,
  violations: Violations,
): PartReader<RouteConfigResource> {
  const at = violations.at(VIRTUAL_HOSTS.name);
  let index = 0;
  const open = (start: number, end: number) => {
    at.budget.renew();
    return readVirtualHost(bytes.subarray(start, end), plugins, context, at.index(index++));
  };
  const keep = (host: VirtualHost) => {
    if (host.regexes.every((regex) => context.regexes.keep(regex))) {
      index++;
      return host;
    }
    // Decoding it again says which one exceeds the limit.
    return readWhole(open(slices?.offsets[2 * index] ?? 0, slices?.offsets[2 * index + 1] ?? 0));
  };
  const read = (part: SlicePart) => {
    if (part.kind === 'new') return mapReader(open(part.start, part.end), (host) => [host]);
    return readerOf(known?.virtualHosts.slice(part.from, part.to).map(keep) ?? []);
  };
  return new ListReader(parts, read, (hosts) => {
    const virtualHosts = hosts.flat().filter((host) => host !== undefined);
    return { name, virtualHosts };
  });
}

/** The field of a route configuration with its virtual hosts. */
const VIRTUAL_HOSTS: PieceField = { number: 2, name: 'virtual_hosts' };

/** The record of a route configuration, with which only the changes of its next version are decoded. */
class RoutesRecord {
  constructor(
    readonly slices: SlicedMessage,
    /** Whether the server is trusted, on which virtual hosts depend besides their bytes. */
    readonly isTrusted: boolean,
    readonly plugins: DeclaredPlugins,
  ) {}
}

/**
 * Parses the plugins that routes may refer to; of several with one name, the last one counts. An unsupported one is a violation,
 * unless it is optional: routes that use it are left out then.
 */
function parsePlugins(
  { clusterSpecifierPlugins }: RouteConfiguration,
  { extensions }: ParseContext,
  violations: Violations,
): DeclaredPlugins {
  const { clusterSpecifiers: parser, lbConfigs } = extensions;
  const plugins = new Map<string, LbConfig | undefined>();
  for (const [i, { extension, isOptional }] of clusterSpecifierPlugins.entries()) {
    const at = violations
      .at('cluster_specifier_plugins')
      .index(i)
      .at('extension')
      .at('typed_config');
    const { name = '', typedConfig } = extension ?? {};
    const config = readExtension(typedConfig, isOptional ? Violations.root(at.budget) : at);
    const isSupported = config !== undefined && parser?.isSupported(config.typeName) === true;
    const lbConfig =
      typedConfig && isSupported ? parser.parseConfig(typedConfig, at, lbConfigs) : undefined;
    if (config !== undefined && !isSupported && !isOptional)
      at.add(`unsupported cluster specifier plugin ${config.typeName}`);
    plugins.set(pluginChildName(name), lbConfig);
  }
  return plugins;
}
