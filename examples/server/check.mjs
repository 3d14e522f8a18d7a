// Runs the example, which fails if anything comes out differently from what is written in it. Without openssl it says so.
import { execFileSync } from 'node:child_process';

function hasOpenssl() {
  try {
    return /^OpenSSL [3-9]/.test(String(execFileSync('openssl', ['version'])));
  } catch {
    return false;
  }
}

if (hasOpenssl() || process.env.CI === 'true') await import('./main.mjs');
else console.log('skip   everything  openssl 3 is not installed');
