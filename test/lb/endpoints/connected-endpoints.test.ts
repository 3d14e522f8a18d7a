import { type ReadyItem, ReadyList } from '../../../src/lb/endpoints/connected-endpoints';

interface Named extends ReadyItem {
  readonly name: string;
}

function createItems(): [Named, Named, Named] {
  const create = (name: string) => ({ name, readyIndex: -1 });
  return [create('a'), create('b'), create('c')];
}

function names(list: ReadyList<Named>): unknown[] {
  return Array.from({ length: list.size }, (_, i) => list.at(i)?.name);
}

describe('ReadyList', () => {
  it('holds each item once', () => {
    const [a, b] = createItems();
    const list = new ReadyList<Named>();
    expect([a, b, a].map((item) => list.add(item))).toEqual([true, true, false]);
    expect(names(list)).toEqual(['a', 'b']);
    expect(list.at(2)).toBeUndefined();
  });

  it.each([
    ['the first', 0, ['c', 'b']],
    ['one in the middle', 1, ['a', 'c']],
    ['the last', 2, ['a', 'b']],
  ])('removes %s', (_case, index, left) => {
    const items = createItems();
    const list = new ReadyList<Named>();
    for (const each of items) list.add(each);
    const item = items[index] as Named;
    expect(list.remove(item)).toBe(index);
    expect(list.remove(item)).toBe(-1);
    expect(names(list)).toEqual(left);
    list.add(item);
    expect(names(list)).toEqual([...left, item.name]);
    for (const each of items) list.remove(each);
    expect(list.size).toBe(0);
  });
});
