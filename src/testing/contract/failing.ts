import { strict as assert } from 'node:assert';
import { ConnectivityState } from '../../grpc-js';
import { A, B, type Behaviours } from './subject';

const { CONNECTING, IDLE, READY, TRANSIENT_FAILURE } = ConnectivityState;

/** The behaviour without endpoints, or without reachable ones. */
export const failingBehaviours: Behaviours = {
  'fails calls with the error if it never had endpoints'(subject) {
    subject.send(subject.makeErrorUpdate('no such name', 'DNS says no'));
    subject.expectFailure('no such name');
  },
  async 'recovers from an error with the first endpoints'(subject) {
    subject.send(subject.makeErrorUpdate('no such name'));
    await subject.serve([A]);
    subject.expectAddress(A);
  },
  async 'keeps its endpoints when an error follows'(subject) {
    await subject.serve([A]);
    subject.send(subject.makeErrorUpdate('no such name'));
    await subject.harness.settle();
    subject.expectAddress(A);
    assert.equal(subject.harness.subchannel(A).closed, false, 'the connection was closed');
  },
  'fails calls with the resolution note when there are no endpoints'(subject) {
    subject.send(subject.makeUpdate([], 'all were unhealthy'));
    subject.expectFailure('all were unhealthy');
  },
  async 'releases its endpoints when the list becomes empty'(subject) {
    await subject.serve([A, B]);
    subject.send(subject.makeUpdate([], 'all were unhealthy'));
    subject.expectState(TRANSIENT_FAILURE);
    assert.equal(subject.harness.host.held.length, 0, 'connections held');
  },
  async 'fails calls with the connection error and the resolution note'(subject) {
    subject.send(subject.makeUpdate([A], 'DNS is stale'));
    await subject.failAll('connection refused');
    subject.expectFailure('connection refused', 'DNS is stale');
    assert.match(subject.harness.last.errorMessage ?? '', /connection refused/);
  },
  async 'stays in TRANSIENT_FAILURE until a connection is up'(subject) {
    subject.send(subject.makeUpdate([A, B]));
    await subject.failAll('connection refused');
    subject.expectState(TRANSIENT_FAILURE);
    subject.run(() => subject.forEachUnconnected((s) => s.setState(IDLE)));
    subject.run(() => subject.forEachUnconnected((s) => s.setState(CONNECTING)));
    subject.expectState(TRANSIENT_FAILURE);
    const last = subject.harness.host.held.at(-1);
    if (last === undefined) assert.fail('no connection is attempted');
    subject.run(() => last.setState(READY));
    subject.expectAddress(last.getAddress());
  },
  async 'requests re-resolution when every connection fails'(subject) {
    subject.send(subject.makeUpdate([A]));
    await subject.failAll('connection refused');
    assert.ok(subject.harness.host.reresolutionRequests > 0, 're-resolution was not requested');
  },
  async 'fails calls on a config of another class instead of throwing'(subject) {
    const foreign = { policyName: subject.contract.type.name };
    subject.send({ ...subject.makeUpdate([A]), config: foreign });
    subject.expectFailure();
    await subject.serve([A]);
    subject.expectNoErrors();
  },
};
