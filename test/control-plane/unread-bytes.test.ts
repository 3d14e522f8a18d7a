import { MAX_UNREAD_MS, UnreadBytes } from '../../src/control-plane/unread-bytes';
import { MAX_UNREAD_BYTES } from '../../src/util/limits';
import { FakeClock } from '../support/fake-clock';

describe('the bytes that clients have not read', () => {
  const half = MAX_UNREAD_BYTES / 2;
  let clock: FakeClock;
  let unread: UnreadBytes;
  let resets: string[];

  beforeEach(() => {
    clock = new FakeClock();
    unread = new UnreadBytes(clock);
    resets = [];
  });

  const stream = (name: string) => ({ reset: () => void resets.push(name) });

  it('end no stream while they are within the bound', () => {
    for (const name of ['a', 'b']) unread.add(stream(name), half);
    clock.advance(10 * MAX_UNREAD_MS);
    expect(resets).toEqual([]);
  });

  it('end the stream that has waited longest, once it has waited for a second', () => {
    unread.add(stream('a'), half);
    clock.advance(MAX_UNREAD_MS / 2);
    for (const name of ['b', 'c']) unread.add(stream(name), half);
    expect(resets).toEqual([]);
    clock.advance(MAX_UNREAD_MS);
    expect(resets).toEqual(['a']);
    unread.add(stream('d'), half);
    expect(resets).toEqual(['a', 'b']);
  });

  it('end no stream that has been read meanwhile', () => {
    const [reading, ...others] = ['a', 'b', 'c'].map(stream);
    if (reading === undefined) throw new Error('there is no stream');
    for (const each of [reading, ...others]) unread.add(each, half);
    clock.advance(MAX_UNREAD_MS / 2);
    unread.remove(reading);
    unread.remove(reading);
    clock.advance(10 * MAX_UNREAD_MS);
    expect(resets).toEqual([]);
    unread.add(reading, half);
    expect(resets).toEqual(['b']);
  });
});
