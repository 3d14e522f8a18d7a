import { afterAll, expect, test } from 'vitest';
import grpc from '@grpc/grpc-js';
import protoLoader from '@grpc/proto-loader';
import { register, shutdown } from 'grpc-xds';
import { callFromHere } from '../echo/worker-client.mjs';

afterAll(() => shutdown());

test('the first file calls both backends', async () => {
  const names = await callFromHere({ grpc, protoLoader, register, shutdown });
  expect(names).toBe('backend-1, backend-2');
});
