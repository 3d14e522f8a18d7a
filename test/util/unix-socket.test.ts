import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { errorMessage } from '../../src/util/errors';
import { connectionAdvice } from '../../src/util/connection-advice';
import { ClaimedPath } from '../../packages/relay/src/claimed-path';
import {
  connectError,
  findLengthProblem,
  isSameFile,
  listenError,
  MAX_PATH_BYTES,
  readSocket,
  type SocketUse,
} from '../../src/util/unix-socket';
import { makeForeign } from '../support/foreign-socket';

const folder = mkdtempSync(join(tmpdir(), 'socket-'));
const servers: Server[] = [];
afterEach(() => {
  jest.restoreAllMocks();
  for (const server of servers.splice(0)) server.close();
});
afterAll(() => rmSync(folder, { recursive: true }));

async function listen(name: string, mode = 0o600): Promise<string> {
  const path = join(folder, name);
  const server = createServer();
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(path, resolve));
  chmodSync(path, mode);
  return path;
}

const problemOf = (path: string, use: SocketUse) => {
  try {
    return readSocket(path, use) === undefined ? 'nothing is there' : '';
  } catch (error) {
    return errorMessage(error).replace(`${path}: `, '');
  }
};

describe('the socket at a path', () => {
  it.each<[SocketUse, string, number]>([
    ['replace', '', 0o777],
    ['own', '', 0o600],
    ['own', 'other users may connect to the socket, which has the mode 0660', 0o660],
    ['own', 'other users may connect to the socket, which has the mode 0601', 0o601],
    ['relay', '', 0o600],
    ['relay', '', 0o660],
    ['relay', 'other users may connect to the socket, which has the mode 0666', 0o666],
  ])('is examined by its mode for the use %j: %j', async (use, problem, mode) => {
    const found = problemOf(await listen(`${use}-${mode}`, mode), use);
    expect(found.slice(0, problem.length)).toBe(problem);
    expect(found === '').toBe(problem === '');
  });

  it.each<SocketUse>(['replace', 'own', 'relay'])(
    'is not used if it is another user’s: %j',
    async (use) => {
      const path = await listen(`foreign-${use}`);
      const users = makeForeign(path);
      expect(problemOf(path, use)).toBe(
        `the socket belongs to the user ${users}: run the relay as the user of this process, or choose another path`,
      );
    },
  );

  it('of root is used as a relay, and not in its place', async () => {
    const path = await listen('of-root');
    if (process.getuid?.() === 0) chownSync(path, 0, 0);
    else return;
    jest.spyOn(process, 'getuid').mockReturnValue(1000);
    expect(problemOf(path, 'relay')).toBe('');
    expect(problemOf(path, 'own')).toMatch(/^the socket belongs to the user 0, not to 1000/);
  });

  it('is no link and no other file', async () => {
    const path = join(folder, 'link');
    symlinkSync(await listen('linked'), path);
    expect(problemOf(path, 'relay')).toMatch(/^there is a symbolic link/);
    writeFileSync(join(folder, 'file'), '');
    expect(problemOf(join(folder, 'file'), 'relay')).toMatch(/^there is something else than a soc/);
    expect(problemOf(folder, 'relay')).toMatch(/^there is something else than a socket/);
    expect(problemOf(join(folder, 'none'), 'relay')).toBe('nothing is there');
  });

  it.each<[SocketUse, boolean]>([
    ['replace', true],
    ['own', false],
    ['relay', false],
  ])('below a folder that others may replace, for the use %j: %j', async (use, isUsed) => {
    const shared = join(folder, `shared-${use}`);
    mkdirSync(join(shared, 'inner'), { recursive: true });
    const path = await listen(join(`shared-${use}`, 'inner', 's'));
    // As an emptyDir of Kubernetes: whoever replaces the socket in it changes the socket.
    chmodSync(join(shared, 'inner'), 0o777);
    expect(problemOf(path, use)).toBe('');
    chmodSync(shared, 0o777);
    const problem = problemOf(path, use);
    expect(problem === '').toBe(isUsed);
    if (!isUsed) expect(problem).toContain(`other users may replace ${shared}/inner`);
  });

  it('is the same only if it was not moved in between', async () => {
    const path = await listen('moved');
    const before = readSocket(path, 'relay');
    renameSync(path, join(folder, 'away'));
    renameSync(join(folder, 'away'), path);
    const after = readSocket(path, 'relay');
    if (before === undefined || after === undefined) throw new Error('the socket is there');
    expect(isSameFile(before, before)).toBe(true);
    expect(isSameFile(before, after)).toBe(false);
  });

  it('has a path of bytes, not characters', () => {
    expect(findLengthProblem('x'.repeat(MAX_PATH_BYTES))).toBeUndefined();
    expect(findLengthProblem('ü'.repeat(MAX_PATH_BYTES - 1))).toMatch(
      /: the path has \d+ bytes, and that of a socket at most \d+: choose a shorter one$/,
    );
  });
});

