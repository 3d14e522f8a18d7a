import { CDS, CdsConfig } from '../../src/lb/cds/config';
import { CLUSTER_IMPL, ClusterImplConfig } from '../../src/lb/cluster-impl/config';
import { CLUSTER_MANAGER, ClusterManagerConfig } from '../../src/lb/cluster-manager/config';
import type { LbPolicyType, ParseLbConfig } from '../../src/lb/lb-policy';
import { OVERRIDE_HOST, OverrideHostConfig } from '../../src/lb/override-host/config';
import { PRIORITY, PriorityConfig, type PriorityChildConfig } from '../../src/lb/priority/config';
import { readChildPolicy } from '../../src/lb/registry/policy-config';
import {
  WEIGHTED_TARGET,
  WeightedTargetConfig,
  type WeightedTarget,
} from '../../src/lb/weighted-target/config';
import type { DropCategory, HealthStatus } from '../../src/resources/endpoints/endpoints';
import type { LbConfig } from '../../src/resources/extension-points';
import { MILLION } from '../../src/resources/matching/fraction-parser';
import {
  parseObject,
  readBoolean,
  readDurationMs,
  readEntries,
  readInteger,
  readList,
  readRequiredString,
  readString,
} from '../../src/util/json-fields';
import type { Violations } from '../../src/util/violations';

/*
 * The JSON of the policies whose configs only the client creates, as gRFCs have it, for tests that describe trees of policies
 * in JSON.
 */

const DEFAULT_MAX_REQUESTS = 1024;
const DEFAULT_IDLE_TIMEOUT_MS = 3_600_000;
const MAX_WEIGHT = 2 ** 32 - 1;

const HEALTH_STATUSES: ReadonlySet<unknown> = new Set<HealthStatus>([
  'UNKNOWN',
  'HEALTHY',
  'DRAINING',
]);
const defaultStatuses: ReadonlySet<HealthStatus> = new Set(['UNKNOWN', 'HEALTHY']);

/** Validates the JSON config `{ cluster, isDynamic }`. */
const parseCdsConfig: ParseLbConfig<CdsConfig> = (json, violations) =>
  parseObject(json, violations, (fields) => {
    const cluster = readRequiredString(fields, 'cluster', violations);
    const isDynamic = readBoolean(fields, 'isDynamic', false, violations);
    return cluster === undefined ? undefined : new CdsConfig(cluster, isDynamic);
  });

/** Validates the JSON config `{ children: { name: { childPolicy } } }`. */
const parseClusterManagerConfig: ParseLbConfig<ClusterManagerConfig> = (json, violations, parser) =>
  parseObject(json, violations, (fields) => {
    const children = readEntries(fields, 'children', violations, (child, at) =>
      parseObject(child, at, (childFields) => readChildPolicy(childFields, at, parser)),
    );
    return new ClusterManagerConfig(children);
  });

/**
 * Validates the JSON config `{ cluster, edsServiceName, maxConcurrentRequests,
 * dropCategories: [{ category, requestsPerMillion }], childPolicy }`.
 */
const parseClusterImplConfig: ParseLbConfig<ClusterImplConfig> = (json, violations, parser) =>
  parseObject(json, violations, (fields) => {
    const cluster = readRequiredString(fields, 'cluster', violations);
    const edsServiceName = readString(fields, 'edsServiceName', violations) ?? '';
    const maxRequests = readInteger(
      fields.get('maxConcurrentRequests') ?? DEFAULT_MAX_REQUESTS,
      { min: 0, max: 2 ** 32 - 1 },
      violations.at('maxConcurrentRequests'),
    );
    const drops = readList(fields, 'dropCategories', violations)
      .map((drop, i) => parseDrop(drop, violations.at('dropCategories').index(i)))
      .filter((drop) => drop !== undefined);
    const childPolicy = readChildPolicy(fields, violations, parser);
    if (cluster === undefined || maxRequests === undefined || childPolicy === undefined) {
      return undefined;
    }
    return new ClusterImplConfig({ cluster, edsServiceName, maxRequests, drops, childPolicy });
  });

function parseDrop(json: unknown, violations: Violations): DropCategory | undefined {
  return parseObject(json, violations, (fields) => {
    const category = readRequiredString(fields, 'category', violations);
    const perMillion = readInteger(
      fields.get('requestsPerMillion') ?? 0,
      { min: 0, max: MILLION },
      violations.at('requestsPerMillion'),
    );
    if (category === undefined || perMillion === undefined) return undefined;
    return { category, perMillion };
  });
}

/**
 * Validates the JSON config `{ overrideHostStatus, connectionIdleTimeout, childPolicy }`.
 */
