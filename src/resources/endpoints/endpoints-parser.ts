import {
  ClusterLoadAssignment,
  type ClusterLoadAssignment_Policy_DropOverload,
} from '../../wire/generated/envoy/config/endpoint/v3/endpoint';
import { DEFAULT_LIMITS } from '../../bootstrap/limits';
import { asBuffer } from '../../util/bytes';
import { lazy } from '../../util/lazy';
import {
  ENDPOINTS_LIMIT,
  MAX_DROP_CATEGORIES,
  MAX_LOCALITIES,
  MAX_PRIORITIES,
} from '../../util/limits';
import { Violations } from '../../util/violations';
import {
  LbEndpoint,
  LocalityLbEndpoints,
  type LedsClusterLocalityConfig,
} from '../../wire/generated/envoy/config/endpoint/v3/endpoint_components';
import type { ElementLimit, PreviousVersion, ResourceType } from '../../xds-client/resource-type';
import { ITEM_BYTES, type Part, type PartReader } from '../encoded/part-reader';
import { allNew, readHeadLength, toSlices, type SlicedMessage } from '../encoded/sliced-message';
import type * as Comparison from '../encoded/slice-comparison';
import type { ExtensionPoints } from '../extension-points';
import { MAX_TOTAL_WEIGHT, parseFraction } from '../matching/fraction-parser';
import { createResourceType, type ParsedResource } from '../resource-parser';
import { decodeMessage, decodePieces, type PieceField } from '../shared/any';
import { metadataTypesOf } from '../shared/metadata-parser';
import { checkAddresses } from './endpoint-addresses';
import { PreviousEndpoints, shareLocality } from './endpoint-reuse';
import {
  EndpointListReader,
  LbEndpointParser,
  type EncodedEndpoints,
  type EndpointReading,
  type EndpointSlices,
  type ParsedEndpoints,
} from './endpoint-list-parser';
import {
  tooManyEndpoints,
  localityKey,
  describeLocality,
  describeSkippedEndpoints,
  type DropCategory,
  type EndpointsResource,
  type LocalityEndpoints,
  type PriorityEndpoints,
} from './endpoints';
import type * as EndpointsChange from './endpoints-change';

/** Loaded for the first version that is compared with a previous one. */
const loadComparison = lazy<typeof Comparison>(() => require('../encoded/slice-comparison'));
/** Loaded for the first change. */
const loadChange = lazy<typeof EndpointsChange>(() => require('./endpoints-change'));

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

/**
 * EDS. An update keeps the identity of everything that did not change. From 2 kB on, it usually decodes only endpoints whose bytes
 * did; below, all, and equal ones stay the objects before.
 */
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
    describeChange: (before, after) => loadChange().describeEndpointsChange(before, after),
    limit: ENDPOINTS_LIMIT,
    parse(bytes, { previous: before }, violations) {
      const context = { before, reading, endpointCollections, maxEndpoints };
      const split = splitAssignment(asBuffer(bytes), context, violations);
      return split && new AssignmentReader(split, context, violations);
    },
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

/** An assignment whose localities are split, but not parsed. */
interface SplitAssignment {
  readonly bytes: Buffer;
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
  if (pieces === undefined) return undefined;
  if ((message.policy?.dropOverloads.length ?? 0) > MAX_DROP_CATEGORIES) {
    const at = violations.at('policy').at('drop_overloads');
    return at.add(`more than ${MAX_DROP_CATEGORIES} drop categories`);
  }
  return { bytes, message, pieces, isPartial: record !== undefined };
}

