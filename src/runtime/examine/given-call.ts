import { Metadata } from '../../grpc-js';
import type { CallExplanation } from '../../resolver/explain-call';
import { formatExplanation } from '../../resolver/explanation-text';
import type { XdsConfig } from '../../dependency-manager/xds-config';
import type { Result } from '../../util/result';
import { configOfGiven, explainGiven, findNeeded, type GivenResource } from '../explain';
import { createClientParts, type ClientSurroundings } from './client-parts';
import { describeClusterProblem } from './unusable';

/** A call that is not made. */
export interface CallToExplain {
  readonly target: string;
  /** The full path, such as `/package.Service/Method`. */
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
export function explainGivenCall(
  resources: readonly GivenResource[],
  { target, method, headers }: CallToExplain,
  surroundings: ClientSurroundings,
): PrintedExplanation {
  const parts = createClientParts(surroundings);
  const metadata = new Metadata();
  for (const [name, value] of headers) metadata.add(name, value);
  const explanation = explainGiven(resources, { target, method, headers: metadata }, parts);
  const bytes = new Map(resources.map((each) => [`${each.typeUrl} ${each.name}`, each.value]));
  const problems = clustersOf(explanation).map((name) =>
    describeClusterProblem(name, parts.types, (typeUrl, own) => bytes.get(`${typeUrl} ${own}`)),
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
  const needed = findNeeded(resources, target, createClientParts(surroundings));
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

/** Builds the config that a target would have with given resources, or says why there is none. */
export type ConfigOfGiven = (
  resources: readonly GivenResource[],
  target: string,
) => Result<XdsConfig, string>;

/** Creates the parts of a client once, for the configs of several targets. */
export function createConfigBuilder(surroundings: ClientSurroundings): ConfigOfGiven {
  const parts = createClientParts(surroundings);
  return (resources, target) => configOfGiven(resources, target, parts);
}
