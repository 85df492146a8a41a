import { type Command, EXIT, UsageError } from './command.ts';

const PROGRAM = 'kube-proxy-wrapper';
type Commands = Readonly<Record<string, Command>>;

const SCRIPTS: Readonly<Record<string, (commands: Commands) => string>> = {
  bash: bashScript,
  // bashcompinit is part of zsh.
  zsh: (commands) =>
    `#compdef ${PROGRAM}\nautoload -U +X bashcompinit && bashcompinit\n${bashScript(commands)}`,
  fish: fishScript,
};

/** `kube-proxy-wrapper completion`, for these commands and itself. The script is generated from their flags. */
export function createCompletionCommand(others: Commands): Command {
  const completion: Command = {
    summary: 'print a script that completes commands and flags in a shell',
    help: `Prints a script that makes a shell complete commands and flags of kube-proxy-wrapper.

Usage:
  kube-proxy-wrapper completion bash|zsh|fish

Examples:
  source <(kube-proxy-wrapper completion bash)      # in ~/.bashrc
  source <(kube-proxy-wrapper completion zsh)       # in ~/.zshrc, after compinit
  kube-proxy-wrapper completion fish > ~/.config/fish/completions/kube-proxy-wrapper.fish

Exit codes: 0 printed, 1 the script cannot be printed, 2 wrong command line.
`,
    options: {},
    maxArguments: 1,
    arguments: Object.keys(SCRIPTS),
    async execute(_flags, [shell = '']) {
      const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined;
      if (script === undefined) throw new UsageError('the argument must be bash, zsh or fish');
      process.stdout.write(script({ ...others, completion }));
      return EXIT.ok;
    },
  };
  return completion;
}

function bashScript(commands: Commands): string {
  const cases = Object.entries(commands).map(
    ([name, command]) => `    *:${name}) words='${wordsOf(command).join(' ')}' ;;\n`,
  );
  const names = [...Object.keys(commands), '--help', '--version'].join(' ');
  // Other words, such as the value of a flag, are completed to a file name (-o default).
  return `_kube_proxy_wrapper() {
  local words=''
  case "$COMP_CWORD:\${COMP_WORDS[1]}" in
    1:*) words='${names}' ;;
${cases.join('')}  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _kube_proxy_wrapper ${PROGRAM}
`;
}

function wordsOf({ options, arguments: given = [] }: Command): string[] {
  return [...given, ...Object.keys(options).map((flag) => `--${flag}`), '--help'];
}

function withHelp(options: Command['options']): Command['options'] {
  return { ...options, help: { type: 'boolean', short: 'h' } };
}

function fishScript(commands: Commands): string {
  const lines = Object.entries(commands).flatMap(
    ([name, { summary, options, arguments: given }]) => {
      const within = `complete -c ${PROGRAM} -n '__fish_seen_subcommand_from ${name}'`;
      return [
        `complete -c ${PROGRAM} -n __fish_use_subcommand -f -a ${name} -d '${summary.replaceAll("'", "\\'")}'`,
        ...(given === undefined ? [] : [`${within} -f -a '${given.join(' ')}'`]),
        ...Object.entries(withHelp(options)).map(([flag, { type, short }]) => {
          const letter = short === undefined ? '' : ` -s ${short}`;
          return `${within} -l ${flag}${letter}${type === 'string' ? ' -r' : ''}`;
        }),
      ];
    },
  );
  const help = `complete -c ${PROGRAM} -n __fish_use_subcommand -f -l`;
  return `${[...lines, `${help} help`, `${help} version`].join('\n')}\n`;
}
