/** Things that an application has opened and not closed, so that all of them can be closed at once. */
export class OpenResources {
  private readonly closers = new Set<() => Promise<void>>();

  /**
   * Adds something by the function that closes it.
   * @returns A function that closes it, and removes it from here.
   */
  add(close: () => Promise<void>): () => Promise<void> {
    this.closers.add(close);
    return () => {
      this.closers.delete(close);
      return close();
    };
  }

  /** Closes everything, and waits for its end. */
  async closeAll(): Promise<void> {
    const closers = [...this.closers];
    this.closers.clear();
    await Promise.all(closers.map((close) => close()));
  }
}
