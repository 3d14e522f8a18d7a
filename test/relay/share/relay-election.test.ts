import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../../src/util/clock';
import { RelayElection } from '../../../src/relay/share/relay-election';
import { ClaimedPath } from '../../../src/relay/claimed-path';
import { makeForeign } from '../../support/foreign-socket';
import { eventually } from '../../support/eventually';

/** A relay with room for two connections, which does not run until it can read its input. */
const BLOCKED = `
const { createServer } = require('node:net');
const { chmodSync, readSync } = require('node:fs');
const path = process.argv[1];
createServer((socket) => socket.on('error', () => {}).write('settings')).listen({ path, backlog: 1 }, () => {
  chmodSync(path, 0o600);
  process.stdout.write('up', () => readSync(0, Buffer.alloc(8)));
});
`;

function connectTo(path: string) {
  return new Promise<{ readonly socket: Socket; readonly code?: string | undefined }>((resolve) => {
    const socket = connect({ path });
    socket.once('connect', () => resolve({ socket }));
    socket.on('error', ({ code }: NodeJS.ErrnoException) => resolve({ socket, code }));
  });
}

describe('the relay of a socket', () => {
  const folder = mkdtempSync(join(tmpdir(), 'election-'));
  const path = join(folder, 'xds.sock');
  const opened: RelayElection[] = [];
  const children: ChildProcess[] = [];
  const errors: string[] = [];
  let serving = 0;
  afterEach(async () => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
    await Promise.all(opened.splice(0).map((election) => election.stop(100)));
    [errors.length, serving] = [0, 0];
    jest.restoreAllMocks();
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  /** A relay that greets who connects, and nothing else. */
  const serve = (claim: ClaimedPath) => {
    serving++;
    const sockets = [...claim.takeConnections()];
    for (const socket of sockets) socket.write('settings');
    claim.server.on('connection', (socket) => {
      sockets.push(socket);
      socket.write('settings');
    });
    const kill = () => {
      serving--;
      claim.release();
      for (const socket of sockets) socket.destroy();
    };
    return Promise.resolve({ kill, stop: () => Promise.resolve(kill()) });
  };
  const open = (at = path) => {
    const logger = {
      ...{ trace() {}, info() {} },
      error: (text: () => string) => void errors.push(text()),
    };
    const options = { path: at, serve, clock: systemClock, random: Math.random, logger };
    const election = new RelayElection(options);
    opened.push(election);
    election.start();
    return election;
  };
  const untilReady = (elections: readonly RelayElection[]) =>
    eventually(
      () => elections.every(({ state }) => state.kind === 'ready') && serving === 1,
      (isReady) => isReady,
    );

  it('is one of 32 that start at once, each of 20 times, and its end is the start of another', async () => {
    for (let round = 0; round < 20; round++) {
      const elections = Array.from({ length: 32 }, () => open());
      await untilReady(elections);
      await Promise.all(elections.slice(0, 16).map((election) => election.stop(100)));
      await untilReady(elections.slice(16));
      await Promise.all(opened.splice(0).map((election) => election.stop(100)));
      expect(serving).toBe(0);
    }
  });

  it('ends when another socket is at its path', async () => {
    const first = open();
    await untilReady([first]);
    rmSync(path);
    const second = open();
    await untilReady([first, second]);
  });

  it('is waited for while more connections wait than its socket takes', async () => {
    const at = join(folder, 'full');
    const child = spawn(process.execPath, ['-e', BLOCKED, at], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    children.push(child);
    await once(child.stdout, 'data');
    const waiting = await Promise.all(Array.from({ length: 4 }, () => connectTo(at)));
    expect(waiting.map(({ code }) => code)).toContain('EAGAIN');
    await expect(ClaimedPath.claim(at)).rejects.toThrow('another process listens on it');
    const election = open(at);
    await sleep(100);
    expect(election.state.kind).toBe('electing');
    for (const { socket } of waiting) socket.destroy();
    child.stdin.end('go on');
    await eventually(
      () => election.state.kind,
      (kind) => kind === 'ready',
    );
    expect(errors).toEqual([]);
  });

  it.each<[string, () => string | Promise<string>, RegExp]>([
    [
      'a folder that is missing',
      () => join(folder, 'none', 'x'),
      /ENOENT: its folder does not exist/,
    ],
    [
      'a path that is too long',
      () => join(folder, 'x'.repeat(100)),
      /bytes, and that of a socket at most/,
    ],
    [
      'another kind of file',
      () => {
        writeFileSync(join(folder, 'file'), '');
        return join(folder, 'file');
      },
      /something else than a socket/,
    ],
    [
      'a socket of another user',
      async () => {
        await listen(join(folder, 'foreign'), 0o600);
        makeForeign(join(folder, 'foreign'));
        return join(folder, 'foreign');
      },
      /belongs to the user/,
    ],
    [
      'a socket that other users may connect to',
      async () => {
        await listen(join(folder, 'open'), 0o666);
        return join(folder, 'open');
      },
      /other users may connect/,
    ],
  ])('is not used with %s, which is logged once', async (_, prepare, reason) => {
    const election = open(await prepare());
    await eventually(
      () => election.state.kind,
      (kind) => kind === 'unavailable',
    );
    await sleep(20);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatch(reason);
    expect(errors[0]).toMatch('uses its management servers directly: see docs/guides');
    expect(serving).toBe(0);
    for (const server of servers.splice(0)) server.close();
  });

  const servers: Server[] = [];
  const listen = async (at: string, mode: number) => {
    const server = createServer();
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(at, resolve));
    chmodSync(at, mode);
  };
});
