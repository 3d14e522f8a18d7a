import type { ClientEvents, ResourceSnapshot } from '../client-snapshot';
import { diagnostics, type ResourceEventBase } from '../diagnostics';
import type { ManagementServers } from '../management-servers';
import type { ResourceName } from '../resource-name';
import type { ResourceType } from '../resource-type';
import type { ResourceWatcher, WatchError } from '../resource-watcher';
import { XdsClient, type XdsClientOptions } from '../xds-client';
import { silentError, withMore } from '../xds-errors';
import { createHandle, type Handle } from '../../util/handle';
import { err, ok, type Result } from '../../util/result';
import {
  type FoundResource,
  SavedResources,
  type SavedResourcesOptions,
  SnapshotWriter,
} from './snapshot-file';

/** Keeps the resources of the clients of one bootstrap, and starts those clients from what was kept. */
export interface SavedStart {
  /** Writes the file after responses; for the servers that the clients share. */
  readonly events: ClientEvents;
  createClient(options: XdsClientOptions, servers: ManagementServers): XdsClient;
}

/** Parameters of `createSavedStart`. */
export interface SavedStartOptions extends SavedResourcesOptions {
  /** Returns the resources of the clients, each once. */
  readonly read: () => readonly ResourceSnapshot[];
}

/** The resources that clients start from. */
export interface SavedSource {
  /** Names it in messages. */
  readonly description: string;
  /** Acquires the resources, until the handle is released. */
  acquire(): Handle & { readonly value: SavedFinder };
}

/** Finds saved resources. */
export interface SavedFinder {
  /** Finds a resource and decodes it. */
  find(type: ResourceType<unknown>, name: ResourceName): FoundResource;
}

/** Creates what keeps the resources of the clients of one bootstrap. */
export function createSavedStart(options: SavedStartOptions): SavedStart {
  const writer = new SnapshotWriter(options);
  const saved = new SavedResources(options);
  return {
    events: {
      onServerFailure() {},
      onResponse(_server, _typeUrl, valid) {
        if (valid > 0) writer.changed();
      },
    },
    createClient: (clientOptions, servers) => new SavedStartClient(clientOptions, servers, saved),
  };
}

/** A client whose watchers receive saved resources while no server can be reached and until one has answered. */
export class SavedStartClient extends XdsClient {
  /** The watches whose watcher has a saved resource. */
  readonly inUse = new Set<SavedStartWatch>();
  private readonly watches = new Set<SavedStartWatch>();

  constructor(
    options: XdsClientOptions,
    servers: ManagementServers,
    readonly saved: SavedSource,
  ) {
    super(options, servers);
  }

  override watch<T>(type: ResourceType<T>, name: string, watcher: ResourceWatcher<T>): Handle {
    const watch = new SavedStartWatch(type, name, watcher, this);
    this.watches.add(watch);
    const handle = super.watch(type, name, watch);
    return createHandle(() => {
      handle.release();
      watch.release();
      this.watches.delete(watch);
    });
  }

  /** A saved resource in use counts as accepted, with a version that says that it is stale. */
  override *resources(): IterableIterator<ResourceSnapshot> {
    const inUse = this.resourcesInUse();
    for (const resource of super.resources()) {
      const accepted = inUse.get(`${resource.typeUrl} ${resource.name}`);
      yield accepted === undefined ? resource : withSaved(resource, accepted);
    }
  }

  /** A saved resource in use is not listed as pending, but counted in a line about the file. */
  override waitingFor(
    atMost?: number,
    isListed?: Parameters<XdsClient['waitingFor']>[1],
  ): readonly string[] {
    // Each call whose deadline passes reads this, which is to take no time for each of thousands of watches.
    if (this.inUse.size === 0) return super.waitingFor(atMost, isListed);
    const inUse = this.resourcesInUse();
    const lines = super.waitingFor(atMost, (resource) => {
      const { type, name } = resource;
      return !inUse.has(`${type.typeUrl} ${name}`) && isListed?.(resource) !== false;
    });
    if (isListed !== undefined) return lines;
    return [...lines, `${this.saved.description} is in use for ${inUse.size} resources`];
  }

  override close(): void {
    super.close();
    for (const watch of this.watches) watch.release();
    this.watches.clear();
  }

  /** Returns the saved resources in use, by type URL and canonical name. */
  private resourcesInUse(): ReadonlyMap<string, ResourceSnapshot['accepted']> {
    const inUse = new Map<string, ResourceSnapshot['accepted']>();
    for (const watch of this.inUse) if (watch.accepted) inUse.set(watch.key, watch.accepted);
    return inUse;
  }
}

