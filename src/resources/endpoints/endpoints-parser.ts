import {
  ClusterLoadAssignment,
  type ClusterLoadAssignment_Policy_DropOverload,
} from '../../wire/generated/envoy/config/endpoint/v3/endpoint';
import { DEFAULT_LIMITS } from '../../bootstrap/limits';
import { asBuffer } from '../../util/bytes';
import { Violations } from '../../util/violations';
import { LocalityLbEndpoints } from '../../wire/generated/envoy/config/endpoint/v3/endpoint_components';
import type { ElementLimit, PreviousVersion, ResourceType } from '../../xds-client/resource-type';
import { ListReader, readerOf, type PartReader } from '../encoded/part-reader';
import {
  allNew,
  compareSlices,
  readHeadLength,
  toSlices,
  type SlicedMessage,
} from '../encoded/sliced-message';
import type { ExtensionPoints } from '../extension-points';
import { MAX_TOTAL_WEIGHT, parseFraction } from '../matching/fraction-parser';
import { createResourceType, ENDPOINTS_LIMIT, type ParsedResource } from '../resource-parser';
import { decodeMessage, decodePieces, type PieceField } from '../shared/any';
import { metadataTypesOf } from '../shared/metadata-parser';
import { MAX_DROP_CATEGORIES, MAX_LOCALITIES, tooManyEndpoints } from './assignment-limits';
import { checkAddresses, type PlacedEndpoints } from './endpoint-addresses';
import { PreviousEndpoints } from './endpoint-reuse';
import {
  localityKey,
  describeLocality,
  describeSkippedEndpoints,
  type DropCategory,
  type EndpointsResource,
  type LocalityEndpoints,
  type PriorityEndpoints,
} from './endpoints';
import { describeEndpointsChange } from './endpoints-change';
import {
  LbEndpointParser,
  readLocality,
  type EndpointReading,
  type EndpointSlices,
  type LocalityPiece,
  type ParsedLocality,
} from './locality-endpoints-parser';

/** The size of an assignment in bytes from which its encoded endpoints are kept: a process may have 20,000 small ones. */
const MIN_BYTES_KEPT = 2048;

const LOCALITIES: PieceField = { number: 2, name: 'endpoints' };
const LB_ENDPOINTS: PieceField = { number: 2, name: 'lb_endpoints' };

/** Counts the endpoints that may get calls, and each locality without any for one: it is a policy, too. */
function countEndpoints({ priorities }: EndpointsResource): number {
  let count = 0;
  for (const { localities } of priorities) {
    for (const { endpoints } of localities) count += Math.max(1, endpoints.length);
  }
  return count;
}

/** Localities by `localityKey`, by priority. */
type Priorities = ReadonlyMap<number, ReadonlyMap<string, LocalityEndpoints>>;

/** EDS. An update keeps the identity of everything that did not change, and decodes only endpoints whose bytes did. */
export function createEndpointsResourceType(
  {
    keepDraining = false,
    additionalAddresses = true,
    endpointCollections = false,
    maxEndpointsPerAssignment: maxEndpoints = DEFAULT_LIMITS.maxEndpointsPerAssignment,
    ...features
  }: Omit<ExtensionPoints, 'lbConfigs' | 'httpFilters' | 'regexes'>,
  elementLimit?: ElementLimit,
): ResourceType<EndpointsResource> {
  const metadataTypes = metadataTypesOf(features);
  const reading = { keepDraining, additionalAddresses, metadataTypes };
  return createResourceType({
    typeName: 'envoy.config.endpoint.v3.ClusterLoadAssignment',
    allResourcesRequiredInSotw: false,
    discoveryService: {
      service: 'envoy.service.endpoint.v3.EndpointDiscoveryService',
      noun: 'Endpoints',
    },
    elementLimit,
    countElements: countEndpoints,
    // Health is no mistake: it is in the status of calls, where no endpoint can be used.
    describeSkipped: (value: EndpointsResource) =>
      describeSkippedEndpoints({ ...value, unhealthyEndpoints: undefined }),
    describeChange: describeEndpointsChange,
    limit: ENDPOINTS_LIMIT,
    parse: (bytes, context, violations) =>
      parseAssignment(
        asBuffer(bytes),
        {
          before: context.previous,
          reading,
          endpointCollections,
          maxEndpoints,
        },
        violations,
      ),
  });
}

/** The record of an assignment, with which only the changes of its next version are decoded. */
class EndpointsRecord {
  /** Those of each locality where they are contiguous. */
  constructor(readonly slices: readonly EndpointSlices[]) {}

  /** Returns a function that finds a locality by the bytes before its endpoints, each once: it may be in every priority. */
  finder(): (slice: Buffer) => EndpointSlices | undefined {
    const byHead = new Map<string, EndpointSlices[]>();
    for (const known of this.slices) {
      const key = headOf(known.bytes, known.headLength);
      const list = byHead.get(key);
      if (list === undefined) byHead.set(key, [known]);
      else list.push(known);
    }
    return (slice) => {
      const length = readHeadLength(slice, LB_ENDPOINTS.number);
      return length === undefined ? undefined : byHead.get(headOf(slice, length))?.shift();
    };
  }
}

