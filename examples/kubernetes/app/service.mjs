import grpc from '@grpc/grpc-js';

// A service of plain text, so that no code has to be generated.
const text = {
  requestStream: false,
  requestSerialize: Buffer.from,
  requestDeserialize: String,
  responseStream: false,
  responseSerialize: Buffer.from,
  responseDeserialize: String,
};

export const Echo = grpc.makeClientConstructor(
  { say: { path: '/echo.Echo/Say', ...text } },
  'Echo',
);
