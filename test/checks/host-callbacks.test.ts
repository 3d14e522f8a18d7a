import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

// What is handed to grpc-js outside src/grpc-js is made by its functions, which contain exceptions: see docs/decisions/0034.

const src = join(__dirname, '..', '..', 'src');

const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => path.endsWith('.ts') && !/^(grpc-js|testing|wire\/generated)\//.test(path));

/** Code that hands a function to grpc-js, which files may have it, and what to use instead. */
const RULES: readonly { code: RegExp; allowed: readonly string[]; instead: string }[] = [
  {
    code: /\bonReceive(?:Metadata|Message|Status|HalfClose)(?:\(\w+: |: \()/,
    // Both contain what they call themselves.
    allowed: ['server/connections/judged-call.ts', 'transport/grpc-stream.ts'],
    instead: 'ContainedListener, containedListener() or interceptCall()',
  },
  {
    code: /\b(?:receiveTrailers|receiveMetadata|sendMetadata|receiveMessage)\(\w+: (?!.*\boverride\b)/,
    // Called by XdsCall alone, and a call of a server.
    allowed: ['resolver/call-filters.ts', 'server/connections/judged-call.ts'],
    instead: 'ContainedFilter',
  },
  {
    code: /\b(?:addConnectivityStateListener|addHealthStateWatcher|watchConnectivityState|tryShutdown|bindAsync)\((?![^\n]*(?:contained|callback: \())[^\n]*=>/,
    allowed: [],
    instead: 'containedCallback()',
  },
  { code: /\bcall\.(?:on|once|addListener)\(/, allowed: [], instead: 'onCallEvent()' },
  {
    code: /\bcall\.write\([^()\n]*, \([^)\n]*\) =>|sendMessageWithContext\(\{ callback: /,
    allowed: [],
    instead: 'containedCallback()',
  },
  {
    code: /\baddService\((?![^;]*(?:contained|create\w+Handlers|addService\b.*text))[^;]*=>/,
    allowed: [],
    instead: 'containedHandler() or containedUnaryHandler()',
  },
  {
    code: /\bregister(?:Resolver|LoadBalancerType)\((?!name|scheme|'xds')/,
    allowed: [],
    instead: 'containedResolver() or containedBalancer()',
  },
  {
    code: /new ServerInterceptingCall\(call, /,
    allowed: [],
    instead: 'interceptCall()',
  },
];

const withoutComments = (text: string) =>
  text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '');

describe('a function that grpc-js calls', () => {
  it.each(RULES)('is made by $instead', ({ code, allowed }) => {
    const found = files.filter((path) =>
      code.test(withoutComments(readFileSync(join(src, path), 'utf8'))),
    );
    expect(found.filter((path) => !allowed.includes(path))).toEqual([]);
    expect(allowed.filter((path) => !found.includes(path))).toEqual([]);
  });

  it.each([
    ['onReceiveStatus(status: StatusObject): void {', 0],
    ['onReceiveStatus: (status) => this.end(status),', 0],
    ['receiveTrailers(status: StatusObject): StatusObject {', 1],
    ['subchannel.addConnectivityStateListener((a, b) => this.f());', 2],
    ["call.on('data', (x) => this.f(x));", 3],
    ['call.write(message, () => this.f());', 4],
    ['server.addService({ A: method }, { A: (call) => f(call) });', 5],
    ['registerLoadBalancerType(policy, Root, Config)', 6],
    ['new ServerInterceptingCall(call, { start: f })', 7],
  ])('is found where it is not: %s', (code, rule) => {
    expect(RULES[rule]?.code.test(code)).toBe(true);
  });
});
