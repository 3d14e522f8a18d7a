// Services and their endpoints, as objects of Kubernetes and as what a control plane sends of them.
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
require('../../test/support/run-typescript.cjs');
const { endpoints: encodeEndpoints } = require('../support/encode.cjs');

export const SERVICES = 2000;
const ENDPOINTS_PER_SERVICE = 10;
const ZONES = ['zone-a', 'zone-b', 'zone-c'];
const POD_PORT = 50051;
const NAMESPACE = 'default';

export const zoneOf = (index) => ZONES[index % ZONES.length];

const nameOf = (index) => `service-${index}`;

/** The cluster of a service, and its endpoint assignment. */
export const clusterOf = (index) => `outbound|80||${nameOf(index)}.${NAMESPACE}.svc.cluster.local`;

/** The target of a service. */
export const targetOf = (index) => `xds:///${nameOf(index)}.${NAMESPACE}.svc.cluster.local:80`;

export const serviceOf = (index) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: nameOf(index), namespace: NAMESPACE },
  spec: { ports: [{ name: 'grpc', port: 80, appProtocol: 'kubernetes.io/h2c' }] },
});

export const nodes = ZONES.map((zone) => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: `node-of-${zone}`, labels: { 'topology.kubernetes.io/zone': zone } },
}));

const addressOf = (index, i) => {
  const n = index * ENDPOINTS_PER_SERVICE + i;
  return `10.${64 + (n >> 16)}.${(n >> 8) & 255}.${n & 255}`;
};

/** @param version Decides the address of the first endpoint. */
export const sliceOf = (index, version = 0) => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: {
    name: nameOf(index),
    namespace: NAMESPACE,
    labels: { 'kubernetes.io/service-name': nameOf(index) },
  },
  addressType: 'IPv4',
  ports: [{ name: 'grpc', port: POD_PORT, protocol: 'TCP' }],
  endpoints: Array.from({ length: ENDPOINTS_PER_SERVICE }, (_, i) => ({
    addresses: [i === 0 ? `10.99.${version >> 8}.${version & 255}` : addressOf(index, i)],
    conditions: { ready: true, serving: true, terminating: false },
    nodeName: `node-of-${zoneOf(i)}`,
    zone: zoneOf(i),
  })),
});

/** The endpoint assignment as bytes, with addresses of the same length. */
export const assignmentOf = (index, version = 0) =>
  encodeEndpoints(clusterOf(index), ENDPOINTS_PER_SERVICE, POD_PORT, (i) =>
    i === 0 ? (version + 1) * 20 : index * ENDPOINTS_PER_SERVICE + i,
  );

/** Runs a function for each index below a number, some at a time. */
export async function forEachIndex(count, run) {
  let next = 0;
  const worker = async () => {
    while (next < count) await run(next++);
  };
  await Promise.all(Array.from({ length: 16 }, worker));
}
