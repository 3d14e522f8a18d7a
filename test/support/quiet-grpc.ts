// What is logged for operators is part of many tests on purpose; it need not be part of their output.
process.env.GRPC_VERBOSITY ??= 'NONE';
