// The one method all benchmarks call, with bytes in and bytes out.
const same = (buffer) => buffer;

exports.echoService = {
  say: {
    path: '/demo.Echo/Say',
    requestStream: false,
    responseStream: false,
    requestSerialize: same,
    requestDeserialize: same,
    responseSerialize: same,
    responseDeserialize: same,
  },
};
