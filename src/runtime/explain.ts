import type { Bootstrap } from '../bootstrap/bootstrap';
import { DEFAULT_LIMITS } from '../bootstrap/limits';
import { percentEncodeAuthority, listenerResourceName } from '../bootstrap/resource-template';
import { buildXdsConfig } from '../dependency-manager/build-xds-config';
import {
  collectionError,
  collectionsOf,
  withCollections,
} from '../dependency-manager/endpoint-collections';
import type { WatchReport } from '../dependency-manager/observations';
import type { XdsConfig } from '../dependency-manager/xds-config';
import type { Metadata } from '../grpc-js';
import { processHttpFilters } from '../http-filters/registry';
import { CdsConfig } from '../lb/cds/config';
import { processLbPolicies } from '../lb/custom/custom-policies';
import { createPolicyRegistry } from '../lb/registry/create-policy-registry';
import { ClusterRefs } from '../resolver/cluster-refs';
import {
  describeWaits,
  explainCall,
  explainUnrouted,
  type CallExplanation,
  type ExplainedResource,
  type FindUnused,
} from '../resolver/explain-call';
import { withText } from '../resolver/explanation-text';
import { RouteTable } from '../resolver/route-table';
import { parseTarget, type TargetName } from '../resolver/xds-scheme';
import type { ClusterResource } from '../resources/cluster/cluster';
import type { EndpointCollection, EndpointsResource } from '../resources/endpoints/endpoints';
import type { ResourceTypes } from '../resources/resource-types';
import type { RouteConfigResource } from '../resources/route-config/route-config';
import { readResourceFile } from '../transport/file/watched-files';
import { errorMessage } from '../util/errors';
import { currentFeatureFlags } from '../util/feature-flags';
import { readRegularFile } from '../util/read-regular-file';
import { createHandle } from '../util/handle';
import { err, ok, type Result } from '../util/result';
import { createEnvironment, createParts, type ClientParts } from './built-in-parts';
import { joinLines, quoteName } from '../util/text';
import type { PolicyState } from '../lb/tree/policy-state';
import type { LiveResolution, LiveResolutions } from '../resolver/resolver-dependencies';
import type { ResourceSnapshot } from '../xds-client/client-snapshot';
import type { ResourceType } from '../xds-client/resource-type';
import { decodeGiven } from './examine/decode-given';
import { joinBounded } from '../util/violations';
import { parseResourceName } from '../xds-client/resource-name';
import { XdsError } from '../util/xds-error';

/** A call that is not made. */
export interface ExplainedCall {
  readonly target: string;
  /** The full path, such as `/package.Service/Method`. */
  readonly method: string;
  readonly headers: Metadata;
  /** As that of `LiveResolution`. Default: that of any channel of the target. */
  readonly xdsClient?: object | undefined;
}

/** The channels of the process, as an explanation looks at them. */
export interface ExplainedChannels extends Pick<ClientParts, 'limits' | 'meter'> {
  readonly types: ExplainedState['types'];
  readonly resolutions: LiveResolutions;
  /** Returns the resources of the client of a channel. */
  readonly resourcesOf: (resolution: LiveResolution) => Iterable<ResourceSnapshot>;
  /** Returns the policies of a channel; `undefined` if there are none yet. */
  readonly policiesOf: (resolution: LiveResolution) => PolicyState | undefined;
}

/** Explains a call on a channel of the process as it is now. */
export function explainOnChannel(
  { resolutions, types, limits, meter, resourcesOf, policiesOf }: ExplainedChannels,
  { target, method, headers, xdsClient }: ExplainedCall,
): CallExplanation {
  const resolution = resolutions.find(target, xdsClient);
  if (resolution?.live === undefined) {
    const targets = resolutions.all().map((other) => other.target);
    return withText(explainUnrouted(target, resolution, [...new Set(targets)]));
  }
  const resources = [...resourcesOf(resolution)];
  const bytesOf = (typeUrl: string, name: string) =>
    resources.find((known) => known.typeUrl === typeUrl && known.name === name)?.accepted?.bytes;
  const findUnused = createUnusedSearch({ types, bytesOf, policies: policiesOf(resolution) });
  meter.begin();
  try {
    const heldBack = describeWaits(resolution);
    return withText(
      explainCall({ ...resolution.live, method, headers, limits, findUnused, heldBack }),
    );
  } finally {
    meter.end();
  }
}

