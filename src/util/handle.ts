/** Something acquired. Letting go twice does no harm. */
export interface Handle {
  /** Lets go. The first call has an effect, later ones have none. */
  release(): void;
}

/** Makes a handle that runs `onRelease` once. */
export function createHandle(onRelease: () => void): Handle {
  let release: (() => void) | undefined = onRelease;
  return {
    release() {
      const run = release;
      release = undefined;
      run?.();
    },
  };
}
