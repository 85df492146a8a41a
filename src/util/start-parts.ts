/**
 * Starts something that has several parts. The start lets the stack close each part where it creates it. All are
 * closed, last first, by `close` of the result, or immediately if a later step of the start fails.
 */
export async function startParts<T extends object>(
  start: (parts: AsyncDisposableStack) => Promise<T>,
): Promise<T & { close(): Promise<void> }> {
  const parts = new AsyncDisposableStack();
  try {
    return { ...(await start(parts)), close: () => parts.disposeAsync() };
  } catch (error) {
    await parts.disposeAsync();
    throw error;
  }
}

/** For `adopt` of the stack. */
export function closePart(part: { close(): Promise<void> | void } | undefined) {
  return part?.close();
}
