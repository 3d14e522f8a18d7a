import type { DropCategory } from '../../resources/endpoints/endpoints';
import type { LbConfig } from '../../resources/extension-points';
import {
  readInteger,
  readList,
  readObject,
  readRequiredString,
  readString,
} from '../../util/json-fields';
import type { Violations } from '../../util/violations';
import type { LbChildParser } from '../lb-policy';
import { childPolicyToJson } from '../policy-json';
import type { LoadReporting } from './cluster-loads';

/** The gRPC name of the policy. */
export const CLUSTER_IMPL = 'xds_cluster_impl_experimental';

/** How many concurrent calls a cluster takes unless it says otherwise (gRFC A32). */
const DEFAULT_MAX_REQUESTS = 1024;

const MILLION = 1_000_000;

/** What `xds_cluster_impl_experimental` applies to a cluster. */
export interface ClusterImplOptions {
  readonly cluster: string;
  /** `service_name` of an EDS cluster; else empty. Concurrent calls are counted by it, too. */
  readonly edsServiceName: string;
  /** Concurrent calls allowed, in the whole process (gRFC A32). */
  readonly maxRequests: number;
  /** Calls to drop, in order of evaluation (gRFC A27). */
  readonly drops: readonly DropCategory[];
  readonly childPolicy: LbConfig;
  /** Absent if no load is to be reported (gRFC A27). */
  readonly loadReporting?: LoadReporting | undefined;
}

/** The config of `xds_cluster_impl_experimental` (gRFCs A32, A37). */
export class ClusterImplConfig implements LbConfig {
  readonly policyName = CLUSTER_IMPL;

  constructor(readonly options: ClusterImplOptions) {}

  /** Without what reports load, which is an object of this process. */
  toJson(): object {
    const { cluster, edsServiceName, maxRequests, drops, childPolicy } = this.options;
    return {
      cluster,
      edsServiceName,
      maxConcurrentRequests: maxRequests,
      dropCategories: drops.map(({ category, perMillion }) => ({
        category,
        requestsPerMillion: perMillion,
      })),
      childPolicy: childPolicyToJson(childPolicy),
    };
  }
}

/**
 * Validates the JSON config `{ cluster, edsServiceName, maxConcurrentRequests,
 * dropCategories: [{ category, requestsPerMillion }], childPolicy }`. gRFC A74 left only `cluster` and
 * `childPolicy` of it and has the rest read from the `XdsConfig`; here `cds_experimental` fills in the whole,
 * so the policy depends on nothing but its config.
 */
export function parseClusterImplConfig(
  json: unknown,
  violations: Violations,
  parser: LbChildParser,
): ClusterImplConfig | undefined {
  const before = violations.count;
  const fields = readObject(json, violations);
  if (fields === undefined) return undefined;
  const cluster = readRequiredString(fields, 'cluster', violations);
  const edsServiceName = readString(fields, 'edsServiceName', violations) ?? '';
  const maxRequests = readInteger(
    fields.get('maxConcurrentRequests') ?? DEFAULT_MAX_REQUESTS,
    { min: 0, max: 2 ** 32 - 1 },
    violations.at('maxConcurrentRequests'),
  );
  const drops = readList(fields, 'dropCategories', violations).map((drop, i) =>
    parseDrop(drop, violations.at('dropCategories').index(i)),
  );
  const childPolicy = parser.parseList(fields.get('childPolicy'), violations.at('childPolicy'));
  if (violations.count > before) return undefined;
  if (cluster === undefined || maxRequests === undefined || childPolicy === undefined) {
    return undefined;
  }
  return new ClusterImplConfig({
    cluster,
    edsServiceName,
    maxRequests,
    drops: drops.filter((drop) => drop !== undefined),
    childPolicy,
  });
}

function parseDrop(json: unknown, violations: Violations): DropCategory | undefined {
  const fields = readObject(json, violations);
  if (fields === undefined) return undefined;
  const category = readRequiredString(fields, 'category', violations);
  const perMillion = readInteger(
    fields.get('requestsPerMillion') ?? 0,
    { min: 0, max: MILLION },
    violations.at('requestsPerMillion'),
  );
  if (category === undefined || perMillion === undefined) return undefined;
  return { category, perMillion };
}
