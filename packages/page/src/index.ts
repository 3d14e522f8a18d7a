/**
 * A live page with the state of the xDS client of a process.
 *
 * @packageDocumentation
 */
import { observeProcess } from 'grpc-xds/internal';
import { systemClock } from '../../../src/util/clock';
import type { AdminPageOptions } from './live-page/page-access';
import type { AdminPage } from './live-page/page-server';
import { serveClientPage } from './process/client-page';

export type { AdminPage, AdminPageOptions };

/**
 * Serves a live page with the state of the xDS client of this process over HTTP: targets, management servers, resources,
 * routes with an explanation of calls, the load-balancing policies down to each endpoint, certificates and events. The
 * page is read only and has no keys, tokens or credentials. It does not keep the process alive.
 *
 * @returns A promise of the page with its URL, which has the token that readers need. It is rejected if the address
 * cannot be used.
 * @throws XdsError if an option is invalid, or if there is no token for an address that is not loopback.
 *
 * @example
 * ```ts
 * import { serveAdminPage } from 'grpc-xds-page';
 *
 * const page = await serveAdminPage({ port: 9901 });
 * console.log(page.url);
 * await page.close();
 * ```
 */
export async function serveAdminPage(options: AdminPageOptions): Promise<AdminPage> {
  const observed = observeProcess();
  const serving = serveClientPage(options, observed, systemClock);
  const close = observed.closeAtShutdown(async () => {
    const page = await serving.catch(() => undefined);
    await page?.close();
  });
  try {
    return { ...(await serving), close };
  } catch (error) {
    await close();
    throw error;
  }
}
