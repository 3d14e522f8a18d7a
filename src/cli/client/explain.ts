import { Metadata } from '../../grpc-js';
import type { CallExplanation } from '../../resolver/explain-call';
import { formatExplanation } from '../../resolver/explanation-text';
import { explainGiven } from '../../runtime/explain-resources';
import type { GivenResource } from '../../runtime/given-resources';
import { createClientParts, type ClientSurroundings } from './client-parts';

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
  return { explanation, text: formatExplanation(explanation) };
}
