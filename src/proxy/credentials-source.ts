import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { RequestOptions } from 'node:https';
import { isIPv6 } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { createSecureContext } from 'node:tls';
import { type Cluster, KubeConfig, type User } from '@kubernetes/client-node';
import { load as parseYaml, YAMLException } from 'js-yaml';
import { WrapperError } from '../errors.ts';
