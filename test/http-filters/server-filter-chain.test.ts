import { status } from '@grpc/grpc-js';
import type { Refusal } from '../../src/authorization/refusal';
import { CallFailedError } from '../../src/http-filters/call-filter';
import { ServerFilterChain } from '../../src/http-filters/server-filter-chain';
import type { Judgement, ServerFilter } from '../../src/http-filters/server-filter';
import { requestOf } from '../authorization/rbac-world';

const refusal: Refusal = { code: status.ABORTED, details: 'no', reason: 'why' };

/** Creates a chain of filters that decide like this, with the positions of those that have been asked. */
function chainOf(...decisions: readonly (() => Judgement)[]) {
  const asked: number[] = [];
  const filters = decisions.map((decide, i): ServerFilter => ({
    onRequest: () => {
      asked.push(i);
      return decide();
    },
  }));
  const configured = filters.map((_, i) => ({
    name: `f${i}`,
    config: { configType: 'acme.Filter' },
    override: undefined,
  }));
  const chain = ServerFilterChain.create(configured, {
    isOverrideOf: () => true,
    createServerFilter: (_config, _override, name) => filters[Number(name.slice(1))],
  });
  return { chain, asked };
}

const pass = () => undefined;
const passLater = () => Promise.resolve(undefined);

describe('filters of servers that wait', () => {
  it.each<[string, readonly (() => Judgement)[], Partial<Refusal> | undefined, number]>([
    ['pass the request to the next ones', [passLater, pass, passLater, pass], undefined, 4],
    ['refuse it', [pass, () => Promise.resolve(refusal), pass], refusal, 2],
    ['let a later one refuse it', [passLater, () => refusal, pass], refusal, 2],
    [
      'fail it with the status of a CallFailedError',
      [() => Promise.reject(new CallFailedError({ code: status.ABORTED, details: 'x' })), pass],
      { code: status.ABORTED, details: 'x', reason: 'HTTP filter "f0": x' },
      1,
    ],
    [
      'fail it with INTERNAL without the cause',
      [passLater, () => Promise.reject(new Error('secret')), pass],
      {
        code: status.INTERNAL,
        details: 'the request cannot be evaluated',
        reason: 'HTTP filter "f1" failed: secret',
      },
      2,
    ],
    [
      'are followed by one that throws',
      [
        passLater,
        () => {
          throw new Error('secret');
        },
      ],
      { code: status.INTERNAL, details: 'the request cannot be evaluated' },
      2,
    ],
  ])('%s', async (_name, decisions, expected, count) => {
    const { chain, asked } = chainOf(...decisions);
    const judgement = chain.onRequest(requestOf({}));
    expect(judgement).toBeInstanceOf(Promise);
    const decided = await judgement;
    if (expected === undefined) expect(decided).toBeUndefined();
    else expect(decided).toMatchObject(expected);
    expect(asked).toHaveLength(count);
  });

  it('are explained as passing the request on, unless they explain themselves', () => {
    const { chain } = chainOf(passLater, () => refusal);
    expect(chain.explainEach(requestOf({})).map((each) => each.refusal)).toEqual([
      undefined,
      refusal,
    ]);
  });
});

it('filters of servers that do not wait decide at once', () => {
  expect(chainOf(pass, pass).chain.onRequest(requestOf({}))).toBeUndefined();
  expect(chainOf(pass, () => refusal).chain.onRequest(requestOf({}))).toBe(refusal);
});
