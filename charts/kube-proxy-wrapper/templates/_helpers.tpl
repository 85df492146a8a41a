{{- /* The names are fixed: there is one installation per cluster, and one kube-proxy per node. */ -}}
{{- define "kpw.name" -}}kube-proxy-wrapper{{- end }}

{{- /* The DaemonSet, or its canary. */ -}}
{{- define "kpw.track" -}}{{ include "kpw.name" . }}{{ if .isCanary }}-canary{{ end }}{{- end }}

{{- define "kpw.selectorLabels" -}}
app.kubernetes.io/name: {{ include "kpw.name" . }}
{{- if .isCanary }}
kube-proxy-wrapper.io/track: canary
{{- end }}
{{- end }}

{{- /* With a canary, each node has exactly one of the two. A node with static Pods has none. */ -}}
{{- define "kpw.affinity" -}}
{{- $affinity := deepCopy .Values.affinity }}
{{- $labels := list (dict "key" "kube-proxy-wrapper.io/kube-proxy" "operator" "NotIn" "values" (list "static")) }}
{{- if (.Values.canary).create }}
{{- if $affinity.nodeAffinity }}
{{- fail "canary.create: select nodes with nodeSelector instead of affinity.nodeAffinity, which the canary needs" }}
{{- end }}
{{- $canary := dict "key" "kube-proxy-wrapper.io/canary" "operator" (ternary "Exists" "DoesNotExist" (default false .isCanary)) }}
{{- $labels = prepend $labels $canary }}
{{- end }}
{{- if not $affinity.nodeAffinity }}
{{- $terms := list (dict "matchExpressions" $labels) }}
{{- $required := dict "nodeSelectorTerms" $terms }}
{{- $_ := set $affinity "nodeAffinity" (dict "requiredDuringSchedulingIgnoredDuringExecution" $required) }}
{{- end }}
{{- toYaml $affinity }}
{{- end }}

{{- define "kpw.labels" -}}
{{ include "kpw.selectorLabels" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- /* Not empty: wrappers find the relays of this release, unless they have settings of their own. */ -}}
{{- define "kpw.findsRelays" -}}
{{- if and (.Values.relay).create (not .Values.settings.relays) }}yes{{ end }}
{{- end }}

{{- define "kpw.relayFolder" -}}/etc/kube-proxy-wrapper-relay{{- end }}

{{- /* Not empty: the chart mounts the authority of the relays. A mount of extraVolumeMounts in its place wins. */ -}}
{{- define "kpw.mountsAuthority" -}}
{{- $isOwn := false -}}
{{- $folder := printf "%s/" (include "kpw.relayFolder" .) -}}
{{- range .Values.extraVolumeMounts -}}
{{- if hasPrefix $folder (printf "%v/" .mountPath) -}}{{- $isOwn = true -}}{{- end -}}
{{- end -}}
{{- if and (include "kpw.findsRelays" .) (not $isOwn) -}}
{{- range .Values.extraVolumes -}}
{{- if eq .name "relay-ca" -}}
{{- fail "extraVolumes: the chart has a volume relay-ca for the authority of the relays; choose another name, or mount yours at /etc/kube-proxy-wrapper-relay instead" -}}
{{- end -}}
{{- end -}}
yes
{{- end -}}
{{- end }}

{{- /* The settings file, with what other values imply. */ -}}
{{- define "kpw.settings" -}}
{{- $settings := deepCopy .Values.settings }}
{{- if include "kpw.findsRelays" . }}
{{- $service := printf "%s/%s-relay" .Release.Namespace (include "kpw.name" .) }}
{{- $_ := set $settings "relays" (dict "service" $service "caFile" (printf "%s/ca.crt" (include "kpw.relayFolder" .))) }}
{{- end }}
{{- if .Values.kubeconfig }}
{{- $_ := set $settings "kubeconfig" "/etc/kube-proxy-wrapper/kubeconfig.conf" }}
{{- end }}
{{- toYaml $settings }}
{{- end }}

{{- /* A changed setting changes the name, and that rolls the DaemonSet. */ -}}
{{- define "kpw.configName" -}}
{{ include "kpw.track" . }}-{{ print (include "kpw.settings" .) .Values.kubeconfig | sha256sum | trunc 10 }}
{{- end }}

{{- define "kpw.adminPort" -}}
{{ .Values.settings.adminListen | default "127.0.0.1:10361" | splitList ":" | last }}
{{- end }}

{{- /* The address that kubelet probes. Without a host it is the Pod's address, which is the node's. */ -}}
{{- define "kpw.probeTarget" -}}
{{- if not .Values.metrics.onNodeAddress }}
{{- $parts := regexFind "^.*:" (.Values.settings.adminListen | default "127.0.0.1:10361") | trimSuffix ":" }}
host: {{ $parts | trimPrefix "[" | trimSuffix "]" | quote }}
{{- end }}
port: {{ include "kpw.adminPort" . }}
{{- end }}

{{- define "kpw.image" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
{{- with .Values.image.pullPolicy }}
imagePullPolicy: {{ . }}
{{- end }}
{{- end }}

{{- /* The setting, or the value that an update with maxSurge needs. */ -}}
{{- define "kpw.handoverSeconds" -}}
{{- if hasKey .Values.settings "handoverSeconds" }}{{ int .Values.settings.handoverSeconds }}{{ else }}20{{ end }}
{{- end }}

{{- /* The ClusterIP works only after kube-proxy has programmed it, and kube-proxy waits for the wrapper. */ -}}
{{- define "kpw.apiServerHost" -}}
{{- $host := required "apiServer.host: the API server's real address, not the ClusterIP of default/kubernetes" .Values.apiServer.host }}
{{- $service := lookup "v1" "Service" "default" "kubernetes" | default dict }}
{{- $addresses := (($service.spec | default dict).clusterIPs) | default list }}
{{- if or (regexMatch "^kubernetes([.]default.*)?$" $host) (has $host $addresses) }}
{{- fail (printf "apiServer.host=%s is the ClusterIP of default/kubernetes, which works only after kube-proxy has programmed it, and kube-proxy waits for the wrapper; use the API server's real address" $host) }}
{{- end }}
{{- $host }}
{{- end }}
