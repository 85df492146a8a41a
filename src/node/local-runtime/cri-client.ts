import { connect } from 'node:net';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node';
import type { ContainerRuntime, Sandbox, SandboxNetwork } from './container-runtime.ts';
import { type PodSandbox, type PodSandboxStatus, RuntimeService } from './cri/api_pb.ts';

/*
 * The client of the container runtime: gRPC over its unix socket. This module loads the gRPC library, 1 MB of memory
 * and more, so it is imported only if the setting localRuntime is there.
 */

/** Time for one call, in milliseconds. */
const CALL_MS = 4_000;
/** Limit for one message. A node runs some hundred Pods, and each takes some kB. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;
/** The connection closes after this long without a call, in milliseconds. */
const IDLE_CONNECTION_MS = 30_000;
/** The address is required by HTTP/2, and not used. */
const AUTHORITY = 'http://localhost';

const SANDBOX_READY = 0;
const NETWORK_OF_NODE = 2;
/** Written by the kubelet (pkg/kubelet/types/pod_update.go): `api` for Pods of the API server. */
const SOURCE_ANNOTATION = 'kubernetes.io/config.source';
const STATIC_SOURCES: readonly (string | undefined)[] = ['file', 'http'];

/**
 * Creates the client. It connects at the first call.
 *
 * @param path of the socket
 * @param callMs time for one call, in milliseconds
 */
export function createCriClient(path: string, callMs = CALL_MS): ContainerRuntime {
  const sessionManager = new Http2SessionManager(
    AUTHORITY,
    { idleConnectionTimeoutMs: IDLE_CONNECTION_MS },
    { createConnection: () => connect({ path }) },
  );
  const transport = createGrpcTransport({
    baseUrl: AUTHORITY,
    sessionManager,
    readMaxBytes: MAX_MESSAGE_BYTES,
    binaryOptions: { readUnknownFields: false },
  });
  const client = createClient(RuntimeService, transport);
  const options = { timeoutMs: callMs };
  return {
    async version() {
      const { runtimeName, runtimeVersion } = await client.version({}, options);
      return `${runtimeName} ${runtimeVersion}`;
    },
    sandboxes: async () => (await client.listPodSandbox({}, options)).items.map(toSandbox),
    async network(podSandboxId) {
      try {
        return toNetwork((await client.podSandboxStatus({ podSandboxId }, options)).status);
      } catch (error) {
        if (ConnectError.from(error).code === Code.NotFound) return undefined;
        throw error;
      }
    },
    close: () => sessionManager.abort(),
  };
}

function toSandbox({ id, metadata, state, createdAt, annotations }: PodSandbox): Sandbox {
  const { namespace = '', name = '', uid = '', attempt = 0 } = metadata ?? {};
  return {
    id,
    namespace,
    name,
    uid,
    attempt,
    createdAt,
    ready: state === SANDBOX_READY,
    isStatic: STATIC_SOURCES.includes(annotations[SOURCE_ANNOTATION]),
  };
}

function toNetwork(status: PodSandboxStatus | undefined): SandboxNetwork {
  const { ip = '', additionalIps = [] } = status?.network ?? {};
  return {
    isHostNetwork: status?.linux?.namespaces?.options?.network === NETWORK_OF_NODE,
    addresses: [ip, ...additionalIps.map((each) => each.ip)],
  };
}
