import { createLocalityTargets } from '../../../src/lb/wrr-locality/locality-targets';
import { makeEndpointSet, makeLocality } from '../../support/lb-harness';

const childPolicy = { policyName: 'stub' };
const near = makeLocality('near', ['10.0.0.1:80'], 9);
const far = makeLocality('far', ['10.0.0.2:80'], 1);
const NEAR = '{region="near", zone="", sub_zone=""}';
const FAR = '{region="far", zone="", sub_zone=""}';

describe('createLocalityTargets', () => {
  it('makes each locality a target with its weight and its endpoints', () => {
    const result = createLocalityTargets(makeEndpointSet(near, far), childPolicy, undefined);
    expect(result.config.targets).toEqual(
      new Map([
        [NEAR, { weight: 9, childPolicy }],
        [FAR, { weight: 1, childPolicy }],
      ]),
    );
    expect(result.endpoints).toEqual({
      localities: [],
      children: new Map([
        [NEAR, makeEndpointSet(near)],
        [FAR, makeEndpointSet(far)],
      ]),
    });
    expect(result.conflicts).toEqual([]);
  });

  it('keeps the config and the other sets when the endpoints of one locality change', () => {
    const first = createLocalityTargets(makeEndpointSet(near, far), childPolicy, undefined);
    const grown = makeLocality('near', ['10.0.0.1:80', '10.0.0.3:80'], 9);
    const second = createLocalityTargets(makeEndpointSet(grown, far), childPolicy, first);
    expect(second.config).toBe(first.config);
    expect(second.endpoints.children?.get(FAR)).toBe(first.endpoints.children?.get(FAR));
    expect(second.endpoints.children?.get(NEAR)).toEqual(makeEndpointSet(grown));
  });

  it('makes a new config, with the other targets unchanged, when a weight changes', () => {
    const first = createLocalityTargets(makeEndpointSet(near, far), childPolicy, undefined);
    const lighter = { ...near, weight: 5 };
    const second = createLocalityTargets(makeEndpointSet(lighter, far), childPolicy, first);
    expect(second.config).not.toBe(first.config);
    expect(second.config.targets.get(NEAR)).toEqual({ weight: 5, childPolicy });
    expect(second.config.targets.get(FAR)).toBe(first.config.targets.get(FAR));
  });

  it.each([
    ['added', makeEndpointSet(near), makeEndpointSet(near, far), 2],
    ['removed', makeEndpointSet(near, far), makeEndpointSet(far), 1],
  ])('makes a new config when a locality is %s', (_case, before, after, size) => {
    const first = createLocalityTargets(before, childPolicy, undefined);
    expect(createLocalityTargets(after, childPolicy, first).config.targets.size).toBe(size);
  });

  it('gives every target the new child policy', () => {
    const first = createLocalityTargets(makeEndpointSet(near), childPolicy, undefined);
    const other = { policyName: 'other' };
    const second = createLocalityTargets(makeEndpointSet(near), other, first);
    expect(second.config.targets.get(NEAR)?.childPolicy).toBe(other);
  });

  it('uses the first of two entries for a locality, and reports if their weights differ', () => {
    const again = makeLocality('near', ['10.0.0.9:80'], 2);
    const same = makeLocality('near', ['10.0.0.8:80'], 9);
    const set = makeEndpointSet(near, again, same);
    const result = createLocalityTargets(set, childPolicy, undefined);
    expect(result.config.targets).toEqual(new Map([[NEAR, { weight: 9, childPolicy }]]));
    expect(result.endpoints.children?.get(NEAR)).toEqual(makeEndpointSet(near));
    expect(result.conflicts).toEqual([NEAR]);
  });
});
