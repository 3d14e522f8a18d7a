import { withMessage } from '../support/fake-resource-source';
import { loadBootstrap } from '../../src/bootstrap/load-bootstrap';
import { prepareClient } from '../../src/runtime/examine/client-parts';
import { XdsDependencyManager } from '../../src/dependency-manager/dependency-manager';
import type { XdsConfig } from '../../src/dependency-manager/xds-config';
import { silentLogger } from '../../src/util/logger';
import { TimeSlices } from '../../src/util/time-slices';
import type { Result } from '../../src/util/result';
import type { ResourceSnapshot } from '../../src/xds-client/client-snapshot';
import { ManagementServers } from '../../src/xds-client/management-servers';
import { XdsClient } from '../../src/xds-client/xds-client';
import { systemClock } from '../../src/util/clock';
import { bootstrapFor } from '../support/mesh';

/** The name of the Listener that is watched. */
export const TARGET = 'echo';
/** The name of the resource of each type by which a test knows how far a client is. */
export const MARKER = 'marker';

/** The text that the markers of a step have. */
export function markerText(step: number): string {
  return `step-${step}.`;
}

/** A client of its own with the config of one target, as a channel has it. */
export class ObservedConfig {
  private readonly client: XdsClient;
  private readonly manager: XdsDependencyManager;
  private last: Result<XdsConfig, string> | undefined;

  constructor(id: string, serverUri: string, features: readonly string[]) {
    const { parts, access } = prepareClient({ clock: systemClock, env: {} });
    const { transportFactory, support } = access;
    const loaded = loadBootstrap({
      env: {},
      inline: { ...bootstrapFor(serverUri, features), node: { id } },
      support,
    });
    if (!loaded.ok) throw new Error(loaded.error.message);
    const { environment, types } = parts;
    const { clock, random, limits } = environment;
    const options = {
      bootstrap: loaded.value,
      transportFactory,
      clock,
      random,
      logger: silentLogger,
      userAgent: { name: 'test', version: '1' },
      dataErrorHandling: true,
    };
    this.client = new XdsClient(options, new ManagementServers(options));
    const ignored = { onResourceChanged() {}, onAmbientError() {} };
    this.client.watch(types.listener, MARKER, ignored);
    this.client.watch(types.routeConfig, MARKER, ignored);
    this.client.watch(types.cluster, MARKER, ignored);
    this.client.watch(types.endpoints, MARKER, ignored);
    this.manager = new XdsDependencyManager({
      source: this.client,
      types,
      limits,
      clock,
      logger: silentLogger,
      listenerName: TARGET,
      host: TARGET,
      clientNote: '',
      dns: { start: () => ({ release() {}, requestReresolution() {} }) },
      timeSlices: new TimeSlices(clock),
      onUpdate: (update) => (this.last = withMessage(update)),
    });
    this.client.run(() => this.manager.start());
  }

  /** Whether the client has the resources of a step, and waits for none. */
  hasStep(step: number): boolean {
    const text = markerText(step);
    const isAt = ({ name, accepted }: ResourceSnapshot) =>
      name !== MARKER || (accepted !== undefined && Buffer.from(accepted.bytes).includes(text));
    return this.client.waitingFor(1).length === 0 && [...this.client.resources()].every(isAt);
  }

  /** The resources in use and the config, without what names servers and nodes. */
  describe(): string {
    const resources = [...this.client.resources()].map(
      ({ typeUrl, name, accepted }) =>
        `${typeUrl} ${name}: ${Buffer.from(accepted?.bytes ?? []).toString('hex')}`,
    );
    return `${resources.sort().join('\n')}\n${JSON.stringify(this.last, withoutServers)}`;
  }

  close(): void {
    this.client.run(() => this.manager.close());
    this.client.close();
  }
}

/** For JSON: errors have the server in their texts, and clusters the one that they are from. */
function withoutServers(key: string, value: unknown): unknown {
  if (key === 'lrsServer' || key === 'resolutionNote') return undefined;
  if (typeof value === 'bigint') return String(value);
  if (value instanceof Set) return [...value];
  if (isMap(value)) return [...value.entries()].sort(([a], [b]) => (a < b ? -1 : 1));
  const isError =
    typeof value === 'object' && value !== null && 'ok' in value && value.ok === false;
  return isError ? { ok: false } : value;
}

/** Maps of this package have another class. */
function isMap(value: unknown): value is ReadonlyMap<string, unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    'entries' in value &&
    typeof value.entries === 'function'
  );
}
