import type { ClientNode } from 'grpc-xds/control-plane';
import type { NodeObject } from '../objects';

/** What of a client its resources depend on. */
export interface Audience {
  /** Its zone: `topology.kubernetes.io/zone` of its node. */
  readonly zone: string | undefined;
  /** The name of its Node. */
  readonly nodeName: string | undefined;
  /** The namespace of its pod, whose consumer routes bind it. */
  readonly namespace: string | undefined;
  /** The namespaces whose services it sees. Default: all. */
  readonly visible?: ReadonlySet<string> | undefined;
}

/** The member of `node.metadata` that has the name of the client's Node, as istiod has it. */
const NODE_NAME = 'NODE_NAME';
/** The member of `node.metadata` that has the namespace of the client's pod, as istiod has it. */
const NAMESPACE = 'NAMESPACE';

/** What a client says of itself, and what it was authenticated as, which it does not decide. */
type AudienceNode = Pick<ClientNode, 'locality' | 'metadata'> & {
  readonly principal?:
    | {
        readonly namespace?: string | undefined;
        readonly visibleNamespaces?: ReadonlySet<string> | undefined;
      }
    | undefined;
};

/**
 * Returns the audience of a client: its zone is that of `node.locality` or else that of the Node with its `NODE_NAME`; its namespace is
 * that of its principal or else its `NAMESPACE`.
 *
 * @param nodes By name.
 */
export function audienceOf(
  { locality, metadata, principal }: AudienceNode,
  nodes: ReadonlyMap<string, NodeObject>,
): Audience {
  const nodeName = textOf(metadata[NODE_NAME]);
  const node = nodeName === undefined ? undefined : nodes.get(nodeName);
  return {
    zone: textOf(locality?.zone) ?? textOf(node?.zone),
    nodeName,
    namespace: principal === undefined ? textOf(metadata[NAMESPACE]) : principal.namespace,
    visible: principal?.visibleNamespaces,
  };
}

/** Returns a text that is the same for equal audiences only; '' for the one of which nothing is known. */
export function audienceKey({ zone, nodeName, namespace, visible }: Audience): string {
  const isUnknown = zone === undefined && nodeName === undefined && namespace === undefined;
  if (isUnknown && visible === undefined) return '';
  return JSON.stringify([zone, nodeName, namespace, visible && [...visible].sort()]);
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
