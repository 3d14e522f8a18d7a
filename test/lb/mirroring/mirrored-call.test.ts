import {
  Metadata,
  PickResultType,
  Status,
  type PickResult,
  type Picker,
} from '../../../src/grpc-js';
import type { CallStatus } from '../../../src/grpc-js/handed-over';
import {
  FailedCall,
  InterceptedSubchannel,
  type CallListener,
  type CreateCall,
} from '../../../src/grpc-js/subchannel-wrappers';
import type { CallAttributes, Mirror } from '../../../src/lb/call-attributes';
import { mirrorPick } from '../../../src/lb/mirroring/mirrored-call';
import { MAX_MIRRORED_BYTES } from '../../../src/util/limits';
import { toPickInformation } from '../../../src/grpc-js';
import { LbHarness } from '../../support/lb-harness';

type Call = ReturnType<CreateCall>;
type Context = Parameters<Call['sendMessageWithContext']>[0];

/** A connection that records its calls. */
class Connection {
  readonly log: string[] = [];
  readonly written: Context[] = [];
  headers = new Metadata();
  listener: CallListener | undefined;
  readonly picked: PickResult;

  constructor(harness: LbHarness, host: string) {
    const subchannel = harness.host.createSubchannel({ host, port: 80 }, {});
    this.picked = {
      pickResultType: PickResultType.COMPLETE,
      subchannel: new InterceptedSubchannel(subchannel, this.create),
      status: null,
      onCallStarted: () => this.log.push('started'),
      onCallEnded: (code) => this.log.push(`ended ${Status[code]}`),
    };
  }

  readonly create: CreateCall = (headers, _host, method, listener) => {
    this.log.push(`created ${method}`);
    this.headers = headers;
    this.listener = listener;
    return Object.assign(Object.create(FailedCall.prototype) as Call, {
      sendMessageWithContext: (context: Context, message: Buffer) => {
        this.written.push(context);
        this.log.push(`sent ${message.length}`);
      },
      halfClose: () => this.log.push('half-closed'),
      startRead: () => undefined,
      cancelWithStatus: (code: Status, details: string) => {
        this.log.push(`cancelled: ${details}`);
        this.end(code);
      },
    });
  };

  end(code: Status): void {
    const status: CallStatus = { code, details: '', metadata: new Metadata() };
    this.listener?.onReceiveStatus(status);
  }
}

class Scene {
  readonly harness = new LbHarness();
  readonly main = new Connection(this.harness, '10.0.0.1');
  readonly mirror = new Connection(this.harness, '10.0.0.2');
  readonly ended: Status[] = [];
  /** The result of picks of the mirror. */
  mirrorPick = this.mirror.picked;
  readonly attributes: CallAttributes;

  constructor(
    mirrors: readonly Mirror[] = [{ childName: 'cluster:mirror', perMillion: 1_000_000 }],
  ) {
    this.attributes = { cluster: 'cluster:main', requestHash: () => 7n, mirrors };
  }

  /** Starts an attempt. */
  start(headers: Readonly<Record<string, string>> = {}): Call {
    const metadata = new Metadata();
    for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
    const picker: Picker = { pick: () => this.mirrorPick };
    const { subchannel } = mirrorPick(
      this.attributes,
      { metadata, extraPickInfo: toPickInformation(this.attributes) },
      this.main.picked,
      new Map([['cluster:mirror', picker]]),
      this.harness.environment,
    );
    if (subchannel === null) throw new Error('No connection was picked');
    const listener: CallListener = {
      onReceiveMetadata: () => undefined,
      onReceiveMessage: () => undefined,
      onReceiveStatus: ({ code }) => this.ended.push(code),
    };
    return subchannel.getRealSubchannel().createCall(metadata, 'host', '/a/b', listener, 1);
  }
}

const send = (call: Call, length: number) => call.sendMessageWithContext({}, Buffer.alloc(length));

