/** Three addresses that nobody connects to. */
export const A = '10.0.0.1:80';
export const B = '10.0.0.2:80';
export const C = '10.0.0.3:80';
