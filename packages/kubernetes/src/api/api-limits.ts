/** Bytes of an event of a watch, and so of an object; etcd stores objects of at most 1.5 MB. */
export const MAX_OBJECT_BYTES = 3 * 1024 * 1024;
/** Bytes of an answer, such as a page of a list. */
export const MAX_LIST_BYTES = 64 * 1024 * 1024;
/** Bytes that are read of an answer that is an error. */
export const MAX_ERROR_BYTES = 64 * 1024;
/** Objects, lists, elements and members of an answer or an event. */
export const MAX_VALUES = 5_000_000;
