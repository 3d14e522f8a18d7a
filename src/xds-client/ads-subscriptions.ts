import type { ResourceType } from './resource-type';

interface TypeSubscriptions<S> {
  readonly type: ResourceType<unknown>;
  readonly subscribers: Map<string, S>;
}

/** What is wanted from one server: names by type, and for each name who wants it. Survives streams. */
export class AdsSubscriptions<S> {
  private readonly types = new Map<string, TypeSubscriptions<S>>();

  /** Adds a name; if it is there already, only who wants it changes. */
  add(type: ResourceType<unknown>, name: string, subscriber: S): void {
    let entry = this.types.get(type.typeUrl);
    if (entry === undefined) {
      entry = { type, subscribers: new Map() };
      this.types.set(type.typeUrl, entry);
    }
    entry.subscribers.set(name, subscriber);
  }

  /** Takes a name away. The type stays known, because a response of it may be on its way. */
  remove(typeUrl: string, name: string): void {
    this.types.get(typeUrl)?.subscribers.delete(name);
  }

  /** The names wanted of a type, each with who wants it. */
  entries(typeUrl: string): Iterable<readonly [string, S]> {
    return this.types.get(typeUrl)?.subscribers ?? [];
  }

  /** Who wants a name; `undefined` if nobody does. */
  get(typeUrl: string, name: string): S | undefined {
    return this.types.get(typeUrl)?.subscribers.get(name);
  }

  /** A type of which something is or was wanted. */
  type(typeUrl: string): ResourceType<unknown> | undefined {
    return this.types.get(typeUrl)?.type;
  }

  /** The names wanted of a type, in the order they were added. */
  names(typeUrl: string): string[] {
    return [...(this.types.get(typeUrl)?.subscribers.keys() ?? [])];
  }

  /** The types of which something is wanted, as far as they are of interest. */
  typeUrls(isOfInterest: (type: ResourceType<unknown>) => boolean): string[] {
    const wanted: string[] = [];
    for (const [typeUrl, { type, subscribers }] of this.types) {
      if (subscribers.size > 0 && isOfInterest(type)) wanted.push(typeUrl);
    }
    return wanted;
  }
}
