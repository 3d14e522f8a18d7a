import type { DropCategory } from '../../resources/endpoints/endpoints';
import type { LbConfig } from '../../resources/extension-points';
import {
  parseObject,
  readInteger,
  readList,
  readRequiredString,
  readString,
} from '../../util/json-fields';
import type { Violations } from '../../util/violations';
import type { ParseLbConfig } from '../lb-policy';
import { readChildPolicy } from '../registry/policy-config';
import type { LoadReporting } from './cluster-loads';
import { MILLION } from '../../resources/matching/fraction-parser';

export const CLUSTER_IMPL = 'xds_cluster_impl_experimental';

/** The default limit of concurrent calls (gRFC A32). */
const DEFAULT_MAX_REQUESTS = 1024;

/** The settings of `xds_cluster_impl_experimental` for one cluster. */
export interface ClusterImplOptions {
  readonly cluster: string;
  /** `service_name` of an EDS cluster; else empty. Concurrent calls are counted per cluster and this name. */
  readonly edsServiceName: string;
  /** Concurrent calls allowed, in the whole process (gRFC A32). */
  readonly maxRequests: number;
  /** Calls to drop, in order of evaluation (gRFC A27). */
  readonly drops: readonly DropCategory[];
  readonly childPolicy: LbConfig;
  /** Absent if no load is reported (gRFC A27). */
  readonly loadReporting?: LoadReporting | undefined;
}

/** The config of `xds_cluster_impl_experimental` (gRFCs A32, A37). */
export class ClusterImplConfig implements LbConfig {
  readonly policyName = CLUSTER_IMPL;

  constructor(readonly options: ClusterImplOptions) {}
}

/**
 * Validates the JSON config `{ cluster, edsServiceName, maxConcurrentRequests,
 * dropCategories: [{ category, requestsPerMillion }], childPolicy }`. By gRFC A74, only `cluster` and `childPolicy` are
 * fields and the rest is read from the `XdsConfig`; here `cds_experimental` fills in all fields, so that the policy
 * depends only on its config.
 */
export const parseClusterImplConfig: ParseLbConfig<ClusterImplConfig> = (
  json,
  violations,
  parser,
) =>
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
