import {
  ClusterLoadAssignment,
  type ClusterLoadAssignment_Policy_DropOverload,
} from '../../wire/generated/envoy/config/endpoint/v3/endpoint';
import { inSteps, runSteps, STEP_SIZE, type Steps } from '../../util/steps';
import { Violations } from '../../util/violations';
import type {
  DecodeContext,
  DecodedValue,
  ElementLimit,
  PreviousVersion,
  ResourceType,
} from '../../xds-client/resource-type';
import type { ExtensionPoints } from '../extension-points';
import { decodeMessage, peekText } from '../shared/any';
import { parseFraction, MAX_TOTAL_WEIGHT } from '../matching/fraction-parser';
import { ENDPOINTS_LIMIT, createResourceType } from '../resource-parser';
import { metadataTypesOf } from '../shared/metadata-parser';
import { countElements } from '../encoded/sliced-message';
import {
  decodeAssignment,
  LOCALITIES,
  piecesOf,
  type AssignmentPieces,
  type LocalityPiece,
} from './assignment-pieces-parser';
import type * as ChangedEndpoints from './changed-endpoints-parser';
import type { ChangeReading } from './changed-endpoints-parser';
import { checkAssignmentSize, checkEndpointCount } from './assignment-limits';
import { AddressSet } from './endpoint-addresses';
import { PreviousEndpoints } from './endpoint-reuse';
import {
  localityKey,
  describeLocality,
  describeSkippedEndpoints,
  type DropCategory,
  type EndpointsChange,
  type EndpointsResource,
  type LocalityEndpoints,
  type PriorityEndpoints,
} from './endpoints';
import { compareEndpoints } from './endpoints-change';
import { EndpointsRecord, type ParsedLocality } from './endpoints-record';
import {
  LbEndpointParser,
  type EndpointReading,
  ENDPOINT_SIZE,
  parseLocalityEndpoints,
  type LocalityContext,
} from './locality-endpoints-parser';
import { late } from '../../util/late';

/** Loaded for the first assignment that has a record; a small one is decoded as a whole. */
const loadChangedParser = late<typeof ChangedEndpoints>(() =>
  require('./changed-endpoints-parser'),
);

/** Bytes of an assignment that is decoded in steps: some 2,000 endpoints, which take a few milliseconds. */
const MIN_BYTES_IN_STEPS = 2 ** 16;

/** Localities of an assignment that is decoded at once: each takes as long as a dozen endpoints. */
const MAX_LOCALITIES = 128;

/** Endpoints of a previous version that a small assignment is compared with at once. */
const MAX_ENDPOINTS = 4096;

const CLUSTER_NAME = 1;

// `endpoints` of the assignment, and `lb_endpoints` of each of them.
const ENDPOINT_PATHS = [[2], [2, 2]];

/** Counts the endpoints that may get calls, and each locality without any for one: it is a policy, too. */
function countEndpoints({ priorities }: EndpointsResource): number {
  let count = 0;
  for (const { localities } of priorities) {
    for (const { endpoints } of localities) count += Math.max(1, endpoints.length);
  }
  return count;
}

function describeEndpointsChange({ localities }: EndpointsChange): string {
  const counts = (['added', 'removed', 'updated'] as const).map((kind) => {
    const count = localities.reduce((sum, locality) => sum + locality[kind].length, 0);
    return `${count} ${kind}`;
  });
  return `endpoints: ${counts.join(', ')}`;
}

/** Localities by `localityKey`, by priority. */
type Priorities = ReadonlyMap<number, ReadonlyMap<string, LocalityEndpoints>>;

/** EDS. An update keeps the identity of everything that did not change. */
export function createEndpointsResourceType(
  {
    keepDraining = false,
    additionalAddresses = true,
    endpointCollections = false,
    maxEndpointsPerAssignment: max,
    ...features
  }: Omit<ExtensionPoints, 'lbConfigs' | 'httpFilters' | 'regexes'>,
  elementLimit?: ElementLimit,
): ResourceType<EndpointsResource, EndpointsChange> {
  const metadataTypes = metadataTypesOf(features);
  const reading = { keepDraining, additionalAddresses, metadataTypes };
  return createResourceType({
    typeName: 'envoy.config.endpoint.v3.ClusterLoadAssignment',
    allResourcesRequiredInSotw: false,
    discoveryService: {
      service: 'envoy.service.endpoint.v3.EndpointDiscoveryService',
      noun: 'Endpoints',
    },
    *checkSize(bytes, violations) {
      yield* checkAssignmentSize(bytes, violations);
      // Looks into each locality.
      if (violations.count > 0) return;
      yield* checkEndpointCount(bytes, { paths: ENDPOINT_PATHS, max }, violations.at('endpoints'));
    },
    elementLimit,
    countElements: countEndpoints,
    // Health is no mistake: it is in the status of calls, where no endpoint can be used.
    describeSkipped: (value: EndpointsResource) =>
      describeSkippedEndpoints({ ...value, unhealthyEndpoints: undefined }),
    describeChange: describeEndpointsChange,
    limit: ENDPOINTS_LIMIT,
    parse: (bytes, context, violations) =>
      parseEncoded(bytes, { context, reading, endpointCollections }, violations),
    *parseChange(bytes, before, { budget }) {
      const steps = parseChange(bytes, before, { ...reading, budget });
      return isReadAtOnce(bytes, before) ? runSteps(steps) : yield* steps;
    },
  });
}

