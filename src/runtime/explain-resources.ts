import type { Bootstrap } from '../bootstrap/bootstrap';
import { DEFAULT_LIMITS, type Limits } from '../bootstrap/limits';
import {
  percentEncodeAuthority,
  toAuthority,
  listenerResourceName,
} from '../bootstrap/resource-template';
import { XdsDependencyManager } from '../dependency-manager/dependency-manager';
import type { DnsWatcherFactory } from '../dependency-manager/dns-watch';
import type { XdsConfig } from '../dependency-manager/xds-config';
import type { Metadata } from '../grpc-js';
import { XxHash64 } from '../util/xx-hash';
import { processHttpFilters, type HttpFilterRegistry } from '../http-filters/registry';
import { CdsConfig } from '../lb/cds/config';
import { processLbPolicies } from '../lb/custom/custom-policies';
import { createPolicyRegistry } from '../lb/registry/create-policy-registry';
import { MatchMeter } from '../resources/matching/match-meter';
import { ClusterRefs } from '../resolver/cluster-refs';
import { explainCall, type CallExplanation } from '../resolver/explain-call';
import { withText } from '../resolver/explanation-text';
import { RouteTable } from '../resolver/route-table';
import { parseTarget, type TargetName } from '../resolver/xds-scheme';
import type { ResourceTypes } from '../resources/resource-types';
import { readResourceFile } from '../transport/file/read-resource-file';
import { type Clock, systemClock } from '../util/clock';
import { errorMessage } from '../util/error-message';
import { currentFeatureFlags } from '../util/feature-flags';
import { readRegularFile } from '../util/files/read-regular-file';
import { createHandle } from '../util/handle';
import { silentLogger } from '../util/logger';
import { systemRandom } from '../util/random';
import { err, type Result } from '../util/result';
import { TimeSlices } from '../util/time-slices';
import { addHttpFilters, createRuntimeResourceTypes } from './built-in-parts';
import { createUnusedSearch } from './find-unused';
import { GivenResources, type GivenResource } from './given-resources';
import { joinLines } from '../util/sanitize-text';

/** The parts of a client that explanations need. */
export interface ExplainParts {
  readonly types: ResourceTypes;
  readonly httpFilters: HttpFilterRegistry;
  readonly meter: MatchMeter;
  readonly limits: Limits;
}

/** A call that is not made. */
export interface ExplainedCall {
  readonly target: string;
  /** Full path, such as `/package.Service/Method`. */
  readonly method: string;
  readonly headers: Metadata;
}

/** Implements `explainResources` of the package, with the extensions of the application. */
export function explainResources(resources: string | object, call: ExplainedCall): CallExplanation {
  const environment = {
    ...{ clock: systemClock, random: systemRandom, logger: silentLogger },
    ...{ flags: currentFeatureFlags(), hash: new XxHash64(), limits: DEFAULT_LIMITS },
  };
  const policies = createPolicyRegistry(environment);
  processLbPolicies.addTo(policies);
  addHttpFilters(processHttpFilters, environment);
  const meter = new MatchMeter(environment.limits, silentLogger);
  const types = createRuntimeResourceTypes(policies, processHttpFilters, {
    ...{ ...environment, meter },
  });
  const parts = { types, httpFilters: processHttpFilters, meter, limits: environment.limits };
  return explainGiven(readResources(resources), call, parts);
}

/** @throws Error with all problems of the file or object. */
function readResources(resources: string | object): readonly GivenResource[] {
  const isPath = typeof resources === 'string';
  const path = isPath ? resources : 'resources.json';
  const content = isPath ? readContent(path) : toJson(resources);
  const file = readResourceFile(path, content, { ignoreUnknownFields: false });
  if (!file.ok) throw new Error(`grpc-xds: ${joinLines(file.error)}`);
  return file.value.resources.map(({ typeUrl, name = '', item }) => ({
    ...{ typeUrl, name, value: item.value },
  }));
}

function toJson(resources: unknown): Buffer {
  try {
    const text: unknown = JSON.stringify(resources);
    if (typeof text === 'string') return Buffer.from(text);
  } catch (error) {
    throw new Error(`grpc-xds: the resources are not JSON: ${errorMessage(error)}`, {
      cause: error,
    });
  }
  throw new Error('grpc-xds: the resources must be a path or an object');
}

