import { Harness } from './harness';

describe('a resource of which a part is skipped', () => {
  // 1. A part is skipped. 2. The same part of another value. 3. The same value. 4. Another part. 5. None.
  it('is accepted, and logged with its version: as an error only when what is skipped changes', () => {
    const h = new Harness();
    const watcher = h.watch(h.endpoints, 'e');
    h.send(h.endpoints, '1', { e: '~a pipe,one' });
    expect(watcher.told).toEqual(['value ~a pipe,one']);
    expect(h.logger.errors).toEqual(['Endpoints "e": version "1": a pipe']);

    h.send(h.endpoints, '2', { e: '~a pipe,two' });
    expect(h.logger.errors).toHaveLength(1);
    expect(h.logger.infos).toContain('Endpoints "e": version "2": a pipe');

    const before = h.logger.infos.length;
    h.send(h.endpoints, '3', { e: '~a pipe,two' });
    expect(h.logger.infos).toHaveLength(before);

    h.send(h.endpoints, '4', { e: '~two pipes,two' });
    h.send(h.endpoints, '5', { e: 'all' });
    expect(h.logger.errors.slice(1)).toEqual(['Endpoints "e": version "4": two pipes']);
    expect(h.stream.request).toMatchObject({ versionInfo: '5', errorDetail: undefined });
  });
});

describe('the fields of a resource without effect', () => {
  const INFO = 'without effect on gRPC clients';

  it('are logged for each version of a resource that has some, where INFO is shown', () => {
    const h = new Harness();
    h.logger.showsInfo = true;
    h.watch(h.endpoints, 'e');
    h.send(h.endpoints, '1', { e: 'one unused:cors,timeout' });
    h.send(h.endpoints, '2', { e: 'one unused:cors,timeout' });
    h.send(h.endpoints, '3', { e: 'two unused:cors' });
    h.send(h.endpoints, '4', { e: 'three' });
    expect(h.logger.infos.filter((line) => line.includes(INFO))).toEqual([
      `Endpoints "e": version "1": ${INFO}: cors, timeout`,
      `Endpoints "e": version "3": ${INFO}: cors`,
    ]);
  });

  it('are not looked for where INFO is not shown', () => {
    const h = new Harness();
    const describe = jest.spyOn(h.endpoints, 'describeUnusedFields');
    h.watch(h.endpoints, 'e');
    h.send(h.endpoints, '1', { e: 'one unused:cors' });
    expect(describe).not.toHaveBeenCalled();
  });
});
