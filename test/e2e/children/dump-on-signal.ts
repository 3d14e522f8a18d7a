// A process that writes its state on SIGUSR2, once; then it ends when its standard input does.
import { dumpOnSignal } from '../../../src';

dumpOnSignal('SIGUSR2');
process.stdin.resume();
process.stdout.write('ready\n');