/** Implements `explainResources` of the package, with the extensions of the application. */
export function explainResources(resources: string | object, call: ExplainedCall): CallExplanation {
  return explainGiven(readResources(resources), call, createProcessParts());
}

/** Creates the parts of a client or server with the policies and filters of this package and of the application. */
export function createProcessParts(): ClientParts {
  const environment = createEnvironment({ flags: currentFeatureFlags() });
  const policies = createPolicyRegistry(environment);
  processLbPolicies.addTo(policies);
  return createParts(environment, processHttpFilters, policies);
}

/** Reads the resources of a file, by its path, or of an object. @throws XdsError with all problems of it. */
export function readResources(resources: string | object): readonly GivenResource[] {
  const isPath = typeof resources === 'string';
  const path = isPath ? resources : 'resources.json';
  const content = isPath ? readContent(path) : toJson(resources);
  const file = readResourceFile(path, content, { ignoreUnknownFields: false });
  if (!file.ok) throw new XdsError('XDS_RESOURCE_INVALID', joinLines(file.error));
  return file.value.resources.map(({ typeUrl, name = '', item }) => ({
    typeUrl,
    name,
    value: item.value,
  }));
}

function toJson(resources: unknown): Buffer {
  try {
    const text: unknown = JSON.stringify(resources);
    if (typeof text === 'string') return Buffer.from(text);
  } catch (error) {
    throw new XdsError(
      'XDS_RESOURCE_INVALID',
      `the resources are not JSON: ${errorMessage(error)}`,
      {
        cause: error,
      },
    );
  }
  throw new XdsError('XDS_RESOURCE_INVALID', 'the resources must be a path or an object');
}

function readContent(path: string): Buffer {
  const content = readRegularFile(path, { maxBytes: DEFAULT_LIMITS.maxMessageBytes });
  if (content.ok) return content.value;
  throw new XdsError('XDS_FILE_UNREADABLE', `${path} cannot be read: ${content.error}`);
}

/** Explains the routing of a call by given resources, as a channel with these would route it. */
export function explainGiven(
  resources: readonly GivenResource[],
  { target, method, headers }: ExplainedCall,
  parts: ClientParts,
): CallExplanation {
  const unrouted = (reason: string) =>
    withText({ kind: 'unrouted' as const, reason, waitingFor: [] });
  const name = parseTarget(target);
  if (!name.ok) return unrouted(name.error);
  const given = new GivenResources(resources);
  const config = buildConfig(given, name.value, parts);
  if (!config.ok) return unrouted(config.error);
  const refs = new ClusterRefs(
    () => createHandle(() => {}),
    (cluster) => new CdsConfig(cluster, false),
    () => {},
  );
  const host = percentEncodeAuthority(name.value.path);
  const inputs = { config: config.value, preparer: parts.httpFilters, defaultAuthority: host };
  const table = new RouteTable(inputs, refs);
  const tableRef = table.acquire();
  parts.meter.begin();
  try {
    return withText(
      explainCall({
        config: config.value,
        table,
        method,
        headers,
        limits: parts.limits,
        findUnused: createUnusedSearch({
          types: parts.types,
          bytesOf: (typeUrl, name) => given.find(typeUrl, name)?.value,
          policies: undefined,
        }),
      }),
    );
  } finally {
    parts.meter.end();
    tableRef.release();
  }
}

/** Returns those of given resources that a channel for a target would request. */
export function findNeeded(
  resources: readonly GivenResource[],
  target: string,
  parts: Pick<ClientParts, 'types' | 'limits'>,
): readonly GivenResource[] {
  const name = parseTarget(target);
  if (!name.ok) return [];
  const given = new GivenResources(resources);
  buildConfig(given, name.value, parts);
  return [...given.requested];
}

