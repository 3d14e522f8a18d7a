import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../../support/eventually';
import { ApiClient } from './api-client';
import { HOST_ADDRESS } from './namespace';
import { Program } from './process';
import type { ClusterPrograms } from './programs';

/** Ports are fixed: nothing else is in the namespace. */
const ETCD_PORT = 2379;
const ETCD_PEER_PORT = 2380;
export const API_PORT = 6443;
/** Of a user with all rights. */
export const ADMIN_TOKEN = 'admin-token';
const ISSUER = 'https://kubernetes.default.svc';
const START_MS = 60_000;

/** Any credentials of a kubeconfig. */
export interface KubeconfigOptions {
  readonly token: string;
  /** Default: that of the API server. */
  readonly port?: number;
}

/** etcd and an API server, with their data in a folder of their own. */
export class TestCluster {
  readonly folder = mkdtempSync(join(tmpdir(), 'grpc-xds-kubernetes-'));
  private readonly etcd: Program;
  private readonly apiServer: Program;
  private kubeconfigs = 0;
  private admin: ApiClient | undefined;

  private constructor({ etcd, apiServer }: ClusterPrograms) {
    const key = this.pathOf('service-accounts.key');
    execFileSync('openssl', ['genrsa', '-out', key, '2048'], { stdio: 'ignore' });
    writeFileSync(this.pathOf('tokens.csv'), `${ADMIN_TOKEN},admin,admin,"system:masters"\n`);
    this.etcd = new Program([etcd, ...this.etcdFlags()], this.pathOf('etcd.log'));
    const flags = this.apiServerFlags(key);
    this.apiServer = new Program([apiServer, ...flags], this.pathOf('apiserver.log'));
  }

  static async start(programs: ClusterPrograms): Promise<TestCluster> {
    const cluster = new TestCluster(programs);
    cluster.etcd.start();
    await cluster.startApiServer();
    return cluster;
  }

  /** Makes requests with all rights. */
  get api(): ApiClient {
    if (this.admin === undefined) throw new Error('the API server was never started');
    return this.admin;
  }

  /** The certificates by which the API server is known. */
  get ca(): string {
    return readFileSync(this.pathOf('certificates/apiserver.crt'), 'utf8');
  }

  /** A file of the cluster's folder. */
  pathOf(name: string): string {
    return join(this.folder, name);
  }

  /** Makes requests with the rights of a token. */
  clientOf(token: string): ApiClient {
    return new ApiClient({ port: API_PORT, ca: this.ca, token });
  }

  /** Starts the API server and waits until it is ready. */
  startApiServer(): Promise<void> {
    this.apiServer.start();
    return this.untilReady();
  }

  /** Waits until the API server can read and has its namespaces. */
  async untilReady(): Promise<void> {
    const isThere = async () => {
      if (!this.apiServer.isRunning) throw new Error(this.apiServer.lastLog);
      try {
        this.admin ??= this.clientOf(ADMIN_TOKEN);
        await this.admin.send('GET', '/readyz');
        await this.admin.send('GET', '/api/v1/namespaces/default');
        return true;
      } catch {
        return false;
      }
    };
    await eventually(isThere, (isReady) => isReady, START_MS);
  }

  killApiServer(): Promise<void> {
    return this.apiServer.kill();
  }

  killEtcd(): Promise<void> {
    return this.etcd.kill();
  }

  startEtcd(): void {
    this.etcd.start();
  }

  /** Removes the history of etcd up to now: versions from before are gone. @returns the revision. */
  async compact(): Promise<string> {
    const { header } = await postToEtcd<{ header: { revision: string } }>('range', { key: 'AA==' });
    await postToEtcd('compaction', { revision: header.revision, physical: true });
    return header.revision;
  }

  /** Writes a kubeconfig. @returns its path. */
  kubeconfig({ token, port = API_PORT }: KubeconfigOptions): string {
    const certificate = Buffer.from(this.ca).toString('base64');
    const server = `https://127.0.0.1:${port}`;
    const path = this.pathOf(`kubeconfig-${this.kubeconfigs++}`);
    const content = {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'test',
      clusters: [{ name: 'test', cluster: { server, 'certificate-authority-data': certificate } }],
      users: [{ name: 'test', user: { token } }],
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    };
    writeFileSync(path, JSON.stringify(content));
    return path;
  }

  /** @param options.keepsFiles Leaves the folder. Default: it is removed. */
  async stop({ keepsFiles = false } = {}): Promise<void> {
    this.admin?.close();
    await Promise.all([this.apiServer.kill(), this.etcd.kill()]);
    if (!keepsFiles) rmSync(this.folder, { recursive: true, force: true });
  }

  private etcdFlags(): readonly string[] {
    const client = `http://127.0.0.1:${ETCD_PORT}`;
    const peer = `http://127.0.0.1:${ETCD_PEER_PORT}`;
    return [
      `--data-dir=${this.pathOf('etcd')}`,
      `--listen-client-urls=${client}`,
      `--advertise-client-urls=${client}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=default=${peer}`,
    ];
  }

  private apiServerFlags(key: string): readonly string[] {
    return [
      `--etcd-servers=http://127.0.0.1:${ETCD_PORT}`,
      `--service-account-issuer=${ISSUER}`,
      `--service-account-key-file=${key}`,
      `--service-account-signing-key-file=${key}`,
      '--service-cluster-ip-range=10.96.0.0/16',
      '--bind-address=127.0.0.1',
      `--advertise-address=${HOST_ADDRESS}`,
      `--secure-port=${API_PORT}`,
      `--cert-dir=${this.pathOf('certificates')}`,
      `--token-auth-file=${this.pathOf('tokens.csv')}`,
      '--authorization-mode=RBAC',
      '--endpoint-reconciler-type=none',
    ];
  }
}

async function postToEtcd<T>(method: string, body: object): Promise<T> {
  const url = `http://127.0.0.1:${ETCD_PORT}/v3/kv/${method}`;
  const response = await fetch(url, { method: 'POST', body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`etcd: ${method}: ${await response.text()}`);
  return (await response.json()) as T;
}
