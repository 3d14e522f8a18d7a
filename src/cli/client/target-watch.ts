import type { Bootstrap } from '../../bootstrap/bootstrap';
import { listenerResourceName, toAuthority } from '../../bootstrap/resource-template';
import { XdsDependencyManager } from '../../dependency-manager/dependency-manager';
import { createDnsWatcherFactory } from '../../dependency-manager/dns-watch';
import type { XdsConfig } from '../../dependency-manager/xds-config';
import type { TargetName } from '../../resolver/xds-scheme';
import { silentLogger } from '../../util/logger';
import type { Result } from '../../util/result';
import { TimeSlices } from '../../util/time-slices';
import type { ClientSnapshot } from '../../xds-client/client-snapshot';
import type { XdsTransportFactory } from '../../xds-client/transport';
import { XdsClient } from '../../xds-client/xds-client';
import { USER_AGENT, type ClientParts } from './client-parts';

/** Constructor options of a watch. */
export interface TargetWatchOptions {
  readonly bootstrap: Bootstrap;
  readonly target: TargetName;
  readonly parts: ClientParts;
  readonly transportFactory: XdsTransportFactory;
  /** Called after each change of the config, and after each error. */
  readonly onUpdate: (update: Result<XdsConfig, string>) => void;
}

/** Watches everything that one target depends on, as a channel does. */
export class TargetWatch {
  readonly client: XdsClient;
  private readonly manager: XdsDependencyManager;

  private constructor(options: TargetWatchOptions, listenerName: string) {
    const { bootstrap, target, parts, transportFactory, onUpdate } = options;
    const { clock, random, limits, flags } = parts.environment;
    this.client = new XdsClient({
      ...{ bootstrap, transportFactory, clock, random, userAgent: USER_AGENT },
      logger: silentLogger,
      dataErrorHandling: flags.dataErrorHandling,
      federation: flags.federation,
    });
    this.manager = new XdsDependencyManager({
      source: this.client,
      types: parts.types,
      dns: createDnsWatcherFactory({}),
      ...{ listenerName, host: toAuthority(target.path), limits, onUpdate },
      clientNote: `xDS node "${bootstrap.node.id}"`,
      logger: silentLogger,
      timeSlices: new TimeSlices(clock),
    });
  }

  /** Starts watching. @returns the watch, or why the target cannot be used with the bootstrap. */
  static start(options: TargetWatchOptions): Result<TargetWatch, string> {
    const name = listenerResourceName(options.bootstrap, options.target);
    if (!name.ok) return name;
    const watch = new TargetWatch(options, name.value);
    watch.manager.start();
    return { ok: true, value: watch };
  }

  /** Returns a copy of everything that the client knows. */
  snapshot(): ClientSnapshot {
    return this.client.snapshot();
  }

  /** Ends the watch and its streams. */
  close(): void {
    this.manager.close();
    this.client.close();
  }
}
