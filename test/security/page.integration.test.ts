import { beforeAll, expect, test } from '@jest/globals';
import type { ApiServer } from '../../fake-apiserver/api-server.ts';
import { buildPage } from '../../scripts/build-page.ts';
import type { Admin } from '../../src/admin/admin.ts';
import type { NodeProxy } from '../../src/server/node-proxy.ts';
import { useAdmin, useCluster, useWrapper } from '../support/wrapper/use.ts';

const FILES = ['/', '/page.js', '/page.css', '/icon.svg'];

let server: ApiServer;
let proxy: NodeProxy;
let admin: Admin;

beforeAll(async () => {
  await buildPage();
  server = useCluster();
  proxy = await useWrapper(await server.listen());
  admin = await useAdmin(proxy);
});

test.each(FILES)(
  '%s has a content security policy that allows only what the page needs',
  async (path) => {
    const { status, headers } = await fetch(`${admin.url}${path}`);
    expect(status).toBe(200);
    expect(headers.get('content-security-policy')?.split('; ')).toEqual([
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self'",
      "connect-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ]);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
  },
);

test('the page has no inline code, and refers to no other host', async () => {
  const html = await (await fetch(admin.url)).text();
  expect(html).not.toMatch(/<style|style=|<script(?! src="page\.js")|\son\w+=|https?:/);
  const css = await (await fetch(`${admin.url}/page.css`)).text();
  // A reference within the document loads nothing.
  expect(css).not.toMatch(/url\((?!#)|@import/);
});