function readContent(path: string): Buffer {
  const content = readRegularFile(path, { maxBytes: DEFAULT_LIMITS.maxMessageBytes });
  if (content.ok) return content.value;
  throw new Error(`grpc-xds: ${path} cannot be read: ${content.error}`);
}

/** Explains the routing of a call by given resources, as a channel with these would route it. */
export function explainGiven(
  resources: readonly GivenResource[],
  { target, method, headers }: ExplainedCall,
  parts: ExplainParts,
): CallExplanation {
  const unrouted = (reason: string) =>
    withText({ kind: 'unrouted' as const, reason, waitingFor: [] });
  const name = parseTarget(target);
  if (!name.ok) return unrouted(name.error);
  const source = new GivenResources(resources);
  const config = buildConfig(source, name.value, parts);
  if (!config.ok) return unrouted(config.error);
  const refs = new ClusterRefs(
    () => createHandle(() => {}),
    (cluster) => new CdsConfig(cluster, false),
    () => {},
  );
  const host = toAuthority(name.value.path);
  const table = RouteTable.of(
    { config: config.value, preparer: parts.httpFilters, defaultAuthority: host },
    refs,
  );
  parts.meter.begin();
  try {
    return withText(
      explainCall({
        ...{ config: config.value, table, method, headers, limits: parts.limits },
        findUnused: createUnusedSearch({
          types: parts.types,
          bytesOf: (typeUrl, name) => source.find(typeUrl, name)?.value,
          policies: undefined,
        }),
      }),
    );
  } finally {
    parts.meter.end();
  }
}

/** Builds the config of a target: at once, because the source has all resources. */
function buildConfig(
  source: GivenResources,
  target: TargetName,
  { types, limits }: ExplainParts,
): Result<XdsConfig, string> {
  const listenerName = listenerResourceName(bootstrapFor(target), target);
  if (!listenerName.ok) return listenerName;
  const tasks: (() => void)[] = [];
  const clock = immediateClock(tasks);
  let update: Result<XdsConfig, string> = err('the resources are incomplete');
  const manager = new XdsDependencyManager({
    ...{ source, types, limits, logger: silentLogger },
    dns: unresolvedDns(tasks),
    ...{ listenerName: listenerName.value, host: toAuthority(target.path) },
    clientNote: 'given resources',
    timeSlices: new TimeSlices(clock),
    onUpdate: (next) => (update = next),
  });
  manager.start();
  for (let task = tasks.shift(); task !== undefined; task = tasks.shift()) task();
  manager.close();
  return update;
}

/** A clock without delays: it adds its tasks to a list, which its owner runs in order. */
function immediateClock(tasks: (() => void)[]): Clock {
  return {
    ...{ now: () => 0, monotonicMs: () => 0 },
    soon: (task) => tasks.push(task),
    setTimer(task) {
      const timer = { isReleased: false };
      tasks.push(() => {
        if (!timer.isReleased) task();
      });
      return createHandle(() => (timer.isReleased = true));
    },
  };
}

/** Names of clusters are not resolved: no connection is made. */
function unresolvedDns(tasks: (() => void)[]): DnsWatcherFactory {
  return {
    start(_target, onResult) {
      tasks.push(() => onResult(err('names are not resolved here')));
      return { release() {}, requestReresolution() {} };
    },
  };
}

/** A bootstrap with the authority of a target, and with the default templates. */
function bootstrapFor({ authority }: TargetName): Bootstrap {
  const prefix = `xdstp://${percentEncodeAuthority(authority)}/`;
  const template = {
    clientListenerResourceNameTemplate: `${prefix}envoy.config.listener.v3.Listener/%s`,
    ...{ servers: [], fallbackOnReachabilityOnly: false },
  };
  return {
    ...{ source: 'given resources', servers: [], certificateProviders: new Map() },
    node: { id: '', cluster: '', locality: undefined, metadata: undefined },
    authorities: new Map(authority === '' ? [] : [[authority, template]]),
    clientDefaultListenerResourceNameTemplate: '%s',
  };
}
