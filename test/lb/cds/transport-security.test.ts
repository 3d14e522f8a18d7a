import { ConnectivityState, credentials, type ChannelCredentials } from '../../../src/grpc-js';
import { createCdsPolicyType } from '../../../src/lb/cds/balancer';
import { CdsConfig } from '../../../src/lb/cds/config';
import { UnusedTlsReports } from '../../../src/lb/cds/transport-security';
import { createClusterImplPolicyType } from '../../../src/lb/cluster-impl/balancer';
import { CallCounterMap } from '../../../src/lb/cluster-impl/circuit-breaker';
import { emptyEndpointSet } from '../../../src/lb/endpoints/endpoint-set';
import type { LbPolicy, LbPolicyType } from '../../../src/lb/lb-policy';
import { roundRobinPolicy } from '../../../src/lb/round-robin/balancer';
import { RoundRobinConfig } from '../../../src/lb/round-robin/config';
import type { ClusterResource } from '../../../src/resources/cluster/cluster';
import type { UpstreamTls } from '../../../src/resources/tls/tls';
import { silentLogger } from '../../../src/util/logger';
import { ok } from '../../../src/util/result';
import { withoutSince } from '../../../src/util/since';
import { DiagnosticRecorder } from '../../support/diagnostic-recorder';
import { FakeClock } from '../../support/fake-clock';
import { LbHarness, makeLocality, pick, pickError } from '../../support/lb-harness';
import { lbContext, leafOf } from '../../support/lb-xds-config';
import { edsCluster } from '../../support/xds-builders';
import { priorityPolicy } from '../../support/lb-policies';

const A = '10.0.0.1:80';

const tls: UpstreamTls = {
  sni: '',
  autoHostSni: false,
  autoSniSanValidation: false,
  rootCertificates: { kind: 'system' },
  identity: undefined,
  sanMatchers: [],
};
const plain: ClusterResource = { ...edsCluster('c', ''), lbConfig: new RoundRobinConfig() };
const secured: ClusterResource = { ...plain, tls };

const INSECURE = "the cluster configures TLS, the channel's credentials are insecure";
const OTHER = "the cluster configures TLS, the channel's credentials are not xDS credentials";
const line = (problem: string, cluster = 'c') =>
  `xds: Cluster "${cluster}" (node "n1"): ${problem}: the credentials decide how connections are secured, the transport_socket of the cluster has no effect`;

const createType = () => createCdsPolicyType();

/** The policies of one cluster under a channel with the given credentials. */
class Subject {
  readonly harness = new LbHarness([
    createClusterImplPolicyType({ counters: new CallCounterMap(new FakeClock()) }),
    priorityPolicy,
    roundRobinPolicy,
  ]);
  readonly policy: LbPolicy;

  constructor(channelCredentials: ChannelCredentials, type: LbPolicyType = createType()) {
    const { host } = this.harness;
    const create = host.createSubchannel.bind(host);
    // As in the wrapper of grpc-js.
    host.createSubchannel = (address, options) =>
      Object.assign(create(address, options), { channel: { credentials: channelCredentials } });
    this.policy = this.harness.create(type);
  }

  async update(cluster: ClusterResource, resolutionNote = '', addresses = [A]): Promise<void> {
    const priorities = [{ localities: [makeLocality('a', addresses)] }];
    this.harness.update(this.policy, {
      config: new CdsConfig(cluster.name, false),
      endpoints: ok(emptyEndpointSet),
      xds: lbContext({ [cluster.name]: leafOf(cluster, { priorities, resolutionNote }) }),
    });
    await this.harness.settle();
  }

  /** Why calls fail after the connection to an address could not be made. */
  async failure(address = A): Promise<string> {
    this.harness.subchannel(address).fail('refused');
    await this.harness.settle();
    expect(this.harness.last.state).toBe(ConnectivityState.TRANSIENT_FAILURE);
    return withoutSince(pickError(this.harness.last.picker));
  }
}

describe('a cluster with a transport_socket', () => {
  const insecure = credentials.createInsecure();
  const secure = credentials.createSsl();
  let lines: string[];

  beforeEach(() => {
    lines = [];
    jest.spyOn(silentLogger, 'error').mockImplementation((text, fields) => {
      // Failed connections are logged besides.
      if (fields?.event !== 'cluster-failed') lines.push(text());
    });
  });

  afterEach(() => jest.restoreAllMocks());

  it.each([
    ['insecure credentials', insecure, INSECURE],
    ['TLS credentials of the application', secure, OTHER],
  ])('is reported under %s, and named in failed calls', async (_name, creds, problem) => {
    const recorder = new DiagnosticRecorder('grpc-xds:tls-not-used');
    const subject = new Subject(creds);
    await subject.update(secured);
    expect(lines).toEqual([line(problem)]);
    expect(recorder.take()).toEqual([['grpc-xds:tls-not-used', { nodeId: 'n1', cluster: 'c' }]]);
    expect(await subject.failure()).toBe(
      'Cluster "c": No connection established. Last error: refused ' +
        `(10.0.0.1:80 in {region="a", zone="", sub_zone=""}). Resolution note: ${problem}`,
    );
  });

  it('is reported when the transport_socket comes with an update', async () => {
    const subject = new Subject(insecure);
    await subject.update(plain);
    expect(await subject.failure()).not.toContain('TLS');
    expect(lines).toEqual([]);
    await subject.update(secured);
    expect(lines).toEqual([line(INSECURE)]);
    expect(pickError(subject.harness.last.picker)).toContain(`Resolution note: ${INSECURE}`);
  });

  it('is not mentioned in calls while there is a connection', async () => {
    const subject = new Subject(insecure);
    await subject.update(secured);
    subject.harness.subchannel(A).connect();
    expect(pick(subject.harness.last.picker).status).toBeNull();
    expect(subject.harness.last.errorMessage).toBeNull();
  });

  it('is not reported before it is used', async () => {
    const subject = new Subject(insecure);
    await subject.update(secured, '', []);
    expect(lines).toEqual([]);
  });

  it('is not reported after the policy was destroyed', async () => {
    const subject = new Subject(insecure);
    const priorities = [{ localities: [makeLocality('a', [A])] }];
    subject.harness.update(subject.policy, {
      config: new CdsConfig('c', false),
      endpoints: ok(emptyEndpointSet),
      xds: lbContext({ c: leafOf(secured, { priorities }) }),
    });
    subject.policy.destroy();
    await subject.harness.settle();
    expect(lines).toEqual([]);
    expect(subject.harness.errors).toEqual([]);
  });
});

describe('a cluster without a transport_socket', () => {
  it('is not reported under insecure credentials', async () => {
    const error = jest.spyOn(silentLogger, 'error');
    const subject = new Subject(credentials.createInsecure());
    await subject.update(plain, 'stale');
    expect(await subject.failure()).toMatch(/Resolution note: stale$/);
    expect(error.mock.calls.map(([, fields]) => fields?.event)).toEqual(['cluster-failed']);
    error.mockRestore();
  });
});

describe('UnusedTlsReports', () => {
  it('removes the oldest of more than 1000 clusters', () => {
    const reports = new UnusedTlsReports();
    let count = 0;
    const logger = {
      ...silentLogger,
      error: () => {
        count++;
      },
    };
    const report = (name: string) =>
      reports.report({ name, resource: secured, nodeId: 'n1' }, INSECURE, logger);
    for (let i = 0; i < 1000; i++) report(`c${i}`);
    report('c0');
    expect(count).toBe(1000);
    report('c1000');
    report('c0');
    report('c999');
    expect(count).toBe(1002);
  });
});
