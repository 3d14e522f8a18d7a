// Texts from outside that regular expressions would look at again from each of their places: hours for those here.

import { findPlaceholders } from '../../packages/cli/src/client/doctor/bootstrap-checks';
import { authorityOf } from '../../src/lb/orca/oob-stream';
import { withoutTrailing } from '../../src/util/text';

const MANY = 3_000_000;

it.each(['{', '${', '$('])('placeholders are looked for once in a text of many %s', (start) => {
  expect(findPlaceholders({ a: start.repeat(MANY) })).toEqual([]);
  expect(findPlaceholders({ a: `${start.repeat(9)}{{ name }}` })).toEqual(['a: {{ name }}']);
});

it('the authority of a target with a line break is read once', () => {
  expect(authorityOf(`//${'x'.repeat(MANY)}\n`)).toBe('');
});

it('the end of a text is removed once, and nothing before it', () => {
  expect(withoutTrailing(`${'/'.repeat(MANY)}a`, '/')).toHaveLength(MANY + 1);
  expect(withoutTrailing(`a${'/'.repeat(MANY)}`, '/')).toBe('a');
});