/** The parts that a config is built with. */
interface ConfigParts extends Pick<ClientParts, 'types' | 'limits'> {
  /** The name of the Listener of the target. Default: that of a bootstrap without templates. */
  readonly listenerName?: string | undefined;
}

/** Builds the config that a channel for a target would have with given resources. @returns why there is none, otherwise. */
export function configOfGiven(
  resources: readonly GivenResource[],
  target: string,
  parts: ConfigParts,
): Result<XdsConfig, string> {
  const name = parseTarget(target);
  return name.ok ? buildConfig(new GivenResources(resources), name.value, parts) : name;
}

/** Builds the config of a target. It waits for nothing, because what was not given does not exist. */
function buildConfig(
  given: GivenResources,
  target: TargetName,
  { types, limits, listenerName: name }: ConfigParts,
): Result<XdsConfig, string> {
  const listenerName =
    name === undefined ? listenerResourceName(bootstrapFor(target), target) : ok(name);
  if (!listenerName.ok) return listenerName;
  const routeConfigs = new Map<string, WatchReport<RouteConfigResource>>();
  const clusters = new Map<string, WatchReport<ClusterResource>>();
  const endpoints = new Map<string, WatchReport<EndpointsResource>>();
  const listener = given.read(types.listener, listenerName.value);
  const inputs = {
    listenerName: listenerName.value,
    host: percentEncodeAuthority(target.path),
    clientNote: 'given resources',
    maxClusters: limits.maxClustersPerTarget,
    subscribed: [],
    acceptPart: false,
    nowMs: 0,
    observed: {
      listener,
      routeConfigs,
      clusters,
      endpoints,
      dns: { get: () => NOT_RESOLVED },
    },
  };
  const countRead = () => routeConfigs.size + clusters.size + endpoints.size;
  let built = buildXdsConfig(inputs, undefined);
  for (let known = -1; known < countRead(); built = buildXdsConfig(inputs, built)) {
    known = countRead();
    const { needed } = built;
    readMissing(routeConfigs, needed.routeConfigs, (each) => given.read(types.routeConfig, each));
    readMissing(clusters, needed.clusters, (each) => given.read(types.cluster, each));
    readMissing(endpoints, needed.endpoints, (each) => given.readEndpoints(types, each));
  }
  const { config } = built;
  if (config === undefined) return err('the resources are incomplete');
  return config.ok ? config : err(config.error.message);
}

/** Names of clusters are not resolved: no connection is made. */
const NOT_RESOLVED: WatchReport<never> = {
  kind: 'error',
  error: { kind: 'unreachable', message: 'names are not resolved here' },
};

/** Adds to a map what was not read yet. */
function readMissing<T>(
  map: Map<string, WatchReport<T>>,
  names: ReadonlySet<string>,
  read: (name: string) => WatchReport<T>,
): void {
  for (const name of names) {
    if (!map.has(name)) map.set(name, read(name));
  }
}

/** A bootstrap with the authority of a target, and with the default templates. */
function bootstrapFor({ authority }: TargetName): Bootstrap {
  const prefix = `xdstp://${percentEncodeAuthority(authority)}/`;
  const template = {
    clientListenerResourceNameTemplate: `${prefix}envoy.config.listener.v3.Listener/%s`,
    servers: [],
    fallbackOnReachabilityOnly: false,
  };
  return {
    source: 'given resources',
    servers: [],
    certificateProviders: new Map(),
    node: { id: '', cluster: '', locality: undefined, metadata: undefined },
    authorities: new Map(authority === '' ? [] : [[authority, template]]),
    clientDefaultListenerResourceNameTemplate: '%s',
  };
}

/** A resource as a management server would send it. */
export interface GivenResource {
  readonly typeUrl: string;
  readonly name: string;
  readonly value: Uint8Array;
}

