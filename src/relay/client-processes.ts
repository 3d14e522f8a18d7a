import { onCallEvent } from '../grpc-js/server-callbacks';
import type { StreamCall } from '../control-plane/server-stream';
import { parseProcessId, readProcessHeaders } from '../util/process-header';
import { readPathHeaders } from './relay-path';

/** The processes of the clients of a relay, by their streams, as the headers of these say. */
export class ClientProcesses {
  private readonly byStream = new Map<number, number>();

  /** Reads the headers of a stream, and forgets them when it ends. */
  open(
    streamId: number,
    call: Pick<StreamCall<unknown, unknown>, 'on' | 'emit' | 'metadata'>,
  ): void {
    const pid = call.metadata && readProcess(call.metadata);
    if (pid === undefined) return;
    this.byStream.set(streamId, pid);
    for (const event of ['end', 'cancelled', 'error', 'close']) {
      onCallEvent('the clients of a relay', call, event, () => this.byStream.delete(streamId));
    }
  }

  /** Returns the process of a stream; `undefined` if its client does not say. */
  of(streamId: number): number | undefined {
    return this.byStream.get(streamId);
  }
}

/** A client that is a relay says which relays its streams have passed, the last of which it is itself. */
function readProcess(
  metadata: NonNullable<StreamCall<unknown, unknown>['metadata']>,
): number | undefined {
  return readProcessHeaders(metadata) ?? parseProcessId(readPathHeaders(metadata).at(-1)?.pid);
}
