// A backend and the lean control plane, for one client after the other, in a row: see ../anchors/rows.mjs.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startChild } from './child.mjs';

const { bootstrap } = createRequire(import.meta.url)('./resources.cjs');
const here = (name) => new URL(name, import.meta.url).pathname;
const CONNECT_TIMEOUT_MS = 120_000;

export class LeanWorld {
  static async start(row) {
    const backend = await startChild(here('./backend-child.cjs'));
    const { port } = backend.ready;
    const args = [JSON.stringify({ row, port })];
    return new LeanWorld(backend, await startChild(here('./lean-control-plane-child.cjs'), args));
  }

  constructor(backend, controlPlane) {
    this.backend = backend;
    this.controlPlane = controlPlane;
    this.folder = mkdtempSync(join(tmpdir(), 'grpc-xds-bench-'));
    const path = join(this.folder, 'bootstrap.json');
    writeFileSync(path, JSON.stringify(bootstrap(controlPlane.ready.address)));
    this.environment = { GRPC_XDS_BOOTSTRAP: path, GRPC_XDS_BOOTSTRAP_CONFIG: '' };
    this.backendAddress = `127.0.0.1:${backend.ready.port}`;
  }

  /** Sends an update. @returns the milliseconds until it was acknowledged. */
  async update() {
    const { ackMs } = await this.controlPlane.ask('update');
    return ackMs;
  }

  async waitForConnections(count) {
    const end = Date.now() + CONNECT_TIMEOUT_MS;
    for (;;) {
      const { open } = await this.backend.ask('connections');
      if (open >= count) return;
      if (Date.now() > end) throw new Error(`only ${open} of ${count} connections`);
      await sleep(100);
    }
  }

  async stop() {
    await Promise.all([this.controlPlane.stop(), this.backend.stop()]);
    rmSync(this.folder, { recursive: true, force: true });
  }
}
