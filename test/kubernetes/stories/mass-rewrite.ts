import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiClient, ApiObject } from '../cluster/api-client';
import { inScene } from './scene';
import type { Story } from './story';

const NAMESPACE = 'default';
const ENDPOINTS = 20;

/** Services without pods, each with one slice. */
const serviceOf = (index: number): ApiObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: `other-${index}`, namespace: NAMESPACE },
  spec: { ports: [{ name: 'grpc', port: 80, appProtocol: 'kubernetes.io/h2c' }] },
});

/** @param version Decides the addresses. */
const sliceOf = (index: number, version: number): ApiObject => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: {
    name: `other-${index}`,
    namespace: NAMESPACE,
    labels: { 'kubernetes.io/service-name': `other-${index}` },
  },
  addressType: 'IPv4',
  ports: [{ name: 'grpc', port: 50051, protocol: 'TCP' }],
  endpoints: Array.from({ length: ENDPOINTS }, (_, i) => ({
    addresses: [`10.244.${200 + version}.${i + 1}`],
    conditions: { ready: true, serving: true, terminating: false },
    nodeName: 'node-a',
    zone: 'zone-a',
  })),
});

/** Runs a function for each index, some at a time. */
async function forEachIndex(count: number, run: (index: number) => Promise<unknown>) {
  let next = 0;
  const worker = async () => {
    while (next < count) await run(next++);
  };
  await Promise.all(Array.from({ length: 8 }, worker));
}

/** Rewrites each slice once, at a steady pace. */
async function rewrite(api: ApiClient, count: number, withinMs: number): Promise<void> {
  const startedMs = performance.now();
  for (let i = 0; i < count; i++) {
    await sleep(Math.max(0, startedMs + (i * withinMs) / count - performance.now()));
    await api.replace(sliceOf(i, 1));
  }
}

/** Slices of other services are rewritten while pods of the one that is called are replaced. */
export const massRewrite: Story = {
  name: 'slices rewritten',
  isInShortForm: true,
  run(context) {
    const { isShort } = context;
    const { api } = context.cluster;
    const count = isShort ? 100 : 1000;
    const withinMs = isShort ? 3000 : 60_000;
    const pods = isShort ? 4 : 20;
    const options = { name: 'rewritten', pods, callsPerSecond: isShort ? 300 : 1000 };
    return inScene(context, options, async ({ deployment }) => {
      await forEachIndex(count, async (index) => {
        await api.create(serviceOf(index));
        await api.create(sliceOf(index, 0));
      });
      let isRewriting = true;
      const rolls = (async () => {
        while (isRewriting) await deployment.roll({ maxSurge: 2, preStopMs: 500 });
      })();
      await rewrite(api, count, withinMs);
      isRewriting = false;
      await rolls;
      await forEachIndex(count, async (index) => {
        await api.delete(serviceOf(index));
        await api.delete(sliceOf(index, 0));
      });
      return { facts: [`${count} slices rewritten in ${withinMs / 1000} s`] };
    });
  },
};