/** A locality, and where its endpoints are; `undefined` if other fields are between them. */
interface SplitLocality {
  /** Without its endpoints. */
  readonly message: LocalityLbEndpoints;
  readonly encoded: EncodedEndpoints;
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
  const compared = known && loadComparison().compareSlices(bytes, LB_ENDPOINTS.number, known);
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

/** A locality that gets calls. */
interface ParsedLocality extends ParsedEndpoints {
  readonly priority: number;
  readonly value: LocalityEndpoints;
}

/** A locality whose endpoints are being read. */
interface OpenLocality {
  readonly list: EndpointListReader;
  /** Everything but the endpoints; `undefined` if it gets no calls. */
  readonly own: Omit<LocalityEndpoints, 'endpoints'> | undefined;
  readonly priority: number;
  /** Its previous version. */
  readonly previous: LocalityEndpoints | undefined;
}

const NO_ENDPOINTS: ParsedEndpoints = { slots: [], endpoints: [], decoded: [], draining: 0 };

/** Parses an assignment, locality by locality. If a piece is malformed, that is the only violation. */
class AssignmentReader implements PartReader<ParsedResource<EndpointsResource>> {
  private readonly previous: PreviousEndpoints;
  private readonly parser: LbEndpointParser;
  /** Everything that is wrong but what is malformed. */
  private readonly found: Violations;
  private readonly at: Violations;
  /** Those that were read: `undefined` for one that gets no calls, and after adding a violation. */
  private readonly localities: (ParsedLocality | undefined)[] = [];
  private open: OpenLocality | undefined;

  constructor(
    private readonly split: SplitAssignment,
    private readonly context: AssignmentContext,
    private readonly malformed: Violations,
  ) {
    this.previous = new PreviousEndpoints(context.before?.value);
    this.parser = new LbEndpointParser(context.reading);
    this.found = Violations.root(malformed.budget);
    this.at = this.found.at(LOCALITIES.name);
  }

  read(part: Part): boolean {
    const { localities, malformed, split } = this;
    for (;;) {
      if (this.open?.list.read(part) === false) return false;
      if (this.open !== undefined) localities.push(finishLocality(this.open));
      this.open = undefined;
      const piece = split.pieces[localities.length];
      if (piece === undefined || malformed.count > 0) return true;
      if (part.left <= 0) return false;
      part.left -= ITEM_BYTES;
      const opened = this.openLocality(piece);
      if (opened !== undefined && 'list' in opened) this.open = opened;
      else localities.push(opened);
    }
  }

  finish(): ParsedResource<EndpointsResource> {
    const { at, found, localities, malformed, parser, split } = this;
    if (malformed.count > 0) return undefined;
    checkAddresses(localities, (i) => at.index(i).at(LB_ENDPOINTS.name));
    const value = this.previous.share(this.assemble());
    if (found.count > 0) {
      malformed.addAll(found);
      return undefined;
    }
    const { bytes, pieces, isPartial } = split;
    // Which of the endpoints kept cannot be used is not known.
    const isKept = bytes.length >= MIN_BYTES_KEPT && parser.unusableEndpoints === undefined;
    const record = isKept ? new EndpointsRecord(slicesOf(localities, pieces)) : undefined;
    return { value, record, isPartial };
  }

  /**
   * Begins to read a locality. The endpoints of one that gets no calls, because it has no weight (gRFC A27), are only decoded.
   * @returns the whole locality if it has no endpoints of its own; `undefined` after adding a violation.
   */
  private openLocality({
    message,
    encoded,
  }: SplitLocality): OpenLocality | ParsedLocality | undefined {
    const { malformed, parser } = this;
    const { locality, loadBalancingWeight: weight, priority, lbConfig } = message;
    const at = this.at.index(this.localities.length);
    const decode = (bytes: Buffer) => decodeMessage(LbEndpoint, bytes, malformed);
    const options = { ...encoded, decode, malformed, parser };
    if (weight === undefined || weight === 0) {
      const onlyDecode = (bytes: Buffer): undefined => void decode(bytes);
      const list = new EndpointListReader({ ...options, decode: onlyDecode }, [], at);
      return { list, priority, own: undefined, previous: undefined };
    }
    if (locality === undefined) return at.at('locality').add('field not present');
    if (priority >= MAX_PRIORITIES) {
      return at.at('priority').add(`${priority} is not below the limit of ${MAX_PRIORITIES}`);
    }
    const previous = this.previous.find(priority, locality);
    const proxy = message.metadata && parser.parseProxy(message.metadata, at.at('metadata'));
    const own = { locality, weight, ...(proxy && { proxy }) };
    if (this.context.endpointCollections && lbConfig?.$case === 'ledsClusterLocalityConfig') {
      const name = parseCollectionName(lbConfig.value, at.at('leds_cluster_locality_config'));
      const value = shareLocality(previous, { ...own, endpoints: [], collection: name });
      return { priority, value, ...NO_ENDPOINTS };
    }
    const list = new EndpointListReader(
      options,
      previous?.endpoints ?? [],
      at.at(LB_ENDPOINTS.name),
    );
    return { list, priority, own, previous };
  }

