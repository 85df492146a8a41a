/**
 * Services that the topology does not read, because kube-proxy does not, and whether the settings hide each by its
 * labels. Views of Services report them, so that their endpoints are hidden with them.
 */
export class UnreadServices {
  /** There are few views, and few such Services. */
  readonly #byView = new Map<object, Map<string, boolean>>();

  /** Whether a Service is hidden; undefined: no view has it. */
  isHidden(service: string): boolean | undefined {
    for (const reported of this.#byView.values()) {
      const hidden = reported.get(service);
      if (hidden !== undefined) return hidden;
    }
    return undefined;
  }

  /** Takes the report of a view; undefined: it has no such Service. Returns the Services that changed. */
  set(view: object, services: ReadonlyMap<string, boolean | undefined>): readonly string[] {
    const reported = this.#byView.get(view) ?? new Map<string, boolean>();
    const changed = [...services].filter(([service, hidden]) => reported.get(service) !== hidden);
    for (const [service, hidden] of changed) {
      if (hidden === undefined) reported.delete(service);
      else reported.set(service, hidden);
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
