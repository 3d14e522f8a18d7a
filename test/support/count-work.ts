/** Returns how many elements were visited by a method of an array that stops where it finds something. */
type Visited = (list: readonly unknown[], result: unknown) => number;

const all: Visited = (list) => list.length;
const upToIndex: Visited = (list, index) => (index === -1 ? list.length : Number(index) + 1);

const ARRAY_METHODS: Readonly<Record<string, Visited>> = {
  map: all,
  filter: all,
  flatMap: all,
  every: all,
  includes: all,
  indexOf: upToIndex,
  findIndex: upToIndex,
  find: (list, found) => (found === undefined ? list.length : list.indexOf(found) + 1),
  slice: (_list, part) => (Array.isArray(part) ? part.length : 0),
};

/**
 * Counts the look-ups in maps and sets while a function runs, and the elements that methods of arrays visit: a measure of work
 * that is the same on every machine. Loops count by what they look up.
 */
export function countWork(run: () => void): number {
  let count = 0;
  const restore: (() => void)[] = [];
  const wrap = (owner: object, name: string, cost: Visited) => {
    const original: unknown = Reflect.get(owner, name);
    if (typeof original !== 'function') throw new Error(`there is no method ${name}`);
    Reflect.set(owner, name, function (this: unknown, ...args: unknown[]): unknown {
      const result: unknown = Reflect.apply(original, this, args);
      count += Array.isArray(this) ? cost(this, result) : 1;
      return result;
    });
    restore.push(() => Reflect.set(owner, name, original));
  };
  for (const name of ['get', 'has', 'set', 'delete']) wrap(Map.prototype, name, all);
  for (const name of ['has', 'add', 'delete']) wrap(Set.prototype, name, all);
  for (const [name, cost] of Object.entries(ARRAY_METHODS)) wrap(Array.prototype, name, cost);
  try {
    run();
  } finally {
    for (const each of restore) each();
  }
  return count;
}

/** How many times as much work is done for twice the size: about 2 where it is linear, 4 where it is quadratic. */
export function workRatio(size: number, prepare: (size: number) => () => void): number {
  const [once, twice] = [prepare(size), prepare(2 * size)];
  return countWork(twice) / countWork(once);
}
