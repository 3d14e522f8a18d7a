import type { ResourceTypes } from '../../src/resources/resource-types';
import { createHandle, type Handle } from '../../src/util/handle';
import { err, ok, type Result } from '../../src/util/result';
import { Serializer } from '../../src/util/serializer';
import type {
  ResourceSource,
  ResourceWatcher,
  WatchError,
} from '../../src/xds-client/resource-watcher';
import { RESOURCE_TYPE_DEFAULTS, type ResourceType } from '../../src/xds-client/resource-type';

type Answer = (watcher: ResourceWatcher<unknown>) => void;

interface Watch {
  readonly key: string;
  readonly watcher: ResourceWatcher<unknown>;
}

/** The four kinds of resources, without anything to decode them. */
export const fakeTypes: Pick<ResourceTypes, 'listener' | 'routeConfig' | 'cluster' | 'endpoints'> =
  {
    listener: fakeType('Listener', true),
    routeConfig: fakeType('RouteConfiguration', false),
    cluster: fakeType('Cluster', true),
    endpoints: fakeType('ClusterLoadAssignment', false),
  };

function fakeType<T>(typeName: string, allResourcesRequiredInSotw: boolean): ResourceType<T> {
  return {
    ...RESOURCE_TYPE_DEFAULTS,
    typeUrl: `type.googleapis.com/${typeName}`,
    typeName,
    allResourcesRequiredInSotw,
    peekName: () => undefined,
    decode() {
      return { name: undefined, result: err(['nothing is decoded here']) };
    },
  };
}

/**
 * An XdsClient whose server is the test: it answers at once what it has been given, and says nothing about
 * the rest. Like the client it has one serializer, and remembers the last word on each resource.
 */
export class FakeResourceSource implements ResourceSource {
  /** Every watch begun (`+Listener a`) and ended (`-Listener a`), oldest first. */
  readonly log: string[] = [];
  /** The number of users that wait for a change. */
  hurrying = 0;
  /** What it says that it is waiting for. */
  readonly waits: string[] = [];
  /** Why servers cannot be used. */
  failures: readonly string[] = [];
  private readonly answers = new Map<string, Answer>();
  /** The watches, by their keys. */
  private readonly watches = new Map<string, Set<Watch>>();
  private readonly serializer = new Serializer((error) => {
    throw error;
  });
  private depth = 0;
  readonly receivedAtMs = undefined;

  hurry(): Handle {
    this.hurrying++;
    return createHandle(() => this.hurrying--);
  }

  holdRequests(): Handle {
    return createHandle(() => {});
  }

  waitingFor(atMost: number): readonly string[] {
    return this.waits.slice(0, atMost);
  }

  serverFailures(): readonly string[] {
    return this.failures;
  }

  watch<T>(type: ResourceType<T>, name: string, watcher: ResourceWatcher<T>): Handle {
    if (this.depth === 0) throw new Error('A watch was begun outside of the serializer');
    const watch: Watch = { key: keyOf(type, name), watcher };
    this.watches.set(watch.key, this.watchesOf(watch.key).add(watch));
    this.log.push(`+${watch.key}`);
    const answer = this.answers.get(watch.key);
    if (answer !== undefined) this.tell(watch, answer);
    return createHandle(() => {
      this.watchesOf(watch.key).delete(watch);
      this.log.push(`-${watch.key}`);
    });
  }

  run(task: () => void): void {
    this.serializer.run(() => {
      this.depth++;
      try {
        task();
      } finally {
        this.depth--;
      }
    });
  }

  /** Gives the resource a value, for the watches there are and those to come. */
  serve<T>(type: ResourceType<T>, name: string, value: T): void {
    this.answer(type, name, (watcher) => watcher.onResourceChanged(ok(value)));
  }

  /** Says that there is no value to be used. */
  fail<T>(type: ResourceType<T>, name: string, error: WatchError): void {
    this.answer(type, name, (watcher) => watcher.onResourceChanged(err(error)));
  }

  /** Has nothing to say about the resource to the watches to come. */
  forget<T>(type: ResourceType<T>, name: string): void {
    this.answers.delete(keyOf(type, name));
  }

  /** Says that something is wrong with a value that stays in use, or that it no longer is. */
  ambient<T>(type: ResourceType<T>, name: string, error: WatchError | undefined): void {
    for (const watch of [...this.watchesOf(keyOf(type, name))]) {
      this.tell(watch, (watcher) => watcher.onAmbientError(error));
    }
  }

  /** The names watched, sorted, once per watch. */
  watched<T>(type: ResourceType<T>): readonly string[] {
    const prefix = keyOf(type, '');
    return this.all()
      .filter(({ key }) => key.startsWith(prefix))
      .map(({ key }) => key.slice(prefix.length))
      .sort();
  }

  /** How many watches there are of any kind: zero proves that nothing was left behind. */
  get watchCount(): number {
    return this.all().length;
  }

  private answer<T>(type: ResourceType<T>, name: string, answer: Answer): void {
    const key = keyOf(type, name);
    this.answers.set(key, answer);
    for (const watch of [...this.watchesOf(key)]) this.tell(watch, answer);
  }

  private tell(watch: Watch, answer: Answer): void {
    this.run(() => {
      if (this.watchesOf(watch.key).has(watch)) answer(watch.watcher);
    });
  }

  private watchesOf(key: string): Set<Watch> {
    return this.watches.get(key) ?? new Set();
  }

  private all(): readonly Watch[] {
    return [...this.watches.values()].flatMap((watches) => [...watches]);
  }
}

function keyOf<T>(type: ResourceType<T>, name: string): string {
  return `${type.typeName} ${name}`;
}

/** A result with the text of its error alone. */
export function withMessage<T>(result: Result<T, WatchError>): Result<T, string> {
  return result.ok ? result : err(result.error.message);
}
