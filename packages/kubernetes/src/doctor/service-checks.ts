import { joinFirst, quoteText } from '../../../../src/util/text';
import type { ClusterObjects } from '../cluster-objects';
import { keyOf } from '../object-key';
import type { ServiceObject, ServicePort, SliceEndpoint } from '../objects';
import { translateService } from '../translate/translated-service';
import type { OnFinding } from './kubernetes-finding';

/** Values of `appProtocol` that say that a port has gRPC, in clear or not. */
const GRPC_PROTOCOLS: ReadonlySet<string | undefined> = new Set([
  'grpc',
  'kubernetes.io/h2c',
  'https',
]);
/** Names of ports that say it, as istiod reads them. */
const GRPC_NAME = /^(?:grpc|grpc-web|http2|h2c|https)(?:-|$)/;

/** The objects of a namespace. */
export interface ListedObjects {
  readonly objects: ClusterObjects;
  /** False if Nodes, with their zones, cannot be listed. */
  readonly hasNodes: boolean;
}

/**
 * Checks what clients of a Service get.
 *
 * @param port Default: each of its ports.
 */
export function checkService(
  { objects, hasNodes }: ListedObjects,
  service: ServiceObject,
  { port, domain }: { readonly port?: number; readonly domain: string },
  onFinding: OnFinding,
): void {
  const subject = `Service ${keyOf(service.meta)}`;
  const ports = service.ports.filter((each) => port === undefined || each.port === port);
  if (port !== undefined && ports.length === 0) {
    const own = service.ports.map((each) => each.port).join(', ');
    onFinding({
      check: 'port',
      level: 'fail',
      subject,
      text: `has no port ${port}`,
      remedy: own === '' ? 'add the port to the Service' : `use one of its ports: ${own}`,
    });
    return;
  }
  for (const each of ports) checkPort(subject, each, onFinding);
  const { problems } = translateService(objects, {
    key: keyOf(service.meta),
    namespaces: [service.meta.namespace],
    domain,
  });
  for (const { annotation, message } of problems) {
    const found = { level: 'warn', subject } as const;
    // What is not about an annotation has its next step in the message.
    if (annotation === undefined) onFinding({ ...found, check: 'service', text: message });
    else {
      const text = `annotation ${annotation}: ${message}`;
      const remedy = 'correct it: it changes nothing, and the rest of the Service is served';
      onFinding({ ...found, check: 'annotation', text, remedy });
    }
  }
  if (service.type === 'ExternalName') {
    const text = `is the DNS name ${quoteText(service.externalName)}, which clients resolve themselves`;
    onFinding({ check: 'endpoints', level: 'note', subject, text });
    return;
  }
  const endpoints = checkEndpoints(objects, service, subject, onFinding);
  if (hasNodes) checkZones(objects, endpoints, subject, onFinding);
}

function checkPort(
  subject: string,
  { name, port, protocol, appProtocol }: ServicePort,
  onFinding: OnFinding,
): void {
  const named = name === '' ? `port ${port}` : `port ${port} named ${name}`;
  if (protocol !== 'TCP') {
    const text = `has ${named} of ${protocol}, which is not served`;
    onFinding({ check: 'port', level: 'note', subject, text });
  } else if (
    GRPC_PROTOCOLS.has(appProtocol) ||
    (appProtocol === undefined && GRPC_NAME.test(name))
  ) {
    onFinding({ check: 'port', level: 'ok', subject, text: `has ${named} for gRPC` });
  } else {
    const what =
      appProtocol === undefined
        ? 'has no appProtocol'
        : `appProtocol is ${quoteText(appProtocol)}, which`;
    onFinding({
      check: 'port',
      level: 'warn',
      subject,
      text: `has ${named}, ${appProtocol === undefined ? `${what}: it is served, though it` : what} is not grpc`,
      remedy:
        'set appProtocol: kubernetes.io/h2c (grpc for Istio) if this port has gRPC; use another port if not',
    });
  }
}

/** @returns those that are ready. */
function checkEndpoints(
  objects: ClusterObjects,
  service: ServiceObject,
  subject: string,
  onFinding: OnFinding,
): readonly SliceEndpoint[] {
  const slices = objects.slicesOf(keyOf(service.meta));
  const endpoints = slices.flatMap((slice) => slice.endpoints);
  const isUsed = ({ isReady }: SliceEndpoint) => isReady || service.publishesNotReady;
  const ready = endpoints.filter(isUsed);
  const others = endpoints.filter((endpoint) => !isUsed(endpoint));
  const found = { check: 'endpoints', subject };
  if (slices.length === 0) {
    onFinding({
      ...found,
      level: 'fail',
      text: 'has no EndpointSlice',
      remedy:
        'check that its selector matches the labels of pods, and that the controllers of the cluster run',
    });
    return [];
  }
  if (ready.length === 0) {
    onFinding({
      ...found,
      level: 'fail',
      text: `no endpoint is ready: ${describe(others)}`,
      remedy: 'check the readiness probes of its pods: kubectl describe pods',
    });
  } else {
    const rest = others.length > 0 ? `; ${describe(others)}` : '';
    const text = `has ${ready.length} endpoints that are ready${rest}`;
    onFinding({ ...found, level: 'ok', text });
  }
  return ready;
}

/** Describes endpoints that are not ready. */
function describe(endpoints: readonly SliceEndpoint[]): string {
  if (endpoints.length === 0) return 'its EndpointSlices have no endpoints';
  const terminating = endpoints.filter(({ isTerminating }) => isTerminating).length;
  return `${endpoints.length - terminating} are not ready, ${terminating} are terminating`;
}

function checkZones(
  { nodes }: ClusterObjects,
  endpoints: readonly SliceEndpoint[],
  subject: string,
  onFinding: OnFinding,
): void {
  const unknown = new Set<string>();
  for (const { zone, nodeName } of endpoints) {
    if (zone !== undefined || nodeName === undefined) continue;
    if ((nodes.get(nodeName)?.zone ?? '') === '') unknown.add(nodeName);
  }
  if (unknown.size === 0) return;
  onFinding({
    check: 'zones',
    level: 'warn',
    subject,
    text: `zone of Node ${joinFirst([...unknown])} unknown: its endpoints are in no zone`,
    remedy: 'label the Node with topology.kubernetes.io/zone',
  });
}
