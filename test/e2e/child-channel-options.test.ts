import {
  experimental,
  InterceptingCall,
  type ChannelOptions,
  type Interceptor,
  type Listener,
} from '@grpc/grpc-js';
import {
  register,
  registerLbPolicy,
  type ChildChannelOptions,
  type LogRecord,
  type RegisterOptions,
} from '../../src';
import { createObservedChannel } from '../../src/observe/opentelemetry';
import { turns } from '../lb/custom/support';
import { EchoClient } from '../support/echo-backend';
import { eventually } from '../support/eventually';
import {
  bootstrapFor,
  Mesh,
  NODE_ID,
  SERVICE,
  simpleResources,
  registerAnew,
} from '../support/mesh';
import { MetricsReader } from '../support/metrics-reader';
import { edsClusterJson } from '../support/xds-json';
import { XdsError } from '../../src/util/xds-error';

const OPTION = 'grpc_xds.child_channel_options';
const ADS = '/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources';
const LRS = '/envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats';
const TARGET = `xds:///${SERVICE}`;

/** The options that the policies of this test were given. */
const received: ChannelOptions[] = [];

/** A policy of the application that is registered with grpc-js. */
class SpyPolicy extends experimental.ChildLoadBalancerHandler {
  override updateAddressList(
    endpoints: Parameters<experimental.LoadBalancer['updateAddressList']>[0],
    _config: unknown,
    options: ChannelOptions,
    note: string,
  ): boolean {
    received.push(options[OPTION] as ChannelOptions);
    const config = experimental.parseLoadBalancingConfig({ round_robin: {} });
    return super.updateAddressList(endpoints, config, options, note);
  }

  override getTypeName(): string {
    return 'test.spy';
  }
}

class SpyConfig implements experimental.TypedLoadBalancingConfig {
  static createFromJson(): SpyConfig {
    return new SpyConfig();
  }

  getLoadBalancerName(): string {
    return 'test.spy';
  }

  toJsonObject(): object {
    return { 'test.spy': {} };
  }
}

/** A policy of the application that is registered with this package. */
function registerPolicies(): void {
  registerLbPolicy({
    ...turns,
    name: 'test.turns',
    create(host) {
      const policy = turns.create(host);
      const update = policy.update.bind(policy);
      policy.update = (next) => {
        received.push(next.childChannelOptions);
        update(next);
      };
      return policy;
    },
  });
  experimental.registerLoadBalancerType('test.spy', SpyPolicy, SpyConfig);
}

