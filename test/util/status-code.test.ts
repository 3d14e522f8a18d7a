import { status } from '@grpc/grpc-js';
import { MAX_STATUS_CODE, StatusCode, statusName, statusOfHttp } from '../../src/util/status-code';

const hostCodes = Object.entries(status).filter(([, code]) => typeof code === 'number');

describe('StatusCode', () => {
  it('has the names and values of grpc-js', () => {
    expect(StatusCode).toEqual(Object.fromEntries(hostCodes));
  });

  it('ends with MAX_STATUS_CODE', () => {
    expect(MAX_STATUS_CODE).toBe(Math.max(...Object.values(StatusCode)));
  });
});

describe('statusName', () => {
  it.each(hostCodes)('names %s', (name, code) => {
    expect(statusName(Number(code))).toBe(name);
  });

  it.each([17, -1, 1.5])('shows %d, which gRPC does not define, as a number', (code) => {
    expect(statusName(code)).toBe(`code ${code}`);
  });
});

describe('statusOfHttp', () => {
  it.each([
    [400, 'INTERNAL'],
    [401, 'UNAUTHENTICATED'],
    [403, 'PERMISSION_DENIED'],
    [404, 'UNIMPLEMENTED'],
    [429, 'UNAVAILABLE'],
    [502, 'UNAVAILABLE'],
    [503, 'UNAVAILABLE'],
    [504, 'UNAVAILABLE'],
    [200, 'UNKNOWN'],
    [409, 'UNKNOWN'],
    [500, 'UNKNOWN'],
  ])('maps %d to %s', (httpStatus, name) => {
    expect(statusName(statusOfHttp(httpStatus))).toBe(name);
  });
});
