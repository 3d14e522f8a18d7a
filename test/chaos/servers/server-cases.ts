import { certificateCases } from './certificate-cases';
import { controlPlaneCases } from './control-plane-cases';
import { lifetimeCases } from './lifetime-cases';
import { securityCases } from './security-cases';
import type { ServerCase } from './server-case';
import { updateCases } from './update-cases';

/** Every case of the chaos of servers. */
export const serverCases: readonly ServerCase[] = [
  ...updateCases,
  ...certificateCases,
  ...controlPlaneCases,
  ...securityCases,
  ...lifetimeCases,
];
