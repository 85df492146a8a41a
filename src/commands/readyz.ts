/** The answer of /readyz. */
export interface Readyz {
  readonly checks: readonly ReadyCheck[];
  /** Why checks fail: each cause once. Empty: none fails, or the wrapper is older than 1.1. */
  readonly causes: readonly ReadyCause[];
  /** The age of the data, and its cause if it is old. */
  readonly data: string;
}

export interface ReadyCheck {
  readonly name: string;
  readonly ok: boolean;
  /** The problem or the remark. */
  readonly text: string;
}

export interface ReadyCause {
  readonly text: string;
  /** The text, and how many checks fail because of it. */
  readonly line: string;
}

/** Parses the lines `[+]name ok, remark`, `[-]name failed: problem`, `cause: text (3 checks)` and `data: age: cause`. */
export function parseReadyz(answer: string): Readyz {
  const lines = answer.split('\n');
  return {
    checks: lines.flatMap((line) => {
      const found = /^\[([+-])\](.*?) (?:ok(?:, )?|failed: )(.*)$/.exec(line);
      const [, sign, name = '', text = ''] = found ?? [];
      return sign === undefined ? [] : [{ name, ok: sign === '+', text }];
    }),
    causes: lines.flatMap((each) => {
      const [, line, text] = /^cause: ((.*?)(?: \(\d+ checks\))?)$/.exec(each) ?? [];
      return line === undefined || text === undefined ? [] : [{ text, line }];
    }),
    data: lines.find((line) => line.startsWith('data: ')) ?? '',
  };
}

/** Why the wrapper is not ready, one line for each cause. */
export function readyProblems({ checks, causes }: Readyz): readonly ReadyCause[] {
  if (causes.length > 0) return causes;
  const failed = checks.filter(({ ok }) => !ok).map(({ name, text }) => `${name}: ${text}`);
  return failed.map((line) => ({ text: line, line }));
}
