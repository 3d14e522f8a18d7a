import { createHandle } from '../../util/handle';
import type { Certificates, CertificateWatch } from './certificate-provider';

/** The certificates of one source, which is in use while they are watched. */
export abstract class WatchedCertificates {
  private readonly listeners = new Set<() => void>();

  /** The certificates as of now. Each part is the same object until it changes. */
  abstract get current(): Certificates;

  /**
   * Watches the certificates. The first watch begins to read them.
   * @param onChanged Called after each later change, until the watch is released.
   */
  watch(onChanged: () => void): CertificateWatch {
    if (this.listeners.size === 0) this.start();
    const listener = () => onChanged();
    this.listeners.add(listener);
    const handle = createHandle(() => {
      this.listeners.delete(listener);
      if (this.listeners.size === 0) this.stop();
    });
    const read = () => this.current;
    return {
      get current() {
        return read();
      },
      release: () => handle.release(),
    };
  }

  /** Begins to read the certificates. Listeners are not notified before it returns. */
  protected abstract start(): void;

  /** Called once nothing watches them any more. */
  protected abstract stop(): void;

  protected notify(): void {
    for (const listener of [...this.listeners]) listener();
  }
}
