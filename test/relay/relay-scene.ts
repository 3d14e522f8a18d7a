import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  ControlPlane,
  Snapshot,
  type ClientEvent,
  type ControlPlaneOptions,
  type SnapshotInput,
} from '../../src/control-plane';
import { Relay } from '../../packages/relay/src/relay';
import type { RelayOptions } from '../../packages/relay/src/relay-options';
import { bootstrapFor } from '../support/mesh';

/** A control plane and a relay below it, on a socket of its own. */
export class RelayScene {
  readonly folder = mkdtempSync(join(tmpdir(), 'relay-'));
  readonly listen = `unix:${join(this.folder, 'xds.sock')}`;
  readonly events: ClientEvent[] = [];
  readonly lines: string[] = [];
  controlPlane: ControlPlane;
  relay: Relay;
  private port = 0;

  private constructor(
    private readonly options: ControlPlaneOptions,
    private readonly features: readonly string[],
    private readonly relayOptions: Pick<RelayOptions, 'node' | 'maxNodes'>,
    private readonly type: typeof ControlPlane,
  ) {
    this.controlPlane = this.createControlPlane();
    this.relay = this.createRelay({ bootstrap: bootstrapFor('127.0.0.1:1') });
  }

  /** @param features The `server_features` by which the relay uses the control plane. */
  static async start(
    options: ControlPlaneOptions = {},
    features: readonly string[] = [],
    relayOptions: Pick<RelayOptions, 'node' | 'maxNodes'> = {},
    type = ControlPlane,
  ): Promise<RelayScene> {
    const scene = new RelayScene(options, features, relayOptions, type);
    scene.port = (await scene.controlPlane.start()).port;
    await scene.startRelay();
    return scene;
  }

  get upstream(): string {
    return `127.0.0.1:${this.port}`;
  }

  serve(input: SnapshotInput): void {
    this.controlPlane.setSnapshot(Snapshot.from(input), { allowInconsistent: true });
  }

  /** How many streams the control plane has had. */
  get streams(): number {
    return this.events.filter(({ kind }) => kind === 'connected').length;
  }

  /** Whether each response of the control plane and of the relay is acknowledged or rejected. */
  get isAcknowledged(): boolean {
    const above = this.controlPlane.clients().flatMap(({ types }) => [...types.values()]);
    const below = this.relay.inspect().clients.flatMap(({ types }) => types);
    const isAnswered = above.every(
      ({ sentVersion, ackedVersion, rejection }) =>
        sentVersion === ackedVersion || sentVersion === rejection?.version,
    );
    return (
      isAnswered &&
      below.every(
        ({ sentVersion, ackedVersion, rejection }) =>
          sentVersion === ackedVersion || rejection !== undefined,
      )
    );
  }

  async startRelay(): Promise<void> {
    const bootstrap = { ...bootstrapFor(this.upstream, this.features), node: { id: 'relay' } };
    this.relay = this.createRelay({ bootstrap });
    await this.relay.start();
  }

  async restartControlPlane(input: SnapshotInput): Promise<void> {
    this.controlPlane = this.createControlPlane();
    this.serve(input);
    await this.controlPlane.start(this.port);
  }

  stop(): void {
    void this.relay.close({ force: true });
    void this.controlPlane.close({ force: true });
    rmSync(this.folder, { recursive: true });
  }

  private createControlPlane(): ControlPlane {
    const onClientEvent = (event: ClientEvent) => void this.events.push(event);
    return new this.type({ ...this.options, onClientEvent });
  }

  private createRelay(options: Pick<RelayOptions, 'bootstrap'>): Relay {
    const logger = {
      trace() {},
      info: (text: () => string) => void this.lines.push(text()),
      error: (text: () => string) => void this.lines.push(text()),
    };
    const env = { GRPC_XDS_RELAY: this.listen };
    return new Relay({ ...options, ...this.relayOptions, env, listen: this.listen, logger });
  }
}
