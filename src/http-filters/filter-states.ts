/** More instances than a listener has in practice. The state of the least recently used one beyond is dropped. */
const MAX_STATES = 100;

/** What the filters of one channel keep over updates of its configuration, by the name of the instance (gRFC A83). */
export class FilterStates {
  private readonly states = new Map<string, object>();

  /**
   * Returns the state of an instance, which is created at first, and again when the instance has become one of another
   * filter, whose state is of another class.
   */
  get<T extends object>(
    name: string,
    type: abstract new (...args: never) => T,
    create: () => T,
  ): T {
    const known = this.states.get(name);
    const state = known instanceof type ? known : create();
    this.states.delete(name);
    this.states.set(name, state);
    const [oldest] = this.states.keys();
    if (this.states.size > MAX_STATES && oldest !== undefined) this.states.delete(oldest);
    return state;
  }
}
