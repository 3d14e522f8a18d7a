import type { ResourceTypes } from '../../src/resources/resource-types';
import type { ResourceType } from '../../src/xds-client/resource-type';
import { XdsClient } from '../../src/xds-client/xds-client';
import { serverWith } from '../resources/decode-json';
import { FakeClock } from '../support/fake-clock';
import { FakeNetwork, type FakeStream } from '../support/fake-transport';
import { encodedSamples } from './samples/messages';
import { NAMES } from './samples/responses';
import type { FuzzTarget } from './targets';
import type { WireMutations } from './wire-mutations';

/** Inputs that one client lives through. */
const LIFETIME = 200;

/** Everything a client has, anew now and then. */
class World {
  readonly clock = new FakeClock();
  readonly network = new FakeNetwork(this.clock);
  readonly errors: string[] = [];
  readonly client: XdsClient;
  inputs = 0;

  constructor(features: readonly string[], types: ResourceTypes) {
    this.client = new XdsClient({
      bootstrap: {
        source: 'bootstrap.json',
        servers: [serverWith(...features)],
        node: { id: 'node-1', cluster: '', locality: undefined, metadata: undefined },
        authorities: new Map(),
        clientDefaultListenerResourceNameTemplate: '%s',
        certificateProviders: new Map(),
      },
      transportFactory: this.network,
      clock: this.clock,
      random: () => 0.5,
      logger: {
        trace: (_, text) => void text(),
        info: (text) => void text(),
        error: (text) => {
          const message = text();
          if (message.startsWith('unexpected error')) this.errors.push(message);
        },
      },
      userAgent: { name: 'test-agent', version: '1.2.3' },
      dataErrorHandling: true,
    });
    for (const type of Object.values(types)) for (const name of NAMES) this.watch(type, name);
    this.clock.advance(1);
  }

  /** The stream that is open, once one is. */
  stream(): FakeStream | undefined {
    const { streams } = this.network.server('xds.test:443');
    for (let round = 0; round < 200 && streams.at(-1)?.isOpen !== true; round++)
      this.clock.advance(1000);
    return streams.at(-1);
  }

  /** Ends it. @returns what is left of it, if anything is. */
  close(): string | undefined {
    this.client.close();
    this.clock.flush();
    const { pendingTimers } = this.clock;
    return pendingTimers > 0 ? `${pendingTimers} timers are left` : undefined;
  }

  private watch(type: ResourceType<unknown>, name: string): void {
    this.client.watch(type, name, {
      onResourceChanged: () => undefined,
      onAmbientError: () => undefined,
    });
  }
}

/** A client on a stream on which anything may come. */
export class StreamTarget implements FuzzTarget {
  readonly name: string;
  private readonly samples: readonly Uint8Array[];
  private readonly features: readonly string[];
  private world: World | undefined;

  constructor(
    variant: 'sotw' | 'delta',
    private readonly types: ResourceTypes,
    private readonly wire: WireMutations,
    private readonly pick: <T>(list: readonly T[]) => T,
  ) {
    this.name = `${variant} stream`;
    this.features = variant === 'delta' ? ['grpc_xds_delta'] : [];
    const prefix = variant === 'delta' ? 'Delta' : '';
    this.samples = encodedSamples(`envoy.service.discovery.v3.${prefix}DiscoveryResponse`);
  }

  make(): Uint8Array {
    return this.wire.mutate(this.pick(this.samples));
  }

  run(input: Uint8Array | string): string | undefined {
    const world = (this.world ??= new World(this.features, this.types));
    const stream = world.stream();
    if (stream === undefined) return 'there is no stream any more';
    stream.clearRequests();
    stream.messages.length = 0;
    stream.respondBytes(Buffer.from(input));
    // Long enough for everything that is held back.
    world.clock.advance(6000);
    if (world.errors.length > 0) return world.errors.splice(0).join();
    if (stream.isOpen && stream.credits === 0) return 'nothing is read any more';
    world.inputs++;
    if (world.inputs < LIFETIME) return undefined;
    this.world = undefined;
    return world.close();
  }
}
