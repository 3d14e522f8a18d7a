import {
  ClusterLoadAssignment,
  type ClusterLoadAssignment_Policy_DropOverload,
} from '../generated/envoy/config/endpoint/v3/endpoint';
import { Violations } from '../util/violations';
import type { ElementLimit, ResourceType } from '../xds-client/resource-type';
import { AddressHashChange, rememberAddressHashes } from './address-hashes';
import { decodeChangedAssignment, rememberAssignment } from './changed-endpoints-parser';
import { EndpointMetadataReader } from './endpoint-metadata-parser';
import { PreviousEndpoints } from './endpoint-reuse';
import type { DropCategory, EndpointsResource, LocalityEndpoints } from './endpoints';
import type { ExtensionPoints } from './extension-points';
import type { EndpointReading } from './lb-endpoint-parser';
import { localityName } from './locality';
import {
  AddressSet,
  parseLocalityEndpoints,
  type LocalityContext,
} from './locality-endpoints-parser';
import { checkEndpointCount } from './endpoint-count';
import { parseFraction } from './shared/fraction-parser';
import { createResourceType } from './shared/resource-decoder';
import { MAX_TOTAL_WEIGHT } from './shared/total-weight';
import { describeUnusable, UnusableAddresses } from './unusable-addresses';

// `endpoints` of the assignment, and `lb_endpoints` of each of them.
const ENDPOINT_PATHS = [[2], [2, 2]];

/** Counts the endpoints that may get calls. */
function countEndpoints({ priorities }: EndpointsResource): number {
  let count = 0;
  for (const { localities } of priorities) {
    for (const { endpoints } of localities) count += endpoints.length;
  }
  return count;
}

/** Localities by name, by priority. */
type Priorities = ReadonlyMap<number, ReadonlyMap<string, LocalityEndpoints>>;

/** EDS. An update keeps the identity of everything that did not change. */
export function createEndpointsResourceType(
  {
    keepDraining = false,
    additionalAddresses = true,
    endpointCollections: readCollections = false,
    maxEndpointsPerAssignment: max,
  }: Pick<
    ExtensionPoints,
    'keepDraining' | 'additionalAddresses' | 'endpointCollections' | 'maxEndpointsPerAssignment'
  >,
  elementLimit?: ElementLimit,
): ResourceType<EndpointsResource> {
  const reading = { keepDraining, additionalAddresses };
  return createResourceType({
    typeName: 'envoy.config.endpoint.v3.ClusterLoadAssignment',
    decoder: ClusterLoadAssignment,
    allResourcesRequiredInSotw: false,
    discoveryService: {
      service: 'envoy.service.endpoint.v3.EndpointDiscoveryService',
      noun: 'Endpoints',
    },
    checkSize(bytes, violations) {
      checkEndpointCount(bytes, { paths: ENDPOINT_PATHS, max }, violations.at('endpoints'));
    },
    elementLimit,
    countElements: countEndpoints,
    describeSkipped: ({ unusableEndpoints }) => describeUnusable(unusableEndpoints),
    parse(message, context, violations, bytes) {
      const previous = new PreviousEndpoints(context.previous(message.clusterName));
      return parseAssignment(message, { previous, reading, readCollections, bytes }, violations);
    },
    parseChange(bytes, name, context) {
      const before = context.previous(name);
      // How many addresses cannot be used is counted only when every endpoint is decoded.
      if (before === undefined || before.unusableEndpoints !== undefined) return undefined;
      const previous = new PreviousEndpoints(before);
      const change = decodeChangedAssignment(bytes, previous, reading);
      if (change === undefined) return undefined;
      const addresses = AddressHashChange.check(before, change);
      if (addresses === undefined) return undefined;
      const violations = Violations.root();
      const value = assemble(
        change.message,
        { localities: change.localities, previous },
        violations,
      );
      if (violations.count > 0) return undefined;
      addresses.apply(value);
      return value;
    },
  });
}

interface EndpointsContext {
  readonly previous: PreviousEndpoints;
  readonly reading: EndpointReading;
  readonly readCollections: boolean;
  /** What the message was decoded from. */
  readonly bytes: Uint8Array;
}

/** A locality that gets calls; `undefined` keeps the place of one that does not. */
type PlacedLocality = { readonly priority: number; readonly value: LocalityEndpoints } | undefined;

