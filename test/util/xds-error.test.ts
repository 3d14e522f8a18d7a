import { CallFailedError, XdsError } from '../../src';
import { SnapshotError } from '../../src/control-plane';

describe('XdsError', () => {
  it('has a text that begins with the name of the package', () => {
    expect(new XdsError('XDS_NOT_READY', 'not now')).toMatchObject({
      code: 'XDS_NOT_READY',
      message: 'grpc-xds: not now',
    });
  });

  it('leaves the text of a subclass as it is', () => {
    expect(new CallFailedError({ code: 5, details: 'none' }).message).toBe('none');
    expect(new SnapshotError([]).message).toBe('');
  });

  it.each([
    [[], 'code of new XdsError() must be a string: a code such as "XDS_OPTION_INVALID"'],
    [['not now'], 'code of new XdsError() must be a string: a code'],
    [['XDS_NOT_READY'], 'message of new XdsError() must be a string'],
  ])('cannot be made of %j', (args, message) => {
    const create = () => Reflect.construct(XdsError, args) as unknown;
    expect(create).toThrow(`grpc-xds: ${message}`);
    expect(create).toThrow(XdsError);
  });
});
