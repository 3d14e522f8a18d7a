import type { ClientState, TypeState } from 'grpc-xds/control-plane';
import type { NodeObject } from '../objects';
import { audienceOf } from '../translate/audience';
import {
  reportText,
  type KubernetesClientReport,
  type KubernetesSubscriptionReport,
} from './kubernetes-report';

const MAX_NAMES = 20;

/**
 * Reports a client.
 *
 * @param nodes By name: where the zone of a client is from that has not sent it.
 */
export function reportClient(
  { streamId, nodeId, peer, principal, method, connectedAtMs, types, node }: ClientState,
  nodes: ReadonlyMap<string, NodeObject>,
): KubernetesClientReport {
  const { namespace, zone, nodeName } = audienceOf(node, nodes);
  return {
    streamId,
    nodeId: reportText(nodeId),
    peer,
    ...(principal !== undefined && { principal: reportText(principal) }),
    ...(namespace !== undefined && { namespace: reportText(namespace) }),
    ...(zone !== undefined && { zone: reportText(zone) }),
    ...(nodeName !== undefined && { nodeName: reportText(nodeName) }),
    method,
    connectedAtMs,
    types: Array.from(types.values(), reportType),
  };
}

function reportType(type: TypeState): KubernetesSubscriptionReport {
  const { typeUrl, wildcard, subscribed, sentVersion, ackedVersion, rejection } = type;
  return {
    typeUrl: reportText(typeUrl),
    wildcard,
    nameCount: subscribed.length,
    names: subscribed.slice(0, MAX_NAMES).map(reportText),
    ...(sentVersion !== undefined && { sentVersion }),
    ...(ackedVersion !== undefined && { ackedVersion: reportText(ackedVersion) }),
    ...(rejection !== undefined && {
      rejection: {
        version: reportText(rejection.version),
        message: reportText(rejection.message),
      },
    }),
  };
}
