import type { PolicyState } from '../lb/tree/policy-state';
import type { ExplainedResource, FindUnused } from '../resolver/explain-call';
import type { ResourceSnapshot } from '../xds-client/client-snapshot';
import type { ResourceType } from '../xds-client/resource-type';

type DescribedType = Pick<ResourceType<unknown>, 'typeUrl' | 'typeName' | 'describeUnusedFields'>;

/** The state of a target, as an explanation looks at it. */
export interface ExplainedState {
  readonly types: Readonly<Record<ExplainedResource['type'], DescribedType>>;
  /** Those of the client of the target. */
  readonly resources: readonly ResourceSnapshot[];
  /** Those of a channel of the target; `undefined` if there are none yet. */
  readonly policies: PolicyState | undefined;
}

/** Returns a search for what has no effect of the accepted resources of a target. */
export function createUnusedSearch({ types, resources, policies }: ExplainedState): FindUnused {
  return ({ type, name }) => {
    const { typeUrl, typeName } = types[type];
    const found = resources.find((known) => known.typeUrl === typeUrl && known.name === name);
    const bytes = found?.accepted?.bytes;
    const fields = (bytes && types[type].describeUnusedFields?.(bytes)) ?? [];
    const unsecured = type === 'cluster' && policies && findUnsecured(policies, name);
    const all = [...fields, ...(unsecured ? [`transport_socket: ${unsecured}`] : [])];
    return all.length === 0 ? undefined : { resource: `${typeName} "${name}"`, fields: all };
  };
}

/** Returns why the TLS that a cluster configures is not used; `undefined` if it is, or if there is none. */
function findUnsecured({ details, children }: PolicyState, cluster: string): string | undefined {
  const unused = details?.['unusedTls'];
  if (details?.['cluster'] === cluster && typeof unused === 'string') return unused;
  for (const child of children ?? []) {
    const found = findUnsecured(child, cluster);
    if (found !== undefined) return found;
  }
  return undefined;
}