/** What the localities of an assignment are parsed with. */
interface LocalitiesContext extends EndpointsContext {
  readonly addresses: AddressSet;
  readonly unusable: UnusableAddresses;
}

/** What an assignment is put together from. */
interface AssignmentParts {
  readonly localities: readonly PlacedLocality[];
  readonly previous: PreviousEndpoints;
  readonly unusableEndpoints?: number | undefined;
}

function parseAssignment(
  message: ClusterLoadAssignment,
  context: EndpointsContext,
  violations: Violations,
): EndpointsResource {
  const addresses = new AddressSet();
  const unusable = new UnusableAddresses();
  const shared = { ...context, addresses, unusable };
  const localities = parseLocalities(message, shared, violations.at('endpoints'));
  const { previous } = context;
  const parts = { localities, previous, unusableEndpoints: unusable.count };
  const value = assemble(message, parts, violations);
  if (violations.count === 0) rememberAddressHashes(value, addresses.hashes);
  return value;
}

function parseLocalities(
  { endpoints }: ClusterLoadAssignment,
  { previous, reading, readCollections, bytes, addresses, unusable }: LocalitiesContext,
  violations: Violations,
): readonly PlacedLocality[] {
  const metadataReader = new EndpointMetadataReader();
  const parsed: Parameters<typeof rememberAssignment>[1][number][] = [];
  const localities = endpoints.map((message, i) => {
    const onParsed: LocalityContext['onParsed'] = (value, parts) => {
      parsed[i] = { value, endpoints: parts };
    };
    const context = {
      ...{ previous, addresses, metadataReader, unusable },
      ...{ reading, readCollections, onParsed },
    };
    const value = parseLocalityEndpoints(message, context, violations.index(i));
    parsed[i] ??= undefined;
    return value && { priority: message.priority, value };
  });
  if (violations.count === 0) rememberAssignment(bytes, parsed);
  return localities;
}

/** Puts the parts together, and checks what concerns more than one of them. */
function assemble(
  { clusterName, policy }: ClusterLoadAssignment,
  { localities, previous, unusableEndpoints }: AssignmentParts,
  violations: Violations,
): EndpointsResource {
  const at = violations.at('endpoints');
  const priorities = groupByPriority(localities, at);
  checkPriorities(priorities, at);
  const dropsAt = violations.at('policy').at('drop_overloads');
  const drops = (policy?.dropOverloads ?? []).map((drop, i) => parseDrop(drop, dropsAt.index(i)));
  const inOrder = [...priorities].sort(([a], [b]) => a - b);
  return previous.share({
    clusterName,
    priorities: inOrder.map(([, byName]) => ({ localities: [...byName.values()] })),
    drops,
    ...(unusableEndpoints !== undefined && { unusableEndpoints }),
  });
}

function groupByPriority(
  localities: readonly PlacedLocality[],
  violations: Violations,
): Priorities {
  const priorities = new Map<number, Map<string, LocalityEndpoints>>();
  for (const [i, placed] of localities.entries()) {
    if (placed === undefined) continue;
    const { priority, value } = placed;
    const byName = priorities.get(priority) ?? new Map<string, LocalityEndpoints>();
    priorities.set(priority, byName);
    const name = localityName(value.locality);
    if (byName.has(name)) {
      violations.index(i).add(`duplicate locality ${name} in priority ${priority}`);
    }
    byName.set(name, value);
  }
  return priorities;
}

function checkPriorities(priorities: Priorities, violations: Violations): void {
  for (const [priority, localities] of priorities) {
    if (priority > 0 && !priorities.has(priority - 1)) {
      violations.add(`priority ${priority} is used, but priority ${priority - 1} is not`);
    }
    let total = 0;
    for (const { weight } of localities.values()) total += weight;
    if (total > MAX_TOTAL_WEIGHT) {
      violations.add(
        `the sum of the locality weights of priority ${priority} must not exceed ${MAX_TOTAL_WEIGHT}, but is ${total}`,
      );
    }
  }
}

function parseDrop(
  { category, dropPercentage }: ClusterLoadAssignment_Policy_DropOverload,
  violations: Violations,
): DropCategory {
  const at = violations.at('drop_percentage');
  if (category === '') violations.at('category').add('must not be empty');
  if (dropPercentage === undefined) at.add('field not present');
  return { category, perMillion: (dropPercentage && parseFraction(dropPercentage, at)) ?? 0 };
}
