import { subchannelAddressToString } from '../../grpc-js';
import {
  forEachEndpoint,
  type EndpointsResource,
  type LocalityEndpoints,
  type XdsEndpoint,
} from '../../resources/endpoints/endpoints';

/** By address, what an endpoint says of it; `undefined` for one that says nothing. */
type Values<T> = ReadonlyMap<string, T | undefined>;

/** What the endpoints of one cluster say of their addresses, such as through which proxy they are connected to. */
export class AddressValues<T> {
  /** The endpoints; `undefined` while the cluster does not ask them. */
  private source: EndpointsResource | undefined;
  /** `undefined` while no endpoint says anything: it takes a text for each address. */
  private values: Values<T> | undefined;

  /**
   * @param valueOf Returns what an endpoint says. Of an address that several endpoints have, the first value counts.
   * @param areEqual Whether connections are made alike with two values.
   */
  constructor(
    private readonly valueOf: (endpoint: XdsEndpoint, locality: LocalityEndpoints) => T | undefined,
    private readonly areEqual: (a: T, b: T) => boolean,
  ) {}

  get(address: string): T | undefined {
    return this.values?.get(address);
  }

  /**
   * Takes the endpoints; `undefined` if the cluster does not ask them.
   * @returns whether an address is connected to in another way than before.
   */
  update(source: EndpointsResource | undefined): boolean {
    const { source: before, values: earlier } = this;
    if (source === before) return false;
    const values = source && this.hasAny(source) ? this.read(source) : undefined;
    this.source = source;
    this.values = values;
    if (values === undefined && earlier === undefined) return false;
    if (source === undefined || before === undefined) return true;
    const known = earlier ?? this.read(before);
    for (const [address, value] of values ?? this.read(source)) {
      if (known.has(address) && !this.isSame(known.get(address), value)) return true;
    }
    return false;
  }

  private isSame(a: T | undefined, b: T | undefined): boolean {
    return a === b || (a !== undefined && b !== undefined && this.areEqual(a, b));
  }

  private hasAny({ priorities }: EndpointsResource): boolean {
    return priorities.some(({ localities }) =>
      localities.some((locality) =>
        locality.endpoints.some((endpoint) => this.valueOf(endpoint, locality) !== undefined),
      ),
    );
  }

  private read(source: EndpointsResource): Values<T> {
    const values = new Map<string, T | undefined>();
    forEachEndpoint(source, (endpoint, locality) => {
      const value = this.valueOf(endpoint, locality);
      for (const address of endpoint.addresses) {
        const key = subchannelAddressToString(address);
        if (values.get(key) === undefined) values.set(key, value);
      }
    });
    return values;
  }
}
