import { Snapshot } from '../../src/control-plane';
import { deltaVariant, sotwVariant } from '../../src/control-plane/ads/protocol-variants';
import type { RequestOutcome } from '../../src/control-plane/ads/subscriptions';
import { serveSnapshot } from '../../src/control-plane/snapshot/snapshot-store';
import {
  DeltaDiscoveryRequest,
  DiscoveryRequest,
} from '../../src/wire/generated/envoy/service/discovery/v3/discovery';
import { imitateVariant } from '../support/imitated-istiod';
import { EDS, endpoints } from './resources';

const serve = (...names: readonly string[]) =>
  serveSnapshot(Snapshot.from({ endpoints: names.map((name) => endpoints(name, 1)) }));

const options = (...names: readonly string[]) => ({
  identifier: 'istiod',
  wrapResources: false,
  resources: serve(...names),
  features: new Set<string>(),
});

const errorOf = (error: string | undefined) =>
  error === undefined ? undefined : { code: 3, message: error, details: [] };

/** `a b -c`: what a response has; `nothing` without one. */
function show({ response }: Pick<RequestOutcome, 'response'>): string {
  if (response === undefined) return 'nothing';
  const names = response.resources.map(({ name }) => name).sort();
  return [...names, ...response.removed.map((name) => `-${name}`)].join(' ');
}

describe('an imitation of istiod in the state-of-the-world variant', () => {
  function open(...names: readonly string[]) {
    const protocol = imitateVariant(sotwVariant).createProtocol(options(...names));
    let nonce = '';
    const request = (resourceNames: readonly string[], responseNonce = '', error?: string) => {
      const message = DiscoveryRequest.create({ typeUrl: EDS, responseNonce });
      const errorDetail = errorOf(error);
      const outcome = protocol.onRequest({
        ...message,
        resourceNames: [...resourceNames],
        errorDetail,
      });
      nonce = outcome.response?.nonce ?? nonce;
      return outcome;
    };
    return { protocol, request, last: () => nonce };
  }

  it('ignores the names in a request that rejects a response, and records the rejection', () => {
    const { protocol, request, last } = open('a', 'b');
    request(['a']);
    const outcome = request(['a', 'b'], last(), 'bad');
    expect(show(outcome)).toBe('nothing');
    expect(outcome.acknowledgement).toMatchObject({ kind: 'nacked', message: 'bad' });
    expect(protocol.subscriptions.describe().get(EDS)?.subscribed).toEqual(['a']);
    expect(show(request(['a', 'b'], last()))).toBe('a b');
  });

  it('sends every subscribed resource when the names have changed', () => {
    const { request, last } = open('a', 'b');
    request(['a']);
    expect(show(request(['a', 'b'], last()))).toBe('a b');
    expect(show(request(['a', 'b'], last()))).toBe('nothing');
    expect(show(request(['b'], last()))).toBe('b');
  });

  it('ignores a rejection of a type that was not requested', () => {
    const { protocol, request } = open('a');
    expect(show(request(['a'], '7', 'bad'))).toBe('nothing');
    expect(protocol.subscriptions.describe().get(EDS)).toBeUndefined();
  });

  it('ignores a request with the nonce of an earlier response', () => {
    const { protocol, request, last } = open('a', 'b');
    request(['a']);
    const [response] = protocol.subscriptions.onChanged(serve('a', 'b', 'c'));
    expect(show(request(['a', 'b'], last()))).toBe('nothing');
    expect(show(request(['a', 'b'], response?.nonce))).toBe('a b');
  });

  it('treats a request without a nonce as the first one', () => {
    const { request } = open('a', 'b');
    request(['a']);
    expect(show(request(['a', 'b']))).toBe('a b');
  });

  it('sends every subscribed resource with every snapshot', () => {
    const { protocol, request } = open('a', 'b');
    request(['a']);
    const responses = protocol.subscriptions.onChanged(serve('a', 'b'));
    expect(responses.map((response) => show({ response }))).toEqual(['a']);
  });
});

describe('an imitation of istiod in the incremental variant', () => {
  function open(...names: readonly string[]) {
    const protocol = imitateVariant(deltaVariant).createProtocol(options(...names));
    const request = (names: readonly string[], responseNonce = '', error?: string) =>
      protocol.onRequest({
        ...DeltaDiscoveryRequest.create({ typeUrl: EDS, responseNonce }),
        resourceNamesSubscribe: [...names],
        errorDetail: errorOf(error),
      });
    return { protocol, request };
  }

  it.each<[string, string | undefined]>([
    ['rejects a response', 'bad'],
    ['has the nonce of another response than the last', undefined],
  ])('ignores the names in a request that %s', (_what, error) => {
    const { protocol, request } = open('a', 'b');
    const nonce = request(['a']).response?.nonce;
    expect(show(request(['b'], error === undefined ? '0' : nonce, error))).toBe('nothing');
    const state = protocol.subscriptions.describe().get(EDS);
    expect(state?.subscribed).toEqual(['a']);
    expect(state?.rejection?.message).toBe(error);
    expect(show(request(['b'], nonce))).toBe('b');
  });

  it('sends every subscribed resource with every snapshot', () => {
    const { protocol, request } = open('a', 'b');
    request(['a', 'x']);
    const responses = protocol.subscriptions.onChanged(serve('a', 'b'));
    expect(responses.map((response) => show({ response }))).toEqual(['a -x']);
  });
});