function headOf(bytes: Buffer, length: number): string {
  return bytes.toString('latin1', 0, length);
}

/** The context of an assignment. */
interface AssignmentContext {
  readonly before: PreviousVersion<EndpointsResource> | undefined;
  readonly reading: EndpointReading;
  readonly endpointCollections: boolean;
  readonly maxEndpoints: number;
}

/** A locality that gets calls; `undefined` keeps the place of one that does not. */
type PlacedLocality = ParsedLocality | undefined;

/** Parses an assignment. If a piece is malformed, that is the only violation. */
function parseAssignment(
  bytes: Buffer,
  context: AssignmentContext,
  violations: Violations,
): PartReader<ParsedResource<EndpointsResource>> | undefined {
  const split = splitAssignment(bytes, context, violations);
  if (split === undefined) return undefined;
  const { message, pieces, isPartial } = split;
  const previous = new PreviousEndpoints(context.before?.value);
  const parser = new LbEndpointParser(context.reading);
  const malformed = Violations.root(violations.budget);
  const found = Violations.root(violations.budget);
  const at = found.at(LOCALITIES.name);
  const { endpointCollections } = context;
  const own = { previous, parser, endpointCollections, malformed };
  const open = (piece: LocalityPiece, i: number) =>
    malformed.count > 0 ? readerOf(undefined) : readLocality(piece, own, at.index(i));
  return new ListReader(pieces, open, (localities) => {
    if (malformed.count > 0) {
      violations.addAll(malformed);
      return undefined;
    }
    checkAddresses(placedEndpoints(localities, at));
    const { unusableEndpoints } = parser;
    const localitiesWithoutWeight = pieces.filter(isWithoutWeight).length || undefined;
    const skipped = { unusableEndpoints, localitiesWithoutWeight };
    const value = previous.share(assemble(message, localities, skipped, found));
    violations.addAll(found);
    if (found.count > 0) return undefined;
    // Which of the endpoints kept cannot be used is not known.
    const isKept = bytes.length >= MIN_BYTES_KEPT && unusableEndpoints === undefined;
    const record = isKept ? new EndpointsRecord(slicesOf(localities, pieces)) : undefined;
    return { value, record, isPartial };
  });
}

/** An assignment whose localities are split, but not parsed. */
interface SplitAssignment {
  /** Without its localities. */
  readonly message: ClusterLoadAssignment;
  readonly pieces: readonly SplitLocality[];
  /** Whether the endpoints of the previous version are kept. */
  readonly isPartial: boolean;
}

/** @returns `undefined` after adding a violation. */
function splitAssignment(
  bytes: Buffer,
  { before, maxEndpoints }: AssignmentContext,
  violations: Violations,
): SplitAssignment | undefined {
  const split = decodePieces(ClusterLoadAssignment, bytes, LOCALITIES, violations);
  if (split === undefined) return undefined;
  const { message, bounds } = split;
  let record = before?.record instanceof EndpointsRecord ? before.record : undefined;
  let pieces = splitLocalities(bytes, bounds, { maxEndpoints, record }, violations);
  if (record !== undefined && pieces?.some(isNew) === true) {
    // What is kept would count with all that it replaces: the assignment is decoded as a whole, so that its size is known.
    record = undefined;
    pieces = splitLocalities(bytes, bounds, { maxEndpoints, record }, violations);
  }
  if (pieces === undefined || !hasAllowedDrops(message, violations)) return undefined;
  return { message, pieces, isPartial: record !== undefined };
}

/** A locality, and where its endpoints are; `undefined` if other fields are between them. */
interface SplitLocality extends LocalityPiece {
  readonly slices: SlicedMessage | undefined;
  readonly count: number;
}

/** Finds the endpoints of all localities. @returns `undefined` after adding a violation. */
function splitLocalities(
  bytes: Buffer,
  bounds: readonly number[],
  {
    maxEndpoints,
    record,
  }: Pick<AssignmentContext, 'maxEndpoints'> & { readonly record: EndpointsRecord | undefined },
  violations: Violations,
): readonly SplitLocality[] | undefined {
  const at = violations.at(LOCALITIES.name);
  const count = bounds.length / 2;
  if (count > MAX_LOCALITIES) return at.add(`more than ${MAX_LOCALITIES} localities`);
  if (count > maxEndpoints) return at.add(tooManyEndpoints(maxEndpoints));
  const find = record?.finder();
  const localities: SplitLocality[] = [];
  let endpoints = 0;
  for (let i = 0; i < bounds.length; i += 2) {
    violations.budget.renew();
    const slice = bytes.subarray(bounds[i], bounds[i + 1]);
    const locality = splitLocality(slice, find?.(slice), violations);
    if (locality === undefined) return undefined;
    localities.push(locality);
    endpoints += locality.count;
    if (endpoints > maxEndpoints) return at.add(tooManyEndpoints(maxEndpoints));
  }
  return localities;
}