/** Resources as a management server would send them. */
class GivenResources {
  /** Those that a channel would request. */
  readonly requested = new Set<GivenResource>();
  private readonly byKey: ReadonlyMap<string, GivenResource>;

  constructor(resources: readonly GivenResource[]) {
    this.byKey = new Map(resources.map((each) => [keyOf(each.typeUrl, each.name), each]));
  }

  /** Returns a resource; `undefined` if it was not given. */
  find(typeUrl: string, name: string): GivenResource | undefined {
    return this.byKey.get(keyOf(typeUrl, name));
  }

  /** Reads a resource as a client would. */
  read<T>(type: ResourceType<T>, name: string): WatchReport<T> {
    const given = this.find(type.typeUrl, name);
    const subject = `${type.typeName} ${quoteName(name)}`;
    if (given === undefined) {
      const message = `xds: ${subject}: not among the resources`;
      return { kind: 'error', error: { kind: 'does-not-exist', message } };
    }
    this.requested.add(given);
    const result = decodeGiven(type, given.value);
    if (result.ok) return { kind: 'value', value: result.value, ambient: undefined };
    const message = `xds: ${subject}: rejected (NACK): ${joinBounded(result.error)}`;
    return { kind: 'error', error: { kind: 'invalid', message } };
  }
  /** Reads an assignment with the collections of its localities (gRFC A95). */
  readEndpoints(
    { endpoints, endpointCollection }: Pick<ResourceTypes, 'endpoints' | 'endpointCollection'>,
    name: string,
  ): WatchReport<EndpointsResource> {
    const observed = this.read(endpoints, name);
    if (observed.kind !== 'value' || endpointCollection === undefined) return observed;
    const names = collectionsOf(observed.value);
    const collections = new Map<string, WatchReport<EndpointCollection>>();
    readMissing(collections, names, (each) => this.read(endpointCollection, each));
    const find = (each: string) => collections.get(each);
    const value = withCollections(observed.value, find, undefined);
    return { kind: 'value', value, ambient: collectionError(names, find) };
  }
}

function keyOf(typeUrl: string, name: string): string {
  const parsed = parseResourceName(name, typeUrl);
  return `${typeUrl} ${parsed.ok ? parsed.value.canonical : name}`;
}

type DescribedType = Pick<ResourceType<unknown>, 'typeUrl' | 'typeName' | 'describeUnusedFields'>;

/** The state of a target, as an explanation looks at it. */
interface ExplainedState {
  readonly types: Readonly<Record<ExplainedResource['type'], DescribedType>>;
  /** Returns the encoded resource in use; `undefined` if there is none. */
  readonly bytesOf: (typeUrl: string, name: string) => Uint8Array | undefined;
  /** The policies of a channel of the target; `undefined` if there are none yet. */
  readonly policies: PolicyState | undefined;
}

/** Returns a search for what has no effect of the resources of a target. */
function createUnusedSearch({ types, bytesOf, policies }: ExplainedState): FindUnused {
  return ({ type, name }) => {
    const { typeUrl, typeName } = types[type];
    const bytes = bytesOf(typeUrl, name);
    const fields = (bytes && types[type].describeUnusedFields(bytes)) ?? [];
    const unsecured = type === 'cluster' && policies && findUnsecured(policies, name);
    const all = [...fields, ...(unsecured ? [`transport_socket: ${unsecured}`] : [])];
    return all.length === 0
      ? undefined
      : { resource: `${typeName} ${quoteName(name)}`, fields: all };
  };
}

/** Returns why the TLS that a cluster configures is not used; `undefined` if it is, or if there is none. */
function findUnsecured({ details, children }: PolicyState, cluster: string): string | undefined {
  const unused = details?.['unusedTls'];
  if (details?.['cluster'] === cluster && typeof unused === 'string') return unused;
  for (const child of children ?? []) {
    const found = findUnsecured(child, cluster);
    if (found !== undefined) return found;
  }
  return undefined;
}
