// The one method all benchmarks call, with bytes in and bytes out.
const same = (buffer) => buffer;

const echoAt = (path) => ({
  say: {
    path,
    requestStream: false,
    responseStream: false,
    requestSerialize: same,
    requestDeserialize: same,
    responseSerialize: same,
    responseDeserialize: same,
  },
});

exports.echoService = echoAt('/demo.Echo/Say');

/** A method that test clients in every language have; its messages are empty. */
exports.emptyCallService = echoAt('/grpc.testing.TestService/EmptyCall');
