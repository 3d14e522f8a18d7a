import { connect } from 'node:net';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ControlPlane } from '../../src/control-plane';
import { serveAdminPage } from '../../packages/page/src';
import { Relay } from '../../packages/relay/src';
import { freePort } from '../support/free-port';

const bootstrap = {
  xds_servers: [{ server_uri: '127.0.0.1:1', channel_creds: [{ type: 'insecure' }] }],
  node: { id: 'n' },
};

function isListening(to: { readonly port: number } | { readonly path: string }): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(to, () => resolve(true));
    socket.on('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

describe('a second start that is refused, and given up by its signal', () => {
  it('leaves a control plane listening', async () => {
    const controlPlane = new ControlPlane();
    const { port } = await controlPlane.start();
    const controller = new AbortController();
    const second = controlPlane.start(0, { signal: controller.signal });
    controller.abort();
    await expect(second).rejects.toMatchObject({ code: 'XDS_STATE_INVALID' });
    expect(await isListening({ port })).toBe(true);
    void controlPlane.close({ force: true });
  });

  it('leaves a relay listening', async () => {
    const path = join(mkdtempSync(join(tmpdir(), 'relay-')), 'socket');
    const relay = new Relay({ listen: `unix:${path}`, bootstrap });
    await relay.start();
    const controller = new AbortController();
    const second = relay.start({ signal: controller.signal });
    controller.abort();
    await expect(second).rejects.toMatchObject({ code: 'XDS_STATE_INVALID' });
    expect(await isListening({ path })).toBe(true);
    void relay.close({ force: true });
  });
});

describe('a page whose signal is aborted before', () => {
  it('does not open its port', async () => {
    const port = await freePort();
    const reason = new Error('enough');
    const given = serveAdminPage({ port, signal: AbortSignal.abort(reason) });
    await expect(given).rejects.toBe(reason);
    const page = await serveAdminPage({ port });
    await page.close();
  });

  it('is rejected for a wrong option, as for everything else', async () => {
    await expect(serveAdminPage({ port: -1 })).rejects.toMatchObject({
      code: 'XDS_OPTION_INVALID',
    });
  });
});
