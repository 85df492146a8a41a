/** What views have reported about Services. */
export class ViewReports<Value> {
  /** There are few views, and there may be many Services. */
  readonly #byView = new Map<object, Map<string, Value>>();

  /** What any view has reported about a Service; undefined: nothing. */
  get(service: string): Value | undefined {
    for (const reported of this.#byView.values()) {
      const value = reported.get(service);
      if (value !== undefined) return value;
    }
    return undefined;
  }

  /** Takes the report of a view; undefined: nothing about this Service any more. Returns the Services that changed. */
  set(
    view: object,
    services: Iterable<readonly [service: string, value: Value | undefined]>,
  ): readonly string[] {
    const reported = this.#byView.get(view) ?? new Map<string, Value>();
    const changed = [...services].filter(([service, value]) => reported.get(service) !== value);
    for (const [service, value] of changed) {
      if (value === undefined) reported.delete(service);
      else reported.set(service, value);
    }
    if (reported.size > 0) this.#byView.set(view, reported);
    else this.#byView.delete(view);
    return changed.map(([service]) => service);
  }

  /** Forgets what a view has reported. Returns these Services. */
  forget(view: object): readonly string[] {
    const reported = this.#byView.get(view);
    this.#byView.delete(view);
    return [...(reported?.keys() ?? [])];
  }
}
