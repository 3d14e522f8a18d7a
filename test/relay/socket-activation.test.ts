import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findPassedSocket } from '../../packages/relay/src/listen-address';

const pid = String(process.pid);

describe('the socket that systemd passes', () => {
  it.each<[string, Record<string, string>, number]>([
    ['systemd', { LISTEN_PID: pid, LISTEN_FDS: '1' }, 3],
    ['systemd:b', { LISTEN_PID: pid, LISTEN_FDS: '2', LISTEN_FDNAMES: 'a:b' }, 4],
  ])('is found: %s %j', (text, env, fd) => {
    expect(findPassedSocket(text, env)).toEqual({ fd });
  });

  it.each<[string, Record<string, string>, RegExp]>([
    ['systemd', {}, /^grpc-xds: systemd: systemd has passed no socket .*LISTEN_PID is not set/],
    ['systemd', { LISTEN_PID: '1', LISTEN_FDS: '1' }, /has passed no socket/],
    ['systemd', { LISTEN_PID: pid, LISTEN_FDS: '0' }, /has passed no socket/],
    ['systemd', { LISTEN_PID: pid, LISTEN_FDS: 'x' }, /has passed no socket/],
    ['systemd', { LISTEN_PID: pid, LISTEN_FDS: '2', LISTEN_FDNAMES: 'a:b' }, /such as systemd:a/],
    ['systemd:c', { LISTEN_PID: pid, LISTEN_FDS: '1', LISTEN_FDNAMES: 'a' }, /the sockets a$/],
    ['systemd:b', { LISTEN_PID: pid, LISTEN_FDS: '1', LISTEN_FDNAMES: 'a:b' }, /the sockets/],
  ])('is not found: %s %j', (text, env, message) => {
    expect(() => findPassedSocket(text, env)).toThrow(message);
  });

  it('is none of another address', () => {
    expect(findPassedSocket('unix:/systemd', {})).toBeUndefined();
  });
});

/** Listens on a socket, and starts the command with it as file descriptor 3, as systemd does; the shell has the id of the command. */
const PARENT = `
const { spawn } = require('node:child_process');
const { createServer } = require('node:net');
const [where, main] = process.argv.slice(1);
const server = createServer().listen(JSON.parse(where), () => {
  const script = 'LISTEN_PID=$$ exec "$0" "$@"';
  const args = ['-c', script, process.execPath, main, 'relay', '--listen', 'systemd'];
  const env = { ...process.env, LISTEN_FDS: '1', LISTEN_FDNAMES: 'xds.socket' };
  const stdio = ['ignore', 'inherit', 'inherit', server._handle.fd];
  const child = spawn('/bin/sh', args, { env, stdio });
  process.on('SIGTERM', () => child.kill());
  child.on('exit', (code) => process.exit(code));
});
`;

describe('grpc-xds relay --listen systemd', () => {
  const folder = mkdtempSync(join(tmpdir(), 'relay-'));
  let parent: ChildProcess | undefined;
  afterEach(() => parent?.kill());
  afterAll(() => rmSync(folder, { recursive: true }));

  /** Starts the command with a socket. Resolves to its output once it has started or ended. */
  async function start(where: object) {
    const main = join(__dirname, '../../packages/cli/dist/main.js');
    const server = { server_uri: '127.0.0.1:1', channel_creds: [{ type: 'insecure' }] };
    const bootstrap = { xds_servers: [server], node: { id: 'n' } };
    const env = { ...process.env, GRPC_XDS_BOOTSTRAP_CONFIG: JSON.stringify(bootstrap) };
    const started = spawn(process.execPath, ['-e', PARENT, JSON.stringify(where), main], { env });
    parent = started;
    let output = '';
    const ended = new Promise((resolve) => started.once('close', resolve));
    await new Promise<void>((resolve) => {
      const add = (chunk: Buffer) => {
        output += chunk.toString();
        if (output.includes('Bootstrap for clients')) resolve();
      };
      started.stdout.on('data', add);
      started.stderr.on('data', add);
      void ended.then(() => resolve());
    });
    return { output, started, ended };
  }

  it('listens on the socket that its parent has passed, and ends with the code 0', async () => {
    const path = join(folder, 'xds.sock');
    const { output, started, ended } = await start({ path });
    expect(output).toContain(`Relaying on unix:${path}`);
    started.kill();
    expect(await ended).toBe(0);
  });

  it('refuses an abstract socket, to which every user may connect', async () => {
    const name = `grpc-xds-test-${process.pid}`;
    const { output, ended } = await start({ path: `\0${name}` });
    expect(output).toContain(
      `error: systemd: systemd has passed the abstract socket @${name}, which has no owner and no mode, so that every user of this host may connect: give ListenStream= a path`,
    );
    expect(await ended).toBe(2);
  });

  it('says of a socket that all users may connect to it, and serves it', async () => {
    const path = join(folder, 'open.sock');
    const { output, started, ended } = await start({ path, writableAll: true });
    expect(output).toContain(`relay ${path}: other users may connect to the socket`);
    expect(output).toContain(`Relaying on unix:${path}`);
    started.kill();
    expect(await ended).toBe(0);
  });

  it.each(['127.0.0.1', '::1'])('listens on a port of %s', async (host) => {
    const { output, started, ended } = await start({ host, port: 0 });
    expect(output).toContain(host === '::1' ? 'Relaying on [::1]:' : 'Relaying on 127.0.0.1:');
    started.kill();
    expect(await ended).toBe(0);
  });

  it.each(['0.0.0.0', '::'])('refuses a port of %s, which other machines reach', async (host) => {
    const { output, ended } = await start({ host, port: 0 });
    expect(output).toMatch(
      /^error: systemd: systemd has passed a socket that listens on \S+: expected a Unix socket or a loopback address, because clients are not authenticated$/m,
    );
    expect(await ended).toBe(2);
  });
});
