import { chaosCases } from './cases';
import type { ChaosReport } from './run-case';
import { isLoop, rejectsWrongly, runChaos } from './run-chaos';

/** How soon each client recovers depends on the machine here; `npm run trial -- chaos` measures it. */
describe.each(['state of the world', 'incremental'] as const)(
  'faults of a server (%s)',
  (variant) => {
    const cases = chaosCases.filter(({ shortSeconds }) => shortSeconds !== undefined);
    let reports: ReadonlyMap<string, ChaosReport>;

    beforeAll(async () => {
      const list = await runChaos({ variant, cases, isShort: true });
      reports = new Map(list.map((report) => [report.name, report]));
    }, 600_000);

    describe.each(cases.map(({ name }) => name))('%s', (name) => {
      it('fails no call, and the client hears what the server says afterwards', () => {
        expect(reports.get(name)?.failures).toEqual([]);
        expect(reports.get(name)?.calls).toBeGreaterThan(0);
      });

      it('makes the client reject what cannot be used, and nothing else', () => {
        const report = reports.get(name);
        expect(report && rejectsWrongly(report)).toBe(false);
      });

      it('does not make the client ask without an end', () => {
        const report = reports.get(name);
        expect(report && isLoop(report) ? report : 'no loop').toBe('no loop');
      });
    });
  },
);