describe('child channel options (gRFC A110)', () => {
  let mesh: Mesh;
  const logged: string[] = [];
  /** The streams that were intercepted: the name of the interceptor and the method. */
  const seen: string[] = [];
  const clients: EchoClient[] = [];

  beforeEach(async () => {
    logged.length = 0;
    seen.length = 0;
    mesh = await Mesh.startWith({ loadReporting: { intervalMs: 600_000 } }, []);
    const backend = await mesh.backend('b1');
    const reporting = edsClusterJson('echo', { lrs_server: { self: {} } });
    mesh.serve({ ...simpleResources([backend.port]), clusters: [reporting] });
    registerWith({});
  });
  afterEach(async () => {
    closeClients();
    mesh.stop();
    await mesh.untilNoClients();
    registerAnew({});
  });

  function registerWith(options: RegisterOptions): void {
    const log = ({ message }: LogRecord) => logged.push(message);
    registerAnew({ bootstrap: bootstrapFor(mesh.address, []), logger: { log }, ...options });
  }

  function closeClients(): void {
    for (const client of clients.splice(0)) client.close();
  }

  function clientWith(options: ChildChannelOptions | undefined, others: object = {}): EchoClient {
    const client = new EchoClient(TARGET, { [OPTION]: options, ...others });
    clients.push(client);
    return client;
  }

  /** Returns an interceptor that records the streams it sees. */
  function recording(name: string): Interceptor {
    return (options, next) => {
      seen.push(`${name} ${options.method_definition.path}`);
      return new InterceptingCall(next(options));
    };
  }

  it('of a channel apply to its ADS and LRS streams, and not to its calls', async () => {
    const backend = await mesh.backend('b2');
    const reporting = edsClusterJson('echo', { lrs_server: { self: {} } });
    mesh.serve({ ...simpleResources([backend.port]), clusters: [reporting] });
    const options = { interceptors: [recording('own')], 'grpc.primary_user_agent': 'child/1' };
    expect(await clientWith(options).say()).toBe('b2');
    await eventually(() => seen.length, 2);
    expect(seen).toEqual([`own ${ADS}`, `own ${LRS}`]);
    expect(backend.metadata.get('user-agent').join()).not.toContain('child/1');
  });

  it('of register() apply to every channel that is created afterwards', async () => {
    const early = clientWith(undefined);
    register({ childChannelOptions: { interceptors: [recording('registered')] } });
    expect(await early.say()).toBe('b1');
    expect(seen).toEqual([]);
    closeClients();
    await mesh.untilNoClients();
    expect(await clientWith(undefined).say()).toBe('b1');
    expect(seen[0]).toBe(`registered ${ADS}`);
  });

  it('are those of the first channel of a bootstrap, which the log says once', async () => {
    expect(await clientWith({ interceptors: [recording('first')] }).say()).toBe('b1');
    expect(await clientWith({ interceptors: [recording('second')] }).say()).toBe('b1');
    expect(await clientWith({ interceptors: [recording('third')] }).say()).toBe('b1');
    expect(await clientWith(undefined).say()).toBe('b1');
    expect(mesh.controlPlane.clients()).toHaveLength(1);
    expect(seen.filter((stream) => stream.endsWith(ADS))).toEqual([`first ${ADS}`]);
    expect(logged.filter((line) => line.includes('A110'))).toEqual([
      `${TARGET}: the child channel options of this channel have no effect, because its connections to management ` +
        'servers are those of an earlier channel with the same bootstrap and other child channel options (gRFC A110)',
    ]);
    // Connections that are made after the last channel has closed are those of another first channel.
    closeClients();
    await mesh.untilNoClients();
    expect(await clientWith({ interceptors: [recording('fourth')] }).say()).toBe('b1');
    expect(seen.filter((stream) => stream.endsWith(ADS))).toEqual([
      `first ${ADS}`,
      `fourth ${ADS}`,
    ]);
  });

  it('of channels with different bootstraps each have their connection, to the same server too', async () => {
    const other = { ...bootstrapFor(mesh.address, []), node: { id: `${NODE_ID}-2` } };
    expect(await clientWith({ interceptors: [recording('one')] }).say()).toBe('b1');
    const two = { interceptors: [recording('two')] };
    expect(await clientWith(two, { 'grpc_xds.bootstrap': other }).say()).toBe('b1');
    expect(seen.filter((stream) => stream.endsWith(ADS))).toEqual([`one ${ADS}`, `two ${ADS}`]);
    const peers = mesh.controlPlane.clients().map(({ peer }) => peer);
    expect(new Set(peers).size).toBe(2);
    expect(logged.filter((line) => line.includes('A110'))).toEqual([]);
  });

  it('that cannot be used fail the calls of their channel alone', async () => {
    const failure = await clientWith({ 'grpc.keepalive_time_ms': NaN }).failure();
    expect(failure.details).toContain(
      `channel option ${OPTION}: grpc.keepalive_time_ms must be a number`,
    );
    expect(mesh.controlPlane.clients()).toEqual([]);
    expect(await clientWith(undefined).say()).toBe('b1');
    const register_ = () => registerWith({ childChannelOptions: { channelOverride: {} } });
    expect(register_).toThrow(XdsError);
    expect(register_).toThrow(
      'grpc-xds: childChannelOptions of register(): channelOverride is an option of a client, not of a channel',
    );
  });

  it('that are always set are logged once as without effect', async () => {
    for (let count = 0; count < 2; count++) {
      expect(await clientWith({ 'grpc.enable_retries': 1 }).say()).toBe('b1');
    }
    expect(logged).toEqual([
      `channel option ${OPTION}: grpc.enable_retries has no effect on connections to management servers: it is always set`,
    ]);
  });

  it.each(['onReceiveMetadata', 'onReceiveMessage', 'onReceiveStatus', 'start', 'sendMessage'])(
    'contain an interceptor that throws in %s: the stream is opened again',
    async (place) => {
      let failures = 0;
      const failing: Interceptor = (options, next) => {
        const failOnce = (at: string) => {
          if (at === place && failures++ === 0) throw new Error(`no ${at}`);
        };
        const listener: Listener = {
          onReceiveMetadata: (metadata, forward) => {
            failOnce('onReceiveMetadata');
            forward(metadata);
          },
          onReceiveMessage: (message, forward) => {
            failOnce('onReceiveMessage');
            forward(message);
          },
          onReceiveStatus: (status, forward) => {
            failOnce('onReceiveStatus');
            forward(status);
          },
        };
        return new InterceptingCall(next(options), {
          start: (metadata, _listener, forward) => {
            failOnce('start');
            forward(metadata, listener);
          },
          sendMessage: (message, forward) => {
            failOnce('sendMessage');
            forward(message);
          },
        });
      };
      if (place === 'onReceiveStatus') {
        const down = { ...bootstrapFor('127.0.0.1:1', []), node: { id: `${NODE_ID}-down` } };
        const client = clientWith({ interceptors: [failing] }, { 'grpc_xds.bootstrap': down });
        await client.failure();
      } else {
        const client = clientWith({ interceptors: [failing] });
        const answer = () => client.say().catch(() => undefined);
        expect(await eventually(answer, (said) => said !== undefined)).toBe('b1');
      }
      expect(failures).toBeGreaterThan(0);
      const line = `an interceptor of childChannelOptions threw in ${place}: no ${place}`;
      expect(logged.join()).toContain(line);
    },
  );

  it.each(['test.turns', 'test.spy'])(
    'of each channel reach the policy %s, whose connections stay shared',
    async (name) => {
      registerPolicies();
      const backend = await mesh.backend('b3');
      const typed_config = {
        '@type': 'type.googleapis.com/xds.type.v3.TypedStruct',
        type_url: `type.example/${name}`,
        value: {},
      };
      const load_balancing_policy = {
        policies: [{ typed_extension_config: { name: 'custom', typed_config } }],
      };
      const cluster = edsClusterJson('echo', { load_balancing_policy });
      mesh.serve({ ...simpleResources([backend.port]), clusters: [cluster] });
      for (const options of [{ 'app.key': 'one' }, { 'app.key': 'two' }, undefined]) {
        received.length = 0;
        expect(await clientWith(options).say()).toBe('b3');
        const nested = options && { ...options, [OPTION]: options };
        expect(received.at(-1)).toEqual(nested ?? (name === 'test.spy' ? undefined : {}));
      }
      expect(backend.peers.size).toBe(1);
    },
  );

  it('let metrics of connections to management servers be recorded', async () => {
    const started = 'grpc.client.attempt.started';
    const enableMetrics = [started];
    const reader = new MetricsReader('MetricProducer', { disableAllMetrics: true, enableMetrics });
    try {
      const options = { channelFactoryOverride: createObservedChannel };
      expect(await clientWith(options).say()).toBe('b1');
      const target = `dns:///${mesh.address}`;
      const labels = (await reader.series(started)).map((one) => one.labels);
      expect(labels).toContainEqual({ 'grpc.method': ADS.slice(1), 'grpc.target': target });
    } finally {
      await reader.stop();
    }
  });
});
