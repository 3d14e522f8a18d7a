import { status } from '@grpc/grpc-js';
import { ServerEvents } from '../../../src/server/observation/server-events';
import type { Refusal } from '../../../src/authorization/refusal';
import type { ReadRequest } from '../../../src/server/observation/recent-calls';
import { silentLogger } from '../../../src/util/logger';
import { FakeClock } from '../../support/fake-clock';

/** What receives refusals, and the lines of the log. */
function createLog(subject: string) {
  const lines: string[] = [];
  const clock = new FakeClock();
  const logger = { ...silentLogger, error: (text: () => string) => lines.push(text()) };
  const options = { address: '0.0.0.0:1', nodeId: 'n', stats: undefined };
  const events = new ServerEvents({ ...options, subject, clock, logger });
  const report = (refusal: Refusal, request: ReadRequest) => events.onJudged('', request, refusal);
  return { lines, clock, report };
}

it('logs a policy that denies calls once a minute, with the calls and the number of others', () => {
  const { lines, clock, report } = createLog('server 0.0.0.0:1: ');
  const denied = { code: status.PERMISSION_DENIED, details: 'no' };
  const refusal = { ...denied, reason: 'denied by "p"', policy: 'p' };
  const peer = { uriSans: ['spiffe://td/a'], dnsSans: [], subject: '' };
  const remote = { address: '10.0.0.1', port: 2 };
  report(refusal, { path: '/a.B/C', remote, tls: { peer } });
  report(refusal, { path: '/a.B/D', remote });
  report({ ...refusal, policy: 'q' }, { path: '/a.B/D' });
  clock.advance(60_000);
  report(refusal, { path: '/a.B/E' });
  expect(lines).toEqual([
    'server 0.0.0.0:1: call "/a.B/C" from 10.0.0.1 (spiffe://td/a) refused: denied by "p"',
    'server 0.0.0.0:1: call "/a.B/D" refused: denied by "p"',
    'server 0.0.0.0:1: call "/a.B/E" refused: denied by "p"; so were 1 others since this was last logged',
  ]);
});

it('has room for the policies of every update: those that deny nothing any more are forgotten', () => {
  const { lines, clock, report } = createLog('');
  const deny = (policy: string) =>
    report(
      { code: status.PERMISSION_DENIED, details: '', reason: policy, policy },
      { path: '/a.B/C' },
    );
  for (let i = 0; i < 200; i++) deny(`p${i}`);
  deny('one too many');
  expect(lines).toHaveLength(200);
  clock.advance(59_000);
  deny('still one too many');
  expect(lines).toHaveLength(200);
  clock.advance(1000);
  deny('p0');
  for (let i = 0; i < 150; i++) deny(`q${i}`);
  deny('p0');
  expect(lines).toHaveLength(351);
  expect(lines.at(-1)).toContain('refused: q149');
});
