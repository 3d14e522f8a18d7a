import {
  ConnectivityState,
  PickResultType,
  type PickArgs,
  type PickResult,
  type Picker,
} from '../../grpc-js';
import type { LocalityEndpoints, XdsEndpoint } from '../../resources/endpoints/endpoints';
import { shareFields, shareList } from '../../util/share';
import type { EndpointLeaf } from '../endpoints/endpoint-leaf';
import type { EndpointSet } from '../endpoints/endpoint-set';
import type {
  LbConnection,
  LbConnectionState,
  LbEndpoint,
  LbLocality,
  LbCall,
  LbPicker,
} from './definition';
import { abandon, atOnce, isPromiseLike } from '../../util/contained';
import { errorMessage } from '../../util/errors';
import { createFailurePicker, queuePicker } from '../connectivity';

/** The part of a leaf that the policy of an application can access. */
export class LeafConnection implements LbConnection {
  readonly #leaf: EndpointLeaf;
  readonly #connect: (leaf: EndpointLeaf) => void;

  /** @param connect Connects the leaf, not before the current pick is over. */
  constructor(leaf: EndpointLeaf, connect: (leaf: EndpointLeaf) => void) {
    this.#leaf = leaf;
    this.#connect = connect;
  }

  /** Returns the pick result of the connection; `undefined` if it is an object of the application. */
  static pick(connection: LbConnection, args: PickArgs): PickResult | undefined {
    return connection instanceof LeafConnection ? connection.#leaf.picker.pick(args) : undefined;
  }

  get endpoint(): LbEndpoint {
    return this.#leaf.endpoint;
  }

  get state(): LbConnectionState {
    return connectionState(this.#leaf.state);
  }

  get error(): string | undefined {
    return this.#leaf.errorMessage ?? undefined;
  }

  connect(): void {
    this.#connect(this.#leaf);
  }
}

const STATE_NAMES: Readonly<Record<ConnectivityState, LbConnectionState>> = {
  [ConnectivityState.IDLE]: 'idle',
  [ConnectivityState.CONNECTING]: 'connecting',
  [ConnectivityState.READY]: 'ready',
  [ConnectivityState.TRANSIENT_FAILURE]: 'failed',
  [ConnectivityState.SHUTDOWN]: 'idle',
};

/** Returns the name of a state for applications. */
export function connectionState(state: ConnectivityState): LbConnectionState {
  return STATE_NAMES[state];
}

/** A locality for the application, with its source. */
interface Group {
  readonly source: LocalityEndpoints;
  readonly value: LbLocality;
}

/**
 * The localities for the policy of an application: with connections instead of endpoints. An unchanged locality is the
 * same object as before.
 */
export class ConnectionGroups {
  /** The localities in the order of the last update. The same list if nothing in it changed. */
  localities: readonly LbLocality[] = [];
  private groups: readonly Group[] = [];
  private bySource: ReadonlyMap<LocalityEndpoints, Group> = new Map();
  /** Whether each endpoint was listed once, so that localities do not depend on each other. */
  private isPlain = true;

  /** @param find Returns the connection to an endpoint; endpoints with the same addresses share one. */
  constructor(private readonly find: (endpoint: XdsEndpoint) => LbConnection | undefined) {}

  /** @param connections The number of connections. */
  update({ localities }: EndpointSet, connections: number): void {
    let listed = 0;
    for (const { endpoints } of localities) listed += endpoints.length;
    const isPlain = listed === connections;
    const known = isPlain && this.isPlain ? this.bySource : new Map<LocalityEndpoints, Group>();
    const placed = isPlain ? undefined : new Set<LbConnection>();
    this.groups = localities.map(
      (source, i) => known.get(source) ?? this.createGroup(source, this.groups[i], placed),
    );
    this.bySource = new Map(this.groups.map((group) => [group.source, group]));
    this.isPlain = isPlain;
    const values = this.groups.map(({ value }) => value);
    this.localities = shareList(this.localities, values);
  }

  private createGroup(
    source: LocalityEndpoints,
    previous: Group | undefined,
    placed: Set<LbConnection> | undefined,
  ): Group {
    const connections: LbConnection[] = [];
    for (const endpoint of source.endpoints) {
      const connection = this.find(endpoint);
      if (connection === undefined || placed?.has(connection) === true) continue;
      placed?.add(connection);
      connections.push(connection);
    }
    const { region, zone, subZone } = source.locality;
    const value = Object.freeze({
      region,
      zone,
      subZone,
      weight: source.weight,
      connections: shareList(previous?.value.connections, connections),
    });
    // A connection stays when the description of its endpoint changes, which the policy can read.
    const described = previous?.source.endpoints;
    const isSameSource = shareList(described, source.endpoints) === described;
    return { source, value: isSameSource ? shareFields(previous?.value, value) : value };
  }
}

/** Whether the picker of the application is running, so that no other picker must be published. */
export interface PickGuard {
  isPicking: boolean;
}

export interface CustomPickerOptions {
  readonly picker: LbPicker;
  /** Set while the picker runs, so that connections it requests are started afterwards. */
  readonly guard: PickGuard;
  /** Returns the error of a failed call. @param cause The error of the application's code. */
  readonly describe: (cause: string) => string;
  /** Logs an exception of the picker. */
  readonly onError: (error: unknown) => void;
}

const MUST_PICK_AT_ONCE = 'the picker must return a connection, not a promise';

/** Runs the picker of an application. An exception of it fails the one call. */
export class CustomPicker implements Picker {
  constructor(private readonly options: CustomPickerOptions) {}

  pick(args: PickArgs): PickResult {
    const { picker, guard, describe, onError } = this.options;
    guard.isPicking = true;
    try {
      const connection = atOnce(picker.pick(new PickedCall(args)), MUST_PICK_AT_ONCE);
      if (connection === undefined) return queuePicker.pick(args);
      const result = LeafConnection.pick(connection, args);
      if (result === undefined)
        throw new Error('the picker returned something other than a connection');
      return this.withCallbacks(result, connection);
    } catch (error) {
      onError(error);
      return createFailurePicker(describe(errorMessage(error))).pick(args);
    } finally {
      guard.isPicking = false;
    }
  }

  /** Adds the callbacks of the picker, if it has any. */
  private withCallbacks(result: PickResult, connection: LbConnection): PickResult {
    const { picker } = this.options;
    if (picker.onCallStarted === undefined && picker.onCallEnded === undefined) return result;
    if (result.pickResultType !== PickResultType.COMPLETE) return result;
    return {
      ...result,
      onCallStarted: () => {
        result.onCallStarted?.();
        this.runCallback(() => picker.onCallStarted?.(connection));
      },
      onCallEnded: (code, ...rest) => {
        result.onCallEnded?.(code, ...rest);
        this.runCallback(() => picker.onCallEnded?.(connection, code));
      },
    };
  }

  private runCallback(callback: () => unknown): void {
    const { guard, onError } = this.options;
    guard.isPicking = true;
    try {
      const result = callback();
      if (isPromiseLike(result)) abandon(result, onError);
    } catch (error) {
      onError(error);
    } finally {
      guard.isPicking = false;
    }
  }
}

/** The call of a pick, for the picker of an application. */
class PickedCall implements LbCall {
  readonly #args: PickArgs;

  constructor(args: PickArgs) {
    this.#args = args;
  }

  header(name: string): readonly (string | Buffer)[] {
    return this.#args.metadata.get(name);
  }

  setHeader(name: string, value: string | Buffer): void {
    this.#args.metadata.set(name, value);
  }
}
