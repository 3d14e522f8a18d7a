import {
  readPolicy,
  type ServicePolicy,
} from '../../../packages/kubernetes/src/translate/service-policy';

const read = (annotations: Readonly<Record<string, string>>, before?: ServicePolicy) =>
  readPolicy(
    new Map(Object.entries(annotations).map(([name, text]) => [`grpc-xds/${name}`, text])),
    before,
  );

const { policy: DEFAULTS } = read({});

interface Case {
  readonly annotations: Readonly<Record<string, string>>;
  readonly policy: object;
}

const RIGHT: readonly Case[] = [
  { annotations: {}, policy: {} },
  { annotations: { 'lb-policy': 'round_robin' }, policy: { lb: { kind: 'round_robin' } } },
  {
    annotations: { 'lb-policy': 'least_request' },
    policy: { lb: { kind: 'least_request', choiceCount: undefined } },
  },
  {
    annotations: { 'lb-policy': 'least_request', 'least-request-choice-count': '5' },
    policy: { lb: { kind: 'least_request', choiceCount: 5 } },
  },
  {
    annotations: { 'lb-policy': 'ring_hash', 'ring-hash-header': 'x-user' },
    policy: { lb: { kind: 'ring_hash', header: 'x-user' } },
  },
  { annotations: { 'max-requests': '1' }, policy: { maxRequests: 1 } },
  { annotations: { 'max-requests': '4294967295' }, policy: { maxRequests: 4_294_967_295 } },
  {
    annotations: { 'max-zone-overload-percent': '0' },
    policy: { maxZoneOverloadPercent: 0 },
  },
  {
    annotations: { 'outlier-detection': '{"interval":"5s","failure_percentage_threshold":50}' },
    policy: {
      outlierDetection: expect.objectContaining({
        interval: { seconds: 5n, nanos: 0 },
        failurePercentageThreshold: 50,
      }),
    },
  },
];

interface WrongCase {
  readonly annotations: Readonly<Record<string, string>>;
  /** Each as `annotation: message`. */
  readonly problems: readonly string[];
}

const WRONG: readonly WrongCase[] = [
  {
    annotations: { 'lb-policy': 'random' },
    problems: ['lb-policy: must be round_robin, least_request, ring_hash, not "random"'],
  },
  {
    annotations: { 'lb-policy': '' },
    problems: ['lb-policy: must be round_robin, least_request, ring_hash, not ""'],
  },
  {
    annotations: { 'lb-policy': 'ring_hash' },
    problems: ['lb-policy: ring_hash needs grpc-xds/ring-hash-header'],
  },
  {
    annotations: { 'ring-hash-header': 'x-user' },
    problems: ['ring-hash-header: has an effect only with grpc-xds/lb-policy: ring_hash'],
  },
  {
    annotations: { 'least-request-choice-count': '3' },
    problems: [
      'least-request-choice-count: has an effect only with grpc-xds/lb-policy: least_request',
    ],
  },
  ...['x-Key', 'x-key-bin', ':path', '', 'a b', 'x'.repeat(257)].map((header) => ({
    annotations: { 'lb-policy': 'ring_hash', 'ring-hash-header': header },
    problems: [
      `ring-hash-header: must be the name of a header in small letters without -bin, not ${header.length > 256 ? `"${'x'.repeat(256)}…"` : `"${header}"`}`,
      'lb-policy: ring_hash needs grpc-xds/ring-hash-header',
    ],
  })),
  ...['1', '11', '-2', '2.5', '', 'two', '0x3'].map((count) => ({
    annotations: { 'lb-policy': 'round_robin', 'least-request-choice-count': count },
    problems: [`least-request-choice-count: must be an integer from 2 to 10, not "${count}"`],
  })),
  ...['0', '4294967296', '1e3', ' 5'].map((max) => ({
    annotations: { 'max-requests': max },
    problems: [`max-requests: must be an integer from 1 to 4294967295, not "${max}"`],
  })),
  {
    annotations: { 'max-zone-overload-percent': '20%' },
    problems: ['max-zone-overload-percent: must be an integer from 0 to 10000, not "20%"'],
  },
  ...['[]', 'null', '5', '"x"'].map((text) => ({
    annotations: { 'outlier-detection': text },
    problems: ['outlier-detection: must be a JSON object'],
  })),
  {
    annotations: { 'outlier-detection': '{"max_ejection_percent":101}' },
    problems: ['outlier-detection: max_ejection_percent: must not exceed 100, but is 101'],
  },
  {
    annotations: { 'outlier-detection': '{"interval":"-1s"}' },
    problems: ['outlier-detection: interval: must not be negative'],
  },
  {
    annotations: { 'max-request': '5' },
    problems: ['max-request: there is no such annotation: did you mean grpc-xds/max-requests?'],
  },
  {
    annotations: { 'slow-start': '5s' },
    problems: ['slow-start: there is no such annotation'],
  },
];

