/** Quotes what a user wrote for a message, cut so that it fits a log line. */
export function quote(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}
