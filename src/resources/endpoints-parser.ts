import {
  ClusterLoadAssignment,
  type ClusterLoadAssignment_Policy_DropOverload,
} from '../generated/envoy/config/endpoint/v3/endpoint';
import { runSteps, type Steps } from '../util/steps';
import { Violations } from '../util/violations';
import type { DecodeContext, ElementLimit, ResourceType } from '../xds-client/resource-type';
import { AddressHashChange, rememberAddressHashes } from './address-hashes';
import {
  decodePieces,
  piecesOf,
  type AssignmentPieces,
  type LocalityPiece,
} from './assignment-pieces-parser';
import {
  decodeChangedAssignment,
  isDecodedFast,
  rememberAssignment,
} from './changed-endpoints-parser';
import { EndpointMetadataReader } from './endpoint-metadata-parser';
import { PreviousEndpoints } from './endpoint-reuse';
import type { DropCategory, EndpointsResource, LocalityEndpoints } from './endpoints';
import type { ExtensionPoints } from './extension-points';
import type { EndpointReading } from './lb-endpoint-parser';
import { localityName } from './locality';
import {
  AddressSet,
  ENDPOINTS_PER_STEP,
  parseLocalityEndpoints,
  type LocalityContext,
} from './locality-endpoints-parser';
import { checkEndpointCount } from './endpoint-count';
import { parseFraction } from './shared/fraction-parser';
import { createResourceType } from './shared/resource-decoder';
import { MAX_TOTAL_WEIGHT } from './shared/total-weight';
import { describeUnusable, UnusableAddresses } from './unusable-addresses';

/** Bytes of an assignment that is decoded in steps: some 2,000 endpoints, which take a few milliseconds. */
const MIN_BYTES_IN_STEPS = 2 ** 16;

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
      const shared = { previous, reading, readCollections, bytes };
      return runSteps(parseAssignment(piecesOf(message), shared, violations));
    },
    parseInSteps(bytes, context, violations) {
      if (bytes.length < MIN_BYTES_IN_STEPS) return undefined;
      return parsePieces(bytes, { context, reading, readCollections }, violations);
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

interface PiecesContext {
  readonly context: DecodeContext<EndpointsResource>;
  readonly reading: EndpointReading;
  readonly readCollections: boolean;
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

/** Decodes and parses an assignment piece by piece. As in one that is decoded as a whole, nothing else counts if a piece is malformed. */
function* parsePieces(
  bytes: Uint8Array,
  { context, reading, readCollections }: PiecesContext,
  violations: Violations,
): Steps<EndpointsResource | undefined> {
  const pieces = decodePieces(bytes, violations);
  if (pieces === undefined) return undefined;
  const previous = new PreviousEndpoints(context.previous(pieces.message.clusterName));
  const found = Violations.root();
  const shared = { previous, reading, readCollections, bytes };
  const value = yield* parseAssignment(pieces, shared, found);
  const { malformed } = pieces;
  violations.addAll(malformed.count > 0 ? malformed : found);
  return value;
}

function* parseAssignment(
  pieces: AssignmentPieces,
  context: EndpointsContext,
  violations: Violations,
): Steps<EndpointsResource> {
  const { message, malformed } = pieces;
  const addresses = new AddressSet();
  const unusable = new UnusableAddresses();
  const shared = { ...context, addresses, unusable };
  const localities = yield* parseLocalities(pieces, shared, violations.at('endpoints'));
  const { previous, bytes } = context;
  const parts = { localities, previous, unusableEndpoints: unusable.count };
  const value = assemble(message, parts, violations);
  const isValid = violations.count + malformed.count === 0;
  if (isValid && !isDecodedFast(bytes)) rememberAddressHashes(value, addresses.hashes);
  return value;
}

function* parseLocalities(
  { localities: pieces, malformed }: AssignmentPieces,
  { previous, reading, readCollections, bytes, addresses, unusable }: LocalitiesContext,
  violations: Violations,
): Steps<readonly PlacedLocality[]> {
  const metadataReader = new EndpointMetadataReader();
  const parsed: Parameters<typeof rememberAssignment>[1][number][] = [];
  const localities: PlacedLocality[] = [];
  for (const piece of pieces) {
    const i = localities.length;
    const onParsed: LocalityContext['onParsed'] = (value, parts) => {
      parsed[i] = { value, endpoints: parts };
    };
    const context = {
      ...{ previous, addresses, metadataReader, unusable },
      ...{ reading, readCollections, onParsed },
    };
    const value = yield* parseLocalityEndpoints(piece, context, violations.index(i));
    parsed[i] ??= undefined;
    localities.push(value && { priority: piece.message.priority, value });
    yield* skipEndpoints(piece);
  }
  if (violations.count + malformed.count === 0) rememberAssignment(bytes, parsed);
  return localities;
}

/** Iterates the endpoints of a locality that have not been, because it gets no calls: they may be malformed. */
function* skipEndpoints({ endpoints }: LocalityPiece): Steps<void> {
  const rest = endpoints[Symbol.iterator]();
  for (let count = 1; rest.next().done !== true; count++) {
    if (count % ENDPOINTS_PER_STEP === 0) yield;
  }
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
