import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BootstrapConfig } from '../../src';
import { Relay } from '../../packages/relay/src/relay';

/** A relay on a socket of its own. */
export class ChaosRelay {
  private constructor(
    private readonly folder: string,
    private readonly relay: Relay,
    /** In the form of `server_uri`. */
    readonly address: string,
  ) {}

  /** @param bootstrap That of the relay. */
  static async start(bootstrap: BootstrapConfig): Promise<ChaosRelay> {
    const folder = mkdtempSync(join(tmpdir(), 'chaos-'));
    const relay = new Relay({ listen: `unix:${join(folder, 'xds.sock')}`, bootstrap, env: {} });
    return new ChaosRelay(folder, relay, await relay.start());
  }

  stop(): void {
    void this.relay.close({ force: true });
    rmSync(this.folder, { recursive: true });
  }
}
