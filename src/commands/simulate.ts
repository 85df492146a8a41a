import { type Command, EXIT } from './command.ts';

export const simulateCommand: Command = {
  summary: 'todo',
  help: '',
  options: {},
  maxArguments: 0,
  execute: async () => EXIT.ok,
};
