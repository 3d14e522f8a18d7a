import type * as Api from '@opentelemetry/api';
import { late } from '../../util/late';

/**
 * Loads `@opentelemetry/api`, an optional peer dependency. Metrics alone do not need it.
 * @throws Error if it is not installed.
 */
export const loadApi = late<typeof Api>(() => require('@opentelemetry/api'));
