import { FairQueue } from '../../../src/lb/connections/connection-attempts';

const a = { name: 'a' };
const b = { name: 'b' };
const item = (host: object, text: string) => ({ host, text });

function drain(queue: FairQueue<ReturnType<typeof item>>): string[] {
  const texts: string[] = [];
  for (let next = queue.take(); next !== undefined; next = queue.take()) texts.push(next.text);
  return texts;
}

describe('FairQueue', () => {
  it('takes one item of each host in turn, those of one host in order', () => {
    const queue = new FairQueue<ReturnType<typeof item>>();
    for (const each of [item(a, 'a1'), item(a, 'a2'), item(a, 'a3'), item(b, 'b1')])
      queue.add(each);
    expect(drain(queue)).toEqual(['a1', 'b1', 'a2', 'a3']);
  });

  it('keeps the position of an item that is added again', () => {
    const queue = new FairQueue<ReturnType<typeof item>>();
    const first = item(a, 'a1');
    for (const each of [first, item(a, 'a2'), first]) queue.add(each);
    expect(queue.size).toBe(2);
    expect(drain(queue)).toEqual(['a1', 'a2']);
  });

  it('takes an item that was deleted and added again after the others', () => {
    const queue = new FairQueue<ReturnType<typeof item>>();
    const first = item(a, 'a1');
    for (const each of [first, item(a, 'a2'), item(a, 'a3')]) queue.add(each);
    expect(queue.take()).toBe(first);
    queue.add(first);
    expect(drain(queue)).toEqual(['a2', 'a3', 'a1']);
    queue.add(first);
    expect(drain(queue)).toEqual(['a1']);
  });

  it('gives a host that comes later its turn in the same round', () => {
    const queue = new FairQueue<ReturnType<typeof item>>();
    for (const each of [item(a, 'a1'), item(a, 'a2')]) queue.add(each);
    expect(queue.take()?.text).toBe('a1');
    queue.add(item(b, 'b1'));
    expect(drain(queue)).toEqual(['b1', 'a2']);
  });

  it('does not take an item that was deleted', () => {
    const queue = new FairQueue<ReturnType<typeof item>>();
    const first = item(a, 'a1');
    for (const each of [first, item(b, 'b1')]) queue.add(each);
    expect([queue.delete(first), queue.delete(first)]).toEqual([true, false]);
    expect(queue.size).toBe(1);
    expect(drain(queue)).toEqual(['b1']);
    expect(queue.size).toBe(0);
  });
});
