import { describeDetails } from '../../src/transport/grpc-stream';

const time = '2026-01-02T03:04:05.678Z';

describe('describeDetails', () => {
  it.each([
    ['node unknown', 'node unknown'],
    ['', ''],
    ['two\r\n lines\n', 'two lines'],
    [
      `No connection established. Last error: connect ECONNREFUSED 127.0.0.1:1 (${time}). Resolution note: `,
      'connect ECONNREFUSED 127.0.0.1:1',
    ],
    [
      'No connection established. Last error: Error: connect ECONNREFUSED ::1:1. Resolution note: ',
      'connect ECONNREFUSED ::1:1',
    ],
    [
      'No connection established. Last error: error:0A00010B:SSL routines:\n. Resolution note: ',
      'error:0A00010B:SSL routines:',
    ],
    [
      `No connection established. Last error: a. b (${time}). Resolution note: from a file`,
      'a. b (from a file)',
    ],
  ])('makes of %j: %j', (details, expected) => {
    expect(describeDetails(details)).toBe(expected);
  });
});
