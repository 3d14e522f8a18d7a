import type {
  EndpointSliceObject,
  KubernetesObject,
  NodeObject,
  ObjectMeta,
  ReferenceGrantObject,
  ServiceObject,
  SliceEndpoint,
} from './objects';

/** Returns an object in the JSON form of the API, of which `readObjectOf` makes an equal one. */
export function toApiJson(object: KubernetesObject): object {
  const { kind, meta } = object;
  const metadata = metaJson(meta);
  switch (object.kind) {
    case 'Service':
      return { kind, metadata, spec: serviceJson(object) };
    case 'EndpointSlice':
      return { kind, metadata, ...sliceJson(object) };
    case 'Node':
      return { kind, metadata: { ...metadata, labels: zoneLabels(object) } };
    case 'GRPCRoute':
      return { kind, metadata, spec: object.spec, status: object.status };
    case 'ReferenceGrant':
      return { kind, metadata, spec: grantJson(object) };
  }
}

function metaJson({ createdMs, labels, annotations, ...meta }: ObjectMeta): object {
  return {
    ...meta,
    ...(createdMs > 0 && { creationTimestamp: new Date(createdMs).toISOString() }),
    labels: Object.fromEntries(labels),
    annotations: Object.fromEntries(annotations),
  };
}

function zoneLabels({ region, zone }: NodeObject): object {
  return { 'topology.kubernetes.io/region': region, 'topology.kubernetes.io/zone': zone };
}

function serviceJson(service: ServiceObject): object {
  const { type, externalName, ports, ipFamilies, trafficDistribution } = service;
  return {
    type,
    externalName,
    ports,
    ipFamilies,
    trafficDistribution,
    clusterIP: service.isHeadless ? 'None' : undefined,
    publishNotReadyAddresses: service.publishesNotReady,
    internalTrafficPolicy: service.isNodeLocal ? 'Local' : undefined,
    sessionAffinity: service.hasClientAffinity ? 'ClientIP' : undefined,
  };
}

function sliceJson({ addressType, ports, endpoints }: EndpointSliceObject): object {
  return { addressType, ports, endpoints: endpoints.map(endpointJson) };
}

function endpointJson(endpoint: SliceEndpoint): object {
  const { address, isReady, isServing, isTerminating } = endpoint;
  const { hostname, targetUid, nodeName, zone, forZones, forNodes } = endpoint;
  const hasHints = forZones.length > 0 || forNodes.length > 0;
  return {
    addresses: [address],
    conditions: { ready: isReady, serving: isServing, terminating: isTerminating },
    hostname,
    nodeName,
    zone,
    targetRef: targetUid === undefined ? undefined : { uid: targetUid },
    hints: hasHints ? { forZones: named(forZones), forNodes: named(forNodes) } : undefined,
  };
}

function named(names: readonly string[]): readonly object[] {
  return names.map((name) => ({ name }));
}

function grantJson({ from, to }: ReferenceGrantObject): object {
  return { from, to };
}
