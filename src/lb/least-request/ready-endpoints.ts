import type { Loads } from './choose-least-loaded';
import type { CountedEndpoint } from './counted-endpoint';

/** The endpoints that are READY, in no particular order. Adding and removing take constant time. */
export class ReadyEndpoints implements Loads {
  private readonly list: CountedEndpoint[] = [];

  get size(): number {
    return this.list.length;
  }

  /** The endpoint at an index from 0 up to, not including, the size. */
  at(index: number): CountedEndpoint | undefined {
    return this.list[index];
  }

  loadAt(index: number): number {
    return this.list[index]?.load ?? 0;
  }

  /** Does nothing if it is there already. */
  add(endpoint: CountedEndpoint): void {
    if (endpoint.readyIndex >= 0) return;
    endpoint.readyIndex = this.list.length;
    this.list.push(endpoint);
  }

  /** Does nothing if it is not there. The last endpoint takes its place. */
  remove(endpoint: CountedEndpoint): void {
    const last = this.list.at(-1);
    if (endpoint.readyIndex < 0 || last === undefined) return;
    this.list[endpoint.readyIndex] = last;
    last.readyIndex = endpoint.readyIndex;
    this.list.pop();
    endpoint.readyIndex = -1;
  }
}
