import { formatColumns } from './format-output.ts';

/** What a command found, in a form that every format of -o can be made from. */
export interface Report<Data = unknown> {
  /** For json and yaml. */
  readonly data: Data;
  /** For a terminal. */
  text(style: TextStyle): string;
}

/** How a table is printed. */
export interface TextStyle {
  /** -o wide. */
  readonly wide: boolean;
  /** False: --no-headers. */
  readonly headers: boolean;
}

/** Flags of the output. */
export interface OutputFlags {
  readonly output?: 'text' | 'json' | 'yaml' | 'wide';
  readonly headers?: boolean;
}

/** Formats a table whose first line is the header. */
export function formatTable(lines: readonly (readonly string[])[], { headers }: TextStyle): string {
  return formatColumns(headers ? lines : lines.slice(1));
}
