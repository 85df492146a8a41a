import { type Command, EXIT } from './command.ts';

export const checkCommand: Command = {
  summary: 'todo',
  help: '',
  options: {},
  maxArguments: 0,
  execute: async () => EXIT.ok,
};
