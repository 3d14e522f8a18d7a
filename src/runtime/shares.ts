import type { Limits } from '../bootstrap/limits';
import type { RelayChoice } from '../bootstrap/load-bootstrap';
import type { ShareReport } from '../observe/admin/share-report';
import type { Clock } from '../util/clock';
import { errorMessage } from '../util/errors';
import type { Logger } from '../util/logger';
import { requireOptional } from '../util/optional-package';
import type { Random } from '../util/random';
import { lazy } from '../util/lazy';
import { err, ok, type Result } from '../util/result';
import type { ResourceSnapshot } from '../xds-client/client-snapshot';
import type { XdsTransport } from '../xds-client/transport';

/** The package that shares streams, an optional peer dependency. */
const PACKAGE = 'grpc-xds-relay';

/** Constructor options of the shares of a process. */
export interface SharesOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly env: NodeJS.ProcessEnv;
  /** Returns the resources that the clients of a relay have, for a relay of this process in its place. */
  readonly resourcesFrom: (serverUri: string) => readonly ResourceSnapshot[];
}

/** How the bootstraps of a process choose their relays. */
export interface RelayChoices {
  /** Of `register()`, or of the environment. */
  readonly ofProcess: RelayChoice;
  /** Of a channel or a server. */
  readonly ofOption: RelayChoice;
}

/** What a process shares with the others of its host (see `RegisterOptions.share`). */
export interface Shares {
  /**
   * Adds what there is of a value, unless it has been added.
   *
   * @param share A checked value of `RegisterOptions.share`.
   * @param limits Those of relays of this process, if it is added.
   */
  use(share: string, limits: Partial<Limits> | undefined): RelayChoices;
  /**
   * Creates a transport to a relay; `undefined` for other servers.
   *
   * @param connect Connects to the server.
   */
  createTransport(
    serverUri: string,
    connect: () => Result<XdsTransport, string>,
  ): Result<XdsTransport, string> | undefined;
  describe(): readonly ShareReport[];
  /** Ends the relays of this process once their clients have reported their loads. */
  stop(timeoutMs: number): Promise<void>;
}

interface SharingModule {
  readonly Shares: new (options: SharesOptions) => Shares;
}

const load = lazy<SharingModule>(() => requireOptional(`${PACKAGE}/share`));

/** Loads the package that shares streams. @returns the error says how to install it. */
export function createShares(options: SharesOptions): Result<Shares, string> {
  try {
    return ok(new (load().Shares)(options));
  } catch (error) {
    const reason = errorMessage(error).split('\n', 1)[0];
    return err(`needs the package ${PACKAGE}: run npm install ${PACKAGE} (${reason})`);
  }
}
