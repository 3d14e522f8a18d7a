import { explainCall } from '../../src';

describe('explainCall before register()', () => {
  it('is printed as a text for people', () => {
    expect(String(explainCall('xds:///echo', '/echo.Echo/Say'))).toBe(
      'not routed: register() of grpc-xds has not been called in this process',
    );
  });
});
