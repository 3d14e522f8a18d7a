import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CommandProcess } from '../support/command-process';

const HOOK = join(__dirname, 'interrupt-when-waiting.cjs');

// The commands in processes of their own: in that of a test, the test keeps them alive.
describe('a command that waits until it is interrupted', () => {
  const folder = mkdtempSync(join(tmpdir(), 'waiting-commands-'));
  const resources = join(folder, 'resources.yaml');
  const relay = join(folder, 'relay.sock');
  // Nothing listens there.
  const server = '127.0.0.1:1';
  const bootstrap = {
    xds_servers: [{ server_uri: server, channel_creds: [{ type: 'insecure' }] }],
    node: { id: 'waiting' },
  };

  beforeAll(() => {
    writeFileSync(resources, 'clusters: []\n');
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each([
    ['serve', [resources, '--port', '0'], 0],
    ['relay', ['--listen', `unix:${relay}`], 0],
    ['record', [join(folder, 'recording'), '--upstream', server, '--port', '0'], 0],
    ['watch', ['xds:///waiting'], 3],
  ])('lives until then: %s', async (name, args, code) => {
    const command = new CommandProcess([name, ...args], {
      GRPC_XDS_BOOTSTRAP_CONFIG: JSON.stringify(bootstrap),
      NODE_OPTIONS: `--require ${HOOK}`,
    });
    try {
      expect([await command.end(), command.output]).toEqual([
        code,
        expect.not.stringContaining('ended before it was interrupted'),
      ]);
    } finally {
      command.kill();
    }
  });
});
