import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Http2Server, type ServerHttp2Session } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Code, ConnectError, type ConnectRouter, type HandlerContext } from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { RuntimeService } from '../../../src/node/local-runtime/cri/api_pb.ts';
import { type FakeSandbox, networkOf, toSandbox } from './fake-runtime.ts';

/** A container runtime that speaks gRPC on a unix socket, as containerd does. Tests change the fields. */
export class CriServer {
  sandboxes: readonly FakeSandbox[] = [];
  /** It accepts calls and never answers. */
  hangs = false;
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #ended = new AbortController();
  #server: Http2Server | undefined;
  #folder = '';

  /** Path of the socket. */
  get path(): string {
    return join(this.#folder, 'cri.sock');
  }

  /** Number of open connections. */
  get connections(): number {
    return this.#sessions.size;
  }

  async listen(): Promise<this> {
    this.#folder ||= await mkdtemp(join(tmpdir(), 'cri-'));
    const server = createServer(
      connectNodeAdapter({
        routes: (router) => this.#routes(router),
        connect: false,
        grpcWeb: false,
      }),
    );
    server.on('session', (session) => {
      this.#sessions.add(session);
      session.once('close', () => this.#sessions.delete(session));
    });
    server.listen(this.path);
    await once(server, 'listening');
    this.#server = server;
    return this;
  }

  /** Ends it as a crash does; {@link listen} starts it again. */
  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    const closed = once(server, 'close');
    server.close();
    for (const session of this.#sessions) session.destroy();
    await closed;
  }

  /** Removes its socket, too. */
  async close(): Promise<void> {
    this.#ended.abort();
    await this.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }

  #routes(router: ConnectRouter): void {
    router.service(RuntimeService, {
      version: async (_, context) => {
        await this.#called(context);
        return { runtimeName: 'fake', runtimeVersion: '1.0' };
      },
      listPodSandbox: async (_, context) => {
        await this.#called(context);
        return { items: this.sandboxes.map(podSandbox) };
      },
      podSandboxStatus: async ({ podSandboxId }, context) => {
        await this.#called(context);
        const found = this.sandboxes.find(({ id }) => id === podSandboxId);
        if (found === undefined) throw new ConnectError('no such sandbox', Code.NotFound);
        return { status: statusOf(found) };
      },
    });
  }

  async #called({ signal }: HandlerContext): Promise<void> {
    if (!this.hangs) return;
    const gone = AbortSignal.any([signal, this.#ended.signal]);
    if (!gone.aborted) await once(gone, 'abort');
    throw new ConnectError('hung', Code.Canceled);
  }
}

function podSandbox(each: FakeSandbox) {
  const { id, namespace, name, uid, attempt, createdAt, ready, isStatic } = toSandbox(each);
  return {
    id,
    metadata: { namespace, name, uid, attempt },
    createdAt,
    state: ready ? 0 : 1,
    annotations: { 'kubernetes.io/config.source': isStatic ? 'file' : 'api' },
  };
}

function statusOf(each: FakeSandbox) {
  const { isHostNetwork, addresses } = networkOf(each);
  const [ip = '', ...others] = addresses;
  return {
    network: { ip, additionalIps: others.map((other) => ({ ip: other })) },
    linux: { namespaces: { options: { network: isHostNetwork ? 2 : 0 } } },
  };
}
