import { createHandle, type Handle } from '../../util/handle';
import type { ServerReport } from './server-report';

/** An address of a server, of which reports are made when they are read. */
export interface InspectedServer {
  report(): ServerReport;
  /** Forgets the calls that were counted for a live page. */
  forgetCalls(): void;
}

const servers = new Set<InspectedServer>();
/** The live pages that are served. */
let counting = 0;

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

  /** Has servers count the calls of each client, until the handle is released. */
  countCalls(): Handle {
    counting++;
    return createHandle(() => {
      counting--;
      if (counting === 0) for (const server of servers) server.forgetCalls();
    });
  },

  /** Whether servers count the calls of each client. */
  get isCounting(): boolean {
    return counting > 0;
  },
} as const;
