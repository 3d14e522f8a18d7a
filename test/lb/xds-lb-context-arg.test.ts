import { SUBCHANNEL_ARGS_EXCLUDE_KEY_PREFIX } from '../../src/grpc-js';
import { getXdsLbContext, XDS_LB_CONTEXT_KEY } from '../../src/lb/lb-policy';

describe('getXdsLbContext', () => {
  it('reads back the context', () => {
    const context = { nodeId: 'n1', clusters: {} };
    expect(getXdsLbContext({ [XDS_LB_CONTEXT_KEY]: context })).toBe(context);
  });

  it.each([undefined, null, 'x', {}])('ignores %j', (value) => {
    expect(getXdsLbContext({ [XDS_LB_CONTEXT_KEY]: value })).toBeUndefined();
  });

  it('is under a key that does not reach subchannels', () => {
    expect(XDS_LB_CONTEXT_KEY.startsWith(SUBCHANNEL_ARGS_EXCLUDE_KEY_PREFIX)).toBe(true);
  });
});
