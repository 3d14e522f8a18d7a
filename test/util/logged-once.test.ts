import { LoggedOnce } from '../../src/util/logged-once';

it('remembers what was logged, and of more than 1,000 keys forgets the first one', () => {
  const logged = new LoggedOnce();
  const isFirst = (i: number) => logged.isFirst(`key ${i}`);
  for (let i = 0; i < 1000; i++) expect(isFirst(i)).toBe(true);
  expect([isFirst(0), isFirst(999)]).toEqual([false, false]);
  expect(isFirst(1000)).toBe(true);
  expect([isFirst(1), isFirst(0)]).toEqual([false, true]);
  expect([logged.clear(), logged.clear()]).toEqual([true, false]);
  expect(isFirst(999)).toBe(true);
});
