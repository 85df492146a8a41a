/**
 * Makes each method of an object throw if it is called while any of them is on the stack. Generators count per step.
 */
export function notReentrant<T extends object>(object: T, names: readonly (keyof T)[]): T {
  let running: PropertyKey | undefined;
  const guarded = <R>(name: PropertyKey, run: () => R): R => {
    if (running !== undefined) throw new Error(`${String(name)} is called by ${String(running)}`);
    running = name;
    try {
      return run();
    } finally {
      running = undefined;
    }
  };
  for (const name of names) {
    const method = (object[name] as (...args: unknown[]) => unknown).bind(object);
    const value = (...args: unknown[]): unknown => {
      const result = guarded(name, () => method(...args));
      if (Object(result)[Symbol.toStringTag] !== 'Generator') return result;
      const steps = result as Generator;
      return { [Symbol.iterator]: () => ({ next: () => guarded(name, () => steps.next()) }) };
    };
    Object.defineProperty(object, name, { value });
  }
  return object;
}
