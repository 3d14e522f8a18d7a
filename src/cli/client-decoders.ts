import type { ServerConfig } from '../bootstrap/bootstrap';
import { DEFAULT_LIMITS } from '../bootstrap/limits';
import { XxHash64 } from '../hash/xx-hash';
import { HttpFilterRegistry } from '../http-filters/registry';
import { routerFilter } from '../http-filters/router/router-filter';
import {
  createPolicyRegistry,
  type PolicyEnvironment,
} from '../lb/registry/create-policy-registry';
import { RegexMeter } from '../regex/regex-meter';
import { addHttpFilters, createRuntimeResourceTypes } from '../runtime/built-in-parts';
import { systemClock } from '../util/clock';
import { currentFeatureFlags } from '../util/feature-flags';
import { silentLogger } from '../util/logger';
import { systemRandom } from '../util/random';
import { parseOpaqueName, parseResourceName } from '../xds-client/resource-name';
import type { ResourceType } from '../xds-client/resource-type';

/** A resource as it is sent to clients. */
export interface SentResource {
  readonly typeUrl: string;
  readonly name: string;
  readonly value: Uint8Array;
}

/** What a client makes of a resource. */
export interface Verdict {
  /** Why it rejects the resource. */
  readonly violations: readonly string[];
  /** The fields that it does not use of a resource that it accepts. */
  readonly unusedFields: readonly string[];
}

/** Judges a resource as a client does. */
export type ResourceJudge = (resource: SentResource) => Verdict;

const NOT_REQUESTED: Verdict = { violations: [], unusedFields: [] };

/** A server without features, whose resources clients trust as by default. */
const SERVER: ServerConfig = {
  serverUri: 'grpc-xds check',
  channelCreds: { type: 'insecure', config: undefined },
  callCreds: [],
  features: new Set(),
  key: '',
};

/**
 * Creates the decoders of the client, with every policy and filter of this package that the environment variables
 * enable. The only file of the command line that imports the client; see docs/architecture.md.
 *
 * @returns the judge. It accepts resources of types that clients do not request.
 */
export function createResourceJudge(): ResourceJudge {
  const environment: PolicyEnvironment = {
    ...{ clock: systemClock, random: systemRandom, logger: silentLogger },
    ...{ flags: currentFeatureFlags(), hash: new XxHash64(), limits: DEFAULT_LIMITS },
  };
  const httpFilters = new HttpFilterRegistry([routerFilter]);
  addHttpFilters(httpFilters, environment);
  const policies = createPolicyRegistry(environment);
  const regexes = new RegexMeter(environment.limits.maxRegexStepsPerCall, silentLogger);
  const types = createRuntimeResourceTypes(policies, httpFilters, { ...environment, regexes });
  const byUrl = new Map<string, ResourceType<unknown>>(
    Object.values(types).map((type: ResourceType<unknown>) => [type.typeUrl, type]),
  );
  const parseName = environment.flags.federation ? parseResourceName : parseOpaqueName;
  return ({ typeUrl, name, value }) => {
    const type = byUrl.get(typeUrl);
    if (type === undefined) return NOT_REQUESTED;
    const parsed = parseName(name, typeUrl);
    if (!parsed.ok) return rejected([`not a usable resource name: ${parsed.error}`]);
    const { result } = type.decode(value, { server: SERVER, previous: () => undefined });
    if (!result.ok) return rejected(result.error);
    return { violations: [], unusedFields: type.describeUnusedFields?.(value) ?? [] };
  };
}

function rejected(violations: readonly string[]): Verdict {
  return { violations, unusedFields: [] };
}
