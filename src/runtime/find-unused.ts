import type { PolicyState } from '../lb/tree/policy-state';
import type { ExplainedResource, FindUnused } from '../resolver/explain-call';
import type { ResourceType } from '../xds-client/resource-type';

type DescribedType = Pick<ResourceType<unknown>, 'typeUrl' | 'typeName' | 'describeUnusedFields'>;

/** The state of a target, as an explanation looks at it. */
export interface ExplainedState {
  readonly types: Readonly<Record<ExplainedResource['type'], DescribedType>>;
  /** Returns the encoded resource in use; `undefined` if there is none. */
  readonly bytesOf: (typeUrl: string, name: string) => Uint8Array | undefined;
  /** Those of a channel of the target; `undefined` if there are none yet. */
  readonly policies: PolicyState | undefined;
}

/** Returns a search for what has no effect of the resources of a target. */
export function createUnusedSearch({ types, bytesOf, policies }: ExplainedState): FindUnused {
  return ({ type, name }) => {
    const { typeUrl, typeName } = types[type];
    const bytes = bytesOf(typeUrl, name);
    const fields = (bytes && types[type].describeUnusedFields(bytes)) ?? [];
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
