import { statSync, type Stats } from 'node:fs';
import { connectAdvice } from '../../../../../src/util/unix-socket';
import type { Findings } from './finding';

/** Why a socket cannot be connected to, and how to fix it. */
export interface SocketProblem {
  readonly text: string;
  readonly remedy: string;
}

const OTHERS_MAY_CONNECT = 0o022;

/** Describes why nothing can be connected to at a path, from what is there. @param error That of the connection. */
export function describeSocketProblem(path: string, error: string): SocketProblem {
  const stats = findFile(path);
  const text = `no connection: ${error}`;
  if (stats === undefined) {
    return {
      text,
      remedy:
        'start the agent or relay that serves the socket, and mount it where this process sees it',
    };
  }
  if (!stats.isSocket()) {
    return { text: `${text}: there is something else than a socket`, remedy: 'check the path' };
  }
  if (error.includes('EACCES')) {
    return {
      text: `${text}: the socket belongs to ${describeOwner(stats)}`,
      remedy:
        'run this process as the user of the relay or agent, or have it serve a socket of this user',
    };
  }
  const code = /\bE[A-Z]+\b/.exec(error)?.[0] ?? '';
  if (code !== 'ECONNREFUSED') {
    return { text, remedy: connectAdvice(code) ?? 'see the log of the agent or relay' };
  }
  return {
    text: `${text}: no process listens on the socket any more`,
    remedy: 'start the agent or relay again: it replaces the stale socket',
  };
}

/** Checks who may connect to the socket of a relay that has responded. */
export function checkAccess(subject: string, path: string, findings: Findings): void {
  const stats = findFile(path);
  if (stats === undefined || (stats.mode & OTHERS_MAY_CONNECT) === 0) return;
  const text = `${path} belongs to ${describeOwner(stats)}: other users may connect, and the relay does not authenticate them`;
  const remedy = `chmod 0600 ${path}, or SocketMode=0600 of its unit`;
  findings.warn('relay-socket', subject, text, remedy);
}

function findFile(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    // A folder on the way is closed to this user; the error of the connection says so.
    return undefined;
  }
}

function describeOwner({ uid, mode }: Stats): string {
  const own = process.getuid?.();
  const bits = (mode & 0o777).toString(8).padStart(4, '0');
  return `the user ${uid} and has the mode ${bits}${own === undefined || own === uid ? '' : `; this process has the user ${own}`}`;
}
