import type * as Runtime from './xds-runtime';
import { late } from '../util/late';

/** Loads nearly all of this package, when the first channel needs it: an application may register without using it. */
export const loadRuntime = late<typeof Runtime>(() => require('./xds-runtime'));
