import type { ClientEvents } from '../../xds-client/client-events';
import { SnapshotWriter, type SnapshotWriterOptions } from './snapshot-writer';

/** Keeps the resources of the clients of one bootstrap. */
export interface SnapshotKeeper {
  /** For the clients' servers. */
  readonly events: ClientEvents;
  /** Begins. */
  start(read: SnapshotWriterOptions['read']): void;
}

/** Saves what servers send, and not what was saved and is used in their place. */
export function keepSnapshot(options: Omit<SnapshotWriterOptions, 'read'>): SnapshotKeeper {
  let writer: SnapshotWriter | undefined;
  return {
    events: {
      onServerFailure() {},
      onResponse(server, _typeUrl, valid) {
        if (server.snapshot === undefined && valid > 0) writer?.changed();
      },
    },
    start(read) {
      writer = new SnapshotWriter({ ...options, read });
    },
  };
}
