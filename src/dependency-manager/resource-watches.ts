import type { Handle } from '../util/handle';
import type { ResourceWatcher } from '../xds-client/resource-watcher';
import { waiting, type Observed } from './observations';
import { WatchSet } from './watch-set';

/** Begins to watch a resource of one type. */
export type WatchResource<T> = (name: string, watcher: ResourceWatcher<T>) => Handle;

/**
 * Makes the watches of resources of one type, which keep what each watcher was told last.
 *
 * @param onReport Called each time one was told something, with the name.
 */
export function createResourceWatches<T>(
  watch: WatchResource<T>,
  onReport: (name: string) => void,
): WatchSet<string, Observed<T>> {
  return new WatchSet<string, Observed<T>>(
    waiting,
    (name, _key, report) =>
      watch(name, {
        onResourceChanged: (update) =>
          report(() =>
            update.ok
              ? { kind: 'value', value: update.value, ambient: undefined }
              : { kind: 'error', error: update.error },
          ),
        onAmbientError: (ambient) =>
          report((before) => (before.kind === 'value' ? { ...before, ambient } : before)),
      }),
    onReport,
  );
}
