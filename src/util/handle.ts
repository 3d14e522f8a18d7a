/** Something acquired. Letting go twice does no harm. */
export interface Handle {
  /** Lets go. The first call has an effect, later ones have none. */
  release(): void;
}

/** Makes a handle that runs `onRelease` once. */
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
