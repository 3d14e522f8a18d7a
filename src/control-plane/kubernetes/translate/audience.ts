import type { ClientNode } from '../../client-state';
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
export const NODE_NAME = 'NODE_NAME';
/** The member of `node.metadata` that has the namespace of the client's pod, as istiod has it. */
export const NAMESPACE = 'NAMESPACE';

/**
 * Returns the audience of a client: its zone is that of `node.locality` or else that of the Node with its `NODE_NAME`.
 * @param nodes By name.
 */
export function audienceOf(
  { locality, metadata }: Pick<ClientNode, 'locality' | 'metadata'>,
  nodes: ReadonlyMap<string, NodeObject>,
): Audience {
  const nodeName = textOf(metadata[NODE_NAME]);
  const node = nodeName === undefined ? undefined : nodes.get(nodeName);
  return {
    zone: textOf(locality?.zone) ?? textOf(node?.zone),
    nodeName,
    namespace: textOf(metadata[NAMESPACE]),
  };
}

/** Returns a text that is the same for equal audiences only; '' for the one of which nothing is known. */
export function keyOf({ zone, nodeName, namespace, visible }: Audience): string {
  const isUnknown = zone === undefined && nodeName === undefined && namespace === undefined;
  if (isUnknown && visible === undefined) return '';
  return JSON.stringify([zone, nodeName, namespace, visible && [...visible].sort()]);
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
