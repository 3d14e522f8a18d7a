import { parseOpaqueName, parseResourceName } from '../../xds-client/resource-name';
import type { ResourceType } from '../../xds-client/resource-type';
import { createClientParts, type ClientSurroundings } from './client-parts';
import { decodeSent, describeClusterProblem, describeUnusableEndpoints } from './unusable';
import { Metadata } from '../../grpc-js';
import type { CallExplanation } from '../../resolver/explain-call';
import { formatExplanation } from '../../resolver/explanation-text';
import { explainGiven, findNeeded, type GivenResource } from '../../runtime/explain';

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
  /** Why endpoints of an assignment that it accepts get no calls; `undefined` if they do. */
  readonly unusable?: string | undefined;
}

/** Judges a resource as a client does. */
export type ResourceJudge = (resource: SentResource) => Verdict;

const NOT_REQUESTED: Verdict = { violations: [], unusedFields: [] };

/**
 * Creates the decoders of the client, with every policy and filter of this package that the environment variables
 * enable.
 *
 * @returns the judge. It accepts resources of types that clients do not request.
 */
export function createResourceJudge(surroundings: ClientSurroundings): ResourceJudge {
  const { environment, types } = createClientParts(surroundings);
  const byUrl = new Map<string, ResourceType<unknown>>(
    Object.values(types).map((type: ResourceType<unknown>) => [type.typeUrl, type]),
  );
  const parseName = environment.flags.federation ? parseResourceName : parseOpaqueName;
  return ({ typeUrl, name, value }) => {
    const type = byUrl.get(typeUrl);
    if (type === undefined) return NOT_REQUESTED;
    const parsed = parseName(name, typeUrl);
    if (!parsed.ok) return rejected([`not a usable resource name: ${parsed.error}`]);
    const decoded = decodeSent(type, value);
    if (!decoded.ok) return rejected(decoded.error);
    const endpoints = typeUrl === types.endpoints.typeUrl && decodeSent(types.endpoints, value);
    return {
      violations: [],
      unusedFields: type.describeUnusedFields(value),
      ...(endpoints !== false &&
        endpoints.ok && { unusable: describeUnusableEndpoints(endpoints.value) }),
    };
  };
}

function rejected(violations: readonly string[]): Verdict {
  return { violations, unusedFields: [] };
}

/** A call that is not made. */
export interface CallToExplain {
  readonly target: string;
  /** Full path, such as `/package.Service/Method`. */
  readonly method: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/** An explanation, and its text for people. */
export interface PrintedExplanation {
  readonly explanation: CallExplanation;
  readonly text: string;
  /** Why calls that have a route fail nevertheless, one line for each cluster. */
  readonly problems: readonly string[];
}

/** Explains the routing of a call by given resources. @throws Error if a header is not valid. */
export function explain(
  resources: readonly GivenResource[],
  { target, method, headers }: CallToExplain,
  surroundings: ClientSurroundings,
): PrintedExplanation {
  const { environment, types, httpFilters, meter } = createClientParts(surroundings);
  const metadata = new Metadata();
  for (const [name, value] of headers) metadata.add(name, value);
  const parts = { types, httpFilters, meter, limits: environment.limits };
  const explanation = explainGiven(resources, { target, method, headers: metadata }, parts);
  const bytes = new Map(resources.map((each) => [`${each.typeUrl} ${each.name}`, each.value]));
  const problems = clustersOf(explanation).map((name) =>
    describeClusterProblem(name, types, (typeUrl, own) => bytes.get(`${typeUrl} ${own}`)),
  );
  const known = problems.filter((each) => each !== undefined);
  return { explanation, text: formatExplanation(explanation), problems: known };
}

/** Returns those of given resources that a client requests for a target. */
export function resourcesOfTarget<Resource extends GivenResource>(
  resources: readonly Resource[],
  target: string,
  surroundings: ClientSurroundings,
): readonly Resource[] {
  const { environment, types } = createClientParts(surroundings);
  const needed = findNeeded(resources, target, { types, limits: environment.limits });
  return resources.filter((resource) => needed.includes(resource));
}

/** The clusters that calls go to. */
function clustersOf(explanation: CallExplanation): readonly string[] {
  if (explanation.kind !== 'routed') return [];
  const clusters = explanation.decisions.flatMap(({ outcome }) =>
    outcome.kind === 'forward' ? outcome.clusters.filter(({ share }) => share > 0) : [],
  );
  return [...new Set(clusters.map(({ name }) => name))];
}