/** Parses what changed since the previous version; `undefined` if the whole must be parsed. */
function* parseChange(
  bytes: Uint8Array,
  { value: before, record }: PreviousVersion<EndpointsResource>,
  reading: ChangeReading,
): Steps<DecodedEndpoints | undefined> {
  // How many endpoints cannot be used is counted only when every endpoint is decoded.
  if (!(record instanceof EndpointsRecord) || before.unusableEndpoints !== undefined) {
    return undefined;
  }
  const previous = new PreviousEndpoints(before);
  const { decodeChangedAssignment } = loadChangedParser();
  const changed = yield* decodeChangedAssignment(bytes, { previous, record }, reading);
  if (changed === undefined) return undefined;
  const violations = Violations.root();
  const { message, record: next, change, ...parts } = changed;
  const value = yield* assemble(message, { ...parts, previous }, violations);
  if (violations.count > 0 || !hasUsableEndpoint(value.priorities)) return undefined;
  return { value, record: next, change };
}

/** The context of an assignment. */
interface AssignmentContext {
  readonly previous: PreviousVersion<EndpointsResource> | undefined;
  readonly reading: EndpointReading;
  readonly endpointCollections: boolean;
  /** The encoded message. */
  readonly bytes: Uint8Array;
}

interface PiecesContext extends Pick<AssignmentContext, 'reading' | 'endpointCollections'> {
  readonly context: DecodeContext<EndpointsResource>;
}

/** A locality that gets calls; `undefined` keeps the place of one that does not. */
type PlacedLocality = Pick<ParsedLocality, 'priority' | 'value'> | undefined;

/** The parts of an assignment. */
interface AssignmentParts {
  readonly localities: readonly PlacedLocality[];
  readonly previous: PreviousEndpoints;
  readonly unusableEndpoints?: number | undefined;
  /** Those that were left out. */
  readonly omittedByHealth?: ReadonlyMap<string, number>;
  readonly localitiesWithoutWeight?: number | undefined;
}

/** A valid assignment. */
type DecodedEndpoints = DecodedValue<EndpointsResource, EndpointsChange>;

/** Whether an assignment is decoded, parsed and compared at once, in a few milliseconds: few calls wait for a small one. */
function isReadAtOnce(
  bytes: Uint8Array,
  previous: PreviousVersion<EndpointsResource> | undefined,
): boolean {
  if (bytes.length >= MIN_BYTES_IN_STEPS) return false;
  if (previous !== undefined && !isComparedAtOnce(previous.value)) return false;
  return runSteps(countElements(bytes, [LOCALITIES.number], MAX_LOCALITIES)) <= MAX_LOCALITIES;
}

function isComparedAtOnce(previous: EndpointsResource): boolean {
  let localities = 0;
  for (const priority of previous.priorities) localities += priority.localities.length;
  return localities <= MAX_LOCALITIES && countEndpoints(previous) <= MAX_ENDPOINTS;
}

/** Decodes a small assignment as a whole. */
function readWhole(bytes: Uint8Array, violations: Violations): AssignmentPieces | undefined {
  const message = decodeMessage(ClusterLoadAssignment, bytes, violations);
  return message && piecesOf(message, bytes);
}

/** Decodes and parses an assignment, a large one piece by piece. If a piece is malformed, that is the only violation. */
function* parseEncoded(
  bytes: Uint8Array,
  { context, ...options }: PiecesContext,
  violations: Violations,
): Steps<DecodedEndpoints | undefined> {
  const known = context.previous(peekText(bytes, CLUSTER_NAME) ?? '');
  const isSmall = isReadAtOnce(bytes, known);
  const pieces = isSmall
    ? readWhole(bytes, violations)
    : yield* decodeAssignment(bytes, violations);
  if (pieces === undefined) return undefined;
  if (!isSmall) yield;
  const previous = context.previous(pieces.message.clusterName);
  const found = Violations.root(violations.budget);
  const steps = parseAssignment(pieces, { ...options, previous, bytes }, found);
  const decoded = isSmall ? runSteps(steps) : yield* steps;
  const { malformed } = pieces;
  violations.addAll(malformed.count > 0 ? malformed : found);
  return decoded;
}

