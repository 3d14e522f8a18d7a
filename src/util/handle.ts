/** Something acquired by its owner. */
export interface Handle {
  /** Releases it. Idempotent. */
  release(): void;
}

/** Creates a handle that calls `onRelease` once. */
export function createHandle(onRelease: () => void): Handle {
  return new OnceHandle(onRelease);
}

/** A class, because a process may have a hundred thousand handles, and a function for each would double them. */
class OnceHandle implements Handle {
  constructor(private onRelease: (() => void) | undefined) {}

  release(): void {
    const { onRelease } = this;
    this.onRelease = undefined;
    onRelease?.();
  }
}
