import type { ChildState } from '../../../lb/tree/policy-state';
import { assertNever } from '../../../util/assert-never';
import { describeDuration } from '../../../util/duration';
import { ok } from '../../../util/result';
import type { BootstrapOrigin } from '../bootstrap-origin';
import { watchChannel, type WatchedChannel } from '../watch-channel';
import type { DoctorContext } from './doctor-context';
import { runStep } from './probe-net';

const INTERVAL_MS = 50;

/**
 * Opens a channel for the target, with the TLS that the control plane configures, and reports the state of each cluster:
 * what remains between a reachable endpoint and a working call.
 */
export async function checkChannel(
  target: string,
  origin: BootstrapOrigin,
  context: DoctorContext,
): Promise<void> {
  const { findings, clock, stepMs } = context;
  const opened = watchChannel(target, origin);
  if (!opened.ok) {
    findings.fail('channel', 'channel', opened.error, 'correct the target and the bootstrap');
    return;
  }
  const channel = opened.value;
  try {
    await runStep<undefined>(clock, stepMs, (done) => {
      const poll = { timer: clock.setTimer(() => look(), 0, true) };
      const look = () => {
        if (clustersOf(channel).every(({ state }) => state !== 'CONNECTING')) done(ok(undefined));
        else poll.timer = clock.setTimer(look, INTERVAL_MS, true);
      };
      return () => poll.timer.release();
    });
    for (const cluster of clustersOf(channel)) report(cluster, context);
  } finally {
    channel.release();
  }
}

/** A cluster of a channel that has no config yet: it is as if connecting. */
const PENDING: readonly ChildState[] = [{ name: 'the target', policy: '', state: 'CONNECTING' }];

function clustersOf(channel: WatchedChannel): readonly ChildState[] {
  const children = channel.report()?.policies?.children ?? [];
  return children.length === 0 ? PENDING : children;
}

function report({ details, name, state, error }: ChildState, context: DoctorContext): void {
  const { findings, stepMs } = context;
  const cluster = details?.['cluster'];
  const subject = cluster === undefined ? (name ?? '') : `Cluster ${JSON.stringify(cluster)}`;
  const remedy = 'check the certificates of both sides, and the log of the backends';
  switch (state) {
    case 'READY':
      findings.ok('channel', subject, 'a channel is connected');
      return;
    case 'IDLE':
      findings.ok('channel', subject, 'connects with the first call');
      return;
    case 'CONNECTING':
      findings.fail('channel', subject, `not connected within ${describeDuration(stepMs)}`, remedy);
      return;
    case 'TRANSIENT_FAILURE':
    case 'SHUTDOWN':
      findings.fail('channel', subject, error ?? 'no connection', remedy);
      return;
    default:
      assertNever(state);
  }
}
