/**
 * Works on several items at the same time, and tells of each when it and all before it are done.
 * @param count How many at the same time.
 * @param work Resolves with a result; must not reject.
 * @param tell Is given an item and its result.
 */
export const inOrder = async (items, count, work, tell) => {
  const results = new Map();
  let begun = 0;
  let told = 0;
  const workOff = async () => {
    while (begun < items.length) {
      const index = begun++;
      results.set(index, await work(items[index]));
      for (; results.has(told); told++) tell(items[told], results.get(told));
    }
  };
  await Promise.all(Array.from({ length: count }, workOff));
};
