import type { ChaosCase } from './chaos-case';
import { networkCases } from './network-cases';
import { protocolCases } from './protocol-cases';
import { streamCases } from './stream-cases';

/** Every fault there is. */
export const chaosCases: readonly ChaosCase[] = [...networkCases, ...streamCases, ...protocolCases];
