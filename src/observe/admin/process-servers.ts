import { createHandle, type Handle } from '../../util/handle';
import type { ServerReport } from './server-report';

/** An address of a server, of which reports are made when they are read. */
export interface InspectedServer {
  report(): ServerReport;
}

const servers = new Set<InspectedServer>();

/** The addresses of the servers of this process, in the order in which they were bound. Servers add them: nothing here loads a server. */
export const processServers = {
  /** Adds an address, until the handle is released. */
  add(server: InspectedServer): Handle {
    servers.add(server);
    return createHandle(() => servers.delete(server));
  },

  reports(): readonly ServerReport[] {
    return [...servers].map((server) => server.report());
  },
} as const;
