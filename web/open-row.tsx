import type { ComponentChildren } from 'preact';
import { Middle } from './middle.tsx';

/** A row of a list whose first cell is a link that opens a Service. A click anywhere in the row opens it, too. */
export function OpenRow({
  service,
  href,
  isOpen,
  before,
  children,
}: {
  readonly service: string;
  readonly href: string;
  readonly isOpen: boolean;
  /** The cells before the name. */
  readonly before?: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  return (
    <tr
      class={isOpen ? 'open' : ''}
      onClick={({ target }) => {
        if ((target as Element).closest('a') === null) location.hash = href;
      }}
    >
      {before}
      <th scope="row">
        <a class="name" href={href} aria-current={isOpen ? 'true' : undefined}>
          <Middle text={service} muted={service.indexOf('/') + 1} />
        </a>
      </th>
      {children}
    </tr>
  );
}