  /** Creates the assignment, and validates what concerns more than one of its parts. */
  private assemble(): EndpointsResource {
    const { at, found, localities, parser, split } = this;
    const { clusterName, policy } = split.message;
    const priorities = groupByPriority(localities, at);
    const drops = (policy?.dropOverloads ?? []).map((drop, i) =>
      parseDrop(drop, found.at('policy').at('drop_overloads').index(i)),
    );
    let withoutWeight = 0;
    for (const { message, count } of split.pieces) {
      if (message.loadBalancingWeight === undefined && count > 0) withoutWeight++;
    }
    const { unusableEndpoints } = parser;
    const unhealthyEndpoints = countUnhealthy(localities);
    return {
      clusterName,
      priorities,
      drops,
      ...(unusableEndpoints !== undefined && { unusableEndpoints }),
      ...(unhealthyEndpoints !== undefined && { unhealthyEndpoints }),
      ...(withoutWeight > 0 && { localitiesWithoutWeight: withoutWeight }),
    };
  }
}

function finishLocality({
  list,
  own,
  priority,
  previous,
}: OpenLocality): ParsedLocality | undefined {
  if (own === undefined) return undefined;
  const parsed = list.finish();
  const { endpoints, draining } = parsed;
  return { priority, value: shareLocality(previous, { ...own, endpoints, draining }), ...parsed };
}

function parseCollectionName(
  { ledsConfig, ledsCollectionName: name }: LedsClusterLocalityConfig,
  violations: Violations,
): string {
  if (ledsConfig?.configSourceSpecifier?.$case !== 'self') {
    violations.at('leds_config').add('must be self');
  }
  const at = violations.at('leds_collection_name');
  if (name === '') at.add('must not be empty');
  if (name.endsWith('/*')) at.add('must not be a glob collection, whose name ends in /*');
  return name;
}

function slicesOf(
  localities: readonly (ParsedLocality | undefined)[],
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

/**
 * Counts all endpoints by their health, if none can be used because of it. Calls of a session may stay on a draining one (gRFC
 * A55).
 */
function countUnhealthy(
  localities: readonly (ParsedLocality | undefined)[],
): ReadonlyMap<string, number> | undefined {
  const counts = new Map<string, number>();
  for (const parsed of localities) {
    if (parsed?.value.collection !== undefined) return undefined;
    for (const slot of parsed?.slots ?? []) {
      const health = typeof slot === 'string' ? slot : slot.health;
      if (typeof slot !== 'string' && health !== 'DRAINING') return undefined;
      if (health !== '') counts.set(health, (counts.get(health) ?? 0) + 1);
    }
  }
  return counts.size === 0 ? undefined : counts;
}

/** Groups localities by priority, in order, and validates each group. */
function groupByPriority(
  localities: readonly (ParsedLocality | undefined)[],
  violations: Violations,
): readonly PriorityEndpoints[] {
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
  for (const [priority, byKey] of priorities) {
    if (priority > 0 && !priorities.has(priority - 1)) {
      violations.add(`priority ${priority} is used, but priority ${priority - 1} is not`);
    }
    let total = 0;
    for (const { weight } of byKey.values()) total += weight;
    if (total > MAX_TOTAL_WEIGHT) {
      violations.add(
        `the sum of the locality weights of priority ${priority} must not exceed ${MAX_TOTAL_WEIGHT}, but is ${total}`,
      );
    }
  }
  const inOrder = [...priorities].sort(([a], [b]) => a - b);
  return inOrder.map(([, byKey]) => ({ localities: [...byKey.values()] }));
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
