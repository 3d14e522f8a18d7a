import { serverListenerName } from '../bootstrap/server-listener-name';
import { processRuntime } from '../register';
import type { ServerClient } from '../runtime/server-client';
import { atOnce } from '../util/contained';
import { errorMessage } from '../util/errors';
import { err, ok, type Result } from '../util/result';
import type { LiteralAddress } from './literal-address';
import type { XdsOptions } from './xds-server-options';

/** The client of the process, and the name of the Listener of an address. */
export interface AcquiredClient {
  readonly client: ServerClient;
  readonly listenerName: string;
}

/** Acquires the client of the process for an address, or says why there is none, which no response can change. */
export function acquireClient(
  address: LiteralAddress,
  { bootstrap, listenerName }: Pick<XdsOptions, 'bootstrap' | 'listenerName'>,
): Result<AcquiredClient, string> {
  const client = processRuntime().acquireServerClient(bootstrap);
  if (!client.ok) return client;
  const { host, port, text } = address;
  const name =
    listenerName === undefined
      ? serverListenerName(client.value.bootstrap, host, port)
      : chosenName(listenerName, text);
  if (name.ok) return ok({ client: client.value, listenerName: name.value });
  client.value.release();
  return name;
}

function chosenName(
  choose: NonNullable<XdsOptions['listenerName']>,
  address: string,
): Result<string, string> {
  try {
    const name: unknown = atOnce<unknown>(choose(address), 'it must not return a promise');
    if (typeof name === 'string' && name !== '') return ok(name);
    return err('the function listenerName returned no name');
  } catch (error) {
    return err(`the function listenerName failed: ${errorMessage(error)}`);
  }
}
