import { status } from '@grpc/grpc-js';
import { RefusalLog } from '../../../src/server/connections/refusal-log';
import { silentLogger } from '../../../src/util/logger';
import { FakeClock } from '../../support/fake-clock';

it('logs a policy that denies calls once a minute, with the calls and the number of others', () => {
  const lines: string[] = [];
  const clock = new FakeClock();
  const logger = { ...silentLogger, error: (text: () => string) => lines.push(text()) };
  const log = new RefusalLog({ subject: 'server 0.0.0.0:1: ', clock, logger });
  const denied = { code: status.PERMISSION_DENIED, details: 'no' };
  const refusal = { ...denied, reason: 'denied by "p"', policy: 'p' };
  const peer = { uriSans: ['spiffe://td/a'], dnsSans: [], subject: '' };
  const remote = { address: '10.0.0.1', port: 2 };
  log.report(refusal, { path: '/a.B/C', remote, tls: { peer } });
  log.report(refusal, { path: '/a.B/D', remote });
  log.report({ ...refusal, policy: 'q' }, { path: '/a.B/D' });
  clock.advance(60_000);
  log.report(refusal, { path: '/a.B/E' });
  expect(lines).toEqual([
    'server 0.0.0.0:1: call "/a.B/C" from 10.0.0.1 (spiffe://td/a) refused: denied by "p"',
    'server 0.0.0.0:1: call "/a.B/D" refused: denied by "p"',
    'server 0.0.0.0:1: call "/a.B/E" refused: denied by "p"; so were 1 others since this was last logged',
  ]);
});
