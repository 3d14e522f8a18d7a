import { listenerResourceName, percentEncodeAuthority } from '../../bootstrap/resource-template';
import { XdsDependencyManager } from '../../dependency-manager/dependency-manager';
import { createDnsWatcherFactory } from '../../dependency-manager/dns-watch';
import type { XdsConfig } from '../../dependency-manager/xds-config';
import { parseTarget, type TargetName } from '../../resolver/xds-scheme';
import { silentLogger } from '../../util/logger';
import { err, ok, type Result } from '../../util/result';
import { afterRunning } from '../../util/running-time';
import { TimeSlices } from '../../util/time-slices';
import type { ClientSnapshot } from '../../xds-client/client-snapshot';
import { XdsClient } from '../../xds-client/xds-client';
import { describeServers } from '../../xds-client/xds-errors';
import {
  openBootstrap,
  USER_AGENT,
  type BootstrapOrigin,
  type ClientSurroundings,
  type OpenedBootstrap,
} from './client-parts';
import { observeDisplaced } from './observed-transports';

/** Creates an xDS client of its own, which logs nothing. */
export function createXdsClient({ bootstrap, parts, access }: OpenedBootstrap): XdsClient {
  const { clock, random, flags } = parts.environment;
  const { transportFactory } = access;
  return new XdsClient({
    bootstrap,
    transportFactory,
    clock,
    random,
    userAgent: USER_AGENT,
    logger: silentLogger,
    dataErrorHandling: flags.dataErrorHandling,
    federation: flags.federation,
  });
}

/** Watches everything that one target depends on, as a channel does. */
export class TargetWatch {
  readonly client: XdsClient;
  private readonly manager: XdsDependencyManager;
  /** The last config, or why there is none; `undefined` before the first. */
  latest: Result<XdsConfig, string> | undefined;

  private constructor(
    opened: OpenedBootstrap,
    names: { readonly listenerName: string; readonly host: string },
    onUpdate: (update: Result<XdsConfig, string>) => void,
  ) {
    const { bootstrap, parts } = opened;
    const { clock, limits } = parts.environment;
    this.client = createXdsClient(opened);
    this.manager = new XdsDependencyManager({
      source: this.client,
      types: parts.types,
      dns: createDnsWatcherFactory({}),
      ...names,
      limits,
      onUpdate: (update) => {
        const latest = update.ok ? update : err(update.error.message);
        this.latest = latest;
        if (!update.ok || this.manager.isWhole) onUpdate(latest);
      },
      clientNote: describeServers(bootstrap, names.listenerName, parts.types.listener.typeUrl),
      logger: silentLogger,
      clock,
      timeSlices: new TimeSlices(clock),
    });
  }

  /**
   * Starts watching.
   *
   * @param onUpdate Called after each change of the config, unless a cluster of it is pending, and after each error.
   * @returns the watch, or why the target cannot be used with the bootstrap.
   */
  static start(
    opened: OpenedBootstrap,
    target: TargetName,
    onUpdate: (update: Result<XdsConfig, string>) => void,
  ): Result<TargetWatch, string> {
    const listenerName = listenerResourceName(opened.bootstrap, target);
    if (!listenerName.ok) return listenerName;
    const names = { listenerName: listenerName.value, host: percentEncodeAuthority(target.path) };
    const watch = new TargetWatch(opened, names, onUpdate);
    watch.manager.start();
    return ok(watch);
  }

  /** Returns one line for each DNS name without an answer, up to a number of lines. */
  pendingNames(atMost: number): readonly string[] {
    return this.manager.waitingFor(atMost);
  }

  /** Ends the watch and its streams. */
  close(): void {
    this.manager.close();
    this.client.close();
  }
}

/** A target that is watched for some time. */
export interface TargetOptions extends ClientSurroundings {
  readonly bootstrap: BootstrapOrigin;
  /** As a channel is given it. */
  readonly target: string;
  readonly timeoutMs: number;
  /** Called with the server of each stream that another process has displaced. */
  readonly onDisplaced: (serverUri: string) => void;
}

/**
 * Watches a target, without connections to endpoints, until its config or an error is known, or the time is over.
 *
 * @returns everything that the client knows then, or why the bootstrap or the target cannot be used.
 */
export async function readTarget(options: TargetOptions): Promise<Result<ClientSnapshot, string>> {
  const target = parseTarget(options.target);
  if (!target.ok) return target;
  const opened = openBootstrap(options.bootstrap, options);
  if (!opened.ok) return opened;
  const { access } = opened.value;
  const transportFactory = observeDisplaced(access.transportFactory, options.onDisplaced);
  const observed = { ...opened.value, access: { ...access, transportFactory } };
  let settle = () => {};
  const settled = new Promise<void>((resolve) => (settle = resolve));
  const started = TargetWatch.start(observed, target.value, settle);
  if (!started.ok) return started;
  const timer = afterRunning(options.clock, settle, options.timeoutMs, true);
  await settled;
  timer.release();
  const snapshot = started.value.client.snapshot();
  started.value.close();
  return ok(snapshot);
}
