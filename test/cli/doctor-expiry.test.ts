import { checkExpiry } from '../../packages/cli/src/client/doctor/credential-checks';
import { Findings } from '../../packages/cli/src/client/doctor/finding';

const HOUR_MS = 60 * 60 * 1000;
const NOW_MS = Date.UTC(2026, 0, 1, 12);

describe('the expiry of a certificate', () => {
  it.each<[lifetime: number, left: number, level: string | undefined, text: string]>([
    [24, 20, undefined, '20 h left'],
    [24, 7, undefined, '7 h left'],
    [24, 2, 'warn', '2 h left'],
    [24, 0, 'fail', '0 h left'],
    [90 * 24, 30 * 24, undefined, '30 d left'],
    [90 * 24, 13 * 24, 'warn', '13 d left'],
    [365 * 24, 15 * 24, undefined, '15 d left'],
    [365 * 24, 13 * 24, 'warn', '13 d left'],
  ])('of %d h with %d h left is reported as %s', (lifetime, left, level, text) => {
    const findings = new Findings(() => undefined);
    const expiresAtMs = NOW_MS + left * HOUR_MS;
    const startsAtMs = expiresAtMs - lifetime * HOUR_MS;
    const times = { what: 'cert.pem', startsAtMs, expiresAtMs, nowMs: NOW_MS };
    expect(checkExpiry('provider default', times, findings)).toBe(text);
    expect(findings.all.map((finding) => finding.level)).toEqual(level ? [level] : []);
  });
});
