import { type Call, type Command, EXIT, type Flag } from './command.ts';
import { HELP_FLAG } from './command-line/parse.ts';
import { UsageError } from './flags.ts';

const PROGRAM = 'kube-proxy-wrapper';
type Commands = readonly Command[];

const SCRIPTS: Readonly<Record<string, (commands: Commands) => string>> = {
  bash: bashScript,
  // bashcompinit is part of zsh.
  zsh: (commands) =>
    `#compdef ${PROGRAM}\nautoload -U +X bashcompinit && bashcompinit\n${bashScript(commands)}`,
  fish: fishScript,
};

/** Executes `completion`. The script is generated from the table of commands. */
export async function executeCompletion({ args: [shell = ''], session }: Call): Promise<number> {
  const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined;
  if (script === undefined) throw new UsageError('the argument must be bash, zsh or fish');
  process.stdout.write(script(session.commands.filter(({ hidden }) => hidden !== true)));
  return EXIT.ok;
}

function bashScript(commands: Commands): string {
  const cases = commands.map(
    (command) => `    *:${command.name}) words='${wordsOf(command).join(' ')}' ;;\n`,
  );
  const values = commands.flatMap(({ name, flags }) =>
    flags.flatMap((flag) => valuesOf(name, flag)),
  );
  const services = commands.filter(({ completes }) => completes === 'services');
  const names = [...commands.map(({ name }) => name), '--help', '--version'].join(' ');
  // Other words, such as the value of a flag, are completed to a file name (-o default).
  return `_kube_proxy_wrapper() {
  local words='' last="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}"
  case "$COMP_CWORD:\${COMP_WORDS[1]}" in
    1:*) words='${names}' ;;
${cases.join('')}  esac
  case "\${COMP_WORDS[1]}:$before" in
${values.join('')}    ${services.map(({ name }) => `${name}:${name}`).join('|')})
      case "$last" in -*) ;; *) words="$(${PROGRAM} __services "$last" 2>/dev/null)" ;; esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$last"))
}
complete -o default -F _kube_proxy_wrapper ${PROGRAM}
`;
}

/** The case of a flag with a closed set of values. */
function valuesOf(command: string, { name, short, choices }: Flag): string[] {
  if (choices === undefined) return [];
  const typed = [`--${name}`, ...(short === undefined ? [] : [`-${short}`])];
  const patterns = typed.map((each) => `${command}:${each}`).join('|');
  return [`    ${patterns}) words='${choices.join(' ')}' ;;\n`];
}

function wordsOf({ flags, completes }: Command): string[] {
  const given = typeof completes === 'object' ? completes : [];
  return [...given, ...flags.map(({ name }) => `--${name}`), '--help'];
}

function fishScript(commands: Commands): string {
  const lines = commands.flatMap(({ name, summary, flags, completes }) => {
    const within = `complete -c ${PROGRAM} -n '__fish_seen_subcommand_from ${name}'`;
    const given =
      completes === 'services' ? `(${PROGRAM} __services (commandline -ct))` : completes?.join(' ');
    return [
      `complete -c ${PROGRAM} -n __fish_use_subcommand -f -a ${name} -d ${quoted(summary)}`,
      ...(given === undefined ? [] : [`${within} -f -a '${given}'`]),
      ...[...flags, HELP_FLAG].map((flag) => `${within} ${fishFlag(flag)}`),
    ];
  });
  const help = `complete -c ${PROGRAM} -n __fish_use_subcommand -f -l`;
  return `${[...lines, `${help} help`, `${help} version`].join('\n')}\n`;
}

function fishFlag({ name, short, value, choices, completes }: Flag): string {
  const letter = short === undefined ? '' : ` -s ${short}`;
  if (value === undefined) return `-l ${name}${letter}`;
  if (choices !== undefined) return `-l ${name}${letter} -x -a '${choices.join(' ')}'`;
  return `-l ${name}${letter} ${completes === 'nothing' ? '-x' : '-r'}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "\\'")}'`;
}
