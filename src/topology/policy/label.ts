/** Whether a text is a label key (apimachinery validation.IsQualifiedName). */
export function isLabelKey(key: string): boolean {
  const slash = key.indexOf('/');
  const name = key.slice(slash + 1);
  if (name.length > 63 || !/^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/.test(name)) return false;
  if (slash < 0) return true;
  return isSubdomain(key.slice(0, slash));
}

/** Whether a text is a DNS-1123 subdomain (apimachinery validation.IsDNS1123Subdomain), such as a name of a Node. */
export function isSubdomain(text: string): boolean {
  return (
    text.length <= 253 &&
    /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(text)
  );
}

/** Whether a text is a label value (apimachinery validation.IsValidLabelValue); it may be empty. */
export function isLabelValue(value: string): boolean {
  return value.length <= 63 && /^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$/.test(value);
}

/** A label or annotation key without its prefix. */
export function localName(key: string): string {
  return key.slice(key.indexOf('/') + 1);
}
