import { runModule } from './run-module';

// The parts of the interop programs that decide something. The programs as a whole are tried by `npm run interop`.

describe('rpc-behavior', () => {
  const nothing = { sleepMs: 0, keepOpen: false, code: 0 };
  const table: readonly (readonly [
    what: string,
    values: string[],
    attempts: number,
    plan: object,
  ])[] = [
    ['asks for nothing', [], 0, nothing],
    ['sleeps', ['sleep-4'], 0, { ...nothing, sleepMs: 4000 }],
    ['keeps open', ['keep-open'], 0, { ...nothing, keepOpen: true }],
    ['fails', ['error-code-14'], 0, { ...nothing, code: 14 }],
    [
      'does one after the other',
      ['sleep-1, error-code-2'],
      0,
      { ...nothing, sleepMs: 1000, code: 2 },
    ],
    ['adds up headers', ['sleep-1', 'sleep-2'], 0, { ...nothing, sleepMs: 3000 }],
    ['is for this server', ['hostname=me error-code-2'], 0, { ...nothing, code: 2 }],
    ['is for another server', ['hostname=you error-code-2'], 0, nothing],
    ['succeeds with the attempt', ['succeed-on-retry-attempt-2,error-code-14'], 2, nothing],
    [
      'does not succeed before',
      ['succeed-on-retry-attempt-2,error-code-14'],
      1,
      { ...nothing, code: 14 },
    ],
    ['has the other spelling', ['success-on-retry-attempt-0,error-code-14'], 0, nothing],
    ['is not known', ['dance'], 0, { ...nothing, code: 3 }],
    ['lacks a number', ['sleep-'], 0, { ...nothing, code: 3 }],
  ];
  let plans: unknown;

  beforeAll(async () => {
    const inputs = table.map(([, values, previousAttempts]) => ({ values, previousAttempts }));
    plans = await runModule(`
      import { planRpc } from './interop/server/rpc-behavior.mjs';
      answer(${JSON.stringify(inputs)}.map(({ values, previousAttempts }) =>
        planRpc(values, { hostname: 'me', previousAttempts })));
    `);
  });

  it.each(table.map(([what], index) => ({ what, index })))('$what', ({ index }) => {
    expect(plans).toMatchObject(table.map(([, , , plan], i) => (i === index ? plan : {})));
  });
});

describe('the statistics of calls', () => {
  it('are of the next calls to start, with what has not ended counted as failed', async () => {
    const answer = await runModule(`
      import { CallWatchers } from './interop/client/call-stats.mjs';
      const watchers = new CallWatchers();
      const end = (tell, peer, method = 'UnaryCall') => tell({ method, peer });
      const early = watchers.onStarted();
      const waiting = watchers.wait({ num_rpcs: 4, timeout_sec: 0.2, metadata_keys: [] });
      const [a, b, c, d, late] = Array.from({ length: 5 }, () => watchers.onStarted());
      end(early, 'x'); end(a, 'x'); end(b, 'y', 'EmptyCall'); end(c, undefined); end(late, 'x');
      answer(await waiting);
    `);
    expect(answer).toEqual({
      rpcs_by_peer: { x: 1, y: 1 },
      rpcs_by_method: {
        UnaryCall: { rpcs_by_peer: { x: 1 } },
        EmptyCall: { rpcs_by_peer: { y: 1 } },
      },
      metadatas_by_peer: {},
      num_failures: 2,
    });
  });

  it('have the headers and trailers that are asked for', async () => {
    const answer = await runModule(`
      import { Metadata } from '@grpc/grpc-js';
      import { CallWatchers } from './interop/client/call-stats.mjs';
      const watchers = new CallWatchers();
      const [headers, trailers] = [new Metadata(), new Metadata()];
      headers.add('set-cookie', 'a'); headers.add('hostname', 'x'); trailers.add('set-cookie', 'b');
      const waiting = ['Set-Cookie', '*', ''].map((key) =>
        watchers.wait({ num_rpcs: 1, timeout_sec: 20, metadata_keys: key === '' ? [] : [key] }));
      watchers.onStarted()({ method: 'UnaryCall', peer: 'x', headers, trailers });
      answer((await Promise.all(waiting)).map((stats) => stats.metadatas_by_peer));
    `);
    const entry = (key: string, value: string, type: string) => ({ key, value, type });
    const cookies = [entry('set-cookie', 'a', 'INITIAL'), entry('set-cookie', 'b', 'TRAILING')];
    const hostname = entry('hostname', 'x', 'INITIAL');
    expect(answer).toEqual([
      { x: { rpc_metadata: [{ metadata: cookies }] } },
      { x: { rpc_metadata: [{ metadata: expect.arrayContaining([...cookies, hostname]) }] } },
      {},
    ]);
  });

  it('add up all calls by status', async () => {
    const answer = await runModule(`
      import { AccumulatedStats } from './interop/client/call-stats.mjs';
      const stats = new AccumulatedStats();
      for (let i = 0; i < 4; i++) stats.onStarted('UnaryCall');
      for (const code of [0, 0, 14]) stats.onEnded('UnaryCall', code);
      answer(stats.describe());
    `);
    expect(answer).toEqual({
      num_rpcs_started_by_method: { UNARY_CALL: 4, EMPTY_CALL: 0 },
      num_rpcs_succeeded_by_method: { UNARY_CALL: 2, EMPTY_CALL: 0 },
      num_rpcs_failed_by_method: { UNARY_CALL: 1, EMPTY_CALL: 0 },
      stats_per_method: {
        UNARY_CALL: { rpcs_started: 4, result: { 0: 2, 14: 1 } },
        EMPTY_CALL: { rpcs_started: 0, result: {} },
      },
    });
  });
});

describe('the flags of the client', () => {
  it('can be written as for the clients in other languages', async () => {
    const answer = await runModule(`
      import { parseClientFlags } from './interop/client/client-flags.mjs';
      answer(parseClientFlags(['node', 'client', '--server=xds:///a', '--print_response=true',
        '--secure_mode=false', '--fail_on_failed_rpc', '--rpc=UnaryCall,EmptyCall', '--unknown=1',
        '--metadata=UnaryCall:k:a:b,EmptyCall:k2:v', '--qps=100']));
    `);
    expect(answer).toMatchObject({
      server: 'xds:///a',
      qps: 100,
      stats_port: 50052,
      rpc: ['UnaryCall', 'EmptyCall'],
      metadata: [
        { method: 'UnaryCall', key: 'k', value: 'a:b' },
        { method: 'EmptyCall', key: 'k2', value: 'v' },
      ],
      print_response: true,
      secure_mode: false,
      fail_on_failed_rpc: true,
    });
  });
});

describe('the address of the server', () => {
  it('is the wildcard of its family, and of IPv6 for both', async () => {
    const answer = await runModule(`
      import { wildcard } from './interop/lib/serving.mjs';
      answer(await Promise.all(['IPV4', 'IPV6', 'IPV4_IPV6', undefined].map((type) => wildcard(type))));
    `);
    const both: unknown = expect.stringMatching(/^(\[::\]|0\.0\.0\.0)$/);
    expect(answer).toEqual(['0.0.0.0', '[::]', both, both]);
  });
});
