import { WrapperError } from '../../errors.ts';

/** The error of a response of the API server: its own message, and for a 403 which right is missing. */
export function responseError(
  statusCode: number | undefined,
  body: string,
  right: string,
): WrapperError {
  const need = statusCode === 403 ? `you need the right to ${right}: ` : '';
  const message = messageIn(body) || `the API server answered ${statusCode}`;
  return new WrapperError('Refused', `${need}${message}`);
}

/** The message of a Status; empty: the body is none. */
function messageIn(body: string): string {
  try {
    return String((JSON.parse(body) as { message?: unknown }).message ?? '');
  } catch {
    return '';
  }
}
