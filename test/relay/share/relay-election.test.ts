import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../../src/util/clock';
import { RelayElection } from '../../../packages/relay/src/share/relay-election';
import { RelayServer } from '../../../packages/relay/src/relay-server';
import { ClaimedPath } from '../../../packages/relay/src/claimed-path';
import { eventually } from '../../support/eventually';
import { makeForeign } from '../../support/foreign-socket';
import { bootstrapFor } from '../../support/mesh';
import { otherVersions, serveIdentity, strangers } from './strangers';

/** How often 32 relays elect one. More in the long form: `RELAY_ROUNDS=20`. */
const ROUNDS = Number(process.env['RELAY_ROUNDS'] ?? 3);
/** The management server of all. Nothing listens there. */
const UPSTREAM = '127.0.0.1:1';

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

  const serve = async (claim: ClaimedPath) => {
    serving++;
    const options = { listen: `unix:${claim.path}`, bootstrap: bootstrapFor(UPSTREAM), env: {} };
    const relay = new RelayServer(options, 'the test');
    await relay.start({ claim });
    const stop = async () => {
      serving--;
      await relay.stop();
    };
    return { clientCount: relay.clientCount, kill: () => relay.kill(), stop };
  };
  const open = (at = path, upstream = UPSTREAM) => {
    const logger = {
      trace() {},
      info() {},
      error: (text: () => string) => void errors.push(text()),
    };
    const options = { path: at, upstream, serve, clock: systemClock, random: Math.random, logger };
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

  it('is one of 32 that start at once, each time, and its end is the start of another', async () => {
    for (let round = 0; round < ROUNDS; round++) {
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
    child.kill('SIGKILL');
    await eventually(
      () => election.state.kind,
      (kind) => kind === 'ready',
    );
    expect(errors).toEqual([]);
  });

  it('is not a server that is no relay, which is logged once', async () => {
    const found = await Promise.all(
      strangers.map(async ([, listenAs, reason], i) => {
        const at = join(folder, `stranger-${i}`);
        return { at, reason, end: await listenAs(at), election: open(at) };
      }),
    );
    await eventually(
      () => found.map(({ election }) => election.state.kind),
      (kinds) => kinds.every((kind) => kind === 'unavailable'),
    );
    await sleep(500);
    expect(found.map(({ election }) => election.state.kind)).toEqual(
      found.map(() => 'unavailable'),
    );
    for (const { at, reason, end } of found) {
      const lines = errors.filter((line) => line.startsWith(`relay ${at}: `));
      expect(lines).toHaveLength(1);
      expect(lines[0]).toMatch(reason);
      expect(lines[0]).toMatch('uses its management servers directly: see docs/guides');
      end();
    }
    expect(serving).toBe(0);
  });

  it.each(otherVersions)('may be of an %s version', async (version, listenAs) => {
    const at = join(folder, version);
    const end = await listenAs(at);
    const election = open(at);
    await eventually(
      () => election.state.kind,
      (kind) => kind === 'ready',
    );
    expect(election.describe()).toMatchObject({ role: 'client', state: { relay: { pid: 12 } } });
    end();
  });

  it('is held by a request that does not end, since it closes connections without any', async () => {
    const at = join(folder, 'held');
    const { end, held } = await serveIdentity(at);
    const election = open(at);
    await eventually(
      () => election.state.kind === 'ready' && held() === 1,
      (isHeld) => isHeld,
    );
    end();
  });

  it('is not one of other management servers, which is logged once with both', async () => {
    const first = open();
    await untilReady([first]);
    const second = open(path, 'other:1');
    await eventually(
      () => second.state.kind,
      (kind) => kind === 'unavailable',
    );
    expect(errors).toEqual([
      `relay ${path}: cannot be used: ${path}: the relay (pid ${process.pid}) has the management servers "${UPSTREAM}", and the bootstrap of this process has "other:1": choose another path; this process uses its management servers directly: see docs/guides/several-processes.md`,
    ]);
    expect(first.describe()).toMatchObject({ role: 'relay', takeovers: 0 });
    expect(second.describe()).toMatchObject({ role: 'none', takeovers: 0 });
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
