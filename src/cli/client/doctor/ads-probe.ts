import type { Bootstrap, ServerConfig } from '../../../bootstrap/bootstrap';
import { ok, type Result } from '../../../util/result';
import type { StreamStatus } from '../../../xds-client/transport';
import { XdsClient } from '../../../xds-client/xds-client';
import { USER_AGENT } from '../client-parts';
import type { DoctorContext } from './doctor-context';
import { observeTransports } from './observed-transports';
import { runStep, type Timed } from './probe-net';

/** How a server reacted to the first request. */
export type AdsReaction =
  { readonly kind: 'answered' } | { readonly kind: 'closed'; readonly status: StreamStatus };

/**
 * Requests a Listener from one server and waits for the first message, whatever it contains.
 *
 * @param adsMs Milliseconds until the server counts as silent.
 * @returns the reaction; an error if there was none.
 */
export function probeAds(
  server: ServerConfig,
  listenerName: string,
  { bootstrap, parts, access, clock, adsMs }: DoctorContext,
): Promise<Result<Timed<AdsReaction>, string>> {
  return runStep<AdsReaction>(clock, adsMs, (done) => {
    const { random, logger } = parts.environment;
    const client = new XdsClient({
      bootstrap: onlyServer(bootstrap, server),
      transportFactory: observeTransports(access.transportFactory, {
        onMessage: () => done(ok({ kind: 'answered' })),
        onClosed: (status) => done(ok({ kind: 'closed', status })),
      }),
      ...{ clock, random, logger, userAgent: USER_AGENT },
    });
    client.watch(parts.types.listener, listenerName, {
      onResourceChanged(update) {
        // Of a server whose transport cannot be created, and that therefore has no stream.
        if (!update.ok) {
          done(ok({ kind: 'closed', status: { code: 14, details: update.error.message } }));
        }
      },
      onAmbientError() {},
    });
    return () => client.close();
  });
}

function onlyServer(bootstrap: Bootstrap, server: ServerConfig): Bootstrap {
  const servers = [server];
  const authorities = [...bootstrap.authorities].map(
    ([name, authority]) => [name, { ...authority, servers }] as const,
  );
  return { ...bootstrap, servers, authorities: new Map(authorities) };
}