/** The error of a real connection. */
const connectionErrorOf = (path: string) =>
  new Promise<Error>((resolve, reject) => {
    const socket = connect({ path });
    socket.once('error', resolve);
    socket.once('connect', () => reject(new Error('connected')));
  });

describe('an error of a socket', () => {
  it.each<[string, (at: string) => string, RegExp]>([
    ['a missing file', (at) => at, /^ENOENT: no socket is there: start the agent or relay/],
    ['a missing folder', (at) => join(at, 'x'), /^ENOENT: no socket is there: start the agent/],
    [
      'a file for a folder',
      (at) => {
        writeFileSync(at, '');
        return join(at, 'x');
      },
      /^ENOTDIR: a part of its path is a file and no folder: check the path$/,
    ],
    [
      'another file',
      (at) => {
        writeFileSync(at, '');
        return at;
      },
      /^(?:ECONNREFUSED: no process listens on it|ENOTSOCK: there is something else)/,
    ],
    [
      'links that lead to each other',
      (at) => {
        symlinkSync(at, at);
        return at;
      },
      /^ELOOP: its path has symbolic links that lead to each other/,
    ],
  ])('of a connection to %s has the next step', async (name, prepare, text) => {
    const path = prepare(join(folder, `c-${name.replaceAll(' ', '-')}`));
    const error = await connectionErrorOf(path);
    const [head, reason = ''] = connectError(path, error).message.split(/: (.*)/s);
    expect(head).toBe(path);
    expect(reason).toMatch(text);
    // The same words follow the text of the host library.
    expect(reason.endsWith(connectionAdvice(error.message).slice(2))).toBe(true);
    expect(connectionAdvice(error.message)).not.toBe('');
  });

  it.each<[string, (at: string) => string, RegExp]>([
    ['a missing folder', (at) => join(at, 'x'), /^ENOENT: its folder does not exist: create it/],
    [
      'a file for a folder',
      (at) => {
        writeFileSync(at, '');
        return join(at, 'x');
      },
      /^ENOTDIR: a part of its path is a file and no folder: check the path$/,
    ],
    ['a file system of the kernel', () => '/proc/x', /^E\w+: .*: .*choose another path$/],
  ])('of a relay in %s has the next step', async (name, prepare, text) => {
    const path = prepare(join(folder, `l-${name.replaceAll(' ', '-')}`));
    const texts = [1, 2].map(() => ClaimedPath.claim(path).then(() => '', errorMessage));
    const [first, second] = await Promise.all(texts);
    // It has no random name.
    expect(first).toBe(second);
    expect(first?.replace(`${path}: `, '')).toMatch(text);
  });

  it('of a folder that this user may not write to is told from a missing one', () => {
    mkdirSync(join(folder, 'closed'));
    const error = Object.assign(new Error('listen EACCES'), { code: 'EACCES' });
    expect(listenError(join(folder, 'closed', 'x'), error).message).toMatch(
      /: EACCES: this user may not create files in its folder/,
    );
  });

  it.each([
    'EACCES',
    'EPERM',
    'EROFS',
    'ENOSPC',
    'EDQUOT',
    'EADDRINUSE',
    'ENAMETOOLONG',
    'EMFILE',
    'ENFILE',
    'ELOOP',
    'ENOTDIR',
    'ENOENT',
    'ENOTSUP',
    'EOPNOTSUPP',
    'EISDIR',
  ])('%s of listening names the path and a next step', (code) => {
    const error = Object.assign(new Error(`listen ${code}`), { code });
    expect(listenError('/tmp/x', error).message).toMatch(new RegExp(`^/tmp/x: ${code}: .+: .+`));
  });

  it.each([
    'EACCES',
    'EPERM',
    'ECONNREFUSED',
    'ENOTSOCK',
    'EPROTOTYPE',
    'EAGAIN',
    'ENAMETOOLONG',
    'EMFILE',
    'ENFILE',
    'ELOOP',
    'ENOTDIR',
    'ENOENT',
  ])('%s of a connection names a next step, and no firewall', (code) => {
    const advice = connectionAdvice(`connect ${code} /run/x.sock`);
    expect(advice).toMatch(/^: .+/);
    expect(advice).not.toContain('firewall');
  });

  it('of an unknown code is the text of the system', () => {
    const error = Object.assign(new Error('connect EWHAT /x'), { code: 'EWHAT' });
    expect(connectError('/x', error).message).toBe('/x: connect EWHAT /x');
    expect(connectionAdvice('connect EACCES 127.0.0.1:80')).toContain('firewall');
  });
});
