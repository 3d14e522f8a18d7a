import { connectionAdvice } from '../../src/util/connection-advice';

describe('the advice after an error', () => {
  it.each([
    ['Name resolution failed for target dns:grpc://10.0.0.1:18000', /: this scheme is not known/],
    ['Name resolution failed for target dns:htp://xds.example.com', /: this scheme is not known/],
    ['Failed to parse DNS address dns:grpcs://xds.example.com', /: this scheme is not known/],
    ['Failed to parse DNS address dns:127.0.0.1:http', /: this is no host:port with a port/],
    ['Name resolution failed for target dns:xds.example.com:443', /: check the host name and DNS$/],
    ['an error of another kind', /^$/],
  ])('%s is for its cause', (error, advice) => {
    expect(connectionAdvice(error)).toMatch(advice);
  });
});