describe('the copy of a call', () => {
  it('has its headers, messages and end, and is counted by its policy', () => {
    const { main, mirror, ended, ...scene } = startedWith({ a: 'b' });
    expect(mirror.headers.get('a')).toEqual(['b']);
    expect(mirror.headers).not.toBe(main.headers);
    send(scene.call, 3);
    scene.call.halfClose();
    mirror.listener?.onReceiveMessage(Buffer.alloc(1));
    mirror.end(Status.INTERNAL);
    main.end(Status.OK);
    expect(main.log).toEqual(['created /a/b', 'sent 3', 'half-closed']);
    expect(mirror.log).toEqual([
      'created /a/b',
      'started',
      'sent 3',
      'half-closed',
      'ended INTERNAL',
    ]);
    expect(ended).toEqual([Status.OK]);
  });

  it('is that of the first attempt alone', () => {
    const scene = new Scene();
    scene.start();
    scene.start();
    expect(scene.main.log).toEqual(['created /a/b', 'created /a/b']);
    expect(scene.mirror.log).toEqual(['created /a/b', 'started']);
  });

  it.each<[string, readonly Mirror[]]>([
    ['is not in the share', [{ childName: 'cluster:mirror', perMillion: 500_000 }]],
    ['has no share', [{ childName: 'cluster:mirror', perMillion: 0 }]],
    ['has an unknown cluster', [{ childName: 'cluster:other', perMillion: 1_000_000 }]],
  ])('is not sent if it %s', (_name, mirrors) => {
    const warnings = jest.spyOn(process, 'emitWarning').mockReturnValue();
    const scene = new Scene(mirrors);
    scene.harness.random = 0.5;
    scene.start();
    expect(scene.mirror.log).toEqual([]);
    expect(warnings).not.toHaveBeenCalled();
    warnings.mockRestore();
    expect(scene.main.log).toEqual(['created /a/b']);
  });

  it('is not sent while the mirror has no connection, nor with credentials over an insecure one', () => {
    const scene = new Scene();
    scene.start({ authorization: 'Bearer secret' });
    expect(scene.mirror.log).toEqual([]);
    const waiting = new Scene();
    waiting.mirrorPick = {
      ...waiting.mirror.picked,
      pickResultType: PickResultType.QUEUE,
      subchannel: null,
    };
    waiting.start();
    expect(waiting.mirror.log).toEqual([]);
    expect(waiting.main.log).toEqual(['created /a/b']);
  });

  it('is cancelled when its connection has not taken 1 MiB, and the call goes on', () => {
    const { main, mirror, call } = startedWith();
    const half = MAX_MIRRORED_BYTES / 2;
    send(call, half);
    send(call, half);
    mirror.written[0]?.callback?.(null);
    send(call, half);
    send(call, 1);
    send(call, 1);
    expect(mirror.log.slice(2)).toEqual([
      ...Array.from({ length: 3 }, () => `sent ${half}`),
      'cancelled: The copy of a call was cancelled: it is slower than the call',
      'ended CANCELLED',
    ]);
    expect(main.log).toHaveLength(6);
  });

  it('ends with a call that was not complete, and soon after one that was', () => {
    const incomplete = startedWith();
    send(incomplete.call, 1);
    incomplete.main.end(Status.CANCELLED);
    expect(incomplete.mirror.log.at(-1)).toBe('ended CANCELLED');
    const complete = startedWith();
    complete.call.halfClose();
    complete.main.end(Status.OK);
    complete.harness.clock.advance(14_999);
    expect(complete.mirror.log.at(-1)).toBe('half-closed');
    complete.harness.clock.advance(1);
    expect(complete.mirror.log.at(-1)).toBe('ended CANCELLED');
    expect(complete.harness.clock.pendingTimers).toBe(0);
  });

  it('does not fail the call if it cannot be created', () => {
    const scene = new Scene();
    const broken = () => {
      throw new Error('closed');
    };
    const { subchannel } = scene.mirror.picked;
    if (subchannel === null) throw new Error('No connection');
    scene.mirrorPick = {
      ...scene.mirror.picked,
      subchannel: new InterceptedSubchannel(subchannel, broken),
    };
    send(scene.start(), 1);
    expect(scene.main.log).toEqual(['created /a/b', 'sent 1']);
  });
});

/** A call that was started, with what it was started on. */
function startedWith(headers?: Readonly<Record<string, string>>) {
  const scene = new Scene();
  const call = scene.start(headers);
  const { main, mirror, ended, harness } = scene;
  return { main, mirror, ended, harness, call };
}
