import { setTimeout as sleep } from 'node:timers/promises';
import { Cluster } from '../../src/wire/generated/envoy/config/cluster/v3/cluster';
import { AdsClient, type AdsClientStream } from '../control-plane/ads-client';
import { DeltaClient, type DeltaClientStream } from '../control-plane/delta-client';
import { CDS } from '../control-plane/resources';

/** A raw client of clusters, which opens a stream again after it has ended. */
export interface RawWorld {
  /** Replaces the subscription. */
  subscribe(names: readonly string[]): void;
  /** The resources that the client has now: the bytes by name, sorted by name. */
  describe(): string;
  /** Rejects the next response. */
  rejectNext(message: string): void;
  close(): void;
}

/** Opens a stream in one of the variants. */
export function openRawWorld(isDelta: boolean, address: string, node: object): RawWorld {
  const world = isDelta ? new DeltaWorld(address, node) : new SotwWorld(address, node);
  void world.run();
  return world;
}

/** Milliseconds before a stream is opened again. */
const PAUSE_MS = 50;

abstract class World<Stream extends { cancel(): void }> implements RawWorld {
  protected readonly resources = new Map<string, string>();
  protected names: readonly string[] | undefined;
  protected stream: Stream | undefined;
  private rejection: string | undefined;
  private isClosed = false;

  constructor(
    private readonly client: { open(): Stream; close(): void },
    protected readonly node: object,
  ) {}

  /** A response may cross a request that has ended the subscription to what it contains. */
  protected hasRequested(name: string): boolean {
    return this.names?.includes(name) === true;
  }

  async run(): Promise<void> {
    while (!this.isClosed) {
      const stream = this.client.open();
      this.begin(stream);
      // Rejected when the stream has ended.
      await this.read(stream).catch(() => {});
      this.stream = undefined;
      await sleep(PAUSE_MS);
    }
  }

  subscribe(names: readonly string[]): void {
    const before = this.names;
    this.names = names;
    for (const name of this.resources.keys()) {
      if (!names.includes(name)) this.resources.delete(name);
    }
    this.send(names, before);
  }

  rejectNext(message: string): void {
    this.rejection = message;
  }

  describe(): string {
    return JSON.stringify([...this.resources].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  close(): void {
    this.isClosed = true;
    this.stream?.cancel();
    this.client.close();
  }

  protected takeRejection(): string | undefined {
    const { rejection } = this;
    this.rejection = undefined;
    return rejection;
  }

  /** Begins with a new stream. */
  protected abstract begin(stream: Stream): void;
  /** Sends what was subscribed to. @param before `undefined` if nothing was. */
  protected abstract send(names: readonly string[], before: readonly string[] | undefined): void;
  protected abstract read(stream: Stream): Promise<void>;
}

class SotwWorld extends World<AdsClientStream> {
  private version = '';
  private head: object = {};

  constructor(address: string, node: object) {
    super(new AdsClient(address), node);
  }

  protected begin(stream: AdsClientStream): void {
    this.stream = stream;
    this.head = { node: this.node, version_info: this.version };
    if (this.names !== undefined) this.send(this.names);
  }

  protected send(names: readonly string[]): void {
    this.stream?.subscribe(CDS, names, this.head);
    this.head = { version_info: this.version };
  }

  protected async read(stream: AdsClientStream): Promise<void> {
    for (;;) {
      const response = await stream.next();
      const { version_info, nonce: response_nonce } = response;
      const { names = [] } = this;
      const rejection = this.takeRejection();
      if (rejection === undefined) {
        this.version = version_info;
        this.resources.clear();
        for (const { value } of response.resources) {
          const { name } = Cluster.decode(value);
          if (this.hasRequested(name)) this.resources.set(name, value.toString('hex'));
        }
        stream.ack(response, names);
      } else {
        stream.nack(response, names, rejection, this.version);
      }
      this.head = { version_info: this.version, response_nonce };
    }
  }
}

class DeltaWorld extends World<DeltaClientStream> {
  private readonly versions = new Map<string, string>();

  constructor(address: string, node: object) {
    super(new DeltaClient(address), node);
  }

  protected begin(stream: DeltaClientStream): void {
    this.stream = stream;
    const { node, names: sub, versions, resources } = this;
    if (sub === undefined) return;
    const have = Object.fromEntries([...versions].filter(([name]) => resources.has(name)));
    stream.send(CDS, { node, sub, have });
  }

  protected send(names: readonly string[], before: readonly string[] | undefined): void {
    const { node } = this;
    const sub = names.filter((name) => before?.includes(name) !== true);
    const unsub = before?.filter((name) => !names.includes(name)) ?? [];
    this.stream?.send(CDS, { ...(before === undefined && { node }), sub, unsub });
  }

  protected async read(stream: DeltaClientStream): Promise<void> {
    for (;;) {
      const response = await stream.next();
      const rejection = this.takeRejection();
      if (rejection !== undefined) {
        stream.nack(response, rejection);
        continue;
      }
      for (const { name, version, resource } of response.resources) {
        if (!this.hasRequested(name)) continue;
        this.resources.set(name, resource?.value.toString('hex') ?? '');
        this.versions.set(name, version);
      }
      for (const name of response.removed_resources) this.resources.delete(name);
      stream.ack(response);
    }
  }
}