const parseOverrideHostConfig: ParseLbConfig<OverrideHostConfig> = (json, violations, parser) =>
  parseObject(json, violations, (fields) => {
    const names = readList(fields, 'overrideHostStatus', violations);
    const statuses = parseStatuses(names, violations.at('overrideHostStatus'));
    const idleTimeoutMs = readDurationMs(
      fields,
      'connectionIdleTimeout',
      DEFAULT_IDLE_TIMEOUT_MS,
      violations,
    );
    const childPolicy = readChildPolicy(fields, violations, parser);
    if (childPolicy === undefined) return undefined;
    return new OverrideHostConfig({
      statuses: fields.has('overrideHostStatus') ? statuses : defaultStatuses,
      idleTimeoutMs,
      childPolicy,
    });
  });

function parseStatuses(
  names: readonly unknown[],
  violations: Violations,
): ReadonlySet<HealthStatus> {
  const statuses = new Set<HealthStatus>();
  for (const [i, name] of names.entries()) {
    if (isHealthStatus(name)) statuses.add(name);
    else violations.index(i).add('must be UNKNOWN, HEALTHY or DRAINING');
  }
  return statuses;
}

function isHealthStatus(value: unknown): value is HealthStatus {
  return HEALTH_STATUSES.has(value);
}

/**
 * Validates the JSON config `{ children: { name: { config, ignoreReresolutionRequests } }, priorities: [name] }`. Children
 * that are not listed as priorities are validated and left out.
 */
const parsePriorityConfig: ParseLbConfig<PriorityConfig> = (json, violations, parser) =>
  parseObject(json, violations, (fields) => {
    const children = readEntries(fields, 'children', violations, (child, at) => ({
      config: parseChild(child, at, parser),
    }));
    const listed = readList(fields, 'priorities', violations);
    return new PriorityConfig(selectPriorities(listed, violations.at('priorities'), children));
  });

const parseChild: ParseLbConfig<PriorityChildConfig> = (json, violations, parser) =>
  parseObject(json, violations, (fields) => {
    const config = parser.parseList(fields.get('config'), violations.at('config'));
    const name = 'ignoreReresolutionRequests';
    const ignoreReresolutionRequests = readBoolean(fields, name, false, violations);
    return config && { config, ignoreReresolutionRequests };
  });

/** @param children All children, those without `config` being invalid and reported already. */
function selectPriorities(
  json: readonly unknown[],
  violations: Violations,
  children: ReadonlyMap<string, { readonly config: PriorityChildConfig | undefined }>,
): ReadonlyMap<string, PriorityChildConfig> {
  const priorities = new Map<string, PriorityChildConfig>();
  for (const [i, name] of json.entries()) {
    const at = violations.index(i);
    const quoted = JSON.stringify(name);
    if (typeof name !== 'string') {
      at.add('must be a string');
    } else if (!children.has(name)) {
      at.add(`names the child ${quoted}, which is not given`);
    } else if (priorities.has(name)) {
      at.add(`names the child ${quoted} again`);
    } else {
      const config = children.get(name)?.config;
      if (config !== undefined) priorities.set(name, config);
    }
  }
  return priorities;
}

/** Validates the JSON config `{ targets: { name: { weight, childPolicy } } }`. */
const parseWeightedTargetConfig: ParseLbConfig<WeightedTargetConfig> = (json, violations, parser) =>
  parseObject(json, violations, (fields) => {
    const targets = readEntries(fields, 'targets', violations, (target, at) =>
      parseTarget(target, at, parser),
    );
    return new WeightedTargetConfig(targets);
  });

const parseTarget: ParseLbConfig<WeightedTarget> = (json, violations, parser) =>
  parseObject(json, violations, (fields) => {
    const bounds = { min: 1, max: MAX_WEIGHT };
    const weight = readInteger(fields.get('weight'), bounds, violations.at('weight'));
    const childPolicy = readChildPolicy(fields, violations, parser);
    if (weight === undefined || childPolicy === undefined) return undefined;
    return { weight, childPolicy };
  });

const parsers = new Map<string, ParseLbConfig<LbConfig>>([
  [CDS, parseCdsConfig],
  [CLUSTER_MANAGER, parseClusterManagerConfig],
  [CLUSTER_IMPL, parseClusterImplConfig],
  [OVERRIDE_HOST, parseOverrideHostConfig],
  [PRIORITY, parsePriorityConfig],
  [WEIGHTED_TARGET, parseWeightedTargetConfig],
]);

/** Returns an internal policy as one that JSON can name; any other one as it is. */
export function withJson(type: LbPolicyType): LbPolicyType {
  const parseConfig = parsers.get(type.name);
  return parseConfig === undefined ? type : { ...type, parseConfig };
}
