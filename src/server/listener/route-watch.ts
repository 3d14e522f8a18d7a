import type { ResourceTypes } from '../../resources/resource-types';
import type { RouteConfigResource } from '../../resources/route-config/route-config';
import type { Handle } from '../../util/handle';
import type { Logger } from '../../util/logger';
import { err, type Result } from '../../util/result';
import { SettledReport } from '../../util/settled-report';
import type { XdsClient } from '../../xds-client/xds-client';
import { describeResource } from '../../xds-client/xds-errors';
import { afterRunning, type RunningClock } from '../../util/running-time';

/** Milliseconds after which a listener is used without a route configuration that is still pending (gRFC A36). */
const ROUTES_TIMEOUT_MS = 15_000;

/** What the watches of one address share. */
export interface RouteWatchOptions {
  readonly client: Pick<XdsClient, 'watch' | 'run' | 'waitingFor'>;
  readonly types: Pick<ResourceTypes, 'routeConfig'>;
  readonly clock: RunningClock;
  readonly logger: Pick<Logger, 'error' | 'info'>;
  /** Names the server in log lines, such as `server 10.0.0.1:8080`. */
  readonly server: string;
  /** Called after each change of the routes or of the reason why there are none. */
  readonly onChanged: (routeConfigName: string) => void;
}

type Routes = Result<RouteConfigResource, string>;

/** The watch of one route configuration, shared by the filter chains of an address that refer to it. */
export class RouteWatch implements Handle {
  private readonly watch: Handle;
  private readonly timer: Handle;
  private known: Routes | undefined;
  private readonly report: SettledReport;
  /** What is wrong with it, without since when; `undefined` if nothing is. */
  private cause: string | undefined;
  /** The cause that was logged last; `undefined` if it is over. */
  private logged: string | undefined;
  private isReleased = false;

  /** Called in the queue of the client. */
  constructor(
    private readonly name: string,
    private readonly options: RouteWatchOptions,
  ) {
    const { client, types, clock } = options;
    this.report = new SettledReport(clock);
    this.watch = client.watch(types.routeConfig, name, {
      onResourceChanged: (update) => {
        if (update.ok) this.settle(update);
        else this.settle(err(update.error.message), update.error.cause);
      },
      // The last routes stay in use, and the client has logged it.
      onAmbientError: () => undefined,
    });
    this.timer = afterRunning(clock, () => client.run(() => this.onTimeout()), ROUTES_TIMEOUT_MS);
  }

  /** Whether it has been received, has failed or has been pending for too long. */
  get isSettled(): boolean {
    return this.known !== undefined;
  }

  /** The routes, or why there are none. */
  get routes(): Routes {
    return this.known ?? err(this.describeWait());
  }

  /** Logs that calls fail, or no longer fail, once that has settled. Called while a listener in use has the routes. */
  reportState(): void {
    this.report.schedule(() => this.log());
  }

  release(): void {
    this.isReleased = true;
    this.watch.release();
    this.timer.release();
    this.report.cancel();
  }

  private onTimeout(): void {
    if (!this.isReleased && !this.isSettled) this.settle(err(this.describeWait()));
  }

  /** @param cause What is wrong, without since when. Default: all that the error says. */
  private settle(routes: Routes, cause = routes.ok ? undefined : routes.error): void {
    this.timer.release();
    this.known = routes;
    this.cause = cause;
    this.options.onChanged(this.name);
  }

  private log(): void {
    const { known, name, cause } = this;
    const { logger, server } = this.options;
    if (cause === this.logged) return;
    this.logged = cause;
    const failure = known === undefined || known.ok ? undefined : known.error;
    if (failure !== undefined) {
      logger.error(() => `${server}: calls fail with UNAVAILABLE: ${failure}`, {
        event: 'config-failed',
        name,
        error: failure,
      });
      return;
    }
    logger.info(() => `${server}: ${this.id}: received: calls no longer fail`, {
      event: 'config-recovered',
      name,
    });
  }

  private get id(): string {
    return describeResource({ typeName: 'RouteConfiguration', name: this.name });
  }

  private describeWait(): string {
    const { client, types } = this.options;
    const isThis = ({ type, name }: { readonly type: object; readonly name: string }) =>
      type === types.routeConfig && name === this.name;
    const [wait = `${this.id}: not received yet`] = client.waitingFor(1, isThis);
    return wait;
  }
}
