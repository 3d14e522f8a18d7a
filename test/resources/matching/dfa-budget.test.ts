import { RE2JS } from 're2js';
import { BoundedDfa, DfaBudget } from '../../../src/resources/matching/re2-compiler';

const HOSTILE = '(?:a|b)*a(?:a|b){100}';

/** A text on which nearly every character leads to a state that has not been there before. */
function hostileText(length: number): string {
  let state = 1;
  return Array.from({ length }, () => {
    state = (state * 48_271) % 2_147_483_647;
    return state % 2 === 0 ? 'a' : 'b';
  }).join('');
}

function match(budget: DfaBudget, engine = RE2JS.compile(HOSTILE)) {
  const states = new BoundedDfa(engine, budget);
  states.prepare();
  engine.testExact(hostileText(2000));
  states.account();
  return engine;
}

describe('the states built for matching', () => {
  it('take at most 64 KiB for one pattern', () => {
    const budget = new DfaBudget();
    match(budget);
    expect(budget.bytes).toBeGreaterThan(32 * 1024);
    expect(budget.bytes).toBeLessThanOrEqual(64 * 1024);
  });

  it('of all patterns are removed when they exceed their budget', () => {
    const budget = new DfaBudget(200 * 1024);
    const engines = [match(budget), match(budget), match(budget)];
    expect(budget.bytes).toBeGreaterThan(100 * 1024);
    engines.push(match(budget));
    expect(budget.bytes).toBe(0);
    expect(engines.map((engine) => engine.re2().dfa.stateCount)).toEqual([0, 0, 0, 0]);
  });

  it('are built again for the next text', () => {
    const budget = new DfaBudget(1);
    const engine = match(budget);
    expect([engine.testExact(`a${'b'.repeat(100)}`), engine.testExact('b')]).toEqual([true, false]);
  });
});
