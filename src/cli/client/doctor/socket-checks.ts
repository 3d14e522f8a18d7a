import { statSync, type Stats } from 'node:fs';
import { connectAdvice } from '../../../util/unix-socket';
import type { RelayHop } from '../../../xds-client/relay-hop';
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
    remedy: 'start the agent or relay again: it replaces the socket that an earlier one has left',
  };
}

/**
 * Checks a relay that has responded: its socket, and the servers above it.
 *
 * @param path That of its socket; `undefined` for a port.
 */
export function checkRelay(
  subject: string,
  { hop, path }: { readonly hop: RelayHop; readonly path: string | undefined },
  findings: Findings,
): void {
  const stats = path === undefined ? undefined : findFile(path);
  if (stats !== undefined && (stats.mode & OTHERS_MAY_CONNECT) !== 0) {
    const text = `${path} belongs to ${describeOwner(stats)}: other users may connect, and the relay does not authenticate them`;
    findings.warn(
      'relay-socket',
      subject,
      text,
      `chmod 0600 ${path}, or SocketMode=0600 of its unit`,
    );
  }
  checkServersAbove(subject, hop, findings);
}

/** Checks the servers of a relay, and of the relays among them. */
function checkServersAbove(subject: string, { pid, servers }: RelayHop, findings: Findings): void {
  for (const { serverUri, state, relay } of servers) {
    if (relay !== undefined) checkServersAbove(subject, relay, findings);
    if (state === 'open' || state === 'idle') continue;
    const text = `relay (pid ${pid}) has no stream to ${serverUri}: ${state}; it serves what it received before`;
    findings.warn('relay-upstream', subject, text, RELAY_REMEDY);
  }
}

/** The next step where a relay runs, and not the server above it. */
export const RELAY_REMEDY =
  'run grpc-xds relay --admin with the address of the relay, and grpc-xds doctor with its bootstrap where it runs';

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