function splitLocality(
  bytes: Buffer,
  known: EndpointSlices | undefined,
  violations: Violations,
): SplitLocality | undefined {
  const compared = known && compareSlices(bytes, LB_ENDPOINTS.number, known);
  if (compared !== undefined) {
    const { parts, rest, slices } = compared;
    const message = decodeMessage(LocalityLbEndpoints, rest, violations);
    const encoded = { bytes, parts, known };
    return message && { message, encoded, slices, count: slices.offsets.length / 2 };
  }
  const split = decodePieces(LocalityLbEndpoints, bytes, LB_ENDPOINTS, violations);
  if (split === undefined) return undefined;
  const { bounds, message } = split;
  const encoded = { bytes, parts: allNew(bounds) };
  return { message, encoded, slices: toSlices(bytes, split), count: bounds.length / 2 };
}

/** Whether a locality gets calls and has too little in common with the previous version. */
function isNew({ message, encoded }: SplitLocality): boolean {
  return encoded.known === undefined && (message.loadBalancingWeight ?? 0) > 0;
}

function hasAllowedDrops({ policy }: ClusterLoadAssignment, violations: Violations): boolean {
  if ((policy?.dropOverloads.length ?? 0) <= MAX_DROP_CATEGORIES) return true;
  const at = violations.at('policy').at('drop_overloads');
  at.add(`more than ${MAX_DROP_CATEGORIES} drop categories`);
  return false;
}

function isWithoutWeight({ message, count }: SplitLocality): boolean {
  return message.loadBalancingWeight === undefined && count > 0;
}

function placedEndpoints(
  localities: readonly PlacedLocality[],
  violations: Violations,
): readonly PlacedEndpoints[] {
  return localities.flatMap((parsed, i) =>
    parsed === undefined ? [] : [{ parsed, violations: violations.index(i).at(LB_ENDPOINTS.name) }],
  );
}

function slicesOf(
  localities: readonly PlacedLocality[],
  pieces: readonly SplitLocality[],
): readonly EndpointSlices[] {
  return pieces.flatMap(({ slices }, i) => {
    const parsed = localities[i];
    if (slices === undefined || parsed === undefined || parsed.slots.length === 0) return [];
    const { value, slots } = parsed;
    // One list, if none is left out.
    const isComplete = slots.length === value.endpoints.length;
    return [{ ...slices, slots: isComplete ? value.endpoints : slots }];
  });
}

/** Creates an assignment, and validates what concerns more than one of its parts. */
function assemble(
  { clusterName, policy }: ClusterLoadAssignment,
  localities: readonly PlacedLocality[],
  skipped: Pick<EndpointsResource, 'unusableEndpoints' | 'localitiesWithoutWeight'>,
  violations: Violations,
): EndpointsResource {
  const at = violations.at(LOCALITIES.name);
  const priorities = groupByPriority(localities, at);
  checkPriorities(priorities, at);
  const dropsAt = violations.at('policy').at('drop_overloads');
  const drops = (policy?.dropOverloads ?? []).map((drop, i) => parseDrop(drop, dropsAt.index(i)));
  const inOrder = [...priorities].sort(([a], [b]) => a - b);
  const listed = inOrder.map(([, byKey]) => ({ localities: [...byKey.values()] }));
  const { unusableEndpoints, localitiesWithoutWeight } = skipped;
  const unhealthyEndpoints = countUnhealthy(listed, localities);
  return {
    clusterName,
    priorities: listed,
    drops,
    ...(unusableEndpoints !== undefined && { unusableEndpoints }),
    ...(unhealthyEndpoints !== undefined && { unhealthyEndpoints }),
    ...(localitiesWithoutWeight !== undefined && { localitiesWithoutWeight }),
  };
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
  localities: readonly PlacedLocality[],
): ReadonlyMap<string, number> | undefined {
  if (hasUsableEndpoint(priorities)) return undefined;
  const counts = new Map<string, number>();
  for (const slot of localities.flatMap((parsed) => parsed?.slots ?? [])) {
    const health = typeof slot === 'string' ? slot : slot.health;
    if (health !== '') counts.set(health, (counts.get(health) ?? 0) + 1);
  }
  return counts.size === 0 ? undefined : counts;
}

function groupByPriority(
  localities: readonly PlacedLocality[],
  violations: Violations,
): Priorities {
  const priorities = new Map<number, Map<string, LocalityEndpoints>>();
  for (const [i, placed] of localities.entries()) {
    if (placed === undefined) continue;
    const { priority, value } = placed;
    const byKey = priorities.get(priority) ?? new Map<string, LocalityEndpoints>();
    priorities.set(priority, byKey);
    const key = localityKey(value.locality);
    if (byKey.has(key)) {
      const name = describeLocality(value.locality);
      violations.index(i).add(`duplicate locality ${name} in priority ${priority}`);
    }
    byKey.set(key, value);
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
