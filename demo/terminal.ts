import { openSync } from 'node:fs';
import { createInterface, type Interface } from 'node:readline';
import { ReadStream } from 'node:tty';
import { paint } from '../cli/output/colour.ts';
import { printLine } from '../src/text/untrusted-text.ts';

const PROMPT = 'demo> ';
/** Below this width in columns, a cut table says nothing. */
const MIN_WIDTH = 40;

/** Prints the output of the demo, and reads the lines that the user types. */
export class Terminal {
  #lines: Interface | undefined;
  #prompting = false;

  /** Whether a person reads the output. */
  get isInteractive(): boolean {
    return process.stdout.isTTY;
  }

  /** Prints lines that may contain untrusted text. */
  print(...lines: readonly string[]): void {
    this.printText(lines.map(printLine).join(''));
  }

  /** Prints a table. A terminal that is too narrow would wrap its lines, so they are cut. */
  printTable(text: string): void {
    const { columns } = process.stdout;
    const width = this.isInteractive && columns > MIN_WIDTH ? columns : Number.POSITIVE_INFINITY;
    const fit = (line: string) => (line.length > width ? `${line.slice(0, width - 1)}…` : line);
    this.printText(text.split('\n').map(fit).join('\n'));
  }

  /** Prints a text of whole lines, in which untrusted text is escaped. */
  printText(text: string): void {
    const shown = paint(text);
    // What comes while the user types is printed above the line.
    process.stdout.write(this.#prompting ? `\r\u001b[K${shown}` : shown);
    if (this.#prompting) this.#lines?.prompt(true);
  }

  /**
   * Calls `run` for each line until it returns false or the input ends.
   *
   * @param fromTerminal read from the terminal, because standard input is used for something else
   * @param complete words that can follow what is typed
   */
  async readLines(
    run: (line: string) => Promise<boolean>,
    { fromTerminal, complete }: { fromTerminal: boolean; complete(line: string): string[] },
  ): Promise<void> {
    const input = fromTerminal ? openTerminal() : process.stdin;
    if (input === undefined) return;
    const isPrompted = this.isInteractive && (input as ReadStream).isTTY === true;
    const lines = createInterface({
      input,
      prompt: PROMPT,
      terminal: isPrompted,
      output: isPrompted ? process.stdout : undefined,
      completer: (line: string) => [complete(line), line.split(' ').at(-1) ?? ''],
    });
    this.#lines = lines;
    lines.on('SIGINT', () => lines.close());
    try {
      this.#prompt(isPrompted);
      for await (const line of lines) {
        this.#prompting = false;
        if (!isPrompted && line.trim() !== '') this.print('', `${PROMPT}${line}`);
        if (!(await run(line))) break;
        if (isPrompted && line.trim() !== '') this.print('');
        this.#prompt(isPrompted);
      }
    } finally {
      this.#prompting = false;
      lines.close();
      if (input !== process.stdin) input.destroy();
    }
  }

  #prompt(isPrompted: boolean): void {
    if (!isPrompted) return;
    this.#lines?.prompt();
    this.#prompting = true;
  }
}

/** The terminal of this process; undefined: it has none. */
function openTerminal(): ReadStream | undefined {
  try {
    return new ReadStream(openSync('/dev/tty', 'r'));
  } catch {
    return undefined;
  }
}
