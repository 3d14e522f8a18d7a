#!/usr/bin/env node
import { runServer } from '../server/run-server.mjs';

await runServer(process.argv);
