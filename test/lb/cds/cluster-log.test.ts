import { ConnectivityState } from '../../../src/grpc-js';
import { ClusterLog, type ClusterState } from '../../../src/lb/cds/cluster-log';
import { queuePicker, WaitPicker } from '../../../src/lb/connectivity';
import { silentLogger } from '../../../src/util/logger';
import { FakeClock } from '../../support/fake-clock';

const { CONNECTING, IDLE, READY, TRANSIENT_FAILURE } = ConnectivityState;

class Scene {
  readonly clock = new FakeClock();
  readonly lines: string[] = [];
  readonly events: unknown[] = [];
  private current: ClusterState = { state: IDLE, picker: queuePicker, errorMessage: null };
  readonly log = new ClusterLog(
    {
      clock: this.clock,
      logger: {
        ...silentLogger,
        error: (text, fields) => this.add(text(), fields?.event),
        info: (text, fields) => this.add(text(), fields?.event),
      },
    },
    () => this.current,
  );

  private add(line: string, event: unknown): void {
    this.lines.push(line);
    this.events.push(event);
  }

  report(state: ConnectivityState, errorMessage: string | null = null, wait = 'connecting'): void {
    const picker = new WaitPicker(() => wait);
    this.current = { state, picker, errorMessage };
    this.log.onState('echo', this.current);
  }
}

describe('ClusterLog', () => {
  it('logs the failure of all endpoints once, and when one is connected again', () => {
    const scene = new Scene();
    scene.report(CONNECTING);
    scene.report(TRANSIENT_FAILURE, 'refused');
    scene.clock.advance(1500);
    scene.report(TRANSIENT_FAILURE, 'refused and expired');
    scene.report(CONNECTING);
    scene.clock.advance(8500);
    scene.report(READY);
    scene.report(READY);
    expect(scene.lines).toEqual([
      'Cluster "echo": refused',
      'Cluster "echo": connected 10.0 s after the failure was reported',
    ]);
    expect(scene.events).toEqual(['cluster-failed', 'cluster-recovered']);
    scene.report(TRANSIENT_FAILURE, 'refused');
    expect(scene.lines).toHaveLength(3);
  });

  it('logs a cluster that the configuration takes away, once it has settled, and not one that is replaced', () => {
    const scene = new Scene();
    scene.report(READY);
    scene.log.onUnusable('echo', 'Cluster "echo": removed');
    scene.clock.advance(999);
    scene.report(CONNECTING);
    scene.clock.advance(4000);
    expect(scene.lines).toEqual([]);
    scene.report(READY);
    scene.log.onUnusable('echo', 'Cluster "echo": removed');
    scene.log.release();
    scene.clock.advance(10_000);
    expect(scene.lines).toEqual([]);
    scene.log.onUnusable('echo', 'Cluster "echo": removed');
    scene.log.onUnusable('echo', 'Cluster "echo": rejected');
    scene.clock.advance(10_000);
    expect(scene.lines).toEqual(['Cluster "echo": rejected']);
  });

  it('logs a cluster that could never be used once its route has had time to settle', () => {
    const scene = new Scene();
    scene.log.onUnusable('echo', 'Cluster "echo": no such resource');
    expect(scene.lines).toEqual([]);
    scene.clock.advance(1000);
    expect(scene.lines).toEqual(['Cluster "echo": no such resource']);
  });

  it('logs an endpoint that has been connecting for five seconds, by then', () => {
    const scene = new Scene();
    scene.report(CONNECTING, null, 'at first');
    scene.clock.advance(4999);
    expect(scene.lines).toEqual([]);
    scene.report(CONNECTING, null, '10.0.0.1:80 has been connecting for 5.0 s');
    scene.clock.advance(1);
    expect(scene.lines).toEqual(['Cluster "echo": 10.0.0.1:80 has been connecting for 5.0 s']);
    scene.clock.advance(60_000);
    scene.report(TRANSIENT_FAILURE, 'no answer');
    scene.report(READY);
    expect(scene.events).toEqual(['cluster-connecting', 'cluster-failed', 'cluster-recovered']);
  });

  it.each([
    ['it is connected in time', READY],
    ['no call needs it any more', IDLE],
  ])('logs nothing if %s', (_name, state) => {
    const scene = new Scene();
    scene.report(CONNECTING);
    scene.clock.advance(4000);
    scene.report(state);
    scene.clock.advance(60_000);
    expect(scene.lines).toEqual([]);
    expect(scene.clock.pendingTimers).toBe(0);
  });

  it('logs nothing after its release', () => {
    const scene = new Scene();
    scene.report(CONNECTING);
    scene.log.release();
    expect(scene.clock.pendingTimers).toBe(0);
  });
});
