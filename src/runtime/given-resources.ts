import type { ServerConfig } from '../bootstrap/bootstrap';
import type { ResourceSource } from '../dependency-manager/watch-set';
import { createHandle, type Handle } from '../util/handle';
import { err, ok, type Result } from '../util/result';
import { SerialQueue } from '../util/serial-queue';
import { runSteps } from '../util/steps';
import type { ResourceType } from '../xds-client/resource-type';
import type { ResourceWatcher, XdsError } from '../xds-client/resource-watcher';
import { joinBounded } from '../xds-client/xds-errors';
import { parseResourceName } from '../xds-client/resource-name';

/** A resource as a management server would send it. */
export interface GivenResource {
  readonly typeUrl: string;
  readonly name: string;
  readonly value: Uint8Array;
}

/** The server that the resources would come from. */
const SERVER: ServerConfig = {
  serverUri: 'given resources',
  channelCreds: { type: 'insecure', config: undefined },
  callCreds: [],
  features: new Set(),
  key: '',
};

/** A source of given resources: what it does not have does not exist. Watchers are notified at once, and never again. */
export class GivenResources implements ResourceSource {
  private readonly byKey: ReadonlyMap<string, GivenResource>;
  private readonly queue = new SerialQueue((error) => {
    throw error;
  });

  constructor(resources: readonly GivenResource[]) {
    this.byKey = new Map(resources.map((each) => [keyOf(each.typeUrl, each.name), each]));
  }

  /** See `ResourceSource`. */
  watch<T, C>(type: ResourceType<T, C>, name: string, watcher: ResourceWatcher<T, C>): Handle {
    let isReleased = false;
    this.run(() => {
      if (!isReleased) watcher.onResourceChanged(this.read(type, name));
    });
    return createHandle(() => (isReleased = true));
  }

  /** See `ResourceSource`. */
  run(task: () => void): void {
    this.queue.run(task);
  }

  /** Returns a resource; `undefined` if it was not given. */
  find(typeUrl: string, name: string): GivenResource | undefined {
    return this.byKey.get(keyOf(typeUrl, name));
  }

  private read<T>(type: ResourceType<T>, name: string): Result<T, XdsError> {
    const given = this.find(type.typeUrl, name);
    const subject = `${type.typeName} "${name}"`;
    if (given === undefined) {
      return err({ kind: 'does-not-exist', message: `xds: ${subject}: not among the resources` });
    }
    const context = {
      server: SERVER,
      // Those of the bootstrap, which is not given.
      certificateProviders: { has: () => true },
      previous: () => undefined,
    };
    const { result } = runSteps(type.decode(given.value, context));
    if (result.ok) return ok(result.value);
    const message = `xds: ${subject}: rejected (NACK): ${joinBounded(result.error)}`;
    return err({ kind: 'invalid', message });
  }
}

function keyOf(typeUrl: string, name: string): string {
  const parsed = parseResourceName(name, typeUrl);
  return `${typeUrl} ${parsed.ok ? parsed.value.canonical : name}`;
}
