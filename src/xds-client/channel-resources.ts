import type { Handle } from '../util/handle';
import type { Steps } from '../util/steps';
import type { ReadResponse } from './ads/read-response';
import { ResponseOrder } from './ads/response-order';
import {
  ChannelResource,
  type ChannelResourceOptions,
  type ResourceSubscriber,
} from './channel-resource';
import { ElementCounts } from './element-counts';
import type { ResourceType } from './resource-type';

interface TypeResources {
  readonly type: ResourceType<unknown>;
  readonly byName: Map<string, ChannelResource>;
  /** That of the latest response. */
  readonly order: ResponseOrder;
}

/** Constructor options of the resources of a channel. */
export interface ChannelResourcesOptions extends Omit<ChannelResourceOptions, 'elements'> {
  /** Begins to apply a response, until the handle is released: see `ManagementServers.runWhenWhole`. */
  readonly beginApplying: () => Handle;
}

/** The number of resources that are applied in one step. */
const STEP = 64;

const NO_RESOURCES: ReadonlyMap<string, ChannelResource> = new Map();

/** The resources subscribed to at one management server, by type and name. They survive streams. */
export class ChannelResources {
  /** The elements of all of them. */
  readonly elements = new ElementCounts();
  private readonly types = new Map<string, TypeResources>();
  private readonly options: ChannelResourceOptions;
  private readonly beginApplying: () => Handle;
  private latest = 0;

  constructor({ beginApplying, ...options }: ChannelResourcesOptions) {
    const { channel, clock, logger, history, cacheLimit } = options;
    this.options = { channel, clock, logger, history, cacheLimit, elements: this.elements };
    this.beginApplying = beginApplying;
  }

  /** The position of the resource subscribed to last. See `ChannelResource.position`. */
  get latestPosition(): number {
    return this.latest;
  }

  /** Adds a subscriber to a resource. */
  add(type: ResourceType<unknown>, name: string, subscriber: ResourceSubscriber): ChannelResource {
    let ofType = this.types.get(type.typeUrl);
    if (ofType === undefined) {
      ofType = { type, byName: new Map(), order: new ResponseOrder(type.typeUrl) };
      this.types.set(type.typeUrl, ofType);
    }
    let resource = ofType.byName.get(name);
    if (resource === undefined) {
      resource = new ChannelResource(type, name, ++this.latest, this.options);
      ofType.byName.set(name, resource);
    }
    resource.subscribers.add(subscriber);
    return resource;
  }

  /**
   * Removes a subscriber. The type stays known, because a response of it may be on its way.
   * @returns whether it was the last one of the resource.
   */
  remove(resource: ChannelResource, subscriber: ResourceSubscriber): boolean {
    const { type, name, subscribers } = resource;
    if (!subscribers.delete(subscriber) || subscribers.size > 0) return false;
    this.types.get(type.typeUrl)?.byName.delete(name);
    resource.release();
    return true;
  }

  /** A resource that has a subscriber. */
  get(typeUrl: string, name: string): ChannelResource | undefined {
    return this.types.get(typeUrl)?.byName.get(name);
  }

  /** A type of which a resource has, or had, a subscriber. */
  type(typeUrl: string): ResourceType<unknown> | undefined {
    return this.types.get(typeUrl)?.type;
  }

  /** The resources of a type, in the order they were added. The same object at all times. */
  ofType(typeUrl: string): ReadonlyMap<string, ChannelResource> {
    return this.types.get(typeUrl)?.byName ?? NO_RESOURCES;
  }

  /** The order of the latest response of a type. The same object at all times. */
  orderOf(typeUrl: string): ResponseOrder {
    return this.types.get(typeUrl)?.order ?? new ResponseOrder(typeUrl);
  }

  /** The types of which there are resources, as far as they pass the filter. */
  typeUrls(filter: (type: ResourceType<unknown>) => boolean): string[] {
    const typeUrls: string[] = [];
    for (const [typeUrl, { type, byName }] of this.types) {
      if (byName.size > 0 && filter(type)) typeUrls.push(typeUrl);
    }
    return typeUrls;
  }

  /**
   * Applies a response, in steps. Resources subscribed to since it arrived are not removed by it.
   * @param latestPosition When it arrived.
   */
  *onResponse(
    typeUrl: string,
    version: string,
    read: ReadResponse,
    latestPosition: number,
  ): Steps<void> {
    const applying = this.beginApplying();
    try {
      yield* this.apply(typeUrl, version, read, latestPosition);
    } finally {
      applying.release();
    }
  }

  private *apply(
    typeUrl: string,
    version: string,
    read: ReadResponse,
    latestPosition: number,
  ): Steps<void> {
    const { events, removed, lost, isComplete } = read;
    const byName = this.ofType(typeUrl);
    yield* forEachInSteps([...events.keys()], (name) => {
      const event = events.get(name);
      if (event !== undefined) byName.get(name)?.receive(event);
    });
    const remove = (name: string, isExplicit: boolean) => {
      // It may have been released between two steps.
      const resource = byName.get(name);
      if (resource === undefined || resource.position > latestPosition) return;
      resource.remove(version, isExplicit);
    };
    yield* forEachInSteps(removed, (name) => remove(name, true));
    if (!isComplete) return;
    yield* forEachInSteps([...byName.keys()], (name) => {
      if (!events.has(name) && !lost.has(name)) remove(name, false);
    });
  }
}

/**
 * Takes an array: to iterate something else in steps makes an object of each item. An exception about one item is thrown
 * when the function has been called for all others.
 */
function* forEachInSteps<T>(items: readonly T[], act: (item: T) => void): Steps<void> {
  let failure: { readonly error: unknown } | undefined;
  for (let start = 0; start < items.length; start += STEP) {
    if (start > 0) yield;
    for (const item of items.slice(start, start + STEP)) {
      try {
        act(item);
      } catch (error) {
        failure ??= { error };
      }
    }
  }
  if (failure !== undefined) throw failure.error;
}