function* parseAssignment(
  pieces: AssignmentPieces,
  { previous: before, reading, endpointCollections, bytes }: AssignmentContext,
  violations: Violations,
): Steps<DecodedEndpoints> {
  const { message, malformed } = pieces;
  const previous = new PreviousEndpoints(before?.value);
  const addresses = new AddressSet();
  const parser = new LbEndpointParser(reading);
  const context = { previous, addresses, parser, endpointCollections };
  const at = violations.at('endpoints');
  const { localities, ...without } = yield* parseLocalities(pieces, context, at);
  const { unusableEndpoints, omittedByHealth } = parser;
  const parts = { localities, previous, unusableEndpoints, omittedByHealth, ...without };
  const value = yield* assemble(message, parts, violations);
  if (violations.count + malformed.count > 0) return { value };
  const of = { pieces, length: bytes.length };
  const record = yield* EndpointsRecord.create(of, localities, addresses);
  // Not with the first update, for which calls wait.
  if (record !== undefined) loadChangedParser();
  return { value, record, change: before && (yield* compareEndpoints(before.value, value)) };
}

function* parseLocalities(
  pieces: AssignmentPieces,
  context: LocalityContext,
  violations: Violations,
): Steps<{
  readonly localities: readonly (ParsedLocality | undefined)[];
  readonly localitiesWithoutWeight: number | undefined;
}> {
  let withoutWeight = 0;
  const localities: (ParsedLocality | undefined)[] = [];
  const parse = function* (i: number): Steps<void> {
    if (pieces.malformed.count > 0) return;
    const piece = yield* pieces.readLocality(i);
    if (piece === undefined) return;
    localities.push(yield* parseLocalityEndpoints(piece, context, violations.index(i)));
    const count = yield* skipEndpoints(piece);
    if (count > 0 && piece.message.loadBalancingWeight === undefined) withoutWeight++;
  };
  yield* inSteps(Array(pieces.localityCount).keys(), parse, (i) => pieces.sizeOf(i));
  return { localities, localitiesWithoutWeight: withoutWeight || undefined };
}

/** Decodes the endpoints of a locality that gets no calls, too: they may be malformed. @returns their number. */
function* skipEndpoints({ endpoints }: LocalityPiece): Steps<number> {
  let count = 0;
  yield* inSteps(
    endpoints,
    () => {
      count++;
    },
    () => ENDPOINT_SIZE,
  );
  return count;
}

/** Creates an assignment from its parts, and validates what concerns more than one of them. */
function* assemble(
  { clusterName, policy }: ClusterLoadAssignment,
  { localities, previous, omittedByHealth, ...skipped }: AssignmentParts,
  violations: Violations,
): Steps<EndpointsResource> {
  const at = violations.at('endpoints');
  const priorities = yield* groupByPriority(localities, at);
  checkPriorities(priorities, at);
  const dropsAt = violations.at('policy').at('drop_overloads');
  const drops = (policy?.dropOverloads ?? []).map((drop, i) => parseDrop(drop, dropsAt.index(i)));
  const inOrder = [...priorities].sort(([a], [b]) => a - b);
  if (localities.length >= STEP_SIZE) yield;
  const listed = inOrder.map(([, byKey]) => ({ localities: [...byKey.values()] }));
  const { unusableEndpoints, localitiesWithoutWeight } = skipped;
  const unhealthyEndpoints = omittedByHealth && countUnhealthy(listed, omittedByHealth);
  return previous.share({
    clusterName,
    priorities: listed,
    drops,
    ...(unusableEndpoints !== undefined && { unusableEndpoints }),
    ...(unhealthyEndpoints !== undefined && { unhealthyEndpoints }),
    ...(localitiesWithoutWeight !== undefined && { localitiesWithoutWeight }),
  });
}

/** Whether a call can go to any endpoint. Calls of a session may stay on a draining one (gRFC A55). */
function hasUsableEndpoint(priorities: readonly PriorityEndpoints[]): boolean {
  return priorities.some(({ localities }) =>
    localities.some(({ endpoints, collection }) =>
      collection === undefined ? endpoints.some(({ health }) => health !== 'DRAINING') : true,
    ),
  );
}

/** Counts all endpoints by their health, if none can be used because of it. */
function countUnhealthy(
  priorities: readonly PriorityEndpoints[],
  omitted: ReadonlyMap<string, number>,
): ReadonlyMap<string, number> | undefined {
  if (hasUsableEndpoint(priorities)) return undefined;
  let draining = omitted.get('DRAINING') ?? 0;
  for (const { localities } of priorities)
    for (const { endpoints } of localities) draining += endpoints.length;
  const counts = new Map(omitted);
  if (draining > 0) counts.set('DRAINING', draining);
  return counts.size === 0 ? undefined : counts;
}

function* groupByPriority(
  localities: readonly PlacedLocality[],
  violations: Violations,
): Steps<Priorities> {
  const priorities = new Map<number, Map<string, LocalityEndpoints>>();
  yield* inSteps(localities, (placed, i) => {
    if (placed === undefined) return;
    const { priority, value } = placed;
    const byKey = priorities.get(priority) ?? new Map<string, LocalityEndpoints>();
    priorities.set(priority, byKey);
    const key = localityKey(value.locality);
    if (byKey.has(key)) {
      const name = describeLocality(value.locality);
      violations.index(i).add(`duplicate locality ${name} in priority ${priority}`);
    }
    byKey.set(key, value);
  });
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
