import { EchoClient } from '../support/echo-backend';
import { bootstrapFor, SERVICE } from '../support/mesh';

/** Clients of one target that share nothing, as those of several processes. */
export interface EchoClients {
  /** Makes a call with each, and returns the names of the backends. */
  say(): Promise<readonly string[]>;
  close(): void;
}

/** Creates a client for each node: a bootstrap of its own has streams of its own. */
export function createEchoClients(
  serverUri: string,
  ids: readonly string[],
  features: readonly string[] = [],
): EchoClients {
  const clients = ids.map((id) => {
    const bootstrap = { ...bootstrapFor(serverUri, features), node: { id } };
    return new EchoClient(`xds:///${SERVICE}`, {
      'grpc_xds.bootstrap': JSON.stringify(bootstrap),
    });
  });
  return {
    say: () => Promise.all(clients.map((client) => client.say())),
    close: () => clients.forEach((client) => client.close()),
  };
}
