import { watchKubernetes } from '../../packages/kubernetes/src';
import { findSelectorProblem } from '../../src/util/label-selector';

it.each([
  'a',
  'xds=enabled',
  'xds == enabled , !off',
  'tier in (a, b),kubernetes.io/metadata.name notin (kube-system)',
  'a!=b,c=,d in (,)',
  'n > 1, m<-2',
  'In=in,notin in (in)',
  `a=${'x'.repeat(63)}`,
])('accepts %s', (selector) => {
  expect(findSelectorProblem(selector)).toBeUndefined();
});

it.each([
  ['', 'an empty selector: leave it out to read all namespaces'],
  ['a=b=c', '"a=b=c" has "=c" at character 4, where a comma or the end is expected'],
  ['a b', '"a b" has "b" at character 3, where a comma or the end is expected'],
  ['a,', '"a," has its end at character 3, where the key of a label is expected'],
  ['=a', '"=a" has "=a" at character 1, where the key of a label is expected'],
  ['a in b', '"a in b" has "b" at character 6, where a list of values in parentheses is expected'],
  [
    'a in ()',
    '"a in ()" has "()" at character 6, where a list of values in parentheses is expected',
  ],
  [
    'a in (b',
    '"a in (b" has its end at character 8, where a comma or a closing parenthesis is expected',
  ],
  ['a>b', '"a>b" has "b" at character 3, where an integer is expected'],
  ['!a=b', '"!a=b" has "=b" at character 3, where a comma or the end is expected'],
  ['A.b/c', '"A.b/c" has "/c" at character 4, where a comma or the end is expected'],
  ['a=-b', '"a=-b" has "-b" at character 3, where a comma or the end is expected'],
])('says where %j is no selector', (selector, problem) => {
  expect(findSelectorProblem(selector)).toBe(problem);
});

it('is refused by watchKubernetes', () => {
  expect(() => watchKubernetes({ namespaceSelector: 'a=(' })).toThrow(
    'grpc-xds: watchKubernetes(): namespaceSelector: "a=(" has "(" at character 3, where a comma or the end is expected',
  );
});
