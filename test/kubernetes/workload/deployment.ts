import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from '../../support/monotonic';
import type { ApiClient, ApiObject } from '../cluster/api-client';
import { Pod, POD_PORT, type Placement } from './pod';

/** The port of every service. */
export const SERVICE_PORT = 80;

/** Where pods are placed, in turn. */
const PLACEMENTS: readonly Placement[] = ['a', 'b', 'c'].map((letter) => ({
  nodeName: `node-${letter}`,
  zone: `zone-${letter}`,
}));

/** What a write changed for callers, and when it was answered. */
export interface Write {
  /** `address:port`. */
  readonly endpoint: string;
  /** Whether callers are to use it from then on. */
  readonly isUsed: boolean;
  readonly sentMs: number;
  readonly answeredMs: number;
}

/** How a rolling update goes about. */
export interface RollingUpdate {
  /** How many pods there are at most beyond those of the deployment. */
  readonly maxSurge: number;
  /** How long a pod serves on after it is marked as terminating, which is the `preStop` hook of its container. */
  readonly preStopMs: number;
  /** How many pods are replaced. Default: all. */
  readonly count?: number;
}

/** The Nodes of the cluster, with their zones. */
export function nodeObjects(): readonly ApiObject[] {
  return PLACEMENTS.map(({ nodeName, zone }) => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: nodeName,
      labels: { 'topology.kubernetes.io/region': 'region', 'topology.kubernetes.io/zone': zone },
    },
  }));
}

/** A Service with pods behind it: does what the controllers of deployments and of EndpointSlices do, and the kubelet. */
export class Deployment {
  readonly writes: Write[] = [];
  private pods: Pod[] = [];
  private started = 0;
  /** Whether callers use an endpoint, as it was last written. */
  private written = new Map<string, boolean>();
  private writing: Promise<void> = Promise.resolve();
  private isWriteDue = false;
  private isDeleted = false;

  constructor(
    private readonly api: ApiClient,
    readonly name: string,
    readonly namespace = 'default',
  ) {}

  get target(): string {
    return `xds:///${this.name}.${this.namespace}.svc.cluster.local:${SERVICE_PORT}`;
  }

  /** Those that callers are to use. */
  get endpoints(): readonly string[] {
    return this.pods.filter(({ isTerminating }) => !isTerminating).map(({ endpoint }) => endpoint);
  }

  /** Writes the Service, and starts its pods. */
  async start(replicas: number, service: Readonly<Record<string, unknown>> = {}): Promise<void> {
    await this.api.apply(this.serviceObject(service));
    this.pods = await Promise.all(Array.from({ length: replicas }, () => this.startPod()));
    await this.api.create(this.slice());
    for (const { endpoint } of this.pods) this.written.set(endpoint, true);
  }

  /** Replaces pods, some at a time. */
  async roll({ maxSurge, preStopMs, count = Infinity }: RollingUpdate): Promise<void> {
    const old = this.pods.filter(({ isTerminating }) => !isTerminating).slice(0, count);
    const replaceNext = async (): Promise<void> => {
      for (let pod = old.shift(); pod !== undefined; pod = old.shift()) {
        const next = await this.startPod();
        this.pods.push(next);
        await this.write();
        await this.remove(pod, preStopMs);
      }
    };
    await Promise.all(Array.from({ length: maxSurge }, replaceNext));
  }

  /** Ends the pods, and removes what it wrote. */
  async delete(): Promise<void> {
    if (this.isDeleted) return;
    this.isDeleted = true;
    for (const pod of this.pods) pod.kill();
    const objects = [this.serviceObject({}), this.slice()];
    await Promise.all(objects.map((object) => this.api.delete(object).catch(() => undefined)));
  }

  /** The kubelet does not wait for the slice: both are notified of the deletion at the same time. */
  private async remove(pod: Pod, preStopMs: number): Promise<void> {
    pod.isTerminating = true;
    const written = this.write();
    await sleep(preStopMs);
    await pod.terminate();
    await written;
    this.pods = this.pods.filter((other) => other !== pod);
    await this.write();
  }

  private startPod(): Promise<Pod> {
    const index = this.started++;
    const placement = PLACEMENTS[index % PLACEMENTS.length] ?? { nodeName: '', zone: '' };
    return Pod.start(`${this.name}-${index}`, placement);
  }

  /** Writes the slice as the pods are; changes that occur while a write is under way are in one write after it. */
  write(): Promise<void> {
    if (!this.isWriteDue) {
      this.isWriteDue = true;
      this.writing = this.writing.then(() => this.writeNow());
    }
    return this.writing;
  }

  private async writeNow(): Promise<void> {
    this.isWriteDue = false;
    const next = new Map(
      this.pods.map(({ endpoint, isTerminating }) => [endpoint, !isTerminating]),
    );
    const changed = [...next].filter(([key, isUsed]) => this.written.get(key) !== isUsed);
    this.written = next;
    const sentMs = monotonicMs();
    await this.api.replace(this.slice());
    const answeredMs = monotonicMs();
    for (const [endpoint, isUsed] of changed) {
      this.writes.push({ endpoint, isUsed, sentMs, answeredMs });
    }
  }

  private serviceObject(service: Readonly<Record<string, unknown>>): ApiObject {
    const { name, namespace } = this;
    const port = {
      name: 'grpc',
      port: SERVICE_PORT,
      targetPort: POD_PORT,
      appProtocol: 'kubernetes.io/h2c',
    };
    return {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name, namespace },
      spec: { selector: { app: name }, ports: [port], ...service },
    };
  }

  /** The EndpointSlice, as the pods are. */
  slice(): ApiObject {
    const { name, namespace } = this;
    return {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: {
        name: `${name}-slice`,
        namespace,
        labels: {
          'kubernetes.io/service-name': name,
          'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
        },
        annotations: {
          'endpoints.kubernetes.io/last-change-trigger-time': new Date().toISOString(),
        },
      },
      addressType: 'IPv4',
      ports: [{ name: 'grpc', port: POD_PORT, protocol: 'TCP', appProtocol: 'kubernetes.io/h2c' }],
      endpoints: this.pods.map(toEndpoint),
    };
  }
}

function toEndpoint({ name, address, isTerminating, placement }: Pod): object {
  return {
    addresses: [address],
    conditions: { ready: !isTerminating, serving: true, terminating: isTerminating },
    ...placement,
    targetRef: { kind: 'Pod', name },
  };
}
