import type { MeterProvider, Span, TracerProvider } from '@opentelemetry/api';
import { ChannelCredentials, connectivityState, credentials, experimental } from '@grpc/grpc-js';
import {
  registerCertificateProvider,
  registerChannelCredentials,
  registerHttpFilter,
  registerLbPolicy,
  type CallFilter,
  type LbConnection,
  type LogRecord,
  type XdsLogger,
} from '../../src';
import { observe } from '../../src/observe/opentelemetry';
import type { Closable } from '../../src/util/handle';
import type { Json } from '../support/xds-json';

/** How a seam fails: by an exception, by a rejected promise, or by a result of another type than it must have. */
export type Way = 'throws' | 'rejects' | 'returns garbage';

/** The seam that is broken now. */
class Fault {
  uses = 0;
  private seam: string | undefined;
  private way: Way = 'throws';

  begin(seam: string, way: Way): void {
    this.seam = seam;
    this.way = way;
    this.uses = 0;
  }

  end(): void {
    this.seam = undefined;
  }

  /** Returns the result of a seam, unless it is the broken one. */
  of<T>(seam: string, result: () => T): T {
    if (seam !== this.seam) return result();
    this.uses++;
    // Another text for each case: the log leaves out what it has written in the last ten seconds.
    const error = new Error(`${seam} ${this.way}`);
    if (this.way === 'throws') throw error;
    // What the types rule out, plain JavaScript does.
    return (this.way === 'rejects' ? Promise.reject(error) : 'garbage') as T;
  }
}

export const fault = new Fault();
const at = <T>(seam: string, result: () => T): T => fault.of(seam, result);

const typedStruct = (type: string, value: Json): Json => ({
  '@type': 'type.googleapis.com/xds.type.v3.TypedStruct',
  type_url: `type.googleapis.com/${type}`,
  value,
});

/** The filter of the application in a listener; another config for each version. @param name Of the instance. */
export function seamFilter(name: string, version: number): Json {
  return { name, typed_config: typedStruct('acme.v1.Filter', { version }) };
}

/** The part of a cluster that names a policy; another config for each version. */
export function seamPolicy(name: string, version: number): Json {
  const typed_config = typedStruct(name, { version });
  return {
    load_balancing_policy: {
      policies: [{ typed_extension_config: { name: 'seam', typed_config } }],
    },
  };
}

const callFilter: CallFilter = {
  onRequestHeaders: (headers) => at('filter.onRequestHeaders', () => headers),
  onRequestMessage: (message) => at('filter.onRequestMessage', () => message),
  onResponseHeaders: (headers) => at('filter.onResponseHeaders', () => headers),
  onResponseMessage: (message) => at('filter.onResponseMessage', () => message),
  onStatus: (status) => at('filter.onStatus', () => status),
};

/** Registers a filter and a policy of an application, every method of which is a seam. @param policyName Of the policy. */
export function registerParts(policyName: string): void {
  registerHttpFilter<object>({
    configTypes: ['acme.v1.Filter'],
    parseConfig: () => at('filter.parseConfig', () => ({})),
    createCallFilter: () => at('filter.createCallFilter', () => callFilter),
    describe: () => at('filter.describe', () => ({})),
  });
  registerLbPolicy<object>({
    name: policyName,
    parseConfig: () => at('policy.parseConfig', () => ({})),
    create: (host) =>
      at('policy.create', () => {
        let all: readonly LbConnection[] = [];
        const picker = {
          pick: () => at('picker.pick', () => all.find(({ state }) => state === 'ready')),
          onCallStarted: () => at('picker.onCallStarted', () => undefined),
          onCallEnded: () => at('picker.onCallEnded', () => undefined),
        };
        const publish = () =>
          host.publish(at('policy.publish', () => ({ kind: 'ready' as const, picker })));
        return {
          update({ localities }) {
            all = localities.flatMap(({ connections }) => connections);
            for (const connection of all) connection.connect();
            publish();
            return at('policy.update', () => undefined);
          },
          onConnectionChanged(connection) {
            if (connection.state === 'idle') connection.connect();
            publish();
            return at('policy.onConnectionChanged', () => undefined);
          },
          close: () => at('policy.close', () => undefined),
        };
      }),
  });
}

type Balancer = experimental.LoadBalancer;
type Helper = experimental.ChannelControlHelper;

/** Registers a policy with grpc-js, every method of which is a seam. It takes the first endpoint. */
export function registerHostPolicy(name: string): void {
  class Config {
    getLoadBalancerName = () => name;
    toJsonObject = () => at('host.toJsonObject', () => ({ [name]: {} }));
    static createFromJson = () => at('host.createFromJson', () => new Config());
  }
  class Policy {
    private subchannel: experimental.SubchannelInterface | undefined;

    constructor(private readonly helper: Helper) {
      at('host.constructor', () => undefined);
    }

    updateAddressList(
      list: Parameters<Balancer['updateAddressList']>[0],
      _config: unknown,
      options: Parameters<Balancer['updateAddressList']>[2],
    ): boolean {
      const address = list.ok ? list.value[0]?.addresses[0] : undefined;
      if (address === undefined) return false;
      const subchannel = this.helper.createSubchannel(address, options);
      this.subchannel = subchannel;
      subchannel.ref();
      const result = {
        pickResultType: experimental.PickResultType.COMPLETE as const,
        subchannel,
        status: null,
        onCallStarted: () => at('host.onCallStarted', () => undefined),
        onCallEnded: () => at('host.onCallEnded', () => undefined),
      };
      const picker = { pick: () => at('host.pick', () => result) };
      const publish = (state: connectivityState) => {
        const isReady = state === connectivityState.READY;
        const used = isReady ? picker : new experimental.QueuePicker(this);
        this.helper.updateState(state, used, null);
      };
      subchannel.addConnectivityStateListener((_of, _before, state) => publish(state));
      subchannel.startConnecting();
      // Another channel may have connected the subchannel before: then nothing changes any more.
      publish(subchannel.getConnectivityState());
      return at('host.updateAddressList', () => true);
    }

    exitIdle = () => at('host.exitIdle', () => this.subchannel?.startConnecting());
    resetBackoff = () => undefined;
    getTypeName = () => name;
    destroy(): void {
      this.subchannel?.unref();
      at('host.destroy', () => undefined);
    }
  }
  experimental.registerLoadBalancerType(name, Policy, Config);
}

