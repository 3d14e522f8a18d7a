// What calls need that have HTTP filters, that are retried, that fail, or whose route has a timeout and was not known at their
// start: loaded with the first of them.
export { Attempts } from './attempts';
export { CallFilters } from './call-filters';
export { RouteDeadline } from './route-deadline';
export * from './status-explanation';
