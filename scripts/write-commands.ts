/** Writes the generated parts of docs/commands.md. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { COMMANDS } from '../src/commands/definitions/all.ts';
import { REMOTE_COMMANDS } from '../src/commands/definitions/remote.ts';
import { commandsMarkdown } from './commands-reference.ts';

const file = join(resolve(import.meta.dirname, '..'), 'docs/commands.md');
writeFileSync(file, commandsMarkdown(readFileSync(file, 'utf8'), COMMANDS, REMOTE_COMMANDS));
