import {
  ANYTHING,
  COUNT,
  listOf,
  oneOf,
  optional,
  POSITIVE_INTEGER,
  STRING,
  type MembersOf,
} from '../../../../src/util/check-arguments';
import { sanitizeText } from '../../../../src/util/text';
import type { ClientState } from 'grpc-xds/control-plane';
import type { PolicyProblem } from '../translate/service-policy';

/** The options of `KubernetesCluster.inspect`. */
export interface InspectKubernetesOptions {
  /** The clients of the control plane: `ControlPlane.clients()`. Default: none, and then no Service has any. */
  readonly clients?: readonly ClientState[];
  /** Only items with this text in `NAMESPACE/NAME`; for clients, in the node id, principal or address. Default: all items. */
  readonly filter?: string;
  /** The index of the first item of each list. Default: 0. */
  readonly offset?: number;
  /** The maximum number of items of each list. Default: 1,000. */
  readonly limit?: number;
  /** The lists that are returned; the others have no items. Default: all. */
  readonly lists?: readonly KubernetesListName[];
}

/** The name of a list of a report. */
export type KubernetesListName = 'services' | 'routes' | 'clients';

export const INSPECT_OPTIONS: MembersOf<InspectKubernetesOptions> = {
  clients: optional(listOf('a list of clients', ANYTHING)),
  filter: optional(STRING),
  offset: optional(COUNT),
  limit: optional(POSITIVE_INTEGER),
  lists: optional(listOf('a list of lists', oneOf('services', 'routes', 'clients'))),
};

/** A part of a list. */
export interface KubernetesReportList<Item> {
  /** Items of the whole list that the filter allows. */
  readonly total: number;
  /** The index of the first of these. */
  readonly offset: number;
  readonly items: readonly Item[];
}

/** The number of endpoints in each state. A ready endpoint is serving; a terminating one may be serving. */
export interface EndpointCounts {
  readonly total: number;
  readonly ready: number;
  readonly serving: number;
  readonly terminating: number;
}

/** A Service as it is served. */
export interface KubernetesServiceReport {
  readonly namespace: string;
  readonly name: string;
  readonly type: string;
  /** The first 100. */
  readonly ports: readonly {
    readonly name: string;
    readonly port: number;
    readonly appProtocol?: string;
  }[];
  /** An endpoint with addresses of two families counts once. */
  readonly endpoints: EndpointCounts;
  /** By zone ('' for none): the first 100. */
  readonly zones: readonly (EndpointCounts & { readonly zone: string })[];
  /** The parts of the Service that are not applied: the first 20. */
  readonly problems: readonly PolicyProblem[];
  /** Streams that subscribe to a resource of it, or to all resources of a type. */
  readonly clients: number;
}

/** A GRPCRoute, with its status for each parent that is a Service. */
export interface KubernetesRouteReport {
  readonly namespace: string;
  readonly name: string;
  readonly parents: readonly {
    /** `namespace/name`. */
    readonly service: string;
    readonly port?: number;
    readonly sectionName?: string;
    readonly conditions: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason: string;
      readonly message: string;
    }[];
  }[];
}

/** A client on one stream. */
export interface KubernetesClientReport {
  readonly streamId: number;
  readonly nodeId: string;
  readonly peer: string;
  /** The name it was authenticated as; absent without authentication. */
  readonly principal?: string;
  /** The namespace, zone and Node by which its resources are chosen; absent if they are not known. */
  readonly namespace?: string;
  readonly zone?: string;
  readonly nodeName?: string;
  /** The gRPC method of the stream. */
  readonly method: string;
  /** When its first request was received, in milliseconds since the epoch. */
  readonly connectedAtMs: number;
  readonly types: readonly KubernetesSubscriptionReport[];
}

/** The subscriptions of a client to one type. */
export interface KubernetesSubscriptionReport {
  readonly typeUrl: string;
  readonly wildcard: boolean;
  readonly nameCount: number;
  /** The first 20. */
  readonly names: readonly string[];
  readonly sentVersion?: string;
  readonly ackedVersion?: string;
  /** The last response that it rejected; absent after it has acknowledged a later one. */
  readonly rejection?: { readonly version: string; readonly message: string };
}

/** Characters of a text of a report that clients or objects choose. */
const MAX_TEXT = 1024;

/** Returns a text as a report has it: cut, and without secrets. */
export function reportText(text: string): string {
  return sanitizeText(text, MAX_TEXT);
}
