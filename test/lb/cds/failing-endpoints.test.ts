import { ConnectivityState } from '../../../src/grpc-js';
import { FailingEndpoints } from '../../../src/lb/cds/cluster-log';
import type { FailedEndpoint } from '../../../src/lb/lb-policy';
import { LbBatch } from '../../../src/lb/tree/lb-batch';
import { noMetadata, type XdsEndpoint } from '../../../src/resources/endpoints/endpoints';
import { silentLogger, type LogFields } from '../../../src/util/logger';
import { FakeClock } from '../../support/fake-clock';

const { CONNECTING, READY } = ConnectivityState;
const REFUSED = 'No connection established. Last error: Error: connect ECONNREFUSED';

function endpoint(port: number): XdsEndpoint {
  const addresses = [{ host: '10.0.0.1', port }];
  return {
    addresses,
    weight: 1,
    health: 'UNKNOWN',
    hostname: '',
    hashKey: undefined,
    metadata: noMetadata,
  };
}

class Scene {
  readonly clock = new FakeClock();
  readonly lines: string[] = [];
  readonly fields: (LogFields | undefined)[] = [];
  state = READY;
  readonly failed: readonly FailedEndpoint[];
  readonly endpoints: FailingEndpoints;

  constructor(count: number) {
    this.failed = Array.from({ length: count }, (_, i) => ({
      endpoint: endpoint(i + 1),
      errorMessage: `${REFUSED} 10.0.0.1:${i + 1}`,
    }));
    const localities = [
      {
        locality: { region: 'r', zone: 'z', subZone: '' },
        weight: 1,
        endpoints: this.failed.map((failed) => failed.endpoint),
      },
    ];
    const write = (text: () => string, fields?: LogFields) => {
      this.lines.push(text());
      this.fields.push(fields);
    };
    const logger = { ...silentLogger, error: write, info: write };
    const batch = new LbBatch((error) => {
      throw error;
    });
    this.endpoints = new FailingEndpoints({ clock: this.clock, logger, batch }, () => ({
      name: 'echo',
      state: this.state,
      localities,
      count: () => ({ ready: 0, failing: 0, waiting: 0, idle: 0, total: count }),
    }));
  }

  fail(from: number, to: number): void {
    for (const failed of this.failed.slice(from, to)) this.endpoints.onFailed(failed);
  }

  remove(from: number, to: number): void {
    for (const failed of this.failed.slice(from, to)) this.endpoints.onRemoved(failed);
  }

  recover(from: number, to: number): void {
    for (const failed of this.failed.slice(from, to)) this.endpoints.onRecovered(failed);
  }
}

const WHERE = 'first in {region="r", zone="z", sub_zone=""}';
const ADVICE = 'check that a server listens there';

describe('FailingEndpoints', () => {
  it('logs those that fail for one cause in one line, and that none does any more', () => {
    const scene = new Scene(10);
    scene.fail(0, 5);
    scene.clock.advance(1000);
    expect(scene.lines).toEqual([
      'Cluster "echo": 5 of 10 endpoints failing for 1.0 s: connect ECONNREFUSED ' +
        `(10.0.0.1:1, 10.0.0.1:2, 10.0.0.1:3, 10.0.0.1:4, 10.0.0.1:5; ${WHERE}): ${ADVICE}`,
    ]);
    expect(scene.fields).toMatchObject([
      {
        event: 'endpoints-failed',
        cluster: 'echo',
        endpoint: '10.0.0.1:1',
        error: 'connect ECONNREFUSED',
        locality: '{region="r", zone="z", sub_zone=""}',
      },
    ]);
    scene.clock.advance(3000);
    scene.recover(0, 5);
    scene.clock.advance(60_000);
    expect(scene.lines.slice(1)).toEqual([
      'Cluster "echo": no endpoint is failing any more, after 4.0 s',
    ]);
    expect(scene.clock.pendingTimers).toBe(0);
  });

  it.each([
    [
      3,
      'the endpoints that failed are no longer used, or connect anew, after 4.0 s',
      'endpoints-removed',
    ],
    [2, 'no endpoint is failing any more, after 4.0 s', 'endpoints-recovered'],
  ])('does not call %d of 3 that are removed recovered', (removed, text, event) => {
    const scene = new Scene(3);
    scene.fail(0, 3);
    scene.clock.advance(4000);
    scene.remove(0, removed);
    scene.recover(removed, 3);
    scene.clock.advance(10_000);
    expect(scene.lines.slice(1)).toEqual([`Cluster "echo": ${text}`]);
    expect(scene.fields.at(-1)?.event).toBe(event);
    // What fails next has its own end.
    scene.fail(0, 1);
    scene.clock.advance(10_000);
    scene.remove(0, 1);
    scene.clock.advance(10_000);
    expect(scene.fields.at(-1)?.event).toBe('endpoints-removed');
  });

  it('logs each cause, and one again when its endpoints have doubled in number', () => {
    const scene = new Scene(10);
    scene.fail(0, 2);
    const [, , third] = scene.failed;
    if (third === undefined) throw new Error('not enough endpoints');
    scene.endpoints.onFailed({ ...third, errorMessage: 'ejected' });
    scene.clock.advance(1000);
    expect(scene.lines.map((line) => line.slice(0, 60))).toEqual([
      'Cluster "echo": 2 of 10 endpoints failing for 1.0 s: connect',
      'Cluster "echo": 1 of 10 endpoints failing for 1.0 s: ejected',
    ]);
    scene.fail(3, 4);
    scene.clock.advance(60_000);
    expect(scene.lines).toHaveLength(2);
    scene.fail(4, 5);
    scene.clock.advance(60_000);
    expect(scene.lines.slice(2)).toEqual([
      expect.stringContaining('4 of 10 endpoints failing for 62.0 s: connect ECONNREFUSED'),
    ]);
  });

  it('logs an endpoint that fails and recovers all the time at most once in ten seconds', () => {
    const scene = new Scene(2);
    for (let i = 0; i < 100; i++) {
      scene.fail(0, 1);
      scene.clock.advance(1000);
      scene.recover(0, 1);
      scene.clock.advance(1000);
    }
    expect(scene.lines.length).toBeGreaterThan(2);
    expect(scene.lines.length).toBeLessThanOrEqual(21);
    scene.fail(0, 1);
    scene.clock.advance(60_000);
    expect(scene.lines.at(-1)).toContain('1 of 2 endpoints failing');
    expect(scene.clock.pendingTimers).toBe(0);
  });

  it('logs nothing of endpoints that recover at once, or while the cluster is not connected', () => {
    const scene = new Scene(2);
    scene.fail(0, 1);
    scene.recover(0, 1);
    scene.clock.advance(60_000);
    scene.state = CONNECTING;
    scene.fail(0, 2);
    scene.clock.advance(60_000);
    expect(scene.lines).toEqual([]);
    scene.recover(0, 1);
    scene.state = READY;
    scene.endpoints.onReady();
    scene.clock.advance(1000);
    expect(scene.lines).toEqual([expect.stringContaining('1 of 2 endpoints failing for 61.0 s')]);
  });

  it('logs nothing after its release', () => {
    const scene = new Scene(1);
    scene.fail(0, 1);
    scene.endpoints.release();
    scene.recover(0, 1);
    scene.fail(0, 1);
    expect(scene.clock.pendingTimers).toBe(0);
  });
});
