import { accessSync, constants } from 'node:fs';
import { dirname } from 'node:path';
import { relayOfEnvironment, readShare } from 'grpc-xds/internal';
import type { Clock } from '../../../../../src/util/clock';
import { errorMessage } from '../../../../../src/util/errors';
import { listenError, readSocket } from '../../../../../src/util/unix-socket';
import type { Findings } from './finding';
import { probeSocket } from './probes';

/** What is checked, and by what. */
export interface RelayCheckOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly findings: Findings;
  /** Milliseconds for a connection. */
  readonly stepMs: number;
}

const SUBJECT = 'relay';

/**
 * Checks the variables by which the processes of a host share their streams.
 *
 * @returns the relay that there is, as its `server_uri`: a process uses it before the servers of its bootstrap.
 */
export async function checkRelayVariables(options: RelayCheckOptions): Promise<string | undefined> {
  const { env, findings } = options;
  const relay = relayOfEnvironment(env);
  if (!relay.ok) findings.fail('relay-variable', SUBJECT, relay.error, 'correct or unset it');
  const error = (text: () => string) =>
    findings.warn('share-variable', SUBJECT, text(), 'correct or unset it');
  const share = readShare({}, env, { error });
  if (share === undefined) return relay.ok ? relay.value : undefined;
  if (relay.ok && relay.value !== undefined) {
    const text = `GRPC_XDS_SHARE takes precedence: GRPC_XDS_RELAY (${relay.value}) has no effect`;
    findings.warn('relay-both', SUBJECT, text, 'unset one of both');
  }
  return share.startsWith('/') ? checkSharedSocket(share, options) : noteOtherShare(share, options);
}

function noteOtherShare(share: string, { findings }: RelayCheckOptions): undefined {
  const text = `GRPC_XDS_SHARE=${share}: the relay runs in the processes themselves and is not checked from outside`;
  findings.note('share', SUBJECT, text);
}

/** Checks the socket of `share`: without one, or with one that nothing listens on, the first process serves. */
async function checkSharedSocket(
  path: string,
  { findings, clock, stepMs }: RelayCheckOptions,
): Promise<string | undefined> {
  try {
    const isThere = readSocket(path, 'own') !== undefined;
    if (isThere && (await probeSocket({ path }, clock, stepMs)).ok) return `unix:${path}`;
    checkFolder(path);
    const what = isThere ? 'the process that had the socket has ended' : 'there is no socket yet';
    const text = `GRPC_XDS_SHARE=${path}: ${what}: the next process with this share serves as the relay`;
    findings.note('share', SUBJECT, text);
  } catch (error) {
    const text = `GRPC_XDS_SHARE cannot be used: ${errorMessage(error)}`;
    const remedy = 'until then, each process has its own streams';
    findings.warn('share', SUBJECT, text, remedy);
  }
  return undefined;
}

/** @throws Error if no socket can be created in the folder of a path. */
function checkFolder(path: string): void {
  try {
    accessSync(dirname(path), constants.W_OK);
  } catch (error) {
    throw listenError(path, error);
  }
}
