import { parseOpaqueName, parseResourceName } from '../../xds-client/resource-name';
import type { ResourceType } from '../../xds-client/resource-type';
import { Listener } from '../../wire/generated/envoy/config/listener/v3/listener';
import { createClientParts, type ClientSurroundings } from '../../runtime/examine/client-parts';
import type { SocketListener } from '../../resources/listener/listener';
import type { GivenResource } from '../../runtime/explain';
import { decodeGiven } from '../../runtime/examine/decode-given';
import { describeUnusableEndpoints } from '../../runtime/examine/unusable';

/** What a client or server makes of a resource. */
export interface Verdict {
  /** Which of them reads it. */
  readonly reader: 'clients' | 'servers';
  /** Why it rejects the resource. */
  readonly violations: readonly string[];
  /** The fields that it does not use of a resource that it accepts. */
  readonly unusedFields: readonly string[];
  /** Why endpoints of an assignment that it accepts get no calls; `undefined` if they do. */
  readonly unusable?: string | undefined;
  /** The Listener of a server, if it is accepted. */
  readonly listener?: SocketListener;
}

/** Judges a resource as a client does. */
export type ResourceJudge = (resource: GivenResource) => Verdict;

const NOT_REQUESTED: Verdict = { reader: 'clients', violations: [], unusedFields: [] };

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
    const reader = type === types.listener && isOfServer(value) ? 'servers' : 'clients';
    if (!parsed.ok) return rejected(reader, [`not a usable resource name: ${parsed.error}`]);
    const decoded = decodeGiven(type, value);
    if (!decoded.ok) return rejected(reader, decoded.error);
    const verdict = {
      reader,
      violations: [],
      unusedFields: type.describeUnusedFields(value),
    } as const;
    if (type === types.endpoints) {
      const endpoints = decodeGiven(types.endpoints, value);
      return endpoints.ok
        ? { ...verdict, unusable: describeUnusableEndpoints(endpoints.value) }
        : verdict;
    }
    if (reader === 'clients') return verdict;
    const listener = decodeGiven(types.listener, value);
    if (!listener.ok || listener.value.kind !== 'socket') return verdict;
    return { ...verdict, listener: listener.value };
  };
}

function rejected(reader: Verdict['reader'], violations: readonly string[]): Verdict {
  return { reader, violations, unusedFields: [] };
}

/** Whether a Listener is for a server, also one that is rejected. */
function isOfServer(value: Uint8Array): boolean {
  try {
    return Listener.decode(value).apiListener === undefined;
  } catch {
    return false;
  }
}