/** Puts seams into the resolver of grpc-js for the name `localhost`. */
export function registerDns(): void {
  const target = { scheme: 'dns', path: 'localhost' };
  const original = experimental.createResolver(target, () => true, {});
  const Original = original.constructor as new (...args: ResolverArgs) => experimental.Resolver;
  original.destroy();
  const ofSeam = (path: string, seam: string) => {
    if (path.startsWith('localhost')) at(seam, () => undefined);
  };
  class Dns extends Original {
    private readonly path: string;
    constructor(...args: ResolverArgs) {
      super(...args);
      this.path = args[0].path;
      ofSeam(this.path, 'dns.constructor');
    }
    override updateResolution(): void {
      ofSeam(this.path, 'dns.updateResolution');
      super.updateResolution();
    }
    override destroy(): void {
      super.destroy();
      ofSeam(this.path, 'dns.destroy');
    }
    static getDefaultAuthority = ({ path }: { path: string }) => path;
  }
  experimental.registerResolver('dns', Dns);
}

type ResolverArgs = Parameters<typeof experimental.createResolver>;
type CreateArgs = Parameters<ChannelCredentials['_createSecureConnector']>;

/** Channel credentials of an application, without security. */
export class SeamCredentials extends ChannelCredentials {
  private readonly inner = credentials.createInsecure();

  _isSecure(): boolean {
    return false;
  }

  _equals(other: ChannelCredentials): boolean {
    return this === other;
  }

  _createSecureConnector(
    ...args: CreateArgs
  ): ReturnType<ChannelCredentials['_createSecureConnector']> {
    const connector = this.inner._createSecureConnector(...args);
    return at('credentials.createConnector', () => ({
      connect: (socket) => at('credentials.connect', () => connector.connect(socket)),
      waitForReady: () => at('credentials.waitForReady', () => connector.waitForReady()),
      getCallCredentials: () =>
        at('credentials.getCallCredentials', () => connector.getCallCredentials()),
      destroy: () => at('credentials.destroy', () => connector.destroy()),
    }));
  }
}

/** Registers the credentials for management servers, and a provider of certificates that has none. */
export function registerSecurity(): void {
  registerChannelCredentials<object>({
    type: 'seam',
    parseConfig: (config) => config,
    create: () => at('credentials.create', () => new SeamCredentials()),
  });
  registerCertificateProvider<object>({
    name: 'seam',
    parseConfig: () => at('provider.parseConfig', () => ({})),
    create: () =>
      at('provider.create', () => ({
        watch: (_name, watcher) =>
          at('provider.watch', () => {
            watcher.onRoots(at('provider.onRoots', () => new Error('there are none')));
            watcher.onIdentity(at('provider.onIdentity', () => new Error('there is none')));
            return () => at('provider.cancel', () => undefined);
          }),
        close: () => at('provider.close', () => undefined),
      })),
  });
}

/** The logger of an application. */
export class SeamLogger implements XdsLogger {
  readonly lines: string[] = [];

  get level(): 'error' {
    return at('logger.level', () => 'error' as const);
  }

  log({ message }: LogRecord): void {
    this.lines.push(message);
    return at('logger.log', () => undefined);
  }
}

/** Observes all channels with providers every method of which is a seam. */
export function observeBySeams(): Closable {
  const instrument = {
    add: () => at('meter.add', () => undefined),
    record: () => at('meter.record', () => undefined),
  };
  const meter = {
    createCounter: () => at('meter.createCounter', () => instrument),
    createUpDownCounter: () => at('meter.createUpDownCounter', () => instrument),
    createHistogram: () => at('meter.createHistogram', () => instrument),
    createObservableGauge: () => at('meter.createObservableGauge', () => ({})),
    addBatchObservableCallback: () => undefined,
  };
  const span = {
    spanContext: () => ({ traceId: '1'.repeat(32), spanId: '1'.repeat(16), traceFlags: 1 }),
    addEvent: () => at('span.addEvent', () => undefined),
    setStatus: () => at('span.setStatus', () => undefined),
    end: () => at('span.end', () => undefined),
  } as unknown as Span;
  const tracer = { startSpan: () => at('tracer.startSpan', () => span) };
  return observe({
    enableMetrics: ['grpc_xds.lb.endpoints'],
    meterProvider: { getMeter: () => meter } as unknown as MeterProvider,
    tracerProvider: { getTracer: () => tracer } as unknown as TracerProvider,
    textMapPropagator: {
      inject: () => at('propagator.inject', () => undefined),
      extract: (context) => context,
      fields: () => [],
    },
    methodAttributeFilter: () => at('methodAttributeFilter', () => true),
    channelFilter: () => at('channelFilter', () => true),
  });
}
