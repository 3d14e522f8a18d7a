import { createHandle, RefCountedMap } from '../../src/util/handle';

describe('createHandle', () => {
  it('calls its callback once, however often it is released', () => {
    let released = 0;
    const handle = createHandle(() => released++);
    expect(released).toBe(0);
    handle.release();
    handle.release();
    expect(released).toBe(1);
  });

  it('calls its callback once when it is released again in the callback', () => {
    let released = 0;
    const handle = createHandle(() => {
      released++;
      handle.release();
    });
    handle.release();
    expect(released).toBe(1);
  });
});

function setUp() {
  const destroyed: string[] = [];
  let made = 0;
  const map = new RefCountedMap<string, { readonly id: string }>(
    (key) => ({ id: `${key}#${++made}` }),
    (value, key) => destroyed.push(`${key} ${value.id}`),
  );
  return { map, destroyed };
}

describe('RefCountedMap', () => {
  it('creates a value for the first handle and shares it with the others', () => {
    const { map } = setUp();
    const first = map.acquire('a');
    const second = map.acquire('a');
    expect(second.value).toBe(first.value);
    expect(map.get('a')).toBe(first.value);
    expect(map.get('b')).toBeUndefined();
    expect([...map.values()]).toEqual([{ id: 'a#1' }]);
  });

  it('destroys the value when the last handle is released', () => {
    const { map, destroyed } = setUp();
    const first = map.acquire('a');
    const second = map.acquire('a');
    first.release();
    expect(destroyed).toEqual([]);
    second.release();
    expect(destroyed).toEqual(['a a#1']);
    expect(map.get('a')).toBeUndefined();
  });

  it('counts each handle once: a second release has no effect', () => {
    const { map, destroyed } = setUp();
    const first = map.acquire('a');
    map.acquire('a');
    first.release();
    first.release();
    expect(destroyed).toEqual([]);
  });

  it('creates a new value after the old one was destroyed, which an old handle does not release', () => {
    const { map, destroyed } = setUp();
    const old = map.acquire('a');
    old.release();
    const next = map.acquire('a');
    old.release();
    expect(next.value).toEqual({ id: 'a#2' });
    expect(map.get('a')).toBe(next.value);
    expect(destroyed).toEqual(['a a#1']);
  });

  it('treats names of object members as ordinary keys', () => {
    const { map } = setUp();
    expect(map.get('constructor')).toBeUndefined();
    expect(map.acquire('__proto__').value).toEqual({ id: '__proto__#1' });
  });

  it('may acquire a key again in its destructor', () => {
    const order: string[] = [];
    const map: RefCountedMap<string, number> = new RefCountedMap(
      () => order.push('made'),
      (value) => {
        order.push(`destroyed ${value}`);
        if (value === 1) map.acquire('a');
      },
    );
    map.acquire('a').release();
    expect(order).toEqual(['made', 'destroyed 1', 'made']);
    expect(map.get('a')).toBe(3);
  });
});
