// The control planes that are compared, each fed with the same services.
import { createRequire } from 'node:module';
import { Peers } from '../../interop/cross/peers.mjs';
import { prepare } from '../../interop/cross/tools.mjs';
import {
  assignmentOf,
  clusterOf,
  forEachIndex,
  nodes,
  SERVICES,
  serviceOf,
  sliceOf,
} from './world.mjs';

const require = createRequire(import.meta.url);
const { TestCluster } = require('../../test/kubernetes/cluster/test-cluster.ts');
const { findPrograms } = require('../../test/kubernetes/cluster/programs.ts');
const { installControlPlane } = require('../../test/kubernetes/cluster/install.ts');
const { ControlPlaneProcess } = require('../../test/kubernetes/workload/control-plane.ts');
const { TYPES } = require('../support/encode.cjs');

const AUDIENCE = 'https://kubernetes.default.svc';
const nowMs = () => Number(process.hrtime.bigint()) / 1e6;

/** `grpc-xds kubernetes`, fed by an API server: it lists, watches and translates what it serves. */
export class KubernetesControlPlane {
  name = 'grpc-xds kubernetes';
  hasAllTypes = true;

  /** Returns why it cannot run; undefined if it can. */
  findProblem() {
    const found = findPrograms(false);
    return found.ok ? undefined : found.reason;
  }

  async start() {
    this.cluster = await TestCluster.start(findPrograms(false).programs);
    const { api } = this.cluster;
    for (const node of nodes) await api.apply(node);
    await forEachIndex(SERVICES, async (index) => {
      await api.create(serviceOf(index));
      await api.create(sliceOf(index));
    });
    const token = await api.token(await installControlPlane(api), AUDIENCE);
    const kubeconfig = this.cluster.kubeconfig({ token });
    this.process = new ControlPlaneProcess(this.cluster, { kubeconfig });
    const startedMs = nowMs();
    await this.process.start();
    this.startMs = nowMs() - startedMs;
    this.address = this.process.address;
    this.pid = this.process.pid;
  }

  /** Changes an endpoint of a service. @returns when the write was answered. */
  async update(index, version) {
    await this.cluster.api.replace(sliceOf(index, version));
    return nowMs();
  }

  async stop() {
    await this.process?.kill();
    await this.cluster?.stop();
  }
}

/** go-control-plane with a linear cache, which is fed with the bytes of each resource. */
export class GoControlPlane {
  name = 'go-control-plane';
  /** It is fed with endpoints, which clients of this package do not use alone. */
  hasAllTypes = false;
  #peers = new Peers();

  /** Returns why it cannot run; undefined if it can. */
  async findProblem() {
    const { kind, missing } = await prepare('go');
    return kind === 'ready' ? undefined : `not here: ${missing.join(', ')}`;
  }

  async start() {
    const startedMs = nowMs();
    this.process = await this.#peers.goControlPlane('linear');
    for (let first = 0; first < SERVICES; first += 100) {
      await this.#set(Array.from({ length: 100 }, (_, i) => [first + i, 0]));
    }
    this.startMs = nowMs() - startedMs;
    this.address = `127.0.0.1:${this.process.greeting.port}`;
    this.pid = this.process.pid;
  }

  async update(index, version) {
    await this.#set([[index, version]]);
    return nowMs();
  }

  async stop() {
    await this.#peers.stop();
  }

  #set(changes) {
    const raw = changes.map(([index, version]) => ({
      typeUrl: TYPES.E,
      name: clusterOf(index),
      value: assignmentOf(index, version).toString('base64'),
    }));
    return this.process.ask({ do: 'raw', raw });
  }
}
