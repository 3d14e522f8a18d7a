import { FilterStates } from '../../src/http-filters/client-filter';

class A {
  readonly kind = 'a';
}
class B {
  readonly kind = 'b';
}

describe('the states of filters', () => {
  it('stay as long as an instance is of the same filter', () => {
    const states = new FilterStates();
    const first = states.get('x', A, () => new A());
    expect(states.get('x', A, () => new A())).toBe(first);
    expect(states.get('y', A, () => new A())).not.toBe(first);
    expect(states.get('x', B, () => new B())).toBeInstanceOf(B);
    expect(states.get('x', A, () => new A())).not.toBe(first);
  });

  it('are dropped for the least recently used instances beyond a hundred', () => {
    const states = new FilterStates();
    const used = states.get('used', A, () => new A());
    const unused = states.get('unused', A, () => new A());
    for (let i = 0; i < 99; i++) {
      states.get(`${i}`, A, () => new A());
      expect(states.get('used', A, () => new A())).toBe(used);
    }
    expect(states.get('unused', A, () => new A())).not.toBe(unused);
  });
});
