import { createHandle } from '../../util/handle';
import { LastGood, type LastGoodOptions } from '../../util/last-good';
import type {
  Certificates,
  CertificateWatch,
  Identity,
  TrustedRoots,
} from './certificate-provider';

/** The last good certificates of one source, which is in use while they are watched. */
export abstract class WatchedCertificates {
  protected readonly roots: LastGood<TrustedRoots>;
  protected readonly identity: LastGood<Identity>;
  private readonly listeners = new Set<() => void>();

  /** @param nouns Name the parts in messages. */
  constructor(
    options: Omit<LastGoodOptions, 'noun'>,
    nouns: { readonly roots: string; readonly identity: string },
  ) {
    this.roots = new LastGood({ ...options, noun: nouns.roots });
    this.identity = new LastGood({ ...options, noun: nouns.identity });
  }

  /** The certificates as of now. Each part is the same object until it changes. */
  get current(): Certificates {
    return { roots: this.roots.result, identity: this.identity.result };
  }

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