function withSaved(
  resource: ResourceSnapshot,
  accepted: ResourceSnapshot['accepted'],
): ResourceSnapshot {
  const { status } = resource;
  if (status === 'NACKED' || status === 'RECEIVED_ERROR') return { ...resource, accepted };
  return { ...resource, accepted, status: 'ACKED', failure: undefined, waitingSinceMs: undefined };
}

/**
 * One watch of a client. Until a server answers, the watcher receives the saved resource, with an ambient error that
 * says that it is stale and why each server is unreachable. What the snapshot does not have may exist: its watcher
 * receives the error of the servers.
 */
class SavedStartWatch implements ResourceWatcher<unknown> {
  private readonly parsed: ResourceName;
  private watcher: ResourceWatcher<unknown> | undefined;
  private file: (Handle & { readonly value: SavedFinder }) | undefined;
  private saved: ResourceSnapshot['accepted'];
  private ambient: string | undefined;
  /** A server has sent the resource, or said that it does not exist. */
  private isSettled = false;

  constructor(
    private readonly type: ResourceType<unknown>,
    private readonly name: string,
    watcher: ResourceWatcher<unknown>,
    private readonly client: SavedStartClient,
  ) {
    this.watcher = watcher;
    const parsed = client.parseName(name, type.typeUrl);
    // The watcher of a bad name receives an error of the client, and no saved resource.
    this.parsed = parsed.ok ? parsed.value : { authority: undefined, canonical: name };
  }

  /** The saved resource in use; `undefined` if none is. */
  get accepted(): ResourceSnapshot['accepted'] {
    return this.saved;
  }

  /** Type URL and canonical name. */
  get key(): string {
    return `${this.type.typeUrl} ${this.parsed.canonical}`;
  }

  onResourceChanged(update: Result<unknown, WatchError>): void {
    if (this.isSettled) {
      this.watcher?.onResourceChanged(update);
      return;
    }
    if (update.ok) {
      this.settle(update);
      return;
    }
    const { error } = update;
    if (error.kind === 'unreachable') this.useSaved(error);
    else if (error.silentServer !== undefined) this.onSilence(error.silentServer);
    else if (error.kind === 'does-not-exist' || this.saved === undefined) this.settle(update);
    else this.warn(error);
  }

  onAmbientError(error: WatchError | undefined): void {
    this.watcher?.onAmbientError(error);
  }

  /** Ends the watch. */
  release(): void {
    this.watcher = undefined;
    this.endSaved();
  }

  private endSaved(): void {
    this.saved = undefined;
    this.client.inUse.delete(this);
    this.file?.release();
    this.file = undefined;
  }

  private settle(update: Result<unknown, WatchError>): void {
    const wasSaved = this.saved !== undefined;
    this.isSettled = true;
    this.endSaved();
    if (wasSaved && update.ok) this.watcher?.onAmbientError(undefined);
    this.watcher?.onResourceChanged(update);
  }

  /** A server that is silent after it could not be reached adds nothing. */
  private onSilence(silentServer: string): void {
    if (this.file !== undefined) return;
    const id = { typeName: this.type.typeName, name: this.name };
    this.useSaved(silentError(id, silentServer));
  }

  /** @param failure Why each server cannot be used. */
  private useSaved(failure: WatchError): void {
    const { saved } = this.client;
    this.file ??= saved.acquire();
    const found = this.file.value.find(this.type, this.parsed);
    if (!found.ok || found.value === undefined) {
      const reason = found.ok ? 'does not have it' : `cannot be used: ${found.error}`;
      this.watcher?.onResourceChanged(err(withMore(failure, `${saved.description} ${reason}`)));
      return;
    }
    if (this.saved === undefined) {
      const { value, ...accepted } = found.value;
      this.saved = accepted;
      this.client.inUse.add(this);
      this.publishAccepted(accepted.version);
      this.watcher?.onResourceChanged(ok(value));
    }
    const stale = withMore(failure, `${saved.description} is in use`);
    if (this.ambient !== stale.message) this.publishStale(stale.message);
    this.warn(stale);
  }

  private warn(error: WatchError): void {
    if (this.ambient === error.message) return;
    this.ambient = error.message;
    this.watcher?.onAmbientError(error);
  }

  private publishAccepted(version: string): void {
    const { resourceAccepted } = diagnostics;
    if (resourceAccepted.hasSubscribers) resourceAccepted.publish({ ...this.eventBase(), version });
  }

  private publishStale(message: string): void {
    const { resourceStale } = diagnostics;
    if (!resourceStale.hasSubscribers) return;
    resourceStale.publish({ ...this.eventBase(), reason: 'unreachable', error: message });
  }

  private eventBase(): ResourceEventBase {
    const { node, target } = this.client;
    return {
      nodeId: node.id,
      target,
      typeUrl: this.type.typeUrl,
      name: this.name,
      serverUri: undefined,
    };
  }
}
