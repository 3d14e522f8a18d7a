import cluster, { type Worker } from 'node:cluster';
import type { Clock } from '../../util/clock';
import { createHandle, type Handle } from '../../util/handle';
import type { IpcEnvelope } from './ipc-message';

/** One end of a channel on which messages pass between two processes. They arrive in order, or not at all. */
export interface IpcPort {
  /** Names the process at the other end. */
  readonly peer: string;
  readonly isConnected: boolean;
  post(envelope: IpcEnvelope): void;
  /**
   * Calls back with all that is received, also messages of the application, until the handle is released.
   * @param onClosed Called when the process at the other end has ended or closed the channel.
   */
  listen(onMessage: (received: unknown) => void, onClosed: () => void): Handle;
}

/**
 * Returns the end in the primary of the channel to a worker of node:cluster, or the end in that worker. The listeners are those of
 * the `Worker`, which node:cluster notifies in any case: one of `process` would keep a worker alive that has nothing else to do.
 */
export function createClusterPort(worker: Worker): IpcPort {
  const { process: peer } = worker;
  return {
    peer: cluster.isPrimary ? `worker ${worker.id} (pid ${peer.pid})` : `pid ${process.ppid}`,
    get isConnected() {
      return peer.connected;
    },
    post(envelope) {
      // Without a callback, the event `error` of the process would report that the channel was closed meanwhile.
      if (peer.connected) worker.send(envelope, () => {});
    },
    listen(onMessage, onClosed) {
      worker.on('message', onMessage);
      worker.once('disconnect', onClosed);
      return createHandle(() => {
        worker.off('message', onMessage);
        worker.off('disconnect', onClosed);
      });
    },
  };
}

/** One end of a channel within the process. */
class LocalPort implements IpcPort {
  readonly peer = 'this process';
  isConnected = true;
  other: LocalPort | undefined;
  private listener:
    { readonly onMessage: (received: unknown) => void; readonly onClosed: () => void } | undefined;

  constructor(private readonly clock: Pick<Clock, 'soon'>) {}

  post(envelope: IpcEnvelope): void {
    const { other } = this;
    this.clock.soon(() => other?.listener?.onMessage(envelope));
  }

  listen(onMessage: (received: unknown) => void, onClosed: () => void): Handle {
    const listener = { onMessage, onClosed };
    this.listener = listener;
    return createHandle(() => {
      if (this.listener === listener) this.listener = undefined;
    });
  }

  /** Closes both ends, after what was posted. */
  close(): void {
    for (const end of [this, this.other]) {
      if (end === undefined) continue;
      end.isConnected = false;
      this.clock.soon(() => end.listener?.onClosed());
    }
  }
}

/** Returns the two ends of a channel within the process. */
export function createLocalPorts(
  clock: Pick<Clock, 'soon'>,
): readonly [IpcPort & { close(): void }, IpcPort] {
  const [one, other] = [new LocalPort(clock), new LocalPort(clock)];
  one.other = other;
  other.other = one;
  return [one, other];
}

/** Connects the clients of the primary with the relay in it, whichever is first. */
class LocalRelay {
  private readonly ports = new Set<IpcPort>();
  private accept: ((port: IpcPort) => void) | undefined;

  /** Serves the clients of this process, until the handle is released. */
  serve(accept: (port: IpcPort) => void): Handle {
    this.accept = accept;
    for (const port of this.ports) accept(port);
    return createHandle(() => {
      if (this.accept === accept) this.accept = undefined;
    });
  }

  /** Returns the port of a client, which is closed when it is released. */
  connect(clock: Pick<Clock, 'soon'>): Handle & { readonly port: IpcPort } {
    const [port, served] = createLocalPorts(clock);
    this.ports.add(served);
    this.accept?.(served);
    const handle = createHandle(() => {
      this.ports.delete(served);
      port.close();
    });
    return { port, release: () => handle.release() };
  }
}

/** Of this process. */
export const localRelay = new LocalRelay();
