// What calls need that have HTTP filters, or whose route has a timeout and was not known at their start: loaded with the first of them.
export { CallFilters } from './call-filters';
export { RouteDeadline } from './route-deadline';