describe('the policy of a service', () => {
  it.each(RIGHT)('is read from $annotations', ({ annotations, policy }) => {
    expect(read(annotations)).toEqual({ policy: { ...DEFAULTS, ...policy }, problems: [] });
  });

  it.each(WRONG)('is the default with $annotations', ({ annotations, problems }) => {
    const found = read(annotations);
    expect(found.policy).toEqual(DEFAULTS);
    expect(found.problems.map(({ annotation, message }) => `${annotation}: ${message}`)).toEqual(
      problems.map((problem) => `grpc-xds/${problem}`),
    );
  });

  it.each([
    ['{"interval":', 'must be a JSON object: '],
    ['{"interval":"1s","interval":"2s"}', 'a member of an object is there more than once'],
    ['{"interval":5}', 'interval: '],
    ['{"intervall":"5s"}', 'unknown field "intervall"'],
    ['{"consecutive_5xx":5}', 'no gRPC client reads "consecutive_5xx"'],
  ])('is the default with outlier detection %s', (text, expected) => {
    const found = read({ 'outlier-detection': text });
    expect(found.policy).toEqual(DEFAULTS);
    expect(found.problems).toHaveLength(1);
    expect(found.problems[0]?.message).toContain(expected);
  });

  it.each<[Case['annotations'], Case['annotations'], string]>([
    [{ 'max-requests': '7' }, { 'max-requests': 'x' }, '7'],
    [{}, { 'max-requests': 'x' }, '1024'],
    [{ 'max-zone-overload-percent': '5' }, { 'max-zone-overload-percent': 'x' }, '5'],
    [
      { 'outlier-detection': '{"interval":"5s"}' },
      { 'outlier-detection': '{' },
      'what was right before',
    ],
    [{}, { 'outlier-detection': '{' }, 'none'],
    [{ 'lb-policy': 'least_request' }, { 'lb-policy': 'x' }, 'least_request'],
    [
      { 'lb-policy': 'least_request', 'least-request-choice-count': '5' },
      { 'lb-policy': 'least_request', 'least-request-choice-count': '1' },
      '5',
    ],
    [
      { 'lb-policy': 'ring_hash', 'ring-hash-header': 'x-user' },
      { 'lb-policy': 'ring_hash', 'ring-hash-header': 'X' },
      'x-user',
    ],
    [
      { 'lb-policy': 'ring_hash', 'ring-hash-header': 'x-user' },
      { 'lb-policy': 'ring_hash' },
      'ring_hash by x-user',
    ],
  ])('stays what it was by %j with %j, which is said: %s', (right, wrong, inUse) => {
    const before = read(right).policy;
    const { policy, problems } = read(wrong, before);
    expect(policy).toEqual(before);
    expect(problems).toEqual([expect.objectContaining({ inUse })]);
  });

  it('is the default without an annotation that was right or wrong before', () => {
    const before = read({ 'lb-policy': 'least_request', 'max-requests': '7' }).policy;
    expect(read({}, before)).toEqual({ policy: DEFAULTS, problems: [] });
  });

  it('has what is right beside what is wrong', () => {
    const { policy, problems } = read({ 'lb-policy': 'fastest', 'max-requests': '7' });
    expect(policy).toEqual({ ...DEFAULTS, maxRequests: 7 });
    expect(problems).toHaveLength(1);
  });

  it('has ten problems of annotations that do not exist, however many there are', () => {
    const names = Array.from({ length: 5000 }, (_, i) => [`max-requests-${i}`, 'x']);
    expect(read(Object.fromEntries(names)).problems).toHaveLength(10);
  });

  it('ignores annotations of others', () => {
    const others = new Map([
      ['example.com/lb-policy', 'fastest'],
      ['grpc-xds', 'x'],
    ]);
    expect(readPolicy(others)).toEqual({ policy: DEFAULTS, problems: [] });
  });
});
